"""Drift between two versions of a benchmark."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

import irtkit
from irtkit.capabilities import UnsuitableDataError

N_ITEMS = 200


def versions(n, shift, seed, *, n_drifting=10, same=False):
    """Two versions, of which some items became easier by 1.5 logits, and how much each did."""
    generator = np.random.default_rng([seed, n])
    slope = generator.lognormal(0, 0.3, N_ITEMS)
    difficulty = generator.normal(size=N_ITEMS)
    easier = np.where(generator.permutation(N_ITEMS) < n_drifting, 1.5, 0.0)
    ability = generator.normal(size=(2, n, 1))
    ability[1] = ability[0] + shift if same else ability[1] + shift
    matrices = []
    for k, name in enumerate(("old", "new")):
        right = generator.random((n, N_ITEMS)) < expit(
            slope * (ability[k] - difficulty) + k * easier
        )
        labels = [f"{'system' if same else name}-{i}" for i in range(n)]
        matrices.append(irtkit.ResponseMatrix(right.astype(np.int8), labels))
    return matrices[0], matrices[1], easier


@cache
def changed(n, shift, seed, n_drifting=10):
    old, new, easier = versions(n, shift, seed, n_drifting=n_drifting)
    drift = irtkit.drift(old, new)
    drift.items["truth"] = drift.items.index.map(dict(zip(old.items, easier, strict=True)))
    return drift, easier


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_most_items_that_became_easier_are_found(shift):
    tables = [changed(60, shift, seed)[0].items for seed in range(4)]
    called = [table[table["became"] != ""] for table in tables]
    assert np.mean([(table["truth"] > 0).sum() for table in called]) >= 3
    assert np.mean([(table["truth"] == 0).sum() for table in called]) <= 1.5
    assert all((table["became"] == "easier")[table["truth"] > 0].all() for table in called)


def test_many_items_that_became_easier_do_not_make_others_harder():
    table = changed(200, 0.0, 8, n_drifting=80)[0].items
    called = table[table["became"] != ""]
    assert (called["truth"] > 0).sum() >= 70
    assert (called["truth"] == 0).sum() <= 8


def test_without_drift_nothing_is_called_and_scores_do_not_shift():
    drift, _ = changed(60, 0.5, 0, n_drifting=0)
    assert [finding.code for finding in drift.findings] == ["no-drift", "drift-improved"]
    assert drift.shift == (0, 0, 0)
    assert drift.improvement.low > 0


def test_items_of_one_version_are_listed_and_left_out():
    old, new, _ = versions(30, 0.0, 1)
    older = irtkit.ResponseMatrix(old.values[:, :150], old.respondents, old.items[:150])
    newer = irtkit.ResponseMatrix(new.values[:, 50:], new.respondents, new.items[50:])
    drift = irtkit.drift(older, newer)
    assert (len(drift.items), len(drift.removed), len(drift.added)) == (100, 50, 50)
    assert drift.findings[-1].values == {"n_removed": 50, "n_added": 50}


def test_answers_that_repeat_narrow_the_error_of_a_change():
    old, new, _ = versions(60, 0.0, 2, n_drifting=0, same=True)
    kept = np.random.default_rng(0).random(new.values.shape) < 0.8
    repeated = irtkit.ResponseMatrix(np.where(kept, old.values, new.values), old.respondents)
    alone, alike = irtkit.drift(old, new), irtkit.drift(old, repeated)
    assert (alone.n_both, alike.n_both) == (60, 60)
    assert alike.items["change_se"].mean() < 0.7 * alone.items["change_se"].mean()


def test_hard_items_left_out_by_new_systems_are_no_improvement():
    old, new, _ = versions(60, 0.0, 4, n_drifting=0, same=True)
    whole = irtkit.drift(old, new).improvement
    hard = np.argsort(old.values.mean(axis=0))[:40]
    values = new.values.copy()
    values[:, hard] = np.where(np.random.default_rng(0).random((60, 40)) < 0.8, -1, values[:, hard])
    part = irtkit.drift(old, irtkit.ResponseMatrix(values, new.respondents)).improvement
    assert part.value == pytest.approx(whole.value, abs=0.02)


def test_copies_of_systems_do_not_narrow_an_improvement():
    alone = versions(30, 0.5, 5, n_drifting=0)[:2]
    copied = [irtkit.ResponseMatrix(np.repeat(one.values, 4, axis=0)) for one in alone]
    widths = [
        change.high - change.low
        for change in (irtkit.drift(*alone).improvement, irtkit.drift(*copied).improvement)
    ]
    assert widths[1] > 0.9 * widths[0]


def test_two_versions_of_one_system_are_a_gate():
    old, new, _ = versions(20, 0.0, 3)
    with pytest.raises(UnsuitableDataError, match="versions of one system"):
        irtkit.drift(irtkit.ResponseMatrix(old.values[:1]), new)


def test_it_prints_within_80_columns():
    text = str(changed(60, 0.0, 0)[0])
    assert "Easier: " in text
    assert max(map(len, text.splitlines())) <= 80


def test_link_fixed_items_and_groups_name_the_items_that_drift():
    old, new, easier = versions(200, 0.5, 6)
    first, second = irtkit.fit(old), irtkit.fit(new)
    drift = irtkit.drift(first, new).items
    drifting = set(drift.index[drift["became"] != ""])
    linked = irtkit.link(first, second).items
    with pytest.warns(UserWarning, match="Anchor drift"):
        later = irtkit.fit(new, fixed=first)
    assert set(linked.index[linked["drifts"]]) == drifting
    assert set(later.items.query("drifts").index) == drifting
    np.testing.assert_allclose(later.items["drift_z"], drift["z"][list(old.items)])
    both = irtkit.ResponseMatrix(np.vstack([old.values, new.values]))
    groups = np.repeat(["old", "new"], 200)
    compared = irtkit.differential_functioning(both, groups, reference="old")
    harder_before = set(compared.index[compared["harder_for"] == "old"])
    planted = {item for item, shift in zip(old.items, easier, strict=True) if shift}
    assert len(planted & drifting) >= 8
    assert len(harder_before ^ drifting) <= 2


def test_without_earlier_answers_fixed_items_are_tested_by_their_errors():
    old, new, easier = versions(200, 0.5, 7)
    table = irtkit.fit(old).items
    with pytest.warns(UserWarning, match="Anchor drift"):
        drifts = irtkit.fit(new, fixed=table).items["drifts"].to_numpy()
    assert drifts[easier > 0].sum() >= 8
    assert drifts[easier == 0].sum() <= 2
