"""The ascent from a sample: where it is taken, and that it changes no maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from irtkit.calibration.em import Climber
from irtkit.calibration.layout import Layout

from irtkit import ItemParameters, ResponseMatrix, fit, simulate_responses
from irtkit.calibration import em
from irtkit.calibration.starting import starting_values
from irtkit.patterns import patterns_of

if TYPE_CHECKING:
    from irtkit import FitResult
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns

N_ITEMS = 8


def answers(n: int = 3000, *, by_ability: bool = False, hardest: float = 1.5) -> ResponseMatrix:
    generator = np.random.default_rng(6)
    slope = generator.lognormal(0, 0.3, N_ITEMS)
    slope[0] *= -1
    items = ItemParameters.from_difficulty(slope, np.linspace(-1.5, hardest, N_ITEMS))
    abilities = generator.normal(size=n)
    return simulate_responses(items, np.sort(abilities) if by_ability else abilities, seed=3)


def climber(rows: Patterns, model: ModelName = "2PL") -> Climber:
    layout = Layout(model, N_ITEMS, None)
    nothing = {"grid": None, "tol": 1e-7, "max_iterations": 100}
    return Climber(layout, rows, report=lambda _step, _value: None, **nothing)


@pytest.mark.parametrize("model", ["1PL", "Rasch", "2PL"])
@pytest.mark.parametrize("prior", [None, "weak"])
@pytest.mark.parametrize("quadrature", ["adaptive", (61, 6.0)])
def test_a_sample_to_start_from_changes_no_maximum(
    model: ModelName, prior: str | None, quadrature: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses = answers(by_ability=True)

    def fitted() -> FitResult:
        return fit(
            responses, model, prior=prior, quadrature=quadrature, standard_errors=False, tol=1e-10
        )

    without = fitted()
    monkeypatch.setattr(em, "_SAMPLE", 500)
    found = fitted()
    assert found.converged
    assert found.n_iterations > found.trace["step"].size  # some saw the sample alone
    assert found.log_likelihood == pytest.approx(without.log_likelihood, abs=1e-6)
    for name in ("discrimination", "intercept"):
        one, other = (getattr(result.parameters, name) for result in (found, without))
        assert one == pytest.approx(other, abs=1e-5)


def test_a_start_from_a_sample_is_near_the_maximum_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = patterns_of(answers(), synthetic_is_real=False)
    x = climber(rows).maximise(starting_values(Layout("2PL", N_ITEMS, None), rows)).x
    monkeypatch.setattr(em, "_SAMPLE", 1000)
    # standard errors are about 0.06, and those of a third of the respondents 0.1
    assert climber(rows).start() == pytest.approx(x, abs=0.4)


@pytest.mark.parametrize("reason", ["few", "missing", "guessing", "nearly all alike"])
def test_no_sample_is_taken_where_it_is_dear_or_too_small(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(em, "_SAMPLE", 2000 if reason == "few" else 500)
    responses = answers(hardest=8.0 if reason == "nearly all alike" else 1.5)
    if reason == "missing":
        values = responses.values.copy()
        values[0, 0] = -1
        responses = ResponseMatrix(values)
    rows = patterns_of(responses, synthetic_is_real=False)
    with_model = climber(rows, "3PL" if reason == "guessing" else "2PL")
    expected = starting_values(with_model.layout, rows)
    assert np.array_equal(with_model.start(), expected)
    assert with_model.n_iterations == 0
