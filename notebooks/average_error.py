# %% [markdown]
# # Average error against item response theory
#
# The share of systems that get an item wrong is the simplest measure of how hard it is. What does
# a fitted difficulty say beyond it?

# %%
import warnings

import irtkit

crowd = irtkit.load_digits_crowd()
responses = crowd.responses
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)

# %% [markdown]
# Both measures put most items in the same order. If all systems answered all items, the order of
# the 1PL is the order of average error.

# %%
clear = result.items["status"] == "ok"
rising = result.items["discrimination"] > 0
items = result.items[clear & rising]
items[["average_error", "difficulty", "expected_error"]].corr("spearman").round(3)

# %% [markdown]
# The measures differ if slopes differ. Here are two items with about the same average error. The
# steeper one is easier for high-ability systems and harder for low-ability systems.

# %%
alike = items[items["average_error"].between(0.45, 0.55)].sort_values("discrimination")
pair = alike.index[[0, -1]]
result.probability([-1.0, 0.0, 1.0])[list(pair)].round(2)

# %% [markdown]
# Does a model predict held-out answers better than average error? The comparison fits both to four
# fifths of the systems. It then predicts a fifth of the answers of the other systems from the rest
# of their answers. The 1PL stands for average error.

# %%
with warnings.catch_warnings(action="ignore"):
    comparison = irtkit.compare_difficulties(result, progress=False)
print(comparison)
