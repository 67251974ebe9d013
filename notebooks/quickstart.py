# %% [markdown]
# # Quickstart
#
# This notebook shows the main functions on two data sets: a simulated board of language models,
# and the bundled answers of 130 classifiers.
#
# ## A board of language models
#
# The board is simulated, so that anyone may share it. 40 invented models answer 100 questions.
# Their sizes run from 1 to 70 billion parameters, and larger models have a higher ability on
# average. The key of item 41 is wrong: it is the answer that most failing models give.

# %%
import numpy as np
import pandas as pd

import irtkit

random = np.random.default_rng(7)
sizes = np.repeat([1, 3, 8, 32, 70], 8)
abilities = 0.6 * np.log(sizes / 8) + random.normal(0, 0.4, 40)
models = [f"model-{k:02d}-{size}b" for k, size in enumerate(sizes)]

factors = random.integers(12, 99, size=(100, 2))
slopes, difficulties = random.lognormal(0.3, 0.3, 100), random.normal(size=100)
slopes[40] = -slopes[40]  # the wrong key, of item-41
items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
responses = irtkit.simulate_responses(items, abilities, respondent_labels=models, seed=7)

texts = [f"What is {a} × {b}?" for a, b in factors]
keys = [str(a * b + 10 * (k == 40)) for k, (a, b) in enumerate(factors)]
table = pd.DataFrame({"text": texts, "target": keys}, index=[*responses.items])
responses = responses.with_tables(table)
responses

# %% [markdown]
# With your own data, `irtkit.read_responses` reads a table or a folder of lm-eval, Inspect or
# HELM logs. A fit estimates the difficulty and discrimination of each item and the ability of
# each system.

# %%
result = irtkit.fit(responses)
print(result)

# %% [markdown]
# Which items should you check? The audit names an item and prints its text and key. The product
# is 10 less than the key says.

# %%
print(irtkit.audit(result))

# %% [markdown]
# Who is ahead? `rank_low` and `rank_high` are a 95 % interval for the rank. Systems that share a
# letter in `group` do not differ significantly.

# %%
board = result.leaderboard()
board[["rank", "rank_low", "rank_high", "accuracy", "ability", "group"]].head(8)

# %%
irtkit.plots.leaderboard(result, top=12)

# %% [markdown]
# Is one model better than another? Choose the pair before you look at the leaderboard. A choice
# afterwards inflates significance, and the output says so.

# %%
print(irtkit.compare_systems(result, "model-36-70b", "model-31-32b"))

# %% [markdown]
# Does the benchmark still separate the best systems, or is it saturated?

# %%
print(result.health())

# %% [markdown]
# ## The bundled classifiers
#
# 130 classifiers read 1,797 handwritten digits. Many of them are variants of one another, so the
# effective sample size is much smaller than 130. The first note says so.

# %%
crowd = irtkit.load_digits_crowd()
digits = irtkit.fit(crowd.responses)
print(digits)

# %% [markdown]
# Items and systems are data frames. `expected_error` is the error rate that the model expects
# over all systems, so it compares items even if different systems answered them.

# %%
columns = ["discrimination", "average_error", "expected_error", "status"]
digits.items.sort_values("expected_error", ascending=False)[columns].head().round(3)

# %% [markdown]
# If you know what the systems answered, the audit also names the answer that is probably right.
# It is the column `strong_answer`.

# %%
suspects = irtkit.audit(digits, predictions=crowd.predictions).suspects
suspects[["p_wrong_key", "marked_right", "strong_answer", "reasons"]].head(8)

# %%
irtkit.plots.item_curves(digits, ["digit-1658", "digit-0187"])
