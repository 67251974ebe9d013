# %% [markdown]
# # From evaluation logs
#
# irtkit reads logs as the harness wrote them. This notebook first writes a few logs in the format
# of lm-evaluation-harness (lm-eval), in a temporary folder. One answer key is wrong.

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
# On the command line, `irtkit inspect` summarises a folder. In Python, a folder is read like any
# other data.

# %%
responses = irtkit.read_responses(runs)
responses

# %%
with warnings.catch_warnings(action="ignore"):
    result = irtkit.fit(responses)
irtkit.flag_items(result)[["reasons", "p_negative", "text"]]

# %% [markdown]
# Write all logs into one file. What is known about the items goes into a second file next to it.

# %%
irtkit.write_responses(responses, runs / "all.parquet")
again = irtkit.read_responses(runs / "all.parquet")
print(again == responses)
folder.cleanup()
