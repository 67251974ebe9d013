"""What a script in the page reads: columns of numbers, labels, and who got what right.

One block of JSON. Numbers are little-endian columns in base64, which keeps NaN, is a third of the
digits, and holds the numbers of `result.items` in 32 bits, but for those that are shares or were
given, in 64: they may lie half-way between two that are shown, and 32 bits would shift them. A
column that is the same throughout is one number.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import reasons_text
from irtkit.pictures import ability_groups, ability_scale, group_counts, tick_text
from irtkit.report.findings import LEVEL, strong_answer
from irtkit.report.words import LABEL, TEXT, cut
from irtkit.responses import item_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.report.findings import Findings

_MOST_TEXT = 1_500_000
"""Characters of texts of all items: more, and only those of suspects are kept. A page of 42,000
items takes 2.5 MB without, and 4 MB are the most that it should."""
_MOST_ANSWERS = 6_000_000
"""Bytes of packed answers of all items: more, and only those of suspects are kept. 2,211 systems ×
12,032 items take 3.3 MB, 10,000 × 10,000 take 12.5 MB."""
_ITEM_COLUMNS = (
    *("average_error", "difficulty", "discrimination", "discrimination_se", "intercept"),
    *("p_negative", "n_responses"),
)
_EXACT = {"average_error", "quality_standard"}
"""Columns in 64 bits."""
ON_ITEM_MAP, ON_ERROR_MAP, ON_PREDICTED_MAP = 1, 2, 4
"""Flags of the pictures that an item is in."""


def block(found: Findings) -> str:
    """JSON that can stand in a page: no <, and nothing that does not print."""
    text = json.dumps(contents(found), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for raw in {*text}:
        if raw in "<>&" or not raw.isprintable():
            text = text.replace(raw, _escaped(raw))
    return text


def _escaped(character: str) -> str:
    """A character as JSON spells it out, by its UTF-16 units."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[k : k + 2].hex()}" for k in range(0, len(units), 2))


def contents(found: Findings) -> dict[str, Any]:
    """Everything the script reads, as plain values."""
    result = found.result
    suspects = [result.places[str(label)] for label in found.suspects.index]
    cuts = ((k, label, cut(label, LABEL)) for k, label in enumerate(result.item_labels))
    return {
        "items": list(result.item_labels),
        "cut": {str(k): text for k, label, text in cuts if text != label},
        "columns": _numbers(found),
        **_notes(found),
        "kind": column(found.item_map.kind, np.uint8),
        "drawn": column(_drawn(found), np.uint8),
        "curve": _curve(result),
        "groups": _groups(result),
        **_answers(result, suspects),
        "texts": _texts(result, suspects),
        "strong": _strong(found, suspects),
    }


def _numbers(found: Findings) -> dict[str, Any]:
    """Columns of `result.items` that are shown, and predicted difficulties."""
    items = found.result.items
    names = [*_ITEM_COLUMNS, *(name for name in ("quality_standard",) if name in items)]
    names += ["guessing"] if found.result.model == "3PL" else []
    if found.grouped:
        names.remove("p_negative")  # that of the suspects counts by family
    columns = {
        name: column(items[name].to_numpy(), np.float64 if name in _EXACT else np.float32)
        for name in names
    }
    if found.predicted_map is not None:
        columns["predicted"] = column(found.predicted_map.x_values, np.float64)
    return columns


def _notes(found: Findings) -> dict[str, Any]:
    """What is said of every item: reasons why it is listed, or its status where that is not ok."""
    status = found.result.items["status"]
    notes = status.where(status != "ok", "").to_numpy(dtype=object, copy=True)
    listed = found.audit.items["reasons"].map(reasons_text)
    notes[[found.result.places[str(label)] for label in listed.index]] = listed.to_numpy()
    words, codes = np.unique(notes.astype(str), return_inverse=True)
    return {"notes": [str(word) for word in words], "note": column(codes, np.uint16)}


def _drawn(found: Findings) -> NDArray[np.int64]:
    """In which pictures every item is."""
    flags = ON_ITEM_MAP * found.item_map.visible + ON_ERROR_MAP * found.error_map.visible
    if found.predicted_map is not None:
        flags += ON_PREDICTED_MAP * found.predicted_map.visible
    return flags


def _curve(result: FitResult) -> dict[str, Any]:
    """Where curves are drawn, and what the intervals of what was observed need."""
    from scipy.special import ndtri

    ability, inside, x = ability_scale(result)
    return {
        "ability": _rounded(ability),
        "inside": np.flatnonzero(inside)[[0, -1]].tolist(),
        "scale": [x.low, x.high],
        "ticks": [[tick, tick_text(tick)] for tick in x.ticks()],
        "z": float(ndtri((1 + LEVEL) / 2)),
    }


def _rounded(ability: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 5) for value in ability]


def column(values: NDArray[Any], kind: Any = np.float32) -> Any:
    """A column of numbers; of equal ones, the number."""
    stored = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    if len(stored) and stored[0] == stored[-1] and (stored == stored[0]).all():
        return float(stored[0])
    name = {8: "d", 4: "f", 2: "h", 1: "b"}[stored.dtype.itemsize]
    return {name: base64.b64encode(stored.tobytes()).decode("ascii")}


def _groups(result: FitResult) -> dict[str, Any]:
    """Responses of groups of ability, items × groups."""
    groups = ability_groups(result)
    counts = group_counts(result, groups)
    payload: dict[str, Any] = {"ability": _rounded(groups.ability)}
    for name, values in zip(("right", "trials"), counts[:2], strict=True):
        payload[name] = _by_group(values)
    if (counts.independent != counts.trials).any():
        payload["independent"] = _by_group(counts.independent)
    return payload


def _by_group(values: NDArray[Any]) -> Any:
    """A table of items × groups; of equal rows, the row."""
    if (values == values[0]).all():
        return [float(value) for value in values[0]]
    whole = np.issubdtype(values.dtype, np.integer)
    most = values.max(initial=0)
    kind = np.float32 if not whole or most >= 2**16 else (np.uint16 if most >= 2**8 else np.uint8)
    return column(values.ravel(), kind)


def _answers(result: FitResult, suspects: list[int]) -> dict[str, Any]:
    """Who got which item right, best system first; of all items, or of the suspects alone."""
    patterns = result.patterns
    who = result.best_first
    payload: dict[str, Any] = {"systems": [cut(result.respondent_labels[k], LABEL) for k in who]}
    if patterns.repeated:
        return payload  # a cell is neither right nor wrong
    planes = 1 if patterns.complete else 2
    n_bytes = planes * len(who) * patterns.n_items / 8
    some = None if n_bytes <= _MOST_ANSWERS and not patterns.sparse else np.array(suspects, int)
    if some is not None:
        payload["answered_items"] = suspects
    if patterns.sparse:
        right, tried = (
            (table[who][:, some] > 0).toarray() for table in (patterns.cells, patterns.trials)
        )
    else:
        cells = patterns.cells[who] if some is None else patterns.cells[np.ix_(who, some)]
        right, tried = cells > 0, cells >= 0
    payload["right"] = _packed(right)
    if not patterns.complete:
        payload["tried"] = _packed(tried)
    return payload


def _packed(flags: NDArray[np.bool_]) -> str:
    """Bits, item after item, the first the highest of its byte."""
    return base64.b64encode(np.packbits(flags.T.ravel()).tobytes()).decode("ascii")


def _texts(result: FitResult, suspects: list[int]) -> dict[str, Any]:
    """What items ask and what is right, by place, where known."""
    table = item_texts(result.responses)
    if table is None or not len(table.columns):
        return {}
    payload: dict[str, Any] = {}
    for name in table.columns:
        texts = table[name].to_numpy(dtype=object)
        kept = {
            k: cut(text, TEXT) for k, text in enumerate(texts) if isinstance(text, str) and text
        }
        if sum(map(len, kept.values())) > _MOST_TEXT:
            kept = {k: kept[k] for k in suspects if k in kept}
        payload[name] = {str(k): text for k, text in kept.items()}
    return payload


def _strong(found: Findings, places: list[int]) -> dict[str, str]:
    """What the ablest answer to the suspects, by place."""
    rows = (row for _, row in found.suspects.iterrows())
    answers = ((place, strong_answer(row)) for place, row in zip(places, rows, strict=True))
    return {str(place): cut(text, TEXT) for place, text in answers if text}
