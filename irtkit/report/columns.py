"""What a script in the page reads: columns of numbers, labels, and who got what right.

One block of JSON. Numbers are little-endian columns in base64, which keeps NaN, is a third of the
digits, and holds the numbers of `result.items` in 32 bits; a column that is the same throughout is
one number.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.pictures import (
    ability_groups,
    ability_scale,
    error_and_difficulty,
    group_counts,
    item_map,
    kinds_of,
)
from irtkit.report.findings import strong_answer
from irtkit.report.words import LABEL, TEXT, cut
from irtkit.responses import item_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.pictures import AbilityGroups
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
    result, suspects = found.result, found.suspects
    items, groups = result.items, ability_groups(result)
    names = [*_ITEM_COLUMNS, *(name for name in ("quality_standard",) if name in items)]
    names += ["guessing"] if result.model == "3PL" else []
    if found.grouped:
        names.remove("p_negative")  # that of the suspects counts by family
    columns = {name: column(items[name].to_numpy(dtype=np.float64)) for name in names}
    if found.predicted is not None:
        columns["predicted"] = column(found.predicted.reindex(items.index).to_numpy())
    notes = items["status"].where(items["status"] != "ok", "").to_numpy(dtype=object)
    place = {label: k for k, label in enumerate(result.item_labels)}
    places = [place[str(label)] for label in suspects.index]
    notes[places] = suspects["reasons"].to_numpy()
    words, codes = np.unique(notes.astype(str), return_inverse=True)
    drawn = item_map(result, suspects).drawn + 2 * error_and_difficulty(result, suspects).drawn
    ability, inside, x = ability_scale(result)
    within = np.flatnonzero(inside)
    cuts = ((k, label, cut(label, LABEL)) for k, label in enumerate(result.item_labels))
    return {
        "items": list(result.item_labels),
        "cut": {str(k): text for k, label, text in cuts if text != label},
        "columns": columns,
        "notes": [str(word) for word in words],
        "note": column(codes, np.uint16),
        "kind": column(kinds_of(result, suspects), np.uint8),
        "drawn": column(drawn, np.uint8),
        "curve": {
            "ability": [round(float(value), 5) for value in ability],
            "inside": [int(within[0]), int(within[-1])],
            "scale": [x.low, x.high],
        },
        "groups": _groups(result, groups),
        **_answers(result, places),
        "texts": _texts(result, places),
        "strong": _strong(found, places),
    }


def column(values: NDArray[Any], kind: Any = np.float32) -> Any:
    """A column of numbers; of equal ones, the number."""
    stored = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    if len(stored) and stored[0] == stored[-1] and (stored == stored[0]).all():
        return float(stored[0])
    name = {4: "f", 2: "h", 1: "b"}[stored.dtype.itemsize]
    return {name: base64.b64encode(stored.tobytes()).decode("ascii")}


def _groups(result: FitResult, groups: AbilityGroups) -> dict[str, Any]:
    """Responses of groups of ability, items × groups."""
    counts = group_counts(result, groups)
    told: dict[str, Any] = {"ability": [round(float(value), 5) for value in groups.ability]}
    for name, values in zip(("right", "trials"), counts[:2], strict=True):
        told[name] = _by_group(values)
    if (counts.independent != counts.trials).any():
        told["independent"] = _by_group(counts.independent)
    return told


def _by_group(values: NDArray[Any]) -> Any:
    """A table of items × groups; of equal rows, the row."""
    if (values == values[0]).all():
        return [float(value) for value in values[0]]
    whole = np.issubdtype(values.dtype, np.integer)
    most = values.max(initial=0)
    kind = np.float32 if not whole or most >= 2**16 else (np.uint16 if most >= 2**8 else np.uint8)
    return column(values.ravel(), kind)


def _answers(result: FitResult, suspects: list[int]) -> dict[str, Any]:
    """Who got which item right, ablest system first; of all items, or of the suspects alone."""
    patterns = result.patterns
    who = np.flatnonzero(~result.synthetic & (result.counts.respondent_responses > 0))
    who = who[np.argsort(-result.ability[who], kind="stable")]
    told: dict[str, Any] = {
        "systems": [cut(result.respondent_labels[k], LABEL) for k in who],
        "ability": column(result.ability[who]),
    }
    if patterns.repeated:
        return told  # a cell is neither right nor wrong
    planes = 1 if patterns.complete else 2
    n_bytes = planes * len(who) * patterns.n_items / 8
    some = None if n_bytes <= _MOST_ANSWERS and not patterns.sparse else np.array(suspects, int)
    if some is not None:
        told["answered_items"] = suspects
    if patterns.sparse:
        right, tried = (
            table[who][:, some].toarray() for table in (patterns.cells, patterns.trials)
        )
    else:
        cells = patterns.cells[who] if some is None else patterns.cells[np.ix_(who, some)]
        right, tried = cells > 0, cells >= 0
    told["right"] = _packed(right > 0)
    if not patterns.complete:
        told["tried"] = _packed(tried > 0)
    return told


def _packed(flags: NDArray[np.bool_]) -> str:
    """Bits, item after item, the first the highest of its byte."""
    return base64.b64encode(np.packbits(flags.T.ravel()).tobytes()).decode("ascii")


def _texts(result: FitResult, suspects: list[int]) -> dict[str, Any]:
    """What items ask and what is right, by place, where known."""
    table = item_texts(result.responses)
    if table is None or not len(table.columns):
        return {}
    told: dict[str, Any] = {}
    for name in table.columns:
        texts = table[name].to_numpy(dtype=object)
        kept = {
            k: cut(text, TEXT) for k, text in enumerate(texts) if isinstance(text, str) and text
        }
        if sum(map(len, kept.values())) > _MOST_TEXT:
            kept = {k: kept[k] for k in suspects if k in kept}
        told[name] = {str(k): text for k, text in kept.items()}
    return told


def _strong(found: Findings, places: list[int]) -> dict[str, str]:
    """What the ablest answer to the suspects, by place."""
    rows = (row for _, row in found.suspects.iterrows())
    told = ((place, strong_answer(row)) for place, row in zip(places, rows, strict=True))
    return {str(place): cut(text, TEXT) for place, text in told if text}
