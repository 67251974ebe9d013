"""What ``irtkit audit`` reads besides the responses, shows and writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irtkit.audit.families import SIMILAR
from irtkit.cli.inputs import read_labelled

if TYPE_CHECKING:
    import pandas as pd

TABLE_FORMATS = (".csv", ".json")
_SHOWN_COLUMNS = (
    *("p_negative", "wrong_key", "trend", "discrimination", "difficulty", "average_error"),
    "n_responses",
    *("strong_answer", "strong_share", "marked_right"),
)
_HEADINGS = {"discrimination": "slope", "average_error": "error"}
_NOT_ON_TERMINALS = {"n_responses", "strong_share"}


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


def check_out(out: Path, *inputs: Path) -> None:
    """Refuse a place to write to before the long work."""
    if any(out.exists() and given.exists() and out.samefile(given) for given in inputs):
        raise ValueError(f"--out {out}: is a file to read from")
    if out.suffix.lower() not in TABLE_FORMATS:
        raise ValueError(f"--out must be a file that ends in .csv or .json, got {str(out)!r}")
    if out.is_dir():
        raise IsADirectoryError(f"--out {out}: is a folder")
    if not out.absolute().parent.is_dir():
        raise NotADirectoryError(f"--out {out}: there is no folder {out.parent}")


def headline(suspects: pd.DataFrame, n_items: int) -> str:
    """How many items are suspect, and for which reasons."""
    counts = suspects["reasons"].str.split("; ").explode().value_counts()
    listed = ", ".join(f"{n} {reason}" for reason, n in counts.items())
    return f"{len(suspects)} of {n_items} items are suspect" + (f": {listed}" if listed else "")


def similar_line(pairs: pd.DataFrame) -> str:
    """Say which respondents answer most alike beyond their abilities, if any do."""
    if not len(pairs):
        return ""
    most = pairs.iloc[0]
    counted = "1 pair of respondents answers" if len(pairs) == 1 else f"{len(pairs)} pairs answer"
    return (
        f"{counted} more alike than abilities explain, most "
        f"of all {most['respondent']} and {most['other']} (alike on {most['agreement']:.0%} of "
        f"items, {most['expected']:.0%} expected); --groups counts families of them instead"
    )


def print_suspects(suspects: pd.DataFrame, top: int) -> None:
    """Show the worst suspects: a table of rich on a terminal, plain text elsewhere."""
    shown = suspects.head(top)
    columns = [name for name in _SHOWN_COLUMNS if name in shown]
    texts = {name: [_cell(value) for value in shown[name]] for name in columns}
    if sys.stdout.isatty():
        _print_rich(shown, texts)
    else:
        import pandas as pd

        plain = pd.DataFrame(texts, index=shown.index).assign(reasons=shown["reasons"])
        print(plain.to_string(index_names=False))  # noqa: T201  # the answer of the command
    if len(suspects) > top:
        print(f"… and {len(suspects) - top} more")  # noqa: T201


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.3f}"  # noqa: PLR0124  # NaN
    return "" if value is None else str(value)


def _print_rich(shown: pd.DataFrame, texts: dict[str, list[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("item", overflow="fold")
    texts = {name: column for name, column in texts.items() if name not in _NOT_ON_TERMINALS}
    for name in texts:
        table.add_column(_HEADINGS.get(name, name.replace("_", " ")), justify="right")
    table.add_column("reasons")
    for k, (item, reasons) in enumerate(shown["reasons"].items()):
        cells = [Text(column[k]) for column in texts.values()]
        style = "red" if "negative" in reasons else ""
        table.add_row(Text(str(item), style=style), *cells, Text(reasons))
    Console().print(table)
