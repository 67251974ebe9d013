"""Pages that several tests read, and what they hold."""

import base64
import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

import irtkit
from tests import crowds

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


@dataclass(frozen=True)
class Written:
    """A page, and what it was written of."""

    path: Path
    result: irtkit.FitResult
    listed: pd.DataFrame  # Suspect and uninformative items.
    labels: tuple[str, ...] = ()

    @property
    def suspects(self):
        suspects = self.listed[self.listed["suspect"]]
        return suspects[suspects["reasons"].map(len) > 0]

    @cached_property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def page(self):
        return BeautifulSoup(self.text, "html.parser")

    @cached_property
    def words(self):
        """The text of the page, with one space between words."""
        return " ".join(self.page.find("body").get_text().split())

    def rows(self, caption):
        """The rows of a table, without its head."""
        table = self.page.find("caption", string=caption).parent
        return [[cell.get_text() for cell in row] for row in table.find("tbody").find_all("tr")]

    @cached_property
    def data(self):
        return dict(json.loads(self.page.find(id="data").string))

    def column(self, stored):
        """A column of numbers as the script reads it."""
        if isinstance(stored, float):
            return np.full(len(self.result.item_labels), stored)
        [(kind, text)] = stored.items()
        kinds = {"d": "<f8", "f": "<f4", "h": "<u2", "b": "<u1"}
        return np.frombuffer(base64.b64decode(text), kinds[kind])


def write(factory, responses, predictions=None, **given):
    """The page of a fit of responses."""
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(responses)
    return of_result(factory, result, predictions, **given)


def of_result(factory, result, predictions=None, **given):
    """The page of a fit."""
    path = factory.mktemp("report") / "page.html"
    listed = irtkit.audit(result, predictions=predictions).items
    irtkit.report(result, path, predictions=predictions, **given)
    return Written(path, result, listed)


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """The page of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    return write(tmp_path_factory, crowd.responses, crowd.predictions)


def draw(labels=()):
    """60 systems × 120 items, three of them inverted, with texts, and the first labels as given."""
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
def inverted():
    """What draws a matrix with three inverted items."""
    return draw


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A page whose items and systems have hostile labels, answers and texts."""
    responses = draw(HOSTILE)
    given = np.where(responses.values == 1, "<i>A</i>", HOSTILE[1])
    answers = pd.DataFrame(given, responses.respondents, responses.items)
    predicted = pd.Series(np.linspace(-2, 2, 120), responses.items)
    with warnings.catch_warnings(action="ignore"):
        compared = irtkit.compare_difficulties(irtkit.fit(responses), folds=0)
    further = {"title": HOSTILE[0], "difficulties": predicted, "compare": compared}
    written = write(tmp_path_factory, responses, answers, **further)
    return Written(written.path, written.result, written.listed, HOSTILE)


@pytest.fixture(scope="session")
def by_task(tmp_path_factory):
    """A page of two tasks, the first of which has one of three inverted items."""
    responses = draw()
    known = responses.item_table
    task = ["<b>"] * 20 + ["two"] * 100
    return write(tmp_path_factory, responses.with_tables(known.assign(task=task)))


@pytest.fixture(scope="session")
def two_abilities(tmp_path_factory):
    """The page of two abilities of 80 systems."""
    result = crowds.fitted_tasks(crowds.of_two_tasks(80, 40))
    return of_result(tmp_path_factory, result)


@pytest.fixture(scope="session")
def rubric(tmp_path_factory):
    """The page of marks from 1 to 5, of which those of item 3 are noise."""
    generator = np.random.default_rng(2)
    z = generator.normal(size=(60, 1)) - generator.normal(size=10)
    z[:, 3] = generator.normal(size=60)
    cuts = np.array([-2, -0.5, 0.5, 2])
    marks = 1 + (z[..., None] + generator.logistic(size=(60, 10, 1)) > cuts).sum(axis=-1)
    responses = irtkit.read_responses(pd.DataFrame(marks), levels=True)
    return write(tmp_path_factory, responses)


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """The page of 12 systems × 42,000 items."""
    generator = np.random.default_rng(0)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.4, 42_000), generator.normal(0, 1.5, 42_000)
    )
    responses = irtkit.simulate_responses(items, np.linspace(-1.5, 2, 12), seed=0)
    return write(tmp_path_factory, responses)
