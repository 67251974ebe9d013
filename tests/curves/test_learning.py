"""Claims about learning surfaces and horizons."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from irtkit import learning_surface

api = pytest.importorskip("statsmodels.api")


def frame_of(n_items: int = 200, seed: int = 0) -> pd.DataFrame:
    """Answers of two systems at four sizes."""
    generator = np.random.default_rng(seed)
    difficulty = pd.Series(generator.normal(size=n_items))
    index = pd.MultiIndex.from_product(
        [["a", "b"], [10, 100, 1000, 5000], range(n_items)],
        names=["model", "training_size", "item"],
    )
    frame = index.to_frame(index=False)
    frame["difficulty"] = frame["item"].map(difficulty)
    size = np.log(frame["training_size"])
    z = size - 5 - frame["difficulty"] - 0.15 * size * frame["difficulty"]
    return frame.assign(right=generator.random(len(frame)) < 1 / (1 + np.exp(-z)))


def test_coefficients_and_errors_agree_with_statsmodels() -> None:
    frame = frame_of()
    found = learning_surface(frame)
    terms = ["intercept", "log training_size", "difficulty", "log training_size:difficulty"]
    assert found.coefficients.loc["a"].index.tolist() == terms
    for name, part in frame.groupby("model"):
        size, b = np.log(part["training_size"].to_numpy()), part["difficulty"].to_numpy()
        x = np.column_stack([np.ones(len(part)), size, b, size * b])
        theirs = api.Logit(part["right"].astype(int).to_numpy(), x).fit(disp=0, tol=1e-14)
        ours = found.coefficients.loc[name]
        assert ours["estimate"].to_numpy() == pytest.approx(theirs.params, abs=1e-6)
        assert ours["se"].to_numpy() == pytest.approx(theirs.bse, abs=1e-6)
        assert found.systems.loc[name, "log_likelihood"] == pytest.approx(theirs.llf)
        clusters = {"groups": part["item"].to_numpy()}
        kind = {"cov_type": "cluster", "cov_kwds": clusters, "use_t": True}
        sandwich = api.Logit(part["right"].astype(int).to_numpy(), x).fit(disp=0, tol=1e-14, **kind)
        assert ours["se_clustered"].to_numpy() == pytest.approx(sandwich.bse, rel=1e-6)
        t = ours["estimate"] / ours["se_clustered"]
        assert ours["p_value"].to_numpy() == pytest.approx(2 * student.sf(t.abs(), 199), rel=1e-6)
        reach = student.ppf(0.975, 199) * ours["se_clustered"]
        assert (ours["high"] - ours["estimate"]).to_numpy() == pytest.approx(reach.to_numpy())


def test_the_grid_is_the_surface() -> None:
    found = learning_surface(frame_of())
    grid, terms = found.grid, found.coefficients.loc["a", "estimate"].to_numpy()
    assert len(grid) == 2 * 25 * 25
    row = grid[grid["model"] == "a"].iloc[130]
    size, b = np.log(row["training_size"]), row["difficulty"]
    assert row["log_odds"] == pytest.approx(terms @ [1, size, b, size * b])
    assert row["probability"] == pytest.approx(1 / (1 + np.exp(-row["log_odds"])))
    assert grid["training_size"].agg(["min", "max"]).tolist() == pytest.approx([10, 5000])


def test_a_horizon_is_where_the_share_is_reached() -> None:
    found = learning_surface(frame_of())
    table = found.horizons([0.5, 0.8], difficulty=0.5)
    labels: Any = list(table.index)
    for (name, share), (_, row) in zip(labels, table.iterrows(), strict=True):
        terms, size = found.coefficients.loc[name, "estimate"].to_numpy(), np.log(row.iloc[1])
        z = terms @ [1, size, 0.5, 0.5 * size]
        assert 1 / (1 + np.exp(-z)) == pytest.approx(share)
        assert row["training_size_low"] < row["training_size"] < row["training_size_high"]
        assert not row["beyond"]


def test_repeated_runs_are_trials_or_rows() -> None:
    frame = frame_of().drop(columns="item")
    keys = ["model", "training_size", "difficulty"]
    twice = pd.concat([frame, frame_of(seed=1).drop(columns="item").assign(**frame[keys])])
    counted = twice.groupby(keys)["right"].agg(right="sum", n="count").reset_index()
    one = learning_surface(twice).coefficients
    other = learning_surface(counted, trials="n").coefficients
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)


def test_the_same_covariate_may_be_minutes_of_people_or_a_date() -> None:
    frame = frame_of()
    minutes = frame.rename(columns={"training_size": "minutes"}).drop(columns="difficulty")
    found = learning_surface(minutes, covariate="minutes")
    assert found.coefficients.loc["a"].index.tolist() == ["intercept", "log minutes"]
    assert "difficulty" not in found.horizons()
    dates = frame.assign(
        date=pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * np.log(frame["training_size"]), "D")
    )
    found = learning_surface(dates, covariate="date", by=[])
    assert found.systems.index.tolist() == ["all"]
    horizon = found.horizons([0.5])["date"].iloc[0]
    assert pd.Timestamp("2024-01-01") < horizon < pd.Timestamp("2025-01-01")
    assert found.systems["n_clusters"].tolist() == [2]  # the systems, fewer than items
    assert found.coefficients[["se_clustered", "low", "high", "p_value"]].isna().all(axis=None)
    ends = found.horizons([0.5])[["date_low", "date_high"]]
    assert ends.isna().all(axis=None)
    assert [one.code for one in found.findings] == ["few-clusters"]


def test_a_surface_without_a_maximum_is_unbounded() -> None:
    frame = pd.DataFrame({"model": "net", "size": [1, 2, 3, 4] * 5, "right": [0, 0, 1, 1] * 5})
    found = learning_surface(frame)
    assert found.systems.loc["net", "status"] == "unbounded"
    assert found.coefficients["estimate"].isna().all()
    assert len(found.grid) == 0
    assert found.horizons()["size"].isna().all()
    assert not found.horizons()["beyond"].any()
    assert found.findings[0].values == {"status": "unbounded", "systems": ["net"]}
    constant = learning_surface(frame_of().assign(training_size=7))
    assert set(constant.systems["status"]) == {"collinear"}


@pytest.mark.parametrize(
    ("change", "settings", "error", "message"),
    [
        ({"training_size": 0}, {}, ValueError, "must be above 0 on a log scale.*log=False"),
        ({"training_size": "2024-01-01"}, {}, TypeError, "to_datetime to make dates"),
        ({"right": 2}, {}, ValueError, "column 'right' must be 0 or 1, and row 0 has 2"),
        ({}, {"covariate": "siz"}, ValueError, "covariate names 'siz', which is not a column"),
        ({}, {"clusters": ["item", "model", "right"]}, ValueError, "two columns at most"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    change: dict[str, Any], settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        learning_surface(frame_of(20).assign(**change), **settings)


def test_without_statsmodels_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.genmod.families", None)
    with pytest.raises(ImportError, match=r"irtkit\[curves\]"):
        learning_surface(frame_of(20))
