"""Densities and priors against SciPy, their derivatives, and the weak prior as documented."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, norm, t

from irtkit import (
    EM,
    Beta,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    WeakPrior,
    fit,
    load,
    simulate_responses,
)
from irtkit.calibration.empirical import ItemDistribution, TwoSided
from irtkit.calibration.priors import Hyper, Steep, Student
from irtkit.fitting import refitted, silently
from irtkit.irf import Items
from tests.crowds import crowd

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")


# Densities against SciPy, their derivatives, and the weak prior as it is documented
AT = np.linspace(-3.0, 3.0, 25)
"""A parameter, 0 among its values; of a logit of guessing from 0.05 to 0.95."""


def of_c(x):
    return np.asarray(beta.logpdf(1 / (1 + np.exp(-x)), 5, 17))


def two_sided(u):
    return np.asarray(np.log(0.9 * norm.pdf(u, 1.2, 0.4) + 0.1 * norm.pdf(u, -1.2, 0.4)))


def beyond(x):
    return np.asarray(-0.5 * (np.log(np.maximum(np.abs(x), 1.4) / 1.4) / 0.5) ** 2)


REFEREES = [
    (Normal(0.3, 0.7), lambda x: norm.logpdf(x, 0.3, 0.7)),
    (Student(0.88, 0.3, 5.0), lambda x: t.logpdf(x, 5.0, 0.88, 0.3)),  # of 4 log Γ(ν/2) is 0
    (TwoSided(1.2, 0.4, 0.1), two_sided),
    (Beta(5.0, 17.0), of_c),
    (Steep(1.4, 0.5), beyond),
]
IDS = [type(density).__name__ for density, _ in REFEREES]


@pytest.mark.parametrize(("density", "referee"), REFEREES, ids=IDS)
def test_a_log_density_is_that_of_scipy_with_its_derivative_and_a_curvature(density, referee):
    step = 1e-5
    found = density.at(AT)
    assert found.value == pytest.approx(referee(AT), abs=1e-10)
    rise = density.at(AT + step).value - density.at(AT - step).value
    assert found.derivative == pytest.approx(rise / (2 * step), rel=1e-7, abs=1e-7)
    curvature = density.at(np.append(AT, 0.0)).curvature
    assert np.isfinite(curvature).all()
    assert (curvature >= 0).all()


LABELS = ("a", "b", "c", "d")
EXPECTED = pd.Series([-1.0, 0.5, 2.0], index=["a", "b", "d"])
TOLD = WeakPrior(difficulty_mean=EXPECTED, difficulty_sd=0.7).for_items(LABELS)
EVERY_PRIOR = {
    "weak": WeakPrior(),
    "weak with a limit": WeakPrior(steep=0.5),
    "expected": TOLD,
    "expected beside fixed items": TOLD.on_fixed_scale(),
    "independent": ItemPrior(Normal(1.1, 0.4), Normal(0.0, 2.0), Beta()),
    "learned": ItemDistribution(1.2, 0.4, 0.1, -0.3, 0.9, 0.5, 0.4),
}


@pytest.mark.parametrize("prior", EVERY_PRIOR.values(), ids=EVERY_PRIOR)
@pytest.mark.parametrize("guessing", [False, True])
def test_gradients_by_items_and_by_what_is_learned_are_those_of_differences(prior, guessing):
    generator, hyper, step = np.random.default_rng(4), Hyper(-0.2, 0.4), 1e-6
    items = Items(generator.normal(0.9, 0.7, 4), *generator.normal(size=(2, 4)))
    items = items if guessing else items._replace(logit_guessing=None)
    found = prior.at(items, hyper, common_slope=False)

    def at(some, learned):
        return prior.at(some, learned, common_slope=False).log_density

    for k, name in enumerate(items._fields[: found.gradient.shape[1]]):
        for j, unit in enumerate(step * np.eye(4)):
            ends = [items._replace(**{name: items[k] + side * unit}) for side in (1, -1)]
            rise = (at(ends[0], hyper) - at(ends[1], hyper)) / (2 * step)
            assert found.gradient[j, k] == pytest.approx(rise, abs=1e-6, rel=1e-6)
    for k, name in enumerate(("location", "log_scale")):
        moved = [hyper._replace(**{name: getattr(hyper, name) + h}) for h in (step, -step)]
        rise = (at(items, moved[0]) - at(items, moved[1])) / (2 * step)
        assert found.by_hyper[k] == pytest.approx(rise, abs=1e-6)


def test_the_weak_prior_is_what_its_documentation_says():
    slope, intercept, logit = np.random.default_rng(4).normal(size=(3, 6))
    hyper, ratio = Hyper(-0.2, 0.4), slope / np.exp(-0.2)
    expected = t.logpdf(np.arcsinh(ratio), 4, np.arcsinh(1), 0.3).sum()
    expected += norm.logpdf(intercept - 0.4 * slope, 0, 3).sum() + of_c(logit).sum()
    expected += norm.logpdf(-0.2, 0, 1) + norm.logpdf(0.4, 0, 5)
    found = WeakPrior().at(Items(slope, intercept, logit), hyper, common_slope=False)
    assert found.log_density == pytest.approx(expected)
    common = Items(np.full(6, 1.3), intercept)
    expected = norm.logpdf(np.log(1.3)) + norm.logpdf(intercept - 0.4 * 1.3, 0, 3).sum()
    expected += norm.logpdf(0.0) + norm.logpdf(0.4, 0, 5)
    found = WeakPrior().at(common, Hyper(0.0, 0.4), common_slope=True)
    assert found.log_density == pytest.approx(expected)


WIDE = {
    "no density": ItemPrior(intercept=Normal(0.0, 2.0)),
    "nothing at all": ItemPrior(),
    "a wide normal": ItemPrior(Normal(0.0, 1e4), Normal(0.0, 2.0)),
}


def with_a_step():
    """Items that differ in slope, and one that the ablest alone get right."""
    values = crowd("ordinary").responses.values[:60]
    order = values.sum(axis=1).argsort().argsort()
    return ResponseMatrix(np.column_stack([values, order >= 25]))


@pytest.mark.parametrize("prior", WIDE.values(), ids=WIDE)
def test_an_item_whose_slope_no_density_holds_is_unbounded_and_warned_of(prior):
    responses = with_a_step()
    with pytest.warns(UserWarning, match="No finite estimate"):
        items = fit(responses, prior=prior, method=EM(max_iterations=300)).items
    assert items["status"].iloc[-1] == "unbounded"
    assert items["discrimination"].abs().iloc[-1] > 20
    assert items["status"].eq("unbounded").sum() == 1


SMALL = ResponseMatrix([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]], items=LABELS)


def chances(chance):
    return fit(SMALL, "3PL", prior=WeakPrior(chance=chance))


@pytest.mark.parametrize(("make", "named"), [
    (lambda: WeakPrior(slope_spread=-1.0), "slope_spread of the prior must be above 0, got -1"),
    (lambda: Beta(0.0, 1.0), "alpha of Beta"),
    (lambda: ItemPrior(guessing=3), "guessing of ItemPrior"),
    (lambda: ItemPrior(intercept=Beta()), "intercept of ItemPrior must be Normal, or None"),
    (lambda: Normal(float("nan"), 1.0), "mean of Normal must be a finite number"),
    (lambda: Normal("a", 1.0), "mean of Normal must be a number"),
    (lambda: chances(1.0), "chance of the prior must be at least 0 and below 1"),
    (lambda: chances("four"), "chance of the prior must be a number"),
    (lambda: chances({"a": -0.1}), "chance of the prior must be at least 0"),
    (lambda: chances({"x": 0.1}), "chance of the prior must have labels of items, and 'x' is not"),
    (lambda: fit(SMALL, prior="strong"), "prior must be"),
    (lambda: fit(SMALL, "1PL", prior="empirical"), "empirical"),
])  # fmt: skip
def test_what_is_no_prior_is_refused_by_name(make, named):
    with pytest.raises((ValueError, TypeError), match=named):
        make()


@pytest.mark.parametrize(("mean", "sd", "message"), [
    (EXPECTED, None, "difficulty_mean needs difficulty_sd"),
    (3, 1.0, "Series or a mapping"),
    ({"x": 1.0}, 1.0, "lacks the items of the responses"),
    (
        {"a": 1.0, "bb": 0.0, "e": 2.0},
        1.0,
        r"'bb' is not one \(and 1 more label\).*Items without a mean: b, c, d. Leave out",
    ),
    ({"a": np.inf}, 1.0, "of 'a'"),
    (EXPECTED, 0.0, "above 0"),
    (pd.Series([0.0, 1.0], ["a", "a"]), 1.0, "item 'a' occurs twice"),
    (EXPECTED.to_frame("mean"), None, "needs the columns mean and sd"),
    (None, 1.0, "not given"),
])  # fmt: skip
def test_what_cannot_be_expected_is_refused(mean, sd, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(SMALL, prior=WeakPrior(difficulty_mean=mean, difficulty_sd=sd))


def predicted(n, n_items, error, seed=0):
    """Responses, predictions of difficulty with a known error, and intercepts."""
    generator = np.random.default_rng(seed)
    slope, intercept = generator.lognormal(0.0, 0.3, n_items), generator.normal(size=n_items)
    items = ItemParameters(slope, intercept, np.zeros(n_items))
    responses = simulate_responses(items, generator.normal(size=n), seed=generator)
    mean = pd.Series(-intercept + generator.normal(0, error, n_items), index=responses.items)
    return responses, mean, intercept


def intercepts(responses, mean, sd, *model, **settings):
    prior = WeakPrior(difficulty_mean=mean, difficulty_sd=sd)
    with silently():
        return fit(responses, *model, prior=prior, **settings).items["intercept"].to_numpy()


def test_the_same_expected_of_all_items_is_the_weak_prior_wherever_it_is():
    responses, mean, _ = predicted(40, 30, 0.5)
    same = intercepts(responses, pd.Series(1.7, index=responses.items), WeakPrior.intercept_spread)
    assert same == pytest.approx(fit(responses).items["intercept"].to_numpy(), abs=1e-6)
    near, far = (intercepts(responses, mean + shift, 0.5) for shift in (0.0, 5.0))
    assert near == pytest.approx(far, abs=1e-6)


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_predictions_make_few_answers_go_further(model):
    responses, mean, truth = predicted(10, 400, 0.5)
    off = intercepts(responses, mean, 0.5, model, standard_errors=False) - truth
    # ten answers leave 0.7, predictions alone 0.5, both together 1/√(1/0.7² + 1/0.5²) = 0.41
    assert np.sqrt(np.mean(off**2)) < 0.45


def test_beside_fixed_items_means_are_on_their_scale_also_in_another_fit():
    responses, mean, truth = predicted(200, 40, 0.01)
    bank = fit(responses).items.iloc[:20]
    asked = (np.arange(40) < 20) | (np.arange(200) < 4)[:, None]  # four answered the new items
    few = ResponseMatrix(np.where(asked, responses.values, -1), items=responses.items)
    prior = WeakPrior(difficulty_mean=mean.iloc[20:], difficulty_sd=0.1)
    with silently():
        result = fit(few, fixed=bank, prior=prior)
    assert result.items["intercept"].iloc[20:].to_numpy() == pytest.approx(truth[20:], abs=0.3)
    again = refitted(result, few, tol=1e-7, fixed=bank).items["intercept"]
    assert again.to_numpy() == pytest.approx(result.items["intercept"].to_numpy(), abs=1e-3)


def test_a_saved_result_says_what_was_expected(tmp_path):
    responses, mean, _ = predicted(30, 12, 0.5)
    values = responses.values.copy()
    values[:, 9] = -1  # which nobody answered
    prior = WeakPrior(difficulty_mean=mean.iloc[:8], difficulty_sd=0.5)
    with silently():
        fit(ResponseMatrix(values), prior=prior).save(tmp_path / "result.npz")
    record = load(tmp_path / "result.npz").settings.prior
    assert record["kind"] == "ExpectedItems"
    assert record["item_intercept_sd"] == [0.5] * 8 + [WeakPrior.intercept_spread] * 4
    assert record["item_intercept_mean"][:8] == pytest.approx([*mean[:8].mean() - mean[:8]])
    assert record["item_intercept_mean"][8:] == [None] * 4


def density(prior, model, x):
    """Log density of one item and of m and log τ; of Rasch the log SD stands for the slope."""
    slope = np.exp(x[:1]) if model == "Rasch" else x[:1]
    items = Items(slope, x[1:2], x[2:3] if model == "3PL" else None)
    hyper = Hyper(location=x[-2], log_scale=x[-1])
    return prior.at(items, hyper, common_slope=model in {"1PL", "Rasch"}).log_density
