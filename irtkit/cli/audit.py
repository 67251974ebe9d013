"""What ``irtkit audit`` reads besides the responses, and where it may write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from irtkit.cli.inputs import read_labelled
from irtkit.io.tables import TABLE_ENDINGS
from irtkit.suspects.families import SIMILAR

if TYPE_CHECKING:
    import pandas as pd


def read_families(groups: str | None) -> pd.Series[str] | str | None:
    """What --groups stands for."""
    if groups is None or groups == SIMILAR:
        return groups
    table = read_labelled(Path(groups), "--groups")
    if table.shape[1] != 1:
        raise ValueError(
            f"--groups {groups}: needs two columns, the respondent and its family, and has "
            f"{table.shape[1] + 1}"
        )
    return table.iloc[:, 0]


def check_out(out: Path, *inputs: Path, endings: tuple[str, ...] = TABLE_ENDINGS) -> None:
    """Refuse a place to write to before the long work."""
    if any(out.exists() and given.exists() and out.samefile(given) for given in inputs):
        raise ValueError(f"--out {out}: is a file to read from")
    if not out.name.lower().endswith(endings):
        known = " or ".join(endings)
        raise ValueError(f"--out must be a file that ends in {known}, got {str(out)!r}")
    if out.is_dir():
        raise IsADirectoryError(f"--out {out}: is a folder")
    if not out.absolute().parent.is_dir():
        raise NotADirectoryError(f"--out {out}: there is no folder {out.parent}")
