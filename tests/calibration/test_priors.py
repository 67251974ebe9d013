"""Densities against SciPy, their derivatives, and the weak prior as it is documented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import beta, norm, t

from irtkit import (
    EM,
    Beta,
    Density,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    WeakPrior,
    fit,
    simulate_responses,
)
from irtkit.calibration.empirical import ItemDistribution, TwoSided
from irtkit.calibration.priors import Hyper, Prior, Steep, Student
from irtkit.calibration.variational.target import OfCoordinate
from irtkit.irf import Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")
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


def test_far_out_values_have_finite_densities_and_derivatives() -> None:
    far = np.array([-700.0, 700.0])
    for density, *_ in REFEREES:
        assert np.isfinite(density.at(far).value).all()
        assert np.isfinite(density.at(far).derivative).all()
        assert np.isfinite(density.log_volume(far)).all()


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


@pytest.mark.parametrize("name", ["slope_spread", "steep", "location_sd", "chance_weight"])
def test_a_weak_prior_without_width_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} of the prior must be above 0, got -1"):
        WeakPrior(**{name: -1.0})


WIDE = {
    "no density": ItemPrior(intercept=Normal(0.0, 2.0)),
    "nothing at all": ItemPrior(),
    "a wide normal": ItemPrior(Normal(0.0, 1e4), Normal(0.0, 2.0)),
    "a wide lognormal": ItemPrior(LogNormal(0.0, 10.0), Normal(0.0, 2.0)),
}


def drawn(
    n_respondents: int, n_items: int, seed: int, negative: float = 0.0
) -> tuple[ResponseMatrix, ItemParameters]:
    generator = np.random.default_rng(seed)
    slope = generator.lognormal(0, 0.3, n_items)
    slope[generator.random(n_items) < negative] *= -1
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return simulate_responses(items, generator.normal(size=n_respondents), seed=seed), items


def with_a_step() -> ResponseMatrix:
    """Thirty items that differ in slope, and one that the ablest alone get right."""
    responses, _ = drawn(60, 30, seed=1)
    order = responses.values.sum(axis=1).argsort().argsort()
    return ResponseMatrix(np.column_stack([responses.values, order >= 25]))


@pytest.mark.parametrize("prior", WIDE.values(), ids=WIDE)
def test_an_item_whose_slope_no_density_holds_is_unbounded_and_warned_of(prior: ItemPrior) -> None:
    responses = with_a_step()
    with pytest.warns(UserWarning, match="No finite estimate"):
        items = fit(responses, prior=prior, method=EM(max_iterations=300)).items
    assert items["status"].iloc[-1] == "unbounded"
    assert items["discrimination"].abs().iloc[-1] > 20
    bounded = items["discrimination"].abs() < 10
    assert items.loc[bounded, "status"].isin(["ok", "no variance"]).all()


@pytest.mark.parametrize("slope", [Normal(1.0, 5.0), LogNormal(0.0, 1.0), LogNormal(2.5, 0.5)])
def test_a_density_that_holds_a_steep_slope_leaves_it_ok(slope: Density) -> None:
    items = fit(with_a_step(), prior=ItemPrior(slope, Normal(0.0, 20.0))).items
    assert items["status"].eq("ok").all()


@dataclass(frozen=True)
class ByHand(Density):
    """A normal density, as somebody would write it who does not know irtkit's."""

    centre: float
    width: float

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        constant = np.log(self.width * np.sqrt(2 * np.pi))
        value = -((x - self.centre) ** 2) / (2 * self.width**2) - constant
        return value, -(x - self.centre) / self.width**2, np.ones_like(x) / self.width**2


PAIRS = (
    ItemPrior(Normal(1.0, 0.4), Normal(0.1, 1.5), Normal(-1.4, 0.4)),
    ItemPrior(ByHand(1.0, 0.4), ByHand(0.1, 1.5), ByHand(-1.4, 0.4)),
)


@pytest.mark.parametrize(
    ("model", "method", "times"),
    [("Rasch", "em", 1), ("1PL", "em", 3), ("3PL", "em", 3), ("2PL", "vi", 1)],
)
def test_a_normal_density_written_by_hand_gives_what_normal_gives(
    model: Any, method: Any, times: int
) -> None:
    responses = ResponseMatrix(np.tile(drawn(150, 10, seed=1)[0].values, times))
    expected, found = (fit(responses, model, method=method, prior=prior) for prior in PAIRS)
    names = ["discrimination", "intercept", "guessing", "discrimination_se", "intercept_se"]
    for name in names:
        assert found.items[name].to_numpy() == pytest.approx(
            expected.items[name].to_numpy(), abs=1e-9, nan_ok=True
        )
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)
    if method == "vi":
        assert found.elbo == pytest.approx(expected.elbo, abs=1e-8)


def test_a_density_of_the_size_of_slopes_leaves_their_sign_free() -> None:
    responses, items = drawn(400, 30, seed=2, negative=0.3)
    result = fit(responses, "2PL", prior=ItemPrior(LogNormal(0.0, 0.1)))
    slopes = result.items["discrimination"].to_numpy()
    assert (np.sign(slopes) == np.sign(items.discrimination)).all()
    assert np.abs(slopes) == pytest.approx(1.0, abs=0.3)


def test_a_narrow_density_pins_its_parameter_and_leaves_the_others_free() -> None:
    responses, _ = drawn(400, 12, seed=1)
    free = fit(responses, "2PL", prior=None).items
    held = fit(responses, "2PL", prior=ItemPrior(intercept=Normal(0.7, 1e-3))).items
    assert held["intercept"].to_numpy() == pytest.approx(0.7, abs=0.01)
    assert free["intercept"].std() > 0.3
    slopes = fit(responses, "2PL", prior=ItemPrior(Normal(0.9, 1e-3))).items["discrimination"]
    assert slopes.to_numpy() == pytest.approx(0.9, abs=0.01)


def test_a_common_slope_has_its_density_once_however_many_items_share_it() -> None:
    density, hyper = Normal(1.0, 0.5), Hyper(0.0, 0.0)
    expected = float(density.at(np.array([1.7])).value[0])
    for n_items, copies in ((1, None), (20, None), (4, np.array([1.0, 3.0, 2.0, 5.0]))):
        items = Items(np.full(n_items, 1.7), np.zeros(n_items))
        at = ItemPrior(density).at(items, hyper, common_slope=True, copies=copies)
        assert at.log_density == pytest.approx(expected)
        assert at.gradient[:, 0].sum() == pytest.approx(-0.7 / 0.25)
        assert at.blocks[:, 0, 0].sum() == pytest.approx(4.0)


class Holding(Normal):
    """A density of one's own that holds something more."""

    def __init__(self, held: Any) -> None:
        super().__init__(0.0, 1.0)
        object.__setattr__(self, "held", held)


class Slotted(Normal):
    __slots__ = ("more",)

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)


def test_arrays_of_a_density_are_described_as_lists() -> None:
    held = ItemPrior(Holding(np.arange(2))).described()["discrimination"]
    assert held == {"kind": "Holding", "mean": 0.0, "sd": 1.0, "held": [0, 1]}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Normal(0.0, 0.0), "sd of Normal"),
        (lambda: LogNormal(0.0, -1.0), "sd of LogNormal"),
        (lambda: Beta(0.0, 1.0), "alpha of Beta"),
        (lambda: ItemPrior(guessing=LogNormal(0.0, 1.0)), "guessing of ItemPrior"),
        (lambda: ItemPrior(intercept=Beta()), "intercept of ItemPrior must be Normal, a Density"),
        (lambda: ItemPrior(discrimination=Beta()), "discrimination of ItemPrior"),
        (lambda: ItemPrior(discrimination=1.0), "discrimination of ItemPrior"),
        (lambda: Normal(float("nan"), 1.0), "mean of Normal must be a finite number"),
        (lambda: Normal("a", 1.0), "mean of Normal must be a number"),
        (lambda: ItemPrior(Holding(np.tanh)), "attribute held of Holding must be a number"),
        (lambda: ItemPrior(Slotted()), "Slotted must keep its attributes without __slots__"),
        (Density, "abstract"),
        (lambda: fit(drawn(20, 5, 1)[0], prior="strong"), "prior must be"),
        (lambda: fit(drawn(20, 5, 1)[0], prior=ItemPrior), "prior must be"),
        (lambda: fit(drawn(20, 5, 1)[0], "1PL", prior="empirical"), "empirical"),
    ],
)
def test_what_is_no_prior_is_refused_by_name(make: Any, named: str) -> None:
    with pytest.raises((ValueError, TypeError), match=named):
        make()
