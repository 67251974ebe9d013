"""The page of a fit, written to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_yes_or_no, short
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.files import as_path, replacing
from irtkit.fitting import result_for
from irtkit.io.logs import stands_for_several
from irtkit.io.tables import as_labelled
from irtkit.responses.labels import values_by_label
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.data.families import Families
    from irtkit.difficulty import DifficultyComparison
    from irtkit.io.tables import Predictions


@one_thread()
def report(
    result: object,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "What the responses say",
    predictions: Predictions = None,
    difficulties: Any = None,
    families: Families | None = None,
    compare: bool | DifficultyComparison = False,
    fdr: float = FALSE_DISCOVERY_RATE,
    date: str | None = None,
) -> Path:
    """Write a page of a fit: suspect items, the item map, the leaderboard, information, all items.

    It is one file of HTML, which works without a network and prints. Without JavaScript items
    cannot be searched or chosen, and only the hardest are shown. It says what :func:`irtkit.audit`
    and ``result.leaderboard()`` say, with their warnings. The same result gives the same bytes.

    Parameters
    ----------
    result : FitResult, or responses
        What :func:`irtkit.fit` returned, with its responses. Responses are fitted first. With
        several abilities the page shows what they are, and how much every system has of each, and
        `families` do not apply. Texts and targets of items are shown if
        ``result.responses.item_table`` has them.
    path : str or path, optional
        The file to write. It appears whole or not at all. Default: the name of the responses with
        .html, or report.html. Such a file must not be there yet.
    title : str, default "What the responses say"
        Heading of the page.
    predictions : DataFrame or path, optional
        What each respondent answered, as in :func:`irtkit.flag_items`. It shows answers that the
        best respondents agree on.
    difficulties : mapping, Series, DataFrame or path, optional
        Predicted difficulties, drawn next to the fitted ones: by item, or a table by item with a
        column "predicted" (:class:`irtkit.prediction.DifficultyPredictor`) or its first column.
        Items without one are left out.
    families : mapping, Series, list or str, optional
        Families of respondents, as in :func:`irtkit.flag_items`.
    compare : bool or DifficultyComparison, default False
        Whether to add :func:`irtkit.compare_difficulties` (several fits), or what it returned.
    fdr : float, default 0.05
        False-discovery rate of items called negative.
    date : str, optional
        Date that the page shows, such as that of the data. The page has no other, so that the same
        result gives the same page.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult with responses, or other arguments do not match it.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import irtkit, pathlib, tempfile
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 20, [k / 10 - 1 for k in range(20)])
    >>> responses = irtkit.simulate_responses(items, [k / 20 - 2 for k in range(80)], seed=0)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> page = irtkit.report(irtkit.fit(responses), file)
    >>> page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    from irtkit.difficulty import DifficultyComparison, compare_difficulties
    from irtkit.report.page import page_of
    from irtkit.suspects import audit

    page = page_for(result) if path is None else as_path(path)
    result = result_for("report", result)
    if not isinstance(title, str) or not title.strip():
        raise ValueError(f"title must be a text, got {short(title)}")
    if date is not None and not isinstance(date, str):
        raise TypeError(f"date must be a text, got {type(date).__name__}. Pass date.isoformat()")
    given = as_labelled(difficulties, "difficulties")
    predicted = None if given is None else _by_item(given, result)
    audited = audit(result, fdr=fdr, families=families, predictions=predictions)
    if isinstance(compare, DifficultyComparison):
        comparison: DifficultyComparison | None = compare
    else:
        check_yes_or_no(compare=compare)
        comparison = compare_difficulties(result) if compare else None
    text = page_of(result, title, audited, result.health(), predicted, comparison, fdr, date)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return page


def page_for(responses: object) -> Path:
    """The page of responses, with the name of their file. It must not be there yet."""
    path = Path(responses if isinstance(responses, str | os.PathLike) else "report")
    path = path if path.name else path.absolute()
    if stands_for_several(path) and not path.is_dir():
        rule = f"{path} stands for several files. Name the page (--out, in Python path)"
        raise ValueError(rule)
    stem = path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
    page = path.with_name(f"{stem}.html")
    if page.exists():
        raise FileExistsError(
            f"{page} exists already. Name it to replace it (--out, in Python path)"
        )
    return page


def _by_item(difficulties: Any, result: FitResult) -> pd.Series[float]:
    """Predicted difficulties as numbers by item."""
    import pandas as pd

    if isinstance(difficulties, pd.DataFrame):
        column = "predicted" if "predicted" in difficulties else difficulties.columns[0]
        difficulties = difficulties[column]
    labels = result.item_labels
    of = {"value": "difficulty", "kind": "item"}
    values = values_by_label("difficulties", difficulties, labels, **of)
    try:
        return pd.to_numeric(pd.Series(values, labels, dtype=object)).astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"difficulties must be numbers: {error}") from error
