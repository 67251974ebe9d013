"""The page of `irtkit report`: processor time, bytes, and how fast it is in a browser.

For the digits crowd and for 12 simulated systems × 42,000 items (lognormal slopes of SD 0.4,
difficulties N(0, 1.5²)) the whole command runs in a fresh process, from a wide CSV. Then the page
is opened anew each round in Chromium, headless, with the window of a laptop: milliseconds until
its script is done, from the start of the navigation; from a move of the pointer over the item map,
and from a click there, to the frame after the next one is drawn; and for sorting and searching the
table of all items. Medians and worst of all rounds; a frame is 17 ms. How busy the machine was
(load, the mean of the last minute) stands beside, as the worst are often of other work.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from machine import arguments, part, store

import irtkit

_SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
_MEASURE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const timed = async (work) => {
    await frame();
    const start = performance.now();
    work();
    await frame();
    return performance.now() - start;
  };
  const svg = document.querySelector("#map svg[data-map]");
  svg.scrollIntoView({behavior: "instant"});
  for (let k = 0; k < 20; k += 1) await frame();
  const box = svg.getBoundingClientRect();
  const send = (name, k) => svg.dispatchEvent(new PointerEvent(name, {bubbles: true,
    clientX: box.left + box.width * (0.12 + 0.0285 * (k % 30)),
    clientY: box.top + box.height * (0.1 + 0.02 * ((7 * k) % 35))}));
  const hover = [], click = [], sort = [], search = [];
  for (let k = 0; k < 30; k += 1) hover.push(await timed(() => send("pointermove", k)));
  const panel = document.querySelector("#detail");
  for (let k = 0; k < 90 && click.length < 30; k += 1) {
    const before = panel.dataset.item, taken = await timed(() => send("click", k));
    if (panel.dataset.item !== before) click.push(taken);
  }
  document.querySelector("#items").scrollIntoView({behavior: "instant"});
  while (!document.querySelector("#rows tbody a")) await frame();
  for (const name of ["difficulty", "item", "p_negative", "item"]) {
    const button = document.querySelector(`#rows button[data-column=${name}]`);
    sort.push(await timed(() => button.click()));
  }
  const field = document.querySelector("#search");
  for (const text of ["7", "", "7", "17"]) {
    field.value = text;
    const start = performance.now(), before = document.querySelector(".count").textContent;
    field.dispatchEvent(new Event("input"));
    const same = () => document.querySelector(".count").textContent === before;
    for (let k = 0; same() && k < 120; k += 1) await frame();
    if (!same()) search.push(performance.now() - start);
  }
  const heap = performance.memory ? performance.memory.usedJSHeapSize / 2 ** 20 : 0;
  return {hover, click, sort, search, heap,
    ready: Number(document.documentElement.dataset.ready),
    nodes: document.querySelectorAll("*").length};
}"""


def digits(_: int) -> irtkit.ResponseMatrix:
    """130 classifiers on 1,797 digits."""
    return irtkit.load_digits_crowd().responses


def few_systems(items: int) -> irtkit.ResponseMatrix:
    """Twelve systems on many items."""
    generator = np.random.default_rng(0)
    slopes, places = generator.lognormal(0, 0.4, items), generator.normal(0, 1.5, items)
    drawn = irtkit.ItemParameters.from_difficulty(slopes, places)
    return irtkit.simulate_responses(drawn, np.linspace(-1.5, 2, 12), seed=0)


def written(responses: irtkit.ResponseMatrix, folder: Path) -> dict[str, Any]:
    """Run the whole command, and say what it took."""
    responses.to_frame().to_csv(folder / "responses.csv")
    code = "from machine import note_files; note_files(); from irtkit.cli import main; main()"
    command = [sys.executable, "-c", code, "report"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, folder / "responses.csv", "--out", folder / "page.html"],
        check=True,
        capture_output=True,
        cwd=Path(__file__).parent,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": (folder / "page.html").stat().st_size,
    }


def opened(page: Path, rounds: int) -> dict[str, Any]:
    """Open the page in a browser, if there is one, and say what it took."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"problem": "playwright is not installed"}
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return {"problem": "there is no Chromium"}
    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_SWITCHES)
        for _ in range(rounds):
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(page.as_uri())
            for name, values in tab.evaluate(_MEASURE).items():
                found.setdefault(name, []).extend(values if isinstance(values, list) else [values])
            tab.close()
        browser.close()
    return {
        name: {"median": round(statistics.median(values), 1), "worst": round(max(values), 1)}
        for name, values in found.items()
    }


def main() -> None:
    """Measure, print and store."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=int, default=42_000, help="Items of the twelve systems")
    parser.add_argument("--rounds", type=int, default=5, help="Times that a page is opened")
    options = parser.parse_args()
    records = []
    print(
        f"{'responses':18} {'CPU s':>6} {'MB':>6} {'ready':>11} {'hover':>11} {'click':>11}", end=""
    )
    print(f" {'sort':>11} {'search':>11} {'nodes':>6}   (ms, median / worst)")
    for draw in part((digits, few_systems), 0):
        responses = draw(options.items)
        with tempfile.TemporaryDirectory() as folder:
            record: dict[str, Any] = {
                "responses": f"{responses.n_respondents} × {responses.n_items:,}"
            }
            record |= written(responses, Path(folder))
            record |= opened(Path(folder, "page.html"), options.rounds)
        record["load"] = round(os.getloadavg()[0], 1)
        records.append(record)
        cells = [
            f"{record['responses']:18} {record['cpu_seconds']:6.1f} {record['bytes'] / 1e6:6.2f}"
        ]
        if "problem" in record:
            cells.append(record["problem"])
        else:
            names = ("ready", "hover", "click", "sort", "search")
            cells += [f"{record[n]['median']:5.0f} /{record[n]['worst']:4.0f}" for n in names]
            cells.append(f"{record['nodes']['worst']:6.0f}   load {record['load']}")
        print(" ".join(cells))
    store(options, records=records)


if __name__ == "__main__":
    main()
