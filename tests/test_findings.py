"""Findings are values; their texts are plain English in the spelling of Python or of a shell."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import irtkit
from irtkit.findings import PURPOSES, TEXTS, Finding, IRTWarning, Remedy, failed, spelled_as_options

IDIOM = (
    r"\btold\b|\bbeside\b|\banew\b|\bof (which|whom|those)\b|\b(that|those) of\b|;|"
    r"\b(is|are|have|has) (none|no)\b|\b(so many|so few)\b|\b(is|are) said\b|\bcounts? (as|in)\b"
)


def values_of(template: str) -> dict[str, Any]:
    """Plausible values of the fields of a template."""
    fields = [(name, spec) for _, name, spec, _ in Formatter().parse(template) if name]
    return {name: 1200 if spec else ["q 1", "b"] for name, spec in fields}


@pytest.mark.parametrize("code", TEXTS)
@pytest.mark.parametrize("options", [False, True])
def test_every_text_is_one_plain_message(code: str, *, options: bool) -> None:
    remedy = Remedy({"ignore": ["q 1"]}, "ignore")
    finding = Finding(code, "error", values_of(TEXTS[code].replace("[[", "").replace("]]", "")))
    shown = finding.text(options=options)
    assert not re.search(r"[{}\[\]]|\n", shown)
    assert not re.search(IDIOM, shown)
    assert all(len(one.split()) <= 30 for one in re.split(r"[.?:] ", shown))
    ending = (
        "Add --ignore 'q 1' to leave it out" if options else "Pass ignore='q 1' to leave it out"
    )
    assert Finding(code, "error", finding.values, (remedy,)).text(options=options).endswith(ending)


def test_every_purpose_and_code_that_is_used_has_a_text() -> None:
    used: dict[str, set[str]] = {"Remedy": set(), "failed": set(), "Finding": set()}
    for path in Path(irtkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name, words = node.func.id, node.args[1:] if node.func.id == "Remedy" else node.args
                if name in used and words and isinstance(words[0], ast.Constant):
                    used[name].add(words[0].value)
    assert used["Remedy"] <= set(PURPOSES)
    assert used["failed"] | used["Finding"] <= set(TEXTS)


def of_fit() -> list[str]:
    codes = list(TEXTS)
    return codes[codes.index("systems-at-chance") :]


def test_every_code_of_a_fit_has_an_anchor_on_the_page_of_warnings() -> None:
    page = (Path(__file__).parents[1] / "docs" / "warnings.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## (.*)$", page)
    assert set(of_fit()) <= set(headings) <= set(TEXTS)
    assert len(headings) == len(set(headings))


@pytest.mark.parametrize("code", of_fit())
def test_a_message_of_a_fit_begins_with_its_name_and_is_short(code: str) -> None:
    shown = str(
        Finding(code, "warning", values_of(TEXTS[code].replace("[[", "").replace("]]", "")))
    )
    assert re.match(r"[A-Z][\w -]+: ", shown)
    assert len(shown.split()) <= 50


def test_python_code_takes_the_place_of_settings_and_has_no_option() -> None:
    drop = Remedy({"drop": "at-chance"}, "leave-out", code="result.responses.drop(…)")
    finding = Finding("no-differences", "warning", {}, (drop, Remedy({}, code="max_iterations=4")))
    python = "Pass result.responses.drop(…) to leave them out, or max_iterations=4"
    assert str(finding).endswith(python)
    assert finding.text(options=True).endswith("Add --drop at-chance to leave them out")
    with spelled_as_options():
        assert str(finding) == finding.text(options=True)
    chosen = Finding("item-groups", "warning", {"z": 9.5}, (drop, Remedy({"clusters": ...})))
    assert Finding.restored(json.loads(json.dumps(chosen.stored()))) == chosen


def test_errors_and_warnings_carry_the_finding() -> None:
    error = failed("no-task", Remedy({"task": ...}), task="x", tasks=[])
    error.place = "a.csv"
    assert str(error) == "a.csv: 'x' is not a task of this table. Pass task=…"
    assert IRTWarning(error.finding).code == "no-task"


def test_a_warning_points_at_the_line_of_the_user() -> None:
    with pytest.warns(IRTWarning, match="Few systems") as caught:
        irtkit.fit([[1, 0], [0, 1], [1, 1]])
    assert {Path(one.filename).name for one in caught} == {"test_findings.py"}
