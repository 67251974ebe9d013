# %% [markdown]
# # Average error against item response theory
#
# The share of systems that get an item wrong is the simplest measure of how hard it is. What does a
# fitted difficulty say beyond it?

# %%
import warnings

import irtkit

crowd = irtkit.load_digits_crowd()
responses = crowd.responses
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)

# %% [markdown]
# Most items stand in the same order by both: where all systems answered all items, average error is
# what the 1PL goes by.

# %%
told = result.items["status"] == "ok"
rising = result.items["discrimination"] > 0
items = result.items[told & rising]
items[["average_error", "difficulty", "expected_error"]].corr("spearman").round(3)

# %% [markdown]
# They part where slopes differ. Of two items with the same average error the steeper one is the
# easier for the strong and the harder for the weak.

# %%
alike = items[items["average_error"].between(0.45, 0.55)].sort_values("discrimination")
pair = alike.index[[0, -1]]
result.probability([-1.0, 0.0, 1.0])[list(pair)].round(2)

# %% [markdown]
# Does a model predict held-out answers better than average error does? The comparison fits both to
# four fifths of the systems, and predicts a fifth of the answers of the others from the rest. The
# 1PL stands for average error.

# %%
with warnings.catch_warnings(action="ignore"):
    comparison = irtkit.compare_difficulties(result, progress=False)
print(comparison)
