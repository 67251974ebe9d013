# %% [markdown]
# # Which digits are labelled wrongly?
#
# Every test has an answer key, and some keys have mistakes. This notebook looks for them in a
# real test: 130 classifiers read the 1,797 handwritten digits that come with scikit-learn. No
# classifier trained on a digit that it reads here.
#
# The idea is simple. On a sound question, strong systems do better than weak ones. Where the
# weak are right and the strong are wrong, the question itself deserves a look.
#
# To run it: `pip install "irtkit[datasets,plots]"`. It takes some seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import irtkit

pd.set_option("display.width", 120, "display.max_columns", 20, "display.precision", 2)

crowd = irtkit.load_digits_crowd()
images = load_digits().images
right = crowd.predictions.eq(crowd.labels, axis="columns")  # True where the answer is the label

print(crowd.responses)
print(crowd.systems.sample(5, random_state=0))
print("\nshare of digits that a system reads as labelled:")
print(right.mean(axis="columns").describe()[["min", "25%", "50%", "75%", "max"]].to_string())

# %% [markdown]
# The systems are very different: some hardly read at all, some are almost perfect. That is what
# we need. If all were equally good, there would be no strong and no weak to compare.
#
# ## Fit the model
#
# The model is called 2PL. It gives every system one number and every digit two:
#
# - **ability** of a system: 0 is average, 1 is one standard deviation above it;
# - **difficulty** of a digit: the ability at which half the systems read it as labelled;
# - **discrimination** of a digit, its slope: how fast the chance of a right answer rises with
#   ability. At 0 it does not rise at all. Below 0 it falls.

# %%
result = irtkit.fit(crowd.responses, "2PL")
print(result)

# %% [markdown]
# Some slopes come out below 0. A slope is an estimate, though, and a slope near 0 can land on the
# wrong side by chance. So we do not stop at the sign.
#
# ## List the suspects
#
# `flag_items` lists the digits that something is wrong with, and says what:
#
# - *negative discrimination*: the weak do better than the strong, beyond reasonable doubt;
# - *flat discrimination*: being strong neither clearly helps nor clearly hurts;
# - *extreme difficulty*: what follows from a flat slope, or from nobody being right.
#
# We sort by `wrong_key`. It compares two stories: the digit is inverted, so that the weak do
# better, or it is not. The number is the logarithm of how many times likelier the answers are in
# the first story. Above 3 is strong evidence. At 0 the answers do not tell the stories apart.
# `p_negative` is the probability that the slope is below 0.
#
# We also hand over what each system answered. So the list says what the ablest quarter of the
# systems see (`strong_answer`), how many of them agree (`strong_share`), and what the key says
# (`marked_right`; None where nobody gave the answer of the key).

# %%
suspects = irtkit.flag_items(result, predictions=crowd.predictions)
suspects = suspects.sort_values("wrong_key", ascending=False)

print(suspects["reasons"].value_counts().to_string())
print("\nwrong_key above 3:", ", ".join(suspects.index[suspects["wrong_key"] > 3]))
shown = ["p_negative", "wrong_key", "discrimination", "average_error"]
print(suspects[[*shown, "strong_answer", "strong_share", "marked_right"]])

# %% [markdown]
# ## Look at them
#
# Numbers only say where to look. Here are the first twelve of the list. Beside each image are the
# votes of the 130 systems: dark for the ablest quarter, light for all others. The orange stripe
# is the label.

# %%
ability = result.respondents["ability"]
ablest = ability >= ability.quantile(0.75)
weakest = ability <= ability.quantile(0.25)


def draw(items: pd.Index, title: str) -> None:
    """Draw digits with their labels and the votes of the crowd, four in a row."""
    rows = -(-len(items) // 4)
    figure = plt.figure(figsize=(13, 2.1 * rows + 0.8), layout="constrained")
    figure.suptitle(title, fontsize=13)
    places = figure.subfigures(rows, 4, squeeze=False).flat
    for place, item in zip(places, items, strict=False):
        answers = crowd.predictions[item]
        label, most, best = crowd.labels[item], answers.mode()[0], answers[ablest].mode()[0]
        place.suptitle(f"{item}: label {label}, most say {most}, ablest {best}", fontsize=9)
        image, votes = place.subplots(1, 2, width_ratios=[1, 1.3])
        image.imshow(images[crowd.labels.index.get_loc(item)], cmap="gray_r")
        image.set(xticks=[], yticks=[])
        kinds = np.arange(10)
        strong = answers[ablest].value_counts().reindex(kinds, fill_value=0)
        others = answers[~ablest].value_counts().reindex(kinds, fill_value=0)
        votes.axvspan(label - 0.5, label + 0.5, color="orange", alpha=0.4, linewidth=0)
        votes.bar(kinds, strong, color="black")
        votes.bar(kinds, others, bottom=strong, color="lightgray")
        votes.set(xticks=kinds, ylim=(0, 130), yticks=[0, 65, 130])
        votes.tick_params(labelsize=7)
        votes.spines[["top", "right"]].set_visible(False)
    plt.show()


draw(suspects.index[:12], "Suspect digits, the worst first")
hardest = result.items.nlargest(len(suspects), "average_error")
draw(hardest.index.difference(suspects.index,sort=False)[:12], "Hard")
