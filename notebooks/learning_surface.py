# %% [markdown]
# # What is learned first?
#
# Give a classifier more examples and it gets better. But better at what? Lalor and others (2018)
# asked this about neural networks that classify sentences. For every answer they noted how much
# the network had trained and how hard the item was. They found that "easy examples are learned
# first". This notebook asks the same of eight classifiers of handwritten digits.
#
# To run it: `pip install "irtkit[curves,plots]"`. It takes some seconds.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import irtkit

pd.set_option("display.width", 120, "display.max_columns", 20)
pd.set_option("display.float_format", "{:.2f}".format)

answers = irtkit.datasets.load_digits_learning()
print(answers.sample(5, random_state=0))
print(answers.pivot_table(index="respondent", columns="training_size", values="right"))

# %% [markdown]
# Each system trained on 10, 20, 40 … 1,280 digits, and each time answered all 1,797 digits, none
# of which it had trained on.
#
# ## How hard is a digit?
#
# The answers of these systems should not decide: a digit that they learn late would look hard for
# that reason. The digits crowd has 104 other systems. Their answers give the difficulties.

# %%
crowd = irtkit.load_digits_crowd()
learners = answers["respondent"].unique()
others = ~crowd.systems.index.str.replace(r"-n\d+$", "", regex=True).isin(learners)
right = crowd.predictions.eq(crowd.labels, axis="columns")[others]
with warnings.catch_warnings(action="ignore"):  # one ability does not explain all they have
    result = irtkit.fit(right, "1PL", standard_errors=False)
print(len(right), "systems")
answers["difficulty"] = answers["item"].map(result.items["difficulty"])

# %% [markdown]
# ## The surface
#
# For each system, a logistic regression says how the log-odds of a right answer depend on the
# logarithm of the training size, on difficulty, and on their product. Standard errors are
# clustered, because every system answers a digit eight times.

# %%
surface = irtkit.learning_surface(answers)
print(surface)
product = surface.coefficients.xs("log training_size:difficulty", level="term")
print(product[["estimate", "se", "se_clustered", "low", "high"]])

# %% [markdown]
# The last coefficient, the product, answers the question. Below 0, the odds rise faster with size
# for easy digits than for hard ones. Lalor and others found the same. Here it holds for all eight
# systems.
#
# The next picture has contours of log-odds, as in their paper. If they spread to the right like a
# fan, more training helps earlier and more with the easy digits (bottom).

# %%
figure, panels = plt.subplots(2, 4, figsize=(13, 6), sharex=True, sharey=True, layout="constrained")
for panel, (name, points) in zip(panels.flat, surface.grid.groupby("respondent"), strict=True):
    z = points.pivot_table(index="difficulty", columns="training_size", values="log_odds")
    drawn = panel.contour(z.columns, z.index, z, levels=np.arange(-8, 13, 2), cmap="RdBu")
    panel.clabel(drawn, fontsize=8)
    panel.set(xscale="log", title=name)
figure.supxlabel("training size")
figure.supylabel("difficulty")
plt.show()

# %% [markdown]
# ## Is that only the shape of the curve?
#
# The regression fits plain surfaces, and the scale of difficulty is a choice. So we check without
# the regression: cut the digits into ten groups from easy to hard, and see how fast the odds rise
# with size in each group.

# %%


def rise(difficulty: pd.Series) -> pd.DataFrame:
    """Show how fast log-odds rise with the logarithm of size, by tenths of difficulty."""
    tenth = np.ceil(difficulty.rank(method="first", pct=True) * 10)
    groups = answers.assign(tenth=answers["item"].map(tenth)).drop(columns="difficulty")
    groups = groups.dropna().astype({"tenth": int})
    found = irtkit.learning_surface(groups, by=["respondent", "tenth"])
    slopes = found.coefficients.xs("log training_size", level="term")["estimate"]
    return slopes.reset_index().pivot_table(index="respondent", columns="tenth", values="estimate")


by_tenth = rise(result.items["difficulty"])
print(by_tenth)

# %% [markdown]
# From the second tenth on, the rise mostly gets slower. It is slowest for the hardest digits, in
# every system. Systems know the easiest tenth from the start. They make hardly any mistakes there,
# so the rise is not estimated well.
#
# ## A warning: what the 2PL calls easy
#
# The 2PL also gives every digit a slope. With its difficulties the finding seems to disappear:

# %%
with warnings.catch_warnings(action="ignore"):
    steep = irtkit.fit(right, "2PL", standard_errors=False)
digits = steep.items.assign(share_right=1 - steep.items["average_error"])


def products(difficulty: pd.Series) -> pd.DataFrame:
    """Show the coefficient of the product, with its interval."""
    frame = answers.assign(difficulty=answers["item"].map(difficulty.clip(-6, 6)))
    terms = irtkit.learning_surface(frame).coefficients
    return terms.xs("log training_size:difficulty", level="term")[["estimate", "low", "high"]]


print(products(digits["difficulty"]))
easiest = digits.nsmallest(180, "difficulty")
print(easiest.nsmallest(8, "discrimination")[["discrimination", "difficulty", "share_right"]])

# %% [markdown]
# Look at the proportion correct: these digits are in the "easiest" tenth, and few systems read the
# first seven correctly. The slopes of these seven are below 0. With a negative slope, a low
# difficulty does not mean that the digit is easy: only the weakest systems get it right. The first
# of the seven is the worst suspect in the notebook `suspect_items`. Here is the result without the
# digits whose slope is below 0:

# %%
sound = digits["difficulty"].where(digits["discrimination"] > 0)
print(products(sound))
print(rise(sound.dropna()))

# %% [markdown]
# By tenths, the odds again rise slowest for the hardest digits, in every system. From the third
# tenth on, the rise falls much as before. The coefficient is less certain. Without the seven
# digits, one system contradicts the finding and not three, but most coefficients are near 0. The
# regression is linear in difficulty, and the 2PL gives hard digits a long tail of difficulties.
# How fast odds rise *per unit of difficulty* depends on the scale. Which digits are learned sooner
# does not.
#
# ## The same for tasks that take people minutes
#
# The covariate may be any number that describes systems, runs or items. Here are simulated runs of
# two systems, eight on each of 170 tasks, which take a person some minutes each:

# %%
generator = np.random.default_rng(0)
tasks = pd.DataFrame({"item": range(170), "minutes": np.exp(generator.uniform(0, 7, 170))})
tasks["luck"] = generator.normal(size=170)  # tasks differ by more than their length
runs = tasks.loc[np.repeat(tasks.index, 16)].assign(model=["old", "new"] * 8 * 170)
reach = np.log(runs["model"].map({"old": 10, "new": 60}))
log_odds = 1.2 * (reach - np.log(runs["minutes"])) + runs["luck"]
runs["right"] = generator.random(len(runs)) < 1 / (1 + np.exp(-log_odds))

by_length = irtkit.learning_surface(runs.drop(columns="luck"), covariate="minutes")
print(by_length.coefficients[["estimate", "se", "se_clustered", "low", "high"]])

# %% [markdown]
# Runs on one task are correlated. Errors that take all runs as independent (`se`) are too small.
# `irtkit.horizon` says how long tasks may be if a system solves half of them.
#
# ## What to take away
#
# - On these digits easy items are learned sooner: the odds rise faster with size where difficulty
#   is low. That holds for all eight systems with difficulties of the 1PL.
# - With difficulties of the 2PL, the coefficient does not show it, but groups of digits do. Leave
#   out items with slopes below 0, and look at groups before you trust one coefficient.
# - Answers to one item are correlated. Cluster the standard errors.
