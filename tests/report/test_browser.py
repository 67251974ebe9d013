"""Claims about the page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import csv
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import irtkit
from irtkit.pictures import item_curves, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
AXE = os.environ.get("IRTKIT_AXE", "")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


ANSWERS = """async (name) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const svg = document.querySelector("#map svg[data-map]"), taken = [];
  const box = svg.getBoundingClientRect();
  for (let k = 0; k < 30; k += 1) {
    await frame();
    const start = performance.now();
    svg.dispatchEvent(new PointerEvent(name, {bubbles: true,
      clientX: box.left + box.width * (0.12 + 0.028 * k),
      clientY: box.top + box.height * (0.1 + 0.02 * ((7 * k) % 35))}));
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
"""Milliseconds from what a pointer does on the item map to the frame after the next."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """What opens a page; at the end there was neither a message, an error nor a request."""
    contexts, heard = [], []

    def opened(path: Path, address: str = "", *, width: int = 1280, **settings: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on(
            "request",
            lambda asked: None if asked.url.startswith("file:") else heard.append(asked.url),
        )
        tab.goto(path.as_uri() + address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert heard == []


def all_items(tab: Any) -> Any:
    """The table of all items, once it is there."""
    tab.locator("#items").scroll_into_view_if_needed()
    tab.wait_for_selector("#rows tbody button")
    return tab.locator("#rows")


def rows_of(tab: Any) -> list[list[str]]:
    found: list[list[str]] = tab.evaluate(
        "[...document.querySelectorAll('#rows tbody tr:not([aria-hidden])')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return found


def counts(tab: Any, n: int) -> None:
    """So many items fit what was searched for."""
    sync_api.expect(tab.locator(".count")).to_have_text(re.compile(f"^{n} of"))


def chosen(tab: Any) -> str:
    text: str = tab.locator("#detail h3").text_content()
    return text


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_needs_sideways_scrolling(
    visit: Callable[..., Any], digits: Any, width: int, scheme: str
) -> None:
    tab = visit(digits.path, width=width, color_scheme=scheme)
    all_items(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
    assert tab.evaluate("document.querySelectorAll('*').length") < 10_000


def test_pages_are_ready_and_answer_at_once(
    visit: Callable[..., Any], digits: Any, many: Any
) -> None:
    for written, most in ((digits, 1000), (many, 2000)):
        ready = []
        for _ in range(3):  # the machine may have other work
            tab = visit(written.path)
            ready.append(int(tab.evaluate("document.documentElement.dataset.ready")))
        assert min(ready) < most
        tab.locator("#map").scroll_into_view_if_needed()
        for name in ("pointermove", "click"):
            taken = tab.evaluate(ANSWERS, name)
            assert sorted(taken)[len(taken) // 2] < 50


def test_the_table_shows_the_items_and_sorts_with_blanks_last(
    visit: Callable[..., Any], digits: Any
) -> None:
    tab = visit(digits.path)
    all_items(tab)
    items = digits.result.items
    shown = rows_of(tab)
    hardest = items.sort_values("average_error", ascending=False, kind="stable")
    assert [row[0] for row in shown] == list(hardest.index[: len(shown)])
    for row in shown:
        expected = items.loc[row[0]]
        names = ("average_error", "discrimination", "p_negative")
        told = [number_text(float(np.float32(expected[name]))) for name in names]
        assert [row[2], row[4], row[5]] == told
        assert row[6] == f"{expected['n_responses']:,}"
    rises = items[(items["status"] == "ok") & (items["discrimination"] > 0)]
    for order, ascending in (("ascending", True), ("descending", False)):
        tab.click("#rows button[data-column=difficulty]")
        head = tab.locator("#rows th[aria-sort]")
        assert head.count() == 1
        assert head.get_attribute("aria-sort") == order
        expected = rises.sort_values("difficulty", ascending=ascending, kind="stable")
        found = rows_of(tab)
        assert [row[0] for row in found] == list(expected.index[: len(found)])
    tab.locator("#rows").evaluate("(box) => { box.scrollTop = 1e9; }")
    last = tab.locator("#rows tbody tr:last-child")
    sync_api.expect(last).to_have_attribute("aria-rowindex", "1798")
    assert rows_of(tab)[-1][3] == ""


def test_the_table_is_searched_and_filtered(visit: Callable[..., Any], digits: Any) -> None:
    tab = visit(digits.path)
    all_items(tab)
    tab.fill("#search", "digit-16")
    counts(tab, 100)
    assert all(row[0].startswith("digit-16") for row in rows_of(tab))
    tab.fill("#search", "strong agree")
    n = int(digits.suspects["reasons"].str.contains("strong agree").sum())
    counts(tab, n)
    tab.fill("#search", "")
    tab.check("#only")
    n = len(digits.suspects)
    counts(tab, n)
    assert {row[0] for row in rows_of(tab)} == set(digits.suspects.index)


def test_an_item_opens_by_click_keyboard_and_link(visit: Callable[..., Any], digits: Any) -> None:
    tab = visit(digits.path, "#item=digit-1361")
    assert chosen(tab) == "digit-1361"
    all_items(tab)
    tab.click("#rows button[data-item='5']")
    assert chosen(tab) == "digit-0005"
    assert tab.url.endswith("#item=digit-0005")
    tab.focus("#search")
    for _ in range(3):  # the box of suspects only, the button that saves, the table
        tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "rows"
    for _ in range(9):  # seven columns, then the rows
        tab.keyboard.press("Tab")
    label = tab.evaluate("document.activeElement.textContent")
    tab.keyboard.press("Enter")
    assert chosen(tab) == label
    assert tab.evaluate("document.activeElement.textContent") == label
    tab.locator(".card a.to-item").nth(1).click()
    assert chosen(tab) == digits.suspects.index[1]


def test_items_whose_labels_are_cut_alike_open_each_by_itself(
    visit: Callable[..., Any], inverted: Callable[..., irtkit.ResponseMatrix], tmp_path: Path
) -> None:
    labels = ["long" * 40 + end for end in "abc"]
    result = irtkit.fit(inverted(tuple(labels)))
    irtkit.report(result, tmp_path / "page.html")
    tab = visit(tmp_path / "page.html")
    errors = result.items["average_error"]
    for place, label in zip((7, 30, 60), labels, strict=True):
        tab.click(f".card[id='place={place}'] a.to-item")
        assert tab.url.endswith(f"#place={place}")
        told = tab.locator("#detail dd").first.text_content()
        assert told == number_text(float(np.float32(errors[label])))
        again = visit(tmp_path / "page.html", f"#item={label}")  # by a link with the whole label
        assert again.locator("#detail dd").first.text_content() == told


def test_the_curve_of_an_item_is_the_one_that_python_draws(
    visit: Callable[..., Any], digits: Any
) -> None:
    for item in ("digit-1658", "digit-0042"):
        tab = visit(digits.path, f"#item={item}")
        [curve] = item_curves(digits.result, [item])
        places = tab.evaluate(
            "[...document.querySelectorAll('#detail circle.seen')]"
            ".map((dot) => +dot.getAttribute('cy'))"
        )
        bars = tab.evaluate(
            "[...document.querySelectorAll('#detail line.observed')]"
            ".map((bar) => [+bar.getAttribute('y1'), +bar.getAttribute('y2')])"
        )
        paths = tab.evaluate(
            "[...document.querySelectorAll('#detail path.fitted')]"
            ".map((one) => one.getAttribute('d'))"
        )
        share = lambda y: (250 - np.asarray(y)) * 1.06 / 240 - 0.03  # noqa: E731  # of its panel
        np.testing.assert_allclose(share(places), curve.observed.share, atol=1e-6)
        np.testing.assert_allclose(share(bars)[:, 0], curve.observed.low, atol=1e-6)
        np.testing.assert_allclose(share(bars)[:, 1], curve.observed.high, atol=1e-6)
        inside = re.findall(r"[\d.e-]+ ([\d.e-]+)", paths[1])
        fitted = curve.probability[curve.inside]
        np.testing.assert_allclose(share(np.array(inside, float)), fitted, atol=1e-4)
        told = tab.locator("#detail dd").all_text_contents()
        row = digits.result.items.loc[item]
        assert told[0] == number_text(float(np.float32(row["average_error"])))
        assert told[2] == number_text(float(np.float32(row["discrimination"])))
        right = digits.result.responses.to_frame()[item] == 1
        tab.click("#detail summary >> nth=0")
        listed = tab.locator("#detail details >> nth=0").locator("bdi").all_text_contents()
        assert set(listed) == set(right.index[right])


def test_points_of_the_map_tell_and_open_their_item(visit: Callable[..., Any], many: Any) -> None:
    tab = visit(many.path)
    svg = tab.locator("#map svg[data-map]")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    x0, x1, y0, y1, left, end, top, floor = map(float, svg.get_attribute("data-scale").split())
    items = many.result.items
    item = items[(items["status"] == "ok") & (items["average_error"] == 0.5)].index[0]
    b, a = items.loc[item, ["difficulty", "discrimination"]]
    size = box["width"] / 640
    x = box["x"] + size * (left + (b - x0) / (x1 - x0) * (end - left))
    y = box["y"] + size * (floor - (a - y0) / (y1 - y0) * (floor - top))
    tab.mouse.move(x, y)
    tip = tab.locator(".tip")
    assert "more here" in tip.text_content()
    tab.mouse.click(x, y)
    assert abs(items.loc[chosen(tab), "difficulty"] - b) < 0.05
    assert tab.locator("#map .ring").count() == 1


def test_hostile_labels_run_nothing(visit: Callable[..., Any], hostile: Any) -> None:
    tab = visit(hostile.path)
    all_items(tab)
    for label in hostile.suspects.index:
        tab.locator(".tall a.to-item").nth(list(hostile.suspects.index).index(label)).click()
        tab.click("#detail summary >> nth=0")
    assert chosen(tab) != ""
    tab.fill("#search", "<script>")
    tab.wait_for_timeout(200)
    assert any("<script>" in row[0] for row in rows_of(tab))
    assert tab.evaluate("window.PWNED") is None
    assert tab.evaluate("document.querySelectorAll('img, i').length") == 0


def test_saved_items_open_in_a_spreadsheet_as_text(
    visit: Callable[..., Any], hostile: Any, tmp_path: Path
) -> None:
    tab = visit(hostile.path)
    all_items(tab)
    with tab.expect_download() as download:
        tab.click("#save")
    download.value.save_as(tmp_path / "items.csv")
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 120
    labels = [row["item"] for row in rows]
    assert "'=1+1" in labels
    assert {*hostile.labels} - {"=1+1"} <= {*labels}
    errors = {row["item"]: float(row["average_error"]) for row in rows}
    expected = hostile.result.items.loc["task/item 0", "average_error"]
    assert errors["task/item 0"] == pytest.approx(expected, rel=1e-6)


def test_the_theme_button_turns_the_page_dark_and_back(
    visit: Callable[..., Any], digits: Any
) -> None:
    tab = visit(digits.path)
    button, colour = tab.locator("#theme"), "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(colour)
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert tab.evaluate(colour) != light
    button.click()
    assert tab.evaluate(colour) == light


def test_a_page_is_whole_without_scripts_and_on_paper(
    visit: Callable[..., Any], digits: Any
) -> None:
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
@pytest.mark.parametrize(
    ("which", "width", "scheme"),
    [("digits", 1280, "light"), ("digits", 390, "dark"), ("hostile", 1280, "dark")],
)
def test_axe_finds_no_violation(
    visit: Callable[..., Any],
    request: pytest.FixtureRequest,
    which: str,
    width: int,
    scheme: str,
) -> None:
    written = request.getfixturevalue(which)
    tab = visit(written.path, width=width, color_scheme=scheme, bypass_csp=True)
    all_items(tab)
    tab.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = tab.evaluate("(rules) => axe.run({runOnly: rules})", RULES)
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
