"""Early stopping of Inspect: ask only the samples that a test of a calibrated benchmark needs.

It needs Inspect (``pip install 'irtkit[inspect]'``), which is loaded when first used. Inspect
awaits :meth:`Adaptive.schedule_sample` before each sample, while the sample holds one of the places
of ``max_samples``. There the samples wait until the test asks or skips them.
https://inspect.aisi.org.uk/early-stopping.html
"""

from __future__ import annotations

import math
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import irtkit.results  # noqa: F401  # gives results their methods
from irtkit.checks import check_whole, counted, first_names, short
from irtkit.io.inspect_logs import MANAGER, SMALL_ERROR, marks_of
from irtkit.io.samples import CHOSEN
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import listed
from irtkit.responses.labels import in_task
from irtkit.scoring.scores import score
from irtkit.selection.adaptive import AdaptiveTest, adaptive
from irtkit.selection.subset import Selection, select_items

if TYPE_CHECKING:
    import pandas as pd

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
        Most samples of a task to ask. With a Selection it is the number of its items.
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
        samples is in the test, its task has fewer than k items fit to be chosen, or several scorers
        and the fit was not read with one of them.

    Warns
    -----
    irtkit.IRTWarning
        As :func:`irtkit.adaptive`. With the code "fixed-order" the first k of the ranking are asked
        without steps.

    Notes
    -----
    The log of a run has an ``EarlyStoppingSummary`` with the metadata

    - expected_score, low, high, error: as :func:`irtkit.score` computes them from the log.
    - of: the items that the score is of, those of the task.
    - asked: labels of the items that were asked and did not fail. k: the most.
    - ended: "all asked", "small error", or "none left": fewer were asked since others failed or
      are not in the run.
    - pool, waited: samples that can be asked, and how many of them waited at most.

    Set ``max_samples`` to 2k, so that all samples of the pool can wait. With fewer places the test
    chooses among those that wait, and errs more. The score does not depend on the order of answers
    within a step.

    A score between 0 and 1 counts as so much of a right answer, unless the fit was read with a
    threshold. A run that failed or was cancelled can be scored too: its log tells that items were
    chosen.

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
        self._selection = fit if isinstance(fit, Selection) else select_items(fit, k)
        self._result = self._selection.result
        self._error = error
        self._at_once = at_once
        self._stop = EarlyStop
        self._begun: dict[str, tuple[Selection, str]] = {}  # Selections and orders by task.
        self._run: ContextVar[_Run] = ContextVar("run")  # A run has a context of its own.

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:  # noqa: ARG002
        """Begin a test of the samples of a run."""
        name = task.task
        self._check_scorers(task)
        if name not in self._begun:
            selection = self._selected(name)
            self._begun[name] = selection, adaptive(selection, error=self._error).order
        selection, order = self._begun[name]
        test = adaptive(selection, error=self._error, order=order)
        pool, at_once = test.labels, self._at_once
        if order == "fixed":
            pool = list(selection.items)
            at_once = len(pool)
        labels = {}
        for sample in samples:
            for label in (in_task(name, str(sample.id)), str(sample.id)):
                if label in pool:
                    labels[sample.id] = label
        if not labels:
            raise ValueError(
                f"no sample of {name} is in the test. Samples: "
                f"{first_names([sample.id for sample in samples])}. Items of the test: "
                f"{first_names(test.labels)}"
            )
        task.metadata = (task.metadata or {}) | {MANAGER: {"misfit": test.misfits.tolist()}}
        n_items = len(selection.covariance.places)
        self._run.set(_Run(name, test, n_items, labels, at_once, task.config.max_samples))
        return MANAGER

    def _selected(self, task: str) -> Selection:
        """Items of a task to choose from, all if labels are without their task."""
        labels = self._result.item_labels
        others = [label for label in labels if not label.startswith(f"{task}/")]
        all_alike = len(others) in {0, len(labels)}
        return self._selection if all_alike else self._selection.without(others)

    def _check_scorers(self, task: Any) -> None:
        """Refuse a task whose scores are not those that the fit was read with."""
        names = tuple(scorer.name.rpartition("/")[2] for scorer in task.scorers or ())
        source = self._result.saved_responses.source
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

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:  # noqa: A002
        """Return None when the test asks a sample, or that it is skipped."""
        run = self._run.get()
        label = run.labels.get(id)
        if label is not None and epoch == 1 and await run.is_asked(label):
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
        run = self._run.get()
        test = run.test
        if not test.asked:  # Inspect keeps nothing of such a run
            return {}
        scored = self._scored(run).iloc[0]
        most = len(test.misfits) - 1
        ended = "all asked" if len(test.asked) == most else "none left"
        return {
            "expected_score": float(scored["expected_score"]),
            "error": test.error,
            "low": float(scored["expected_score_low"]),
            "high": float(scored["expected_score_high"]),
            "of": f"{counted(run.n_items, 'item')} of {run.task}",
            "asked": test.asked,
            "k": most,
            "ended": SMALL_ERROR if test.done and ended == "none left" else ended,
            "pool": len(run.labels),
            "waited": run.waited,
        }

    def _scored(self, run: _Run) -> pd.DataFrame:
        """Score of the answers, as of those in the log."""
        import pandas as pd

        test = run.test
        chosen = pd.DataFrame({CHOSEN + run.task: [test.misfit]}, ["system"])
        labels = [in_task(run.task, label) for label in test.asked]
        answers = ResponseMatrix([test.answers], ["system"], labels)
        return score(answers.with_tables(respondent_table=chosen), self._result)

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
        answer = marks[metrics[0]] if metrics else None
        if answer is None or math.isnan(answer):
            return math.nan
        words: Any = {name: settings[name] for name in _WORDS if name in settings}
        return float(ResponseMatrix([[answer]], items=[label], **words).scores[0, 0])


class _Run:
    """The test of one run, and its samples by their labels."""

    def __init__(
        self,
        task: str,
        test: AdaptiveTest,
        n_items: int,
        labels: dict[Any, str],
        at_once: int,
        places: int | None,
    ) -> None:
        import anyio

        self.task = task
        self.test = test
        self.n_items = n_items  # That the score is of.
        self.labels = labels
        self.waited = 0  # Most samples that waited at the same time.
        self._at_once = at_once
        self._places = math.inf if places is None else places
        self._left = {*labels.values()}  # Neither asked nor skipped.
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
        """Take the answer to an item that was asked, NaN if there is none."""
        if self._asked.pop(label, None) is not None:
            if not math.isnan(answer):
                self.test.answer(answer, label)
            self._tell()

    def _step(self) -> None:
        """Ask the next items, once the last ones have ended and all the others wait."""
        for label in [label for label, sample in self._asked.items() if _has_ended(sample)]:
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


def _has_ended(sample: Any) -> bool:
    """Whether a sample ended without an answer: it failed, or an operator cancelled it."""
    return sample.completed is not None and time.time() - sample.completed > _QUIET
