"""What an audit says: suspect, uninformative and silent items, respondents that answer alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

from irtkit.calibration.result import AT_CHANCE, FitResult
from irtkit.calibration.summary import folded, silent_items
from irtkit.checks import check_type, first_names
from irtkit.irf import EXTREME
from irtkit.printed import WIDTH, plain, printable, shortened, table_of
from irtkit.signs import FALSE_DISCOVERY_RATE
from irtkit.suspects.families import linked, similar_respondents
from irtkit.suspects.flags import flagged, negatives

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from rich.console import Group
    from rich.table import Table

    from irtkit.suspects.flags import Groups

_SHOWN = 20
"""Suspects that are printed: with the headings, about a screen of 24 lines."""
_FIRST = 3
"""Items named to begin with: as many as a sentence holds."""
_COLUMNS = (
    *("p_negative", "wrong_key", "discrimination", "average_error"),
    *("strong_answer", "marked_right", "reasons"),
)
_TEXTS = ("text", "target")
_LEGEND = (
    "p negative: probability that the slope is below 0, by how the item follows the share right, "
    "and by what all items show; wrong key: log of how many times likelier the responses are if "
    "the item is inverted than if not, above 3 is strong"
)
_SHALLOW_LEGEND = ", and below 0 an item called negative is shallower than inverted ones are"
_HEADINGS = {"discrimination": "slope", "average_error": "error"}


@dataclass(frozen=True, eq=False)
class Audit:
    """What :func:`irtkit.audit` found; ``print`` shows it, 80 columns wide."""

    items: pd.DataFrame
    """Suspect and uninformative items, as :func:`irtkit.flag_items` returns them."""
    families: pd.Series[str] | None
    """Family of every real respondent, index "respondent", named after the first of its members:
    those who answer alike beyond what abilities explain (:func:`irtkit.similar_respondents`). What
    ``groups=`` takes. None without the responses, or where these are sparse."""
    summary: list[str]
    """Sentences: how many items are suspect and why, which ones are uninformative and which ones
    no system gets right, how far respondents answer alike."""
    all_wrong: list[str]
    """Items that no real respondent gets right: of those that many tried, any may be broken."""
    n_cautions: int
    """Sentences of the summary, from the second on, that say what keeps it from being sharp."""
    result: FitResult = field(repr=False)

    @property
    def suspects(self) -> pd.DataFrame:
        """The items whose key or text deserves a look."""
        return self.items[self.items["suspect"]]

    @property
    def uninformative(self) -> pd.DataFrame:
        """The items that merely hardly discriminate between these systems."""
        return self.items[~self.items["suspect"]]

    @property
    def n_negative(self) -> int:
        """Number of items called negative."""
        return int(negatives(self.items).sum())

    @property
    def look_first(self) -> list[str]:
        """Up to three items to look at first: the first suspects."""
        return [str(label) for label in self.suspects.index[:_FIRST]]

    def shown(self, top: int = _SHOWN) -> Group:
        """What is printed, with so many suspects, for a console of rich."""
        from rich.console import Group
        from rich.text import Text

        n_first = 1 + self.n_cautions
        first, further = self.summary[:n_first], self.summary[n_first:]
        if self.result.at_chance:
            first[:2] = first[1::-1]  # which limits all that follows
        parts: list[Any] = [Text(printable(sentence)) for sentence in first]
        if top and len(self.suspects):
            table, n_shown, texts = self._table(top)
            parts += [Text(), table]
            if more := len(self.suspects) - n_shown:
                parts.append(Text(f"… and {more} more"))
            names = ", ".join(shortened(label) for label in self.look_first)
            parts += [Text(), Text(f"Look first at {names}: at what is asked, and at the key.")]
            parts += [Text(), *map(Text, texts)] if texts else []
            parts += [Text(), Text(self.legend, style="dim")]
        if further:
            parts += [Text(), *(Text(printable(sentence)) for sentence in further)]
        return Group(*parts)

    @property
    def legend(self) -> str:
        """What the columns of the table mean."""
        shallow = bool((negatives(self.items) & (self.items["wrong_key"] < 0)).any())
        return _LEGEND + _SHALLOW_LEGEND * shallow

    def _table(self, top: int) -> tuple[Table, int, list[str]]:
        """The worst suspects, those alike in one row, how many these are, and what they ask."""
        columns = [name for name in (*_COLUMNS, *_TEXTS) if name in self.items]
        rows, n_shown = folded(self.suspects[columns], self.result.alike, top)
        texts = rows[[name for name in _TEXTS if name in rows]]
        headed = rows.drop(columns=texts.columns).rename(columns=_HEADINGS)
        table = table_of(headed, ["reasons"], red=negatives(rows))
        return (
            table,
            n_shown,
            [line for line in map(_asked, rows.index, texts.to_dict("records")) if line],
        )

    def __repr__(self) -> str:
        return f"Audit({len(self.suspects)} suspect items, {self.n_negative} called negative)"

    def _repr_html_(self) -> str:
        from irtkit.report.notebook import of_audit

        return of_audit(self)

    def __str__(self) -> str:
        return plain(self.shown())


def audit(
    result: FitResult,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    groups: Groups | None = None,
    predictions: pd.DataFrame | None = None,
    poor_fit: bool = False,
) -> Audit:
    """List suspect items, uninformative items, and respondents that answer alike.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned.
    fdr, extreme_difficulty, chance, groups, predictions, poor_fit
        As in :func:`irtkit.flag_items`. The default of `predictions` is those of the responses.

    Returns
    -------
    Audit
        ``suspects``, ``uninformative``, ``families`` and ``summary``; what ``irtkit audit`` prints.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.flag_items`, whose warnings the summary holds.

    Examples
    --------
    >>> import irtkit
    >>> slopes, difficulties = [1.5] * 29 + [-1.5], [k / 15 - 1 for k in range(30)]
    >>> items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    >>> responses = irtkit.simulate_responses(items, [k / 100 - 2 for k in range(400)], seed=1)
    >>> found = irtkit.audit(irtkit.fit(responses))
    >>> print(found.summary[0])
    1 of 30 items is suspect: negative discrimination (1).
    """
    check_type("result", result, FitResult)
    if predictions is None and result.responses is not None:
        predictions = result.responses.predictions
    items, cautions = flagged(
        result,
        fdr=fdr,
        extreme_difficulty=extreme_difficulty,
        chance=chance,
        groups=groups,
        predictions=predictions,
        poor_fit=poor_fit,
    )
    n_items, others = len(result.item_labels), items[~items["suspect"]]
    first = [one for one in result.findings if one.code == AT_CHANCE]
    cautions = [*map(str, first), *cautions]
    summary = [_counted(items[items["suspect"]], n_items, "suspect"), *map(_capitalised, cautions)]
    summary += [f"{one}." for one in silent_items(result)]
    if len(others):
        names = first_names(others.index)
        summary.append(f"{_counted(others, n_items, 'uninformative')} Names: {names}.")
    others_found = [one for one in result.findings if one not in first]
    summary += [f"{one.severity.capitalize()}: {one}." for one in others_found]
    alike = "" if groups is not None or result.dependence is None else result.dependence.sentence
    if alike and not any(alike in caution for caution in cautions):
        summary.append(f"{alike}.")
    families = None
    if result.responses is not None and result.responses.is_sparse:
        summary.append("Which respondents answer alike is not listed of a sparse matrix.")
    elif result.responses is not None:
        pairs = similar_respondents(result)
        summary += _alike(pairs, grouped=groups is not None)
        families = _families(result, pairs)
    all_wrong = [*compress(result.item_labels, result.counts.all_wrong)]
    return Audit(items, families, summary, all_wrong, len(cautions), result)


def _counted(items: pd.DataFrame, n_items: int, kind: str) -> str:
    """How many items are of a kind, and for which reasons."""
    counts = items["reasons"].str.split("; ").explode().value_counts()
    listed = ", ".join(f"{reason} ({n:,})" for reason, n in counts.items())
    n = len(items)
    found = f"{n:,} of {n_items:,} items {'is' if n == 1 else 'are'} {kind}"
    return found + (f": {listed}." if listed else ".")


def _capitalised(sentence: str) -> str:
    """A sentence of its own."""
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _asked(label: str, known: dict[Hashable, Any]) -> str:
    """What an item asks and what is right, in one line; empty where neither is known."""
    text, target = (
        " ".join(one.split()) if isinstance(one := known.get(name), str) else "" for name in _TEXTS
    )
    right = f" → {shortened(target)}" if target else ""
    return shortened(f"{label}: {text}", WIDTH - len(right)) + right if text or target else ""


def _alike(pairs: pd.DataFrame, *, grouped: bool) -> list[str]:
    """Say which respondents answer most alike beyond their abilities, if any do, and what to do.

    Where families were given (``grouped``) it is done.
    """
    if not len(pairs):
        return []
    most, several = pairs.iloc[0], len(pairs) > 1
    counted = f"{len(pairs):,} pairs answer" if several else "1 pair of respondents answers"
    worst = ", most of all" if several else ":"
    share, chance = (f"{most[name]:.0%}" for name in ("agreement", "expected"))
    expected = f", {chance} expected" if chance != share else ""
    advice = "" if grouped else "; groups 'similar' counts every family as one witness"
    sentence = (
        f"{counted} more alike than abilities explain{worst} {most['respondent']} and "
        f"{most['other']} (alike on {share} of the items of both{expected}){advice}."
    )
    return [sentence]


def _families(result: FitResult, pairs: pd.DataFrame) -> pd.Series[str]:
    """Family of every real respondent, named after its first member."""
    import pandas as pd

    labels, real = result.respondent_labels, ~result.synthetic
    names = pd.Series(labels, pd.Index(labels, name="respondent"))
    return names[real].groupby(linked(result, pairs)[real]).transform("first").rename("family")
