"""Claims about what pictures show, and about pictures of matplotlib."""

import re
import sys
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import plots
from irtkit.pictures import fitted as pictures
from irtkit.pictures.svg import svg
from tests import crowds

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    """150 systems × 60 items, the first four inverted, with labels that mean mathematics."""
    responses = crowds.crowd("inverted").responses
    labels = [f"$q_{k}$" for k in range(60)]
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(irtkit.ResponseMatrix(responses.values, items=labels))


@pytest.fixture(scope="module")
def suspects(result):
    with warnings.catch_warnings(action="ignore"):
        return irtkit.flag_items(result)


def test_synthetic_respondents_are_in_no_picture(result):
    crowd = irtkit.add_synthetic(result.responses, ("always-right", "always-wrong"))
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.fit(crowd)
    low, high = found.ability[:150].min(), found.ability[:150].max()
    _, ability, inside = pictures.curve_axes(found)
    assert (ability[inside][0], ability[inside][-1]) == (low, high)
    seen = pictures.precision(found).marks[1].x
    assert (seen.min(), seen.max()) == pytest.approx((low, high), abs=1e-3)


def test_maps_place_what_has_a_place_and_count_the_rest(result, suspects):
    drawn = pictures.item_map(result, suspects)
    called = next(mark.items for mark in drawn.points if mark.name == "called")
    assert set(called) == {0, 1, 2, 3}
    assert sum(drawn.n_items.values()) == 60
    assert drawn.n_items["items"] == 60 - suspects["suspect"].sum()
    assert f"n = {sum(drawn.n_items.values())} items." in drawn.caption
    errors = pictures.error_map(result, suspects)
    assert errors.n_items["called"] == 0
    predicted = pd.Series({"$q_7$": 0.5, "$q_0$": 0.5, "elsewhere": 1.0})
    both = pictures.error_map(result, suspects, predicted)
    assert [list(mark.items) for mark in both.points] == [[7], [], []]
    shown = {one.get_label(): len(one.get_offsets()) for one in plots.item_map(result).collections}
    assert shown["called"] == 4
    assert shown["items"] == drawn.n_items["items"]


def test_a_wright_map_counts_every_item_with_a_difficulty(result):
    drawn = pictures.wright_map(result)
    n_left_out = int(re.search(r"left out: (\d+)", drawn.caption)[1])
    n_items = int(re.search(r"at most (\d+)", drawn.x.ticks[1][1])[1])
    lengths = drawn.marks[1].x_end - drawn.marks[1].x
    assert round(lengths.sum() * n_items) == 60 - n_left_out
    assert n_left_out >= 4


OF_RESULTS = ("average_error", "information", "item_map", "leaderboard", "trace", "wright_map")


@pytest.mark.parametrize("name", OF_RESULTS)
def test_every_picture_draws_on_the_axes_given_and_returns_them(name, result):
    figure, ax = plt.subplots()
    assert getattr(plots, name)(result, ax=ax) is ax
    figure.canvas.draw()
    assert ax.get_ylabel() or ax.get_yticklabels()
    assert ax.get_title()
    assert "\nn = " in f"\n{ax.get_xlabel()}"
    assert getattr(plots, name)(result).figure is not figure


def test_matplotlib_and_svg_draw_the_same_curve(result):
    one = plots.item_curves(result, "$q_3$")
    assert one.get_title() == r"\$q_3\$"
    [curve] = pictures.item_curves(result, ["$q_3$"])
    line = curve.marks[1]
    assert (line.x[0], line.x[-1]) == (result.ability.min(), result.ability.max())
    np.testing.assert_array_equal(line.y, result.probability(line.x)["$q_3$"])
    share = curve.marks[-1].y
    np.testing.assert_array_equal(one.collections[-1].get_offsets()[:, 1], share)
    path = re.findall(' d="(.*?)"', svg(curve))[-1]
    y = np.array(re.findall(r"M\S+ ([\d.]+)", path), float)
    np.testing.assert_allclose(y, 344 - (share + 0.03) / 1.06 * 330, atol=0.051)
    several = plots.item_curves(result, [f"$q_{k}$" for k in range(5)])
    assert several.shape == (5,)
    axes = plt.subplots(1, 2)[1]
    assert list(plots.item_curves(result, ["$q_1$", "$q_2$"], ax=axes)) == list(axes)
    with pytest.raises(ValueError, match=r"result lacks the item 'q_3'"):
        plots.item_curves(result, "q_3")


@pytest.mark.slow
def test_curves_of_systems_are_drawn(result):
    curves = irtkit.characteristic_curves(result, bins=4)
    names = ["respondent-3", "respondent-140"]
    ax = plots.characteristic_curves(curves, names)
    assert [bars.get_label() for bars in ax.containers] == names
    table = curves.table.loc["respondent-140"]
    dots = vars(ax.containers[-1])["lines"][0].get_xydata()
    np.testing.assert_allclose(dots, table[["difficulty", "accuracy"]])
    with pytest.raises(ValueError, match="'nobody' lacks a curve"):
        plots.characteristic_curves(curves, "nobody")


def test_severities_and_preferences_are_drawn_with_their_intervals():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    columns = {
        "model": np.repeat([f"s{k}" for k in range(12)], 30),
        "item": np.tile(np.repeat([f"q{k}" for k in range(10)], 3), 12),
        "judge": np.tile(["a", "b", "$c"], 120),
        "score": rng.random(360) * np.repeat(rng.random(12), 30),
    }
    families = {f"s{k}": "odd" if k % 2 else "even" for k in range(12)}
    judges = irtkit.judges(pd.DataFrame(columns), families)
    ax = plots.severities(judges)
    dots = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(dots[:, 0], judges.table["severity"])
    assert ax.get_title() == "Severity of judges"
    labels = [text.get_text() for text in plots.preferences(judges, top=4).get_yticklabels()]
    assert len(labels) == 3  # of two families one
    assert r"\$c: odd" in labels or r"\$c: even" in labels
    with pytest.raises(ValueError, match="Pass family="):
        plots.preferences(irtkit.judges(pd.DataFrame(columns)))


def test_without_matplotlib_the_extra_is_named(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'irtkit\[plots\]'"):
        plots.trace(result)


@pytest.fixture(scope="module")
def rubric():
    """Marks from 1 to 4."""
    marks = np.random.default_rng(0).integers(1, 5, (100, 6))
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(irtkit.read_responses(pd.DataFrame(marks), levels=True))


def test_curves_of_marks_sum_to_one_and_are_labelled_as_given(rubric):
    labels = list(rubric.item_labels[:3])
    for item, picture in zip(labels, pictures.category_curves(rubric, labels), strict=True):
        inside = [mark.y for mark in picture.marks if mark.shape == "line"]
        np.testing.assert_allclose(np.sum(inside, axis=0), 1.0)
        assert item in picture.title
    drawn = plots.category_curves(rubric, labels)
    assert [ax.get_title() for ax in drawn] == labels
    assert [text.get_text() for text in drawn[1].texts] == ["1", "2", "3", "4"]
    with pytest.raises(ValueError, match="item-9"):
        plots.category_curves(rubric, "item-9")


def test_a_histogram_counts_every_mark(rubric):
    picture = pictures.marks(rubric)
    values = rubric.responses.successes + 1
    counts = [(values == mark).mean() for mark in (1, 2, 3, 4)]
    np.testing.assert_allclose(picture.marks[0].y_end, counts)
    assert [text for _, text in picture.x.ticks] == ["1", "2", "3", "4"]
    one = pictures.marks(rubric, [rubric.item_labels[2]]).marks[0].y_end
    np.testing.assert_allclose(one, [(values[:, 2] == mark).mean() for mark in (1, 2, 3, 4)])
    scores = np.random.default_rng(1).random((50, 8))
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.fit(irtkit.read_responses(pd.DataFrame(scores), score_range=(0, 1)))
    bars = pictures.marks(found)
    assert bars.x.name == "score"
    assert bars.marks[0].y_end.sum() == pytest.approx(1)


def test_a_heat_map_has_the_scores_of_the_leaderboard_by_task():
    result = crowds.fitted("ordinary")
    task = dict(zip(result.item_labels, np.resize(["sums", "words", "maps"], 40), strict=True))
    board = result.leaderboard(by=task)
    picture = pictures.task_heatmap(board.head(7), len(board))
    cells, words = picture.marks
    expected = board.head(7)[["score_sums", "score_words", "score_maps"]].to_numpy()
    np.testing.assert_array_equal(cells.shade.reshape(7, 3), expected)
    assert words.words[:3] == tuple(f"{100 * share:.0f}" for share in expected[0])
    assert f"left out, after the first 7: {len(board) - 7}." in picture.caption
    ax = plots.task_heatmap(result, task, top=7)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["sums", "words", "maps"]
    shades = ET.fromstring(svg(picture, "grid"))  # noqa: S314  # our own
    assert len({path.get("fill-opacity") for path in shades}) > 3
    with pytest.raises(ValueError, match="task"):
        plots.task_heatmap(result)


def test_two_abilities_of_every_system_are_drawn_best_first():
    result = crowds.fitted_tasks(crowds.of_two_tasks(200, 40))
    picture = pictures.ability_scatter(result, "words", "sums")
    drawn = np.stack([picture.marks[0].x, picture.marks[0].y], axis=1)
    places = [result.ability_names.index(name) for name in ("words", "sums")]
    np.testing.assert_allclose(drawn, result.ability[result.best_first][:, places])
    assert "words" in plots.ability_scatter(result, "words").get_xlabel()
    with pytest.raises(ValueError, match="ability must be"):
        plots.ability_scatter(result, "maths")


def test_curves_of_several_abilities_are_along_what_each_item_measures():
    result = crowds.fitted_tasks(crowds.of_two_tasks(2000, 60))
    for k, picture in enumerate(pictures.item_curves(result, ["q0", "q1"])):
        dots = picture.marks[-1]
        fitted_curve = result.own_items.chosen(np.array([k])).probability(dots.x)[:, 0]
        assert np.abs(fitted_curve - dots.y).mean() < 0.03  # not flattened by the other ability
        assert np.ptp(dots.y) > 0.5
    picture = pictures.wright_map(result, "sums")
    assert "sums" in picture.y.name
    assert picture.marks[1].name == "items"
    assert picture.caption == "n = 2,000 systems and 30 items."


def test_a_picture_takes_what_fit_takes_or_names_what_to_give(result):
    responses = crowds.crowd("small").responses
    assert plots.trace(responses).get_title() == "Progress of the fit"
    with pytest.raises(TypeError, match="result must be a FitResult, or responses to fit"):
        plots.item_map(irtkit.audit(result))
