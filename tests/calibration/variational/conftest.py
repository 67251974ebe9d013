"""Targets of every kind of model and prior, with guides and items that are nothing special."""

import numpy as np
import pytest

from irtkit import Beta, ItemPrior, Normal, WeakPrior
from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.variational.guide import Guide
from irtkit.calibration.variational.target import target_of

N_ITEMS = 5
SLOPES = np.array([0.7, 1.0, 1.4, -0.8, 0.3])
MANY, FEW = 100, 1
"""Respondents beside whom five items are few, and many: intercepts are then measured from m·a."""
LEARNED = ItemDistribution(1.2, 0.4, 0.1, -0.3, 0.9, 0.5, 0.4)
KINDS = {
    "2PL weak": ("2PL", WeakPrior(), MANY),
    "2PL weak, moving": ("2PL", WeakPrior(), FEW),
    "1PL weak": ("1PL", WeakPrior(), MANY),
    "1PL weak, moving": ("1PL", WeakPrior(), FEW),
    "3PL weak": ("3PL", WeakPrior(), MANY),
    "3PL weak, moving": ("3PL", WeakPrior(), FEW),
    "2PL learned": ("2PL", LEARNED, MANY),
    "3PL learned, moving": ("3PL", LEARNED, FEW),
    "2PL normal": ("2PL", ItemPrior(Normal(1.0, 0.5), Normal(0.2, 2.0)), MANY),
    "2PL lognormal": ("2PL", ItemPrior(Normal(1.0, 0.4), Normal(0.0, 2.0)), FEW),
    "1PL normal": ("1PL", ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0)), MANY),
    "1PL lognormal": ("1PL", ItemPrior(Normal(1.0, 0.4), Normal(0.0, 2.0)), MANY),
    "3PL beta": ("3PL", ItemPrior(Normal(1.0, 0.4), Normal(0.0, 2.0), Beta(5, 17)), MANY),
    "3PL normal": ("3PL", ItemPrior(Normal(1, 1), Normal(0, 2), Normal(-1.1, 0.5)), MANY),
}


@pytest.fixture(params=KINDS)
def target(request):
    model, prior, n_respondents = KINDS[request.param]
    return target_of(model, prior, SLOPES, n_respondents)


@pytest.fixture
def guide(target):
    """A guide with every entry of its own, and more shifts than shared coordinates."""
    generator = np.random.default_rng(1)
    n, k = target.coordinates.n_shared, target.coordinates.n_own
    factor = np.tril(generator.normal(0, 0.1, (N_ITEMS, k, k)))
    factor[:, np.arange(k), np.arange(k)] = generator.uniform(0.1, 0.5, (N_ITEMS, k))
    root = generator.normal(0, 0.1, (n + 3, n + 3))
    return Guide(
        own=generator.normal(0.3, 0.7, (N_ITEMS, k)),
        shared=generator.normal(0, 0.4, n),
        factor=factor,
        loading=generator.normal(0, 0.3, (N_ITEMS, k, n + 3)),
        common=root @ root.T + 0.01 * np.eye(n + 3),
    )


@pytest.fixture
def point(guide):
    return guide.mean
