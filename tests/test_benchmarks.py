"""Claims about the benchmark scripts, on data so small that their figures mean nothing."""

import json
import re
import subprocess
import sys
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def study(monkeypatch, request):
    """The script that the test is marked with. Scripts import what lies next to them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    # "coverage" must not be found among what is installed
    spec = spec_from_file_location(f"of_{request.param}", BENCHMARKS / f"{request.param}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of(name):
    """Mark a test with the name of the script that it is about."""
    return pytest.mark.parametrize("study", [name], indirect=True)


RESULTS = sorted(path.stem for path in (BENCHMARKS / "results").glob("*.json"))


@of("studies")
def test_a_figure_that_is_older_than_the_code_is_known_to_be_due(study):
    stale = {name: files for name in RESULTS if (files := study.changed(name))}
    unknown = [f"{name} ({files[0]})" for name, files in stale.items() if name not in study.due()]
    assert not unknown, (
        f"older than the code, with the first file that changed: {', '.join(unknown)}. "
        "Run python benchmarks/studies.py --confirm, and --renew NAME for what does not agree"
    )
    assert {*study.due()} <= {*stale}


@of("studies")
@pytest.mark.parametrize("name", RESULTS)
def test_a_stored_figure_names_its_commit_machine_and_sources(study, name):
    measured = study.stored(name)["measured"]
    for when in (measured, measured.get("confirmed", measured)):
        assert re.fullmatch("[0-9a-f]{40}", when["commit"])
        assert date.fromisoformat(when["date"]) >= date(2026, 11, 21)
    assert measured["machine"]["processor"]
    assert f"benchmarks/{study.script(name).name}" in measured["sources"]
    assert any(file.startswith("irtkit/") for file in measured["sources"])


@pytest.mark.slow
def test_fits_find_what_an_earlier_commit_found():
    command = [sys.executable, BENCHMARKS / "unchanged.py", "check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


TINY = {
    "peers": "--shapes 60x8 --rounds 1 --packages irtkit",
    "default_call": "--shapes 60x8 --rounds 1 --packages irtkit,default_call",
    "threads": "--shapes 60x8 --rounds 1",
    "floor": "--shapes 60x8 --rounds 1 --priors weak",
    "scaling": "--shapes 60x8",
    "standard_errors": "--shapes 60x8 --models 2PL",
    "fuzzed_logs": "--damages 10",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
@of("studies")
def test_a_study_runs_on_a_tiny_shape_and_stores_its_fits(study, name, tmp_path):
    options = [word.replace(",default_call", ", default call") for word in TINY[name].split()]
    out = tmp_path / "figures.json"
    assert study.run(name, out, options) is None
    records = json.loads(out.read_text(encoding="utf-8"))
    records = records.get("fits") or records["records"]
    assert records
    assert not any(record.get("problem") or record.get("failures") for record in records)
    # standard errors next to those of the Hessian by differences
    assert max(record.get("largest", 0) for record in records) < 1e-3


@of("mutations")
def test_every_mutation_is_of_what_is_there_once(study):
    for row in study.MUTATIONS.strip().splitlines():
        _, module, old, _, tests = row.split("|")
        source = BENCHMARKS.parent / "irtkit" / f"{module}.py"
        assert source.read_text(encoding="utf-8").count(old) == 1, row
        assert all((BENCHMARKS.parent / "tests" / name).exists() for name in tests.split()), row


SMALL, LARGE = ("liver-disorders", "sat", "diabetes"), ("tptp", "SST", "optdigits")
DRAWS = {"SST": 15, "optdigits": 5, "tptp": 20, "liver-disorders": 5}
WORST = {"diabetes": 0.002, "liver-disorders": 0.01, "optdigits": 0.04}


@of("replications")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
)
def test_the_difficulties_that_the_aaai22_study_stored_come_out(shared_data, study, name):
    # of the random rows totals alone are known, and all items of a batch shift with the draw
    assert study.stored(name, shared_data).items["Dffclt"].notna().all()
    record = study.reproduced(name, DRAWS.get(name, 3))
    # on mirt's grid all items of a batch shift together: optdigits has 0.038 in the median of 10
    assert record["rmse"] <= WORST.get(name, 0.03)
    assert record["least_correlation"] >= 0.9998
    assert record["rmse_without_shift"] < record["rmse"]
