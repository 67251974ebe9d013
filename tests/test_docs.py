"""The documentation builds without a warning, and its pages are current."""

import importlib
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.cli.commands import cli
from irtkit.scoring.scores import scores_shown
from irtkit.suspects.audit import _HEADINGS as AUDIT

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]
    if not {"_build", "reference"} & set(path.parts)
)


def marked(page):
    """A page as a parameter of a test, slow if it runs Inspect or takes seconds."""
    slow = {"new_model", "scaling_out", "capability_index", "characteristic_curves"}
    return pytest.param(page, marks=[pytest.mark.slow] * (page.stem in slow))


@pytest.fixture(scope="module")
def generate():
    """The script that generates parts of pages, with the modules that it imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("generate")


@pytest.fixture(scope="module")
def examples(generate, tmp_path_factory):
    """Folder of the files that pages name."""
    folder = tmp_path_factory.mktemp("docs")
    generate.examples.write_files(folder)
    return folder


@pytest.mark.filterwarnings("ignore::UserWarning")  # what examples warn of is not the matter here
@pytest.mark.parametrize(
    "page", [*map(marked, PAGES)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_page_runs_and_is_current(page, generate, examples):
    if not generate.examples.is_runnable(page.stem):
        pytest.skip("there is no ../shared/data or inspect_ai")
    assert generate.current(page, examples) == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", *cli.commands])
def test_examples_of_the_help_work(name, generate, examples, tmp_path, monkeypatch):
    folder = shutil.copytree(examples, tmp_path / "here")
    generate.examples.add_files_of_page("help", folder)
    monkeypatch.chdir(folder)
    if name == "score":
        generate.examples.run_line("irtkit fit results.csv --out tables")
    command = cli.commands.get(name, cli)
    for line in command.examples.split("\n"):
        generate.examples.run_line(line)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("sphinx", "myst_nb", "furo", "matplotlib"):
        if find_spec(package) is None:
            pytest.skip(f"the site needs {package}, which is not installed")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    command += [DOCS, site]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    named = re.findall(r"\(([\w/]+\.html)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert named
    assert [page for page in named if not (site / page).exists()] == []
    commands = (site / "command_line.html").read_text(encoding="utf-8")
    assert [name for name in cli.commands if f"irtkit {name}" not in commands] == []


def test_every_table_of_stored_results_is_shown(generate):
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = {name.strip() for _, kind, name, _ in generate.PART.findall(text) if kind == "figure"}
    assert shown == {*generate.figures.names()}


def test_links_between_files_lead_somewhere(generate):
    made = {*generate.reference.pages()}
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)#\s]+)", prose):
            target = page.parent / link
            assert "://" in link or target in made or target.exists(), f"{page.name}: {link}"


def test_every_public_name_has_a_page(generate):
    pages = generate.reference.pages()
    names = {name for name in irtkit.__all__ if not isinstance(getattr(irtkit, name), ModuleType)}
    assert {page.stem for page in pages} >= names
    assert {page.stem for page in pages} >= {f"plots.{name}" for name in irtkit.plots.__all__}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_glossary_explains_every_column(examples):
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
    scores = scores_shown(irtkit.score(examples / "new.csv", result), 0.95).table
    shown = {*AUDIT.values(), *(set(scores) - told)}
    assert shown <= printed | {"se", "low", "high"}


def _stem(name, told):
    """A column, or the one that it is an error or an end of the interval of."""
    return name if name in told else re.sub("_(?:se|low|high)$", "", name)
