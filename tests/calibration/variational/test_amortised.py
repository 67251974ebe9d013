"""Abilities by an encoder, and steps that see some of the items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    Variational,
    WeakPrior,
    add_synthetic,
    fit,
    load,
    simulate_responses,
)
from irtkit.calibration.fitting import silently
from irtkit.calibration.maximise import GridSchedule, problem_of
from irtkit.calibration.variational import amortised as module
from irtkit.calibration.variational.amortised import Amortised, answers_of
from irtkit.calibration.variational.encoder import Encoder, EncoderBatch, bounds_of
from irtkit.patterns import patterns_of
from irtkit.quadrature import fixed_nodes

if TYPE_CHECKING:
    from pathlib import Path

N, N_ITEMS = 800, 20
NODES = fixed_nodes(41, 6.0)


def drawn(missing: float = 0.0, n: int = N) -> ResponseMatrix:
    generator = np.random.default_rng(1)
    slopes, difficulties = generator.lognormal(0, 0.3, N_ITEMS), generator.normal(size=N_ITEMS)
    items = ItemParameters.from_difficulty(slopes, difficulties)
    return simulate_responses(items, generator.normal(size=n), missing=missing, seed=2)


@pytest.fixture(scope="module")
def responses() -> ResponseMatrix:
    return drawn()


@pytest.fixture(scope="module")
def whole(responses: ResponseMatrix) -> FitResult:
    return fit(responses, method="vi")


@pytest.fixture(scope="module")
def coded(responses: ResponseMatrix) -> FitResult:
    return fit(responses, method=Variational(batch=200, amortised=True))


def off(result: FitResult, reference: FitResult, name: str) -> float:
    """Root mean square difference of a column in posterior SDs."""
    tables = [r.respondents if name == "ability" else r.items for r in (result, reference)]
    difference = (tables[0][name] - tables[1][name]) / tables[1][f"{name}_se"]
    return float(np.sqrt((difference**2).mean()))


def test_an_encoder_gives_the_abilities_of_the_integral(coded: FitResult, whole: FitResult) -> None:
    assert coded.converged
    assert off(coded, whole, "ability") < 0.1
    assert coded.ability_se == pytest.approx(whole.ability_se, rel=0.1)
    # a bound on a bound: below, by what a normal posterior loses on each of 800 respondents
    assert whole.elbo is not None
    assert whole.elbo - 0.1 * N < coded.elbo < whole.elbo + 3


@pytest.mark.parametrize("name", ["discrimination", "intercept"])
def test_items_are_those_of_the_integral(coded: FitResult, whole: FitResult, name: str) -> None:
    assert off(coded, whole, name) < 0.2
    ratio = coded.items[f"{name}_se"] / whole.items[f"{name}_se"]
    assert ratio.to_numpy() == pytest.approx(1, abs=0.25)


def test_steps_that_see_some_of_the_items_end_near(
    responses: ResponseMatrix, whole: FitResult
) -> None:
    result = fit(responses, method=Variational(batch=(200, 7), amortised=True))
    assert off(result, whole, "intercept") < 0.3
    assert off(result, whole, "ability") < 0.2


def amortised(responses: ResponseMatrix, n_items: int | None) -> Amortised:
    rows = patterns_of(responses, synthetic_is_real=False)
    problem = problem_of(rows, "2PL", WeakPrior())
    return Amortised(problem, GridSchedule(), rows, 20, 3, n_items, Encoder.untrained(0))


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_round_of_batches_and_items_is_the_bound_of_all(missing: float, sparse: bool) -> None:
    responses = drawn(missing, n=60)
    responses = responses.to_sparse() if sparse else responses
    parameters = np.random.default_rng(5).normal(0.5, 0.5, (N_ITEMS, 2))
    values = []
    for n_items, n_steps in ((None, 3), (10, 6)):  # 60 in batches of 20, 20 items 10 at a time
        given, found = amortised(responses, n_items), []
        for step in range(n_steps):
            given.encoder = Encoder.untrained(0)  # it learns at every step
            found.append(given.likelihood(step, NODES).evaluate(parameters)[0])
        values.append(np.mean(found))
    # an odd number of answers has one twice, so that sparse rows are unbiased but not exact
    assert values[1] == pytest.approx(values[0], rel=0.02 if sparse and missing else 1e-5)


def test_the_parts_of_a_round_hold_every_answer_once() -> None:
    rows = patterns_of(drawn(0.3, n=9), synthetic_is_real=False)
    order, starts = np.random.default_rng(6).permutation(N_ITEMS), np.arange(9)
    seen = np.zeros((9, N_ITEMS))
    for part in range(4):
        items, _, answered, weight = answers_of(rows, order, starts, part, 4)
        assert (weight == 4).all()
        np.add.at(seen, (np.arange(9)[:, None], items), answered)
    np.testing.assert_array_equal(seen, rows.cells >= 0)


def test_sparse_parts_weigh_up_to_all_answers() -> None:
    rows = patterns_of(drawn(0.6, n=9).to_sparse(), synthetic_is_real=False)
    for n_parts in (1, 3):
        total = np.zeros(9)
        for part in range(n_parts):
            _, _, answered, weight = answers_of(
                rows, np.arange(N_ITEMS), np.arange(9), part, n_parts
            )
            total += answered.sum(axis=1) * weight / n_parts
        np.testing.assert_allclose(total, rows.margins.respondent_responses, rtol=1e-6)


def test_sparse_parts_hold_answers_of_the_respondent_alone() -> None:
    values = drawn(0.6, n=9).values.copy()
    values[3], values[5], values[3, 7] = -1, -1, 1  # a single answer, and none
    rows = patterns_of(ResponseMatrix(values).to_sparse(), synthetic_is_real=False)
    for part in range(3):
        items, right, answered, _ = answers_of(rows, np.arange(N_ITEMS), np.arange(9), part, 3)
        respondents, places = np.nonzero(answered)
        np.testing.assert_array_equal(
            right[respondents, places], values[respondents, items[respondents, places]]
        )


def test_posteriors_are_made_of_as_many_respondents_at_a_time_as_fit_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, sizes = amortised(drawn(n=60), None), []
    parameters = np.random.default_rng(5).normal(0.5, 0.5, (N_ITEMS, 2))
    whole = given.posteriors(parameters, NODES)

    def counted(encoder: Encoder, parameters: Any, batch: EncoderBatch) -> Any:
        sizes.append(len(batch.features))
        return bounds_of(encoder, parameters, batch)

    monkeypatch.setattr(module, "bounds_of", counted)
    monkeypatch.setattr(module, "BLOCK", N_ITEMS)
    parts = given.posteriors(parameters, NODES)
    assert sizes == [8] * 8
    for one, other in zip(whole, parts, strict=True):
        assert other == pytest.approx(one, abs=1e-4)  # sums in 32 bits


def test_newcomers_are_encoded_like_those_who_were_there(
    coded: FitResult, responses: ResponseMatrix
) -> None:
    assert coded.posterior is not None
    some = ResponseMatrix(responses.values[:5], items=responses.items)
    found = coded.posterior.encode(some)
    # those of the fit also hold what is not known of the items
    assert found["ability"].to_numpy() == pytest.approx(coded.ability[:5], abs=0.05)
    assert found["ability_se"].to_numpy() == pytest.approx(coded.ability_se[:5], rel=0.05)
    turned = ResponseMatrix(responses.values[:5, ::-1], items=responses.items[::-1])
    np.testing.assert_allclose(coded.posterior.encode(turned), found, rtol=1e-4, atol=1e-5)
    few = ResponseMatrix(responses.values[:5, :4], items=responses.items[:4])
    assert (coded.posterior.encode(few)["ability_se"] > found["ability_se"].to_numpy()).all()


def test_nobodys_answers_and_unanswered_items_leave_encoding_and_draws_as_they_are() -> None:
    values = np.random.default_rng(0).integers(0, 2, (60, 6))
    whole = np.full((65, 8), -1)
    whole[:60, :6] = values
    with silently():
        one, other = (fit(each, method=Variational(amortised=True)) for each in (values, whole))
    answers = ResponseMatrix(np.where(whole < 0, 1, whole))
    assert one.posterior is not None
    assert other.posterior is not None
    encoded = one.posterior.encode(ResponseMatrix(values)), other.posterior.encode(answers)
    np.testing.assert_array_equal(*(table.to_numpy()[:60] for table in encoded))
    drawn = other.posterior.draws(2000, scale="sample")
    assert np.isnan(drawn["discrimination"][:, 6:]).all()
    assert drawn["ability"].mean(axis=0) == pytest.approx(other.ability, abs=0.1)
    assert drawn["ability"].std(axis=0) == pytest.approx(other.ability_se, rel=0.1)


def test_what_cannot_be_encoded_is_refused_by_name(
    coded: FitResult, whole: FitResult, responses: ResponseMatrix
) -> None:
    assert coded.posterior is not None
    assert whole.posterior is not None
    with pytest.raises(ValueError, match="has no 'other'"):
        coded.posterior.encode(ResponseMatrix([[1, 0]], items=["item-1", "other"]))
    with pytest.raises(ValueError, match="encode needs a fit with amortised=True"):
        whole.posterior.encode(responses)


def test_a_stored_result_encodes_alike(
    coded: FitResult, responses: ResponseMatrix, tmp_path: Path
) -> None:
    coded.save(tmp_path / "fit")
    again = load(tmp_path / "fit").posterior
    assert coded.posterior is not None
    assert again is not None
    assert again.encode(responses).equals(coded.posterior.encode(responses))


@pytest.mark.filterwarnings("ignore:the evidence lower bound has not settled")
def test_an_interrupted_amortised_run_goes_on_to_the_same_numbers(
    responses: ResponseMatrix, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"batch": (200, 10), "amortised": True}
    straight = fit(responses, method=Variational(**given), max_iterations=12)
    method = Variational(**given, checkpoint=tmp_path / "c.npz", every=1)
    for most in (5, 12):
        result = fit(responses, method=method, max_iterations=most)
    assert result.items.equals(straight.items)
    assert result.respondents.equals(straight.respondents)


@pytest.mark.parametrize("kind", ["synthetic", "3PL"])
def test_synthetic_rows_and_guessing_go_through(kind: str) -> None:
    responses = add_synthetic(drawn(n=300)) if kind == "synthetic" else drawn(n=300)
    model = "3PL" if kind == "3PL" else "2PL"
    reference = fit(responses, model, method="vi")
    result = fit(responses, model, method=Variational(batch=100, amortised=True))
    real = ~result.synthetic
    assert result.ability[real] == pytest.approx(reference.ability[real], abs=0.15)
    assert (result.items[["discrimination_se", "intercept_se"]] > 0).all(axis=None)
