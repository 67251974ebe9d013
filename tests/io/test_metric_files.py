"""Files of metrics: labels as they are written, and content that is no such table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import irtkit
from irtkit.difficulty.quality import quality_of
from irtkit.io.tables import as_metrics, read_metrics

if TYPE_CHECKING:
    from pathlib import Path

RESPONSES = irtkit.ResponseMatrix([[1, 0], [0, 1]], ["007", "NA"], ["1e5", "q,2"])
WIDE = pd.DataFrame(
    {
        "model": ["007", "007", "NA", "NA"],
        "item": ["1e5", "q,2", "1e5", "q,2"],
        "tokens": [1.0, 2.0, 4.0, None],
        "done": [True, False, False, True],
    }
)
LONG = WIDE.astype({"done": float}).melt(["model", "item"], var_name="metric")


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
@pytest.mark.parametrize("table", [WIDE, LONG], ids=["wide", "long"])
def test_a_file_scores_items_as_its_table_does(
    table: pd.DataFrame, write: str, tmp_path: Path
) -> None:
    getattr(table, write)(tmp_path / "metrics", index=False)
    expected = quality_of(RESPONSES, WIDE, ["done"])
    quality = quality_of(RESPONSES, as_metrics(str(tmp_path / "metrics")), ["done"])
    pd.testing.assert_frame_equal(quality.scores, expected.scores)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "m.csv: the file is empty"),
        (b"model,item,t,t\na,b,1,2\n", "m.csv: column names must be unique: 't'"),
        (b"who,item,t\na,b,1\n", "m.csv: no column is recognised as the respondent"),
        (b"PAR1 and no more", "m.csv: the Parquet data cannot be read"),
    ],
)
def test_content_that_is_no_table_is_refused_with_its_file(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_metrics(path)
