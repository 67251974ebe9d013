"""The README's example runs and prints what it says."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_under_it() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert found is not None
    code, expected = found.groups()
    assert len(code.splitlines()) < 20
    printed = StringIO()
    names: dict[str, Any] = {}
    with redirect_stdout(printed), pytest.warns(UserWarning, match="ability") as caught:
        exec(code, names)  # noqa: S102  # the README is ours
    assert printed.getvalue() == expected
    words, (told, meant) = " ".join(README.split()), [str(one.message) for one in caught]
    assert told.split(":")[0] in words
    assert names["result"].warnings == (told,)
    assert "items called negative may have right keys" in meant
    assert names["result"].dependence.sentence in words


def test_the_table_names_every_module_and_no_other() -> None:
    package = Path(__file__).parents[1] / "irtkit"
    there = {path.stem for path in package.glob("*.py")}
    there |= {path.parent.name for path in package.glob("*/__init__.py")}
    named = re.findall(r"^\| `irtkit\.(\w+)` \|", README, re.MULTILINE)
    assert sorted(named) == sorted(there - {"__init__"})
