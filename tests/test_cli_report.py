"""`irtkit report` as a user meets it."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.commands import run, run_in_a_process

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path) -> irtkit.ResponseMatrix:
    """Forty systems on fifty items, as a wide table."""
    items = irtkit.ItemParameters.from_difficulty(np.ones(50), np.linspace(-2, 2, 50))
    responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 40), seed=0)
    responses.to_frame().to_csv(tmp_path / "runs.csv")
    return responses


def test_a_page_is_written_with_all_that_may_stand_in_it(
    runs: irtkit.ResponseMatrix, tmp_path: Path
) -> None:
    answers = pd.DataFrame(np.where(runs.values == 1, "A", "B"), runs.respondents, runs.items)
    answers.to_csv(tmp_path / "answers.csv")
    pd.Series(np.linspace(-2, 2, 50), runs.items, name="predicted").to_csv(tmp_path / "hard.csv")
    families = pd.Series(["x", "y"] * 20, runs.respondents, name="family")
    families.to_csv(tmp_path / "families.csv")
    options: tuple[str, ...] = ("--predictions", "answers.csv", "--predictions", "hard.csv")
    options += (
        "--families",
        "families.csv",
        "--compare",
        "--title",
        "Spring",
        "--out",
        "page.html",
    )
    done = run("report", "runs.csv", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote page.html\n"
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("<h1>Spring</h1>", "Predicted difficulty", "Measures of difficulty compared"):
        assert words in text


@pytest.mark.usefixtures("runs")
def test_a_saved_fit_gives_the_same_page_but_for_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    irtkit.fit("runs.csv").save("result.npz")
    for source in ("runs.csv", "result.npz"):
        done = run("report", source, "--title", "A", "--out", f"{source}.html", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    fresh, saved = ((tmp_path / f"{name}.html").read_bytes() for name in ("runs.csv", "result.npz"))
    assert fresh == saved


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "seconds"), [("digits", 10), ("12 × 42,000", 20)])
def test_the_whole_command_takes_seconds(shape: str, seconds: float, tmp_path: Path) -> None:
    if shape == "digits":
        responses = irtkit.load_digits_crowd().responses
    else:
        generator = np.random.default_rng(0)
        slopes, places = generator.lognormal(0, 0.4, 42_000), generator.normal(0, 1.5, 42_000)
        items = irtkit.ItemParameters.from_difficulty(slopes, places)
        responses = irtkit.simulate_responses(items, np.linspace(-1.5, 2, 12), seed=0)
    responses.to_frame().to_csv(tmp_path / "responses.csv")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run_in_a_process("report", "responses.csv", "--out", "page.html", folder=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < seconds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("runs.csv",), "--out"),
        (("runs.csv", "--out", "page.pdf"), "ends in .html or .htm"),
        (("runs.csv", "--out", "nowhere/page.html"), "nowhere does not exist"),
        (("runs.csv", "--out", "page.html", "--predictions", "runs.txt"), "runs.txt: no such file"),
    ],
)
def test_bad_input_ends_with_code_2_and_no_page(
    arguments: tuple[str, ...], message: str, runs: irtkit.ResponseMatrix, tmp_path: Path
) -> None:
    assert runs.n_items == 50
    done = run("report", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
