"""How much there is to read: what a file and a default fit run through, and the numbers in them.

Prints the files and functions of irtkit that reading a wide CSV file calls, and a default 2PL fit
of complete data (a function counts once; comprehensions do not count), with ``--names`` which; the
numeric constants of quadrature and calibration (names of modules and fields of settings bound to
numbers, a pair of numbers counting twice), and those without a word on where they come from; and
lines, files and functions of the package.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(irtkit.__file__).parent
STEERED = ("quadrature", "calibration")
"""Folders whose numbers are counted, with all below them."""


def called(work: Callable[[], Any]) -> dict[str, set[str]]:
    """Functions of irtkit by file that some work calls."""
    found: dict[str, set[str]] = {}

    def look(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        anonymous = code.co_name.startswith("<") and code.co_name != "<lambda>"
        if event == "call" and not anonymous and code.co_filename.startswith(str(ROOT)):
            name = str(Path(code.co_filename).relative_to(ROOT))
            found.setdefault(name, set()).add(code.co_qualname)

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def constants(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, name and whether it is explained, of every number bound by a module or its classes."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    scopes = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for body in scopes:
        for place, node in enumerate(body):
            targets = _targets(node)
            after = body[place + 1] if place + 1 < len(body) else None
            told = (
                isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            )
            told = told or "#" in lines[node.lineno - 1]
            for name, value in targets:
                if _is_number(value):
                    yield node.lineno, name, told


def _targets(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Names that a statement binds, each with its value."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(ast.unparse(node.target), node.value)]
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [(ast.unparse(t), v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [(ast.unparse(target), value)]


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is made of numbers alone, such as 2**20 or -80.0 or 1 + 1e-9."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
    kinds = (ast.BinOp, ast.UnaryOp, ast.Constant)
    return isinstance(value, ast.BinOp | ast.UnaryOp) and all(isinstance(p, kinds) for p in parts)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", action="store_true", help="name functions and bare constants")
    names = parser.parse_args().names
    right = np.random.default_rng(0).random((150, 20)) < 0.6
    responses = irtkit.ResponseMatrix(right.astype(np.int8))
    irtkit.fit(responses)  # what is loaded when first used has been
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "wide.csv")
        irtkit.write_responses(responses, path, format="wide")
        irtkit.read_responses(path)
        reading = called(lambda: irtkit.read_responses(path))
    print(f"wide CSV file: {len(reading)} files, {sum(map(len, reading.values()))} functions")
    results: list[irtkit.FitResult] = []
    fitting = called(lambda: results.append(irtkit.fit(responses)))
    showing = called(lambda: results[0].items)
    print(f"default 2PL fit: {len(fitting)} files, {sum(map(len, fitting.values()))} functions")
    both = {f: fitting.get(f, set()) | showing.get(f, set()) for f in fitting | showing}
    print(f"and its items:   {len(both)} files, {sum(map(len, both.values()))} functions")
    for file, functions in (*reading.items(), *fitting.items()) if names else ():
        print(f"  {file}: {', '.join(sorted(functions))}")
    numbers = [
        (path.relative_to(ROOT), *found)
        for folder in STEERED
        for path in sorted((ROOT / folder).rglob("*.py"))
        for found in constants(path)
    ]
    bare = [entry for entry in numbers if not entry[-1]]
    print(f"numeric constants of quadrature and calibration: {len(numbers)}, {len(bare)} bare")
    if names:
        for path, line, name, _ in bare:
            print(f"  {path}:{line} {name}")
    files = sorted(ROOT.rglob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    defined = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    longest = max(defined, key=_length)
    print(f"package: {sum(lines):,} lines, {len(files)} files, {len(defined)} functions")
    print(f"longest: {max(lines)} lines a file, {_length(longest)} a function ({longest.name})")


def _length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    docstring = ast.get_docstring(function, clean=False) or ""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    return whole - (docstring.count("\n") + 1 if docstring else 0)


if __name__ == "__main__":
    main()
