"""Pages that several tests read, and what they hold."""

from __future__ import annotations

import base64
import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VOID = {"meta", "br", "input", "img", "link"}

HOSTILE = (
    "<script>window.PWNED=1</script>",
    '"><img src=x onerror="window.PWNED=2">',
    "\x1b[31mred\x1b]0;title\x07",
    "\u202egnp.exe",
    "line\nbreak",
    "x" * 10_000,
    "</script><script>window.PWNED=3</script>",
    "שלום עולם",
    "&lt;b&gt;",
    "=1+1",
)
"""Labels that would do something where they are not taken as text."""


class Page(HTMLParser):
    """Elements in their order, rows of tables by caption, text, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.open: list[str] = []
        self._caption = ""
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self.tables.setdefault(self._caption, []).append([])
        if tag in {"td", "th"}:
            self.tables[self._caption][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts.append(data)
            return
        if "style" in self.open:
            self.styles.append(data)
            return
        self.words.append(data)
        if "caption" in self.open:
            self._caption += data
        elif {"td", "th"} & set(self.open) and "text" not in self.open:
            self.tables[self._caption][-1][-1] += data


@dataclass(frozen=True)
class Written:
    """A page, and what it was written of."""

    path: Path
    result: irtkit.FitResult
    listed: pd.DataFrame
    """Suspect and uninformative items."""
    labels: tuple[str, ...] = ()

    @property
    def suspects(self) -> pd.DataFrame:
        return self.listed[self.listed["suspect"]]

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def page(self) -> Page:
        return Page(self.text.removeprefix("<!DOCTYPE html>"))

    @cached_property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.page.scripts[0])
        return found

    def column(self, stored: Any) -> Any:
        """A column of numbers as the script reads it."""
        if isinstance(stored, float):
            return np.full(len(self.result.item_labels), stored)
        [(kind, text)] = stored.items()
        kinds = {"d": "<f8", "f": "<f4", "h": "<u2", "b": "<u1"}
        return np.frombuffer(base64.b64decode(text), kinds[kind])


@pytest.fixture(scope="session")
def read_back() -> type[Written]:
    """What reads a page that a test wrote."""
    return Written


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The page of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    path = tmp_path_factory.mktemp("report") / "digits.html"
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(crowd.responses)
        listed = irtkit.flag_items(result, predictions=crowd.predictions)
    irtkit.report(result, path, predictions=crowd.predictions)
    return Written(path, result, listed)


def draw(labels: tuple[str, ...] = ()) -> irtkit.ResponseMatrix:
    """60 systems × 120 items, three of them inverted, with texts; the first labels as given."""
    items = irtkit.ItemParameters.from_difficulty(np.full(120, 1.5), np.linspace(-2, 2, 120))
    right = irtkit.simulate_responses(items, np.linspace(-2, 2, 60), seed=0).values.copy()
    right[:, [7, 30, 60]] = 1 - right[:, [20, 50, 80]]
    names = [f"task/item {k}" for k in range(120)]
    systems = [f"org/model-{k}" for k in range(60)]
    for place, label in zip((7, 30, 60, *range(8, 30)), labels, strict=False):
        names[place] = label
    systems[60 - len(labels) :] = [f"s{label}" for label in reversed(labels)]  # the ablest
    texts = [labels[0] * 50 if labels and k == 7 else f"What is {k} + {k}?" for k in range(120)]
    table = pd.DataFrame({"text": texts, "target": [str(2 * k) for k in range(120)]}, names)
    return irtkit.ResponseMatrix(right, systems, names).with_tables(table)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page whose items and systems have hostile labels, answers and texts."""
    responses = draw(HOSTILE)
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(responses)
        answers = pd.DataFrame(
            np.where(responses.values == 1, "<i>A</i>", HOSTILE[1]),
            index=responses.respondents,
            columns=responses.items,
        )
        predicted = pd.Series(np.linspace(-2, 2, 120), responses.items)
        listed = irtkit.flag_items(result, predictions=answers)
        comparison = irtkit.compare_difficulties(result, folds=0)
    irtkit.report(
        result, path, title=HOSTILE[0], predictions=[answers, predicted], compare=comparison
    )
    return Written(path, result, listed, HOSTILE)


@pytest.fixture(scope="session")
def inverted() -> Callable[..., irtkit.ResponseMatrix]:
    """What draws a matrix with three inverted items."""
    return draw


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The page of 12 systems × 42,000 items."""
    generator = np.random.default_rng(0)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.4, 42_000), generator.normal(0, 1.5, 42_000)
    )
    responses = irtkit.simulate_responses(items, np.linspace(-1.5, 2, 12), seed=0)
    path = tmp_path_factory.mktemp("report") / "many.html"
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(responses)
        listed = irtkit.flag_items(result)
    irtkit.report(result, path)
    return Written(path, result, listed)
