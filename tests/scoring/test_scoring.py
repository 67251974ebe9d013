"""Abilities on items that are calibrated, scales that are linked, and items that drift."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit

import irtkit
from irtkit import ItemParameters, ResponseMatrix, fit, link, score, simulate_responses
from irtkit.findings import IRTWarning
from irtkit.irf import softplus
from irtkit.scoring import LINKS, items_for_scores
from tests.crowds import crowd, fitted

pytestmark = pytest.mark.filterwarnings("ignore:Unknown misfit")


def test_tables_of_systems_are_printed_with_all_columns_that_fit():
    result = fitted("small")
    scores, board = score(result.responses, result), result.leaderboard()
    for table, column in (
        (scores, "status"),
        (board, "tied"),
        (result.compare_systems(), "differ"),
    ):
        lines = str(table).split("\n")
        assert max(map(len, lines)) <= 80
        assert column in str(table)
        assert "..." not in str(table)
        assert type(table.head(2)) is pd.DataFrame
        table["new"] = 1
        assert "new" in str(table)
        assert "new" in table._repr_html_()


# Claims about abilities on items that are calibrated
def spread(n_items):
    """Items with a slope of 1 and difficulties from −2 to 2."""
    return ItemParameters.from_difficulty(np.ones(n_items), np.linspace(-2, 2, n_items))


def part(responses, some):
    """Responses to some of the items."""
    return ResponseMatrix(responses.values[:, some], items=responses.items[some])


MIRT_MODELS = ("Rasch", "1PL", "2PL", "3PL", "3PLnorm")
NOT_THE_HIGHEST = {("wirs", "3PL"), ("wirs", "3PLnorm"), ("abortion", "3PLnorm")}
"""Slopes of 30 and more: likelihoods have several modes, and mirt ends at a lower one."""


@pytest.mark.parametrize("model", MIRT_MODELS)
@pytest.mark.parametrize("name", ["lsat6", "lsat7", "sat12", "sat12_missing", "wirs", "abortion"])
def test_abilities_are_those_of_mirt(classical_test, name, model):
    responses, mirt = classical_test(name)
    if model not in mirt or "eap_first20" not in mirt[model] or (name, model) in NOT_THE_HIGHEST:
        pytest.skip("mirt has no such estimate")
    found = mirt[model]
    items = pd.DataFrame(found["items"]).set_axis([*responses.items])
    items = items[[name for name in ("a", "d", "g") if name in items]]
    first = pd.DataFrame(found["eap_first20"])
    codes = [[int(c) if c in "01" else -1 for c in pattern] for pattern in first["pattern"]]
    answers = ResponseMatrix(codes, items=responses.items)
    sd = found["group"]["var"] ** 0.5
    columns = {"EAP": ("theta", "se"), "MAP": ("map", "map_se"), "ML": ("ml", "ml_se")}
    if sd > 2:  # much of the population lies beyond the grid of mirt, which EAP is taken over
        del columns["EAP"]
    for method, wanted in columns.items():
        scores = score(answers, items, method, latent_sd=sd)
        for ours, theirs in zip(("ability", "ability_se"), wanted, strict=True):
            if theirs not in first:
                continue
            values = pd.to_numeric(first[theirs]).to_numpy(dtype=float)
            finite = np.isfinite(values) & np.isfinite(scores["ability"])
            np.testing.assert_allclose(scores[ours][finite], values[finite], atol=3e-4)


def on_a_fine_grid(items, right, tried, method):
    """Highest points of what a method maximises, on 60,001 abilities from −30 to 30."""
    theta = np.linspace(-30, 30, 60_001)
    a, c = items.discrimination[:, None], items.guessing[:, None]
    z = a * theta + items.intercept[:, None]
    s = 1 / (1 + np.exp(-z))
    p = c + (1 - c) * s
    log_wrong = np.log1p(-c) - softplus(z)
    with np.errstate(divide="ignore"):
        log_right = np.logaddexp(np.log(c), np.log1p(-c) - softplus(-z))
    curves = right @ log_right + (tried - right) @ log_wrong
    if method == "MAP":
        curves -= theta**2 / 2
    if method == "WLE":
        by_item = a**2 * (s / p) * s * (1 - s) * (1 - c)
        information, bend = tried @ by_item, tried @ (by_item * a * (1 - 2 * s))
        slope = bend / (2 * np.maximum(information, 1e-300))
        curves[:, 1:] += np.cumsum((slope[:, 1:] + slope[:, :-1]) / 2 * 1e-3, axis=1)
    highest = []
    for curve in curves:
        k = int(curve.argmax())
        if curve[[0, -1]].max() > curve[k] - 1e-8:
            highest.append(float("inf"))
            continue
        below, top, above = curve[k - 1 : k + 2]
        highest.append(theta[k] + 1e-3 * 0.5 * (below - above) / (below - 2 * top + above))
    return highest


@pytest.mark.parametrize("method", ["MAP", "ML", "WLE"])
@pytest.mark.parametrize(
    ("cells", "guessing"),
    [("complete", True), ("missing", False), ("repeated", True), ("sparse", True)],
)
def test_maxima_are_the_highest_of_a_fine_grid(method, cells, guessing):
    generator = np.random.default_rng(["complete", "missing", "repeated", "sparse"].index(cells))
    for n_items in (3, 30):
        slopes = generator.lognormal(0, 0.5, n_items)
        slopes[-1] *= -1
        lower = generator.beta(2, 8, n_items) if guessing else 0.0
        difficulty = generator.normal(0, 1.3, n_items)
        items = ItemParameters.from_difficulty(slopes, difficulty, lower)
        shape = (8, n_items)
        tried = np.ones(shape, int) if cells == "complete" else generator.integers(0, 2, shape)
        tried = generator.integers(0, 4, shape) if cells == "repeated" else tried
        tried[:, 0] = 1
        right = generator.binomial(tried, items.probability(generator.normal(0, 1.5, 8)))
        answers = ResponseMatrix.from_counts(right, tried)
        answers = answers.to_sparse() if cells == "sparse" else answers
        scores = score(answers, items, method)
        found = scores["ability"].to_numpy()
        wanted = on_a_fine_grid(items, right, tried, method)
        finite = np.abs(wanted) < 15  # beyond, what is the highest differs by 1e-9
        np.testing.assert_allclose(found[finite], np.array(wanted)[finite], atol=1e-4)
        assert (np.abs(found[~finite]) > 15).all()
        assert (scores["status"] == np.where(np.isinf(found), "unbounded", "ok")).all()


@pytest.mark.parametrize("method", ["EAP", "MAP", "WLE", "ML"])
def test_intervals_hold_what_they_should(method):
    """95 % intervals of ability and of the score on all items, 2,000 respondents (SE 0.5 %).

    Warm's estimate varies less than the information says, and its intervals hold 0.965.
    """
    generator = np.random.default_rng(5)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 80), generator.normal(size=80)
    )
    ability = generator.normal(size=2000)
    whole = simulate_responses(items, ability, seed=generator)
    columns = {"discrimination": items.discrimination, "difficulty": items.difficulty}
    table, asked = pd.DataFrame(columns, whole.items), part(whole, slice(None, None, 4))
    scores = score(asked, table, method)
    held = scores["ability_low"].to_numpy() <= ability
    held &= ability <= scores["ability_high"].to_numpy()
    assert 0.935 <= held.mean() <= (0.98 if method == "WLE" else 0.965)
    total = whole.values.mean(axis=1)
    low, high = scores["expected_score_low"].to_numpy(), scores["expected_score_high"].to_numpy()
    assert 0.93 <= ((low <= total) & (total <= high)).mean() <= 0.975


@pytest.mark.parametrize("n_asked", [3, 20, 400])
def test_bounds_of_eap_are_quantiles_of_the_posterior(n_asked):
    """Whoever answered few items has a posterior much wider than the spacing of nodes."""
    generator = np.random.default_rng(n_asked)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 400), generator.normal(size=400)
    )
    answers = simulate_responses(items, [0.5, 1.0], seed=generator).values.copy()
    answers[0, n_asked:] = -1
    first = score(answers, items).iloc[0]
    theta, asked = np.linspace(-6, 6, 120_001), items.chosen(np.arange(n_asked))
    p = asked.probability(theta[::100])
    logarithm = np.log(p) @ answers[0, :n_asked] + np.log1p(-p) @ (1 - answers[0, :n_asked])
    density = np.exp(CubicSpline(theta[::100], logarithm - logarithm.max())(theta) - theta**2 / 2)
    below = np.cumsum(density) / density.sum()
    wanted = np.interp([0.025, 0.975], below, theta)
    np.testing.assert_allclose(
        first[["ability_low", "ability_high"]].astype(float), wanted, atol=2e-4
    )


def test_items_are_found_by_label_and_strange_ones_are_left_out():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}, ["q1", "q2"])
    turned = ResponseMatrix([[1, 0, 1]], items=["q2", "new", "q1"])
    with pytest.warns(IRTWarning, match="1 of 3 items of the responses") as given:
        found = score(turned, table)
    warning = given[0].message
    assert isinstance(warning, IRTWarning)
    assert (warning.code, warning.finding.values["items"]) == ("uncalibrated-items", ["new"])
    same = score(ResponseMatrix([[1, 1]], items=["q1", "q2"]), table)
    np.testing.assert_array_equal(found.drop(columns="status"), same.drop(columns="status"))


def test_items_come_from_results_tables_and_files(tmp_path):
    result, responses = fitted("small"), crowd("small").responses
    result.save(tmp_path / "result.npz")
    irtkit.write_table(result.items, tmp_path / "items.csv")
    wanted = score(responses, result)
    for given in (result.items, tmp_path, tmp_path / "result.npz", str(tmp_path / "items.csv")):
        pd.testing.assert_frame_equal(score(responses, given), wanted)


@pytest.mark.parametrize(("items", "message"), [
    (pd.DataFrame({"difficulty": [1.0]}, ["q1"]), r"items needs the columns .*irtkit fit"),
    (pd.DataFrame({"a": [np.nan], "b": [0.0]}, ["q1"]), "no item with parameters"),
    (
        pd.DataFrame({"a": [1.0], "b": [0.0]}, ["z"]),
        "Items of the responses: q1. Calibrated items: z",
    ),
    (ItemParameters.from_difficulty([1.0, 1.0], [0.0, 1.0]), "2 items without labels"),
])  # fmt: skip
def test_items_that_do_not_go_with_responses_are_refused(items, message):
    with pytest.raises(ValueError, match=message):
        score(ResponseMatrix([[1]], items=["q1"]), items)


@pytest.mark.filterwarnings("error")
def test_an_unknown_misfit_is_warned_of_if_items_are_left(tmp_path):
    result, responses = fitted("small"), crowd("small").responses
    result.save(tmp_path / "r.npz", include_responses=False)
    half = ResponseMatrix(np.tile([1, 0, 0, 0, 0], (1, 2)), items=responses.items[:10])
    for given in (result.items, tmp_path / "r.npz"):
        with pytest.warns(UserWarning, match="Unknown misfit"):
            score(half, given)
        score(responses, given)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_only_systems_that_may_be_as_good_as_the_best_calibrated_are_opened(level):
    responses = simulate_responses(spread(60), np.linspace(-2, 2, 90), seed=1)
    result = fit(responses)
    third = float(np.sort(responses.values.mean(axis=1))[-3])
    assert set(score(responses, result, level=level)["status"]) == {"ok"}  # nothing left to ask
    asked, limitless = part(responses, slice(None, None, 3)), items_for_scores(result)
    found = score(asked, replace(limitless, best=None), level=level)
    with pytest.warns(UserWarning, match="Beyond the calibration: .* of 90 systems may score as h"):
        opened = score(asked, result, level=level)
    highest = 1 - (asked.values == 0).sum(axis=1) / 60
    is_opened = np.isclose(opened["expected_score_high"], highest)
    assert is_opened[(found["expected_score_high"] > third - 0.02).to_numpy()].all()
    assert not is_opened[:30].any()
    pd.testing.assert_frame_equal(opened[~is_opened], found[~is_opened])
    is_beyond = (opened["status"] == "beyond").to_numpy()
    assert is_opened[is_beyond].all()
    assert (is_opened == opened["status"].isin(["open", "beyond"])).all()
    same = ["expected_score", "expected_score_low"]
    pd.testing.assert_frame_equal(opened[same], found[same])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("saved", [False, True])
def test_few_systems_like_the_calibrated_ones_are_beyond_them(saved, tmp_path):
    """60 calibrated systems, 500 new ones of the same population on 30 of 100 items."""
    items, generator = spread(100), np.random.default_rng(2)
    result = fit(simulate_responses(items, generator.normal(size=60), seed=1), "1PL")
    if saved:
        result.save(tmp_path / "r.npz", include_responses=False)
        result = irtkit.load(tmp_path / "r.npz")
    for shift, low, high in ((0.0, 0.0, 0.1 if saved else 0.05), (4.0, 0.9, 1.0)):
        new = simulate_responses(items, generator.normal(shift, size=500), seed=2)
        found = score(part(new, slice(None, None, 3)), result)
        assert low <= (found["status"] == "beyond").mean() <= high


# Claims about two calibrations put on one scale
def table(slopes, difficulties, guessing=0.0):
    columns = {"a": slopes, "b": difficulties, "c": guessing}
    return pd.DataFrame(columns, [f"q{k}" for k in range(len(slopes))])


def test_drifting_items_are_named_and_constants_are_within_their_errors():
    """Two of 40 items harder by 1, six draws: of 228 others hardly one is named."""
    off, found, wrongly = [], 0, 0
    for seed in range(6):
        generator = np.random.default_rng(seed)
        slopes, difficulty = generator.lognormal(0, 0.3, 40), generator.normal(size=40)
        items = ItemParameters.from_difficulty(slopes, difficulty)
        later = ItemParameters.from_difficulty(slopes, difficulty + (np.arange(40) < 2))
        ability = generator.normal(size=(2, 600))
        first = fit(simulate_responses(items, ability[0], seed=generator))
        second = fit(simulate_responses(later, 0.7 + 0.8 * ability[1], seed=generator))
        linking = link(first, second)
        off.append((linking.slope - 0.8) / linking.slope_se)
        off.append((linking.intercept - 0.7) / linking.intercept_se)
        found += int(linking.items["drifts"].iloc[:2].sum())
        wrongly += int(linking.items["drifts"].iloc[2:].sum())
    assert found >= 7
    assert wrongly <= 2
    assert 0.6 < np.sqrt(np.mean(np.square(off))) < 1.5


def noisy():
    """Twelve items and the same with errors, on another scale, with guessing."""
    generator = np.random.default_rng(15)
    first = table(generator.lognormal(0, 0.4, 12), generator.normal(size=12), 0.15)
    slopes = first["a"] * 0.8 * generator.lognormal(0, 0.25, 12)
    return first, table(slopes, (first["b"] - 0.5) / 0.8 + generator.normal(0, 0.4, 12), 0.15)


def curves(items, slope=1.0, intercept=0.0):
    """Kolen & Brennan (2014), equations 6.2 and 6.3: of items moved by A and B, from −4 to 4."""
    a, b, c = (items[name].to_numpy() for name in "abc")
    theta = np.arange(-20, 21)[:, None] / 5
    return c + (1 - c) / (1 + np.exp(-a / slope * (theta - slope * b - intercept)))


@cache
def direct(method):
    """A and B as the definitions have them, abilities of the criteria N(0, 1)."""
    first, second = noisy()
    if method in {"mean-mean", "mean-sigma"}:
        of = second["a"].mean() / first["a"].mean()
        slope = of if method == "mean-mean" else first["b"].std() / second["b"].std()
        return slope, first["b"].mean() - slope * second["b"].mean()
    weights = np.exp(-((np.arange(-20, 21) / 5) ** 2) / 2)

    def criterion(constants):
        off = curves(second, *constants) - curves(first)
        square = (off**2).sum(axis=1) if method == "Haebara" else off.sum(axis=1) ** 2
        return float(weights @ square)

    found = minimize(criterion, (1.0, 0.0), method="Nelder-Mead", options={"xatol": 1e-8})
    return float(found.x[0]), float(found.x[1])


@pytest.mark.parametrize("method", LINKS)
def test_each_method_is_its_definition_on_items_with_errors(method):
    linking = link(*noisy(), method)
    found = np.array([linking.slope, linking.intercept])
    np.testing.assert_allclose(found, direct(method), atol=1e-5)
    assert linking.ability(2.0) == pytest.approx(2 * found[0] + found[1])
    others = [direct(other) for other in LINKS if other != method]
    assert min(np.abs(found - other).max() for other in others) > 0.01


@pytest.mark.parametrize(("change", "method", "message"), [
    ({"a": -1.0}, "Haebara", "slopes of the same sign"),
    ({"a": -1.0}, "mean-mean", "two common items that discriminate"),
    ({"b": 0.0}, "mean-sigma", "different difficulties"),
])  # fmt: skip
def test_what_cannot_be_linked_is_refused(change, method, message):
    first = table([1.0, 1.2, 0.8, 1.1], [-1.0, 0.0, 1.0, 2.0])
    second = first.assign(**change)
    with pytest.raises(ValueError, match=message):
        link(first, second, method)


def test_without_common_items_there_is_no_link():
    first = table(np.ones(3), np.arange(3.0))
    for other in (first.set_axis(["x", "y", "z"]), ItemParameters.from_difficulty([1.0], [0.0])):
        with pytest.raises(ValueError, match="at least two items in common, by label"):
            link(first, other)
    with pytest.raises(TypeError, match="second must be a FitResult, ItemParameters"):
        link(first, 5)


# Drift between two versions of a benchmark
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


def test_hard_items_left_out_by_new_systems_are_no_improvement():
    old, new, _ = versions(60, 0.0, 4, n_drifting=0, same=True)
    whole = irtkit.drift(old, new).improvement
    hard = np.argsort(old.values.mean(axis=0))[:40]
    values = new.values.copy()
    values[:, hard] = np.where(np.random.default_rng(0).random((60, 40)) < 0.8, -1, values[:, hard])
    part = irtkit.drift(old, irtkit.ResponseMatrix(values, new.respondents)).improvement
    assert part.value == pytest.approx(whole.value, abs=0.02)


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
