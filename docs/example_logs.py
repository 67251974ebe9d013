"""Write the simulated logs of the tutorial: ``python docs/example_logs.py runs/``.

36 invented language models answer 150 arithmetic questions. The 2PL simulates who solves what. A
model that fails makes the usual slip in three of five cases. Four questions have that slip as their
key. The logs have the form of lm-evaluation-harness.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

FAMILIES = ["alder", "birch", "cedar", "hazel", "larch", "maple"]
SIZES = [1, 3, 8, 14, 32, 70]
WRONG_KEYS = [17, 41, 58, 90]
"""Questions on products whose key has two digits exchanged."""
WHEN = "2026-10-01T09-00-00.000000"


def write_logs(folder: Path, seed: int = 4) -> None:
    """Write a folder of logs for each model."""
    random = np.random.default_rng(seed)
    tasks = {"addition": _questions(random, "+", 40), "products": _questions(random, "×", 110)}
    items = {
        "addition": (random.lognormal(0.2, 0.2, 40), random.normal(-3.2, 0.4, 40)),
        "products": (random.lognormal(0.4, 0.3, 110), random.normal(0.1, 1.1, 110)),
    }
    for family in FAMILIES:
        lead = random.normal(0, 0.35)
        for size in SIZES:
            ability = lead + 0.55 * np.log(size / 8) + random.normal(0, 0.25)
            model = f"{family}-{size}b"
            path = folder / f"example__{model}"
            path.mkdir(parents=True)
            about = {"model_name": f"example/{model}", "lm_eval_version": "0.4.9"}
            (path / f"results_{WHEN}.json").write_text(json.dumps(about))
            for task, questions in tasks.items():
                slopes, difficulties = items[task]
                solved = random.random(len(slopes)) < _logistic(slopes * (ability - difficulties))
                lines = [
                    json.dumps(_sample(k, *question, task, random, solved=right))
                    for k, (question, right) in enumerate(zip(questions, solved, strict=True))
                ]
                (path / f"samples_{task}_{WHEN}.jsonl").write_text("\n".join(lines) + "\n")


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _questions(random: np.random.Generator, sign: str, n: int) -> list[tuple[str, int]]:
    """Questions and their right answers."""
    pairs = random.integers(12, 99, size=(n, 2)).tolist()
    return [(f"What is {a} {sign} {b}?", a + b if sign == "+" else a * b) for a, b in pairs]


def _sample(
    k: int, text: str, answer: int, task: str, random: np.random.Generator, *, solved: bool
) -> dict[str, object]:
    """One line of a log."""
    key = answer
    if task == "products" and k in WRONG_KEYS:
        key = _exchanged(answer)
    slip = _exchanged(answer) if random.random() < 0.6 else answer + 10 * int(random.integers(2, 9))
    said = answer if solved else slip
    return {
        "doc_id": k,
        "doc": {"question": text},
        "target": str(key),
        "arguments": {"gen_args_0": {"arg_0": f"{text}\nAnswer:"}},
        "resps": [[f" {said}"]],
        "filtered_resps": [str(said)],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": hashlib.sha256(text.encode()).hexdigest(),
        "exact_match": float(said == key),
    }


def _exchanged(answer: int) -> int:
    """The number with its last two digits exchanged, or 10 more if they are the same."""
    tens, ones = divmod(answer, 10)
    swapped = tens - tens % 10 + ones, tens % 10
    return answer + 10 if tens % 10 == ones else 10 * swapped[0] + swapped[1]


if __name__ == "__main__":
    write_logs(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
