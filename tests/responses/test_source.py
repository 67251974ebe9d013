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

SOURCE = Source(
    ("a.csv", "b.csv"),
    "long",
    task=("gsm8k", "arc"),
    threshold=0.5,
    right=frozenset({"C", 1.0}),
    n_rows_dropped=1,
    findings=(Finding("scores", "note", {"low": np.int64(0)}, (Remedy({"threshold": ...}),)),),
)


def test_a_source_comes_back_from_json() -> None:
    back = Source.from_dict(json.loads(json.dumps(SOURCE.to_dict())))
    assert (back.files, back.task, back.right) == (SOURCE.files, SOURCE.task, (1.0, "C"))
    assert back.findings == (Finding("scores", "note", {"low": 0}),)
    assert Source.from_dict(back.to_dict()) == back


def test_sources_put_together_keep_the_settings_that_they_share() -> None:
    other = Source(("b.csv", "c.csv"), "wide", threshold=0.5, n_rows_dropped=2)
    merged = Source.merged([None, SOURCE, other])
    assert merged is not None
    assert merged.files == ("a.csv", "b.csv", "c.csv")
    assert (merged.format, merged.threshold, merged.right) == ("long/wide", 0.5, None)
    assert merged.n_rows_dropped == 3
    assert Source.merged([None]) is None
    assert Source.merged([None, other]) is other


def test_a_result_and_its_files_say_how_responses_were_read(tmp_path: Path) -> None:
    source = Source(("runs/<1>",), "lm-eval", metric="acc")
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(crowd("small").responses.with_tables(source=source))
        irtkit.report(result, tmp_path / "page.html")
    assert "Read from runs/<1> (lm-eval, metric acc)." in str(result)
    assert "Read from runs/&lt;1&gt; (lm-eval" in (tmp_path / "page.html").read_text()
    write_fit(result, tmp_path, source="")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert Source.from_dict(summary["source"]) == source
