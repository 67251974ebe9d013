"""Claims about learning surfaces."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from irtkit import learning_surface

api = pytest.importorskip("statsmodels.api")


def frame_of(n_items=200, seed=0):
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


def test_coefficients_and_errors_agree_with_statsmodels():
    frame = frame_of()
    found = learning_surface(frame)
    terms = ["intercept", "log training_size", "difficulty", "log training_size:difficulty"]
    assert found.coefficients.loc["a"].index.tolist() == terms
    for name, part in frame.groupby("model"):
        size, b = np.log(part["training_size"].to_numpy()), part["difficulty"].to_numpy()
        x = np.column_stack([np.ones(len(part)), size, b, size * b])
        model = api.Logit(part["right"].astype(int).to_numpy(), x)
        theirs = model.fit(disp=0, tol=1e-14)
        ours = found.coefficients.loc[name]
        assert ours["estimate"].to_numpy() == pytest.approx(theirs.params, abs=1e-6)
        assert ours["se"].to_numpy() == pytest.approx(theirs.bse, abs=1e-6)
        clusters = {"groups": part["item"].to_numpy()}
        sandwich = model.fit(disp=0, tol=1e-14, cov_type="cluster", cov_kwds=clusters)
        assert ours["se_clustered"].to_numpy() == pytest.approx(sandwich.bse, rel=1e-6)
        t = ours["estimate"] / ours["se_clustered"]
        assert ours["p_value"].to_numpy() == pytest.approx(2 * student.sf(t.abs(), 199), rel=1e-5)
        reach = student.ppf(0.975, 199) * ours["se_clustered"]
        assert (ours["high"] - ours["estimate"]).to_numpy() == pytest.approx(reach.to_numpy())


def test_errors_clustered_in_two_ways_are_sums_of_scores():
    frame = frame_of(100)
    found = learning_surface(frame, by=["model"], clusters=["item", "training_size"])
    assert found.systems["n_clusters"].tolist() == [4, 4]
    assert [one.code for one in found.findings] == ["few-clusters"]
    assert found.coefficients[["se_clustered", "low", "p_value"]].isna().all(axis=None)
    rows = np.arange(len(frame))
    frame = frame.assign(batch=rows % 17, row=rows)
    both, item, batch, row = (
        learning_surface(frame, by=[], clusters=clusters).coefficients["se_clustered"] ** 2
        for clusters in (["item", "batch"], ["item"], ["batch"], ["row"])
    )
    # few rows share both, so that these are about clusters of one
    assert both.to_numpy() == pytest.approx((item + batch - row).to_numpy(), rel=0.05)


def test_the_grid_is_the_surface():
    found = learning_surface(frame_of())
    grid, terms = found.grid, found.coefficients.loc["a", "estimate"].to_numpy()
    assert len(grid) == 2 * 25 * 25
    row = grid[grid["model"] == "a"].iloc[130]
    size, b = np.log(row["training_size"]), row["difficulty"]
    assert row["log_odds"] == pytest.approx(terms @ [1, size, b, size * b])
    assert row["probability"] == pytest.approx(1 / (1 + np.exp(-row["log_odds"])))
    assert grid["training_size"].agg(["min", "max"]).tolist() == pytest.approx([10, 5000])


def test_the_same_covariate_may_be_of_items_and_all_systems_be_pooled():
    minutes = frame_of().rename(columns={"training_size": "minutes"}).drop(columns="difficulty")
    found = learning_surface(minutes, covariate="minutes", log=False)
    assert found.coefficients.loc["a"].index.tolist() == ["intercept", "minutes"]
    assert list(found.grid) == ["model", "minutes", "log_odds", "probability"]
    pooled = learning_surface(minutes, covariate="minutes", by=[])
    assert pooled.systems.index.tolist() == ["all"]
    assert pooled.systems["n_clusters"].tolist() == [2]  # the systems, fewer than items
    hard = frame_of().rename(columns={"difficulty": "b"}).assign(task="one")
    found = learning_surface(hard, difficulty="b")
    assert found.coefficients.loc[("a", "one")].index[2] == "difficulty"


@pytest.mark.parametrize(("sizes", "right", "status"), [
    ([1, 2, 3, 4], [0, 0, 1, 1], "unbounded"),
    ([1, 2, 2, 3], [0, 0, 1, 1], "unbounded"),  # separated but for a point of both
    ([1, 2, 3, 4], [1, 1, 1, 1], "unbounded"),
    ([2, 2, 2, 2], [0, 1, 0, 1], "collinear"),
    ([1, 2, 3, 4], [0, 1, 0, 1], "ok"),
])  # fmt: skip
def test_a_surface_without_a_maximum_is_reported(sizes, right, status):
    frame = pd.DataFrame({"model": "net", "training_size": sizes * 5, "right": right * 5})
    found = learning_surface(frame)
    assert found.systems.loc["net", "status"] == status
    assert found.coefficients["estimate"].isna().all() == (status != "ok")
    assert len(found.grid) == 25 * (status == "ok")
    values = {"status": status, "systems": ["net"]}
    assert [one.values for one in found.findings] == [values] * (status != "ok")


@pytest.mark.parametrize(("change", "settings", "message"), [
    ({"training_size": 0}, {}, "must be above 0, or be taken with log=False"),
    ({"right": 2}, {}, "column 'right' must be 0 or 1"),
    ({}, {"covariate": "siz"}, "names 'siz', which is not a column"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(change, settings, message):
    with pytest.raises(ValueError, match=message):
        learning_surface(frame_of(20).assign(**change), **settings)


def test_without_statsmodels_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.genmod.generalized_linear_model", None)
    with pytest.raises(ImportError, match=r"irtkit\[curves\]"):
        learning_surface(frame_of(20))
