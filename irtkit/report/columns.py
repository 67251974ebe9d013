"""What the script of the page reads: columns of numbers, labels, and who got what right.

One block of JSON. Numbers are little-endian columns in base64, which keeps NaN and is a third of
the digits. A column that is the same throughout is one number.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from irtkit.calibration.summary import readable_difficulty
from irtkit.findings import reasons_text
from irtkit.pictures import fitted
from irtkit.pictures.svg import Frame
from irtkit.report.templates import TEXT, cut, strong_answer
from irtkit.responses import item_texts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.pictures.picture import Picture
    from irtkit.suspects import Audit

_SHOWN = (
    *("average_error", "difficulty", "discrimination", "discrimination_se"),
    *("p_negative", "n_responses", "guessing", "quality_standard", "intercept"),
)
EXACT = {"average_error", "quality_standard", "predicted_difficulty"}
"""Columns in 64 bits: shares lie half-way between two that are shown, and 32 bits would shift
them."""


def data_block(
    result: FitResult,
    audited: Audit,
    maps: list[Picture],
    difficulties: pd.Series[float] | None,
    scatter: Picture | None,
) -> Markup:
    """JSON that can stand in a page: no <, and nothing that does not print."""
    labels, items = result.item_labels, result.items
    suspects = [result.places[str(label)] for label in audited.suspects.index]
    answers = zip(suspects, audited.suspects.iterrows(), strict=True)
    strong = {str(k): cut(text, TEXT) for k, (_, row) in answers if (text := strong_answer(row))}
    cuts = {str(k): cut(label) for k, label in enumerate(labels)}
    table = items.assign(difficulty=readable_difficulty(items))
    columns = {name: table[name] for name in _SHOWN if name in table}
    if result.model != "3PL":
        columns.pop("guessing", None)
    if audited.clustered:
        del columns["p_negative"]  # that of the suspects counts by family
    if difficulties is not None:
        columns["predicted_difficulty"] = difficulties.reindex(labels)
    notes = items["status"].where(items["status"] != "ok", "").to_numpy(dtype=object, copy=True)
    listed = audited.items["reasons"].map(reasons_text)
    notes[[result.places[str(label)] for label in listed.index]] = listed.to_numpy()
    words, codes = np.unique(notes.astype(str), return_inverse=True)
    drawn = []  # Where items are, in half pixels from the left and from above.
    for picture in maps:
        frame = Frame(picture, "wide")
        pixels = np.full((2, len(labels)), 2**16 - 1, np.uint16)  # of those that are not drawn
        for mark in picture.points:
            pixels[:, mark.items] = np.round(2 * np.stack([frame.px(mark.x), frame.py(mark.y)]))
        drawn.append([column(half) for half in pixels])
    systems = []
    if scatter is not None:
        frame = Frame(scatter, "wide")
        (mark,) = scatter.marks
        systems = [(2 * half).round().tolist() for half in (frame.px(mark.x), frame.py(mark.y))]
    contents = {
        "items": list(labels),
        "cut": {k: text for k, text in cuts.items() if text != labels[int(k)]},
        "columns": {
            name: column(values.to_numpy(np.float64 if name in EXACT else np.float32))
            for name, values in columns.items()
        },
        "reasons": [str(word) for word in words],
        "reason": column(codes.astype(np.uint16)),
        "kind": column(fitted.kinds_of(result, audited.suspects).astype(np.uint8)),
        "maps": drawn,
        "scatter": systems,
        **_curves(result),
        **_answers(result),
        "texts": _texts(result, suspects) | {"strong": strong},
    }
    text = json.dumps(contents, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for raw in {*text}:
        if raw in "<>&" or not raw.isprintable():
            spelled = f"\\u{ord(raw):04x}" if raw < "\U00010000" else json.dumps(raw)[1:-1]
            text = text.replace(raw, spelled)
    return Markup(text)  # noqa: S704  # without <


def column(values: NDArray[Any]) -> Any:
    """A column of numbers, or one number if all are equal."""
    stored = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    if len(stored) and (stored == stored[0]).all():
        return float(stored[0])
    name = {8: "d", 4: "f", 2: "h", 1: "b"}[stored.dtype.itemsize]
    return {name: base64.b64encode(stored.tobytes()).decode("ascii")}


def _curves(result: FitResult) -> dict[str, Any]:
    """Where curves are drawn, in pixels of the panel, and where shares of groups, 255 if nowhere.

    For each item and group, these are the share and the ends of its interval.
    """
    axes, ability, inside = fitted.curve_axes(result)
    frame = Frame(axes, "panel")
    groups = fitted.ability_groups(result)
    pixels = np.nan_to_num(np.round(frame.py(groups.observed)), nan=255).astype(np.uint8)
    return {
        "curve": {
            "ability": ability.round(5).tolist(),
            "x": frame.px(ability).round(1).tolist(),
            "groups": frame.px(groups.ability).round(1).tolist(),
            "ends": frame.py([0, 1]).tolist(),
            "inside": [inside.start, inside.stop],
        },
        "composite": column(groups.composite.astype(np.uint16)),
        "observed": column(pixels.transpose(1, 2, 0).ravel()),
    }


def _answers(result: FitResult) -> dict[str, Any]:
    """Right and wrong items by system, best first, unless cells are counts or too many."""
    patterns, who = result.patterns, result.best_first
    planes = 1 if patterns.complete else 2
    payload: dict[str, Any] = {"systems": [cut(result.respondent_labels[k]) for k in who]}
    # bytes of packed answers: 2,211 × 12,032 take 3.3 MB
    if patterns.repeated or planes * len(who) * patterns.n_items / 8 > 6_000_000:
        return payload
    if patterns.sparse:
        tables = [(part[who] > 0).toarray() for part in (patterns.cells, patterns.trials)]
    else:
        tables = [patterns.cells[who] > 0, patterns.cells[who] >= 0]
    for name, flags in zip(("answered_right", "answered")[:planes], tables, strict=False):
        packed = np.packbits(flags.T.ravel()).tobytes()  # item after item, the first bit highest
        payload[name] = base64.b64encode(packed).decode("ascii")
    return payload


def _texts(result: FitResult, suspects: list[int]) -> dict[str, dict[str, str]]:
    """What items ask and what is right, by place: of all items, or of suspects if that is much."""
    table: Any = item_texts(result.responses)
    payload = {}
    for name in () if table is None else table:
        texts = {
            str(k): cut(text, TEXT) for k, text in enumerate(table[name]) if isinstance(text, str)
        }
        if sum(map(len, texts.values())) > 1_500_000:  # a page of 42,000 items has 3 MB without
            texts = {str(k): texts[str(k)] for k in suspects if str(k) in texts}
        payload[str(name)] = texts
    return payload
