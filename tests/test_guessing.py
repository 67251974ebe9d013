"""Claims about systems that score no better than guessing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix
from irtkit.data.limits import at_chance
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.data.limits import AtChance


def found(responses: Any, n_options: Any = None) -> AtChance | None:
    responses = responses if isinstance(responses, ResponseMatrix) else ResponseMatrix(responses)
    table = None if n_options is None else pd.DataFrame({"n_options": n_options}, responses.items)
    return at_chance(patterns_of(responses, synthetic_is_real=False), table)


def drawn(n: int, m: int, guessing: float = 0.0, mean: float = 0.0, seed: int = 0) -> Any:
    """Responses of one ability."""
    generator = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(generator.normal(mean, 1, (n, 1)) - generator.normal(size=m))))
    return (generator.random((n, m)) < guessing + (1 - guessing) * p).astype(np.int8)


def collapsed(n: int, m: int, seed: int = 0) -> Any:
    """Responses of systems that answer always one of two classes, of 55 % and 45 % of the items."""
    generator = np.random.default_rng(seed)
    always = (np.arange(m) < 0.55 * m) == (np.arange(n) % 2)[:, None]
    return (always ^ (generator.random((n, m)) < 0.01)).astype(np.int8)


@pytest.fixture
def rte(shared_data: Path) -> irtkit.FitResult:
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(shared_data / "nlu_rte.csv.gz")


def test_systems_that_answer_always_one_class_are_named_and_hardly_others() -> None:
    for n, m in ((90, 139), (12, 100), (40, 1000)):
        board = np.vstack([collapsed(n // 3, m), drawn(n - n // 3, m, 0.5, 1.0)])
        told = found(board)
        assert told is not None
        assert told.opposite
        assert told.level == 0.5
        assert {*range(n // 3)} <= {*told.rows}
        assert len(told.rows) <= n // 3 + 0.1 * n
        assert told.highest == board[told.rows].mean(axis=1).max()


def test_nobody_is_named_where_systems_differ_by_ability_or_too_few_guess() -> None:
    for n, m in ((90, 139), (12, 100), (400, 40)):
        for mean in (0.0, 3.0):
            assert found(drawn(n, m, mean=mean)) is None
    assert found(drawn(90, 139, 0.25, -1.0)) is None  # weak, and nobody says of how many options
    assert found(drawn(90, 139, 0.25, 3.0), 4) is None
    assert found(np.vstack([collapsed(4, 139), drawn(86, 139, mean=4.0)])) is None
    assert found(np.random.default_rng(0).integers(0, 2, (50, 200))) is None


def test_the_number_of_options_says_what_guessing_gives() -> None:
    coins = np.random.default_rng(1).random((30, 200)) < np.repeat([0.25, 0.5], 100)
    board = np.vstack([coins, drawn(60, 200, 0.4, 2.0)]).astype(np.int8)
    told = found(board, np.repeat(["4", "2"], 100))
    assert told is not None
    assert not told.opposite
    assert told.level == 0.375
    assert len({*range(30)} & {*told.rows}) >= 28
    assert told.rows.max() < 30
    half = found(board, np.repeat([4, np.nan], 100))  # the others count for nothing
    assert half is not None
    assert half.level == 0.25
    assert half.highest <= board[half.rows][:, :100].mean(axis=1).max()
    assert found(board, np.nan) is found(board) is None


def test_sparse_and_repeated_cells_are_judged_as_what_they_are() -> None:
    board = np.vstack([collapsed(20, 200), drawn(40, 200, 0.5, 1.0)])
    told = found(board)
    sparse = found(ResponseMatrix(board).to_sparse())
    thrice = found(ResponseMatrix.from_counts(3 * board, np.full(board.shape, 3)))
    assert told is not None
    assert sparse is not None
    assert sparse.rows.tolist() == told.rows.tolist()
    assert thrice is not None
    assert {*range(20)} <= {*thrice.rows}
    holes = np.where(np.random.default_rng(2).random(board.shape) < 0.3, -1, board)
    missing = found(holes)
    assert missing is not None
    assert {*range(20)} <= {*missing.rows}


def test_a_fit_names_systems_at_chance_first_and_keeps_them_out_of_the_lead(
    tmp_path: Path,
) -> None:
    board = np.vstack([collapsed(30, 100), drawn(20, 100, 0.5, 1.0)])
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(board, standard_errors=False)
        fewer = irtkit.fit(result.responses.drop(result.at_chance), standard_errors=False)
    assert result.findings[0].code == "systems-at-chance"
    assert {f"respondent-{k}" for k in range(1, 31)} <= {*result.at_chance}
    assert result.one_ability_doubted
    assert board.mean(axis=1)[result.best_first].tolist() == sorted(board.mean(axis=1))[::-1]
    assert fewer.at_chance == ()
    assert fewer.best_first.tolist() == np.argsort(-fewer.ability, kind="stable").tolist()
    result.save(tmp_path / "fit", include_responses=False)
    back = irtkit.load(tmp_path / "fit")
    assert back.at_chance == result.at_chance
    assert back.best_first.tolist() == result.best_first.tolist()


def test_of_rte_the_systems_at_chance_come_first_and_none_leads_a_table(
    rte: irtkit.FitResult,
) -> None:
    assert rte.findings[0].values["n"] == 59
    respondents = rte.respondents
    accuracy = respondents["accuracy"]
    assert {*rte.at_chance} == {*accuracy.index[accuracy <= 0.6]}
    best = accuracy.idxmax()
    printed = str(rte)
    assert printed.index("Systems at chance") < printed.index("90 systems answer like")
    assert printed.split("highest-scoring respondents:")[1].splitlines()[3].split()[0] == best
    assert rte.respondent_labels[rte.best_first[0]] == best
    with warnings.catch_warnings(action="ignore"):
        assert rte.leaderboard().index[0] == best
    assert irtkit.information(rte).top[0] == best
    assert irtkit.compare_difficulties(rte, folds=0).systems is None
    audit = str(irtkit.audit(rte))
    assert audit.index("Systems at chance") < audit.index("Suspect items")
    assert audit.count("Systems at chance") == 1
