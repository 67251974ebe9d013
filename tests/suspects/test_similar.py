"""Claims about respondents that answer alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    fit,
    load,
    similar_respondents,
    simulate_responses,
)
from irtkit.suspects import expected as parts
from irtkit.suspects import families

COLUMNS = ["respondent", "other", "agreement", "expected", "excess", "n_items"]


def made(n_respondents: int, *, seed: int, missing: float = 0.0) -> ResponseMatrix:
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 100), generator.normal(size=100)
    )
    abilities = generator.normal(size=n_respondents)
    return simulate_responses(items, abilities, missing=missing, seed=generator)


def with_family(responses: ResponseMatrix) -> ResponseMatrix:
    """Respondent 4 is the copy of number 2; 6 is the same of number 5 but for eight answers."""
    values = responses.values.copy()
    values[3] = values[1]
    values[5] = values[4]
    values[5, :8] = np.where(values[4, :8] < 0, -1, 1 - values[4, :8])
    return ResponseMatrix(values, responses.respondents, responses.items)


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["whole", "holed"])
def result(request: pytest.FixtureRequest) -> FitResult:
    return fit(with_family(made(60, seed=0, missing=request.param)), "2PL")


def test_an_exact_copy_comes_first_and_one_that_is_nearly_so_second(result: FitResult) -> None:
    pairs = similar_respondents(result)
    assert pairs[["respondent", "other"]].to_numpy().tolist() == [
        ["respondent-2", "respondent-4"],
        ["respondent-5", "respondent-6"],
    ]
    assert pairs.loc[0, ["agreement", "excess"]].tolist() == pytest.approx([1, 1])
    assert list(pairs.columns) == COLUMNS


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_independent_respondents_make_an_empty_table(seed: int, missing: float) -> None:
    pairs = similar_respondents(fit(made(100, seed=seed, missing=missing), "2PL"), excess=0)
    assert (len(pairs), list(pairs.columns)) == (0, COLUMNS)


def test_agreement_is_plain_counting_of_the_items_both_answered(result: FitResult) -> None:
    assert result.responses is not None
    values = pd.DataFrame(result.responses.values, list(result.respondent_labels))
    probability = result.probability()
    for _, pair in similar_respondents(result, excess=0.3).iterrows():
        one, other = values.loc[pair["respondent"]], values.loc[pair["other"]]
        both = ((one >= 0) & (other >= 0)).to_numpy()
        p, q = (probability.loc[pair[name], both] for name in ("respondent", "other"))
        chance = (p * q + (1 - p) * (1 - q)).mean()
        share = (one == other)[both].mean()
        assert pair["n_items"] == both.sum()
        assert pair["agreement"] == pytest.approx(share, abs=1e-12)
        assert pair["expected"] == pytest.approx(chance, abs=1e-12)
        assert pair["excess"] == pytest.approx((share - chance) / (1 - chance), abs=1e-12)


@pytest.mark.filterwarnings("ignore:Not unidimensional")  # the two are a pattern
@pytest.mark.filterwarnings("ignore:Correlated trials")
def test_repeated_trials_agree_by_their_shares_right() -> None:
    drawn = simulate_responses(
        ItemParameters(np.full(100, 1.0), np.linspace(-2, 2, 100), np.zeros(100)),
        np.linspace(-1.5, 1.5, 30),
        trials=4,
        seed=1,
    )
    right, trials = drawn.successes.copy(), drawn.trials.copy()
    right[:2], trials[1] = np.arange(100) % 2 * 4, 2  # always right or always wrong
    right[1] //= 2
    pairs = similar_respondents(fit(ResponseMatrix.from_counts(right, trials), "1PL"), excess=0.9)
    assert pairs[["respondent", "other"]].to_numpy().tolist() == [["respondent-1", "respondent-2"]]
    assert pairs.loc[0, "agreement"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("excess", "n"), [(0.0, 2), (0.9, 1), (1.0, 1)])
def test_pairs_have_at_least_the_excess_asked(result: FitResult, excess: float, n: int) -> None:
    pairs = similar_respondents(result, excess=excess)
    assert len(pairs) == n
    assert pairs["excess"].is_monotonic_decreasing
    assert pairs["excess"].min() >= excess


@pytest.mark.parametrize(("module", "name", "size"), [
    (families, "_RESPONDENTS_AT_ONCE", 7), (parts, "_CELLS_AT_ONCE", 60 * 13),
])  # fmt: skip
def test_the_size_of_a_block_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, result: FitResult, module: object, name: str, size: int
) -> None:
    whole = similar_respondents(result, excess=0.1)
    monkeypatch.setattr(module, name, size)
    parted = similar_respondents(result, excess=0.1)
    pd.testing.assert_frame_equal(parted, whole, rtol=1e-12, check_dtype=False)


def test_blocks_without_a_pair_make_an_empty_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(families, "_RESPONDENTS_AT_ONCE", 10)
    pairs = similar_respondents(fit(made(35, seed=2), "2PL"))
    assert (len(pairs), list(pairs.columns)) == (0, COLUMNS)


def test_synthetic_respondents_and_those_without_responses_are_no_pair() -> None:
    values = made(40, seed=3).values.copy()
    values[6], values[7:9] = values[5], -1
    marks = np.arange(40) == 6
    assert len(similar_respondents(fit(ResponseMatrix(values), "2PL"))) == 1
    assert similar_respondents(fit(ResponseMatrix(values, synthetic=marks), "2PL")).empty


def test_what_is_no_fit_with_its_responses_is_refused(
    result: FitResult, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(TypeError, match=r"result must be a FitResult, got str"):
        similar_respondents("2PL")
    path = tmp_path_factory.mktemp("saved") / "fit"
    result.save(path, include_responses=False)
    with pytest.raises(ValueError, match="similar_respondents needs the responses, which were not"):
        similar_respondents(load(path))


@pytest.mark.parametrize("excess", [-0.1, 1.1, np.nan])
def test_an_excess_out_of_range_is_refused(result: FitResult, excess: float) -> None:
    with pytest.raises(ValueError, match=f"excess must be at least 0 and at most 1, got {excess}"):
        similar_respondents(result, excess=excess)
