# %% [markdown]
# # Scaling out
#
# Time and memory grow with the number of answers, not with the number of cells. The page "Scaling
# out" of the manual has measured times.

# %%
import warnings

import numpy as np
import pandas as pd

import irtkit

generator = np.random.default_rng(0)
n_systems, n_items, n_answers = 20_000, 500, 400_000
items = irtkit.ItemParameters.from_difficulty(
    np.exp(generator.normal(0, 0.3, n_items)), generator.normal(size=n_items)
)
abilities = generator.normal(size=n_systems)

# %% [markdown]
# Make a long table in which 4 % of the cells are observed, and read it as a sparse matrix:

# %%
cells = generator.choice(n_systems * n_items, n_answers, replace=False)
system, item = np.divmod(cells, n_items)
logit = items.discrimination[item] * abilities[system] + items.intercept[item]
table = pd.DataFrame(
    {
        "respondent": system,
        "item": item,
        "correct": (generator.random(n_answers) < 1 / (1 + np.exp(-logit))).astype(int),
    }
)
responses = irtkit.ResponseMatrix.from_long(table, sparse=True)
responses

# %%
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)
found = result.items.loc[[str(k) for k in range(n_items)]]
print(
    f"rank correlation with true difficulties: "
    f"{found['difficulty'].corr(pd.Series(items.difficulty, found.index), 'spearman'):.3f}"
)

# %% [markdown]
# Systems with the same answers are computed once. So 50,000 systems on a dozen items take no
# longer than their different patterns of answers:

# %%
few = irtkit.ItemParameters.from_difficulty(np.full(12, 1.0), np.linspace(-2, 2, 12))
many = irtkit.simulate_responses(few, generator.normal(size=50_000), seed=1)
patterns = np.unique(many.values, axis=0)
print(f"{len(many.respondents):,} systems have {len(patterns):,} patterns")
irtkit.fit(many)

# %% [markdown]
# The same page explains posteriors in batches and several devices.
