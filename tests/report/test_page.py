"""Claims about the page, read back from its HTML."""

from __future__ import annotations

import base64
import hashlib
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
from irtkit.report import columns

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


@pytest.mark.parametrize("kind", [*odd_matrices(), "Rasch", "1PL", "3PL"])
def test_odd_matrices_and_all_models_have_a_page(kind: str, tmp_path: Path) -> None:
    matrices = odd_matrices()
    model = "2PL" if kind in matrices else kind
    result = quiet(matrices.get(kind, matrices["missing"]), model)
    irtkit.report(result, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "NaN" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert f"<dd>{model}</dd>" in text
    assert ('"guessing":' in text) == (model == "3PL")
    whole = {"trials", "one system", "all right", "synthetic"}
    assert ('"tried":"' in text) == (kind not in whole)
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


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"predictions": [1, 2]}, TypeError, "predictions must be a DataFrame"),
        ({"predictions": pd.Series([1.0], ["strange"])}, ValueError, "must have rows of resp"),
        ({"predictions": pd.Series(["x"], ["task/item 1"])}, ValueError, "must be numbers"),
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


def test_a_result_without_responses_is_refused(
    inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    quiet(inverted()).save(tmp_path / "result.npz", include_responses=False)
    result = irtkit.load(tmp_path / "result.npz")
    with pytest.raises(ValueError, match="report needs the responses"):
        irtkit.report(result, tmp_path / "page.html")
