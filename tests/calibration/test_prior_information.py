"""Second derivatives of priors against differences of their densities, and what follows."""

import numpy as np
import pytest

from irtkit import Beta, ItemPrior, Normal, WeakPrior
from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.likelihood import Parameterisation, Population
from irtkit.calibration.priors import Hyper
from irtkit.calibration.standard_errors import prior_information
from irtkit.irf import MODELS, Items

ITEMS = Items(
    np.array([0.05, 0.9, -1.4, 3.0, 30.0]),
    np.array([0.5, -2.0, 0.1, 1.0, 4.0]),
    np.array([-1.5, -3.0, 0.0, -6.0, -1.0]),
)
HYPER = Hyper(log_scale=0.3, location=-0.4)


PRIORS = (
    WeakPrior(),
    ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta(5.0, 17.0)),
    ItemDistribution(1.2, 0.3, 0.05, 0.2, 1.1, -0.3, 0.6),
)


def density(prior, model, x):
    """Log density of one item and of m and log τ; of Rasch the log SD stands for the slope."""
    slope = np.exp(x[:1]) if model == "Rasch" else x[:1]
    items = Items(slope, x[1:2], x[2:3] if model == "3PL" else None)
    hyper = Hyper(location=x[-2], log_scale=x[-1])
    return prior.at(items, hyper, common_slope=model in {"1PL", "Rasch"}).log_density


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", PRIORS, ids=["weak", "own", "empirical"])
@pytest.mark.parametrize("j", range(5))
def test_the_information_of_a_prior_is_minus_the_second_derivative_of_its_density(model, prior, j):
    parameters, at_all = Parameterisation(model, 1, learns=prior.learns), ITEMS.chosen([j])
    items = at_all if model == "3PL" else at_all._replace(logit_guessing=None)
    sd = float(items.slope[0]) if model == "Rasch" else 1.0
    population = Population(0.0, abs(sd))
    at = parameters.values(parameters.vector(items, HYPER, population))._replace(hyper=HYPER)
    found = prior_information(prior, parameters, at, None)
    border = found.border[0]
    whole = np.block([[found.blocks[0], border], [border.T, found.corner]])
    slope = np.log(at.populations[0].sd) if model == "Rasch" else items.slope[0]
    parts = [slope, *(part[0] for part in items[1:] if part is not None), *HYPER[::-1]]
    expected = hessian(lambda x: -density(prior, model, x), np.array(parts))
    n = len(whole)
    assert whole == pytest.approx(expected[:n, :n], rel=1e-4, abs=1e-4)


def hessian(function, x):
    """Central differences of the fourth order, of one another."""
    steps, weights = np.diag(1e-3 * (0.1 + np.abs(x))), {-2: 1, -1: -8, 1: 8, 2: -1}
    found = np.empty((len(x), len(x)))
    for i, one in enumerate(steps):
        for j, other in enumerate(steps):
            total = sum(
                by_p * by_q * function(x + p * one + q * other)
                for p, by_p in weights.items()
                for q, by_q in weights.items()
            )
            found[i, j] = total / (144 * one[i] * other[j])
    return found
