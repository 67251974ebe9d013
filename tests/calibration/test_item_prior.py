"""Independent densities by item, those of a user's own among them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from irtkit import (
    EM,
    Beta,
    Density,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    fit,
    simulate_responses,
)
from irtkit.calibration.priors import Hyper
from irtkit.irf import Items

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

WIDE = {
    "no density": ItemPrior(intercept=Normal(0.0, 2.0)),
    "nothing at all": ItemPrior(),
    "a wide normal": ItemPrior(Normal(0.0, 1e4), Normal(0.0, 2.0)),
    "a wide lognormal": ItemPrior(LogNormal(0.0, 10.0), Normal(0.0, 2.0)),
}


def with_a_step() -> ResponseMatrix:
    """Thirty items that differ in slope, and one that the ablest alone get right."""
    responses, _ = drawn(60, 30, seed=1)
    order = responses.values.sum(axis=1).argsort().argsort()
    return ResponseMatrix(np.column_stack([responses.values, order >= 25]))


@pytest.mark.parametrize("prior", WIDE.values(), ids=WIDE)
def test_an_item_whose_slope_no_density_holds_is_unbounded_and_warned_of(prior: ItemPrior) -> None:
    responses = with_a_step()
    with pytest.warns(UserWarning, match="No finite estimate.*no prior applies to them"):
        items = fit(responses, prior=prior, method=EM(max_iterations=300)).items
    assert items["status"].iloc[-1] == "unbounded"
    assert items["discrimination"].abs().iloc[-1] > 20
    bounded = items["discrimination"].abs() < 10
    assert items.loc[bounded, "status"].isin(["ok", "no variance"]).all()


@pytest.mark.parametrize("slope", [Normal(1.0, 5.0), LogNormal(0.0, 1.0), LogNormal(2.5, 0.5)])
def test_a_density_that_holds_a_steep_slope_leaves_it_ok(slope: Density) -> None:
    items = fit(with_a_step(), prior=ItemPrior(slope, Normal(0.0, 20.0))).items
    assert items["status"].eq("ok").all()


def test_an_item_that_all_get_right_is_unbounded_without_a_density_of_intercepts() -> None:
    responses, _ = drawn(60, 10, seed=1)
    matrix = ResponseMatrix(np.column_stack([responses.values, np.ones(60, dtype=int)]))
    with pytest.warns(UserWarning, match="of 1 of 11 items has its maximum at infinity"):
        items = fit(matrix, prior=ItemPrior(Normal(1.0, 0.5))).items
    assert items["status"].tolist() == ["ok"] * 10 + ["unbounded"]
    held = fit(matrix, prior=ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0))).items
    assert held["status"].tolist() == ["ok"] * 10 + ["no variance"]


def drawn(
    n_respondents: int, n_items: int, seed: int, negative: float = 0.0
) -> tuple[ResponseMatrix, ItemParameters]:
    generator = np.random.default_rng(seed)
    slope = generator.lognormal(0, 0.3, n_items)
    slope[generator.random(n_items) < negative] *= -1
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return simulate_responses(items, generator.normal(size=n_respondents), seed=seed), items


@dataclass(frozen=True)
class ByHand(Density):
    """A normal density, as somebody would write it who does not know irtkit's."""

    centre: float
    width: float

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        constant = np.log(self.width * np.sqrt(2 * np.pi))
        value = -((x - self.centre) ** 2) / (2 * self.width**2) - constant
        return value, -(x - self.centre) / self.width**2, np.ones_like(x) / self.width**2


@dataclass(frozen=True)
class Logistic(Density):
    """A logistic density: tails heavier than the normal one's."""

    centre: float
    scale: float

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        z = (x - self.centre) / self.scale
        value = -z - 2 * np.logaddexp(0, -z) - np.log(self.scale)
        curvature = 0.5 * np.cosh(z / 2) ** -2 / self.scale**2
        return value, -np.tanh(z / 2) / self.scale, curvature


PAIRS = (
    ItemPrior(Normal(1.0, 0.4), Normal(0.1, 1.5), Normal(-1.4, 0.4)),
    ItemPrior(ByHand(1.0, 0.4), ByHand(0.1, 1.5), ByHand(-1.4, 0.4)),
)


@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL", "3PL"])
@pytest.mark.parametrize(("method", "times"), [("em", 1), ("em", 3), ("vi", 1)])
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


@pytest.mark.parametrize("method", ["em", "vi"])
def test_a_density_of_your_own_serves_in_every_method(method: Any) -> None:
    responses, _ = drawn(60, 12, seed=2)
    held = ItemPrior(Logistic(1.0, 0.02), Logistic(0.3, 0.02))
    items = fit(responses, method=method, prior=held).items
    assert items["discrimination"].to_numpy() == pytest.approx(1.0, abs=0.1)
    assert items["intercept"].to_numpy() == pytest.approx(0.3, abs=0.25)
    wide = ItemPrior(Logistic(1.0, 0.3), Logistic(0.0, 1.0))
    free = fit(responses, method=method, prior=wide)
    assert free.converged
    assert free.items["intercept"].std() > 0.3
    # of a scale of 0.3, SD 0.54, as a normal one of that SD nearly
    normal = fit(responses, method=method, prior=ItemPrior(Normal(1.0, 0.54), Normal(0.0, 1.8)))
    off = (free.items["discrimination"] - normal.items["discrimination"]).abs()
    assert off.max() < 0.5 * normal.items["discrimination_se"].mean()


def test_a_density_of_your_own_is_told_by_name_and_numbers_and_can_be_stored(tmp_path: Any) -> None:
    responses, _ = drawn(60, 12, seed=2)
    result = fit(responses, prior=ItemPrior(Logistic(1.0, 0.3)), standard_errors=False)
    told = {"kind": "Logistic", "centre": 1.0, "scale": 0.3}
    assert result.settings.prior["discrimination"] == told
    result.save(tmp_path / "fit.zip")


def test_a_narrow_density_pins_its_parameter_and_leaves_the_others_free() -> None:
    responses, _ = drawn(400, 12, seed=1)
    free = fit(responses, "2PL", prior=None).items
    held = fit(responses, "2PL", prior=ItemPrior(intercept=Normal(0.7, 1e-3))).items
    assert held["intercept"].to_numpy() == pytest.approx(0.7, abs=0.01)
    assert free["intercept"].std() > 0.3
    slopes = fit(responses, "2PL", prior=ItemPrior(Normal(0.9, 1e-3))).items["discrimination"]
    assert slopes.to_numpy() == pytest.approx(0.9, abs=0.01)


def test_a_density_of_the_size_of_slopes_leaves_their_sign_free() -> None:
    responses, items = drawn(400, 30, seed=2, negative=0.3)
    result = fit(responses, "2PL", prior=ItemPrior(LogNormal(0.0, 0.1)))
    slopes = result.items["discrimination"].to_numpy()
    assert (np.sign(slopes) == np.sign(items.discrimination)).all()
    assert np.abs(slopes) == pytest.approx(1.0, abs=0.3)


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


def test_priors_are_there_without_loading_jax() -> None:
    code = (
        "import sys, irtkit; irtkit.ItemPrior(irtkit.LogNormal(0, 1)); print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
