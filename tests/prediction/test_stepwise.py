"""Claims about stepwise linear regression."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from irtkit.prediction.stepwise import StepwiseLinear


def test_with_all_features_of_use_it_is_least_squares() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(100, 4))
    y = x @ [1.0, -2.0, 3.0, 0.5] + 7 + generator.normal(0, 0.1, 100)
    model = StepwiseLinear().fit(x, y)
    exact = np.linalg.lstsq(np.column_stack([x, np.ones(100)]), y, rcond=None)[0]
    assert [*model.coef_, model.intercept_] == pytest.approx(exact)
    assert model.predict(x) == pytest.approx(x @ exact[:4] + exact[4])


def test_features_of_no_use_are_mostly_left_out() -> None:
    # AIC takes up a useless feature when its F is above 2, one in six
    generator = np.random.default_rng(1)
    x = generator.normal(size=(400, 60))
    chosen = StepwiseLinear().fit(x, x[:, 5] + generator.normal(size=400)).chosen_
    assert chosen[0] == 5
    assert len(chosen) < 20


def test_weights_count_observations_that_often() -> None:
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=(60, 3)), generator.normal(size=60)
    y = y + x[:, 0]
    times = generator.integers(1, 4, 60)
    weighted = StepwiseLinear().fit(x, y, times)
    several = StepwiseLinear().fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    assert weighted.chosen_.tolist() == several.chosen_.tolist()
    assert weighted.coef_ == pytest.approx(several.coef_)
    assert weighted.intercept_ == pytest.approx(several.intercept_)
    assert weighted.coef_[0] != pytest.approx(StepwiseLinear().fit(x, y).coef_[0])


def test_a_constant_and_a_copy_add_nothing() -> None:
    x = np.random.default_rng(3).normal(size=(50, 1))
    table = np.column_stack([x, x, np.ones(50)])
    assert StepwiseLinear().fit(table, 2 * x[:, 0] + 1).chosen_.tolist() == [0]
