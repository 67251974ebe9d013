# %% [markdown]
# # Quickstart
#
# 130 classifiers were asked to read 1,797 handwritten digits. The package carries their answers, so
# that there is something to fit at once.

# %%
import warnings

import irtkit

crowd = irtkit.load_digits_crowd()
crowd.responses

# %% [markdown]
# A fit takes a matrix, or a path, a folder of logs, a data frame. It warns of what limits the
# estimates, and keeps the findings.

# %%
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(crowd.responses)
for finding in result.findings:
    print("-", finding)

# %% [markdown]
# Items and systems are data frames. Expected error is the share of the population that gets the
# item wrong, on one footing for all items.

# %%
columns = ["discrimination", "difficulty", "average_error", "expected_error", "status"]
result.items.sort_values("expected_error", ascending=False)[columns].head()

# %%
board = result.leaderboard()
board[["rank", "rank_low", "rank_high", "accuracy", "ability", "group"]].head(8)

# %% [markdown]
# Which items look broken, and why?

# %%
print(irtkit.audit(result))

# %% [markdown]
# Is the first of the board better than the tenth? Naming a pair after having seen the board is not
# naming it beforehand, and the sentence says so.

# %%
print(irtkit.compare_systems(result, board.index[0], board.index[9]))
