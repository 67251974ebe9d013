"""Claims about the page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import csv
import os
import re
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import irtkit
from irtkit.pictures import item_curves, number_text, tick_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
AXE = os.environ.get("IRTKIT_AXE", "")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


SHARES = """() => {
  const panel = document.querySelector("#detail svg");
  const all = (name) => [...panel.querySelectorAll(name)];
  const at = (one, name) => Number(one.getAttribute(name));
  const [zero, , half, , one] = all("line.grid").map((line) => at(line, "y1"));
  const share = (y) => (y - zero) / (one - zero);
  const heights = (path) => path.getAttribute("d").slice(1).split("L")
    .map((point) => share(Number(point.split(" ")[1])));
  return {
    half: share(half),
    seen: all("circle.seen").map((dot) => share(at(dot, "cy"))),
    low: all("line.observed").map((bar) => share(at(bar, "y1"))),
    high: all("line.observed").map((bar) => share(at(bar, "y2"))),
    fitted: all("path.fitted").map(heights),
    dashed: all("path.fitted").map((path) => path.hasAttribute("stroke-dasharray")),
    ticks: all("text:not([text-anchor=end])").map((text) => text.textContent),
  };
}"""
"""What the panel of the chosen item shows, by its own lines of 0 %, 50 % and 100 %."""


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


def test_pages_are_ready_in_two_seconds(visit: Callable[..., Any], digits: Any, many: Any) -> None:
    for written in (digits, many):  # in how much less, and pointers: benchmarks/report_page.py
        ready = []
        for _ in range(3):  # the machine may have other work
            tab = visit(written.path)
            ready.append(int(tab.evaluate("document.documentElement.dataset.ready")))
        assert min(ready) < 2000


def test_the_table_shows_the_items_and_sorts_with_blanks_last(
    visit: Callable[..., Any], digits: Any
) -> None:
    tab = visit(digits.path)
    all_items(tab)
    items = digits.result.items
    shown = rows_of(tab)
    varied = items[items["status"] != "no variance"]
    hardest = varied.sort_values("average_error", ascending=False, kind="stable")
    assert [row[0] for row in shown] == list(hardest.index[: len(shown)])
    for row in shown:
        expected = items.loc[row[0]]
        names = ("average_error", "discrimination", "p_negative")
        assert [row[2], row[4], row[5]] == [number_text(expected[name]) for name in names]
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
    for descending in (False, True):
        tab.click("#rows button[data-column=note]")
        notes = [row[1] for row in rows_of(tab)]
        said = [note for note in notes if note]
        assert notes[: len(said)] == sorted(said, reverse=descending)
    tab.click("#rows button[data-column=difficulty]")
    tab.locator("#rows").evaluate("(box) => { box.scrollTop = 1e9; }")
    last = tab.locator("#rows tbody tr:last-child")
    sync_api.expect(last).to_have_attribute("aria-rowindex", "1798")
    assert rows_of(tab)[-1][3] == ""


TOUCHING = """() => {
  const boxes = (svg) => [...svg.querySelectorAll("text")].map((text) =>
    [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width);
  const pairs = [];
  for (const svg of document.querySelectorAll("section > figure .wide, .beside .wide, .card svg")) {
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


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("which", ["digits", "many", "hostile"])
def test_words_beside_pictures_do_not_touch(
    visit: Callable[..., Any], which: str, width: int, request: pytest.FixtureRequest
) -> None:
    tab = visit(request.getfixturevalue(which).path, width=width)
    assert tab.evaluate(TOUCHING) == []


def test_the_table_is_searched_and_filtered(visit: Callable[..., Any], digits: Any) -> None:
    tab = visit(digits.path)
    all_items(tab)
    tab.fill("#search", "digit-16")
    counts(tab, 100)
    assert all(row[0].startswith("digit-16") for row in rows_of(tab))
    tab.fill("#search", "strong agree")
    n = sum("other_answer" in reasons for reasons in digits.suspects["reasons"])
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
    hardest = rows_of(tab)[0][0]
    tab.locator("#rows tbody button").first.click()
    assert chosen(tab) == hardest
    assert tab.url.endswith(f"#item={hardest}")
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


def with_gaps_and_guessing() -> irtkit.FitResult:
    """80 systems × 40 items of a 3PL, two of them inverted, a fifth of the cells missing."""
    slopes, chance = [*np.linspace(0.5, 2, 38), -1.5, -1.2], np.full(40, 0.2)
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-2, 2, 40), chance)
    drawn = irtkit.simulate_responses(items, np.linspace(-2, 2, 80), seed=0).values.astype(float)
    drawn[np.random.default_rng(0).random(drawn.shape) < 0.2] = np.nan
    return irtkit.fit(irtkit.ResponseMatrix(drawn), "3PL")


def with_repeated_trials() -> irtkit.FitResult:
    """60 systems × 30 items, four runs that agree more than the model explains."""
    items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    runs = [irtkit.simulate_responses(items, np.linspace(-2, 2, 60), seed=k) for k in range(2)]
    right = sum(2 * run.values.astype(int) for run in runs)
    result = irtkit.fit(irtkit.ResponseMatrix.from_counts(right, np.full_like(right, 4)))
    assert result.settings.trial_correlation
    return result


@pytest.fixture
def drawn_page(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, irtkit.FitResult]:
    """A page of one kind, and the fit that it is of."""
    if request.param == "complete":
        digits = request.getfixturevalue("digits")
        return digits.path, digits.result
    make = with_repeated_trials if request.param == "trials" else with_gaps_and_guessing
    with warnings.catch_warnings(action="ignore"):
        result = make()
    irtkit.report(result, tmp_path / "page.html")
    return tmp_path / "page.html", result


@pytest.mark.parametrize(
    ("drawn_page", "items", "listed"),
    [
        ("complete", ("digit-1658", "digit-0042"), (True, True)),
        ("3PL with gaps", ("item-40", "item-20"), (True, True)),
        ("trials", ("item-1", "item-20"), (False, False)),
    ],
    indirect=["drawn_page"],
)
def test_the_curve_of_an_item_is_the_one_that_python_draws(
    visit: Callable[..., Any],
    drawn_page: tuple[Path, irtkit.FitResult],
    items: tuple[str, ...],
    listed: tuple[bool, ...],
) -> None:
    path, result = drawn_page
    for item, named in zip(items, listed, strict=True):
        tab = visit(path, f"#item={item}")
        [curve] = item_curves(result, [item])
        shown = tab.evaluate(SHARES)
        assert shown["half"] == pytest.approx(0.5)
        np.testing.assert_allclose(shown["seen"], curve.observed.share, atol=1e-6)
        np.testing.assert_allclose(shown["low"], curve.observed.low, atol=1e-6)
        np.testing.assert_allclose(shown["high"], curve.observed.high, atol=1e-6)
        assert shown["dashed"] == [dashed for _, dashed in curve.pieces]
        for (some, _), fitted in zip(curve.pieces, shown["fitted"], strict=True):
            np.testing.assert_allclose(fitted, curve.probability[some], atol=1e-4)
        assert shown["ticks"] == [*map(tick_text, curve.x.ticks()), "ability"]
        figures = tab.locator("#detail dd").all_text_contents()
        row = result.items.loc[item]
        assert figures[0] == number_text(row["average_error"])
        assert figures[2] == number_text(row["discrimination"])
        lists = tab.locator("#detail details")
        assert (lists.count() == 2) == named
        if named:
            values = result.responses.to_frame()[item]
            for place, value in ((0, 1), (1, 0)):
                names = lists.nth(place).locator("bdi").all_text_contents()
                assert set(names) == set(values.index[values == value])


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
    tab.keyboard.press("Escape")
    assert not tip.is_visible()
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
