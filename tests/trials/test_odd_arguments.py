"""Arguments that nobody means: each is refused by name, in a few words, before any work begins."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, io, prediction
from irtkit.annotation import impact_summary
from irtkit.calibration.fitting import silently
from irtkit.checks import MOST_TIMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = "x" * 100_000
FRAME = pd.DataFrame([[1, 0], [0, 1]], index=["a", "b"], columns=["q1", "q2"])
ITEMS = ItemParameters.from_difficulty(np.ones(12), np.linspace(-2, 2, 12))
RESPONSES = irtkit.simulate_responses(ITEMS, np.linspace(-2, 2, 30))
HALVES = ["a"] * 15 + ["b"] * 15
RUNS = pd.DataFrame({"system": list("aabb"), "score": [1, 0, 1, 1], "size": [1.0, 2, 1, 2]})
FEATURES = pd.DataFrame({"length": np.arange(12.0)}, index=RESPONSES.items)
TARGETS = pd.Series(np.sin(np.arange(12)), index=RESPONSES.items)


@cache
def fitted() -> irtkit.FitResult:
    with silently():
        return irtkit.fit(RESPONSES, standard_errors=False)


@cache
def chosen() -> irtkit.Selection:
    with silently():
        return irtkit.select_items(fitted(), 3)


def of_result(function: Callable[..., Any], argument: str, **further: Any) -> Callable[..., Any]:
    """A function of a result, and of what is given as one of its arguments."""
    return lambda given: function(fitted(), **{argument: given}, **further)


def of_responses(function: Callable[..., Any], argument: str, **further: Any) -> Callable[..., Any]:
    return lambda given: function(RESPONSES, **{argument: given}, **further)


functioning = partial(of_responses, irtkit.differential_functioning)

TEXTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a system": ("respondent|system", lambda given: irtkit.compare_systems(fitted(), given, "a")),
    "families": ("groups", of_result(irtkit.audit, "groups")),
    "clusters": ("clusters", of_result(irtkit.compare_systems, "clusters")),
    "groups": ("groups", functioning("groups")),
    "reference": ("reference", functioning("reference", groups=HALVES)),
    "focal": ("focal", functioning("focal", groups=HALVES)),
    "anchors": ("anchors", functioning("anchors", groups=HALVES)),
    "cut": ("cut", functioning("cut", groups=HALVES)),
    "a curve": ("systems", lambda given: irtkit.characteristic_curves(fitted(), systems=[given])),
    "covariate": ("covariate", lambda given: irtkit.learning_surface(RUNS, covariate=given)),
    "by columns": ("by", lambda given: irtkit.learning_surface(RUNS, by=[given])),
    "metrics": ("metrics", of_result(irtkit.compare_difficulties, "metrics")),
    "batch": ("batch", lambda given: irtkit.Variational(batch=given)),
    "answer": ("answer", lambda given: irtkit.adaptive(chosen(), order="fixed").answer(given)),
    "cohorts": ("cohorts", of_result(irtkit.information, "cohorts")),
    "seeds": ("seed", of_responses(irtkit.shuffle_control, "seeds")),
    "format": ("format", lambda given: irtkit.read_responses(FRAME, format=given)),
    "scoring": ("method", of_responses(irtkit.score, "method", items=ITEMS)),
    "fitting": ("method", of_responses(irtkit.fit, "method")),
    "synthetic": ("synthetic", of_responses(irtkit.fit, "synthetic")),
    "counted": ("synthetic", of_responses(irtkit.average_error, "synthetic")),
    "design": ("design", of_result(irtkit.select_items, "design", k=3)),
    "order": ("order", lambda given: irtkit.adaptive(chosen(), order=given)),
    "ratings": ("missing", lambda given: irtkit.fleiss_kappa(FRAME, missing=given)),
    "ranges": ("by", of_result(irtkit.characteristic_curves, "by")),
    "abilities": ("abilities", lambda given: fitted().probability(given)),
    "slopes": ("discrimination", lambda given: ItemParameters(given, [0], [0])),
    "kinds": ("kinds", lambda given: irtkit.add_synthetic(FRAME, given)),
    "saving": ("path", lambda given: fitted().save(given)),
    "loading": ("path", irtkit.load),
    "a page": ("path", lambda given: irtkit.report(fitted(), given)),
    "a checkpoint": ("checkpoint", lambda given: irtkit.Variational(checkpoint=given)),
}
"""What each call names in its refusal, and the call."""


def refusal(call: Callable[[Any], Any], given: Any) -> str:
    """What a ValueError or TypeError says, in one line that is short enough to be read."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call(given)
    said = str(caught.value)
    assert len(said) < 400
    assert "\n" not in said
    return said


@pytest.mark.parametrize("given", [LONG, pd.NA, FRAME], ids=["long", "NA", "frame"])
@pytest.mark.parametrize("kind", TEXTS)
def test_what_no_argument_may_be_is_refused_by_its_name(kind: str, given: Any) -> None:
    named, call = TEXTS[kind]
    if given is LONG and kind in {"saving", "loading", "a page", "a checkpoint"}:
        return  # the system refuses it
    if given is FRAME and kind in {"metrics", "by columns", "abilities", "slopes"}:
        return  # a table may be one, or its columns
    assert re.search(named, refusal(call, given))


def masked(values: list[Any]) -> Any:
    return np.ma.array(values, mask=[True, *[False] * (len(values) - 1)])


def test_a_mask_is_not_lost() -> None:
    names = [str(k % 3) for k in range(30)]
    calls: dict[str, Callable[[], Any]] = {
        "abilities must not be masked": lambda: fitted().probability(masked([0.0, 3.0])),
        "abilities": lambda: irtkit.information(fitted(), masked([0.0, 3.0])),
        "abilities must": lambda: irtkit.simulate_responses(ITEMS, masked([0.0, 3.0])),
        "abilities must not": lambda: ITEMS.probability([np.ma.masked, 1.0]),
        "trials": lambda: irtkit.simulate_responses(ITEMS, [0.0], trials=masked([3] * 12)),
        "discrimination": lambda: ItemParameters(masked([1.0]), np.zeros(1), np.zeros(1)),
        "difficulty": lambda: ItemParameters.from_difficulty([1.0], masked([1.0])),
        "synthetic": lambda: ResponseMatrix([[1], [0]], synthetic=masked([True, False])),
        "groups has no family": lambda: irtkit.audit(fitted(), groups=masked(names)),
        "respondent 1 has no label": lambda: ResponseMatrix([[1]], masked(["a"])),
        "item 1 has no label": lambda: ResponseMatrix([[1, 0]], items=masked(["a", "b"])),
        "'item-1' has none": lambda: irtkit.add_synthetic(
            RESPONSES, "class-prior", labels=masked([*"abcabcabcabc"])
        ),
    }
    for said, call in calls.items():
        with pytest.raises(ValueError, match=said):
            call()
    gap = masked([1.0, *range(11)])
    with_gap = irtkit.characteristic_curves(fitted(), difficulties=gap, bins=1)
    assert with_gap.table["n_items"].eq(11).all()
    cohorts = irtkit.information(fitted(), cohorts=masked(names)).cohorts
    assert cohorts is not None
    assert cohorts["n_respondents"].sum() == 29


@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("discrimination", lambda: ItemParameters([None], [0], [0])),
        ("discrimination", lambda: ItemParameters([[1], [1, 2]], [0], [0])),
        ("guessing", lambda: ItemParameters([1], [0], [np.timedelta64(0, "s")])),
        ("items", lambda: irtkit.simulate_responses(None, [1.0])),
        ("items", lambda: irtkit.simulate_responses(fitted(), [1.0])),
        ("labels", lambda: irtkit.add_synthetic(RESPONSES, "coin", labels=["a"] * 12)),
        ("responses", lambda: irtkit.read_responses({"model": ["a", "b"], "x": {1, 0}})),
        (
            "negative_slopes",
            lambda: prediction.cross_validate_predictors(FEATURES, TARGETS, negative_slopes=[]),
        ),
        ("predicted has no", lambda: impact_summary(FRAME, FRAME, sample=LONG)),
    ],
)
def test_what_cannot_be_computed_with_is_refused(named: str, call: Callable[[], Any]) -> None:
    assert named in refusal(lambda _: call(), None)


@pytest.mark.parametrize("given", [None, [[1, 0]], FRAME["q1"]])
def test_only_a_table_is_written_as_one(given: Any, tmp_path: Path) -> None:
    for write in (io.write_table, io.write_responses):
        with pytest.raises(TypeError, match=r"must be a (DataFrame|ResponseMatrix), got"):
            write(given, tmp_path / "given.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [MOST_TIMES + 1, 2**70])
@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("draws", of_result(irtkit.compare_difficulties, "draws")),
        ("draws", of_responses(irtkit.add_synthetic, "draws")),
        ("bootstrap", of_result(irtkit.model_fit, "bootstrap")),
        ("bootstrap", of_result(irtkit.item_fit, "bootstrap")),
        (
            "repeats",
            lambda n: prediction.cross_validate_predictors(FEATURES, TARGETS, repeats=n),
        ),
        ("seeds", lambda n: irtkit.shuffle_control(RESPONSES, seeds=range(n))),
    ],
)
def test_nothing_is_repeated_beyond_what_tells_more(
    argument: str, call: Callable[[int], Any], given: int
) -> None:
    said = refusal(call, given)
    assert argument in said
    assert "100,000" in said


def test_draws_that_no_memory_holds_are_refused_with_what_needs_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("irtkit.checks.available_bytes", lambda: 1e7)
    with pytest.raises(MemoryError, match=r"0\.9 GB .*fewer draws need less"):
        irtkit.add_synthetic(ResponseMatrix(np.eye(1000)), "coin", draws=MOST_TIMES)


def test_a_drop_as_small_as_a_number_can_be_is_judged_without_a_warning() -> None:
    assert irtkit.gate(RESPONSES, RESPONSES, max_drop=1e-320).verdict == "inconclusive"
