# %% [markdown]
# # Comparing systems
#
# A leaderboard claims something about every pair of systems. How many of these claims do the items
# support? The answers here are simulated, so that the true abilities are known.

# %%
import warnings

import numpy as np

import irtkit

items = irtkit.ItemParameters.from_difficulty(
    np.full(200, 1.0), np.random.default_rng(0).normal(size=200)
)
abilities = np.array([1.2, 1.1, 1.0, 0.4, 0.3, -0.2, -0.2, -1.0])
responses = irtkit.simulate_responses(items, abilities, seed=1)
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)

# %% [markdown]
# The board has an interval for every rank. Systems that share a letter do not differ
# significantly.

# %%
board = result.leaderboard()
board[["rank", "rank_low", "rank_high", "accuracy", "group"]]

# %% [markdown]
# Compare one pair that was chosen beforehand. The result also says how many items would show such
# a difference.

# %%
found = irtkit.compare_systems(result, "respondent-1", "respondent-4")
print(found)

# %% [markdown]
# Compare all pairs at once. P-values are adjusted for the number of comparisons.

# %%
pairs = irtkit.compare_systems(result)
print(f"{pairs['different'].sum()} of {len(pairs)} pairs differ significantly")

# %% [markdown]
# Standard errors that ignore clusters are too small. Here every item is asked in four wordings,
# and a system gets all four right or all four wrong. The first interval ignores the clusters, and
# the second one uses them.

# %%
values = np.repeat(responses.values, 4, axis=1)
wordings = irtkit.ResponseMatrix(values, responses.respondents)
question = {label: str(k // 4) for k, label in enumerate(wordings.items)}
with warnings.catch_warnings(action="ignore"):
    of_wordings = irtkit.fit(wordings)
for clusters in (None, question):
    of_pair = irtkit.compare_systems(of_wordings, "respondent-1", "respondent-4", clusters=clusters)
    print(f"{of_pair.difference:+.3f}, from {of_pair.low:+.3f} to {of_pair.high:+.3f}")

# %% [markdown]
# A gate before a merge: has the accuracy of the new version dropped by more than two points?

# %%
new = irtkit.simulate_responses(items, abilities - 0.1, seed=2)
print(irtkit.gate(responses, new, max_drop=0.02))
