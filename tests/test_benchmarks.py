"""Claims about the benchmark scripts, on data so small that their figures mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import irtkit

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def modules_beside_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts import what lies beside them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


ON_A_TINY_SHAPE = {
    "peers.py": ("--rounds", "1", "--packages", "irtkit"),
    "default_call.py": ("--rounds", "1", "--packages", "irtkit, default call"),
    "threads.py": ("--rounds", "1"),
    "floor.py": ("--rounds", "1", "--priors", "weak"),
    "scaling.py": (),
    "standard_errors.py": ("--models", "2PL"),
}


@pytest.mark.slow
@pytest.mark.parametrize("script", ON_A_TINY_SHAPE)
def test_a_script_runs_on_a_tiny_shape_and_stores_its_fits(script: str, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [sys.executable, BENCHMARKS / script, "--shapes", "60x8", *ON_A_TINY_SHAPE[script]]
    subprocess.run([*command, "--out", out], check=True, capture_output=True)
    records = json.loads(out.read_text(encoding="utf-8"))["fits"]
    assert records
    assert not any(record.get("problem") for record in records)
    # standard errors beside those of the Hessian written down anew
    assert max(record.get("largest", 0) for record in records) < 1e-3


@pytest.mark.slow
def test_forty_damages_of_every_format_of_logs_are_survived() -> None:
    command = [sys.executable, BENCHMARKS / "fuzzed_logs.py", "--damages", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_the_yardstick_is_the_exact_integral(guessing: float) -> None:
    # one item: Σᵢ log P(yᵢ) with P = ∫ P(right | θ) φ(θ) dθ = c + (1 − c)/2 at difficulty 0
    accuracy = load("accuracy")
    items = accuracy.Items(np.array([1.5]), np.array([0.0]), np.array([guessing]))
    found = accuracy.marginal_log_likelihood(
        np.array([[1], [0]], dtype=np.int8), items, accuracy.fine_grid([items])
    )
    right = guessing + (1 - guessing) / 2
    assert found == pytest.approx(np.log(right) + np.log(1 - right), abs=1e-12)


@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_the_yardstick_integrates_over_observed_cells_only(guessing: float) -> None:
    accuracy = load("accuracy")
    both = accuracy.Items(np.array([1.5, -0.7]), np.array([0.0, 0.4]), np.full(2, guessing))
    first = accuracy.Items(*(parameter[:1] for parameter in both))
    nodes = accuracy.fine_grid([both])
    with_missing = np.array([[1, -1], [0, -1]], dtype=np.int8)
    alone = accuracy.marginal_log_likelihood(with_missing[:, :1], first, nodes)
    found = accuracy.marginal_log_likelihood(with_missing, both, nodes)
    assert found == pytest.approx(alone, abs=1e-12)


def test_coverage_counts_the_intervals_that_hold_the_truth() -> None:
    coverage = load("coverage")
    study = coverage.Study(coverage.Shape(60, 8), "weak", 3, (0.99999, 1.0))
    record = coverage.measure(study)
    for name, row in zip(coverage.PARAMETERS, coverage.rows(study, record), strict=True):
        assert 0.5 < record[name]["coverage"] <= 1
        assert record[name]["coverage"] * 24 == pytest.approx(round(record[name]["coverage"] * 24))
        assert ("missed" in row) == (record[name]["coverage"] < 1)


@pytest.mark.slow
def test_the_bound_of_the_plain_peer_is_the_mean_over_its_draws() -> None:
    peer = load("mean_field")
    values = np.random.default_rng(0).integers(0, 2, (30, 4), dtype=np.int8)
    found = peer.fit(values)
    generator = np.random.default_rng(1)
    heights = []
    for _ in range(2_000):
        drawn = [generator.normal(m, s) for m, s in zip(found.mean, found.sd, strict=True)]
        ability, slope, intercept = drawn
        z = np.where(values == 1, 1, -1) * (np.outer(ability, slope) + intercept)
        joint = -np.logaddexp(0, -z).sum() + norm.logpdf(ability).sum()
        joint += norm.logpdf(slope, 1.0, 0.5).sum() + norm.logpdf(intercept, 0.0, 2.0).sum()
        guide = zip(drawn, found.mean, found.sd, strict=True)
        heights.append(joint - sum(norm.logpdf(x, m, s).sum() for x, m, s in guide))
    standard_error = np.std(heights) / len(heights) ** 0.5
    assert found.elbo == pytest.approx(np.mean(heights), abs=4 * standard_error)
    ours = irtkit.fit(irtkit.ResponseMatrix(values), method="vi", prior=peer.PRIOR)
    assert found.elbo < ours.elbo


def test_the_sampler_of_guessing_draws_from_a_normal_density_what_it_says() -> None:
    guessing = load("guessing")
    precision = np.array([[2.0, 0.8], [0.8, 1.0]])
    found, accepted = guessing.hamiltonian(
        lambda x: (-0.5 * x @ precision @ x, -precision @ x), 2, 4_000
    )
    assert accepted > 0.6
    # 4,000 draws, each from a trajectory about as long as the density is wide
    assert np.cov(found.T) == pytest.approx(np.linalg.inv(precision), abs=0.15)


def test_warnings_are_counted_by_kind() -> None:
    study = load("warnings_of_fit")
    draw = study.parts(((9, 30), (8, 30)), sparse=False)
    figures = study.measured("two parts", draw, "parts", 2)
    assert [figures[kind] for kind in study.KINDS] == [1, 1, 0, 0, 0, 0, 0]
    assert len(study.line(figures).split("|")) == 11
    assert [study.measured("", study.one(7, 30), "few", 2)[kind] for kind in ("few", "parts")] == [
        1,
        0,
    ]


def test_leaked_anchors_are_counted() -> None:
    study = load("anchors")
    record = study.measured(study.Study("2PL", 500, 1000, 6, n_data_sets=1))
    assert (record["exactly"], record["false"]) == (1, 0)
    assert abs(record["after"]) < 0.15 < record["before"]
    assert len(study.row(record).split("|")) == len(study.HEADER)


@pytest.mark.filterwarnings("ignore:one ability", "ignore:Ability differs")
def test_what_comparisons_claim_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    study = load("held_out")
    monkeypatch.setattr(study, "CLAIMS", (("1PL", 30, 20, "skewed", study.EQUAL),))
    (claims,) = study.claims(2)
    assert claims["claims"] == 0
    assert set(claims["gains"]) == {"2PL", "3PL"}
    monkeypatch.setattr(study, "SETTLED", ((30, 20),))
    assert max(abs(move) for move in study.settled()[0]["moved"].values()) < 0.1
    monkeypatch.setattr(study, "SYSTEMS", ((50, 40, "families", 0.0),))
    for row in study.moves(2):
        plain, ours = row["by_rule"]["1.96"], row["by_rule"]["irtkit"]
        assert ours["sets"] <= plain["sets"] <= 2
        assert ours["wrong"] <= ours["pairs"] <= plain["pairs"]


def test_what_is_said_of_systems_is_counted() -> None:
    study = load("systems")
    for setting in study.BOARDS[3:5]:
        record = study.measured(*setting, 2)
        assert record["all ranks"] in {0, 0.5, 1}
        assert record["tied"] in {0, 0.5, 1}
        assert len(study.line(record).split("|")) == len(study.HEADER) + 2
    curve = study.power(200, (1.0, 0.0), 20)
    assert curve["simulated"] > 0.5
    assert curve["formula"] > 0.9
    gates = study.false_alarms(100, 0.05, 2, 5)
    assert gates["failed"] + gates["inconclusive"] + gates["passed"] == 1
    default = study.default_gate(500, 0.0, 0.0, 2)
    assert default["passed"] == 1
    assert study.timed(20, 50)["pairs"] == 190


@pytest.mark.filterwarnings("ignore")
def test_what_is_said_by_difficulty_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    study = load("curves")
    monkeypatch.setattr(study, "CURVES", ((8, 200, 1, 0.0),))
    (record,) = study.curves(1)
    assert 0.5 < record["without"] <= 1
    assert record["of all"] < record["without"]
    assert study.leaders("one better", 3.0, 1)["won"] > 0.5
    alarm = study.alarms(study.Study("known", "", 10, 200), 0.0, 1)
    assert alarm["alarm"] < 0.5 < alarm["power"]
    fitted = study.alarms(study.Study("fitted", "1PL", 20, 200), 1.0, 1)
    assert fitted["n"] == 5
    assert {one["share"] for one in study.horizons(1, 2)} == {0.5, 0.8}
    assert study.products(2)["truth"] == pytest.approx(-0.1, abs=0.05)


def test_what_predictions_are_worth_is_read_off_the_errors_without_them() -> None:
    pytest.importorskip("sklearn")
    study = load("expected_difficulty")
    answers = pd.Index([1, 4, 16], name="answers")
    error = 1 / np.sqrt(answers)
    told = 1 / np.sqrt(answers + 3)  # predictions are three answers more
    table = pd.DataFrame({"weak prior": error, "with predictions": told}, index=answers)
    assert study.worth(table) == pytest.approx([4, 7, 16])
    responses = irtkit.ResponseMatrix(np.ones((9, 6), dtype=int))
    new = np.arange(6) > 2
    few = study.with_few_answers(responses, new, 2, np.random.default_rng(0))
    assert (few.values >= 0).sum(axis=0).tolist() == [9, 9, 9, 2, 2, 2]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "draws"),
    [
        *(("liver-disorders", 3), ("diabetes", 3), ("sat", 3), ("tptp", 20)),
        *(
            pytest.param(*large, marks=pytest.mark.slow)
            for large in (("SST", 15), ("optdigits", 5))
        ),
    ],
)
def test_the_difficulties_that_the_aaai22_study_stored_come_out(
    shared_data: Path, name: str, draws: int
) -> None:
    # of the random rows totals alone are known, and all items of a batch shift with the draw
    study = load("stored_difficulties")
    assert study.stored(name, shared_data).items["Dffclt"].notna().all()
    found = study.reproduced(name, draws)
    # on mirt's grid all items of a batch shift together: optdigits has 0.038 in the median of 10
    assert found["rmse"] <= (0.04 if name == "optdigits" else 0.03)
    assert found["least_correlation"] >= 0.9998
    assert found["rmse_without_shift"] < found["rmse"]


def load(name: str) -> ModuleType:
    """A module of the benchmarks, which are scripts and not a package."""
    spec = spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_repeated_trials_are_studied_beside_one_run() -> None:
    repeated = load("repeated_trials")
    study = repeated.Study(60, 12, (5,), 1.0, n_data_sets=2)
    record = repeated.measure(study)
    assert record["said"] == record["counted"] == 2
    assert record["correlation"] == 1
    assert record["from_one_run"] < 1e-3
    assert record["ability_if_independent"]["coverage"] < record["ability"]["coverage"]
    assert len(repeated.row(study, record).split("|")) == len(repeated.HEADER) + 2


def test_fit_is_studied_where_a_model_holds_and_where_not() -> None:
    study = load("model_fit")
    alarms = study.null(study.Null(300, 20, 2))
    assert alarms["n_items"] == 40
    assert 0 <= alarms["s_x2_01"] <= alarms["s_x2_05"] < 0.3
    assert 0 < alarms["lz_05"] < 0.2
    found = study.planted(800, 20, 2, "falling again")
    assert found["found"] <= found["power_05"]
    assert found["power_05"] > 0.5
    assert study.m2_null(study.Null(300, 10, 2))["sets"] == 2
    families = study.dependent("copies", [study.copies(10, 6, 0.02, 0)])
    assert families["called"] < families["each_counted"]
    record = study.bootstrapped(study.Null(60, 12, 1))
    assert len(study.shown(record).split()) >= len(record)


def test_levels_of_tests_are_studied_on_clean_data() -> None:
    study = load("levels")
    of_3pl = study.m2(17)  # eigenvalues of the products of derivatives gave 1,410,995
    assert of_3pl["df"] == 42
    assert of_3pl["dense"] == pytest.approx(51.769, abs=0.01)
    assert of_3pl["off"] < 1e-6
    called = study.respondents(study.Null(1000, 20, 1))
    assert 0.02 < called["p_05"] < 0.08
    assert called["p_001"] <= 0.003
    assert 0.9 < called["infit"] < 1
    drift = study.drift(study.Linked(300, 20, 2))
    assert 0 <= drift["p_001"] <= drift["p_05"] <= 0.2
    assert drift["by_errors_05"] <= drift["p_05"]
    matched = study.matching("one SD apart, 10 items", 200)
    assert 0 < matched["weighted"] < matched["plain"] < 0.2


def test_families_are_joined_and_held_out_whole() -> None:
    few = load("few_items")
    alike = np.array([0, 0, 1, 2, 3, 4, 5, 6])
    family = few._joined(alike, ["a", "b", "b", "c", "d", "e", "f", "g"])
    assert len(set(family[:3])) == 1
    assert len(set(family)) == 6
    for seed in range(10):
        held = few._held_out(np.repeat(np.arange(40), 5), seed)
        assert set(held.reshape(40, 5).sum(axis=1)) == {0, 5}
        assert 0.25 <= held.mean() <= 0.3
