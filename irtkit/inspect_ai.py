"""Early stopping of Inspect: ask only the samples that a test of a calibrated benchmark needs.

It needs Inspect (``pip install 'irtkit[inspect]'``), which is loaded when first used. Inspect
awaits :meth:`Adaptive.schedule_sample` before each sample, while the sample holds one of the places
of ``max_samples``. There the samples wait until the test asks or skips them.
https://inspect.aisi.org.uk/early-stopping.html
"""

from __future__ import annotations

import math
import time
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import irtkit.results  # noqa: F401  # gives results their methods
from irtkit.checks import check_whole, counted, first_names, short
from irtkit.findings import IRTWarning
from irtkit.io.inspect_logs import MANAGER, SMALL_ERROR, marks_of
from irtkit.io.samples import CHOSEN
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import listed
from irtkit.responses.labels import in_task, tasks_and_ids
from irtkit.scoring.scores import score
from irtkit.selection.adaptive import AdaptiveTest, adaptive, check_error
from irtkit.selection.subset import Selection, select_items

if TYPE_CHECKING:
    from collections.abc import Iterator


_WORDS = ("threshold", "right", "wrong", "missing", "score_range")  # How marks were read.
_QUIET = 1.0  # Seconds without news after which no sample is on its way.


class Adaptive:
    """Manager for ``Task(early_stopping=…)``: ask the k samples that tell most about the score.

    Each run of a task is a test by :func:`irtkit.adaptive` of the items of this task. Its samples
    wait until the test asks them, ``at_once`` in each step. The others are skipped, and so are
    epochs after the first.

    Parameters
    ----------
    fit : FitResult, Selection, path or responses
        What :func:`irtkit.fit` or :func:`irtkit.select_items` returned for earlier systems, a saved
        fit, or responses to fit. Labels of items are ``task/id`` as in logs, or ids of samples.
    k : int, default 50
        Most samples of a task to ask. With a Selection it is the number of its items. A run of
        fewer samples asks all of them that can be chosen.
    error : float, optional
        Standard error of the score at which to stop early, such as 0.03, from five samples on.
    at_once : int, default 5
        Samples in a step. The next step begins when all of them have ended.

    Raises
    ------
    ImportError
        If Inspect is not installed.
    TypeError, ValueError
        As :func:`irtkit.adaptive`. A run raises ValueError before it asks anything if none of its
        samples can be asked, its task has fewer than k items fit to be chosen, or several scorers
        and the fit was not read with one of them.

    Notes
    -----
    The log of a run has an ``EarlyStoppingSummary`` with the metadata

    - expected_score, low, high, error: as :func:`irtkit.score` computes them from the log.
    - of: the items that the score is of, those of the task.
    - status: as :func:`irtkit.score` says. note: warnings about the score and the run.
    - order: "adaptive", or "fixed" where the first k of the ranking err less, or nothing is left to
      choose. They are asked at once, unless an ``error`` may end the test.
    - asked: labels of the items that have an answer. k: the most.
    - ended: "all asked", "small error", or "none left": fewer were asked since others failed.
    - pool, waited: samples that can be asked, and how many of them waited at most.

    Set ``max_samples`` to 2k, so that all samples of the pool can wait. With fewer places the test
    chooses among those that wait, and errs more. The score does not depend on the order of answers
    within a step.

    A score between 0 and 1 is so much of a right answer, unless the fit was read with a
    threshold. A run that failed or was cancelled can be scored too: its log says that items were
    chosen. ``inspect eval-retry`` counts the answers of the earlier attempt.

    Examples
    --------
    >>> manager = irtkit.inspect_ai.Adaptive("tables", k=50)  # doctest: +SKIP
    >>> Task(dataset, early_stopping=manager)  # doctest: +SKIP
    """

    def __init__(
        self,
        fit: Any,
        k: int = 50,
        error: float | None = None,
        at_once: int = 5,
    ) -> None:
        try:
            from inspect_ai.util import EarlyStop
        except ImportError as missing:
            install = "pip install 'irtkit[inspect]'"
            raise ImportError(f"irtkit.inspect_ai needs Inspect: {install}") from missing
        check_whole("at_once", at_once, 1)
        check_error(error)
        self._selection = fit if isinstance(fit, Selection) else select_items(fit, k)
        self._result = self._selection.result
        self._error = error
        self._at_once = at_once
        self._stop = EarlyStop
        self._begun: dict[tuple[str, frozenset[str]], tuple[Selection, str, list[str]]] = {}
        self._run: ContextVar[_Run] = ContextVar("run")  # A run has a context of its own.

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:  # noqa: ARG002
        """Begin a test of the samples of a run."""
        notes = self._check_scorers(task)
        labels = {}
        for sample in samples:
            for label in (in_task(task.task, str(sample.id)), str(sample.id)):
                if label in self._result.places:
                    labels[sample.id] = label
        key = task.task, frozenset(labels.values())
        if key not in self._begun:
            self._begun[key] = self._begin(*key, [sample.id for sample in samples])
        selection, order, notes_of_order = self._begun[key]
        test = adaptive(selection, error=self._error, order=order)
        task.metadata = (task.metadata or {}) | {MANAGER: {"misfit": test.misfits.tolist()}}
        at_once = self._at_once
        if order == "fixed" and self._error is None:
            at_once = len(selection.items)
        self._run.set(_Run(task, selection, test, labels, at_once, notes + notes_of_order))
        return MANAGER

    def _begin(
        self, task: str, present: frozenset[str], samples: list[Any]
    ) -> tuple[Selection, str, list[str]]:
        """Items of a task to choose from, in which order, and what is to say of it."""
        items = self._result.item_labels
        others = [label for label in items if not label.startswith(f"{task}/")]
        table = self._result.saved_responses.item_table
        tasks = [*dict.fromkeys(name for name, _ in tasks_and_ids(items, table) if name)]
        of_task = f"The fit has {counted(len(items) - len(others), 'item')} of task {short(task)}"
        if tasks:
            of_task += f"; its tasks are {first_names(tasks)}"
        selection = self._selection
        if 0 < len(others) < len(items):  # labels are with their tasks
            try:
                selection = selection.without(others)
            except ValueError as error:
                raise ValueError(f"{error}. {of_task}") from error
        selection = selection.among(present)
        if not selection.items:
            raise ValueError(
                f"no sample of task {short(task)} can be asked: none is an item of the fit that "
                f"tells about the score. Samples: {first_names(samples)}. Items: "
                f"{first_names(items)}. {of_task}"
            )
        if len(selection.pool) == len(selection.items):
            return selection, "fixed", []
        with _noting() as notes:
            order = adaptive(selection, error=self._error).order
        return selection, order, notes

    def _check_scorers(self, task: Any) -> list[str]:
        """Refuse scores that are not those the fit was read with, and note what may not be."""
        names = tuple(scorer.name.rpartition("/")[2] for scorer in task.scorers or ())
        responses = self._result.saved_responses
        source = responses.source
        metrics = []
        if source is not None and source.format == "inspect":
            metrics = listed(source.settings.get("metric"))
        in_doubt = len(names) > 1 if not metrics else len(names) > 0
        if in_doubt and not any(metric.startswith(names) for metric in metrics):
            read = f"was read with metric {first_names(metrics)}" if metrics else "does not say"
            raise ValueError(
                f"the scorers of {task.task} are {first_names(names)}, and the fit {read}. Fit the "
                f"logs with metric={names[0]!r} (--metric {names[0]}) or another of them"
            )
        if responses.metrics is None or not names:
            return []
        of_logs = [*responses.metrics["metric"].unique()]
        if any(metric.startswith(names) for metric in of_logs):
            return []
        return [f"the scorer is {names[0]}, and the fit has no such metric: {first_names(of_logs)}"]

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:  # noqa: A002
        """Return None when the test asks a sample, or that it is skipped."""
        run = self._run.get()
        label = run.labels.get(id, "")
        if epoch == 1 and label in run.pool and await run.is_asked(label):
            return None
        return self._stop(id=id, epoch=epoch, reason="the test does not ask this sample")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:  # noqa: A002
        """Take the answer of a sample."""
        run = self._run.get()
        label = run.labels.get(id)
        if label is not None and epoch == 1:
            run.take(label, self._answer(label, scores))

    async def complete_task(self) -> dict[str, Any]:
        """Return the score and what it is made of, for the log."""
        import pandas as pd

        run = self._run.get()
        answers = run.answers
        if not answers:  # Inspect keeps nothing of such a run
            return {}
        test = run.test
        misfits = test.misfits
        misfit = misfits[min(len(answers), len(misfits) - 1)]
        chosen = pd.DataFrame({CHOSEN + run.task: [misfit]}, [run.model])
        labels = [in_task(run.task, label) for label in answers]
        log = ResponseMatrix([[*answers.values()]], [run.model], labels)
        with _noting() as notes:
            scored = score(log.with_tables(respondent_table=chosen), self._result).iloc[0]
        most = len(test.misfits) - 1
        ended = "all asked" if len(answers) >= most else "none left"
        return {
            "expected_score": float(scored["expected_score"]),
            "error": test.error,
            "low": float(scored["expected_score_low"]),
            "high": float(scored["expected_score_high"]),
            "status": scored.get("status", "ok"),
            "note": "\n".join(run.notes + notes),
            "of": f"{counted(run.n_items, 'item')} of {run.task}",
            "order": test.order,
            "asked": [*answers],
            "k": most,
            "ended": SMALL_ERROR if test.done and ended == "none left" else ended,
            "pool": len(run.pool),
            "waited": run.waited,
        }

    def _answer(self, label: str, scores: dict[str, Any]) -> float:
        """Answer that the scores of a sample stand for, as the fit was read, NaN if missing."""
        source = self._result.saved_responses.source
        settings = {} if source is None else source.settings
        marks = marks_of({name: {"value": given.score.value} for name, given in scores.items()})
        named = [name for name in listed(settings.get("metric")) if name in marks]
        metrics = named[:1] or [*marks]
        if len(metrics) > 1:
            raise ValueError(
                f"item {short(label)} has several scores: {first_names(metrics)}. Fit the logs "
                f"with metric={metrics[0]!r} (--metric {metrics[0]}) or another of them"
            )
        answer: Any = marks[metrics[0]] if metrics else math.nan
        if math.isnan(answer):
            return math.nan
        words: Any = {name: settings[name] for name in _WORDS if name in settings}
        return float(ResponseMatrix([[answer]], items=[label], **words).scores[0, 0])


class _Run:
    """The test of one run, and its samples by their labels."""

    def __init__(
        self,
        task: Any,
        selection: Selection,
        test: AdaptiveTest,
        labels: dict[Any, str],
        at_once: int,
        notes: list[str],
    ) -> None:
        import anyio

        self.task = task.task
        self.model = task.model
        self.test = test
        self.n_items = len(selection.covariance.places)  # That the score is of.
        self.labels = labels
        self.notes = notes
        self.pool = test.labels if test.order == "adaptive" else [*selection.items]
        self.answers: dict[str, float] = {}
        self.waited = 0  # Most samples that waited at the same time.
        self._at_once = at_once
        places = task.config.max_samples
        self._places = math.inf if places is None else places
        self._left = {*self.pool}  # Neither asked nor skipped.
        self._waiting: dict[str, Any] = {}
        self._asked: dict[str, Any] = {}
        self._news = anyio.Event()

    async def is_asked(self, label: str) -> bool:
        """Wait until the test asks a sample (True) or is done."""
        import anyio
        from inspect_ai.log._samples import sample_active

        if label in self._asked:  # an attempt that failed is repeated
            self._asked[label] = sample_active()
            return True
        self._left.add(label)
        self._waiting[label] = sample_active()
        self._tell()
        try:
            self._step()
            while label not in self._asked and not self.test.done:
                news = self._news
                with anyio.move_on_after(_QUIET) as patience:
                    await news.wait()
                if patience.cancelled_caught and not self._asked:
                    self._places = len(self._waiting)
                self._step()
            return label in self._asked
        finally:
            self._waiting.pop(label, None)
            self._left.discard(label)

    def take(self, label: str, answer: float) -> None:
        """Take the answer to an item, also of an earlier attempt at the run, NaN if it has none."""
        self._asked.pop(label, None)
        self._left.discard(label)
        if not math.isnan(answer):
            self.answers[label] = answer
            if label in self.test.left:
                self.test.answer(answer, label)
        self._tell()

    def _step(self) -> None:
        """Ask the next items, once the last ones have ended and all the others wait."""
        for label, sample in [*self._asked.items()]:
            # it ended without an answer: it failed, or an operator cancelled it
            if sample.completed is not None and time.time() - sample.completed > _QUIET:
                del self._asked[label]
        self.waited = max(self.waited, len(self._waiting))
        if not self._asked and len(self._waiting) >= min(self._places, len(self._left)):
            for label in self.test.next_items(self._at_once, self._waiting):
                self._asked[label] = self._waiting.pop(label)
                self._left.discard(label)
            self._tell()

    def _tell(self) -> None:
        """Let all samples that wait look again."""
        import anyio

        self._news.set()
        self._news = anyio.Event()


@contextmanager
def _noting() -> Iterator[list[str]]:
    """Collect the texts of warnings, which Inspect would show with a place in its source."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += [str(warned.message) for warned in caught if warned.category is IRTWarning]
