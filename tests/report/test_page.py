"""Claims about the page, read back from its HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import pictures
from irtkit.data.slopes import called_negative
from irtkit.findings import reasons_text
from irtkit.pictures import colours, number_text
from irtkit.report import columns, findings, item_maps, suspect_items
from irtkit.report.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUSPECTS = "Suspect items, most probably negative first"


def quiet(responses: Any, model: str = "2PL", **settings: Any) -> irtkit.FitResult:
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(responses, model, **settings)


def called_of(result: irtkit.FitResult) -> Any:
    items = result.items
    return called_negative(items["p_negative"], slope=items["discrimination"].to_numpy())


def test_pages_are_as_small_as_they_should_be(digits: Any, many: Any) -> None:
    assert digits.path.stat().st_size < 400_000  # 1 MB is the most that it should
    assert many.path.stat().st_size < 4_000_000


def test_a_page_is_one_file_that_loads_nothing(hostile: Any) -> None:
    page = hostile.page
    assert len(page.scripts) == 2
    assert len(page.styles) == 1
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not any(name.startswith("on") for name in attributes)
        assert not {"style", "src", "srcdoc", "action"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page.styles[0]
    assert "@import" not in page.styles[0]
    assert f"--item:{colours.ITEM};" in page.styles[0]  # as in pictures elsewhere
    assert f"--odd:{colours.SUSPECT};" in page.styles[0]


def test_only_the_script_and_the_style_of_the_page_may_run(hostile: Any) -> None:
    page = hostile.page
    policy = next(
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    for text, kind in ((page.scripts[1], "script"), (page.styles[0], "style")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_labels_are_text_and_cut(hostile: Any) -> None:
    raw = hostile.text
    for label in hostile.labels[:4]:
        assert label not in raw
    assert hostile.labels[6] not in raw
    assert raw.count("<script") == 2
    assert "\x1b" not in raw
    assert "\u202e" not in raw
    assert "x" * 400 not in raw.replace(hostile.page.scripts[0], "")
    assert hostile.data["items"] == list(hostile.result.item_labels)  # whole, for the file saved
    words = "".join(hostile.page.words)
    assert hostile.labels[0] in words
    assert hostile.labels[1] in words
    assert r"\x1b[31mred" in words
    assert r"\u202egnp.exe" in words


def test_items_with_a_long_beginning_in_common_have_places_of_their_own(
    inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    labels = tuple("long" * 40 + end for end in "abc")
    irtkit.report(quiet(inverted(labels)), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    for kind in ('"card" id="', '"to-item" href="#'):
        assert {*re.findall(f'{kind}(place=.*?)"', text)} == {"place=7", "place=30", "place=60"}


def test_the_method_is_that_of_the_fit(
    inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    def method_of(model: str = "1PL", **settings: Any) -> str:
        irtkit.report(quiet(inverted(), model, **settings), tmp_path / "page.html")
        return (tmp_path / "page.html").read_text("utf-8").partition('<section id="method"')[2]

    plain = method_of()
    weak = irtkit.WeakPrior(difficulty_mean={"task/item 1": 1.0}, difficulty_sd=1.0)
    expected = method_of(prior=weak)
    for text, prior in ((plain, "weak"), (expected, "weak, with difficulties expected of items")):
        assert f"<dt>prior of the items</dt><dd>{prior}</dd>" in text
    assert "population with mean ability 0 and SD 1." in plain
    assert "Bock &amp; Aitkin" in plain
    assert "Bock &amp; Aitkin" not in method_of(method="vi")
    spread = quiet(inverted(), "Rasch").latent_sd
    assert f"population with mean ability 0 and SD {spread:.2f}, as estimated" in method_of("Rasch")


def test_the_same_result_gives_the_same_bytes(digits: Any, tmp_path: Path) -> None:
    crowd = irtkit.load_digits_crowd()
    again = tmp_path / "again.html"
    irtkit.report(quiet(crowd.responses), again, predictions=crowd.predictions)
    assert again.read_bytes() == digits.path.read_bytes()


def test_numbers_of_items_are_those_of_the_table(digits: Any, many: Any, hostile: Any) -> None:
    for written in (digits, many, hostile):
        items = written.result.items
        for name, stored in written.data["columns"].items():
            if name == "predicted":
                continue
            shown = written.column(stored)
            kind = np.float64 if name in columns._EXACT else np.float32
            np.testing.assert_array_equal(shown, items[name].to_numpy(kind), err_msg=name)
        assert len(written.data["items"]) == len(items)
        notes = np.array(written.data["notes"])[written.column(written.data["note"]).astype(int)]
        listed = items.index.isin(written.listed.index)
        assert (
            notes[listed] == written.listed["reasons"].map(reasons_text)[items.index[listed]]
        ).all()
        plain = items["status"].where(items["status"] != "ok", "")[~listed]
        assert (notes[~listed] == plain).all()
        called = written.column(written.data["kind"]) == 2
        np.testing.assert_array_equal(called, called_of(written.result))


def test_shares_of_groups_and_answers_are_those_of_the_responses(digits: Any) -> None:
    result, data = digits.result, digits.data
    ability, values = result.ability, result.responses.values
    order = np.argsort(ability, kind="stable")
    parts = [order[np.arange(130) * 10 // 130 == k] for k in range(10)]
    right = digits.column(data["groups"]["right"]).reshape(1797, 10)
    expected = np.stack([(values[part] == 1).sum(axis=0) for part in parts], axis=1)
    np.testing.assert_array_equal(right, expected)
    assert data["groups"]["trials"] == [13.0] * 10
    np.testing.assert_allclose(
        data["groups"]["ability"], [ability[part].mean() for part in parts], atol=1e-5
    )
    bits = np.unpackbits(np.frombuffer(base64.b64decode(data["right"]), np.uint8))
    answers = bits[: values.size].reshape(1797, 130).T
    np.testing.assert_array_equal(answers, values[np.argsort(-ability, kind="stable")])


def test_the_table_of_suspects_is_that_of_flag_items(digits: Any, hostile: Any) -> None:
    shown = {"p_negative": 2, "wrong_key": 1, "discrimination": 2, "average_error": 2}
    for written in (digits, hostile):
        rows = written.page.tables[SUSPECTS][1:]
        assert len(rows) == len(written.suspects)
        for row, (_, expected) in zip(rows, written.suspects.iterrows(), strict=True):
            assert row[1] == reasons_text(expected["reasons"])
            told = [number_text(expected[name], digits) for name, digits in shown.items()]
            assert row[2:6] == told
    first = digits.page.tables[SUSPECTS][1]
    assert "digit-1658" in first[0]
    assert first[6].endswith("of the ablest quarter answer 3, 9 is marked right")


def test_the_leaderboard_is_that_of_the_result(digits: Any) -> None:
    with warnings.catch_warnings(action="ignore"):
        board = digits.result.leaderboard()
    rows = digits.page.tables["Leaderboard"][1:]
    assert len(rows) == 40
    for row, (label, expected) in zip(rows, board.iterrows(), strict=False):
        assert row[0] == label
        assert row[2:5] == [
            str(expected["rank"]),
            f"{expected['rank_low']}…{expected['rank_high']}",
            expected["group"],
        ]
        assert row[5] == f"{100 * expected['expected_score']:.1f}"
        assert row[6] == number_text(expected["ability"])


@pytest.mark.parametrize("which", ["digits", "hostile"])
def test_pictures_are_sound_xml_and_show_every_item_once_or_say_why(
    which: str, request: pytest.FixtureRequest
) -> None:
    written = request.getfixturevalue(which)
    shown = re.findall(r"<svg.*?</svg>", written.text, re.DOTALL)
    assert len(shown) > 40
    for picture in shown:
        ET.fromstring(picture)  # noqa: S314  # our own
    item_map = next(one for one in shown if "Item map" in one)
    drawn = pictures.item_map(written.result, written.suspects)
    assert drawn.visible.sum() + drawn.n_left_out == len(written.result.item_labels)
    *axes, left, end, top, floor = map(float, re.search('scale="(.*?)"', item_map)[1].split())
    x = left + (drawn.x_values.clip(*axes[:2]) - axes[0]) / (axes[1] - axes[0]) * (end - left)
    y = floor - (drawn.y_values.clip(*axes[2:]) - axes[2]) / (axes[3] - axes[2]) * (floor - top)
    marks = {pictures.ORDINARY: "h0", pictures.SUSPECT: "m-4.5 0a", pictures.NEGATIVE: "m0-6l"}
    for kind, mark in marks.items():  # points of one half pixel are one mark
        some = drawn.visible & (drawn.kind == kind)
        places = {*zip(np.round(2 * x[some]), np.round(2 * y[some]), strict=True)}
        assert item_map.count(mark) == len(places)
    beyond = f"{drawn.n_beyond} item{'s lie' if drawn.n_beyond > 1 else ' lies'} beyond an axis"
    assert (beyond in " ".join(written.page.words)) == (drawn.n_beyond > 0)


@pytest.mark.parametrize("which", ["digits", "many", "hostile"])
def test_the_headline_says_what_the_audit_says_and_no_more(
    which: str, request: pytest.FixtureRequest
) -> None:
    written = request.getfixturevalue(which)
    words = " ".join("".join(written.page.words).split())
    n_negative = int(called_of(written.result).sum())
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.audit(written.result)
    for sentence in found.limits + found.details:  # answers may make suspect what is uninformative
        assert "Uninformative" in sentence or " ".join(sentence.split()) in words
    assert ("No item is called negative" in words) == (n_negative == 0)
    assert ("as where a key is wrong" in words) == (n_negative > 0)
    of_all = f"of {len(written.result.item_labels):,} items"
    assert (f"{n_negative} {of_all} ha" in words) == bool(n_negative)
    assert f"Suspect items: {len(written.suspects):,} {of_all.removesuffix(' items')}" in words


def test_items_without_a_difficulty_to_speak_of_have_none(many: Any) -> None:
    items, drawn = many.result.items, many.column(many.data["drawn"]).astype(int)
    rises = (items["status"] == "ok") & (items["discrimination"] > 0)
    np.testing.assert_array_equal((drawn & 2) > 0, rises)
    silent = items["status"] == "no variance"
    assert silent.any()
    np.testing.assert_array_equal((drawn & 1) > 0, ~silent)


@pytest.mark.parametrize("model", ["Rasch", "1PL", "3PL"])
def test_every_model_has_a_page(
    model: str, inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    result = quiet(inverted(), model)
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<dd>{model}</dd>" in text
    assert ('"guessing":' in text) == (model == "3PL")


def words_in(path: Path) -> str:
    """What a page says outside of pictures, scripts and styles."""
    text = re.sub(
        r"<(script|style|svg).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return html.unescape(" ".join(re.sub(r"<[^>]*>", "", text.replace("<", " <")).split()))


def sound(n: int = 60) -> irtkit.ResponseMatrix:
    """Responses to items none of which is suspect."""
    items = irtkit.ItemParameters.from_difficulty(np.ones(n), np.linspace(-2, 2, n))
    return irtkit.simulate_responses(items, np.linspace(-2, 2, 100), seed=0)


def test_the_map_says_how_many_of_its_items_have_no_difficulty(
    digits: Any, inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    items = digits.result.items
    varied = ~items["status"].isin(["no variance", "no responses"])
    n = int((varied & ((items["status"] == "flat") | (items["discrimination"] < 0))).sum())
    assert f" {n} items here are flat or have a slope below 0: their place" in words_in(digits.path)
    path = tmp_path / "page.html"
    irtkit.report(quiet(inverted(), "Rasch"), path)
    assert "here are flat" not in words_in(path)
    assert "here is flat" not in words_in(path)


def test_a_page_without_suspects_says_what_a_curve_shows(tmp_path: Path) -> None:
    result = quiet(sound())
    assert not len(irtkit.flag_items(result))
    irtkit.report(result, tmp_path / "page.html")
    assert "The curve of an item. Line: share right by the model" in words_in(
        tmp_path / "page.html"
    )


def test_the_ranks_of_the_first_are_told_as_its_letters_are(digits: Any) -> None:
    with warnings.catch_warnings(action="ignore"):
        board = digits.result.leaderboard()
    first, words = board[board["rank"] == 1], words_in(digits.path)
    high = int(first["rank_high"].max())
    assert f"would allow ranks 1 to {high} (at 95%, all pairs of systems looked at)" in words
    told = re.search(r"(\d+) other systems share the letter a with them", words)
    assert len(first) + int(told[1]) <= high


def test_a_legend_is_of_the_columns_that_are_there(digits: Any) -> None:
    words = words_in(digits.path)
    assert "(95% intervals for all systems at once); tied:" in words
    headings = digits.page.tables["Leaderboard"][0]
    for name in ("between", "tied", "score", "ability", "from…to"):
        assert name in headings
        assert f"{name}: " in words


def test_families_that_were_used_are_told_and_not_advised(tmp_path: Path) -> None:
    base = sound().values
    values = np.vstack([base, base[:5], base[:5]])  # three of the same
    result = quiet(irtkit.ResponseMatrix(values))
    path = tmp_path / "page.html"
    irtkit.report(result, path)
    alone = words_in(path)
    assert "Pass families='similar' to count every family as one respondent" in alone
    assert "families none given" in alone
    assert "false-discovery rate 5%" in alone
    assert "Evidence on slopes" not in alone
    families = [k if k < 100 else (k - 100) % 5 for k in range(110)]
    for given in (families, "similar"):
        irtkit.report(result, path, families=given, fdr=0.1)
        words = words_in(path)
        n = 100 if given is families else irtkit.audit(result).families.nunique()
        assert n < 110
        assert (
            words.count(f"Evidence on slopes counts by family: 110 systems in {n} families.") == 2
        )
        assert f"families {n} " in words
        assert "false-discovery rate 10%" in words
        assert "as one respondent" not in words
        assert "count for as many as are independent" not in words


@pytest.mark.parametrize(
    "responses", [[[1, 0, 1]], [[1, 0], [0, 1]]], ids=["one system", "two items"]
)
def test_what_cannot_be_told_of_few_is_not_told(responses: Any, tmp_path: Path) -> None:
    irtkit.report(quiet(irtkit.ResponseMatrix(responses)), tmp_path / "page.html")
    words = words_in(tmp_path / "page.html")
    assert "nan" not in words.split()
    assert "1 systems" not in words
    assert not re.search(r"at ability -", words)


@pytest.mark.parametrize(("n", "said"), [(1, "1 item lies beyond an axis and stands at its end")])
def test_one_is_not_several(n: int, said: str, digits: Any) -> None:
    x = pictures.Scale(0.0, 1.0)
    values, none = np.array([0.5, 2.0]), np.zeros(2, np.int64)
    drawn = pictures.ItemPoints(values, np.full(2, 0.5), none, np.array([True, True]), x, x)
    assert drawn.n_beyond == n
    assert said in item_maps._points_caption(drawn, "")
    assert "items lie beyond an axis and stand at its end" in words_in(digits.path)


def test_joined_emoji_are_one_and_other_joiners_are_spelled_out() -> None:
    woman = "\U0001f469\U0001f3fd\u200d\U0001f4bb"
    assert shown(woman) == f"<bdi>{woman}</bdi>"
    assert shown("a\u200db") == r"<bdi>a\u200db</bdi>"


def odd_matrices() -> dict[str, irtkit.ResponseMatrix]:
    generator = np.random.default_rng(1)
    ability = np.linspace(-2, 2, 24)[:, None]
    right = (generator.random((24, 30)) < 1 / (1 + np.exp(-ability))).astype(float)
    gaps = np.where(generator.random(right.shape) < 0.3, np.nan, right)
    parts = np.full(right.shape, np.nan)
    parts[:12, :15], parts[12:, 15:] = right[:12, :15], right[12:, 15:]
    plain = irtkit.ResponseMatrix(right)
    return {
        "missing": irtkit.ResponseMatrix(gaps),
        "sparse": irtkit.ResponseMatrix(gaps).to_sparse(),
        "parts": irtkit.ResponseMatrix(parts),
        "trials": irtkit.ResponseMatrix.from_counts(
            generator.binomial(5, 0.5, (20, 9)), [[5] * 9] * 20
        ),
        "one system": irtkit.ResponseMatrix([[1, 0]]),
        "all right": irtkit.ResponseMatrix([[1, 1], [1, 1]]),
        "synthetic": irtkit.add_synthetic(plain, ("always-right", "always-wrong")),
    }


@pytest.mark.parametrize("kind", list(odd_matrices()))
def test_odd_matrices_have_a_page(kind: str, tmp_path: Path) -> None:
    responses = odd_matrices()[kind]
    result = quiet(responses)
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "NaN" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert ('"tried":"' in text) == (kind in {"missing", "sparse", "parts"})
    assert ('"right":"' in text) == (kind != "trials")


def test_quality_predictions_and_comparison_have_their_places(
    inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    responses = inverted()
    cost = pd.DataFrame(np.arange(7200.0).reshape(60, 120), responses.respondents, responses.items)
    costs = cost.rename_axis("respondent").melt(
        var_name="item", value_name="cost", ignore_index=False
    )
    result = quiet(responses).with_quality_standard(costs.reset_index(), [])
    predicted = pd.DataFrame({"predicted": np.linspace(0, 1, 120)}, list(responses.items))
    path = tmp_path / "page.html"
    with warnings.catch_warnings(action="ignore"):
        comparison = irtkit.compare_difficulties(result, folds=0)
    irtkit.report(result, path, predictions=predicted, compare=comparison, title="A & B")
    text = path.read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in text
    assert "Spearman correlation 0." in text
    for name in ('"quality_standard":', '"predicted":', "Measures of difficulty compared"):
        assert name in text
    measures = "expected_error: average_error as the model expects it of all systems; difficulty: "
    assert measures in words_in(path)
    assert "kendall: rank correlations of the items" in words_in(path)
    assert ("quality_standard: Kolena" in words_in(path)) == (
        "quality_standard" in comparison.table
    )


def test_with_families_no_probability_stands_in_the_page_that_leaves_them_out(
    inverted: Callable[..., irtkit.ResponseMatrix], read_back: type[Any], tmp_path: Path
) -> None:
    result = quiet(inverted())
    families = [f"family {k // 3}" for k in range(60)]
    irtkit.report(result, tmp_path / "page.html", families=families)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    suspects = irtkit.flag_items(result, families=families)
    assert '"p_negative":' not in text
    tables = read_back(tmp_path / "page.html", result, suspects).page.tables
    fallback = next(rows for name, rows in tables.items() if name.startswith("The 50"))
    headings = ["item", "average error", "difficulty", "slope", "responses", "status"]
    assert fallback[0] == headings
    item = result.items.loc[fallback[1][0]]
    assert fallback[1][1] == number_text(item["average_error"])
    assert fallback[1][3:] == [number_text(item["discrimination"]), "60", item["status"]]
    assert f'<td class="number">{suspects["wrong_key"].iloc[0]:.1f}</td>' in text


def test_where_one_scale_does_not_hold_a_negative_item_is_no_wrong_key(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    items = irtkit.ItemParameters.from_difficulty(np.full(60, 2.0), np.linspace(-2, 2, 60))
    one, other = (
        irtkit.simulate_responses(items, generator.normal(size=200), seed=k).values.copy()
        for k in range(2)
    )
    one[:, :3] = 1 - one[:, 30:33]
    result = quiet(irtkit.ResponseMatrix(np.hstack([one, other[:, :30]])))
    assert result.one_ability_doubted
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "unreliable, see the warnings" in text
    assert "as where a key is wrong" not in text


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"predictions": [1, 2]}, TypeError, "predictions must be a DataFrame"),
        ({"predictions": pd.Series([1.0], ["strange"])}, ValueError, "must have rows of resp"),
        ({"predictions": pd.Series([], dtype=float)}, ValueError, "there is none"),
        ({"predictions": 2 * [pd.Series([1.0], ["task/item 1"])]}, ValueError, "one table of pred"),
        ({"predictions": pd.Series([1.0, 2.0], 2 * ["task/item 1"])}, ValueError, "occurs twice"),
        ({"predictions": pd.Series(["x"], ["task/item 1"])}, ValueError, "must be numbers"),
        (
            {"predictions": pd.DataFrame({"a": [1.0], "b": [2.0]}, ["task/item 1"])},
            ValueError,
            "or one alone",
        ),
        ({"title": " "}, ValueError, "title must be a text"),
        ({"compare": "yes"}, TypeError, "compare must be True or False"),
        ({"fdr": 2.0}, ValueError, "fdr must be"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(
    arguments: dict[str, Any],
    kind: type[Exception],
    message: str,
    inverted: Callable[..., irtkit.ResponseMatrix],
    tmp_path: Path,
) -> None:
    with pytest.raises(kind, match=message):
        irtkit.report(quiet(inverted()), tmp_path / "page.html", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_predictions_are_told_by_columns_where_labels_are_of_both() -> None:
    labels = [str(k) for k in range(30)]
    items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    right = irtkit.simulate_responses(items, np.linspace(-2, 2, 30), seed=0).values
    result = quiet(irtkit.ResponseMatrix(right, labels, labels))
    answers = pd.DataFrame(np.where(right == 1, "A", "B"), labels, labels)
    table = pd.DataFrame({"difficulty": 0.0, "Predicted": np.arange(30.0)}, labels)
    found = findings.findings(result, predictions=[table, answers], fdr=0.05)
    assert found.predicted is not None
    assert found.predicted["7"] == 7
    assert "strong_answer" in found.suspects


def test_what_is_rare_is_said_as_it_is(
    inverted: Callable[..., irtkit.ResponseMatrix],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def words_of(result: irtkit.FitResult, **settings: Any) -> str:
        irtkit.report(result, tmp_path / "page.html", **settings)
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        return " ".join(re.sub(r"<script.*?</script>|<[^>]*>", " ", text, flags=re.DOTALL).split())

    result = quiet(inverted())
    monkeypatch.setattr(findings, "MOST_SYSTEMS", 59)
    monkeypatch.setattr(suspect_items, "_SUSPECTS", 1)
    words = words_of(result)
    assert "60 systems are too many to compare every pair: they are not ranked." in words
    assert "… and 2 more, in the table of all items." in words
    monkeypatch.undo()
    alike = quiet(irtkit.ResponseMatrix([[1, 0, 1]] * 7 + [[0, 0, 1]], [*"abcdefgh"]))
    words = words_of(alike)
    assert "a, b, c, d, e and 2 more have most right, 66.7%; items like these would allow" in words
    assert "1 other system shares the letter a with them, and cannot be told apart from" in words
    assert "(at a false-discovery rate of 2.5%)" in words_of(result, fdr=0.025)
    synthetic = quiet(irtkit.add_synthetic(inverted(), ("always-right",)))
    beside = (
        "(1 synthetic respondent beside them takes part in estimating items, and is in no count)"
    )
    assert beside in words_of(synthetic)


def test_a_doubt_of_the_leaderboard_stands_in_the_page_and_is_no_warning(
    tmp_path: Path, inverted: Callable[..., irtkit.ResponseMatrix]
) -> None:
    values = inverted().values.astype(float)
    values[0, ::2] = np.nan
    result = quiet(irtkit.ResponseMatrix(values), standard_errors=False)
    irtkit.report(result, tmp_path / "page.html")  # a warning would be an error here
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Items taken as known" in text


def test_a_result_without_responses_is_refused(
    inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    quiet(inverted()).save(tmp_path / "result.npz", include_responses=False)
    result = irtkit.load(tmp_path / "result.npz")
    with pytest.raises(ValueError, match="report needs the responses"):
        irtkit.report(result, tmp_path / "page.html")


def test_a_page_of_many_answers_keeps_those_to_suspects(
    inverted: Callable[..., irtkit.ResponseMatrix],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "_MOST_ANSWERS", 10)
    monkeypatch.setattr(columns, "_MOST_TEXT", 10)
    result = quiet(inverted())
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    suspects = irtkit.flag_items(result)
    places = [result.item_labels.index(label) for label in suspects.index]
    assert f'"answered_items":{str(places).replace(" ", "")}' in text
    assert text.count("What is 7 + 7?") >= 1
    assert "What is 8 + 8?" not in text
