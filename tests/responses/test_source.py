"""How responses were read: in words, in JSON and put together."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import irtkit
from irtkit.cli.outputs import write_fit
from irtkit.findings import Finding, Remedy
from irtkit.responses import Source

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


def test_source_and_answers_are_used_wherever_a_result_goes(tmp_path: Path) -> None:
    crowd = irtkit.datasets.load_digits_crowd()
    source = Source(("runs/<1>",), "lm-eval", metric="acc")
    responses = crowd.responses.with_tables(predictions=crowd.predictions, source=source)
    with warnings.catch_warnings(action="ignore"):
        irtkit.fit(responses).save(tmp_path / "fit")
        result = irtkit.load(tmp_path / "fit")
        asked = irtkit.audit(irtkit.fit(crowd.responses), predictions=crowd.predictions)
        irtkit.report(result, tmp_path / "page.html")
    assert result.responses is not None
    assert result.responses.source == source
    assert "Read from runs/<1> (lm-eval, metric acc)." in str(result)
    assert "Read from runs/&lt;1&gt; (lm-eval" in (tmp_path / "page.html").read_text()
    pd.testing.assert_series_equal(irtkit.audit(result).items["reasons"], asked.items["reasons"])
    write_fit(result, tmp_path, source="")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert Source.from_dict(summary["source"]) == source
