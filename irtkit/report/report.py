"""The page of a fit, written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtkit.calibration.result import FitResult
from irtkit.checks import check_type, check_yes_or_no, short
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.files import replacing

if TYPE_CHECKING:
    import os

    from irtkit.difficulty import DifficultyComparison
    from irtkit.suspects.families import Families


def report(
    result: FitResult,
    path: str | os.PathLike[str],
    *,
    title: str = "What the responses say",
    predictions: Any = None,
    families: Families | None = None,
    compare: bool | DifficultyComparison = False,
    fdr: float = FALSE_DISCOVERY_RATE,
) -> None:
    """Write a page of a fit: suspect items, the item map, systems, precision, all items.

    It is one file of HTML that loads nothing from elsewhere, works without a network, and prints.
    Without JavaScript there is no search, no choice of items, and of the table of all items the
    first alone. What it says of items is what :func:`irtkit.audit` says, of systems what
    ``result.leaderboard()`` says. What the fit warned of, and what these would warn of, stands in
    the page. The same result gives the same bytes.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses. Texts and targets of items are shown
        where ``result.responses.item_table`` has them.
    path
        The file to write. It appears whole or not at all.
    title
        Heading of the page.
    predictions
        What each respondent answered, a DataFrame respondents × items as in
        :func:`irtkit.flag_items`: names the answers the strong agree on. Or predicted difficulties,
        a Series by item or a DataFrame with items as its index and a column "predicted" or
        "difficulty" (the first of these, or its only one): drawn beside those of the fit; items
        without one are left out. Which it is is told by its labels. A list may hold one of each.
    families
        Families of respondents, as in :func:`irtkit.flag_items`.
    compare
        Whether to add :func:`irtkit.compare_difficulties`, which fits several times, or what it
        returned.
    fdr
        False-discovery rate of items called negative.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is no FitResult or has no responses, predictions go with neither respondents
        nor items or are two of a kind, or families do not go with the respondents.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import irtkit, pathlib, tempfile
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 20, [k / 10 - 1 for k in range(20)])
    >>> responses = irtkit.simulate_responses(items, [k / 20 - 2 for k in range(80)], seed=0)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> irtkit.report(irtkit.fit(responses), file)
    >>> file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    from irtkit.difficulty import DifficultyComparison
    from irtkit.report.findings import findings
    from irtkit.report.page import page

    check_type("result", result, FitResult)
    if not isinstance(compare, DifficultyComparison):
        check_yes_or_no(compare=compare)
    if not isinstance(title, str) or not title.strip():
        raise ValueError(f"title must be a text, got {short(title)}")
    found = findings(result, predictions=predictions, families=families, compare=compare, fdr=fdr)
    text = page(found, title)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
