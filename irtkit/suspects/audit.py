"""What an audit says: suspect, uninformative and silent items, respondents that answer alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import AT_CHANCE, FitResult
from irtkit.calibration.summary import folded, silent_items
from irtkit.capabilities import limit_of
from irtkit.checks import check_type
from irtkit.data.families import SIMILAR, family_names
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.findings import LEGENDS, Finding
from irtkit.irf import EXTREME
from irtkit.printed import TOP, WIDTH, Printed, Shown, shortened
from irtkit.responses import item_texts
from irtkit.suspects.families import similar_respondents
from irtkit.suspects.flags import check_thresholds, flagged, negatives
from irtkit.suspects.health import sections_of
from irtkit.suspects.wrong_keys import called_wrong, keyed
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.data.families import Families

_READ_FIRST = 20  # Items to read first.
_FEW = 12  # Systems up to which they are printed.
_FIRST = 3  # Items named to begin with: as many as a sentence holds.
_SLOPE = ("ability", "discrimination", "average_error")
_COLUMNS = (*_SLOPE, "strong_answer", "marked_right", "reasons")
_TEXTS = ("text", "target")
_HEADINGS = {"discrimination": "slope", "average_error": "error", "p_wrong_key": "P wrong key"}


@dataclass(frozen=True, eq=False)
class Audit(Printed):
    """What :func:`irtkit.audit` found; ``print`` shows it, 80 columns wide."""

    items: pd.DataFrame
    """Suspect and uninformative items, as :func:`irtkit.flag_items` returns them."""
    families: pd.Series[str] | None
    """Family of every real respondent by :func:`irtkit.similar_respondents`, named after its first
    member; for ``families=``. None without the responses, or if these are sparse."""
    findings: tuple[Finding, ...]  #: What limits the audit, beyond the findings of the fit.
    clustered: bool  #: Whether evidence is clustered by families that were given.
    prior: float | None  #: Share of wrong keys, estimated from these responses; None without them.
    result: FitResult = field(repr=False)
    read_first: pd.DataFrame
    """The first 20 items by :func:`irtkit.wrong_keys`, to read where systems are too few for
    verdicts. Index "item", columns kind ("only weaker systems are right", "only the best are
    wrong", "no system is right" or ""), p_wrong_key, and text and target where they are known."""

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
    def by_task(self) -> pd.DataFrame:
        """Numbers of items per task, the largest share_suspect first, empty without two tasks."""
        import pandas as pd

        labels = pd.Index(self.result.item_labels)
        kinds: dict[str, Any] = {
            "n_items": labels,
            "suspect": self.suspects.index,
            "negative": self.items.index[negatives(self.items)],
            "uninformative": self.uninformative.index,
            "all_wrong": self.all_wrong,
        }
        which = pd.DataFrame({kind: labels.isin(items) for kind, items in kinds.items()})
        tasks = list(sections_of(self.result).items())[1:]
        counts = [which.iloc[places].sum() for _, places in tasks]
        index = pd.Index([name for name, _ in tasks], name="task", dtype=object)
        table = pd.DataFrame(counts, columns=[*kinds]).set_axis(index)
        table["share_suspect"] = table["suspect"] / table["n_items"]
        return table.sort_values("share_suspect", ascending=False, kind="stable")

    @property
    def all_wrong(self) -> list[str]:
        """Items that no real respondent gets right. If many tried, any may be broken."""
        return [*compress(self.result.item_labels, self.result.counts.all_wrong)]

    @property
    def look_first(self) -> list[str]:
        """Up to three items to look at first: the first suspects."""
        return [str(label) for label in self.suspects.index[:_FIRST]]

    @property
    def headline(self) -> str:
        """How many items are suspect, and for which reasons."""
        return f"{_counted('suspect-items', self.suspects, self.result)}."

    @property
    def limits(self) -> list[str]:
        """What keeps the audit from being sharp."""
        return [
            f"Warning: {finding}." for finding in self.findings if finding.severity == "warning"
        ]

    @property
    def details(self) -> list[str]:
        """Silent and uninformative items, findings of the fit, and respondents that are alike."""
        result, others = self.result, self.uninformative
        sentences = [*map(str, silent_items(result))]
        if len(others):
            sentences.append(str(_counted("uninformative-items", others, result)))
        settled = {AT_CHANCE, "negative-items", *(["near-duplicates"] if self.clustered else [])}
        fit = [finding for finding in result.findings if finding.code not in settled]
        sentences += [f"{finding.severity.capitalize()}: {finding}" for finding in fit]
        sentences += [str(finding) for finding in self.findings if finding.severity == "note"]
        return [f"{finding}." for finding in sentences]

    @property
    def summary(self) -> list[str]:
        """The sentences that are printed."""
        first = [f"{finding}." for finding in self.result.findings if finding.code == AT_CHANCE]
        return [*first, self.headline, *self.limits, *self.details]

    def shown(self, top: int = TOP) -> Shown:
        """Return the suspects, items to read, and what limits the audit; ``top`` of each."""
        further = []
        if top and len(self.suspects):
            first = "p_wrong_key" if self.has_probabilities else "wrong_key"
            rows, _ = folded(self.suspects, self.result.alike, len(self.suspects))
            columns = [name for name in (first, "p_negative", *_COLUMNS) if name in rows]
            headed = rows[columns].rename(columns=_HEADINGS)
            headed["reasons"] = headed["reasons"].map(", ".join).str.replace("_", " ")
            names = ", ".join(shortened(label) for label in self.look_first)
            look = f"Look first at {names}: at what is asked, and at the key."
            read = [look, *_asked(rows.head(top))]
            further.append(Shown("", headed, self.legend, read))
        heading, unread = self.to_read(top)
        if len(unread):
            table = unread.drop(columns=_TEXTS, errors="ignore")
            others = unread.drop(self.suspects.head(top).index, errors="ignore")
            further.append(Shown(heading, table, findings=_asked(others)))
        tasks = self.by_task.query("suspect > 0").rename(columns={"n_items": "items"})
        further += [Shown("", tasks), Shown(findings=self.details)]
        sentences = self.summary[: -len(self.details) or None]
        return Shown(findings=sentences, further=further)

    def to_read(self, top: int = _READ_FIRST) -> tuple[str, pd.DataFrame]:
        """Items to read first as they are shown, and their heading; none with many systems."""
        few = self.result.n_answering <= _FEW
        shown = self.read_first.head(top if few else 0).rename(columns=_HEADINGS)
        return LEGENDS["read_first"].format(n=len(shown)), shown

    @property
    def legend(self) -> list[str]:
        """What the columns of the table mean."""
        evidence = "p_wrong_key" if self.has_probabilities else "wrong_key"
        names = [evidence, "p_negative_given_all" if "ability" in self.items else "p_negative"]
        return [LEGENDS[name].format(prior=self.prior) for name in names]

    @property
    def has_probabilities(self) -> bool:
        """Whether wrong keys have probabilities: keys explain what is found."""
        return "p_wrong_key" in self.items and not self.items["p_wrong_key"].isna().all()

    def __repr__(self) -> str:
        negative = f"{self.n_negative} with negative discrimination"
        return f"Audit({len(self.suspects)} suspect items, {negative})"


@one_thread()
def audit(
    result: FitResult,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    families: Families | None = None,
    predictions: pd.DataFrame | None = None,
    poor_fit: bool = False,
) -> Audit:
    """List suspect items, uninformative items, and respondents that answer alike.

    Start at the top of ``suspects``, and read each item and its key. ``print`` the audit for what
    ``irtkit audit`` shows.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned. If it was saved without responses, wrong keys are not
        searched for. With several abilities negative items are judged given all of them, and
        families do not apply.
    fdr : float, default 0.05
        False-discovery rate: the expected share of false alarms among items that are flagged as
        negative, and among those with evidence of a wrong key.
    extreme_difficulty : float, default 6
        Distance of a difficulty from the mean ability, in SDs of ability, beyond which an item is
        extreme.
    chance : float, optional
        3PL: probability of guessing right, such as 0.25 for four choices. Items with significantly
        more guessing are listed.
    families : mapping, Series, list or str, optional
        Family of every respondent, as in :func:`irtkit.flag_items`.
    predictions : DataFrame, optional
        The answers as text, respondents × items. Cells may be missing. Default: the answers of the
        responses, if they have any.
    poor_fit : bool, default False
        Whether to list items with a significant S-X² (:func:`irtkit.item_fit`).

    Returns
    -------
    Audit
        - suspects: table of :func:`irtkit.flag_items` with the columns p_wrong_key and wrong_key
          of :func:`irtkit.wrong_keys`, in its order.
        - uninformative: items that hardly discriminate, or are extreme.
        - read_first: the 20 items with the most evidence of a wrong key, flagged or not.
        - families: respondents that answer alike.
        - findings: what limits the audit.

    Raises
    ------
    TypeError
        If an argument has a wrong type.
    ValueError
        If a threshold is out of range or has no meaning for the model, or families or predictions
        do not match the respondents.

    Notes
    -----
    Evidence of a wrong key is a Bayes factor of a wrong key against a right one. At most 20 items,
    or 1 % of all items, are listed for this reason alone. Missing cells take no part. Systems that
    answer alike have less weight.

    :func:`irtkit.flag_items` and :func:`irtkit.wrong_keys` describe the methods, and how many wrong
    keys they find.

    See Also
    --------
    irtkit.flag_items, irtkit.wrong_keys, irtkit.FitResult.health

    Examples
    --------
    >>> import irtkit
    >>> slopes, difficulties = [1.5] * 29 + [-1.5], [k / 15 - 1 for k in range(30)]
    >>> items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    >>> responses = irtkit.simulate_responses(items, [k / 100 - 2 for k in range(400)], seed=1)
    >>> found = irtkit.audit(irtkit.fit(responses))
    >>> print(found.headline)
    Suspect items: 1 of 30. Negative discrimination: 1.
    """
    import pandas as pd

    check_type("result", result, FitResult)
    responses = result.responses
    if predictions is None and responses is not None:
        predictions = responses.predictions
    check_thresholds(fdr, extreme_difficulty, chance)
    keys = prior = family = None
    limits: list[Finding] = []
    first = pd.DataFrame({"kind": [], "p_wrong_key": []}, pd.Index([], name="item"))
    if limit_of("wrong_keys", result) is None:
        table, prior, limits = keyed(result, predictions)
        keys = table.assign(called=called_wrong(table, fdr))
        searched = table[table["log_bayes_factor"].notna()]
        first = _read_first(result, searched.head(_READ_FIRST))
    thresholds = fdr, extreme_difficulty, chance
    items, findings = flagged(
        result, *thresholds, families, predictions, poor_fit=poor_fit, keys=keys
    )
    findings += limits
    if responses is not None and responses.is_sparse:
        findings.append(Finding("sparse-not-compared", "note"))
    elif responses is not None:
        pairs = similar_respondents(result)
        names = family_names(result, SIMILAR, pairs)
        index = pd.Index(result.respondent_labels, name="respondent")
        family = pd.Series(names, index, name="family", dtype=object)[~result.synthetic]
        if len(pairs):
            most: Any = pairs.iloc[0].to_dict()
            findings.append(Finding("similar", "note", {"n": len(pairs), **most}))
    return Audit(items, family, tuple(findings), families is not None, prior, result, first)


def _read_first(result: FitResult, keys: pd.DataFrame) -> pd.DataFrame:
    """Who is right on the first items of a table of `wrong_keys`, and what they ask."""
    rows = np.array(result.best_first[: result.n_answering])
    places = np.array([result.places[str(label)] for label in keys.index], dtype=np.intp)
    right, tried = result.patterns.dense(rows, places)
    solved, failed = 2 * right > tried, (tried > 0) & (2 * right <= tried)
    half, quarter = len(rows) // 2, -(-len(rows) // 4)
    kinds = {
        "no system is right": ~solved.any(axis=0),
        "only weaker systems are right": ~solved[:half].any(axis=0) & failed[:half].any(axis=0),
        "only the best are wrong": failed.any(axis=0) & ~failed[quarter:].any(axis=0),
    }
    kind = np.select([*kinds.values()], [*kinds], "")
    table = keys[["p_wrong_key"]].copy()
    table.insert(0, "kind", kind)
    texts = item_texts(result.responses)
    return table if texts is None else table.join(texts)


def _counted(code: str, items: pd.DataFrame, result: FitResult) -> Finding:
    """How many items there are of a kind, for which reasons, and the first of them."""
    counts = Counter(chain.from_iterable(items["reasons"]))
    values = {"n": len(items), "n_items": len(result.item_labels), "items": list(items.index)}
    return Finding(code, "note", {**values, **counts})


def _asked(items: pd.DataFrame) -> list[str]:
    """What items ask and what is right, a line each, where either is known."""
    lines = []
    for label, *both in items.reindex(columns=_TEXTS).itertuples():
        text, target = (" ".join(one.split()) if isinstance(one, str) else "" for one in both)
        right = f" → {shortened(target)}" if target else ""
        if text or target:
            lines.append(shortened(f"{label}: {text}", WIDTH - len(right)) + right)
    return lines
