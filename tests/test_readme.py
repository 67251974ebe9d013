"""The README's example runs and prints what it says."""

import json
import re
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

import irtkit
from irtkit.cli.commands import cli
from tests.crowds import crowd

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_under_it():
    code, expected = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)[0]
    assert len(code.splitlines()) < 20
    names = {}
    with redirect_stdout(StringIO()) as printed:
        exec(code, names)  # noqa: S102  # the README is ours
    assert printed.getvalue() == expected
    assert names["result"].warnings == ()
    n_eff = names["result"].near_duplicates.n_eff
    assert f"like about {n_eff:.0f} independent" in " ".join(README.split())


def test_its_commands_exist_on_the_command_line():
    block = README.split("## From the command line")[1]
    named = re.findall(r"^irtkit ([\w-]+)", block, re.MULTILINE)
    for pair in re.findall(r"`([a-z-]+)(?: --\w+)?`(?:, `([a-z-]+)`)? \| \[", README):
        named += filter(None, pair)
    assert {*named} <= set(cli.commands)
    assert len({*named}) >= 10


def test_its_links_lead_somewhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"]
    raw = repository.replace("github.com", "raw.githubusercontent.com")
    links = re.findall(r"\]\((\S+?)\)", README)  # an index page has no files beside it
    assert len(links) >= 20
    whole = [link.replace(f"{raw}/main/", "") for link in links] + [*project["urls"].values()]
    paths = [link.replace(f"{repository}/blob/main/", "").split("#")[0] for link in whole]
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert missing == [repository, f"{repository}/issues"]


def test_the_version_and_its_date_are_everywhere_the_same():
    version, date = re.findall(r"(?m)^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text())[0]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version == irtkit.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in cited


def test_logs_become_suspect_items_with_texts_and_a_table_of_systems(tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    for system, marks in enumerate(crowd("inverted").responses.values):
        samples = [
            {"id": k, "input": f"question {k}", "target": "yes", "scores": {"m": {"value": mark}}}
            for k, mark in enumerate(np.where(marks == 1, "C", "I").tolist())
        ]
        about = {"model": f"mockllm/system-{system}", "task": "quiz"}
        log = {"version": 2, "status": "success", "eval": about, "samples": samples}
        (tmp_path / "runs" / f"{system}.json").write_text(json.dumps(log))
    code = next(one for one in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "/" in one)
    assert len(code.splitlines()) == 4
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(StringIO()) as printed:
        exec(code, {"irtkit": irtkit})  # noqa: S102  # the README is ours
    suspects, systems = printed.getvalue().split("respondent")[:2]
    assert re.search("quiz/1 .*True.*question 1 .*yes", suspects)
    assert "system-" in systems.split("\n")[1]


def test_an_installation_without_jax_has_every_other_package():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = re.search(r"pip install (backports.*)", page)
    assert named is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split("[>;=]", package)[0] for package in project["dependencies"]}
    assert {*named[1].split()} == needed - {"jax"}
