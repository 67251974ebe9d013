"""What tests of the statistics of fit share."""

import pytest

from irtkit import ItemPrior, Normal, fit

FITS = {}
"""Fits that a test has asked for, which others get too."""


@pytest.fixture
def mirt_fit(classical_test):
    """Fit a classical test as R's mirt did, and find what that says of the fit."""

    def of(name, model):
        responses, mirt = classical_test(name)
        if (name, model) not in FITS:
            guessing = ItemPrior(guessing=Normal(-1.1, 0.5))
            prior, kind = (guessing, "3PL") if model == "3PLnorm" else (None, model)
            FITS[name, model] = fit(
                responses, kind, prior=prior, quadrature=(61, 6.0), standard_errors=False
            )
        return FITS[name, model], mirt[model]

    return of
