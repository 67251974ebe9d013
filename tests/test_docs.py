"""The documentation builds without a warning, and what it tells to type works."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.cli.commands import cli
from irtkit.cli.outputs import SCORES, headings
from irtkit.suspects.audit import _HEADINGS as AUDIT
from tests.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("gallery/*.md")])
LIVER = "aid_liver-disorders"
OF_OTHERS = {
    "aaai22.md": [f"{LIVER}{part}.csv.gz" for part in ("", "_reference_items", "_respondents")],
    "gpqa.md": ["gpqa_pair.csv.gz"],
    "tau_bench.md": ["taubench_gpt4o_airline.csv.gz"],
}
"""Pages whose data are read where they are, since they are not irtkit's to carry."""


def blocks(page: Path) -> Iterator[tuple[str, str, str | None]]:
    """Language and content of every block of code, and what is said to be printed by it."""
    found = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"))
    for k, (language, code) in enumerate(found):
        if language in {"python", "sh"}:
            after = found[k + 1] if k + 1 < len(found) else ("", "")
            yield language, code, after[1] if after[0] == "text" else None


SNIPPETS = [page for page in PAGES if any(blocks(page))]


def simulated(n: int, items: Any, mean: float = 0.0, *, seed: int, first: int = 1) -> pd.DataFrame:
    """Answers of some systems, a row each."""
    abilities = np.random.default_rng(seed).normal(mean, 1, n)
    answers = irtkit.simulate_responses(items, abilities, seed=seed).to_frame().astype(int)
    return answers.set_axis([f"system-{k:02d}" for k in range(first, first + n)], axis=0)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the files that pages name."""
    folder = tmp_path_factory.mktemp("docs")
    slopes = np.linspace(0.7, 1.5, 120)
    slopes[60] = -1.0
    difficulties = np.random.default_rng(0).normal(size=120)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    many = irtkit.ItemParameters.from_difficulty(np.linspace(0.7, 1.5, 20), difficulties[:20])
    tables = {
        "results": simulated(40, items, seed=1),
        "2025": simulated(120, items, seed=2),
        "2026": simulated(60, items, 1.0, seed=3, first=121),
        "new": simulated(5, items, seed=4, first=200).iloc[:, 20:60],
        "old": simulated(6, items, seed=5),
        "many": simulated(400, many, seed=6),
    }
    simulated(40, items, seed=8).to_csv(folder / "later.csv")
    known = np.random.default_rng(9).normal(size=(120, 3)) + difficulties[:, None]
    names = [f"item-{k + 1}" for k in range(120)]
    pd.DataFrame(known, names, ["length", "steps", "rarity"]).to_csv(folder / "features.csv")
    tables["unseen"] = simulated(1, items, seed=7).set_axis(["newcomer"], axis=0)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv")
    answers = tables["results"]
    long = answers.stack().rename("correct")  # noqa: PD013  # a row per cell
    long = long.rename_axis(["model", "question_id"]).reset_index()
    long.to_csv(folder / "long.csv", index=False)
    pd.concat([long, long.assign(correct=1 - long["correct"])]).to_csv(
        folder / "trials.csv", index=False
    )
    (answers * 0.8).to_csv(folder / "scores.csv")
    (folder / "predicted.json").write_text('{"clip": [{"type": "a", "start": 0, "end": 2}]}')
    (folder / "manual.csv").write_text("sample,type,start,end\nclip,a,0,1\n")
    answers.replace({1: "pass", 0: "fail"}).to_csv(folder / "words.csv")
    family = np.where(np.arange(40) % 2, "llama", "gpt")
    pd.DataFrame({"respondent": answers.index, "family": family}).to_csv(
        folder / "families.csv", index=False
    )
    metrics = long.rename(columns={"model": "respondent", "question_id": "item", "correct": "f1"})
    metrics.assign(seconds=np.arange(len(metrics)) % 7).to_csv(folder / "metrics.csv", index=False)
    write_logs(folder / "runs", answers.iloc[:, 40:80])
    shutil.copy(ROOT / "tests" / "data" / "lsat6.csv", folder)
    return folder


def write_logs(folder: Path, answers: pd.DataFrame) -> None:
    """Logs of Inspect with what a reader needs."""
    folder.mkdir()
    for system, marks in answers.iterrows():
        header = {"version": 2, "status": "success"}
        header["eval"] = {"model": f"mockllm/{system}", "task": "quiz"}
        samples = [
            {
                "id": str(item),
                "input": f"Is {item} true?",
                "target": "yes",
                "scores": {"match": {"value": "CI"[1 - mark]}},
                "model_usage": {
                    f"mockllm/{system}": {"total_tokens": zlib.crc32(str(item).encode())}
                },
            }
            for item, mark in marks.items()
        ]
        (folder / f"{system}.json").write_text(json.dumps(header | {"samples": samples}))


@pytest.mark.filterwarnings("ignore::UserWarning")  # what examples warn of is not the matter here
@pytest.mark.parametrize("page", SNIPPETS, ids=lambda page: page.stem)
def test_what_a_page_tells_to_type_works(
    page: Path,
    examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    folder = tmp_path / "page"
    shutil.copytree(examples, folder)
    for name in OF_OTHERS.get(page.name, []):
        shutil.copy(request.getfixturevalue("shared_data") / name, folder)
    if page.stem == "comparing_systems":
        pd.read_csv(folder / "old.csv", index_col=0).to_csv(folder / "new.csv")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for language, code, expected in blocks(page):
        if language == "sh":
            for line in code.splitlines():
                typed(line)
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)  # noqa: S102  # our own pages
        assert expected is None or printed.getvalue() == expected


def typed(line: str) -> None:
    """Run a line of a shell; those that install are left to who reads them."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "pip":
        assert arguments[:2] == ["install", "irtkit"]
        return
    assert program == "irtkit"
    done = run(shlex.join(arguments), Path.cwd())
    failing = {"--fail-on", "gate"} & set(arguments)
    assert done.returncode in ({0, 1, 3} if failing else {0}), done.stderr


@pytest.mark.parametrize("name", ["", *cli.commands])
def test_examples_of_the_help_work(
    name: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(examples, tmp_path / "here")
    shutil.copy(folder / "old.csv", folder / "new.csv")
    monkeypatch.chdir(folder)
    if name == "score":
        typed("irtkit fit results.csv --out tables")
    command: Any = cli.commands.get(name, cli)
    for line in command.examples.split("\n"):
        typed(line)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_reaches_every_public_name(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_nb", "furo", "matplotlib"):
        if find_spec(package) is None:
            pytest.skip(f"the site needs {package}, which is not installed")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    command += ["-D", "nb_execution_mode=off", DOCS, site]  # tests/test_notebooks.py runs them
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    text = (site / "reference.html").read_text(encoding="utf-8")
    assert [name for name in irtkit.__all__ if f'irtkit.{name}"' not in text] == []
    named = re.findall(r"\((\w+\.html)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert named
    assert [page for page in named if not (site / page).exists()] == []
    commands = (site / "command_line.html").read_text(encoding="utf-8")
    assert [name for name in cli.commands if f"irtkit {name}" not in commands] == []


def test_every_table_of_stored_figures_is_shown_and_has_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    figures = pytest.importorskip("figures")
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"\{figures\} (.+)", text)) == set(figures.TABLES)
    for name in figures.TABLES:
        heading, line, *rows = figures.table(name)
        assert rows, name
        assert {row.count("|") for row in rows} == {heading.count("|"), line.count("|")}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_glossary_explains_every_column(examples: Path) -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8").split("\n## Columns\n")[1]
    rows = re.findall(r"(?m)^\| (`[^|]*) \| ([^|]*)\|", text.split("\n## ")[0])
    told = {name for cell, _ in rows for name in re.findall(r"`(\w+)`", cell)}
    printed = {name.strip() for _, cell in rows for name in cell.split(",")}
    responses = irtkit.read_responses(examples / "results.csv")
    named = pd.DataFrame({"text": "?", "target": "!"}, index=responses.items)
    responses = responses.with_tables(named)
    result = irtkit.fit(responses).with_quality_standard(examples / "metrics.csv", ["f1"])
    answers = pd.DataFrame(responses.values, responses.respondents, responses.items)
    blocks_apart = np.full((20, 20), np.nan)
    blocks_apart[:10, :10] = blocks_apart[10:, 10:] = answers.to_numpy()[:10, :10]
    parts = irtkit.fit(blocks_apart)
    compared = irtkit.compare_difficulties(result)
    tables = [
        *(result.items, result.respondents, parts.items, parts.respondents),
        irtkit.fit(responses, fixed=result).items,
        irtkit.flag_items(result, predictions=answers),
        result.leaderboard(families=dict.fromkeys(responses.respondents, "one")),
        parts.leaderboard(),
        irtkit.score(examples / "new.csv", result),
        *(compared.table, compared.pairs, compared.held_out, compared.systems),
    ]
    columns = {name for table in tables for name in (*table.columns, table.index.name or "item")}
    assert {"component", "fixed", "quality_standard", "marked_right", "text"} <= columns
    assert sorted({_stem(name, told) for name in columns} - told) == []
    shown = {*AUDIT.values(), *headings(SCORES).values()}
    assert sorted(shown - printed - {"se", "low", "high"}) == []


def _stem(name: str, told: set[str]) -> str:
    """A column, or the one that it is an error or an end of the interval of."""
    return name if name in told else re.sub("_(?:se|low|high)$", "", name)
