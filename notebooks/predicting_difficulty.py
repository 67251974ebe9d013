# %% [markdown]
# # How hard will this item be?
#
# To measure how hard an item is, you let many systems answer it. But what about an item that
# nobody has answered yet? If you know something about it (its pixels, its text, its length), you
# can learn from other items what makes items hard, and predict its difficulty.
#
# This notebook does so with 1,797 handwritten digits that 130 classifiers have read. It predicts
# from the pixels how hard a digit is, says how far off that may be, looks at which pixels matter,
# and uses the predictions to calibrate new digits with a handful of answers.
#
# To run it: `pip install "irtkit[predict,plots]"`. It takes less than a minute.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import irtkit
from irtkit.prediction import check_leaks, difficulty_targets, feature_importances

pd.set_option("display.width", 120, "display.max_columns", 20)
pd.set_option("display.float_format", "{:.2f}".format)
warnings.filterwarnings("ignore", category=UserWarning, module="irtkit")
warnings.filterwarnings("ignore", message=".*abilit")

crowd = irtkit.load_digits_crowd()
digits = load_digits()
items = crowd.labels.index
pixels = pd.DataFrame(digits.data, index=items, columns=[f"pixel{k}" for k in range(64)])
print(crowd.responses)

# %% [markdown]
# ## What there is to predict
#
# Difficulty can be measured in several ways. `difficulty_targets` fits the 1PL and the 2PL, and
# adds the share of systems that are wrong:
#
# - `1PL`: difficulty in standard deviations of ability. `Rasch` is the same in logits.
# - `2PL`: difficulty if every digit has its own slope. It is extreme if the slope is near 0.
# - `average_error`: the share of systems that are wrong. `expected_error` is the share that the
#   2PL expects.

# %%
targets = difficulty_targets(crowd.responses)
columns = ["1PL", "Rasch", "2PL", "average_error", "expected_error"]
print(targets[columns].describe().loc[["mean", "std", "min", "max"]])
print("\nrank correlations:")
print(targets[columns].corr("spearman"))

# %% [markdown]
# ## Predict
#
# We hold out three tenths of the digits. A predictor learns from the others. You can use any
# regressor of scikit-learn, and choose five of them by name. Cross-validation shows the errors on
# unseen digits. So each prediction has an interval, which should contain nine in ten new digits.

# %%
held = pd.Series(np.random.default_rng(0).random(len(items)) < 0.3, index=items)
predictor = irtkit.DifficultyPredictor("gradient boosting", target="1PL", folds=5)
predictor.fit(pixels[~held], targets)
predicted = predictor.predict(pixels[held])

true = targets.loc[held, "1PL"]
inside = true.between(predicted["low"], predicted["high"])
print(predicted.head())
print(
    f"\nrank correlation with the difficulty: {predicted['predicted'].corr(true, 'spearman'):.2f}"
)
print(f"inside their interval: {inside.mean():.1%} of {len(inside)} digits")

# %%
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for group, color in ((inside, "black"), (~inside, "crimson")):
    axes.scatter(predicted.loc[group, "predicted"], true[group], 10, color, alpha=0.6)
ends = [true.min(), true.max()]
axes.plot(ends, ends, color="gray", linewidth=0.8)
axes.set(xlabel="predicted difficulty", ylabel="difficulty, from 130 answers")
axes.set_title("red: outside the interval")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Digits that the predictor calls hard look hard. Its errors are informative as well. Here are the
# four held-out digits that it expects to be hardest, and the four that are much harder than
# expected.

# %%
surprise = (true - predicted["predicted"]).nlargest(4).index
hardest = predicted["predicted"].nlargest(4).index
figure, rows = plt.subplots(2, 4, figsize=(9, 5), layout="constrained")
for row, chosen, name in ((rows[0], hardest, "expected"), (rows[1], surprise, "surprise")):
    for place, item in zip(row, chosen, strict=True):
        place.imshow(digits.images[items.get_loc(item)], cmap="gray_r")
        place.set(xticks=[], yticks=[])
        wrong = targets.loc[item, "average_error"]
        place.set_title(f"{name}, label {crowd.labels[item]}\n{wrong:.0%} wrong", fontsize=10)
plt.show()

# %% [markdown]
# ## Which regressor?
#
# Compare them by their errors in cross-validation and by the rank correlation on the held-out
# digits. `nrmse` is the error as a fraction of the spread of difficulties: 1 is no better than
# calling all digits equally hard. To save time, we leave out the random forest and the elastic
# net.

# %%
rows = {}
for name in ["linear", "k nearest neighbours", "gradient boosting"]:
    one = irtkit.DifficultyPredictor(name, folds=5).fit(pixels[~held], targets)
    ranks = one.predict(pixels[held])["predicted"].corr(true, "spearman")
    rows[name] = {"nrmse": one.rmse_ / targets.loc[~held, "1PL"].std(), "rank correlation": ranks}
print(pd.DataFrame(rows).T)

# %% [markdown]
# Difficulty is not a weighted sum of pixels, so the linear regressor is far behind.
#
# ## What must not be a feature
#
# The accuracy on a digit is what we want to know. With it as a feature, predictions look good but
# are useless. When a predictor is fitted, irtkit refuses features that order the items as the
# target does. It does not detect other leaks, such as the label of the digit, or the answers of one
# system.

# %%
leaking = pixels.assign(accuracy=crowd.responses.to_frame().mean())
try:
    check_leaks(leaking, target=targets["1PL"])
except ValueError as error:
    print(error)

# %% [markdown]
# ## Which pixels make a digit hard?
#
# Permute the values of one pixel over the digits, and see how much worse the predictions get. This
# is the importance of the pixel. We do the same with a classifier that reads the digits. Both use
# the middle of the image, but they do not weight the same pixels alike.

# %%
importances = feature_importances(
    pixels, targets, crowd.labels, regressor="gradient boosting", repeats=2
)
scores = importances.attrs
print(f"R² of difficulty: {scores['difficulty']:.2f}, share of digits read: {scores['task']:.2f}")
print(f"rank correlation of the importances: {scores['spearman']:.2f}")
print(importances.head())

figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for panel, name in zip(panels, ["difficulty", "task"], strict=True):
    image = importances.loc[pixels.columns, name].to_numpy().reshape(8, 8)
    panel.imshow(image.clip(0), cmap="Greens")
    panel.set(xticks=[], yticks=[], title=f"importance for the {name}")
plt.show()

# %% [markdown]
# ## Fewer answers for new digits
#
# Suppose the held-out digits are new, and only four systems have read each of them. Four answers
# say little, but predictions from the pixels add information. `prior_mean` gives the predictions
# to `fit`: an expected difficulty for each digit, and its standard deviation. We predict all
# digits, old and new. `fit` uses only differences between predictions. Predictions of the new
# digits alone could not show whether these are harder than the old ones.

# %%
generator = np.random.default_rng(1)
values = crowd.responses.values.copy()
order = generator.random(values.shape).argsort(axis=0)
values[(order >= 4) & held.to_numpy()] = -1
few = irtkit.ResponseMatrix(values, crowd.responses.respondents, crowd.responses.items)

in_logits = irtkit.DifficultyPredictor("gradient boosting", target="Rasch", folds=5)
prior = in_logits.fit(pixels[~held], targets).prior_mean(pixels)
print(prior[held].head())

all_answers = targets.loc[held, "Rasch"]
ways = {
    "four answers": irtkit.fit(few, "1PL", standard_errors=False).items,
    "predictions and four answers": irtkit.fit(
        few, "1PL", prior=irtkit.WeakPrior(difficulty_mean=prior), standard_errors=False
    ).items,
}
found = {"predictions": prior.loc[held, "mean"]}
found |= {name: -table.loc[held, "intercept"] for name, table in ways.items()}
rows = {
    name: {
        "rank correlation": logits.corr(all_answers, "spearman"),
        "error (logits)": np.sqrt(((logits - all_answers) ** 2).mean()),
    }
    for name, logits in found.items()
}
print("\nbeside the difficulty from all 130 answers:")
print(pd.DataFrame(rows).T)

# %% [markdown]
# Predictions and answers together are better than either. The gain depends on the number of
# answers: with many answers, predictions add little. This holds for the 1PL. For a 2PL,
# predictions lower the error with few answers, and raise it by up to 5 % with 16 to 64 answers.
#
# ## What to take away
#
# - Features of items predict difficulty, with intervals that have their coverage for new items.
# - Leave out features that reveal the answer.
# - Predictions replace some answers, and can go into the next calibration.
#
# With your own data, features are a table with a row for each item (numbers, categories, gaps), an
# array of images, or texts:
# `irtkit.DifficultyPredictor(embed=irtkit.prediction.text_embedding())`.
