"""Files that the manual's examples read, and what the examples print."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
import zlib
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import example_logs
import numpy as np
import pandas as pd

import irtkit
from irtkit.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SHARED_DATA = ROOT.parent / "shared" / "data"
LIVER = "aid_liver-disorders"
NOT_BUNDLED = {
    "aaai22": [f"{LIVER}{part}.csv.gz" for part in ("", "_reference_items", "_respondents")],
    "capability_index": ["eci_scores_long.csv.gz", "eci_published.csv.gz"],
    "gpqa": ["gpqa_pair.csv.gz"],
    "tau_bench": ["taubench_gpt4o_airline.csv.gz"],
    "time_horizons": ["metr_horizons_published.csv"],
}
"""Files of pages about data that irtkit may not bundle."""

BLOCK = re.compile(r"(?ms)^```(python|sh)\n(.*?)^```\n(?:(\n*```text\n)(.*?)^```\n)?")
"""A block of code, and the output that follows it."""


def simulated(n: int, items: Any, mean: float = 0.0, *, seed: int, first: int = 1) -> pd.DataFrame:
    """Answers of some systems, a row each."""
    abilities = np.random.default_rng(seed).normal(mean, 1, n)
    answers = irtkit.simulate_responses(items, abilities, seed=seed).to_frame().astype(int)
    return answers.set_axis([f"system-{k:02d}" for k in range(first, first + n)], axis=0)


def write_files(folder: Path) -> None:
    """Write every file that pages and the help of commands name, into an empty folder."""
    slopes = np.linspace(0.7, 1.5, 120)
    slopes[60] = -1.0
    difficulties = np.random.default_rng(0).normal(size=120)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    leaked = np.arange(120) % 20 == 7
    easier = irtkit.ItemParameters.from_difficulty(slopes, difficulties - 1.5 * leaked)
    many = irtkit.ItemParameters.from_difficulty(np.linspace(0.7, 1.5, 20), difficulties[:20])
    tables = {
        "results": simulated(40, items, seed=1),
        "2025": simulated(120, items, seed=2),
        "2026": simulated(60, items, 1.0, seed=3, first=121),
        "new": simulated(5, items, seed=4, first=200).iloc[:, 20:60],
        "old": simulated(6, items, seed=5),
        "many": simulated(400, many, seed=6),
        "unseen": simulated(1, items, seed=7).set_axis(["newcomer"], axis=0),
        "later": simulated(40, items, seed=8),
        "v1": simulated(60, items, seed=10),
        "v2": simulated(60, easier, seed=11, first=61),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv")
    known = np.random.default_rng(9).normal(size=(120, 3)) + difficulties[:, None]
    names = [f"item-{k + 1}" for k in range(120)]
    pd.DataFrame(known, names, ["length", "steps", "rarity"]).to_csv(folder / "features.csv")
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
    write_ratings(folder / "ratings.csv")
    write_suite(folder / "suite.csv", difficulties)
    bank = irtkit.ItemParameters.from_difficulty(np.ones(800), np.linspace(-3, 1, 800))
    before = simulated(2, bank, seed=10).set_axis(["agent", "agent-small"], axis=0)
    changed = np.random.default_rng(11).random(before.shape) < [[0.08], [0.03]]
    before.to_csv(folder / "main.csv")
    before.mask(changed, 1 - before).astype(int).to_csv(folder / "branch.csv")
    shutil.copy(ROOT / "tests" / "data" / "lsat6.csv", folder)


def write_suite(path: Path, difficulties: Any) -> None:
    """Write a long table of two tasks that need two unrelated abilities."""
    tasks = []
    for seed, task in enumerate(("code", "law"), start=12):
        items = irtkit.ItemParameters.from_difficulty(np.ones(40), difficulties[seed::2][:40])
        long = simulated(80, items, seed=seed).stack().rename("correct")  # noqa: PD013
        tasks.append(long.rename_axis(["model", "question_id"]).reset_index().assign(task=task))
    pd.concat(tasks).to_csv(path, index=False)


def write_ratings(path: Path) -> None:
    """Marks from 1 to 5, of old systems by one judge and of new ones by another.

    A tenth of the answers have the marks of both, and of a third judge. The new systems are better
    by 0.5 SD, and their judge is stricter by 1 mark but favours the family delta by 0.8 marks.
    """
    g = np.random.default_rng(20)
    new = np.repeat([0, 1], 15)
    quality = g.normal(0.5 * new, 1)[:, None] + g.normal(0, 0.8, 60) + g.normal(0, 0.7, (30, 60))
    family = np.tile(["acme", "delta", "nova"], 10)
    both = g.random((30, 60)) < 0.1
    rows = []
    old = (new == 0)[:, None]
    judges = (
        ("judge-old", -0.5, 0.4, both | old),
        ("judge-new", 0.5, 0.7, both | ~old),
        ("judge-third", 0.0, 0.5, both),
    )
    for judge, severity, noise, marked in judges:
        favour = 0.8 * (family == "delta") * (judge == "judge-new")
        raw = 3 + quality - severity + favour[:, None] + noise * g.normal(size=quality.shape)
        marks = np.clip(np.round(raw), 1, 5).astype(int)
        system, item = np.nonzero(marked)
        columns = {
            "model": [f"{family[k]}-{k + 1:02d}" for k in system],
            "lab": family[system],
            "item": [f"q{k + 1:02d}" for k in item],
            "judge": judge,
            "score": marks[system, item],
        }
        rows.append(pd.DataFrame(columns))
    pd.concat(rows).to_csv(path, index=False)


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


def write_quiz(folder: Path) -> None:
    """Logs of a quiz of 200 questions, the questions, and three models that Inspect can ask."""
    random = np.random.default_rng(20)
    items = irtkit.ItemParameters.from_difficulty(
        random.lognormal(0, 0.3, 200), random.normal(size=200)
    )
    names = [f"q{k}" for k in range(1, 201)]
    shutil.rmtree(folder / "runs")
    write_logs(folder / "runs", simulated(80, items, seed=21).set_axis(names, axis=1))
    example_logs.write_logs(folder / "lm-runs")
    texts = [f"Is {name} true?" for name in names]
    new = simulated(3, items, 0.6, seed=22).set_axis(texts, axis=1)
    new.iloc[2] = new.iloc[1].where(np.arange(200) % 25 > 0, 1 - new.iloc[1])
    answers = new.set_axis(["newcomer", "main", "branch"], axis=0).to_dict(orient="index")
    (folder / "answers.json").write_text(json.dumps(answers))
    lines = [
        json.dumps({"id": name, "input": text, "target": "yes"})
        for name, text in zip(names, texts, strict=True)
    ]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    page = (DOCS / "howto" / "new_model.md").read_text(encoding="utf-8")
    (folder / "quiz.py").write_text(page.partition("```py\n")[2].partition("```")[0])


def is_runnable(page: str) -> bool:
    """Whether the files that a page needs are there. Some are about data that are not bundled."""
    if page == "new_model":
        return find_spec("inspect_ai") is not None
    return page not in NOT_BUNDLED or SHARED_DATA.is_dir()


def add_files_of_page(page: str, folder: Path) -> None:
    """Change the files as one page needs them."""
    for name in NOT_BUNDLED.get(page, []):
        shutil.copy(SHARED_DATA / name, folder)
    if page == "audit_a_benchmark":
        shutil.rmtree(folder / "runs")
        example_logs.write_logs(folder / "runs")
    if page == "new_model":
        write_quiz(folder)
    if page == "help":  # of commands that compare an old and a new run
        shutil.copy(folder / "old.csv", folder / "new.csv")


def with_output(text: str, folder: Path) -> str:
    """A page's text with the output that its blocks of code print in a folder."""
    names: dict[str, Any] = {}

    def shown(block: re.Match[str]) -> str:
        language, code, fence, before = block.groups()
        with (
            chdir(folder),
            patch.dict(os.environ, COLUMNS="80", MPLBACKEND="agg", SOURCE_DATE_EPOCH="0"),
            pd.option_context("display.width", 80, "display.max_columns", 20),
            warnings.catch_warnings(action="ignore"),  # Python prints them elsewhere
            redirect_stdout(io.StringIO()) as printed,
        ):
            if language == "python":
                exec(compile(code, "page", "exec"), names)  # noqa: S102  # our own pages
            else:
                for line in code.replace("\\\n", "").splitlines():
                    run_line(line)
        if fence is None:
            return block[0]
        lines = [line.rstrip() for line in printed.getvalue().strip("\n").split("\n")]
        return block[0].removesuffix(f"{before}```\n") + "\n".join(lines) + "\n```\n"

    return BLOCK.sub(shown, text)


def run_line(line: str) -> None:
    """Run a line of a shell. Only ``irtkit`` and Inspect are run. A line that installs is checked.

    Raises
    ------
    ValueError
        The line is another program, or the command fails.
    """
    line = re.sub(r"\$\(cat (.+?)\)", lambda file: Path(file[1]).read_text(), line)
    program, *arguments = shlex.split(line, comments=True) or [""]
    if program == "inspect":
        command = [sys.executable, str(DOCS / "example_inspect.py"), *arguments]
        subprocess.run([*command, "--display", "none"], check=True, capture_output=True)  # noqa: S603
        return
    if not program or [program, *arguments[:1]] == ["pip", "install"]:
        return
    if program != "irtkit":
        raise ValueError(f"a page may run irtkit only, not {line!r}")
    said = io.StringIO()
    code: Any = 0
    with patch.object(sys, "argv", ["irtkit", *arguments]), redirect_stderr(said):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    if code and not (code in {1, 3} and {"--fail-on", "gate"} & set(arguments)):
        raise ValueError(f"{line!r} ended with {code}: {said.getvalue()}")
