# %% [markdown]
# # Comparing systems
#
# A leaderboard is a claim about every pair on it. How much of it do the items allow?

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
# Intervals of ranks, and letters of systems that do not differ significantly:

# %%
board = result.leaderboard()
board[["rank", "rank_low", "rank_high", "accuracy", "group"]]

# %% [markdown]
# One pair, named beforehand; and how many items would settle it.

# %%
found = irtkit.compare_systems(result, "respondent-1", "respondent-4")
print(found)

# %% [markdown]
# All pairs at once, with the number of comparisons taken into account:

# %%
pairs = irtkit.compare_systems(result)
print(f"{pairs['different'].sum()} of {len(pairs)} pairs differ significantly")

# %% [markdown]
# Errors that ignore clusters are too small. Here every item is asked in four wordings, which a
# system gets right or wrong together:

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
# Before a merge: has the new version dropped by more than two points?

# %%
new = irtkit.simulate_responses(items, abilities - 0.1, seed=2)
print(irtkit.gate(responses, new, max_drop=0.02))
