"""How responses were read: in words, in JSON and put together."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import numpy as np

import irtkit
from irtkit.cli.outputs import write_fit
from irtkit.findings import Finding, Remedy
from irtkit.responses import Source
from tests.crowds import crowd

if TYPE_CHECKING:
    from pathlib import Path


def left_out(n: int) -> Finding:
    return Finding("rows-missing", "note", {"n": n})


SOURCE = Source(
    ("a.csv", "b.csv"),
    "long",
    {"task": ("gsm8k", "arc"), "threshold": 0.5, "right": frozenset({"C", 1.0})},
    (Finding("scores", "note", {"low": np.int64(0)}, (Remedy({"threshold": ...}),)), left_out(1)),
)


def test_a_source_comes_back_from_json() -> None:
    back = Source.from_dict(json.loads(json.dumps(SOURCE.to_dict())))
    assert (back.files, back.settings) == (SOURCE.files, {**SOURCE.settings, "right": (1.0, "C")})
    assert back.findings == (Finding("scores", "note", {"low": 0}), left_out(1))
    assert Source.from_dict(back.to_dict()) == back


def test_sources_put_together_keep_the_settings_that_they_share() -> None:
    other = Source(("b.csv", "c.csv"), "wide", {"threshold": 0.5}, (left_out(2),))
    merged = Source.merged([None, SOURCE, other])
    assert merged is not None
    assert merged.files == ("a.csv", "b.csv", "c.csv")
    assert (merged.format, merged.settings) == ("long/wide", {"threshold": 0.5})
    assert str(merged).endswith("(long/wide, threshold 0.5). 3 rows were left out.")
    assert Source.merged([None]) is None
    assert Source.merged([None, other]) is other


def test_a_result_and_its_files_say_how_responses_were_read(tmp_path: Path) -> None:
    source = Source(("runs/<1>",), "lm-eval", {"metric": "acc"})
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(crowd("small").responses.with_tables(source=source))
        irtkit.report(result, tmp_path / "page.html")
    assert "Read from runs/<1> (lm-eval, metric acc)." in str(result)
    assert "Read from runs/&lt;1&gt; (lm-eval" in (tmp_path / "page.html").read_text()
    write_fit(result, tmp_path, source="")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert Source.from_dict(summary["source"]) == source
