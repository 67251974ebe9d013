"""What an audit says: suspect, uninformative and silent items, respondents that answer alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import AT_CHANCE, FitResult
from irtkit.calibration.summary import folded, silent_items
from irtkit.data.families import SIMILAR, family_names
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.findings import LEGENDS, Finding
from irtkit.fitting import result_for
from irtkit.io.asking import document_numbers, sample_ids
from irtkit.irf import EXTREME
from irtkit.printed import TOP, WIDTH, Printed, Shown, shortened
from irtkit.suspects.families import similar_respondents
from irtkit.suspects.flags import LIKELY, flagged, kept_items, negatives
from irtkit.suspects.health import sections_of
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.data.families import Families
    from irtkit.io.tables import Predictions
    from irtkit.responses.columns import Names

_COLUMNS = (
    *("called", "p_wrong_key", "p_negative", "best_right", "weakest_right", "ability"),
    *("discrimination", "strong_answer", "marked_right", "reasons"),
)
_TEXTS = ("text", "target")
_HEADINGS = {"discrimination": "slope", "p_wrong_key": "P wrong key", "p_negative": "P negative"}


@dataclass(frozen=True, eq=False)
class Audit(Printed):
    """What :func:`irtkit.audit` found; ``print`` shows it, 80 columns wide."""

    items: pd.DataFrame
    """Items to read and uninformative items, as :func:`irtkit.flag_items` returns them."""
    families: pd.Series[str] | None
    """Family of every real respondent by :func:`irtkit.similar_respondents`, named after its first
    member; for ``families=``. None without the responses, or if these are sparse."""
    findings: tuple[Finding, ...]  #: What limits the audit, beyond the findings of the fit.
    clustered: bool  #: Whether evidence is clustered by families that were given.
    prior: float | None
    """Share of wrong keys, estimated from these responses and 0.1 % at least; None without them."""
    result: FitResult = field(repr=False)

    @property
    def suspects(self) -> pd.DataFrame:
        """The items to read, most probable fault first."""
        return self.items[self.items["suspect"]]

    @property
    def uninformative(self) -> pd.DataFrame:
        """The items that merely hardly discriminate between these systems."""
        return self.items[~self.items["suspect"]]

    @property
    def n_negative(self) -> int:
        """Number of items called negative."""
        return int(negatives(self.items).sum())

    def kept(self, removed: Names = None) -> list[str]:
        """Return the labels of all items but those removed.

        ``removed`` are labels, or "called" for the items that the audit calls.
        """
        return kept_items(self.result, removed, self.items)

    def for_inspect(self, removed: Names = None) -> str:
        """Return what ``inspect eval --sample-id`` takes to ask all items but those removed."""
        return sample_ids(self.result.saved_responses, self.kept(removed))

    def for_lm_eval(self, removed: Names = None) -> str:
        """Return what ``lm_eval --samples`` takes to ask all items but those removed."""
        return document_numbers(self.result.saved_responses, self.kept(removed))

    @property
    def by_task(self) -> pd.DataFrame:
        """Numbers of items per task, the largest share_suspect first, empty without two tasks."""
        import pandas as pd

        labels = pd.Index(self.result.item_labels)
        kinds: dict[str, Any] = {
            "n_items": labels,
            "suspect": self.suspects.index[self.suspects["reasons"].map(len) > 0],
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
    def headline(self) -> str:
        """How many items are called, how many to read, and for which reasons."""
        suspects = self.suspects
        called = int(suspects["called"].sum())
        p = suspects["p_wrong_key"]
        unclear = {"few-for-keys", "only-noise"}
        without_p = any(finding.code in unclear for finding in self.findings)
        without_p |= len(p) > 0 and bool(p.isna().all())
        code = "items-to-read"
        if self.prior is None and not len(suspects):
            code = "none-called"
        elif not (called or without_p or (p >= LIKELY).any()):
            code = "none-to-read"
        values = {"called": called, "n": len(suspects) or None, **_reasons(suspects)}
        if len(suspects):
            values["most"] = float(p.max())
        return f"{Finding(code, 'note', values)}."

    @property
    def set_aside(self) -> list[Finding]:
        """Silent and uninformative items."""
        others = self.uninformative
        findings = [*silent_items(self.result)]
        if len(others):
            values = {"n": len(others), "n_items": len(self.result.item_labels), **_reasons(others)}
            findings.append(Finding("uninformative-items", "note", values))
        return findings

    def shown(self, top: int = TOP) -> Shown:
        """Return the items to read, and what limits the audit; ``top`` of them."""
        of_fit = self.result.findings
        chance = [f"{finding}." for finding in of_fit if finding.code == AT_CHANCE]
        limits: dict[str, list[Finding]] = {"warning": [], "note": []}
        for finding in self.findings:
            limits[finding.severity].append(finding)
        warnings = [f"Warning: {finding}." for finding in limits["warning"]]
        further = []
        if top and len(self.suspects):
            rows, _ = folded(self.suspects, self.result.alike, len(self.suspects))
            headed = rows[[name for name in _COLUMNS if name in rows]].dropna(axis=1, how="all")
            if "p_wrong_key" in headed:
                headed = headed.drop(columns="p_negative")
            headed["called"] = np.where(headed["called"], "yes", "")
            headed["reasons"] = headed["reasons"].map(", ".join).str.replace("_", " ")
            headed = headed.rename(columns=_HEADINGS)
            further.append(Shown("", headed, self.legend, _asked(rows.head(top))))
        settled = {AT_CHANCE, "negative-items", *(["near-duplicates"] if self.clustered else [])}
        details = [f"{finding}." for finding in self.set_aside]
        details += [
            f"{finding.severity.capitalize()}: {finding}."
            for finding in of_fit
            if finding.code not in settled
        ]
        details += [f"{finding}." for finding in limits["note"]]
        further += [Shown("", self.by_task.query("suspect > 0")), Shown(findings=details)]
        return Shown(findings=[*chance, self.headline, *warnings], further=further)

    @property
    def legend(self) -> list[str]:
        """What the columns of the table mean."""
        evidence = "p_wrong_key"
        if self.suspects["p_wrong_key"].isna().all():
            evidence = "p_negative_given_all" if "ability" in self.items else "p_negative"
        values = {
            "prior": self.prior,
            "by": "accuracy" if self.result.at_chance else "ability",
        }
        return [LEGENDS[name].format(**values) for name in (evidence, "called")]

    def __repr__(self) -> str:
        called = int(self.suspects["called"].sum())
        return f"Audit({len(self.suspects)} items to read, {called} called)"


@one_thread()
def audit(
    result: object,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    families: Families | None = None,
    predictions: Predictions = None,
    poor_fit: bool = False,
) -> Audit:
    """List the items to read, uninformative items, and respondents that answer alike.

    Start at the top of ``suspects``, and read each item and its key. ``print`` the audit for what
    ``irtkit audit`` shows. ``result.audit()`` is the same.

    Parameters
    ----------
    result : FitResult, or responses
        What :func:`irtkit.fit` returned. Responses are fitted first. If a result was saved without
        responses, wrong keys are not searched for. With several abilities negative items are judged
        given all of them, and families do not apply.
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
    predictions : DataFrame or path, optional
        The answers as text, respondents × items. Cells may be missing. Default: the answers of the
        responses, if they have any.
    poor_fit : bool, default False
        Whether to list items with a significant S-X² (:func:`irtkit.item_fit`).

    Returns
    -------
    Audit
        - suspects: items to read, most probable fault first, as :func:`irtkit.flag_items` lists
          them. ``called`` marks those that hold with error control.
        - uninformative: items that hardly discriminate, or are extreme.
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
    or 1 % of all items, are called for this reason alone. Missing cells take no part. Systems that
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
    1 item called. Read these 5 first. Negative discrimination: 1. Possible wrong key: 1.
    """
    import pandas as pd

    result = result_for("audit", result)
    responses = result.responses
    family = None
    thresholds = fdr, extreme_difficulty, chance
    items, prior, findings = flagged(result, *thresholds, families, predictions, poor_fit=poor_fit)
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
    return Audit(items, family, tuple(findings), families is not None, prior, result)


def _reasons(items: pd.DataFrame) -> dict[str, Any]:
    """How many items there are for each reason, and which they are."""
    return {"items": list(items.index), **Counter(chain.from_iterable(items["reasons"]))}


def _asked(items: pd.DataFrame) -> list[str]:
    """What items ask, and their key, a line each, where the text is known."""
    lines = []
    for label, *cells in items.reindex(columns=_TEXTS).itertuples():
        text, target = (" ".join(cell.split()) if isinstance(cell, str) else "" for cell in cells)
        key = f" (key: {shortened(target)})" if target else ""
        if text:
            lines.append(shortened(f"{label}: {text}", WIDTH - len(key)) + key)
    return lines
