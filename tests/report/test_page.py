"""The page, read back from its HTML, and what notebooks show."""

import base64
import hashlib
import re
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

import irtkit
from irtkit.calibration.summary import readable_difficulty
from irtkit.checks import counted
from irtkit.data.slopes import called_negative
from irtkit.findings import reasons_text
from irtkit.pictures import fitted as pictures
from irtkit.pictures.picture import COLOURS
from irtkit.report.columns import EXACT
from irtkit.report.templates import number_text
from irtkit.systems.paired import wilson_interval
from tests.crowds import drawn, fitted


# Claims about the page, read back from its HTML
def quiet(responses, model="2PL"):
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(responses, model)


def called_of(result):
    items = result.items
    return called_negative(items["p_negative"], slope=items["discrimination"].to_numpy())


MANY = pytest.param("many", marks=pytest.mark.slow)


@pytest.mark.parametrize(("which", "size"), [
    ("digits", 400_000), pytest.param("many", 4_000_000, marks=pytest.mark.slow),
])  # fmt: skip
def test_pages_are_as_small_as_they_should_be(which, size, request):
    assert request.getfixturevalue(which).path.stat().st_size < size


def test_a_page_is_one_file_that_loads_nothing(hostile):
    page = hostile.page
    scripts, [style] = page.find_all("script"), page.find_all("style")
    assert len(scripts) == 2
    for element in page.find_all():
        tag, attributes = element.name, element.attrs
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not any(name.startswith("on") for name in attributes)
        assert not {"style", "src", "srcdoc", "action"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import", style.string)
    for name in ("item", "odd"):  # as in pictures elsewhere
        assert f"--{name}:{COLOURS[name]};" in style.string
    policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    for text, kind in ((scripts[1].string, "script"), (style.string, "style")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_labels_are_text_and_cut(hostile):
    raw, labels = hostile.text, hostile.labels
    assert not [one for one in (*labels[:4], labels[6], "\x1b", "\u202e") if one in raw]
    assert raw.count("<script") == 2
    assert "x" * 400 not in raw.replace(hostile.page.find(id="data").string, "")
    assert hostile.data["items"] == list(hostile.result.item_labels)  # whole, for the file saved
    for text in (labels[0], labels[1], r"\x1b[31mred", r"\u202egnp.exe"):
        assert text in hostile.words


def test_the_same_result_gives_the_same_bytes(digits, tmp_path):
    crowd = irtkit.load_digits_crowd()
    again = tmp_path / "again.html"
    irtkit.report(quiet(crowd.responses), again, predictions=crowd.predictions)
    assert again.read_bytes() == digits.path.read_bytes()


@pytest.mark.parametrize("which", ["digits", MANY, "hostile"])
def test_numbers_of_items_agree_with_the_table(which, request):
    written = request.getfixturevalue(which)
    items = written.result.items
    table = items.assign(difficulty=readable_difficulty(items))
    for name in set(written.data["columns"]) - {"predicted_difficulty"}:
        kind = np.float64 if name in EXACT else np.float32
        shown = written.column(written.data["columns"][name])
        np.testing.assert_array_equal(shown, table[name].to_numpy(kind), err_msg=name)
    reasons = np.array(written.data["reasons"])[written.column(written.data["reason"]).astype(int)]
    expected = items["status"].where(items["status"] != "ok", "")
    expected.update(written.listed["reasons"].map(reasons_text))
    assert list(reasons) == list(expected)
    suspects = written.suspects
    called = np.isin(written.result.item_labels, suspects.index[suspects["called"]])
    np.testing.assert_array_equal(written.column(written.data["kind"]) == 2, called)


def test_curves_and_answers_agree_with_the_responses(digits):
    result, data = digits.result, digits.data
    ability, values = result.ability, result.responses.values
    order = np.argsort(ability, kind="stable")
    parts = [order[np.arange(130) * 10 // 130 == k] for k in range(10)]
    share = np.stack([(values[part] == 1).mean(axis=0) for part in parts], axis=1)
    shown = digits.column(data["observed"]).reshape(1797, 10, 3)
    zero, one = data["curve"]["ends"]
    expected = np.stack([share, *wilson_interval(share, 13)], axis=2)
    np.testing.assert_allclose(shown, zero + expected * (one - zero), atol=0.51)  # of 240 pixels
    bits = np.unpackbits(np.frombuffer(base64.b64decode(data["answered_right"]), np.uint8))
    answers = bits[: values.size].reshape(1797, 130).T
    np.testing.assert_array_equal(answers, values[np.argsort(-ability, kind="stable")])


@pytest.mark.parametrize("which", ["digits", "hostile"])
def test_every_suspect_has_a_card_or_a_row_that_agrees_with_the_audit(which, request):
    written = request.getfixturevalue(which)
    places = written.result.places
    cards = {card["id"]: card for card in written.page.find_all("article")}
    further = written.page.find("caption", string="Further items to read")
    rows = written.rows("Further items to read") if further else []
    assert len(cards) + len(rows) == len(written.suspects)
    for label, expected in written.suspects.iloc[: len(cards)].iterrows():
        card = cards[f"item-{places[label]}"]
        figures = {term.string: term.find_next("dd").string for term in card.find_all("dt")}
        assert figures["P wrong key"] == number_text(expected["p_wrong_key"])
        assert figures["right, of the best"] == number_text(expected["best_right"])
        assert ("▲" in card.h3.get_text()) == expected["called"]
        assert reasons_text(expected["reasons"]) in card.get_text()
    for row, (_, expected) in zip(
        rows, written.suspects.iloc[len(cards) :].iterrows(), strict=True
    ):
        assert row[1] == reasons_text(expected["reasons"])
        names = ("p_wrong_key", "discrimination", "best_right", "weakest_right")
        assert row[2:6] == [number_text(expected[name]) for name in names]
    if which == "digits":
        answered = "of the top quarter answer 6, 5 is marked right"
        assert answered in cards[f"item-{places['digit-1361']}"].get_text()


def test_the_leaderboard_agrees_with_the_result(digits):
    with warnings.catch_warnings(action="ignore"):
        board = digits.result.leaderboard()
    rows = digits.rows("Systems, best first")
    assert len(rows) == 40
    for row, (label, expected) in zip(rows, board.iterrows(), strict=False):
        between = f"{expected['rank_low']}…{expected['rank_high']}"
        score, ability = f"{100 * expected['expected_score']:.1f}", number_text(expected["ability"])
        assert row[0] == label
        assert row[2:7] == [str(expected["rank"]), between, expected["group"], score, ability]


@pytest.mark.parametrize("which", ["digits", "hostile"])
def test_pictures_are_sound_xml_and_show_every_item_once_or_say_why(which, request):
    written = request.getfixturevalue(which)
    shown = re.findall(r"<svg.*?</svg>", written.text, re.DOTALL)
    assert len(shown) > 40
    for picture in shown:
        ET.fromstring(picture)  # noqa: S314  # our own
    drawn = pictures.item_map(written.result, written.suspects)
    item_map = next(one for one in shown if 'data-map="0"' in one)
    halves = [written.column(column) for column in written.data["maps"][0]]
    for mark, sign in zip(drawn.points, ("h0", "m-4.5 0a", "m0-6l"), strict=True):
        places = {*zip(*(half[mark.items] for half in halves), strict=True)}
        assert item_map.count(sign) == len(places)  # points of one half pixel are one mark
    n_shown = sum(drawn.n_items.values())
    assert (halves[0] < 65535).sum() == n_shown
    words = written.words
    n_left = len(written.result.item_labels) - n_shown
    assert (f"or none, or no answer): {n_left}." in words) == (n_left > 0)
    assert (f"drawn at its end: {drawn.n_beyond}." in words) == (drawn.n_beyond > 0)


@pytest.mark.parametrize("which", ["digits", MANY, "hostile"])
def test_the_headline_says_what_the_audit_says_and_no_more(which, request):
    written = request.getfixturevalue(which)
    words = written.words
    n_negative = int(called_of(written.result).sum())
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.audit(written.result)
    cautions = written.page.find(class_="caution")
    for finding in (*found.findings, *written.result.findings):
        if finding.code not in {"negative-items", "systems-at-chance"}:
            assert " ".join(finding.reason.split()) in words
            limits = cautions is not None and finding.reason in cautions.get_text()
            assert limits == (finding.severity == "warning")
    assert ("as where a key is wrong" in words) == (n_negative > 0)
    n_called = int(written.suspects["called"].sum())
    assert f"{counted(n_called, 'item')} called. Read these {len(written.suspects):,}" in words


def odd_matrices():
    generator = np.random.default_rng(1)
    ability = np.linspace(-2, 2, 24)[:, None]
    right = (generator.random((24, 30)) < 1 / (1 + np.exp(-ability))).astype(float)
    gaps = np.where(generator.random(right.shape) < 0.3, np.nan, right)
    counts = generator.binomial(5, 0.5, (20, 9))
    return {
        "missing": irtkit.ResponseMatrix(gaps),
        "trials": irtkit.ResponseMatrix.from_counts(counts, [[5] * 9] * 20),
        "synthetic": irtkit.add_synthetic(irtkit.ResponseMatrix(right)),
    }


@pytest.mark.parametrize("kind", [*odd_matrices(), "Rasch", "3PL"])
def test_odd_matrices_and_all_models_have_a_page(kind, tmp_path):
    matrices = odd_matrices()
    model = "2PL" if kind in matrices else kind
    result = quiet(matrices.get(kind, matrices["missing"]), model)
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search("NaN|nan", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    assert f"{model} fitted to" in text
    assert ('"guessing":' in text) == (model == "3PL")
    assert ('"answered":' in text) == (kind not in {"trials", "synthetic"})
    assert ('"answered_right":' in text) == (kind != "trials")


def test_quality_difficulties_and_comparison_have_their_places(inverted, tmp_path):
    responses = inverted()
    index = pd.MultiIndex.from_product([responses.respondents, responses.items])
    costs = pd.Series(np.arange(7200.0), index.set_names(["respondent", "item"]), name="cost")
    result = quiet(responses).with_quality_standard(costs.reset_index(), [])
    predicted = pd.DataFrame({"predicted": np.linspace(0, 1, 120), "low": 0}, [*responses.items])
    path = tmp_path / "page.html"
    with warnings.catch_warnings(action="ignore"):
        comparison = irtkit.compare_difficulties(result, folds=0)
    irtkit.report(result, path, difficulties=predicted, compare=comparison, title="A & B")
    text = path.read_text(encoding="utf-8")
    shown = ["<h1>A &amp; B</h1>", "Spearman correlation: 0.", "Measures of difficulty compared"]
    for name in (*shown, '"quality_standard":', '"predicted_difficulty":'):
        assert name in text


def test_with_families_no_probability_stands_in_the_page_that_leaves_them_out(inverted, tmp_path):
    result, families = quiet(inverted()), [f"family {k // 3}" for k in range(60)]
    irtkit.report(result, tmp_path / "page.html", families=families)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"p_negative":' not in text
    assert "P negative" not in text


def test_bad_arguments_are_refused_and_nothing_is_written(inverted, tmp_path):
    result = quiet(inverted())
    for arguments, kind, message in (
        ({"predictions": [1, 2]}, TypeError, "predictions must be a DataFrame"),
        ({"difficulties": [1, 2]}, ValueError, "must have one difficulty per item"),
        (
            {"difficulties": pd.Series([1.0], ["strange"])},
            ValueError,
            "must have a difficulty for some item",
        ),
        ({"title": " "}, ValueError, "title must be a text"),
        ({"date": 2026}, TypeError, "date must be a text"),
        ({"compare": "yes"}, TypeError, "compare must be True or False"),
    ):
        with pytest.raises(kind, match=message):
            irtkit.report(result, tmp_path / "page.html", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_tasks_has_systems_by_tasks_and_suspects_of_each(by_task):
    board = by_task.result.leaderboard(by="task")
    shown = by_task.rows("Systems by macro average")
    assert [row[0] for row in shown] == list(board.index[:40])
    first = board.iloc[0]
    for cell, name in zip(shown[0][4:7], ("average", "score_<b>", "score_two"), strict=True):
        half = 50 * (first[f"{name}_high"] - first[f"{name}_low"])
        assert cell == f"{100 * first[name]:.1f}{'*' * (first['status'] != 'ok')}±{half:.0f}"
    suspects = {row[0]: int(row[2]) for row in by_task.rows("Suspect items by task")}
    assert suspects["two"] >= 2
    assert by_task.page.find("a", href="#tasks") is not None
    grid = by_task.page.find("svg", class_="grid")
    words = [text.string for text in grid.find_all("text")]
    assert f"{100 * first['score_two']:.0f}" in words
    assert {"<b>", "two", board.index[0]} <= {*words}


def page_at(result, path, **given):
    irtkit.report(result, path, **given)
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_the_head_says_what_the_page_is_about(by_task, tmp_path):
    page = page_at(by_task.result, tmp_path / "page.html", date="28 <b> November")
    head = [part.string for part in page.find(class_="head").find_all("li")]
    assert head == [
        "28 <b> November",
        "60 systems, 120 items, 2 tasks",
        f"irtkit {irtkit.__version__}",
    ]
    assert "60 systems answered" not in page.get_text()


def test_a_page_of_marks_has_their_histogram_and_curves(rubric):
    page = rubric.page
    section = page.find(id="marks")
    histogram, *curves = section.find_all("svg")
    assert {"1", "2", "3", "4", "5"} <= {text.string for text in histogram.find_all("text")}
    assert "600 answers of 60 systems to 10 items" in section.get_text()
    assert len(curves) == 8
    assert {"1", "5"} <= {text.string for text in curves[0].find_all("text")}
    assert section.article.h3.get_text() == "3"  # the flat one first
    tiles = {
        term.string: term.find_next("dd").string
        for term in page.find(class_="tiles").find_all("dt")
    }
    assert tiles["uninformative items"] == "1"
    assert "Uninformative items: 1 of 10" in page.find(id="suspects").get_text()


def test_a_page_of_two_abilities_shows_where_systems_are(two_abilities):
    page, result, data = two_abilities.page, two_abilities.result, two_abilities.data
    x, y = data["scatter"]
    assert len(x) == len(y) == len(data["systems"]) == 80
    order = np.argsort(result.ability[result.best_first, 0])
    assert (np.diff(np.array(x)[order]) >= 0).all()
    assert page.find("svg", {"data-map": "systems"}) is not None
    head, *rows = page.find("caption", string=re.compile("likely ranks")).parent.find_all("tr")
    names = [cell.get_text() for cell in head.find_all("th")]
    column = names.index("rank in sums")
    best = result.respondent_labels[int(result.ability[:, 0].argmax())]
    ranks = {
        cells[0].get_text(): cells[column].get_text()
        for row in rows
        if (cells := row.find_all(["th", "td"]))
    }
    assert ranks[best].startswith("1 (1…")
    assert len(page.find(id="abilities").find_all("svg", class_="bar")) == 1 + 2 * 40


def test_near_duplicate_items_say_who_repeats_whom(tmp_path):
    values = drawn(60, 100).values.copy()
    values[:, 5] = values[:, 20]
    items = [f"q{k}" for k in range(100)]
    texts = pd.DataFrame({"text": [f"What is {k}?" for k in range(100)]}, items)
    responses = irtkit.ResponseMatrix(values, items=items).with_tables(texts)
    section = page_at(quiet(responses), tmp_path / "page.html").find(id="alike")
    row = [cell.get_text() for cell in section.tbody.tr]
    assert row == ["q20", "q5", "60 of 60", "What is 20?"]
    assert section.tbody.a["href"] == "#item-20"


# Claims about what notebooks show
def shown(result):
    """Everything that has a face of its own."""
    with warnings.catch_warnings(action="ignore"):
        return {
            "result": result,
            "responses": result.responses,
            "audit": irtkit.audit(result),
            "comparison": irtkit.compare_difficulties(result, folds=0),
            "health": result.health(),
            "leaderboard": result.leaderboard(),
            "systems": irtkit.compare_systems(result, *result.respondent_labels[-2:]),
        }


@pytest.mark.parametrize("which", ["digits", "hostile"])
def test_results_are_shown_in_words_and_small_tables(which, request):
    written = request.getfixturevalue(which)
    for name, one in shown(written.result).items():
        html = one._repr_html_()
        root = ET.fromstring(html)  # noqa: S314  # our own
        assert root.get("class") == "irtkit"
        assert root.find(".//table") is not None, name
        assert len(html) < 40_000, name
        assert not re.search(r"<script|<img|<style|\x1b", html), name
        names = {attribute for one in root.iter() for attribute in one.attrib}
        assert not {"id", "style", "src", "href"} & names
        assert not any(attribute.startswith("on") for attribute in names)
        if which == "hostile" and name in {"audit", "leaderboard", "result"}:
            assert written.labels[0] in "".join(root.itertext())
        if name != "leaderboard":  # where they are quoted, they are one line
            assert "\n" not in repr(one), name
            assert len(repr(one)) < 120, name


def test_a_fit_shows_curves_of_items_called_negative_alone(inverted):
    assert irtkit.fit(inverted())._repr_html_().count("<svg") == 3
    values = inverted().values
    assert irtkit.fit(values, abilities=2)._repr_html_().count("<svg") == 3
    assert "<svg" not in fitted("ordinary")._repr_html_()
