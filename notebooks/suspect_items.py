# %% [markdown]
# # Which test items deserve a second look?
#
# Every test has an answer key, and some keys have mistakes. Some questions cannot be answered at
# all. This notebook looks for both in a real test: 130 classifiers read the 1,797 handwritten
# digits that come with scikit-learn. No classifier trained on a digit that it reads here.
#
# The idea is simple. On a sound question, strong systems do better than weak ones. If they do not,
# the question itself deserves a look.
#
# To run it: `pip install "irtkit[plots,predict]"`. It takes some seconds.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import irtkit

pd.set_option("display.width", 120, "display.max_columns", 20)
pd.set_option("display.float_format", "{:.2f}".format)

crowd = irtkit.load_digits_crowd()
images = load_digits().images
right = crowd.predictions.eq(crowd.labels, axis="columns")  # True where the answer is the label

print(crowd.responses)
print(crowd.systems.sample(5, random_state=0))
print("\nshare of the digits that a system reads as labelled:")
print(right.mean(axis="columns").describe()[["min", "25%", "50%", "75%", "max"]].to_string())

# %% [markdown]
# The systems differ a lot, from guessing to almost perfect. We need such differences: if all
# systems were equally good, we could not compare stronger systems with weaker ones.
#
# ## Fit the model
#
# The model is called 2PL. It gives every system one number and every digit two:
#
# - **ability** of a system: 0 is the average system, 1 is one standard deviation above it;
# - **difficulty** of a digit: the ability at which the chance of a right answer is one half;
# - **discrimination** of a digit, its slope: how steeply that chance rises with ability. At 0 it
#   does not rise. Below 0 it falls.

# %%
with warnings.catch_warnings(action="ignore"):  # the summary says what it warns of
    result = irtkit.fit(crowd.responses, "2PL")
print(result)

# %% [markdown]
# Some slopes come out below 0. But a slope is an estimate, and one that is truly near 0 can land
# on the wrong side by chance. So the sign alone is not enough.
#
# One sentence of the summary asks for caution. Systems that repeat each other's answers are not
# independent witnesses. irtkit estimates an effective sample size of about 51 for these 130
# systems, and weights their evidence accordingly.
#
# ## List the suspects
#
# `flag_items` lists the digits whose label deserves a look, and says why:
#
# - *negative discrimination*: weaker systems do significantly better than stronger ones. By
#   default, one in twenty of these verdicts is expected to be false. (Here there is no such
#   verdict: 51 independent systems are too few for it.)
# - *possible wrong key*: the digit behaves as with a wrong key, with a probability above 0.02.
#
# `called` marks those that hold with error control.
#
# It also lists digits that are merely uninformative (`suspect` is False): their slope is not
# significantly different from 0 (*flat discrimination*), or their difficulty is more than six
# standard deviations from the average (*extreme difficulty*). We leave these aside.
#
# Digits that all systems get right, or all get wrong, say nothing about systems. `irtkit.audit`
# counts them, and names the digits that nobody gets right.
#
# Two columns weigh the evidence:
#
# - `log_bayes_factor` compares two hypotheses: the key was moved, or the digit is an ordinary one.
#   It is the logarithm of the ratio of their likelihoods. Above 3 is strong evidence of a wrong
#   key. Near 0 the answers do not decide, and far below 0 they speak against a wrong key. The list
#   has this order.
# - `p_negative` is the probability that the slope is below 0. It also uses how rare negative
#   slopes are among all digits, and so it is more careful.
#
# We also pass what each system answered. So the list has the most frequent answer of the best
# quarter of the systems (`strong_answer`), the share of them that gave it (`strong_share`), and
# the keyed answer (`marked_right`, None if nobody gave it).

# %%
with warnings.catch_warnings(record=True, action="always") as cautions:
    listed = irtkit.flag_items(result, predictions=crowd.predictions)
print(*(f"irtkit warns: {caution.message}\n" for caution in cautions))
suspects = listed[listed["suspect"]]
worst = suspects.index[0]

print(suspects["reasons"].value_counts().to_string())
print("\ncalled:", ", ".join(suspects.index[suspects["called"]]), "\n")
weighed = ["p_negative", "log_bayes_factor", "discrimination", "average_error"]
print(suspects[[*weighed, "strong_answer", "strong_share", "marked_right"]])

# %% [markdown]
# ## Look at them
#
# Numbers only say where to look. Here are the suspects. Next to each image are the votes of the
# systems: black for the best quarter, grey for all others. The orange stripe is the label.

# %%
ability = result.respondents["ability"]
ablest = ability >= ability.quantile(0.75)
weakest = ability <= ability.quantile(0.25)


def draw(items: pd.Index, title: str) -> None:
    """Draw digits and the votes of the crowd, four in a row."""
    rows = -(-len(items) // 4)
    figure = plt.figure(figsize=(13, 2.2 * rows + 0.6), layout="constrained")
    figure.suptitle(title, fontsize=14)
    for place, item in zip(figure.subfigures(rows, 4).flat, items, strict=False):
        label, answers = crowd.labels[item], crowd.predictions[item]
        most, best = answers.mode()[0], answers[ablest].mode()[0]
        place.suptitle(f"{item}, label {label}\nmost say {most}, best quarter {best}", fontsize=10)
        image, votes = place.subplots(1, 2, width_ratios=[1, 1.1])
        image.imshow(images[crowd.labels.index.get_loc(item)], cmap="gray_r")
        image.set(xticks=[], yticks=[])
        strong, others = (
            answers[group].value_counts().reindex(range(10), fill_value=0)
            for group in (ablest, ~ablest)
        )
        votes.axvspan(label - 0.5, label + 0.5, color="orange", alpha=0.4, linewidth=0)
        votes.bar(strong.index, strong, color="black")
        votes.bar(others.index, others, bottom=strong, color="silver")
        votes.set(xticks=range(10), ylim=(0, len(answers)), yticks=[0, 50, 100])
        votes.tick_params(labelsize=8)
        votes.spines[["top", "right"]].set_visible(False)
    plt.show()


draw(suspects.index, "Suspect digits, worst first")

# %% [markdown]
# A suspect is not a verdict. Some of these digits look more like what the crowd says than like
# their label. Some could be anything: an image has only 8 × 8 pixels. And in some the label looks
# right, and nearly all systems are wrong. A person has to decide, but only about a handful of
# digits.
#
# ## What average error would list
#
# The usual way to find bad items is to look at those that most systems get wrong. Let us take as
# many of the hardest digits as there are suspects. The last two columns show the accuracy of the
# weakest and of the best quarter of the systems.

# %%
hardest = result.items.nlargest(len(listed), "average_error")
hardest["suspect"] = hardest.index.isin(suspects.index)
hardest["weakest_right"] = right.loc[weakest, hardest.index].mean()
hardest["ablest_right"] = right.loc[ablest, hardest.index].mean()
sound = hardest.drop(listed.index, errors="ignore")

shown = ["average_error", "discrimination", "p_negative", "suspect"]
print(hardest[[*shown, "weakest_right", "ablest_right"]])

helped = (sound["ablest_right"] > sound["weakest_right"]).sum()
print(f"\nneither suspect nor uninformative: {len(sound)} of the {len(hardest)} hardest")
print(f"of these with a slope above 0: {(sound['discrimination'] > 0).sum()}")
print(f"of these better read by the best quarter than by the weakest: {helped}")
print(f"suspects that are not among the hardest: {len(suspects.index.difference(hardest.index))}")
rank = result.items["average_error"].rank(ascending=False, method="min").astype(int)
print("\nrank by average error of those called:")
print(rank[suspects.index[suspects["called"]]].to_string())

# %% [markdown]
# In the next picture every point is a digit. Average error uses only the horizontal axis: it would
# list all digits right of the dashed line. The suspects differ on the vertical axis: their slopes
# are near 0 or below.

# %%
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
others = result.items.drop(suspects.index)
for digits, name, color, size in (
    (others, "others", "silver", 8),
    (suspects, "suspects", "crimson", 28),
):
    axes.scatter(digits["average_error"], digits["discrimination"], size, color, label=name)
at = suspects.loc[worst, ["average_error", "discrimination"]]
axes.annotate(worst, at, (0, 8), textcoords="offset points", ha="center")
axes.axhline(0, color="black", linewidth=0.8)
axes.axvline(hardest["average_error"].min(), color="black", linewidth=0.8, linestyle="--")
axes.set(xlabel="average error", ylabel="discrimination (slope)")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# These are the hardest digits that are not listed. Many look odd, but a person can read most of
# them and agrees with the label. They are hard, and their labels are right.

# %%
draw(sound.index[:8], "Hard but not listed, hardest first")

# %% [markdown]
# ## What a negative slope looks like
#
# Left is the worst suspect, right the steepest of those hard but sound digits. The systems are
# sorted by ability and cut into ten bins of the same size. A dot is the share of a bin that is
# right, the line is the fitted curve. The small marks are single systems: at the top if they are
# right, at the bottom if they are wrong.

# %%
grid = np.linspace(ability.min(), ability.max(), 200)
curves = result.probability(grid)
tenth = pd.qcut(ability, 10, labels=False)

figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for panel, item in zip(panels, [worst, sound["discrimination"].idxmax()], strict=True):
    hit = right[item]
    panel.plot(grid, curves[item], color="crimson")
    panel.plot(ability.groupby(tenth).mean(), hit.groupby(tenth).mean(), "o", color="black")
    panel.plot(ability, np.where(hit, 1.04, -0.04), "|", color="gray", alpha=0.6)
    slope, error = result.items.loc[item, ["discrimination", "discrimination_se"]]
    panel.set_title(f"{item}: slope {slope:.1f}, standard error {error:.1f}")
    panel.set(xlabel="ability", ylabel="share right" if item == worst else "")
    panel.spines[["top", "right"]].set_visible(False)
plt.show()

winners = pd.DataFrame({"ability": ability, "accuracy": right.mean(axis="columns")})
print(f"systems that are right about {worst}:")
print(winners[right[worst]].sort_values("ability"))
print("\nan average system:")
print(winners.mean().to_string())

# %% [markdown]
# On the right, stronger systems are right and weaker ones are wrong. On the left, only some weak
# systems give the keyed answer, and no strong system does. They are few, so the slope has a large
# standard error. The list is about its sign.
#
# ## Which systems answer alike?
#
# The effective sample size of the 130 systems is about 51. `similar_respondents` lists the pairs
# that agree most beyond what their abilities explain.

# %%
pairs = irtkit.similar_respondents(result)
print(pairs.head(10))

one, other = crowd.systems.loc[pairs["respondent"]], crowd.systems.loc[pairs["other"]]
print(f"\npairs: {len(pairs)}")
for trait in ("family", "training_size"):
    print(f"with the same {trait}: {(one[trait].to_numpy() == other[trait].to_numpy()).sum()}")

# %% [markdown]
# Systems with the same training size were trained on the same digits. More of these pairs share
# the training size than the kind of classifier (`family`). If you know the families of your
# systems, pass them as `families=`. Evidence then counts by family or by the effective sample
# size, whichever is less. `families="similar"` makes families of the listed pairs. They leave out
# weaker similarity, so here the effective sample size counts.

# %% [markdown]
# ## What to take away
#
# - A high average error says that an item is hard. A slope near or below 0 says that something may
#   be wrong with it.
# - Look at the first few of the list, and let a person decide.
# - Check against permuted responses, and look at the effective sample size.
#
# With your own data the first lines are `responses = irtkit.read_responses("results.csv")` and
# `result = irtkit.fit(responses, "2PL")`. The rest stays the same.
