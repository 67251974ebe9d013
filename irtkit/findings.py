"""What limits a result or stops a reading, as values and their texts.

Code that computes raises or returns a `Finding`: a code, its severity and the numbers and labels
that it is about. At the edge it becomes text, in the spelling of Python (``threshold=0.5``) or of
the command line (``--threshold 0.5``). No code reads the text.
"""

from __future__ import annotations

import inspect
import re
import shlex
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from irtkit.checks import counted, first_names, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_OPTIONS: ContextVar[bool] = ContextVar("options", default=False)  # How settings are spelled.


class Remedy(NamedTuple):
    """Settings that settle a finding."""

    settings: Mapping[str, Any]  # Of `irtkit.read_responses`. The user must choose ``...``.
    purpose: str = ""  # Key of `PURPOSES`: what the settings do or when they apply.
    safe: bool = True  # Whether `irtkit inspect` may propose the settings without asking.
    code: str = ""  # Python in place of the settings. Without settings no option does the same.


@dataclass(frozen=True)
class Finding:
    """One thing that a user must know: a code, a severity and the values that it is about."""

    code: str
    severity: Literal["error", "warning", "note"]
    values: Mapping[str, Any] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def text(self, *, options: bool | None = None) -> str:
        """Return the message, with settings as options of the command line if `options`.

        By default, it depends on whether the command line is running (`spelled_as_options`).

        Examples
        --------
        >>> from irtkit.findings import Finding, Remedy
        >>> remedy = Remedy({"ignore": ["moe"]}, "ignore")
        >>> finding = Finding("metadata-columns", "error", {"columns": ["moe"]}, (remedy,))
        >>> print(finding)
        columns with these names are perhaps not items: 'moe'. Pass ignore='moe' to leave it out
        """
        options = _OPTIONS.get() if options is None else options
        choices = []
        for remedy in self.remedies:
            by_code = bool(remedy.code) and not options
            text = remedy.code if by_code else typed(remedy.settings, options=options)
            if text:
                choices.append(f"{text} {PURPOSES[remedy.purpose]}".rstrip())
        verb = "Add" if options else "Pass"
        return f"{self.reason}. {verb} {', or '.join(choices)}" if choices else self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return code, severity, message and values, as `summary.json` has them."""
        fields = {"code": self.code, "severity": self.severity, "message": str(self)}
        return {**fields, "values": dict(self.values)}

    @classmethod
    def restored(cls, stored: Mapping[str, Any]) -> Finding:
        """Return the finding that was stored as its fields, ``...`` in a remedy as None."""
        remedies = []
        for fields in stored["remedies"]:
            settings = {
                name: ... if value is None else value for name, value in fields["settings"].items()
            }
            remedies.append(Remedy(**{**fields, "settings": settings}))
        return cls(**{**stored, "remedies": tuple(remedies)})

    @property
    def reason(self) -> str:
        """The message without the remedies."""

        def optional(part: re.Match[str]) -> str:
            values = [self.values.get(name) for name in _FIELD.findall(part[1])]
            return part[1] * all(value or isinstance(value, float) for value in values)

        template = _OPTIONAL.sub(optional, as_typed(TEXTS[self.code]))
        return _Formatter().vformat(template, (), self.values)


class IRTWarning(UserWarning):
    """A warning of irtkit for a `finding`."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    @property
    def code(self) -> str:
        """Code of the finding."""
        return self.finding.code


def warn(finding: Finding) -> None:
    """Give the warning for a finding, at the first line outside of irtkit."""
    frame, level = inspect.currentframe(), 1
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] == "irtkit":
        frame, level = frame.f_back, level + 1
    warnings.warn(IRTWarning(finding), stacklevel=level)


class ReadingError(ValueError):
    """Responses that cannot be read, with a `finding` that says why."""

    def __init__(self, finding: Finding, place: str = "", file: Path | None = None) -> None:
        super().__init__(finding)
        self.finding = finding
        self.place = place  # File or option that the message begins with.
        self.file = file

    def __str__(self) -> str:
        return self.text()

    def text(self, *, options: bool | None = None) -> str:
        """Return the message, beginning with the place."""
        message = self.finding.text(options=options)
        return f"{self.place}: {message}" if self.place else message


@contextmanager
def spelled_as_options() -> Iterator[None]:
    """Spell settings in messages as options of the command line."""
    token = _OPTIONS.set(True)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def failed(code: str, *remedies: Remedy, **values: Any) -> ReadingError:
    """Return the error for a finding, to be raised."""
    return ReadingError(Finding(code, "error", values, remedies))


def reasons_text(reasons: Iterable[str]) -> str:
    """Text of the reasons for which an item is listed."""
    return "; ".join(REASONS[code] for code in reasons)


def typed(settings: Mapping[str, Any], *, options: bool) -> str:
    """Settings as they are typed in Python or on the command line.

    Examples
    --------
    >>> from irtkit.findings import typed
    >>> settings = {"item": ["task", "id"], "threshold": 0.5, "transpose": True}
    >>> typed(settings, options=False)
    "item=['task', 'id'], threshold=0.5, transpose=True"
    >>> typed(settings, options=True)
    '--item task,id --threshold 0.5 --transpose'
    """
    words = []
    for name, value in settings.items():
        several = value if isinstance(value, list | tuple) else [value]
        if not options:
            shown = "…" if value is ... else repr(several[0] if len(several) == 1 else value)
            words.append(f"{name}={shown}")
            continue
        if isinstance(value, dict):  # of pairs by item
            pairs = (f"{key}={','.join(map(_word, pair))}" for key, pair in value.items())
            words += [f"--{name.replace('_', '-')} {shlex.quote(pair)}" for pair in pairs]
            continue
        plain = ",".join(map(_word, several))
        shown = " …" if value is ... else f" {shlex.quote(plain)}"
        words.append(f"--{name.replace('_', '-')}{'' if value is True else shown}")
    return (" " if options else ", ").join(words)


def spelled(**settings: Any) -> str:
    """Settings as they are typed where the program runs: in Python or on the command line."""
    return typed(settings, options=_OPTIONS.get())


def as_typed(text: str) -> str:
    """A text in which each ``<Python|command>`` is one of both, by where the program runs."""
    return _EITHER.sub(r"\2" if _OPTIONS.get() else r"\1", text)


def _word(value: Any) -> str:
    """A name or number in a list with commas, in double quotes if it holds a comma or a quote."""
    word = f"{value:g}" if isinstance(value, float) else str(value)
    quoted = not word or "," in word or '"' in word
    return '"' + word.replace('"', '""') + '"' if quoted else word


class _Formatter(Formatter):
    """Labels quoted and cut, numbers with thousands separators, ``{n:row}`` a counted noun.

    ``{n:has|have}`` is a word for one or for several, ``{rate:%}`` a rate as it was given, and
    ``{q:p}`` a p-value with its sign. A format that begins with a point or a plus is Python's own,
    as in ``{share:.0%}``.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith((".", "+")):
            return format(value, format_spec)
        if format_spec == "%":
            return f"{100 * value:.9g}%"
        if format_spec == "p":
            return "< 0.001" if value < 0.001 else f"= {value:.3f}"
        if "|" in format_spec:
            return str(format_spec.split("|")[value != 1])
        if format_spec:
            return counted(value, format_spec)
        if isinstance(value, list | tuple):
            return first_names([short(label) for label in value])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:,}" if isinstance(value, int) else f"{value:g}"
        return value if isinstance(value, _Plain) else short(value)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion != "s":
            return super().convert_field(value, conversion)
        return _Plain(first_names(value) if isinstance(value, list | tuple) else value)


class _Plain(str):
    """Text that is written as it is, without quotes."""

    __slots__ = ()


_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")  # Left out unless all of its values are there.
_FIELD = re.compile(r"\{(\w+)")
_EITHER = re.compile(r"<([^<>|]+)\|([^<>|]+)>")

_GATE = (
    "{name!s} {verdict!s}: accuracy changed by {change:+.2f} percentage points on {n_items:item} "
    "({n_changed} answered differently). A drop of more than the allowed {allowed}"
)
_CERTAINTY = "{certainty:.4g}% certainty"
_CELL = "system {respondent}, item {item} has {value}[[ (and {more:more cell})]]"

_FURTHER = (
    "[[. {n_unsure:further slope} {n_unsure:is|are} estimated below 0, but not significantly]]"
)
REASONS = {  # Why an item is suspect or uninformative.
    "negative": "negative discrimination",
    "wrong_key": "possible wrong key",
    "guessing": "guessing above chance",
    "poor_fit": "poor fit",
    "flat": "flat discrimination",
    "extreme": "extreme difficulty",
}
_COUNTED = "".join(f"[[. {text.capitalize()}: {{{code}}}]]" for code, text in REASONS.items())

PURPOSES = {  # What settings do, by code.
    "": "",
    # From responses tables
    "missing": "if it stands for a missing response",
    "wrong": "if it is wrong",
    "right": "to say what is right and wrong",
    "threshold": "to mark scores at or above it as right",
    "score-range": "with the worst and the best score: 0,100, or 100,0 where lower is better",
    "percentages": "if these are percentages",
    "correlations": "if scores go down to -1, as correlations do",
    "levels": "if these are ordered levels, for the GPCM",
    "ordered": "if these are ordered levels",
    "abstained": "if it is wrong and 0 is an abstention",
    "order": "with the words of ordered levels from the worst to the best",
    "inverted": "if 1 is wrong",
    "blank-wrong": "if empty cells are wrong",
    "blank-missing": "if they are missing",
    "options": "if every item has this number of options",
    "all-scores": "if all columns are items",
    "key": "to compare answers with the right answer of each item",
    "count": "to count them as repeated trials",
    "first": "to read the first only",
    "runs": "to count them as repeated trials",
    "repeats": "with count, first, last or mean>=0.5",
    "items": "if they are different items",
    "systems": "if they are different systems",
    "judges": "to irtkit judges if it names judges",
    "range": "if these are the worst and the best mark",
    "ignore": "to leave it out",
    "keep": "if all columns are items",
    "labels": "if it holds the systems",
    "holds-items": "if it holds the items",
    "column": "with the name of the column",
    "columns": "if each of these columns has the marks of one judge",
    "transpose": "if rows are items and columns are systems",
    # From reading
    "close": "if you mean this name",
    "last": "to read the latest only",
    "majority": "to read the majority of them",
    "tasks": "to read the others",
    # From fit
    "leave-out": "to leave them out",
    "finite": "for finite estimates",
    "unique": "for a unique estimate",
    "known-items": "with items of known parameters",
    "each-task": "to fit the items of one task at a time",
    "task-abilities": "for an ability of each task",
    "several-abilities": "in a fit, for as many abilities as held-out answers show",
    "by-family": "for errors by family",
    "by-task": "to give each task the same weight",
    "clusters": "in a leaderboard or comparison, for intervals that allow for the groups",
    # From diagnostics
    "known-anchors": "with items known to be the same for both groups",
}

TEXTS = {  # One template for each code. Lists are cut after five names.
    # From responses
    "outside-range": f"a score must be between {{low}} and {{high}}: {_CELL}",
    "few-scores": "most columns hold 0 and 1 only. Columns with numbers between them are perhaps "
    "not items: {columns}",
    "percentages": f"responses are numbers up to 100: {_CELL}",
    "levels": f"responses are levels or answers, not right, wrong or from 0 to 1: {_CELL}",
    "numbers": f"responses are numbers outside 0 to 1: {_CELL}",
    "words": f"responses are words: {_CELL}",
    "words-read": "these words are read as right: {right}[[. These as wrong: {wrong}]]",
    "unnamed": f"a word is neither right, wrong nor missing: {_CELL}",
    "missing-word": f"a response must be from 0 to 1 or missing: {_CELL}",
    "answers": f"responses are answers, not marks: {_CELL}",
    "no-counts": "cells must be counts such as 3/5, or 0, 1 or missing. These are not: {words}",
    "not-items": "in these columns at least half of the cells are not responses: {columns}",
    "metadata-columns": "columns with these names are perhaps not items: {columns}",
    "summary": "rows with these labels may be summaries of other rows: {labels}",
    "none-right": "no response is right: no cell holds {words}",
    "no-header": "the first row holds responses, not names: {names}. Add a line of names above it",
    "none-at-chance": "Nobody at chance: [[fewer than {least} systems, or than a tenth of them, "
    "score as guessing does]][[the numbers of options are unknown, and no systems have opposite "
    "answers to {assumed:option}]]",
    "only-right": "every response is right, and {n:cell} {n:is|are} empty",
    "near-chance": "{n} of {n_systems} systems have an accuracy near {level:.0%}, as if they "
    "guessed between {n_options} options",
    "items-alike": "the columns {kept} and {label} differ only by {how!s}",
    "labels-merged": "the labels {label} and {kept} differ only by {how!s} and are read "
    "as one[[ (and {more:more label})]][[. Both have answers to the same item: {item}]]",
    "no-respondent-column": "no column is recognised as the systems among {columns}",
    "no-item-column": "no column is recognised as the items among {columns}",
    "no-judge-column": "no column is recognised as the judges among {columns}. Ratings have a row "
    "per mark, or a row per answer with a column per judge",
    "judge-column": "the column {column} names {n:judge}, and a mark depends on its judge. Adjust "
    "marks for severity by <irtkit.judges(FILE)|irtkit judges FILE>",
    "two-values": "{label} has two values in {column}: {values}",
    "no-response-column": "no column is recognised as the responses among {columns}",
    "several-columns": "several columns may hold the {role!s}: {columns}",
    "repeated": "system {respondent}[[, item {item}]][[, judge {judge}]] occurs in several rows[["
    " (and {more:more row})]][[, which differ in {columns}]]",
    "task": "the column {column} may describe systems instead of items: each system has one value, "
    "and the same item has several",
    "threshold-flat": "all scores are on one side of the threshold {threshold}",
    "some-tasks": "only some of the tables have the column {column} of tasks",
    "no-label": "row {row} lacks a label in {column}. Fill it in, or delete such rows",
    "no-marks": "the table has severities of judges and no marks. irtkit judges writes adjusted "
    "marks to adjusted.csv where marks connect all judges",
    "no-task": "{task} is not a task of this table[[, whose tasks are {tasks}]]",
    "no-key": "the key {key} is neither a file nor the label of a row nor a column of a long table",
    "key-missing": "the key lacks a right answer for {items}",
    "no-match": "none of {n:answer} equals the right answer of its item",
    "marked": "{n:answer} compared with the key, {n_right} right",
    "rows-missing": "{n:row} without a response",
    "runs-named": "{kind!s} such as {label} are perhaps runs of {n:name} such as {name}, and are "
    "read as they are named",
    "trials-read": "counts of right and all trials are read as repeated trials",
    "runs-joined": "{kind!s} such as {label} are read as runs of {n:name} such as {name}",
    "votes": "the rows are votes between two systems, not responses to items. irtkit does not "
    "read votes: choix, evalica and arena-rank rate systems by them",
    "sparse-zeros": "the sparse array stores zeros. Pass its .toarray() if cells that are not "
    "stored are wrong too, or a long table of system, item and response if they are missing",
    "transposed": "rows look like items ({item}) and columns like systems ({respondent})",
    "orientation": "rows are named by the column {corner} ({row}), and may be systems or items",
    # From reading files
    "unreadable-file": "{file!s} is left out, since it cannot be read: {reason!s}",
    "nothing-read": "none of {n:file} can be read",
    "damaged": "{message!s}",
    "file-names": "no column is recognised as the systems, so the names of {n:file} are the "
    "systems: {labels!s}[[, and the {kind!s}s are {others!s}]]",
    # From responses the matrix
    "file": "{message!s}",
    # From io readers of logs
    "log-field": "{place!s} lacks {field}",
    "log-details": "the file has totals only, and no details. OpenCompass writes these with "
    "--dump-eval-details",
    # From io logs
    "skipped-files": "skipped {n:file} of a form that irtkit does not read here: {files!s}",
    "skipped-tables": "skipped {n:table} because the path holds evaluation logs: {files!s}. "
    "The command irtkit merge LOGS TABLES puts logs and tables together",
    "copies": "left out {n:log} with copies, retries or parts of other runs: {files!s}",
    "older-runs": "left out {n:older run} of systems with newer runs on the same task: {files!s}",
    "unfinished-runs": "samples that failed or did not run are missing, not wrong, in {n:log}: "
    "{files!s}[[. {n_failed:sample} failed]][[. {n_absent:sample} did not run]][[. Status: "
    "{statuses!s}]]",
    "empty-logs": "left out {n:log} without any score: {files!s}[[. The first error is {error}]]",
    "no-scores": "no sample has a score, {n_failed:sample} failed: {files!s}[[. The first error "
    "is {error}]]",
    "runs": "{respondent} ran several times on task {task}, and the logs do not say which run "
    "counts: {files!s}[[. The newest run did not end well (status {status!s})]]",
    "several-metrics": "task {task} has several metrics: {names!s}[[. Marks of several judges "
    "({judges!s}) are adjusted by <irtkit.judges(FILE)|irtkit judges FILE>]]",
    "several-filters": "metric {of} of task {task} has several filters: {names!s}",
    "doubtful-mark": "{file!s}: sample {sample} has {metric!s} {mark} and a score of {score}, "
    "which do not agree",
    "no-common-metric": "the systems of task {task} share no metric: {one} has {ones!s}, and "
    "{other} has {others!s}",
    "unknown-name": "no log has the {argument!s} {name}. The logs have: {known!s}",
    "different-items": "item {item} has different content hashes in {files!s}, so the task changed "
    "between the runs of {systems!s}. Read the logs separately",
    "no-other-submission": "{file!s} names the resolved instances only. The other instances are "
    "unknown, because no other submission lies next to it",
    # From diagnostics
    "few-anchors": "Few anchors: {n} of {of} items differ between the groups. With this number, "
    "the test cannot show which ones really do",
    "test-with-prior": "Not at a maximum: the {models!s} had a prior. The test is rough, and its "
    "statistic may be negative. Try: fit with prior=None",
    "test-with-synthetic": "Not at a maximum: synthetic respondents took part in estimating items "
    "and not in log-likelihoods. Try: fit without them",
    "test-not-converged": "Not at a maximum: the {models!s} did not converge",
    "lower-likelihood": "Not at a maximum: the {larger!s} contains the {smaller!s}, and its "
    "log-likelihood is lower by {off:.3g}",
    "coarse-integration": "Coarse integration: the statistic may be off by {error:.2g}[[. Try: fit "
    "with quadrature={quadrature}]]",
    "guessing-at-edge": "Conservative p-value: the {smaller!s} has guessing at 0, the edge of its "
    "range. The exact p-value is smaller",
    "correlations-at-edge": "Conservative p-value: one ability has correlations of 1 between "
    "tasks, the edge of their range. The exact p-value is smaller",
    "few-finite-items": "Rough p-value: {n} of {of} items have too little variance for a finite "
    "estimate, and the chi-square distribution does not hold for them",
    "weighted-evidence": "Near-duplicates: {n:system} answer like about {n_eff} independent "
    "ones. Log-likelihoods are multiplied by {evidence:.2f}",
    "few-for-parameters": "Rough p-value: the chi-square distribution holds for many systems. "
    "Here {n} determine {n_parameters:parameter}",
    # From scoring
    "linked": "{method!s} by {n_kept} of {n:common item}: slope {slope:.3f} ± "
    "{slope_se:.3f}, intercept {intercept:.3f} ± {intercept_se:.3f}",
    "drifting-items": "{n_drifting} of {n:common item} drifting at a false-discovery rate of "
    "{fdr:%}[[: {items!s}]]",
    "drift-compared": "{n_items:common item}, answered by {n_old:system} of the old version and "
    "{n_new} of the new one ({n_both} of them in both)",
    "no-drift": "No item is shown to have changed, of {n_items} tested at a false-discovery rate "
    "of {fdr:%}",
    "drifted-items": "{n} of {n_items} items changed at a false-discovery rate of {fdr:%}"
    "[[. Easier: {easier!s}]][[. Harder: {harder!s}]]",
    "drift-shift": "Scores: the mean score of the new systems is {value:+.1f} points off what it "
    "would be if these items had not changed (95% interval {low:.1f} to {high:.1f})",
    "drift-improved": "Systems: on the items that did not change, the new ones score {value:+.1f} "
    "points against the old ones (95% interval {low:.1f} to {high:.1f})",
    "drift-other-items": "{n_removed:item} in the old version only, {n_added} in the new one only. "
    "They are not compared",
    "uncalibrated-items": "Uncalibrated items: {n} of {of} items of the responses are not "
    "calibrated and are left out ({items!s})",
    "beyond": "Beyond the calibration: {n} of {of} systems may score as high as the best "
    "calibrated systems ({respondents!s}). The lower ends of their intervals hold, and these "
    "items cannot show how much more they score",
    "unknown-misfit": "Unknown misfit: the items come without the responses of at least {least} "
    "independent calibrated systems. Intervals of expected_score do not include misfit, and are "
    "too narrow if answers depend on more than one ability. Try: give the result of fit with its "
    "responses as items",
    "selected-items": "Selected items only: the table has {n} items selected from {of}. The "
    "expected score is left out. Try: give the selection, or the file of selection.save (irtkit "
    "select --out with a name that ends in .npz)",
    # From suspects
    "items-to-read": f"{{called:item}} called[[. Read {{n:this|these}} {{n}} first]]{_COUNTED}",
    "none-to-read": "No item is likely to have a wrong key[[: the largest probability is "
    "{most:.2g}]][[. {n:This|These} {n} would be first]]",
    "none-called": "No item is called. Wrong keys are not searched for in such data",
    "uninformative-items": f"Uninformative items: {{n}} of {{n_items}}{_COUNTED}. Names: "
    "{items!s}",
    "similar": "Similar systems: {n:pair} agree more than abilities explain, most of all "
    "{respondent!s} and {other!s} (agreement {agreement:.0%}, expected {expected:.0%})",
    "sparse-not-compared": "Sparse matrix: similar systems are not listed",
    "verdicts-doubted": "Verdicts doubted: one ability does not explain the responses, as the fit "
    "warned. Wrong keys may be missed, and flagged items may have correct keys. Audit a fit with "
    "abilities='auto', audit each kind of item separately, or name the families of systems",
    "low-power": "Low power: [[{n_systems:independent system}]][[{n_families} families]] reveal "
    "about {power:.0%} of items with a reversed key and typical discrimination. Larger "
    "numbers reveal more",
    "many-wrong-keys": "Many wrong keys: {share:.0%} of the items, more than {most:.0%}, behave as "
    "if their key were wrong. A further ability has the same effect. Listed items are in "
    "the order of the evidence, and the probability says nothing",
    "few-for-keys": "Too few systems for probabilities of wrong keys: {n:independent system} "
    "answered, and at least {least} are needed. Listed items are in the order of the evidence",
    "scores-without-keys": "{n:item} {n:has|have} scores between 0 and 1, and {n:is|are} not "
    "searched for wrong keys",
    "only-noise": "Only noise: what the responses have in common may be chance, and more is not "
    "shown by [[{n_systems:independent system}]][[{n_families} families]]. Negative "
    "discrimination cannot be found",
    "fit-not-tested": "Fit not tested: fewer than 30 systems answered every item, or fewer "
    "than half of them, or too few right and wrong responses are expected",
    # From selection
    "fewer-asked": "Fewer items: a test of {system} on {task} could ask {of:item}, and {n} "
    "{n:was|were} answered. The interval of the score allows for it",
    "fixed-order": "Fixed order: the first {n:item} of the ranking are asked in its order. On "
    "held-out systems the score is then off by {fixed:.1%}, and by {adaptive:.1%} if items are "
    "chosen one by one (root mean square)",
    # From systems
    "items-taken-as-known": "Items taken as known: cells are missing, and the fit was made without "
    "standard errors. Standard errors of scores are too small",
    "chosen-items": "Chosen items: a test chose the items of {n} of {of} systems by their answers "
    "({systems!s}). Their accuracy, and differences in accuracy, do not say how good they are. "
    "Try: <irtkit.score|irtkit score>, for the expected score of each",
    "ability-reversed": "Ability reversed: {n} of {n_pairs:pair} of systems that differ "
    "significantly are in the other order by ability. Ranks follow the expected score",
    "tasks-not-taken": "Tasks not taken: {n} of {n_systems} systems lack responses in some task "
    "and are left out of the ranking by task ({systems!s})",
    "tasks-pooled": "the score weights {n:task} by their numbers of items ({least} to {most})",
    "gate-passed": f"{_GATE} is ruled out ({_CERTAINTY})",
    "gate-failed": f"{_GATE} is shown ({_CERTAINTY})",
    "gate-inconclusive": f"{_GATE} is neither shown nor ruled out: the drop is at most "
    f"{{most:.2f}} ({_CERTAINTY})[[. About {{more}} more items like these would settle it with a "
    "probability of 80%, if the change is as large as it looks]]",
    "gate-without-systems": "Systems missing: the new run lacks {systems!s}, so that the gate "
    "cannot pass",
    "gate-new-systems": "New systems: only the new run has {systems!s}, which are not compared",
    "gate-old-items": "Old items: {n:item} of a compared system {n:has|have} a response in the old "
    "run only, and {n:is|are} left out for this system",
    "gate-new-items": "New items: {n:item} of a compared system {n:has|have} a response in the new "
    "run only, and {n:is|are} left out for this system",
    # From fit, notes
    "guessing-prior": "the prior of guessing is centred on {chance:.2f}",
    "lower-bound": "evidence lower bound {elbo:.3f}. Item estimates are posterior means",
    "counted-trials": "repeated trials correlate by {correlation:.2g} beyond what the model "
    "explains. They have less weight, also in the log-likelihood",
    "counted-scores": "{n:item} {n:has|have} scores between 0 and 1. A score has the weight of "
    "{worth:.3g} right or wrong answers, also in the log-likelihood",
    "fixed-items": "{n:item} fixed. On their scale ability has mean {mean:.3f}[[ (SE "
    "{mean_se:.3f})]] and SD {sd:.3f}[[ (SE {sd_se:.3f})]]",
    "ability-sd": "the SD of ability is {sd:.3f}",
    "negative-items": "{n} of {n_items:item} {n:has|have} negative discrimination (at a "
    f"false-discovery rate of {{fdr:%}}){_FURTHER}",
    "negative-items-doubted": "{n} of {n_items:item} {n:has|have} negative discrimination "
    f"(unreliable, see the warnings){_FURTHER}",
    "slopes-below-0": "{n:slope} {n:is|are} estimated below 0, but not significantly",
    "flat-items": "{n:flat item}: no significant slope, and so no meaningful difficulty",
    "all-wrong": "{n:item} that no system gets right: look here for broken items ({items!s})",
    "few-wrong": "{n:item} that no system gets right, answered by fewer than {least} systems: too "
    "few to conclude that an item is broken",
    "all-right": "{n:item} that every system gets right",
    "unanswered": "{n:item} without responses",
    # From curves
    "few-systems-for-alarms": "Frequent false alarms: difficulties come from a {model!s} fitted "
    "to {n:system}. False alarms keep their stated rate with at least {least} systems, and are "
    "more frequent with fewer",
    "few-clusters": "Few clusters: standard errors and intervals of {systems} are unknown, because "
    "the regression has as many terms as clusters, or more",
    "no-surface": "No surface: the status of {systems} is {status!s}",
    # From difficulty
    "no-common-sample": "No common sample: predicted has samples such as {predicted}, and manual "
    "has samples such as {manual}",
    "same-order": "Same order: {measure_1!s} and {measure_2!s} give the same order of items, "
    "except for ties (Spearman correlation {spearman:.3f})",
    "order-changed": "Order changed: {measure_1!s} and {measure_2!s} have a Spearman correlation "
    "of {spearman:.3f} (95% interval {spearman_low:.3f} to {spearman_high:.3f})[[. {moved:item} of "
    "{n} {moved:moves|move} by more than a tenth of the ranks, most of all {items}]]",
    "no-order": "No order: {measure_1!s} or {measure_2!s} is the same for all items",
    "no-difficulty": "No difficulty: {n:item} of {of} cannot be ordered by difficulty, because of "
    "a flat curve or a negative slope",
    "quality-standard": "Quality standard: items are scored from 0 (easy) to 1 (hard)[[. Higher is "
    "better for {higher!s}]][[. Lower is better for {lower!s}]][[. Constant and left out: "
    "{constant!s}]][[. {n:item} without a score]]",
    "same-quality": "Same quality standard: quality_standard orders items like average_error and "
    "is left out",
    "nothing-predicted": "Nothing predicted: predictions need two systems, two items, and an item "
    "that some get right and others wrong",
    "predicts-better": "Better predictions: the {model!s} predicts held-out responses better than "
    "the 1PL, which like average error only counts right answers. The log-likelihood per response "
    "is {gain:.4f} higher (95% interval {gain_low:.4f} to {gain_high:.4f}) and the accuracy "
    "{accuracy:.1%} (1PL: {usual:.1%})[[. The {n:system} answer like {effective:.3g} independent "
    "ones, and near-duplicates may explain part of the gain]]",
    "predicts-alike": "Similar predictions: no model predicts held-out responses significantly "
    "better than the 1PL, which like average error only counts right answers. The best, the "
    "{model!s}, gains {gain:.4f} in log-likelihood per response (95% interval {gain_low:.4f} to "
    "{gain_high:.4f})",
    "predicts-worse": "Worse predictions: the {model!s} predicts held-out responses worse than the "
    "1PL, which like average error only counts right answers. The log-likelihood per response "
    "changes by {gain:.4f} (95% interval {gain_low:.4f} to {gain_high:.4f})",
    "not-ranked": "Not ranked: these systems cannot be ordered by one ability. They are at "
    "chance, or in groups without common items, or the fit has several abilities",
    "same-places": "Same places: no two systems change places significantly between accuracy and "
    "ability (Spearman correlation {spearman:.3f})",
    "places-changed": "Places changed: {n:pair} of systems change places significantly between "
    "accuracy and ability (Spearman correlation {spearman:.3f}), most of all {systems}",
    # From health
    "items-at-ceiling": "Items at the ceiling: nearly all systems are right on {n} of "
    "{n_items:item}[[ (many in {tasks})]]. They cost time and give little information",
    "items-at-floor": "Items at the floor: nearly no system is right on {n} of "
    "{n_items:item}[[ (many in {tasks})]]. Check their keys and texts",
    "few-separating": "Saturated: {n} of {n_items:item} still separate the best systems[[ (few in "
    "{tasks})]]. Harder items are needed",
    "suspects-first": "Items to read: {n:item} {n:is|are} suspect. Read them and their keys before "
    "other items are dropped or added: {items!s}",
    "items-to-drop": "Items to drop: {n} of {n_items:item} add little"
    "[[. At the ceiling: {ceiling}]][[. At the floor: {floor}]][[. Repeats: {repeats}]]"
    "[[. Flat: {flat}]]. Names: {items!s}",
    "idle-levels": "Idle levels: {n} of {n_items:item} {n:has|have} a level that is nowhere the "
    "likeliest: {items!s}",
    "marks-at-ends": "Marks at the ends: {low:.0%} of the marks of items with levels are the "
    "lowest and {high:.0%} the highest",
    "separating": "Saturation: {n} of {n_items:item} still {n:separates|separate} the {n_best} "
    "best systems, whose mean score is {score:.1%}",
    "different-abilities": "Different abilities: {n} of {n_tasks:task} {n:measures|measure} partly "
    "another ability than the other items: {tasks!s}. Without errors the scores on {task} and on "
    "the others correlate {lowest:.2f} (one ability: {expected:.2f})",
    "no-second-ability": "One ability: the fit found no second one",
    "items-for-differences": "How many items: a difference between two of the best systems shows, "
    "in 80% of runs, with {one:item} if it is 1 point[[, {two} if 2]][[, {five} if 5]][[. To "
    "separate the three best takes {three}]]",
    "near-duplicate-items": "Near-duplicate items: {n:item} {n:is|are} answered like an "
    "earlier one, more often than ability explains",
    # From judges
    "judges-compared": "Ratings: {n:mark} of {n_judges:judge} on answers of {n_systems:system} to "
    "{n_items:item}, {each:.1f} marks per answer[[. The mean mark of a system has a reliability of "
    "{value:.2f}]][[. {needed:judge} per answer {needed:is|are} enough for 0.9]][[. Answers with "
    "{least:mark} would show how many judges are enough]]",
    "reliability-not-known": "Reliability not known[[: marks of {names} say nothing and must be "
    "left out first]][[: {judges} do not agree]][[: {n:answer} are too few]][[: systems do not "
    "differ significantly (F test, p {p:p})]]. How many judges are enough is not known either",
    "judges-not-connected": "Judges not connected: no marks compare {n:group} of judges: {groups}. "
    "Severities are relative to the judges of one group[[, and marks of {n_apart:system} that not "
    "all groups marked cannot be compared]]. More answers marked by judges of both groups help",
    "severities-exceed-systems": "Severities exceed differences of systems: the mean severity of "
    "the judges that a system had has an SD of {judges:.2f} marks, adjusted means of systems have "
    "{systems:.2f}. Means of marks that are not adjusted rank systems more by their "
    "judges than by their answers",
    "range-taken": "Range taken: all marks are whole numbers from {low} to {high}, and these are "
    "taken as the worst and the best. <score_range=|--score-range> declares another range",
    "range-not-declared": "marks go from {low:.0f} to {high:.0f}, and their range is not declared",
    "judge-noise": "Noise: the marks of {n:judge} do not agree with the other judges, who agree "
    "with each other: {names}",
    "judge-reversed": "Reversed: the marks of {n:judge} run against the marks of the other "
    "judges, as if their best mark were the worst: {names}",
    "judge-constant": "Constant: {n:judge} {n:gives|give} all answers the same mark, which says "
    "nothing about them: {names}",
    "faulty-judges": "Faulty judges: the adjusted marks include marks of {n:judge} that say "
    "nothing or the opposite: {names}. <irtkit.judges(FILE, drop=NAMES)|irtkit judges FILE --drop "
    "NAMES> leaves them out",
    "judges-unclear": "Unclear: {n:judge} {n:shares|share} too few answers with other judges, or "
    "{n:agrees|agree} with single ones alone: {names}. More answers marked by two judges help",
    "judges-opposed": "Opposed: the marks of {n:judge} run opposite ways, and no majority says "
    "which scale is reversed: {names}",
    "judges-disagree": "Disagreement: the marks of {n:judge} do not agree with other judges, and "
    "no others agree with each other, who could say which marks are noise: {names}",
    "judge-favours": "Preference: {judge} gives the family {family} {difference:+.2f} marks, "
    "compared with other judges and other systems (q {q:p}). The adjusted marks keep it. Without "
    "it, the ranks of {moved} of {n:system} change",
    "judges-differ-on-family": "Preference: {n_judges:judge} differ on the family {family}, and no "
    "majority says who favours or slights it: {names}. {judge} gives it {difference:+.2f} marks, "
    "compared with the others and other systems (q {q:p}). The adjusted marks keep the difference. "
    "Without it, the ranks of {moved} of {n:system} change",
    "preferences-not-tested": "Not tested: {n} of {n_pairs:pair} of judge and family. A test "
    "takes answers with marks of several judges without a fault, of two systems of the family, "
    "two others, and six in all",
    "judged-once": "Judged once: {n:system} {n:has|have} a single mark, and one judge decides the "
    "score: {names}",
    # From fit
    "systems-at-chance": "Systems at chance: {n} of {n_systems} systems have an accuracy of at "
    "most {highest:.0%}: {systems}. Guessing[[ between {n_options} options (their number follows "
    "from opposite answers)]] gives {level:.0%}. These systems can distort slopes and abilities",
    "not-converged": "Not converged: the fit stopped after {n_iterations:iteration} with a last "
    "change of {change:.2g} (tolerance {tol:.2g}). Its estimates may not be at the maximum",
    "elbo-not-settled": "Not converged: the evidence lower bound was {elbo:.4f} and had not "
    "settled after {n_iterations:step}. The posterior may not be final",
    "unbounded-items": "No finite estimate: the likelihood of {n} of {n_items:item} has its "
    "maximum at infinity without a prior: {items}. Their values are from the last iteration",
    "anchor-drift": "Anchor drift: {n} of {n_fixed} fixed items differ from their fixed parameters "
    "(false-discovery rate {fdr:%})[[. Easier: {easier}]][[. Harder: {harder}]]. Abilities and "
    "latent_mean are biased",
    "too-few-items": "Too few items: the {model!s} has {n_parameters:parameter} without a prior, "
    "and responses to {n_items:item} determine at most {n_determined}. Infinitely many estimates "
    "fit equally well",
    "no-standard-errors": "No standard errors: the objective of the fit is not concave at the "
    "estimates of {n} of {n_items:item}: {items}. Their uncertainty is unknown",
    "levels-taken": "Levels taken: whole numbers from 0 to at most 6 in {n} of {n_items:item} "
    "({items!s}) are taken as ordered levels, so that the model is the GPCM",
    "mixed-items": "Mixed items: {n} of {n_items:item} have levels of the {model!s}. The others "
    "have two levels, as in the 2PL: {kinds!s}",
    "levels-not-reached": "Levels not reached: nobody reached some levels of {n} of {n_items:item} "
    "({items!s}). The {model!s} leaves them out",
    "disconnected-groups": "Disconnected groups: systems and items form {n:group} without a common "
    "response, of {sizes!s} (systems × items). Abilities and difficulties in different groups (see "
    "the column component) are not comparable",
    "hardly-linked-groups": "Hardly linked groups: too few responses link {n:group} of {sizes!s} "
    "(systems × items, see the column component). The gaps between them are shrunk, because the "
    "fit assumes one normal population",
    "gap-shrunk": "Gap shrunk: groups that answered different items, with {one} and {other}, "
    "differ by {gap:.2f} SD, and by about {unshrunk:.2f} without shrinkage. Standard errors do not "
    "show this. More common items help. Ignore if earlier answers chose the items",
    "gap-hidden": "Gap hidden: systems such as {one} and {other} answered few common items. "
    "Abilities would show only {shown:.0%} of a gap between them. Standard errors do not show "
    "this. More common items help",
    "few-systems": "Few systems: {n:system} answered, and estimates of items need at least "
    "{least}. An average error of 0.5 has a sampling error of ±{error:.2f}[[, and {model!s} "
    "discriminations are almost unknown]]",
    "no-differences": "No ability differences: system accuracies vary no more than expected by "
    "chance. The ranking is not meaningful. More items may show differences",
    "correlated-trials": "Correlated trials: repeated trials of a system on an item correlate by "
    "{correlation:.2f} beyond what the {model!s} explains. {trials:.3g} trials (the median) carry "
    "the information of {effective:.1f}. Standard errors allow for this. Errors of items remain "
    "too small if the model misfits",
    "near-duplicates": "Near-duplicates: {n:system} answer like about {n_eff} independent ones. "
    "Verdicts on items, AIC and BIC give their responses {share:.2f} times the weight. Standard "
    "errors of items allow for it",
    "design-effect": "Near-duplicates: {n:system} answer like about {n_eff} independent ones. "
    "Statistics are divided by their design effect, {effect:.3g}",
    "further-ability": "Not unidimensional: the largest residual eigenvalue is {z:.1f} SD above "
    "its mean for one ability (reference: {bound:.1f}). Items measure a further ability[[, or "
    "some of {n_systems:system} are near-duplicates]]. Verdicts on wrong keys are unreliable",
    "ability-not-accuracy": "Ability is not accuracy: over {n:system} their rank correlation is "
    "{rho:.2f}. The ability that explains most responses is not the one that accuracy shows. "
    "Discriminations and verdicts on items are about the former",
    "one-ability": "One ability: [[with {n_systems:system} a further ability is not "
    "distinguishable from chance]][[a further ability does not predict held-out answers better "
    "(log loss {loss:.4f})]][[, although residuals show one ({z:.1f} SD). Keep one ability for "
    "scores, and do not rely on verdicts on wrong keys]]",
    "abilities-chosen": "Several abilities: {chosen!s} predict held-out answers best (log loss "
    "{best:.4f}, one ability {one:.4f})",
    "abilities-alike": "Similar abilities: {pairs!s} correlate by {least:.2f} or more",
    "item-groups": "Item groups: the residual eigenvalues vary {z:.1f} SD more than one ability "
    "explains (reference: {bound:.1f}). Items form groups, such as questions on one passage[[, or "
    "some of {n_systems:system} are near-duplicates]]. Intervals of abilities are too narrow",
}

LEGENDS = {
    "average_error": "average_error: proportion wrong on an item, 1 - its mean score",
    "expected_error": "expected_error: average_error that the model predicts for all systems",
    "difficulty": "difficulty: ability at which the curve of an item is steepest",
    "quality_standard": "quality_standard: Kolena's score by further metrics",
    "correlations": "spearman (95% interval) and kendall: rank correlations over the items",
    "held_out": "1PL: average error as a predictor. log likelihood: mean per response. gain: "
    "difference from the 1PL (simultaneous 95% intervals)",
    "passes": "passes: systems with more right answers and significantly lower ability. passed by: "
    "the reverse",
    "health": "ceiling, floor: at least {all:.0%} of the systems are right, or wrong; separating: "
    "P(right) of the best systems ({best}) is between {low:.0%} and {high:.0%}, without guessing; "
    "near duplicates: items answered like an earlier one; best score: mean score of these "
    "systems; headroom: 1 minus this score",
    "misfit": "*: the system is right on more items that are improbable at its ability than chance "
    "allows (p < 0.05 over all systems). Its answers may have leaked or follow wrong keys",
    "p_negative": "p negative: probability that the slope is below 0, from the responses to the "
    "item and the distribution of slopes over all items",
    "p_negative_given_all": "p negative: probability that the item falls with the abilities that "
    "it measures, given all of them. slope: along what the item measures. ability: most of it",
    "called": "called: with error control. right: of the quarter of systems with the highest and "
    "the lowest {by}",
    "p_wrong_key": "P wrong key: that the item behaves so, if {prior:.1%} of keys are wrong "
    "(estimated, at least 0.1%). Ambiguous items can, too",
}
"""What columns of tables are."""
