"""Findings are values. Their texts are plain English in the spelling of Python or of a shell."""

import ast
import json
import re
from pathlib import Path
from string import Formatter

import pytest

import irtkit
from irtkit import storage
from irtkit.findings import (
    PURPOSES,
    TEXTS,
    Finding,
    IRTWarning,
    Remedy,
    as_typed,
    spelled_as_options,
)

IDIOM = (
    r"\btold\b|\bbeside\b|\banew\b|\bof (which|whom|those)\b|\b(that|those) of\b|;|"
    r"\b(is|are|have|has) (none|no)\b|\b(so many|so few)\b|\b(is|are) said\b|\bcounts? (as|in)\b"
)
STORED = Path(__file__).parent / "data" / "findings.txt"
PAGE = Path(__file__).parents[1] / "docs" / "warnings.md"
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
KINDS = {
    "hardly-linked-groups": "parts",
    "gap-shrunk": "apart",
    "no-differences": "chance",
    "further-ability": "further ability",
    "item-groups": "item groups",
    "near-duplicates": "near-duplicates",
}
"""Kind of data sets in the stored study, by the code of the warning."""


def texts():
    """Every text by code, with plausible values."""
    found = {}
    for code, template in TEXTS.items():
        plain = template.replace("[[", "").replace("]]", "")
        values = {
            str(name): 1200 if spec else ["q 1", "b"] if str(name).endswith("s") else "q 1"
            for _, name, spec, _ in Formatter().parse(plain)
        }
        found[code] = str(Finding(code, "note", values))
    return found


def snapshot():
    """Texts and purposes as they are stored."""
    return "".join(f"{name}\n    {text}\n" for name, text in [*texts().items(), *PURPOSES.items()])


def test_texts_are_those_that_are_stored():
    stored = STORED.read_text(encoding="utf-8")
    assert snapshot() == stored, f"If the change is meant, run: python tests/{Path(__file__).name}"


def test_every_text_is_one_plain_message():
    for code, text in texts().items():
        assert not re.search(rf"[{{}}\[\]]|\n|{IDIOM}", text), code
        assert all(len(one.split()) <= 30 for one in re.split(r"[.?:] ", text)), code
    finding = Finding(
        "damaged", "error", {"message": "bad"}, (Remedy({"ignore": ["q 1"]}, "ignore"),)
    )
    assert finding.text(options=True) == "bad. Add --ignore 'q 1' to leave it out"
    assert finding.text(options=False) == "bad. Pass ignore='q 1' to leave it out"


def test_every_purpose_and_code_that_is_used_has_a_text():
    used = {"Remedy": set(), "failed": set(), "Finding": set()}
    for path in Path(irtkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name, words = node.func.id, node.args[1:] if node.func.id == "Remedy" else node.args
                if name in used and words and isinstance(words[0], ast.Constant):
                    used[name].add(words[0].value)
    assert used["Remedy"] <= set(PURPOSES)
    assert used["failed"] | used["Finding"] <= set(TEXTS)


def test_messages_of_a_fit_are_named_and_short():
    for code in [*TEXTS][[*TEXTS].index("systems-at-chance") :]:
        assert re.match(r"[A-Z][\w -]+: ", texts()[code])
        assert len(texts()[code].split()) <= 50


def entries():
    """What the page of warnings says of each code that has a heading."""
    parts = re.split(r"(?m)^### (.*)$", PAGE.read_text(encoding="utf-8"))
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {code: re.split(r"(?m)^## ", text)[0] for code, text in pairs}


def test_every_code_is_on_the_page_of_warnings_once():
    page = PAGE.read_text(encoding="utf-8")
    refusals = page.split("\n## Responses that cannot be read\n")[1]
    named = [code for row in re.findall(r"(?m)^\| (`.*?) \|", refusals) for code in row.split(", ")]
    headings = re.findall(r"(?m)^### (.*)$", page)
    assert sorted([*headings, *(code.strip("`") for code in named)]) == sorted(TEXTS)


@pytest.mark.parametrize("code", entries())
def test_an_entry_shows_the_message_and_says_what_to_do_and_how_often_it_is_false(code):
    text = entries()[code]
    shown = " ".join(re.findall(r"(?m)^> (.*)$", text)).replace("\\*", "*")
    parts = re.split(r"(\[\[|\]\]|\{.*?\})", as_typed(TEXTS[code]))
    marks = {"[[": "(?:", "]]": ")?"}
    pattern = "".join(marks.get(one, ".+?" if one[:1] == "{" else re.escape(one)) for one in parts)
    assert re.fullmatch(rf"{pattern}(?:\. Pass .*)?", shown)
    assert "- **What to do:** " in text
    assert "- **How often false:** " in text


def studies(name, part="studies"):
    """What a benchmark stored."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))[part]


def test_rates_of_false_warnings_are_those_of_the_benchmarks():
    clean = [one for one in studies("warnings_of_fit") if one["wanted"] == "clean"]
    n = sum(one["data_sets"] for one in clean)
    for code, kind in KINDS.items():
        false = sum(round(one[kind] * one["data_sets"]) for one in clean)
        assert f"[{false}](accuracy.md#warnings) of {n:,} clean" in entries()[code]
    clean = [one for one in studies("health") if one["planted"].startswith("clean")]
    false, n = (sum(one[name] for one in clean) for name in ("false", "sets"))
    for code in ("items-at-ceiling", "items-at-floor", "few-separating", "near-duplicate-items"):
        assert f"[{false} of {n}](" in entries()[code]
    none = [one for one in studies("at_chance") if one["wanted"] in {"none", "elsewhere"}]
    equal = [one for one in studies("held_out", "claims") if one["data"].startswith("1PL")]
    places = studies("held_out", "systems")
    for code, records, false, n in (
        ("systems-at-chance", none, "told", "data_sets"),
        ("anchor-drift", studies("anchors"), "false", "n_data_sets"),
        ("predicts-better", equal, "claims", "sets"),
        ("places-changed", places, "wrong", "sets"),
        ("ability-reversed", studies("systems", "warned"), "warned", "boards"),
    ):
        counts = (round(sum(one[name] for one in records)) for name in (false, n))
        assert "{:,} of {:,}".format(*counts) in entries()[code]


def test_python_code_replaces_settings_and_lacks_an_option(tmp_path):
    drop = Remedy({"drop": "at-chance"}, "leave-out", code="result.responses.drop(…)")
    finding = Finding("no-differences", "warning", {}, (drop, Remedy({}, code="max_iterations=4")))
    python = "Pass result.responses.drop(…) to leave them out, or max_iterations=4"
    assert str(finding).endswith(python)
    assert finding.text(options=True).endswith("Add --drop at-chance to leave them out")
    with spelled_as_options():
        assert str(finding) == finding.text(options=True)
    chosen = Finding("item-groups", "warning", {"z": 9.5}, (drop, Remedy({"clusters": ...})))
    form = storage.Format("finding", 1)
    storage.write(tmp_path / "f.npz", form, {"finding": chosen})
    restored = storage.read(
        tmp_path / "f.npz", form, lambda read: Finding.restored(read["finding"])
    )
    assert restored == chosen


def test_a_warning_points_at_the_line_of_the_user():
    with pytest.warns(IRTWarning, match="Few systems") as caught:
        irtkit.fit([[1, 0], [0, 1], [1, 1]])
    assert {Path(one.filename).name for one in caught} == {"test_findings.py"}


if __name__ == "__main__":
    STORED.write_text(snapshot(), encoding="utf-8")
