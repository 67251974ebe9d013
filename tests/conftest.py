"""What many tests share."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from irtkit import ItemParameters, ResponseMatrix, read_responses, simulate_responses

CARRIED_DATA = Path(__file__).parent / "data"
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure(config):
    """Keep what JAX compiles for all processes of a run, and for later runs of this checkout."""
    if (cache := getattr(config, "cache", None)) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache.mkdir("jax")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture
def shared_data():
    """Folder of real matrices without a free licence, with reference results.

    A test is skipped without the folder, and fails where the folder lacks a file. ``.ci/run``
    looks for the words of the skip.
    """
    if not SHARED_DATA.is_dir():
        pytest.skip("there is no ../shared/data")
    return SHARED_DATA


@pytest.fixture
def worked_values():
    """Values of published worked examples, computed by hand or by another program."""
    return json.loads((CARRIED_DATA / "worked_values.json").read_text())


class ClassicalTest(NamedTuple):
    """Responses to a classical test, and what R's mirt finds by model."""

    responses: ResponseMatrix
    mirt: dict[str, Any]


@pytest.fixture
def classical_test(request):
    """Find a classical test by name: lsat6 and lsat7 are carried, others shared."""

    def find(name):
        counted = CARRIED_DATA / f"{name}.csv"
        if counted.exists():
            folder, responses = CARRIED_DATA, of_patterns(counted)
        else:
            folder = request.getfixturevalue("shared_data")
            responses = read_responses(folder / f"{name}.csv.gz")
        return ClassicalTest(
            responses, json.loads((folder / f"{name}_mirt.json").read_text())["models"]
        )

    return find


def of_patterns(path):
    """Responses from a file that gives how many people gave each pattern."""
    table = pd.read_csv(path, dtype={"pattern": str})
    patterns = [[int(digit) for digit in pattern] for pattern in table["pattern"]]
    return ResponseMatrix(np.repeat(patterns, table["count"], axis=0))


@pytest.fixture(scope="session")
def planted():
    """Draw responses to 2PL items, some of them inverted, and return which are."""

    def draw(n_respondents, n_items, seed, share=0.02):
        generator = np.random.default_rng(seed)
        slopes = generator.lognormal(0, 0.35, n_items)
        wrong = generator.permutation(n_items) < round(share * n_items)
        items = ItemParameters.from_difficulty(
            np.where(wrong, -slopes, slopes), generator.normal(size=n_items)
        )
        abilities = generator.normal(size=n_respondents)
        return simulate_responses(items, abilities, seed=generator), wrong

    return draw


@pytest.fixture
def file(tmp_path):
    """Write a file with the content and return its path."""

    def write(content, name="results.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="session")
def last_look():
    """When memory maps were last counted, which takes a hundredth of a second."""
    return [0.0]


@pytest.fixture(autouse=True)
def few_compiled_programs(last_look):
    """Drop compiled programs before they use up the memory maps that Linux grants a process.

    The suite fits matrices of hundreds of shapes, each compiled separately. Past 65,530 maps the
    compiler crashes.
    """
    yield
    if "jax" not in sys.modules or time.monotonic() < last_look[0] + 1:
        return
    last_look[0] = time.monotonic()
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > 10_000:
        sys.modules["jax"].clear_caches()
