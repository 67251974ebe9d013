# %% [markdown]
# # From evaluation logs
#
# Logs are read as the harness wrote them. Here a few are written first, as lm-evaluation-harness
# would, in a folder that goes away again.

# %%
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np

import irtkit

folder = tempfile.TemporaryDirectory()
runs = Path(folder.name) / "runs"
items = irtkit.ItemParameters.from_difficulty(np.full(60, 1.2), np.linspace(-2, 2, 60))
right = irtkit.simulate_responses(items, np.linspace(-2, 2, 40), seed=0).values.copy()
right[:, 30] = 1 - right[:, 30]  # a wrong key
for system, marks in enumerate(right):
    place = runs / f"system-{system:02d}"
    place.mkdir(parents=True)
    lines = [
        json.dumps(
            {
                "doc_id": k,
                "doc": {"question": f"question {k}"},
                "target": "yes",
                "arguments": [[f"question {k}", " yes"]],
                "acc": int(mark),
            }
        )
        for k, mark in enumerate(marks)
    ]
    name = "samples_quiz_2026-01-02T03-04-05.000000.jsonl"
    (place / name).write_text("\n".join(lines), encoding="utf-8")

# %% [markdown]
# `inspect` on the command line says what is there; in Python a folder is read like any other data.

# %%
responses = irtkit.read_responses(runs)
responses

# %%
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)
irtkit.flag_items(result)[["reasons", "p_negative", "text"]]

# %% [markdown]
# Many logs become one file, with what is known of the items beside it.

# %%
irtkit.write_responses(responses, runs / "all.parquet")
again = irtkit.read_responses(runs / "all.parquet")
print(again == responses)
folder.cleanup()
