"""Claims about how far respondents answer alike, and what evidence then counts for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.patterns import patterns_of
from irtkit.signs import Dependence, SlopeSigns, called_negative, proportion_score, slope_signs
from irtkit.signs import dependence as module

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def drawn(generator: np.random.Generator, theta: Array, n_items: int) -> NDArray[np.int8]:
    """2PL responses, slopes lognormal."""
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    p = 1 / (1 + np.exp(-slope * (theta[:, None] - difficulty)))
    return (generator.random(p.shape) < p).astype(np.int8)


def families(
    groups: int, size: int, n_items: int, seed: int, *, noise: float = 0.02, missing: float = 0.0
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Copies of parents with some answers flipped, 2 % of the items inverted, and which those are.

    Families of one are independent respondents.
    """
    generator = np.random.default_rng([seed, 14])
    values = np.repeat(drawn(generator, generator.normal(size=groups), n_items), size, axis=0)
    values = np.where(generator.random(values.shape) < noise * (size > 1), 1 - values, values)
    wrong = np.arange(n_items) < max(round(0.02 * n_items), 1)
    values = np.where(wrong, 1 - values, values)
    return np.where(generator.random(values.shape) < missing, -1, values).astype(np.int8), wrong


def signs(values: NDArray[np.int8] | ResponseMatrix) -> SlopeSigns:
    made = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    return slope_signs(patterns_of(made, synthetic_is_real=False))


def called(found: SlopeSigns) -> NDArray[np.bool_]:
    return called_negative(found.verdict.p_negative, 0.05)


# What it finds


def test_ten_families_of_twenty_answer_like_ten_and_make_no_false_calls() -> None:
    shares = []
    for seed in range(8):
        values, wrong = families(10, 20, 500, seed)
        found = signs(values)
        assert 8 < found.dependence.effective < 14
        assert found.dependence.sentence.startswith("200 respondents answer like about 1")
        flagged, alone = called(found), called(found.weighted(1.0))
        shares.append([(one & ~wrong).sum() / max(one.sum(), 1) for one in (flagged, alone)])
    assert np.mean(shares, axis=0)[0] <= 0.075
    assert np.mean(shares, axis=0)[1] > 0.5


@pytest.mark.parametrize(("groups", "size", "noise"), [(30, 7, 0.02), (40, 5, 0.2), (60, 3, 0.2)])
def test_evidence_of_families_counts_for_what_the_design_effect_says(
    groups: int, size: int, noise: float
) -> None:
    shares = [
        signs(families(groups, size, 500, k, noise=noise)[0]).dependence.share for k in range(4)
    ]
    # flips leave copies correlated (1 − 2·noise)², times the part of the variance that is not flips
    p = np.random.default_rng(0).normal(size=(2, 10_000))
    p = 1 / (1 + np.exp(-(p[0] - p[1])))
    copied = (1 - 2 * noise) ** 2 * (p * (1 - p)).mean()
    flipped = p * (1 - 2 * noise) + noise
    design_effect = 1 + (size - 1) * copied / (flipped * (1 - flipped)).mean()
    assert np.mean(shares) == pytest.approx(1 / design_effect, rel=0.15)


@pytest.mark.parametrize(
    ("n", "n_items", "missing"),
    [(200, 500, 0.0), (100, 1000, 0.0), (1000, 30, 0.0), (200, 20, 0.0), (200, 500, 0.7)],
)
def test_independent_respondents_count_in_full_and_calls_stay_the_same(
    n: int, n_items: int, missing: float
) -> None:
    for seed in range(4):
        found = signs(families(n, 1, n_items, seed, missing=missing)[0])
        assert 0.98 <= found.dependence.share <= 1
        assert (found.dependence.independent, found.dependence.sentence) == (n, "")
        np.testing.assert_array_equal(called(found), called(found.weighted(1.0)))


@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_slopes_that_differ_and_skewed_abilities_are_no_likeness(spread: float) -> None:
    generator = np.random.default_rng(3)
    slope, difficulty = generator.lognormal(0, spread, 500), generator.normal(size=500)
    theta = generator.exponential(size=(200, 1)) - 1
    p = 1 / (1 + np.exp(-slope * (theta - difficulty)))
    share = signs((generator.random(p.shape) < p).astype(np.int8)).dependence.share
    assert share > 0.85


def test_a_wrong_key_is_found_among_independent_respondents() -> None:
    for seed in range(4):
        values, wrong = families(200, 1, 50, seed)
        found = signs(values)
        assert found.verdict.p_negative.argmax() == np.flatnonzero(wrong)[0]
        assert called(found)[wrong].all()


def test_families_are_seen_through_missing_cells() -> None:
    for seed in range(4):
        found = signs(families(10, 20, 500, seed, missing=0.7)[0]).dependence
        assert 8 < found.effective < 14
        # two copies share three in ten of the items that one answered
        assert found.share == pytest.approx(1 / (1 + 19 * 0.3 * 0.9), rel=0.2)


def test_repeated_trials_of_copies_are_those_of_one() -> None:
    values, _ = families(12, 5, 200, 0, noise=0.0)
    right, trials = 3 * values.astype(np.int64), np.full(values.shape, 3)
    found = signs(ResponseMatrix.from_counts(right, trials)).dependence
    assert 8 < found.effective < 14


# Where little can be told


@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (3, 5), (4, 1), (5, 2), (8, 500), (300, 1)])
def test_few_respondents_or_items_are_taken_and_nothing_is_said(shape: tuple[int, int]) -> None:
    found = signs(families(shape[0], 1, shape[1], 0)[0]).dependence
    assert 0.5 < found.share <= 1
    assert (found.independent, found.sentence) == (shape[0], "")


def test_without_variance_respondents_count_as_independent() -> None:
    assert signs(np.ones((6, 5), np.int8)).dependence[:3] == (6, 1.0, 6.0)


def test_respondents_who_share_no_item_count_as_independent() -> None:
    values = np.full((40, 40), -1, np.int8)
    values[np.arange(40), np.arange(40)] = 1
    values[np.arange(40), (np.arange(40) + 1) % 40] = 0
    assert signs(values).dependence.share > 0.9


@pytest.mark.parametrize(
    ("n", "effective", "told"),
    [(29, 3.0, 3), (29, 15.0, 29), (30, 15.0, 15), (100, 89.6, 90), (100, 90.1, 100)],
)
def test_the_effective_number_is_said_below_nine_tenths_and_of_few_below_half(
    n: int, effective: float, told: int
) -> None:
    found = Dependence(n, effective / n, effective)
    assert found.independent == told
    assert found.unit == ("respondents" if told == n else "independent respondents")
    sentence = f"{n} respondents answer like about {told} independent ones"
    assert found.sentence == ("" if told == n else sentence)


# How it is computed


def test_the_same_responses_give_the_same_bytes_and_their_order_hardly_matters() -> None:
    values, _ = families(30, 7, 300, 0)
    found, again = signs(values), signs(values.copy())
    assert found.dependence == again.dependence
    assert found.verdict.p_negative.tobytes() == again.verdict.p_negative.tobytes()
    order = np.random.default_rng(0).permutation(210)
    np.testing.assert_allclose(signs(values[order]).dependence, found.dependence, rtol=1e-3)
    np.testing.assert_allclose(signs(values[:, ::-1]).dependence, found.dependence, rtol=1e-3)


def test_synthetic_respondents_are_left_out() -> None:
    crowd = ResponseMatrix(families(30, 7, 100, 0)[0])
    among = add_synthetic(crowd, ("always-right", "coin"), draws=20)
    np.testing.assert_allclose(signs(among).dependence, signs(crowd).dependence, rtol=1e-6)


def test_sparse_cells_say_what_dense_ones_say() -> None:
    values, _ = families(30, 7, 200, 0, missing=0.5)
    dense = ResponseMatrix(values)
    frame = dense.to_frame().rename_axis("respondent").reset_index()
    frame = frame.melt(id_vars="respondent", var_name="item", value_name="response").dropna()
    sparse = ResponseMatrix.from_long(frame, sparse=True)
    np.testing.assert_allclose(signs(sparse).dependence, signs(dense).dependence, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "value"), [("_MAX_PAIRS", 2**15), ("_MAX_ITEMS", 250), ("_MAX_RESPONDENTS", 200)]
)
def test_some_of_the_pairs_items_and_respondents_say_about_what_all_do(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    values, _ = families(40, 10, 500, 0)
    whole = signs(values).dependence.share
    monkeypatch.setattr(module, name, value)
    assert signs(values).dependence.share == pytest.approx(whole, rel=0.15)


def test_items_that_nobody_looked_at_answered_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, _ = families(200, 1, 500, 0, missing=0.98)
    monkeypatch.setattr(module, "_MAX_RESPONDENTS", 40)
    found = signs(values).dependence
    assert found.n_respondents == (values >= 0).any(axis=1).sum()
    assert found.sentence == ""
    assert found.share > 0.9


def test_curves_are_the_least_squares_fit_to_all_cells() -> None:
    values, _ = families(60, 1, 30, 0, missing=0.2)
    patterns = patterns_of(ResponseMatrix(values), synthetic_is_real=False)
    who, items = np.arange(60), np.arange(30)
    ability = proportion_score(patterns).value
    powers = np.linalg.qr(np.vander(ability, 4, increasing=True))[0][:, 1:] * 60**0.5
    found = module._curves(patterns, who, items, powers)
    answered = values >= 0
    n, p = answered.sum(axis=0), (values == 1).sum(axis=0) / answered.sum(axis=0)
    centred = powers[:, None] - np.einsum("ij,ik->jk", answered, powers) / n[:, None]
    bends = (p * (1 - p))[:, None] * (1 - 2 * p)[:, None] ** np.arange(4)
    columns = np.einsum("ijk,ja->ijak", centred, bends)[answered].reshape(answered.sum(), -1)
    target = (values - p)[answered]
    best = columns @ np.linalg.lstsq(columns, target, rcond=None)[0] + np.tile(p, (60, 1))[answered]
    curves = (found.base + powers @ found.bend)[answered]
    np.testing.assert_allclose(curves, best, atol=1e-4)  # sums are taken in 32 bits


def test_the_median_slope_has_the_least_absolute_deviations_of_all_slopes() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=301)
    y = 0.3 * x + generator.normal(size=301)
    slopes = np.linspace(-1, 1, 20_001)
    losses = [np.abs(y - slope * x).sum() for slope in slopes]
    assert module._median_slope(x, y) == pytest.approx(slopes[np.argmin(losses)], abs=2e-4)
    assert module._median_slope(x, -x) == 0
    assert module._median_slope(np.zeros(3), x[:3]) == 0


def test_noise_sums_to_nothing_and_copies_to_what_they_are() -> None:
    noise = np.random.default_rng(0).normal(size=20_000)
    unit = np.full(20_000, 0.1)
    assert module._sum_alike(noise, unit, 1.0) == 0
    copies = np.append(noise, np.full(100, 10.0))
    assert module._sum_alike(copies, np.full(20_100, 0.1), 1.0) == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize(("groups", "size"), [(2, 6), (2, 10), (3, 3), (3, 4), (4, 4)])
def test_few_small_families_are_said_and_no_slope_is_called(groups: int, size: int) -> None:
    for seed in range(5):
        values, _ = families(groups, size, 200, seed, noise=0.1)
        found = signs(values)
        assert found.dependence.independent <= groups + 2
        assert f"like about {found.dependence.independent} " in found.dependence.sentence
        assert not called(found).any()


@pytest.mark.parametrize(("size", "n"), [(6, 20), (12, 30), (30, 60)])
def test_a_large_family_beside_single_respondents_is_said(size: int, n: int) -> None:
    for seed in range(5):
        generator = np.random.default_rng(seed)
        values, _ = families(n - size + 1, 1, 200, seed)
        copies = np.repeat(values[:1], size, axis=0)
        copies = np.where(generator.random(copies.shape) < 0.1, 1 - copies, copies)
        found = signs(np.concatenate([copies, values[1:]]).astype(np.int8)).dependence
        assert found.independent < n / 2
        assert found.sentence


@pytest.mark.parametrize("n", [8, 12, 20, 30, 60])
@pytest.mark.parametrize("n_items", [25, 100, 200])
def test_few_independent_respondents_are_of_no_family(n: int, n_items: int) -> None:
    for seed in range(5):
        found = signs(families(n, 1, n_items, seed, missing=0.3 * (seed % 3))[0]).dependence
        assert not found.sentence
        assert found.share > 0.8
