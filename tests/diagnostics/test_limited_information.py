"""M2 against R's mirt, and against its definition with all matrices written out."""

import numpy as np
import pytest
from scipy.stats import chi2

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    fit,
    local_dependence,
    model_fit,
    simulate_responses,
)
from irtkit.diagnostics.limited_information import margins_of
from tests.crowds import drawn

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

BY_MIRT = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "wirs", "abortion")
    for model in ("Rasch", "1PL", "2PL")
    if (name, model) != ("abortion", "Rasch")
]


def written_out(margins):
    """M2 with Ξ, Δ and an orthogonal complement of Δ as matrices."""
    p, weights = margins.p, margins.weights
    n_items, one, other = len(p), *np.triu_indices(len(p), 1)
    alone = np.eye(n_items, dtype=bool)
    items = np.vstack([alone, alone[one] | alone[other]])  # of each moment

    def moments(items):
        return np.where(items[..., None], p, 1).prod(axis=-2) @ weights

    expected = moments(items)
    covariance = moments(items[:, None] | items) - np.multiply.outer(expected, expected)
    delta = []
    for k, kind in enumerate(margins.derivatives):
        rest = np.where((items[:, None] & ~alone)[..., None], p, 1).prod(axis=2)
        columns = items * ((rest * kind) @ weights)
        shared = margins.common_slope and k == 0
        delta.append(columns.sum(axis=1, keepdims=True) if shared else columns)
    tangent = np.hstack(delta)
    complement = np.linalg.svd(tangent)[0][:, tangent.shape[1] :]
    observed = np.concatenate([np.diag(margins.observed), margins.observed[one, other]])
    z = complement.T @ (observed - expected)
    return float(margins.n * z @ np.linalg.solve(complement.T @ covariance @ complement, z))


@pytest.mark.parametrize(("name", "model"), BY_MIRT)
def test_indices_agree_with_mirt(mirt_fit, name, model):
    result, mirt = mirt_fit(name, model)
    found, expected = model_fit(result), mirt["M2"]
    assert found.m2 == pytest.approx(expected["M2"], rel=1e-3)
    assert found.degrees_of_freedom == expected["df"]
    assert found.p_value == pytest.approx(expected["p"], abs=1e-3)
    for ours, theirs in (("srmsr", "SRMSR"), ("cfi", "CFI"), ("tli", "TLI"), ("rmsea", "RMSEA")):
        assert getattr(found, ours) == pytest.approx(expected[theirs], abs=1e-4)
    interval = (expected["RMSEA_5"], expected["RMSEA_95"])
    assert (found.rmsea_low, found.rmsea_high) == pytest.approx(interval, abs=5e-4)


@pytest.mark.parametrize("model", ["Rasch", "1PL", "3PL"])
def test_m2_is_its_definition(model):
    result = fit(drawn(400, 8, guessing=0.2 * (model == "3PL")), model, standard_errors=False)
    assert model_fit(result).m2 == pytest.approx(written_out(margins_of(result)), rel=1e-9)


def test_two_abilities_are_rejected():
    generator = np.random.default_rng(0)
    ability = generator.normal(size=(800, 2))
    logits = np.repeat(1.5 * ability, 8, axis=1) + generator.normal(size=16)
    values = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.int8)
    result = fit(ResponseMatrix(values), standard_errors=False)
    found = model_fit(result)
    assert found.p_value < 1e-10
    assert found.rmsea_low > 0.05


def test_what_m2_is_not_for_is_refused():
    values = drawn(60, 6).values.copy()
    values[7, 2] = -1
    with pytest.raises(ValueError, match=r"complete responses, and 1 of 60 .* respondent-8\."):
        model_fit(fit(ResponseMatrix(values), standard_errors=False))
    with pytest.raises(ValueError, match=r"needs degrees of freedom: 3 items .* give 6 margins"):
        model_fit(fit(drawn(200, 3), standard_errors=False))
    with pytest.raises(ValueError, match=r"at most 500 items, got 501. Try: irtkit.fit\(resp"):
        model_fit(fit(drawn(20, 501), standard_errors=False))


@pytest.mark.filterwarnings("ignore::UserWarning")  # that respondents answer alike
def test_copies_have_the_weight_of_independent_respondents(monkeypatch):
    generator = np.random.default_rng(0)
    items = ItemParameters.from_difficulty(np.ones(30), np.linspace(-1.5, 1.5, 30))
    values = simulate_responses(items, generator.normal(size=150), seed=1).values
    copies = np.repeat(values, 6, axis=0)
    copies = np.where(generator.random(copies.shape) < 0.03, 1 - copies, copies)
    result = fit(ResponseMatrix(copies), prior=None)
    found, pairs = model_fit(result), local_dependence(result, threshold=0, top=None)
    share = result.evidence
    assert share < 0.6
    assert found.p_value == pytest.approx(
        float(chi2.sf(share * found.m2, found.degrees_of_freedom))
    )
    monkeypatch.setattr(FitResult, "evidence", 1.0)
    assert found.m2 == model_fit(result).m2
    assert found.rmsea < 0.7 * model_fit(result).rmsea
    as_many = local_dependence(result, threshold=0, top=None)
    assert (pairs["p_value"] < 0.05).mean() < 0.15 < (as_many["p_value"] < 0.05).mean()
