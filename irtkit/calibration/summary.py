"""The tables of a fit in a few readable lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import ModelName


def tables_in_words(items: pd.DataFrame, respondents: pd.DataFrame, model: ModelName) -> str:
    """Return what ``print(result)`` says of items, the hardest ones, and the ablest respondents."""
    columns = ["discrimination", "difficulty", "average_error", "n_responses", "status"]
    if model == "3PL":
        columns.insert(2, "guessing")
    hardest = items.sort_values("average_error", ascending=False)[columns]
    real = respondents[~respondents["synthetic"]].sort_values("ability", ascending=False)
    ablest = real[["ability", "ability_se", "accuracy", "n_responses"]]
    return "\n".join(
        [
            *_remarkable(items, model),
            *("", "items with the highest average error:", _shown(hardest)),
            *("", "ablest respondents:", _shown(ablest)),
        ]
    )


def _remarkable(items: pd.DataFrame, model: ModelName) -> list[str]:
    """How many items have negative slopes or no ordinary estimate."""
    lines = []
    if model in {"2PL", "3PL"}:
        negative = int((items["discrimination"] < 0).sum())
        lines.append(
            f"discrimination is estimated below 0 for {negative} of {len(items)} items\n"
            "(irtkit.flag_items says which are to be believed)"
        )
    counts = items["status"].value_counts()
    unusual = [f"{n} {status}" for status, n in counts.items() if status != "ok"]
    return lines + (["items not ok: " + ", ".join(unusual)] if unusual else [])


def _shown(table: pd.DataFrame) -> str:
    return table.head().to_string(float_format="%.3f", index_names=False)
