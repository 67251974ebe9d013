"""Claims about what an audit says, and that everything irtkit prints tells one list."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import irtkit
from irtkit import ItemParameters, ResponseMatrix, simulate_responses
from irtkit.cli.outputs import described, write_fit
from irtkit.data.slopes import called_negative
from irtkit.printed import plain

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit import FitResult
    from irtkit.irf import ModelName

N_ITEMS, N_WRONG, N_RIGHT = 150, 4, 3


@pytest.fixture(scope="module")
def responses() -> ResponseMatrix:
    """150 items, 10 inverted, 2 copies of another, 4 that all get wrong, 3 that all get right."""
    generator = np.random.default_rng(1)
    slopes = generator.lognormal(0, 0.3, N_ITEMS)
    slopes[:10] *= -1
    items = ItemParameters(slopes, generator.normal(size=N_ITEMS), np.zeros(N_ITEMS))
    values = simulate_responses(items, generator.normal(size=120), seed=2).values.copy()
    values[:, -N_WRONG:], values[:, -N_WRONG - N_RIGHT : -N_WRONG] = 0, 1
    values[:, 10:12] = values[:, :1]
    return ResponseMatrix(values)


@pytest.fixture(scope="module")
def result(responses: ResponseMatrix) -> FitResult:
    return irtkit.fit(responses)


@pytest.fixture(scope="module")
def found(result: FitResult) -> irtkit.suspects.Audit:
    return irtkit.audit(result)


def test_fit_audit_comparison_and_summary_tell_the_same_number(
    result: FitResult, found: irtkit.suspects.Audit, tmp_path: Path
) -> None:
    items = result.items
    n = int(called_negative(items["p_negative"], slope=items["discrimination"].to_numpy()).sum())
    assert n > 6
    assert found.n_negative == n
    assert f"Negative discrimination: {n}." in found.headline
    sentence = f"{n} of {N_ITEMS} items have negative discrimination"
    assert sentence in str(result)
    write_fit(result, tmp_path, source="made")
    counts = json.loads((tmp_path / "summary.json").read_text())["counts"]
    assert counts["negative_discrimination"] == n
    assert (counts["all_wrong"], counts["all_right"]) == (N_WRONG, N_RIGHT)


def test_what_no_system_gets_right_is_a_list_of_its_own(
    result: FitResult, found: irtkit.suspects.Audit
) -> None:
    last = [f"item-{k}" for k in range(N_ITEMS - N_WRONG + 1, N_ITEMS + 1)]
    assert found.all_wrong == last
    assert not found.items.index.isin(last).any()
    for text in (" ".join(str(result).split()), " ".join(str(found).split())):
        assert f"{N_WRONG} items that no system gets right: look here for broken" in text
        assert f"{N_RIGHT} items that every system gets right" in text


def test_items_answered_alike_are_one_line(found: irtkit.suspects.Audit) -> None:
    assert {"item-1", "item-11", "item-12"} <= set(found.items.index)
    printed = str(found)
    assert "item-1 +2 alike" in printed
    assert "item-12 " not in printed
    assert "… and" not in printed
    only = plain(found.shown(1))
    n_alike = int(only.split(" +")[1].split()[0]) if " +" in only else 0
    assert f"… and {len(found.suspects) - 1 - n_alike} more" in only


def test_without_its_responses_a_result_is_audited_by_what_was_saved(
    result: FitResult, found: irtkit.suspects.Audit, tmp_path: Path
) -> None:
    result.save(tmp_path / "r.npz", include_responses=False)
    back = irtkit.audit(irtkit.load(tmp_path / "r.npz"))
    assert back.families is None
    assert back.items.index.tolist() == found.items.index.tolist()
    assert back.headline == found.headline
    assert back.all_wrong == found.all_wrong
    assert "item-12 " in str(back)  # nothing says that it is answered as item-1 is


def test_families_are_those_that_flag_items_takes() -> None:
    crowd = irtkit.load_digits_crowd()
    result = irtkit.fit(crowd.responses)
    found = irtkit.audit(result)
    assert found.families is not None
    assert found.families.index.tolist() == list(result.respondent_labels)
    assert found.families["bayes-multinomial-n50"] == found.families["centroid-n50"]
    named = irtkit.flag_items(result, families=found.families)
    similar = irtkit.flag_items(result, families="similar")
    pd.testing.assert_frame_equal(named, similar)


def test_flat_items_have_no_difficulty_in_print() -> None:
    generator = np.random.default_rng(5)
    slopes = np.r_[0.0, 0.0, generator.lognormal(0.3, 0.3, 58)]
    intercepts = np.r_[-2.5, -2.5, generator.normal(size=58)]
    items = ItemParameters(slopes, intercepts, np.zeros(60))
    result = irtkit.fit(simulate_responses(items, generator.normal(size=400), seed=6))
    assert result.status[:2] == ("flat", "flat")
    assert result.status.count("flat") == 2
    hardest = str(result).split("highest average error")[1].splitlines()
    (line,) = (line for line in hardest if line.startswith("item-1 "))
    assert f"{result.items['difficulty']['item-1']:.3f}" not in line
    comparison = irtkit.compare_difficulties(result, folds=0)
    assert comparison.table["difficulty"].isna().tolist() == [True, True] + [False] * 58


def test_a_suspect_item_can_be_read(responses: ResponseMatrix) -> None:
    asked = [f"What is\n{item}\x1b[31m?  {'And why? ' * 20}" for item in responses.items]
    known = pd.DataFrame({"text": asked, "target": "42\a", "level": 1}, index=responses.items)
    result = irtkit.fit(responses.with_tables(known))
    found = irtkit.audit(result)
    assert found.items["text"].tolist() == known.loc[found.items.index, "text"].tolist()
    lines = [line for line in str(found).splitlines() if "What is" in line]
    assert len(lines) == 10
    assert {len(line) for line in lines} <= {79, 80}  # no space before what is cut off
    assert lines[0].startswith(f"{found.items.index[0]}")
    assert all(r"\x1b[31m? And why?" in line and line.endswith(r"… → 42\x07") for line in lines)
    assert "\x1b" not in str(found)
    comparison = irtkit.compare_difficulties(result, folds=0)
    assert comparison.table["text"].tolist() == asked
    assert {*comparison.pairs["measure_1"], *comparison.pairs["measure_2"]}.isdisjoint(known)
    written = described(found.items, known)
    assert [*written.columns[-3:]] == ["text", "target", "level"]
    without = irtkit.audit(irtkit.fit(responses.with_tables(known[["level"]])))
    assert "text" not in without.items
    assert "→" not in str(without)


def test_items_that_few_tried_are_not_called_broken() -> None:
    values = np.random.default_rng(3).integers(0, 2, (40, 20))
    values[:, :2] = 0
    values[7:, 1] = -1
    with pytest.warns(UserWarning, match="No ability differences"):
        result = irtkit.fit(values)
    for text in (" ".join(str(result).split()), " ".join(str(irtkit.audit(result)).split())):
        assert "1 item that no system gets right: look here for broken items (item-1)" in text
        assert "1 item that no system gets right, of fewer than 8 that tried" in text


def test_of_a_sparse_matrix_it_is_said_that_pairs_are_not_listed(responses: ResponseMatrix) -> None:
    sparse = irtkit.audit(irtkit.fit(responses.to_sparse()))
    assert "sparse-not-compared" in [one.code for one in sparse.findings]
    assert sparse.families is None


@pytest.mark.parametrize("model", ["2PL", "3PL"])
@pytest.mark.parametrize("letter", ["x", "問"])
def test_everything_is_printed_within_80_columns(
    responses: ResponseMatrix, model: ModelName, letter: str
) -> None:
    names = [[f"{letter * 40}{k}" for k in range(n)] for n in responses.values.shape]
    result = irtkit.fit(ResponseMatrix(responses.values, *names), model, standard_errors=False)
    comparison = irtkit.compare_difficulties(result, folds=0)
    for told in (result, irtkit.audit(result), comparison):
        assert max(map(cell_len, str(told).splitlines())) <= 80
        assert "discriminati…" not in str(told)


def test_an_audit_says_which_items_to_look_at_first(found: irtkit.suspects.Audit) -> None:
    assert found.look_first == [*found.items.index[:3]]
    assert f"Look first at {', '.join(found.look_first)}: " in str(found)
    assert "at the key" in str(found)
    nothing = replace(found, items=found.items.iloc[:0])
    assert nothing.look_first == []
    assert "Look first" not in str(nothing)


def test_uninformative_items_are_no_suspects(result: FitResult) -> None:
    found = irtkit.audit(result, extreme_difficulty=0.5)
    assert set(found.uninformative["reasons"]) <= {("flat",), ("extreme",), ("flat", "extreme")}
    assert found.headline == irtkit.audit(result).headline
    names = ", ".join(found.uninformative.index[:2])
    assert f"Names: {names}" in " ".join(str(found).split())


def test_a_tie_of_the_ablest_is_told_and_the_first_of_them_come_first() -> None:
    values = (np.arange(30)[:, None] > np.arange(10)).astype(int)
    text = str(irtkit.fit(values, "1PL", standard_errors=False))
    assert "ablest respondents (20 are as able as the first):" in text
    assert "respondent-11" in text.split("ablest")[1]
    assert "respondent-30" not in text
