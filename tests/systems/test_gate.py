"""Claims about gates."""

import numpy as np
import pytest
from scipy.stats import beta, ttest_rel

import irtkit


def run(right, n=1000, name="v", *, shift=0):
    """The first answers right, as many as said, after some that are wrong."""
    place = np.arange(n)
    return irtkit.ResponseMatrix(
        ((place >= shift) & (place < shift + right)).astype(int)[None], [name]
    )


@pytest.mark.parametrize(("new", "max_drop", "verdict"), [
    (run(700), 0.01, "failed"),
    (run(800), 0.01, "passed"),
    (run(790), 0.01, "inconclusive"),
    (run(790), 0.05, "passed"),
    (run(800, shift=100), 0.01, "inconclusive"),  # other answers, as many right
    (run(900), 0.0, "passed"),
])  # fmt: skip
def test_a_verdict_is_by_what_is_shown(new, max_drop, verdict):
    found = irtkit.gate(run(800), new, max_drop=max_drop)
    assert found.verdict == verdict
    (system,) = found.systems
    assert (system.low > max_drop) == (verdict == "failed")
    assert (system.high <= max_drop) == (verdict == "passed")
    assert (system.p_value < 0.05) == (verdict == "failed")
    assert f"Gate {verdict}" in found.markdown


def test_systems_are_found_by_label_and_share_the_rate_of_alarms():
    generator = np.random.default_rng(0)
    old = irtkit.ResponseMatrix(generator.integers(0, 2, (3, 400)), ["a", "b", "c"])
    values = old.values.copy()
    values[1, :60] = 0
    new = irtkit.ResponseMatrix(values[::-1], ["c", "b", "a"])
    found = irtkit.gate(old, new, max_drop=0.02)
    verdicts = {system.system: system.verdict for system in found.systems}
    assert verdicts == {"a": "passed", "b": "failed", "c": "passed"}
    assert found.verdict == "failed"
    assert "98.33% certainty" in " ".join(str(found).split())


def test_items_that_lost_their_responses_are_counted_as_those_that_are_gone():
    old = irtkit.ResponseMatrix([[1, 1, 0, 1], [1, 0, 0, -1]], ["a", "b"])
    new = irtkit.ResponseMatrix([[1, 1, 0, -1], [1, 0, -1, 1]], ["a", "b"])
    found = irtkit.gate(old, new, max_drop=0.5)
    assert [system.n_items for system in found.systems] == [3, 2]
    assert [(one.code, one.values["n"]) for one in found.limits] == [
        ("gate-old-items", 2),
        ("gate-new-items", 1),
    ]


def test_a_gate_does_not_pass_without_a_system_that_is_gone():
    answers = np.random.default_rng(0).integers(0, 2, (3, 400))
    old = irtkit.ResponseMatrix(answers, ["a", "b", "c"])
    assert irtkit.gate(old, old, max_drop=0.02).verdict == "passed"
    part = irtkit.ResponseMatrix(answers[[0, 1, 2]], ["a", "b", "new"])
    empty = irtkit.ResponseMatrix(np.where([[0], [0], [1]], -1, answers), ["a", "b", "c"])
    for new in (part, empty):
        found = irtkit.gate(old, new, max_drop=0.02)
        assert {system.verdict for system in found.systems} == {"passed"}
        assert found.limits[0].values == {"systems": ["c"]}
        assert found.verdict == "inconclusive"
    added = irtkit.gate(irtkit.ResponseMatrix(answers[:2], ["a", "b"]), part, max_drop=0.02)
    assert (added.verdict, added.limits[0].values["systems"]) == ("passed", ["new"])


def test_clusters_widen_the_bounds_of_a_gate_as_copies_do():
    generator = np.random.default_rng(1)
    old, new = generator.integers(0, 2, (2, 1, 60))
    whole = irtkit.gate(irtkit.ResponseMatrix(old), irtkit.ResponseMatrix(new))
    three = [irtkit.ResponseMatrix(np.repeat(each, 3, axis=1)) for each in (old, new)]
    clusters = {label: k // 3 for k, label in enumerate(three[0].items)}
    found = irtkit.gate(*three, clusters=clusters)
    for name in ("drop", "low", "high", "p_value"):
        value = getattr(whole.systems[0], name)
        assert getattr(found.systems[0], name) == pytest.approx(value), name
    alone = irtkit.gate(*three).systems[0]
    assert alone.high - alone.low < 0.7 * (whole.systems[0].high - whole.systems[0].low)
    with pytest.raises(ValueError, match="clusters lacks a cluster for item 'item-180'"):
        irtkit.gate(*three, clusters=dict(list(clusters.items())[:-1]))


def test_a_gate_of_repeated_trials_is_the_paired_t_test_of_their_shares():
    generator = np.random.default_rng(2)
    right = generator.integers(0, 6, (2, 80))
    runs = [irtkit.ResponseMatrix.from_counts(row[None], np.full((1, 80), 5)) for row in right]
    (found,) = irtkit.gate(*runs, max_drop=0).systems
    test = ttest_rel(*(right / 5), alternative="greater")
    assert found.drop == pytest.approx((right[0] - right[1]).mean() / 5)
    assert found.p_value == pytest.approx(test.pvalue)
    assert found.low == pytest.approx(test.confidence_interval(0.95).low)


def test_scores_of_the_new_run_alone_are_no_right_and_wrong_answers():
    right = np.random.default_rng(0).random((1, 60)) < 0.8
    whole, less = irtkit.ResponseMatrix(right.astype(np.int8)), irtkit.ResponseMatrix(right * 0.99)
    assert irtkit.gate(whole, less, max_drop=0.005).verdict == "failed"


def test_where_nothing_changed_the_bound_is_the_exact_one():
    for n in (50, 200, 1000):
        (found,) = irtkit.gate(run(n, n), run(n, n), max_drop=0.01).systems
        assert found.high == pytest.approx(1 - 0.05 ** (1 / n), rel=0.03)
    some = irtkit.gate(run(200, 200), run(195, 200), max_drop=0.01).systems[0]
    assert some.high == pytest.approx(beta.ppf(0.95, 6, 195), rel=0.02)
    many = irtkit.gate(run(50, 50), run(40, 50), max_drop=0.01).systems[0]
    assert many.high == pytest.approx(beta.ppf(0.95, 11, 40), rel=0.015)
    clusters = {f"item-{k + 1}": k // 20 for k in range(200)}
    (clustered,) = irtkit.gate(run(200, 200), run(200, 200), clusters=clusters).systems
    assert clustered.high > 1 - 0.05 ** (1 / 10)  # ten passages that may each fall as one


def test_without_a_change_the_gate_says_how_many_items_would_pass():
    few = irtkit.gate(run(100, 100), run(100, 100), max_drop=0.01)
    assert few.verdict == "inconclusive"
    needed = int(few.systems[0].items_needed)
    assert 300 < needed < 1000
    assert irtkit.gate(run(needed, needed), run(needed, needed), max_drop=0.01).verdict == "passed"
    of_twenty = {f"item-{k + 1}": k // 20 for k in range(10_000)}
    few = irtkit.gate(run(200, 200), run(200, 200), max_drop=0.02, clusters=of_twenty)
    needed = int(few.systems[0].items_needed) // 20 * 20 + 20
    many = irtkit.gate(run(needed, needed), run(needed, needed), max_drop=0.02, clusters=of_twenty)
    assert (few.verdict, many.verdict) == ("inconclusive", "passed")


def test_runs_that_do_not_meet_are_refused():
    with pytest.raises(ValueError, match="0 items in common"):
        irtkit.gate(run(3, 2), irtkit.ResponseMatrix([[1, 0]], items=["x", "y"]))
    old, new = (
        irtkit.ResponseMatrix([[1, 0], [0, 1]], names) for names in (["a", "b"], ["c", "d"])
    )
    with pytest.raises(ValueError, match="one system each"):
        irtkit.gate(old, new)


def test_a_gate_names_both_runs_and_says_how_many_answers_changed():
    same = irtkit.gate(run(80, 100, "v1"), run(80, 100, "v1"))
    other = irtkit.gate(run(80, 100, "v1"), run(85, 100, "v2", shift=1))
    assert [one.systems[0].n_changed for one in (same, other)] == [0, 7]
    assert (same.systems[0].name, other.systems[0].name) == ("v1", "v1 → v2")
    assert "(0 answered differently)" in str(same.findings[0])
    assert "if the drop" not in str(other)
    assert "more items" not in other.shown().text(legend=True).split("verdict:")[1][:200]
