"""Claims about scores by task and the macro average."""

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.commands import printed, refused

SIZES = (20, 60, 120)
PLACES = ["rank", "rank_low", "rank_high", "group"]


def drawn(n=20, sizes=SIZES, *, missing=0.0, seed=0):
    """Responses to tasks whose abilities correlate by 0.6, and the true scores on items like these.

    Difficulties are normal with an SD of 1.
    """
    generator, tasks = np.random.default_rng(seed), len(sizes)
    covariance = 0.6 + 0.4 * np.eye(tasks)
    theta = generator.multivariate_normal(np.zeros(tasks), covariance, n)
    task = np.repeat(np.arange(tasks), sizes)
    difficulty = generator.normal(size=len(task))
    values = (generator.random((n, len(task))) < logistic(theta[:, task] - difficulty)) * 1.0
    values[generator.random(values.shape) < missing] = np.nan
    responses = irtkit.ResponseMatrix(values)
    about = pd.DataFrame({"task": [f"t{k}" for k in task]}, [*responses.items])
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    true = logistic(theta[:, :, None] - nodes) @ weights / weights.sum()
    return responses.with_tables(about), true


def logistic(z):
    return 1 / (1 + np.exp(-z))


def test_every_task_has_the_same_weight():
    responses, _ = drawn()
    board = irtkit.fit(responses, standard_errors=False).leaderboard(by="task")
    by_task = responses.to_frame().T.groupby(responses.item_table["task"]).mean().T
    by_task = by_task.loc[board.index]
    for task in ("t0", "t1", "t2"):
        assert board[f"score_{task}"].to_numpy() == pytest.approx(by_task[task].to_numpy())
    assert board["average"].to_numpy() == pytest.approx(by_task.mean(axis=1).to_numpy())
    assert board["average"].is_monotonic_decreasing
    assert (board["rank"] == board["average"].round(9).rank(ascending=False, method="min")).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_one_task_gives_the_leaderboard_of_all_items(missing):
    result = irtkit.fit(drawn(missing=missing)[0])
    whole = result.leaderboard()
    board = result.leaderboard(by=dict.fromkeys(result.item_labels, "all")).loc[whole.index]
    assert board["average"].to_numpy() == pytest.approx(
        whole["expected_score"].to_numpy(), abs=1e-3
    )
    if not missing:
        assert board[PLACES].equals(whole[PLACES])
    assert (board["rank_low"] - whole["rank_low"]).abs().max() <= 1


def test_intervals_hold_true_scores_of_tasks_and_their_average():
    held = []
    for seed in range(15):
        responses, true = drawn(seed=seed)
        board = irtkit.fit(responses, standard_errors=False).leaderboard(by="task")
        board = board.loc[list(responses.respondents)]
        truth = np.column_stack([true.mean(axis=1), true])
        names = ["average", "score_t0", "score_t1", "score_t2"]
        low, high = (board[[f"{name}_{end}" for name in names]] for end in ("low", "high"))
        held.append((low.to_numpy() <= truth) & (truth <= high.to_numpy()))
    # systems share items: 15 boards of 20 systems have a sampling SD of about 0.02
    share = np.mean(held, axis=(0, 1))
    assert share.min() > 0.9
    assert share.max() < 0.995


def test_clusters_widen_intervals_also_if_they_span_tasks():
    responses, _ = drawn(sizes=(60, 60))
    values = responses.values.copy()
    values[:, 1::2] = values[:, ::2]  # pairs of the same item
    copied = irtkit.ResponseMatrix(values).with_tables(responses.item_table)
    result = irtkit.fit(copied, standard_errors=False)
    pairs = {item: k // 2 for k, item in enumerate(result.item_labels)}
    spanning = {item: k % 60 for k, item in enumerate(result.item_labels)}
    plain, clustered, across = (
        result.leaderboard(by="task", clusters=clusters) for clusters in (None, pairs, spanning)
    )
    width = (plain["score_t0_high"] - plain["score_t0_low"]).mean()
    wider = (clustered["score_t0_high"] - clustered["score_t0_low"]).mean()
    assert wider / width == pytest.approx(2**0.5, abs=0.08)
    assert across["score_t0"].equals(plain["score_t0"])
    assert not across["average_high"].equals(plain["average_high"])


def test_a_task_of_one_item_leaves_ranks_open():
    responses, _ = drawn(sizes=(1, 60))
    board = irtkit.fit(responses, standard_errors=False).leaderboard(by="task")
    assert (board["score_t0_low"] == 0).all()
    assert (board["rank_low"] == 1).all()
    assert (board["rank_high"] == 20).all()


def test_a_system_without_a_task_is_left_out_and_named():
    responses, _ = drawn()
    values = responses.values.astype(float)
    values[3, :20] = np.nan
    result = irtkit.fit(irtkit.ResponseMatrix(values).with_tables(responses.item_table))
    with pytest.warns(irtkit.IRTWarning, match=r"1 of 20 systems .*respondent-4") as caught:
        board = result.leaderboard(by="task")
    assert [one.message.code for one in caught] == ["tasks-not-taken"]
    assert "respondent-4" not in board.index
    assert len(board) == 19
    paired = irtkit.compare_systems(result, "respondent-1", "respondent-4", by="task")
    assert list(paired.index) == ["average", "t1", "t2"]


def test_tasks_that_no_system_takes_all_of_rank_nobody_and_have_no_view(tmp_path):
    responses, _ = drawn(sizes=(40, 40, 40))
    values = responses.values.astype(float)
    values[:10, :40] = values[10:, 80:] = np.nan
    result = irtkit.fit(irtkit.ResponseMatrix(values).with_tables(responses.item_table))
    with pytest.raises(ValueError, match="by needs a system with a response in every task"):
        result.leaderboard(by="task")
    irtkit.report(result, tmp_path / "page.html")
    assert 'id="tasks"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_two_systems_are_compared_by_task_and_on_average():
    result = irtkit.fit(drawn()[0], standard_errors=False)
    found = irtkit.compare_systems(result, "respondent-1", "respondent-2", by="task")
    tasks = found.drop(index="average")
    assert found.loc["average", "difference"] == pytest.approx(tasks["difference"].mean())
    assert found.loc["average", "se"] == pytest.approx(np.sqrt((tasks["se"] ** 2).sum()) / 3)
    responses = result.responses
    alone = irtkit.fit(responses.part(np.arange(20), np.arange(20, 80)), standard_errors=False)
    pair = irtkit.compare_systems(alone, "respondent-1", "respondent-2")
    expected = (60, pair.difference, pair.se, pair.low, pair.high, pair.p_value)
    assert tuple(found.loc["t1"]) == pytest.approx(expected)
    assert list(found["n_items"]) == [200, *SIZES]


def test_what_has_no_task_is_refused():
    result = irtkit.fit(drawn()[0], standard_errors=False)
    with pytest.raises(ValueError, match="by lacks a task for item 'item-2'"):
        result.leaderboard(by={"item-1": "a"})
    with pytest.raises(ValueError, match=r"by names 'tasks'.*from item to task"):
        result.leaderboard(by="tasks")
    with pytest.raises(ValueError, match="of='these' ranks by one ability"):
        result.leaderboard(by="task", of="these")
    with pytest.raises(ValueError, match="by needs two systems"):
        irtkit.compare_systems(result, by="task")
    with pytest.raises(ValueError, match="by has a task 'average'"):
        result.leaderboard(by=dict.fromkeys(result.item_labels, "average"))


def long_table(folder, sizes=SIZES):
    """Write a long table with a column of tasks."""
    responses, _ = drawn(sizes=sizes)
    long = responses.to_frame().stack().rename("correct")  # noqa: PD013
    long = long.rename_axis(["model", "item"]).reset_index()
    about = responses.item_table
    long.assign(task=long["item"].map(about["task"])).to_csv(folder / "suite.csv", index=False)


def test_the_command_prints_tasks_and_says_how_to_ask_for_them(tmp_path):
    long_table(tmp_path, (20, 30, 30, 30, 30))
    pooled = printed("leaderboard suite.csv", tmp_path)
    assert (
        "note: the score weights 5 tasks by their numbers of items (20 to 30). Add --by" in pooled
    )
    text = printed("leaderboard suite.csv --by task --out board.csv", tmp_path)
    assert "weights" not in text
    assert " t4\n" in text
    board = pd.read_csv(tmp_path / "board.csv")
    assert {"average", "score_t4", "score_t4_low"} <= {*board}
    pair = printed("compare-systems suite.csv respondent-1 respondent-2 --by task", tmp_path)
    assert pair.count("\nt") == 6  # with the heading
    assert "--by needs two systems" in refused("compare-systems suite.csv --by task", tmp_path)
    long_table(tmp_path, (20, 20))
    assert "weights" not in printed("leaderboard suite.csv", tmp_path)
