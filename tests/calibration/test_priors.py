"""Densities against SciPy, their derivatives, and the weak prior as it is documented."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import beta, norm, t

from irtkit import Beta, ItemPrior, LogNormal, Normal, WeakPrior
from irtkit.calibration.item_distribution import ItemDistribution, TwoSided
from irtkit.calibration.priors import Hyper, Prior, Steep, Student
from irtkit.calibration.variational.target import OfCoordinate
from irtkit.irf import Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AT = np.linspace(-3.0, 3.0, 25)
"""A parameter, 0 among its values; of a logit of guessing from 0.05 to 0.95."""


def of_c(x: Array) -> Array:
    return np.asarray(beta.logpdf(1 / (1 + np.exp(-x)), 5, 17))


def two_sided(u: Array) -> Array:
    return np.asarray(np.log(0.9 * norm.pdf(u, 1.2, 0.4) + 0.1 * norm.pdf(u, -1.2, 0.4)))


def beyond(x: Array) -> Array:
    return np.asarray(-0.5 * (np.log(np.maximum(np.abs(x), 1.4) / 1.4) / 0.5) ** 2)


REFEREES: list[tuple[Any, Callable[[Array], Array], Array]] = [
    (Normal(0.3, 0.7), lambda x: norm.logpdf(x, 0.3, 0.7), AT),
    (
        Student(0.88, 0.3, 5.0),
        lambda x: t.logpdf(x, 5.0, 0.88, 0.3),
        AT,
    ),  # of 4 degrees log Γ(ν/2) is 0
    (TwoSided(1.2, 0.4, 0.1), two_sided, AT),
    (Beta(5.0, 17.0), of_c, AT),
    (LogNormal(0.2, 0.5), lambda x: norm.logpdf(np.log(np.abs(x)), 0.2, 0.5), AT[AT != 0]),
    (Steep(1.4, 0.5), beyond, AT),
]
IDS = [type(density).__name__ for density, *_ in REFEREES]
EVERY = pytest.mark.parametrize(("density", "at"), [(d, at) for d, _, at in REFEREES], ids=IDS)


@pytest.mark.parametrize(("density", "referee", "at"), REFEREES, ids=IDS)
def test_a_log_density_is_that_of_scipy(
    density: Any, referee: Callable[[Array], Array], at: Array
) -> None:
    assert density.at(at).value == pytest.approx(referee(at), abs=1e-10)


@EVERY
def test_a_derivative_is_that_of_the_log_density(density: Any, at: Array) -> None:
    step = 1e-5
    rise = density.at(at + step).value - density.at(at - step).value
    assert density.at(at).derivative == pytest.approx(rise / (2 * step), rel=1e-7, abs=1e-7)


@EVERY
def test_a_curvature_is_never_below_zero_and_finite_at_zero(density: Any, at: Array) -> None:
    found = density.at(np.append(at, 0.0)).curvature
    assert np.isfinite(found).all()
    assert (found >= 0).all()


@EVERY
def test_a_log_volume_comes_with_its_derivative(density: Any, at: Array) -> None:
    step = 1e-6
    ends = [density.log_volume(at + h)[0] for h in (step, -step)]
    found = density.log_volume(at)[1]
    assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("density", "kept"),
    [
        *[(OfCoordinate(density), 1.0) for density, _, _ in REFEREES[:4]],
        # a normal density of a common slope keeps Φ(mean/sd) of its mass
        (OfCoordinate(Normal(1.0, 0.5), exponential=True), float(norm.cdf(2.0))),
        (OfCoordinate(LogNormal(0.2, 0.5), exponential=True), 1.0),
    ],
    ids=[*IDS[:4], "Normal of an exponential", "LogNormal of an exponential"],
)
def test_a_density_of_a_coordinate_integrates_to_one(density: OfCoordinate, kept: float) -> None:
    # beyond ±60 a Student density with 4 degrees of freedom has 1e-9 left
    u = np.concatenate([np.linspace(-60, -5, 20_000), np.linspace(-5, 60, 60_000)[1:]])
    with np.errstate(over="ignore", under="ignore"):
        total = trapezoid(np.exp(density.at(u)[0]), u)
    assert total == pytest.approx(kept, abs=1e-6)


@pytest.mark.parametrize("exponential", [False, True])
@pytest.mark.parametrize("density", [density for density, *_ in REFEREES[:5]], ids=IDS[:5])
def test_a_density_of_a_coordinate_comes_with_its_derivative(
    density: Any, exponential: bool
) -> None:
    of_u, step, u = OfCoordinate(density, exponential), 1e-5, np.linspace(-1.9, 1.9, 20)
    rise = of_u.at(u + step)[0] - of_u.at(u - step)[0]
    assert of_u.at(u)[1] == pytest.approx(rise / (2 * step), rel=1e-7, abs=1e-7)


def test_densities_of_c_and_of_the_logarithm_of_a_slope_hold_what_the_change_brings() -> None:
    c = 1 / (1 + np.exp(-AT))
    of_logit = of_c(AT) + np.log(c * (1 - c))
    assert OfCoordinate(Beta(5.0, 17.0)).at(AT)[0] == pytest.approx(of_logit, abs=1e-10)
    of_log = norm.logpdf(np.exp(AT), 1, 0.5) + AT
    of_slope = OfCoordinate(Normal(1.0, 0.5), exponential=True)
    assert of_slope.at(AT)[0] == pytest.approx(of_log, abs=1e-10)
    sizes = OfCoordinate(LogNormal(0.2, 0.5), exponential=True)
    assert sizes.at(AT)[0] == pytest.approx(norm.logpdf(AT, 0.2, 0.5), abs=1e-9)


def test_far_out_values_have_finite_densities_and_derivatives() -> None:
    far = np.array([-700.0, 700.0])
    for density, *_ in REFEREES:
        assert np.isfinite(density.at(far).value).all()
        assert np.isfinite(density.at(far).derivative).all()
        assert np.isfinite(density.log_volume(far)).all()


def test_a_mixture_pulls_by_the_posterior_of_the_second_kind() -> None:
    of_second = np.exp(np.log(0.1) + norm.logpdf(AT, -1.2, 0.4) - two_sided(AT))
    towards = (1 - of_second) * (1.2 - AT) + of_second * (-1.2 - AT)
    assert TwoSided(1.2, 0.4, 0.1).at(AT).derivative == pytest.approx(towards / 0.16, abs=1e-11)


EVERY_PRIOR: list[Prior] = [
    WeakPrior(),
    WeakPrior(steep=0.5),
    ItemPrior(LogNormal(0.1, 0.4), Normal(0.0, 2.0), Beta()),
    ItemDistribution(1.2, 0.6, 0.4, 0.1, -0.3, 0.9, 0.5, 0.4),
]
KINDS = ["weak", "weak with a limit", "independent", "learned"]


def items_like(*, common_slope: bool, guessing: bool, n: int = 6) -> Items:
    generator = np.random.default_rng(4)
    slope = np.full(n, 1.3) if common_slope else generator.normal(0.9, 0.7, n)
    intercept, logit = generator.normal(size=(2, n))
    return Items(slope, intercept, logit if guessing else None)


@pytest.mark.parametrize("prior", EVERY_PRIOR, ids=KINDS)
@pytest.mark.parametrize("guessing", [False, True])
def test_gradients_by_items_and_by_what_is_learned_are_those_of_differences(
    prior: Prior, guessing: bool
) -> None:
    items, hyper, step = items_like(common_slope=False, guessing=guessing), Hyper(-0.2, 0.4), 1e-6
    found = prior.at(items, hyper, common_slope=False)

    def at(some: Items, learned: Hyper) -> float:
        return prior.at(some, learned, common_slope=False).log_density

    for k, name in enumerate(items._fields[: found.gradient.shape[1]]):
        for j, unit in enumerate(step * np.eye(len(items.slope))):
            ends = [items._replace(**{name: items[k] + side * unit}) for side in (1, -1)]
            rise = (at(ends[0], hyper) - at(ends[1], hyper)) / (2 * step)
            assert found.gradient[j, k] == pytest.approx(rise, abs=1e-6, rel=1e-6)
    for k, name in enumerate(("location", "log_scale")):
        moved = [hyper._replace(**{name: getattr(hyper, name) + h}) for h in (step, -step)]
        rise = (at(items, moved[0]) - at(items, moved[1])) / (2 * step)
        assert found.by_hyper[k] == pytest.approx(rise, abs=1e-6)


@pytest.mark.parametrize(
    ("prior", "common_slope"),
    [*((prior, False) for prior in EVERY_PRIOR), *((prior, True) for prior in EVERY_PRIOR[:3])],
)
def test_copies_count_as_many_times_as_there_are(prior: Prior, common_slope: bool) -> None:
    items = items_like(common_slope=common_slope, guessing=not common_slope)
    place, hyper = np.array([0, 0, 0, 1, 2, 2, 3, 4, 5, 5]), Hyper(-0.2, 0.4)
    copies = np.bincount(place).astype(float)
    counted = prior.at(items, hyper, common_slope=common_slope, copies=copies)
    whole = prior.at(items.chosen(place), hyper, common_slope=common_slope)
    assert counted.log_density == pytest.approx(whole.log_density)
    assert counted.by_hyper == pytest.approx(whole.by_hyper)
    assert counted.corner == pytest.approx(whole.corner)
    for one, other in ((counted[1], whole[1]), (counted[3], whole[3]), (counted[4], whole[4])):
        total = np.zeros_like(one)
        np.add.at(total, place, other)
        assert one == pytest.approx(total)


@pytest.mark.parametrize("prior", EVERY_PRIOR, ids=KINDS)
def test_the_curvature_of_items_and_of_what_is_learned_is_never_below_zero(prior: Prior) -> None:
    items = items_like(common_slope=False, guessing=True)
    found = prior.at(items, Hyper(-0.2, 0.4), common_slope=False)
    n, k = found.gradient.shape
    whole = np.zeros((n * k + 2, n * k + 2))
    for j in range(n):
        some = slice(j * k, j * k + k)
        whole[some, some] = found.blocks[j]
        whole[some, n * k :] = found.border[j]
        whole[n * k :, some] = found.border[j].T
    whole[n * k :, n * k :] = found.corner
    assert whole == pytest.approx(whole.T)
    assert np.linalg.eigvalsh(whole).min() > -1e-9


def test_the_weak_prior_is_what_its_documentation_says() -> None:
    items, hyper = items_like(common_slope=False, guessing=True), Hyper(-0.2, 0.4)
    ratio, residual = items.slope / np.exp(-0.2), items.intercept - 0.4 * items.slope
    expected = t.logpdf(np.arcsinh(ratio), 4, np.arcsinh(1), 0.3).sum()
    expected += norm.logpdf(residual, 0, 3).sum() + of_c(items.logit_guessing).sum()
    expected += norm.logpdf(-0.2, 0, 1) + norm.logpdf(0.4, 0, 5)
    found = WeakPrior().at(items, hyper, common_slope=False)
    assert found.log_density == pytest.approx(expected)
    common = items_like(common_slope=True, guessing=False)
    expected = norm.logpdf(np.log(1.3)) + norm.logpdf(common.intercept - 0.4 * 1.3, 0, 3).sum()
    expected += norm.logpdf(0.0) + norm.logpdf(0.4, 0, 5)
    found = WeakPrior().at(common, Hyper(0.0, 0.4), common_slope=True)
    assert found.log_density == pytest.approx(expected)


def test_a_slope_of_minus_the_scale_costs_six_nats_against_one_of_it() -> None:
    density = WeakPrior().slope_density
    regular, inverted = density.at(np.arcsinh(np.array([1.0, -1.0]))).value
    assert regular - inverted == pytest.approx(6.0, abs=0.5)


@pytest.mark.parametrize("name", ["slope_spread", "steep", "location_sd", "chance_weight"])
def test_a_weak_prior_without_width_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} of the prior must be above 0, got -1"):
        WeakPrior(**{name: -1.0})
