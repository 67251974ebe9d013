"""Health of a benchmark. `benchmarks/health.py` measures how often its findings are true."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.crowds import crowd, fitted


def board(difficulties: list[float], n_systems: int = 200) -> np.ndarray:
    items = irtkit.ItemParameters.from_difficulty(np.ones(len(difficulties)), difficulties)
    abilities = np.linspace(-2, 2, n_systems)
    return irtkit.simulate_responses(items, abilities, seed=1).values.copy()


def codes(values: np.ndarray) -> list[str]:
    return [one.code for one in irtkit.fit(values).health().findings]


def test_an_ordinary_board_has_no_finding() -> None:
    found = fitted("ordinary").health()
    assert not found.findings
    assert not len(found.near_duplicates)
    assert list(found.table.index) == ["all"]


@pytest.mark.parametrize(
    ("difficulty", "code"), [(-9.0, "items-at-ceiling"), (9.0, "items-at-floor")]
)
def test_items_that_all_or_none_solve_are_a_finding(difficulty: float, code: str) -> None:
    assert codes(board([difficulty] * 8 + [0.0] * 32)) == [code]


def test_a_board_that_is_too_easy_for_the_best_is_saturated() -> None:
    assert "few-separating" in codes(board([-3.0] * 38 + [2.0] * 2))


def test_copied_items_are_grouped_by_the_first_of_them() -> None:
    values = board([0.0] * 40)
    values[:, 7] = values[:, 30] = values[:, 2]
    with pytest.warns(irtkit.IRTWarning, match="Not unidimensional"):
        found = irtkit.fit(values).health()
    assert set(found.items.index[found.items["group"] == "item-3"]) == {
        "item-3",
        "item-8",
        "item-31",
    }
    assert int(found.table.loc["all", "near_duplicates"]) == 2
    assert [one.code for one in found.findings] == ["further-ability", "near-duplicate-items"]
    assert "the first 3 of 3 pairs" in str(found)
    assert {"item-3", "item-8", "item-31"} <= {*str(found).split()}


@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_pairs_are_those_of_a_comparison_of_all_items(
    share_missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    values = board([*np.linspace(-2, 2, 300)]).astype(float)
    values[:, 20:300:20] = np.abs(values[:, 1:15] - (generator.random((200, 14)) < 0.03))
    values[generator.random(values.shape) < share_missing] = np.nan
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(values)
    found = result.health().near_duplicates
    assert len(found) >= 10
    monkeypatch.setattr("irtkit.suspects.health._ITEMS_AT_ONCE", 7)
    pd.testing.assert_frame_equal(result.health().near_duplicates, found)


def test_missing_responses_do_not_make_items_alike() -> None:
    assert not len(fitted("incomplete").health().near_duplicates)


def test_tasks_have_rows_and_findings_name_them() -> None:
    responses = irtkit.ResponseMatrix(board([-9.0] * 10 + [0.0] * 40))
    tasks = pd.DataFrame({"task": ["easy"] * 10 + ["hard"] * 40}, responses.items)
    found = irtkit.fit(responses.with_tables(tasks)).health()
    assert list(found.table.index) == ["all", "easy", "hard"]
    assert found.table["ceiling"].tolist() == [10, 10, 0]
    assert found.findings[0].values["tasks"] == ["easy"]


def test_a_task_of_few_items_is_not_named_for_one_of_them() -> None:
    responses = irtkit.ResponseMatrix(board([-9.0] + [0.0] * 49))
    tasks = pd.DataFrame({"task": np.repeat(["first", *"abcd"], 10)}, responses.items)
    found = irtkit.fit(responses.with_tables(tasks)).health()
    assert found.table.loc["first", "ceiling"] == 1
    assert not found.findings


def test_items_to_add_reach_the_reliability() -> None:
    items = irtkit.ItemParameters.from_difficulty(np.ones(10), np.zeros(10))
    responses = irtkit.simulate_responses(items, np.random.default_rng(0).normal(size=2000), seed=1)
    found = irtkit.fit(responses, "Rasch").health()
    n = 10 + found.to_add.loc["reach a reliability of 0.9", "n_items"]
    more = irtkit.ItemParameters.from_difficulty(np.ones(n), np.zeros(n))
    result = irtkit.fit(
        irtkit.simulate_responses(more, np.random.default_rng(1).normal(size=2000), seed=2), "Rasch"
    )
    assert irtkit.information(result).marginal_reliability == pytest.approx(0.9, abs=0.02)


def test_health_fits_one_screen() -> None:
    shown = str(fitted("few").health())
    assert len(shown.splitlines()) <= 24
    assert max(map(len, shown.splitlines())) <= 80


def test_health_needs_responses(tmp_path: object) -> None:
    result = irtkit.fit(crowd("small").responses)
    result.save(f"{tmp_path}/saved.npz", include_responses=False)
    with pytest.raises(ValueError, match="health needs the responses"):
        irtkit.load(f"{tmp_path}/saved.npz").health()
