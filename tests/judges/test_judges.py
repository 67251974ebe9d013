"""Judges: severity, consistency, preferences, and marks without severity."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr, t

import irtkit
from irtkit.findings import ReadingError
from irtkit.io.merging import merge_responses
from irtkit.irf import Z95
from irtkit.judges.severity import Ratings, severities
from tests.commands import run

SEVERITY = np.array([0.6, 0.0, -0.6])
NOISE = np.array([0.3, 0.6, 1.0])
JUDGES = ("strict", "fair", "lenient")
FAMILIES = ("openai", "meta", "qwen")


def ratings(kept=None, seed=0, *, favour=0.0, noise=NOISE, n=30):
    """Marks from 1 to 5 of three judges on 40 items, and what systems deserve.

    The first judge may favour systems 0 to 9. ``kept`` says which marks there are.
    """
    generator = np.random.default_rng([seed, n])
    quality = generator.normal(size=n)[:, None] + generator.normal(0, 0.8, 40)
    quality = quality + generator.normal(0, 0.7, (n, 40))
    preferred = favour * (np.arange(n) < 10)[:, None, None] * (np.arange(3) == 0)
    error = noise * generator.normal(size=(n, 40, 3))
    marks = np.clip(np.round(3 + quality[..., None] - SEVERITY + preferred + error), 1, 5)
    there = np.ones(marks.shape, bool) if kept is None else kept(generator, marks.shape)
    system, item, judge = np.nonzero(there)
    columns = {
        "model": [f"system-{k:02}" for k in system],
        "item": [f"q{k:02}" for k in item],
        "judge": np.array(JUDGES)[judge],
        "score": marks[system, item, judge],
        "lab": np.repeat(FAMILIES, -(-n // 3))[system],
    }
    return pd.DataFrame(columns), np.clip(np.round(3 + quality), 1, 5).mean(axis=1)


def by_one(generator, shape):
    """One judge per answer, at random."""
    return generator.integers(shape[2], size=shape[:2])[..., None] == np.arange(shape[2])


def old_and_new(generator, shape):
    """Old systems by one judge and new ones by another, a tenth of the answers by both."""
    both = generator.random(shape[:2]) < 0.1
    new = (np.arange(shape[0]) >= shape[0] // 2)[:, None]
    return np.stack([~new | both, new | both, np.zeros(shape[:2], bool)], axis=2)


def groups(_, shape):
    """The first judge marks the first half of the systems, the others the second half."""
    first = (np.arange(shape[0]) < shape[0] // 2)[:, None, None]
    return np.broadcast_to(first == (np.arange(3) == 0), shape)


@cache
def judged(kept=None, seed=0, favour=0.0):
    marks, truth = ratings(kept, seed, favour=favour)
    return irtkit.judges(marks, "lab", (1, 5)), truth


def codes(found):
    return [finding.code for finding in found.findings]


@pytest.mark.parametrize("kept", [None, by_one, old_and_new])
def test_severities_and_systems_are_recovered(kept):
    found, truth = judged(kept)
    table = found.table
    assert list(table.index) == [name for name in JUDGES if name in table.index]
    wanted = SEVERITY[: len(table)] - SEVERITY[: len(table)].mean()
    errors = table["severity"] - 0.85 * wanted  # at the ends of the scale judges differ less
    assert (abs(errors) < 0.12 + 3 * table["severity_se"]).all()
    assert spearmanr(np.nanmean(found.responses.scores, axis=1), truth)[0] > 0.95


def test_least_squares_and_their_clustered_errors_are_those_of_the_formulas():
    marks, _ = ratings(lambda g, shape: g.random(shape) < 0.3, 1, n=8)
    system, item, judge = (pd.factorize(marks[name])[0] for name in ("model", "item", "judge"))
    places = system, item, judge
    rated = Ratings(marks["score"].to_numpy() / 5, np.stack(places), (8, 40, 3))
    found = severities(rated)
    answer = system * 40 + item
    same = answer[:, None] == answer
    first = severities.__globals__["_solved"](rated, 0.0)
    share = first.answer_variance / (first.answer_variance + first.noise_variance)
    precision = np.linalg.inv(np.where(same, share, 0.0) + (1 - share) * np.eye(len(same)))
    design = np.hstack([np.eye(size)[at] for size, at in zip(rated.shape, places, strict=True)])
    inverse = np.linalg.pinv(design.T @ precision @ design)
    effects = inverse @ design.T @ precision @ rated.mark
    residual = rated.mark - design @ effects
    scores = design * (precision @ residual)[:, None]

    def meat(labels):
        sums = pd.DataFrame(scores).groupby(labels).sum().to_numpy()
        return np.asarray(sums.T @ sums)

    clustered = meat(places[0]) + meat(places[1]) - meat(answer)
    centre = np.zeros((3, design.shape[1]))
    centre[:, -3:] = np.eye(3) - 1 / 3
    np.testing.assert_allclose(found.severity, -centre @ effects, atol=1e-8)
    wanted = centre @ inverse @ clustered @ inverse @ centre.T
    n = rated.sums(None, 0, 2)
    freedom = n.sum(axis=0) ** 2 / (n**2).sum(axis=0) - 1
    wider = (1 + 1 / freedom) * (t.isf(0.025, freedom) / Z95) ** 2
    total = found.answer_variance + found.noise_variance
    of_model = total * np.diag(centre @ inverse @ centre.T)
    variance = np.maximum(wider * np.diag(wanted), of_model)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6)


def test_consistency_and_agreement_fall_with_noise():
    table = judged()[0].table
    assert table["consistency"].is_monotonic_decreasing
    assert table["agreement"].is_monotonic_decreasing
    true = 2.13 / (2.13 + NOISE**2)  # The variance of quality is 1 + 0.64 + 0.49.
    np.testing.assert_allclose(table["consistency"], true, atol=0.13)
    assert judged(by_one)[0].table[["consistency", "agreement"]].isna().all(axis=None)
    first = [found.shown().legend[0] for found in (judged()[0], judged(by_one)[0])]
    assert [line.partition(":")[0] for line in first] == ["usable", "severity"]


def test_a_preference_is_found_with_its_size_and_others_are_not():
    found, _ = judged(None, 0, 0.5)
    (finding,) = (finding for finding in found.findings if finding.code == "judge-favours")
    assert (finding.values["judge"], finding.values["family"]) == ("strict", "openai")
    test = found.favours.loc["strict", "openai"]
    assert abs(test["difference"] - 0.5) < 3 * test["se"] + 0.1
    assert "judge-favours" not in codes(judged()[0])
    assert "judge-favours" not in codes(judged(by_one)[0])


@pytest.mark.parametrize(
    ("slopes", "code", "names", "verdicts"),
    [
        ((1, 1, 1), None, [], ["usable"] * 3),
        ((0.35, 1, 1), None, [], ["usable"] * 3),
        ((1, 1, 0), "judge-noise", ["c"], ["agrees with others"] * 2 + ["noise"]),
        ((1, 1, -1), "judge-reversed", ["c"], ["usable", "usable", "reversed"]),
        ((1, 1, 1, 0, -1), "judge-noise", ["d"], [*["usable"] * 3, "noise", "reversed"]),
        ((1, 1), None, [], ["agrees with others"] * 2),
        ((1, 0), "judges-disagree", ["a", "b"], ["disagrees"] * 2),
        ((1, -1), "judges-opposed", ["a", "b"], ["opposed"] * 2),
        ((1, 0, 0), "judges-disagree", ["a", "b", "c"], ["disagrees"] * 3),
        ((1, 1, 1, None), "judge-constant", ["d"], [*["usable"] * 3, "constant"]),
        ((1, 1, "own", "own"), None, [], ["unclear"] * 4),
    ],
)
def test_a_judge_is_blamed_only_if_a_majority_of_others_agrees(slopes, code, names, verdicts):
    g = np.random.default_rng([8, len(slopes)])
    quality = g.normal(size=(2, 30, 1)) + g.normal(0, 0.8, (2, 1, 30))
    quality = quality + g.normal(0, 0.7, (2, 30, 30))
    of_judges = []
    for slope in slopes:
        seen = quality[1] if slope == "own" else quality[0] * (slope or 0)
        noise = {0.35: 0.2, None: 0.0}.get(slope, 0.6)
        of_judges.append(np.clip(np.round(3 + seen + noise * g.normal(size=seen.shape)), 1, 5))
    marks = np.stack(of_judges)
    judge, system, item = np.indices(marks.shape).reshape(3, -1)
    columns = {"model": system, "item": item, "judge": np.array([*"abcde"])[judge]}
    found = irtkit.judges(pd.DataFrame({**columns, "score": marks.ravel()}))
    assert found.table.sort_index()["verdict"].tolist() == verdicts
    limits = {f.code: f.values["names"] for f in found.findings if "names" in f.values}
    assert ("reliability-not-known" in codes(found)) == (code is not None)
    assert limits.get(code, []) == names
    consistency = found.table.sort_index()["consistency"]
    usable = np.array(verdicts) == "usable"
    truth = {1: 0.86, 0.35: 0.87, -1: 0.86}  # before the marks are rounded
    wanted = [truth[slope] for slope, known in zip(slopes, usable, strict=True) if known]
    np.testing.assert_allclose(consistency[usable], wanted, atol=0.1)


def test_a_difference_of_two_judges_or_families_is_shown_once_and_blames_nobody():
    marks, _ = ratings(None, 0, favour=0.5)
    two = marks[marks["judge"] != "lenient"]
    found = irtkit.judges(two, "lab")
    finding = next(f for f in found.findings if f.code == "judges-differ-on-family")
    assert finding.values["names"] == ["strict", "fair"]
    assert "judge-favours" not in codes(found)
    assert "range-taken" in codes(found)
    assert (found.table["verdict"] == "differs on openai").all()
    shown = found.shown().further[0].table
    assert shown is not None
    assert len(shown) == 3
    assert (shown["difference"] > 0).all()
    assert "preferences-not-tested" in codes(judged(by_one)[0])


def test_a_preference_is_named_once_and_not_of_a_reversed_judge():
    marks, _ = ratings(None, 0, favour=0.5)
    turned = marks[marks["judge"] == "fair"].assign(judge="turned")
    turned["score"] = 6 - turned["score"]
    found = irtkit.judges(pd.concat([marks, turned]), "lab")
    named = [finding.values["judge"] for finding in found.findings if "q" in finding.values]
    assert named == ["strict"]
    verdicts = found.table["verdict"]
    assert (verdicts["strict"], verdicts["turned"]) == ("favours openai", "reversed")
    assert " <0.001 <0.001" in str(found)
    assert found.favours.loc["turned"].isna().all(axis=None)


@pytest.mark.filterwarnings("ignore:Judges not connected")
def test_marks_that_are_not_connected_are_not_written_drawn_or_ranked(tmp_path):
    pytest.importorskip("matplotlib")
    marks, _ = ratings(groups)
    marks = marks[marks["judge"] != "lenient"]
    with pytest.raises(ValueError, match="no marks compare them"):
        irtkit.plots.severities(irtkit.judges(marks, score_range=(1, 5)))
    marks.to_csv(tmp_path / "marks.csv", index=False)
    run("judges marks.csv --out judged", tmp_path)
    for place in ("judged", "judged/judges.csv"):
        assert "has severities of judges and no marks" in run(f"fit {place}", tmp_path).stderr


def test_judges_that_no_mark_compares_are_named_in_their_groups():
    with pytest.warns(irtkit.IRTWarning, match="cannot be compared"):
        found, _ = judged(groups)
    values = next(f.values for f in found.findings if f.code == "judges-not-connected")
    assert values["groups"] == ["strict", "fair, lenient"]
    assert not found.is_comparable
    assert found.table.loc["strict", ["severity", "severity_se"]].isna().all()
    assert "judges-not-connected" not in codes(judged(old_and_new)[0])


def test_severities_that_exceed_differences_of_systems_and_single_marks_are_named():
    for kept, exceed in ((old_and_new, True), (by_one, False), (None, False)):
        alike, truth = ratings(kept, 4)
        better = truth[alike["model"].str[-2:].astype(int)] - 3
        alike["score"] = (alike["score"] - better).clip(1, 5)
        found = irtkit.judges(alike, score_range=(1, 5))
        assert ("severities-exceed-systems" in codes(found)) == exceed
    marks, _ = ratings(by_one, 4)
    one = marks.iloc[:1].assign(model="once")
    none = marks.iloc[:1].assign(model="never", score=None)
    found = irtkit.judges(pd.concat([marks, one, none.astype(marks.dtypes)]), score_range=(1, 5))
    assert next(f.values for f in found.findings if f.code == "judged-once")["names"] == ["once"]
    assert "severities-exceed-systems" not in codes(found)


def test_reliability_grows_with_judges_and_items():
    reliability = judged()[0].reliability
    assert reliability.of(40, 1) < reliability.of(40, 3) < reliability.of(80, 3)
    assert 0.3 < reliability.answer < 0.7
    assert reliability.judges_needed == 1
    assert reliability._replace(answer=1e3).judges_needed == np.inf
    assert np.isnan(judged(by_one)[0].reliability.judges_needed)


def test_reliability_is_given_only_where_systems_differ_significantly():
    g = np.random.default_rng(3)
    shown = []
    for _ in range(20):
        system, item, judge = np.indices((4, 5, 2)).reshape(3, -1)
        columns = {"model": system, "item": item, "judge": judge, "score": g.integers(1, 6, 40)}
        found = irtkit.judges(pd.DataFrame(columns), score_range=(1, 5))
        shown.append("reliability-not-known" not in codes(found))
    assert np.mean(shown) <= 0.1
    assert "would show how many judges" in str(judged(by_one)[0].findings[0])
    assert "reliability-not-known" not in codes(judged()[0])
    assert judged()[0].reliability.p_value < 0.001


def test_the_adjusted_marks_are_fractions_that_a_fit_takes():
    marks, _ = ratings(by_one)
    found = irtkit.judges(marks, score_range=(1, 5))
    first = marks.iloc[0]
    severity = found.table["severity"][first["judge"]]
    wanted = np.clip((first["score"] - 1 + severity) / 4, 0, 1)
    assert found.responses.to_frame().loc[first["model"], first["item"]] == pytest.approx(wanted)
    assert "1,200 marks were adjusted for the severity" in str(found.responses.source)
    assert irtkit.fit(found.responses, standard_errors=False).converged
    again = irtkit.judges(marks.copy(), score_range=(1, 5))
    assert again.responses == found.responses
    assert str(again) == str(found)


@pytest.mark.parametrize(("change", "message"), [
    ({"score": [7, 4, 4, 2] * 10}, r"must be between 1 and 5.* Pass missing=7"),
    ({"judge": "fair"}, "two judges or more, got 1"),
    ({"model": "a", "item": "b", "judge": ["fair"] * 20 + ["strict"] * 20}, "judge 'fair'"),
    ({"score": ["ERROR", 4, 4, 2] * 10}, r"'ERROR' \(and 9 more cells\). Pass missing='ERROR'"),
    ({"judge": ["fair", ""] * 20}, "lacks a label in 'judge'. Fill"),
    ({"judge": None}, "no column is recognised as the judges"),
])  # fmt: skip
def test_bad_ratings_give_one_clear_error(change, message):
    marks = ratings(by_one)[0].iloc[::30].assign(**change).dropna(axis=1)
    with pytest.raises((ReadingError, ValueError), match=message):
        irtkit.judges(marks, score_range=(1, 5))


def test_a_faulty_judge_is_named_by_the_fit_and_the_next_command_drops_it(tmp_path):
    marks, _ = ratings(None, 1, noise=np.array([0.3, 0.3, 0.3]), n=12)
    turned = marks[marks["judge"] == "fair"].assign(judge="turned", score=lambda t: 6 - t["score"])
    pd.concat([marks, turned]).to_csv(tmp_path / "ratings.csv", index=False)
    done = run("judges ratings.csv --score-range 1,5 --out judged", tmp_path).stdout
    command = done.rpartition("next: irtkit ")[2].strip()
    assert command == "judges ratings.csv --score-range 1,5 --drop turned --out judged"
    assert "include marks of 1 judge" in run("leaderboard judged", tmp_path).stdout
    with pytest.warns(irtkit.IRTWarning, match="turned"):
        result = irtkit.fit(tmp_path / "judged", standard_errors=False)
    assert "faulty-judges" in codes(result)
    assert "turned" in irtkit.report(result, tmp_path / "page.html").read_text("utf-8")
    assert run(command, tmp_path).stdout.endswith("next: irtkit fit judged/adjusted.csv\n")
    assert "faulty-judges" not in codes(irtkit.fit(tmp_path / "judged", standard_errors=False))


def test_settings_that_do_not_fit_are_refused():
    marks, _ = ratings(by_one)
    with pytest.raises(ValueError, match="'fare', which is not a judge, did you mean 'fair'"):
        irtkit.judges(marks, score_range=(1, 5), drop="fare")
    with pytest.raises(TypeError, match="'families', did you mean 'family'"):
        irtkit.judges(marks, score_range=(1, 5), families="lab")
    with pytest.raises(ReadingError, match=r"score_range=\(1, 7\) if these are"):
        irtkit.judges(marks.assign(score=marks["score"].replace(5, 7)))
    with pytest.raises(ValueError, match="pair for all items"):
        irtkit.judges(marks, score_range={"q1": (1, 5)})
    with pytest.raises(ValueError, match="family names 'labs'"):
        irtkit.judges(marks, "labs", (1, 5))
    with pytest.raises(ValueError, match="ratings lack judges"):
        irtkit.judges(irtkit.ResponseMatrix([[1, 0], [0, 1]]))


def test_what_is_printed_fits_80_columns_and_labels_are_escaped():
    marks, _ = ratings(None, 0, favour=0.5)
    marks["judge"] = marks["judge"].map({"strict": "\x1b[31m<b>red</b>"}).fillna(marks["judge"])
    found = irtkit.judges(marks, "lab", (1, 5))
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "<b>" not in found._repr_html_()
    assert "\x1b" not in found._repr_html_()
    assert "<b>" not in found.shown().markdown()


def test_the_command_writes_marks_that_a_fit_takes(tmp_path):
    marks, _ = ratings(by_one, n=9)
    marks.to_csv(tmp_path / "ratings.csv", index=False)
    for option, written in (("--family lab", {"favours.csv"}), ("", set())):
        done = run(f"judges ratings.csv --score-range 1,5 {option} --out judged", tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("next: irtkit fit judged/adjusted.csv\n")
        files = {path.name for path in (tmp_path / "judged").glob("*.csv")}
        assert files == {"judges.csv", "adjusted.csv"} | written
    assert run("fit judged", tmp_path).returncode == 0
    wide = marks.pivot_table("score", ["model", "item", "lab"], "judge")
    wide.reset_index().to_csv(tmp_path / "wide.csv", index=False)
    odd = pd.concat([marks, marks.assign(judge="other")]).rename(columns={"judge": "prof"})
    odd.to_csv(tmp_path / "odd.csv", index=False)
    for command in (
        "irtkit judges ratings.csv",
        "irtkit judges wide.csv --judge fair,lenient,strict",
        "irtkit judges odd.csv --judge prof",
    ):
        seen = run(f"inspect {command.split()[2]}", tmp_path).stdout
        assert f"\n  {command}\n" in seen
    refused = run("fit ratings.csv", tmp_path)
    assert (refused.returncode, "irtkit judges" in refused.stderr) == (2, True)


@pytest.mark.filterwarnings("ignore:Preference")
def test_the_page_of_adjusted_marks_has_a_section_on_judges(tmp_path):
    marks, _ = ratings(None, 0, favour=0.5)
    found = irtkit.judges(marks, "lab")
    result = irtkit.fit(found.responses, standard_errors=False)
    result.save(tmp_path / "fit")
    path = tmp_path / "adjusted.csv"
    irtkit.write_responses(found.responses, path)
    of_file = irtkit.fit(path, standard_errors=False)
    assert of_file.responses.source.adjustment == found.findings[1:]
    for each in (result, irtkit.load(tmp_path / "fit"), of_file):
        page = irtkit.report(each, tmp_path / "page.html").read_text("utf-8")
        assert '<section id="judges"' in page
        assert "The adjusted marks keep it" in page
        assert "Judges, the strictest first" in page
        assert "Judges and families" in page
    plain = irtkit.fit(found.responses.to_frame(), standard_errors=False)
    page = irtkit.report(plain, tmp_path / "page.html").read_text("utf-8")
    assert '<section id="judges"' not in page


def test_systems_without_a_family_are_no_family():
    generator = np.random.default_rng(0)
    rows = [
        (f"s{s}", f"q{i}", judge, int(generator.integers(1, 6)), "acme" if s < 6 else None)
        for s in range(12)
        for i in range(10)
        for judge in "abc"
    ]
    table = pd.DataFrame(rows, columns=["model", "item", "judge", "mark", "lab"])
    found = irtkit.judges(table, family="lab", score_range=(1, 5))
    assert [*found.favours.index.unique("family")] == ["acme"]


def test_of_two_pairs_of_judges_neither_is_said_to_favour_a_family():
    generator = np.random.default_rng(0)
    quality = generator.normal(size=(30, 1)) + generator.normal(size=(30, 40))
    member = np.arange(30) % 3 == 0
    rows = []
    for judge, bias in (("a", 0), ("b", 0), ("c", 0.7), ("d", 0.7)):
        marks = 3 + 0.7 * quality + bias * member[:, None] + generator.normal(0, 0.4, quality.shape)
        for system, item in np.ndindex(marks.shape):
            mark = int(np.clip(np.rint(marks[system, item]), 1, 5))
            rows.append((f"s{system}", f"q{item}", judge, mark, "own" if member[system] else "x"))
    table = pd.DataFrame(rows, columns=["model", "item", "judge", "mark", "lab"])
    found = irtkit.judges(table, family="lab", score_range=(1, 5))
    assert "judges-differ-on-family" in codes(found)
    assert "judge-favours" not in codes(found)


def two_thin(generator, shape):
    """Old systems by one judge and new ones by another, and twelve answers by both."""
    both = np.zeros(shape[:2], bool)
    both.flat[generator.choice(both.size, 12, replace=False)] = True
    new = (np.arange(shape[0]) >= shape[0] // 2)[:, None]
    return np.stack([~new | both, new | both, np.zeros(shape[:2], bool)], axis=2)


def test_comparisons_have_the_errors_of_severities():
    """Without them a fifth of the intervals of old and new systems miss the true difference."""
    covered = []
    for seed in range(6):
        marks, truth = ratings(two_thin, seed, noise=NOISE[:1], n=12)
        found = irtkit.judges(marks, score_range=(1, 5))
        pairs = irtkit.fit(found.responses).compare_systems()
        place = {f"system-{k:02}": k for k in range(12)}
        old, new = pairs["system"].map(place).astype(int), pairs["other"].map(place).astype(int)
        true = (truth[old] - truth[new]) / 4
        apart = (old < 6) != (new < 6)
        covered += (abs(pairs["difference"] - true) <= t.ppf(0.975, 39) * pairs["se"])[
            apart
        ].tolist()
    assert np.mean(covered) > 0.93


def test_errors_of_severities_stay_with_adjusted_marks(tmp_path):
    marks, _ = ratings(two_thin, n=12)
    found = irtkit.judges(marks, score_range=(1, 5))
    irtkit.write_responses(found.responses, tmp_path / "adjusted.csv")
    result = irtkit.fit(tmp_path / "adjusted.csv")
    result.save(tmp_path / "fit.npz")
    loaded = irtkit.load(tmp_path / "fit.npz")
    of_judges = found.responses.source.shared_errors
    assert loaded.responses.source.shared_errors == of_judges
    board = loaded.leaderboard()
    for name, row in board.iterrows():
        reach = Z95 * np.linalg.norm(of_judges[name])
        assert row["expected_score_high"] >= min(row["expected_score"] + 0.999 * reach, 1)


def test_strict_judges_of_right_and_wrong_are_not_noisy():
    """They cannot give the marks of lenient judges, whatever they see."""
    generator = np.random.default_rng(1)
    quality = generator.normal(size=(20, 1)) + generator.normal(size=(20, 50))
    parts = []
    for name, cut, noise in (("strict", 1, 0.3), ("fair", 0, 0.3), ("noisy", -0.5, 3)):
        marks = (quality + noise * generator.normal(size=quality.shape) > cut).astype(int)
        frame = pd.DataFrame(marks, [f"s{k}" for k in range(20)]).add_prefix("q")
        parts.append(frame.rename_axis("model").melt(ignore_index=False).assign(judge=name))
    table = pd.concat(parts).rename(columns={"variable": "item", "value": "score"}).reset_index()
    verdicts = irtkit.judges(table).table["verdict"]
    assert verdicts.to_dict() == {"strict": "usable", "fair": "usable", "noisy": "noisy"}


def test_reliability_falls_with_the_errors_of_severities():
    marks, _ = ratings(two_thin, n=12)
    thin = irtkit.judges(marks, score_range=(1, 5)).reliability
    assert thin.severity > 0
    assert thin.of(1e9, 1e9) < 1
    assert judged()[0].reliability.severity < 1e-12


def test_errors_of_severities_of_two_panels_are_independent():
    """A system that both panels judged has each error by its share of the answers."""
    parts = []
    for name, seed in (("old", 0), ("new", 1)):
        marks, _ = ratings(two_thin, seed, n=12)
        marks["model"] = marks["model"].mask(marks["model"] != "system-00", name + marks["model"])
        marks["item"] = name + marks["item"]
        parts.append(irtkit.judges(marks, score_range=(1, 5)).responses)
    merged = merge_responses(parts)
    first, second = (np.array(part.source.shared_errors["system-00"]) for part in parts)
    both = np.append(first, second) / 2
    np.testing.assert_allclose(merged.source.shared_errors["system-00"], both)
    of_systems = merged.source.shared_errors
    assert np.dot(of_systems["oldsystem-01"], of_systems["newsystem-01"]) == 0


def test_no_number_of_items_shows_a_difference_below_the_errors_of_severities():
    marks, _ = ratings(two_thin, n=12)
    found = irtkit.judges(marks, score_range=(1, 5))
    pairs = irtkit.compare_systems(irtkit.fit(found.responses))
    errors = found.responses.source.shared_errors
    first, second = (np.array([*pairs[end].map(errors)]) for end in ("system", "other"))
    least = 2.8 * np.linalg.norm(first - second, axis=1)
    assert (np.isinf(pairs["items_needed"]) == (abs(pairs["difference"]) < least)).mean() > 0.98
    assert np.isinf(pairs["items_needed"]).any()
    row = pairs[(pairs["items_needed"] > 300) & np.isfinite(pairs["items_needed"])].iloc[0]
    pair = irtkit.compare_systems(irtkit.fit(found.responses), row["system"], row["other"])
    assert abs(pair.power(pair.items_needed) - 0.8) < 0.02
