"""Claims about the page in a real browser: Debian's Chromium, driven by Playwright."""

import csv
import os
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import irtkit
from irtkit.calibration.summary import readable_difficulty
from irtkit.pictures.fitted import item_curves
from irtkit.pictures.svg import svg
from irtkit.report.templates import number_text
from tests.crowds import crowd, fitted

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
AXE = os.environ.get("IRTKIT_AXE", "")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PATHS = """() => [...document.querySelectorAll("#detail svg path")].map((one) =>
  one.getAttribute("d"))"""
ROWS = """[...document.querySelectorAll("#rows tbody tr")].map((row) =>
  [...row.children].map((cell) => cell.textContent))"""
TOUCHING = """() => {
  const boxes = (svg) => [...svg.querySelectorAll("text")].map((text) =>
    [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width);
  const pairs = [];
  for (const svg of document.querySelectorAll("figure .wide, figure .half, .card svg")) {
    const some = boxes(svg);
    some.forEach(([one, a], k) => some.slice(k + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const up = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && up > 4) pairs.push([one, other, across, up]);
    }));
  }
  return pairs;
}"""
"""Words beside pictures that lie on each other, by more than the room above small letters."""


@pytest.fixture(scope="module")
def chromium():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """What opens a page. At the end there was neither a message, an error nor a request."""
    contexts, heard = [], []

    def opened(path, address="", *, width=1280, **settings):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda asked: heard.append(asked.url))
        tab.goto(path.as_uri() + address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert [one for one in heard if not one.startswith("file:")] == []


def rows_of(tab):
    return tab.evaluate(ROWS)


def n_fitting(tab, n):
    """Expect this number of items to fit the search."""
    sync_api.expect(tab.locator(".count")).to_have_text(re.compile(f"^{n} of"))


def chosen(tab):
    return tab.locator("#detail h3").text_content()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (768, "dark"), (390, "dark")])
@pytest.mark.parametrize("which", ["digits", "by_task", "rubric", "two_abilities"])
def test_nothing_needs_sideways_scrolling(visit, request, which, width, scheme):
    tab = visit(request.getfixturevalue(which).path, width=width, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(255, 255, 255)") == (scheme == "light")
    assert tab.evaluate("document.querySelectorAll('*').length") < 10_000


@pytest.mark.parametrize(
    ("which", "width"), [("digits", 1280), ("digits", 390), ("many", 390), ("hostile", 1280)]
)
def test_words_next_to_pictures_do_not_touch(visit, which, width, request):
    tab = visit(request.getfixturevalue(which).path, width=width)
    assert tab.evaluate(TOUCHING) == []


def test_pages_are_ready_in_two_seconds(visit, digits, many):
    for written in (digits, many):  # in how much less, and pointers: benchmarks/reading.py
        tabs = [visit(written.path) for _ in range(3)]  # the machine may have other work
        ready = [tab.evaluate("Number(document.documentElement.dataset.ready)") for tab in tabs]
        assert min(ready) < 2000


def test_the_table_shows_the_items_and_sorts_with_blanks_last(visit, digits):
    tab, items = visit(digits.path), digits.result.items
    shown = rows_of(tab)
    varied = items[items["status"] != "no variance"]
    hardest = varied.sort_values("average_error", ascending=False, kind="stable")
    assert [row[0] for row in shown] == list(hardest.index[: len(shown)])
    for row in shown:
        names = ("average_error", "discrimination", "p_negative")
        assert [row[2], row[4], row[5]] == [number_text(items.loc[row[0], name]) for name in names]
    for order, ascending in (("ascending", True), ("descending", False)):
        tab.click("#rows button[data-column=difficulty]")
        assert tab.locator("#rows th[aria-sort]").get_attribute("aria-sort") == order
        rises = readable_difficulty(items).dropna().sort_values(ascending=ascending, kind="stable")
        found = rows_of(tab)
        assert [row[0] for row in found] == list(rises.index[: len(found)])
    for descending in (False, True):
        tab.click("#rows button[data-column=reasons]")
        said = [row[1] for row in rows_of(tab) if row[1]]
        assert said == sorted(said, reverse=descending)
        assert {row[1] for row in rows_of(tab)[len(said) :]} == {""}
    tab.click("#rows button[data-column=difficulty]")
    for _ in range(30):
        tab.locator("#rows").evaluate("(box) => { box.scrollTop = 1e9; }")
        tab.wait_for_timeout(20)
    found = rows_of(tab)
    assert len(found) == 1797
    assert found[-1][3] == ""


def test_the_table_is_searched_and_filtered(visit, digits):
    tab = visit(digits.path)
    tab.fill("#search", "digit-16")
    n_fitting(tab, 100)
    assert all(row[0].startswith("digit-16") for row in rows_of(tab))
    tab.fill("#search", "negative discrimination")
    n_fitting(tab, sum("negative" in reasons for reasons in digits.suspects["reasons"]))
    tab.fill("#search", "")
    tab.check("#only")
    n_fitting(tab, len(digits.suspects))
    assert {row[0] for row in rows_of(tab)} == set(digits.suspects.index)


def test_an_item_opens_by_click_keyboard_and_link(visit, digits):
    places = digits.result.places
    tab = visit(digits.path, f"#item-{places['digit-1361']}")
    sync_api.expect(tab.locator("#detail h3")).to_have_text("digit-1361")
    hardest = rows_of(tab)[0][0]
    tab.locator("#rows tbody a").first.click()
    assert chosen(tab) == hardest
    assert tab.url.endswith(f"#item-{places[hardest]}")
    tab.focus("#search")
    for _ in range(3):  # the box of suspects only, the button that saves, the table
        tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "rows"
    for _ in range(9):  # seven columns, then the rows
        tab.keyboard.press("Tab")
    label = tab.evaluate("document.activeElement.textContent")
    tab.keyboard.press("Enter")
    assert chosen(tab) == label == tab.evaluate("document.activeElement.textContent")
    tab.locator(".card a.to-item").nth(1).click()
    assert chosen(tab) == digits.suspects.index[1]


def repeated():
    """Runs that agree more than the model explains."""
    right = 2 * crowd("small").responses.values.astype(int)
    right += 2 * crowd("small", 1).responses.values
    return irtkit.fit(irtkit.ResponseMatrix.from_counts(right, np.full_like(right, 4)))


@pytest.mark.parametrize("kind", ["complete", "3PL with gaps", "repeated trials"])
def test_the_curve_of_an_item_is_the_one_that_python_draws(visit, kind, digits, tmp_path):
    path, result = digits.path, digits.result
    if kind != "complete":
        path = tmp_path / "page.html"
        with warnings.catch_warnings(action="ignore"):
            result = repeated() if "trials" in kind else fitted("incomplete", "3PL")
            irtkit.report(result, path)
    assert (result.settings.trial_correlation is not None) == ("trials" in kind)
    for item in result.item_labels[1:20:9]:
        tab = visit(path, f"#item-{result.places[item]}")
        sync_api.expect(tab.locator("#detail h3")).to_have_text(item)
        drawn = re.findall(' d="(.*?)"', svg(item_curves(result, [item])[0], "panel"))
        shown = tab.evaluate(PATHS)
        assert len(drawn) == len(shown) == 7  # two of the axes, three pieces, bars, dots
        for paths in zip(shown, drawn, strict=True):  # the script has whole pixels
            one, other = (np.array(re.findall(r"[ML](\S+?) ([\d.]+)", d), float) for d in paths)
            np.testing.assert_allclose(one, other, atol=0.8)
        figures = tab.locator("#detail dd").all_text_contents()
        row = result.items.loc[item]
        expected = [number_text(row[name]) for name in ("average_error", "discrimination")]
        assert [figures[0], figures[2]] == expected
        lists = tab.locator("#detail details")
        assert (lists.count() == 0) == ("trials" in kind)
        for place, value in enumerate((1, 0)[: lists.count()]):
            names = lists.nth(place).locator("bdi").all_text_contents()
            values = result.responses.to_frame()[item]
            assert set(names) == set(values.index[values == value])


def test_points_of_the_map_name_and_open_their_item(visit, many):
    tab = visit(many.path)
    picture = tab.locator("#map svg[data-map]")
    picture.scroll_into_view_if_needed()
    box, items = picture.bounding_box(), many.result.items
    place = np.flatnonzero((items["status"] == "ok") & (items["average_error"] == 0.5))[0]
    half = [many.column(column)[place] / 2 for column in many.data["maps"][0]]
    x, y = (box[name] + box["width"] / 640 * at for name, at in zip("xy", half, strict=True))
    tab.mouse.move(x, y)
    tip = tab.locator(".tip")
    assert "more here" in tip.text_content()
    tab.keyboard.press("Escape")
    assert not tip.is_visible()
    tab.mouse.click(x, y)
    difficulty = items["difficulty"]
    assert abs(difficulty[chosen(tab)] - difficulty.iloc[place]) < 0.05
    assert tab.locator("#map .ring").count() == 1


def test_hostile_labels_run_nothing(visit, hostile):
    tab = visit(hostile.path)
    for k in range(len(hostile.suspects)):
        tab.locator("#suspects a.to-item").nth(k).click()
        tab.click("#detail summary >> nth=0")
    assert chosen(tab) != ""
    tab.fill("#search", "<script>")
    assert any("<script>" in row[0] for row in rows_of(tab))
    assert tab.evaluate("window.PWNED") is None
    assert tab.evaluate("document.querySelectorAll('img, i').length") == 0


def test_saved_items_open_in_a_spreadsheet_as_text(visit, hostile, tmp_path):
    tab = visit(hostile.path)
    with tab.expect_download() as download:
        tab.click("#save")
    download.value.save_as(tmp_path / "items.csv")
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as text:
        errors = {row["item"]: float(row["average_error"]) for row in csv.DictReader(text)}
    assert len(errors) == 120
    assert {*hostile.labels, "'=1+1"} - {"=1+1"} <= {*errors}
    expected = hostile.result.items.loc["task/item 0", "average_error"]
    assert errors["task/item 0"] == pytest.approx(expected, rel=1e-6)


def test_a_page_is_whole_without_scripts_and_on_paper(visit, digits):
    tab = visit(digits.path, java_script_enabled=False)
    for visible in ("#suspects table", "#systems table", "#items table", "#map svg", ".card svg"):
        assert tab.locator(visible).first.is_visible(), visible
    assert not tab.locator("#detail").is_visible()
    tab = visit(digits.path, color_scheme="dark")
    tab.emulate_media(media="print")
    assert tab.locator("#items .fallback table").is_visible()
    assert not tab.locator("#rows").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"


@pytest.mark.skipif(not Path(AXE).is_file(), reason="IRTKIT_AXE names no axe-core")
@pytest.mark.parametrize(("which", "width", "scheme"), [
    *[("digits", 1280, "light"), ("digits", 390, "dark"), ("hostile", 1280, "dark")],
    *[("by_task", 1280, "light"), ("by_task", 390, "dark")],
    *[("rubric", 390, "light"), ("two_abilities", 390, "dark")],
])  # fmt: skip
def test_axe_finds_no_violation(visit, request, which, width, scheme):
    path = request.getfixturevalue(which).path
    tab = visit(path, width=width, color_scheme=scheme, bypass_csp=True)
    tab.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = tab.evaluate("(rules) => axe.run({runOnly: rules})", RULES)
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
