# %% [markdown]
# # How do systems fare as items get harder?
#
# One number per system, its accuracy, hides where it was earned. Two systems with the same
# accuracy may be different: one gets all the easy items right and none of the hard ones, the other
# is right here and there. A *system characteristic curve* shows the difference. It is the accuracy
# of the system in ranges of difficulty. This notebook draws such curves for 130 classifiers of
# handwritten digits, asks who is best where, and then raises an alarm when a classifier is no
# longer what it was.
#
# To run it: `pip install "irtkit[plots]"`. It takes some seconds.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import irtkit

pd.set_option("display.width", 120, "display.max_columns", 20)
pd.set_option("display.float_format", "{:.2f}".format)

crowd = irtkit.load_digits_crowd()
with warnings.catch_warnings(action="ignore"):  # one ability does not explain all they have
    result = irtkit.fit(crowd.responses, "1PL")
print(result.items["difficulty"].describe().to_string())

# %% [markdown]
# ## Curves
#
# The items are cut into ten ranges with about as many digits each, from the easiest to the
# hardest.
#
# There is a trap. A digit that a system misread looks harder for that reason. So the mistakes of
# the system move to the right, and its curve looks steeper than it is. The effect is small with
# 130 systems and large with 12. Therefore irtkit fits the model again without each system, and
# without the systems with similar answers. This fit puts the digits in ranges.

# %%
curves = irtkit.characteristic_curves(result)
shown = ["svm-rbf-C1", "logreg-C1", "bayes-gaussian", "tree-full", "knn-k3-2x2"]
print(curves.table.loc["tree-full"])

# %%
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for name in shown:
    one = curves.table.loc[name]
    error = [one["accuracy"] - one["accuracy_low"], one["accuracy_high"] - one["accuracy"]]
    axes.errorbar(one["difficulty"], one["accuracy"], error, fmt="o-", capsize=2, label=name)
axes.set(xlabel="difficulty", ylabel="share right", ylim=(0, 1.02))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Dots are accuracies with 95 % intervals. The intervals treat the digits as a random sample: other
# digits of the same difficulty would give other accuracies.
#
# ## Capability and generality
#
# Two numbers sum up a curve (Hernández-Orallo and others, 2021). *Capability* is the area under
# it: how far up the difficulties a system gets. *Generality* says how steeply the curve falls. It
# is high for a system that gets nearly everything right up to some difficulty, and low for a
# system with mistakes at any difficulty.

# %%
columns = ["capability", "generality", "generality_low", "generality_high"]
print(curves.systems.loc[shown, columns])

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.scatter(curves.systems["capability"], curves.systems["generality"], 12, color="silver")
for name in shown:
    at = curves.systems.loc[name, ["capability", "generality"]]
    axes.annotate(name, at, (4, 4), textcoords="offset points")
    axes.plot(*at, "o", color="crimson")
axes.set(xlabel="capability", ylabel="generality")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# ## Who is best where?
#
# In every range some system has the highest accuracy. With 130 systems, one is always ahead by
# chance. So irtkit names a *winner* only if one system is significantly better than all others.
# The *leaders* are the systems that do not differ significantly from the first.

# %%
print(curves.best[["difficulty_low", "difficulty_high", "best", "accuracy", "n_leaders", "winner"]])

few = ["svm-rbf-C1", "tree-full", "bayes-gaussian", "knn-k3-2x2"]
print("\nof four systems, chosen beforehand:")
print(irtkit.characteristic_curves(result, systems=few).best[["accuracy", "leaders", "winner"]])

# %% [markdown]
# ## An alarm
#
# Suppose these classifiers are put to work. New digits come in, harder or easier than the old
# ones, and we know how hard they are. Here we know it from the other systems. In practice a model
# predicts it from the picture. How many digits should each system get right, and does it still?
#
# To try it, we hide half of the digits, drawn at random, from 30 of the systems. Difficulties are
# estimated from all other answers.

# %%
generator = np.random.default_rng(1)
values = crowd.responses.to_frame()
watched = list(values.index[::4])[:30]


def alarms(new: pd.Series, spoil: float = 0.0) -> pd.DataFrame:
    """Watch 30 systems on new digits, some of their answers to which are spoilt."""
    unseen = pd.DataFrame([new & (name in watched) for name in values.index], values.index)
    with warnings.catch_warnings(action="ignore"):
        known = irtkit.fit(irtkit.ResponseMatrix.from_frame(values.mask(unseen)), "1PL")
    answers = values.loc[watched, new.index[new]]
    answers = answers.where(generator.random(answers.shape) >= spoil, 0)
    return irtkit.expected_performance(known, irtkit.ResponseMatrix.from_frame(answers))


half = pd.Series(generator.permutation(len(values.columns)) % 2 == 0, values.columns)
calm = alarms(half)
columns = ["original_accuracy", "expected", "expected_low", "expected_high", "accuracy", "alarm"]
print(calm[columns].head())
print(f"\nalarms: {calm['alarm'].sum()} of {len(calm)}")

# %% [markdown]
# By chance alone, one or two of 30 systems raise an alarm. Now we damage every system: one answer
# in ten is made wrong. `shift` says how much harder the digits would have to be to explain this.

# %%
blind = alarms(half, spoil=0.1)
print(f"alarms: {blind['alarm'].sum()} of {len(blind)}")
print(blind[["expected", "accuracy", "shift"]].describe().loc[["min", "50%", "max"]])

# %% [markdown]
# What if the new digits are harder? Let the old ones be 0, 2, 4, 6 and 7, and the new ones 1, 3,
# 5, 8 and 9.

# %%
new_classes = alarms(crowd.labels.isin([1, 3, 5, 8, 9]))
print(new_classes[["original_difficulty", "difficulty"]].mean().to_string())
print(f"\nalarms: {new_classes['alarm'].sum()} of {len(new_classes)}")
print(new_classes.loc[new_classes["alarm"], [*columns[:-1], "shift"]].sort_values("shift"))

# %% [markdown]
# Nearly all systems do worse on these digits, and difficulty explains it. But many alarms remain,
# in both directions: some classifiers are worse at 1, 3, 5, 8 and 9 than their curve predicts, and
# others are better. These alarms are not false. A system that is good at one digit need not be
# good at the others. One difficulty per digit cannot describe that, and `irtkit.fit` warns about
# it here.
#
# ## The same digits, changed
#
# The same items may be asked again with changed inputs. Here nobody says that they became harder,
# so the alarm says whether systems got worse. If a model predicts the difficulty of both versions,
# pass the predictions as `difficulties=` and `original_difficulties=`. Then the alarm is about
# what difficulty does not explain. The mean difference of both says how much harder the items
# became.

# %%
same = values.loc[watched]
spoilt = same.where(generator.random(same.shape) >= 0.1, 0)
changed = irtkit.expected_performance(
    result, irtkit.ResponseMatrix.from_frame(spoilt), systems=watched[:8]
)
print(changed[["original_accuracy", "expected_low", "expected_high", "accuracy", "alarm"]])

# %% [markdown]
# ## What to take away
#
# - A curve shows at which difficulties a system earns its accuracy.
# - Difficulties for a system should not come from its own answers.
# - Among many systems one is always ahead. `winner` says whether the lead is significant.
# - An alarm compares what a system does with what difficulty explains. Difficulties of old and new
#   items must come from one source.
