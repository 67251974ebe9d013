"""Findings are values; their texts are plain English in the spelling of Python or of a shell."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from string import Formatter

import pytest

import irtkit
from irtkit.findings import PURPOSES, TEXTS, Finding, IRTWarning, Remedy, failed, spelled_as_options

IDIOM = (
    r"\btold\b|\bbeside\b|\banew\b|\bof (which|whom|those)\b|\b(that|those) of\b|;|"
    r"\b(is|are|have|has) (none|no)\b|\b(so many|so few)\b|\b(is|are) said\b|\bcounts? (as|in)\b"
)
STORED = Path(__file__).parent / "data" / "findings.txt"


def texts() -> dict[str, str]:
    """Every text by code, with plausible values."""
    found = {}
    for code, template in TEXTS.items():
        plain = template.replace("[[", "").replace("]]", "")
        values: dict[str, object] = {
            str(name): 1200 if spec else ["q 1", "b"] if str(name).endswith("s") else "q 1"
            for _, name, spec, _ in Formatter().parse(plain)
        }
        found[code] = str(Finding(code, "note", values))
    return found


def snapshot() -> str:
    """Texts and purposes as they are stored."""
    return "".join(f"{name}\n    {text}\n" for name, text in [*texts().items(), *PURPOSES.items()])


def test_texts_are_those_that_are_stored() -> None:
    stored = STORED.read_text(encoding="utf-8")
    assert snapshot() == stored, f"If the change is meant, run: python tests/{Path(__file__).name}"


def test_every_text_is_one_plain_message() -> None:
    for code, text in texts().items():
        assert not re.search(rf"[{{}}\[\]]|\n|{IDIOM}", text), code
        assert all(len(one.split()) <= 30 for one in re.split(r"[.?:] ", text)), code
    finding = Finding(
        "damaged", "error", {"message": "bad"}, (Remedy({"ignore": ["q 1"]}, "ignore"),)
    )
    assert finding.text(options=True) == "bad. Add --ignore 'q 1' to leave it out"
    assert finding.text(options=False) == "bad. Pass ignore='q 1' to leave it out"


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


def test_every_warning_of_a_fit_is_named_short_and_on_the_page_of_warnings() -> None:
    of_fit = [*TEXTS][[*TEXTS].index("systems-at-chance") :]
    page = (Path(__file__).parents[1] / "docs" / "warnings.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## (.*)$", page)
    assert {*of_fit} <= {*headings} <= {*TEXTS}
    assert len(headings) == len({*headings})
    for code in of_fit:
        assert re.match(r"[A-Z][\w -]+: ", texts()[code])
        assert len(texts()[code].split()) <= 50


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


if __name__ == "__main__":
    STORED.write_text(snapshot(), encoding="utf-8")
