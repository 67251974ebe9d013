"""The commands on systems, and `irtkit report`, as a user meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.cli.commands import cli
from tests.commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve systems on fifty items, as a wide table."""
    items = irtkit.ItemParameters.from_difficulty(np.ones(50), np.linspace(-2, 2, 50))
    responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 12), seed=0)
    path = tmp_path / "runs.csv"
    responses.to_frame().to_csv(path)
    return path


def test_a_leaderboard_is_printed_and_written(runs: Path, tmp_path: Path) -> None:
    families = "".join(f"respondent-{k},{'ab'[k % 2]}\n" for k in range(1, 13))
    (tmp_path / "families.csv").write_text(f"respondent,family\n{families}")
    options = ("--families", "families.csv", "--top", "5", "--out", "board.csv")
    done = run("leaderboard", runs, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "… and 7 more" in done.stdout
    assert "best of each family" in done.stdout
    board = irtkit.read_table(tmp_path / "board.csv")
    assert board["rank"].is_monotonic_increasing
    assert set(board["family"]) == {"a", "b"}


@pytest.mark.parametrize("command", ["leaderboard", "audit", "compare"])
def test_a_saved_fit_says_the_same_as_its_responses(
    runs: Path, tmp_path: Path, command: str
) -> None:
    run("fit", runs, "--out", "tables", folder=tmp_path)
    fresh, saved = (run(command, path, folder=tmp_path) for path in (runs, "tables"))
    assert fresh.stdout == saved.stdout != ""
    assert saved.returncode == 0, saved.stderr


@pytest.mark.parametrize("command", [("leaderboard",), ("compare-systems",), ("select", "-k", "5")])
def test_options_that_a_saved_fit_has_no_use_for_are_refused(
    runs: Path, tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    irtkit.fit(runs).save("fit.npz")
    name, *more = command
    with pytest.raises(ValueError, match=r"^--model, --wrong: fit\.npz holds a result"):
        cli.main([name, "fit.npz", *more, "--model", "2PL", "--wrong", "no"], standalone_mode=False)
    cli.main([name, "fit.npz", *more, "--seed", "1"], standalone_mode=False)


def test_two_systems_are_compared_in_words_and_all_in_a_table(runs: Path, tmp_path: Path) -> None:
    pair = ("respondent-12", "respondent-1")
    done = run("compare-systems", runs, *pair, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "respondent-12 is ahead of respondent-1" in done.stdout
    done = run("compare-systems", runs, "--out", "pairs.csv", folder=tmp_path)
    assert "of 66 pairs of systems differ significantly" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert len(irtkit.read_table(tmp_path / "pairs.csv")) == 66
    refused = run("compare-systems", runs, "respondent-1", folder=tmp_path)
    assert refused.returncode == 2
    assert "two systems or more, or none" in refused.stderr


def test_a_gate_ends_with_1_where_it_fails_and_3_where_it_cannot_tell(tmp_path: Path) -> None:
    def write(name: str, right: int) -> None:
        rows = "".join(f"m,q{k},{int(k < right)}\n" for k in range(200))
        (tmp_path / name).write_text(f"model,item,correct\n{rows}")

    for name, right in (("old.csv", 160), ("new.csv", 120), ("near.csv", 159)):
        write(name, right)
    failed = run(
        "gate", "old.csv", "new.csv", "--max-drop", "0.01", "--summary", "s.md", folder=tmp_path
    )
    assert failed.returncode == 1
    assert "gate failed" in failed.stdout
    assert (tmp_path / "s.md").read_text().startswith("## Gate failed")
    passed = run("gate", "old.csv", "old.csv", folder=tmp_path)
    assert (passed.returncode, "gate passed" in passed.stdout) == (0, True)
    for options, code in (((), 3), (("--allow-inconclusive",), 0)):
        done = run("gate", "old.csv", "near.csv", *options, folder=tmp_path)
        assert (done.returncode, "gate inconclusive" in done.stdout) == (code, True)
    bad = run("gate", "old.csv", "new.csv", "--max-drop", "2", folder=tmp_path)
    assert bad.returncode == 2
    assert "max_drop" in bad.stderr


def test_a_page_is_written_with_all_that_may_stand_in_it(runs: Path, tmp_path: Path) -> None:
    responses = irtkit.read_responses(runs)
    answers = np.where(responses.values == 1, "A", "B")
    pd.DataFrame(answers, responses.respondents, responses.items).to_csv(tmp_path / "answers.csv")
    predicted = pd.Series(np.linspace(-2, 2, 50), responses.items, name="predicted")
    predicted.to_csv(tmp_path / "hard.csv")
    given = ("--predictions", "answers.csv", "--predictions", "hard.csv", "--compare")
    out = ("--title", "Spring", "--out", "page.html")
    done = run("report", "runs.csv", *given, *out, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "wrote page.html\n"), done.stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("<h1>Spring</h1>", "Predicted difficulty", "Measures of difficulty compared"):
        assert words in text
    refused = run("report", "runs.csv", "--out", "page.pdf", folder=tmp_path)
    assert refused.returncode == 2
    assert "ends in .html or .htm" in refused.stderr


def test_a_saved_fit_gives_the_same_page(runs: Path, tmp_path: Path) -> None:
    run("fit", runs, "--out", "tables", folder=tmp_path)
    for name, given in (("fresh.html", runs), ("saved.html", "tables")):
        done = run("report", given, "--title", "A", "--out", name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    fresh, saved = ((tmp_path / name).read_bytes() for name in ("fresh.html", "saved.html"))
    assert fresh == saved
