# %% [markdown]
# # Scaling out
#
# Time and memory grow with the answers that there are, not with the table they would fill.

# %%
import time
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
# A long table in which 4 % of the cells are observed:

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
begun = time.perf_counter()
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)
print(f"{time.perf_counter() - begun:.1f} s, {result.n_iterations} evaluations")
found = result.items.loc[[str(k) for k in range(n_items)]]
print(
    f"rank correlation with true difficulties: "
    f"{found['difficulty'].corr(pd.Series(items.difficulty, found.index), 'spearman'):.3f}"
)

# %% [markdown]
# Systems that answered alike are computed once: thousands of systems on a dozen items are a few
# hundred patterns.

# %%
few = irtkit.ItemParameters.from_difficulty(np.full(12, 1.0), np.linspace(-2, 2, 12))
many = irtkit.simulate_responses(few, generator.normal(size=50_000), seed=1)
begun = time.perf_counter()
result = irtkit.fit(many)
print(f"50,000 × 12: {time.perf_counter() - begun:.2f} s")

# %% [markdown]
# For a posterior in batches, checkpoints and several devices see the page on scaling out.
