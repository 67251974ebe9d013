"""Claims about which module may import which, and about what `import irtkit` costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import irtkit

PACKAGE = Path(__file__).parents[1] / "irtkit"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
# fmt: off
LAYERS = (
    "checks", "findings", "capabilities", "files", "printed", "frames", "progress", "threads",
    "responses", "io", "storage", "irf", "data", "quadrature", "simulation", "calibration",
    "abilities", "fitting", "scoring", "diagnostics", "suspects", "systems", "judges", "selection",
    "difficulty", "prediction", "curves", "datasets", "pictures", "plots", "report", "results",
    "inspect_ai", "", "cli", "__main__",
)
# fmt: on
"""From the first to the last. "" is the package itself, with its public names."""


def layer_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_layers(node):
    """First names below irtkit that the code imports, at any depth, for types alone left out."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    yield from (f"{name}.".split(".")[1] for name in names if name.split(".")[0] == "irtkit")
    for child in ast.iter_child_nodes(node):
        yield from imported_layers(child)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_layers_above_it(path):
    layer = layer_of(path)
    allowed = {*LAYERS[: LAYERS.index(layer)], *([layer] if path.parent != PACKAGE else [])}
    assert set(imported_layers(ast.parse(path.read_text(encoding="utf-8")))) <= allowed


def test_the_package_is_a_table_of_contents():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert {*ast.literal_eval(listed)} == names == {*irtkit.__all__} == {*dir(irtkit)}
    assert all(getattr(irtkit, name) is not None for name in names)


FRESH = """
import irtkit, numpy, sys

def loaded():
    print("large:", *({"jax", "narwhals", "pandas", "pyarrow", "scipy"} & set(sys.modules)))

loaded()
drawn = numpy.random.default_rng(0).normal
irtkit.fit((drawn(size=(200, 1)) > drawn(size=(200, 40))).astype("int8"))
loaded()
import irtkit.report.page, irtkit.systems.gate
print(irtkit.report, irtkit.gate)
"""


def test_a_first_fit_loads_no_large_package_and_functions_are_found_beside_their_rooms():
    command = [sys.executable, "-c", FRESH]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *packages, functions = printed.splitlines()
    assert packages == ["large:"] * 2
    assert functions.count("<function") == 2
