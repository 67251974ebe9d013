"""Every function and command works on every kind of data, or the table of capabilities says no."""

import re
from functools import cache
from itertools import product
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.capabilities import FUNCTIONS, UnsuitableDataError, limit_of
from tests.commands import run

pytestmark = pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")

N, N_ITEMS = 40, 16
SYSTEMS = [f"s{k}" for k in range(N)]
ITEMS = [f"q{k}" for k in range(N_ITEMS)]
KINDS = (
    "right and wrong",
    "scores",
    "levels",
    "trials",
    "two abilities",
    "tasks",
    "sparse",
    "5 systems",
    "no responses",
)
FURTHER = {"scores", "tasks", "sparse", "5 systems"}
KINDS_OF_EACH = [pytest.param(kind, marks=[pytest.mark.slow] * (kind in FURTHER)) for kind in KINDS]
"""Kinds for pictures and commands, whose functions are tried on every kind."""


@cache
def data(kind):
    """Responses of a kind, of two abilities that are correlated."""
    rng = np.random.default_rng(3)
    ability = rng.normal(size=(N, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    z = np.repeat(ability, N_ITEMS // 2, axis=1) * 1.4 - rng.normal(size=N_ITEMS)
    p = 1 / (1 + np.exp(-z))
    marks = pd.DataFrame((rng.random(p.shape) < p).astype(int), SYSTEMS, ITEMS)
    if kind == "scores":
        share = np.clip(p + rng.normal(0, 0.15, p.shape), 0.01, 0.99)
        table = pd.DataFrame(share.round(3), SYSTEMS, ITEMS)
        return irtkit.read_responses(table, score_range=(0, 1))
    if kind == "levels":
        table = pd.DataFrame((3 * p + rng.random(p.shape)).astype(int).clip(0, 3), SYSTEMS, ITEMS)
        return irtkit.read_responses(table, levels=True)
    if kind == "trials":
        tried = np.full(p.shape, 4)
        return irtkit.ResponseMatrix.from_counts(rng.binomial(4, p), tried, SYSTEMS, ITEMS)
    responses = irtkit.read_responses(marks)
    if kind == "tasks":
        task = ["sums"] * (N_ITEMS // 2) + ["words"] * (N_ITEMS // 2)
        return responses.with_tables(pd.DataFrame({"task": task}, ITEMS))
    if kind == "sparse":
        return responses.to_sparse()
    return responses.part(np.arange(5)) if kind == "5 systems" else responses


@cache
def result(kind):
    """A fit to these."""
    if kind == "no responses":
        with TemporaryDirectory() as folder:
            result(KINDS[0]).save(f"{folder}/fit.npz", include_responses=False)
            return irtkit.load(f"{folder}/fit.npz")
    return irtkit.fit(data(kind), abilities=2 if kind == "two abilities" else 1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """File of a fit to data of a kind."""
    folder = tmp_path_factory.mktemp("fits")

    @cache
    def save(kind):
        path = folder / f"{kind}.npz"
        result(kind).save(path)
        return path

    return save


def asked(test):
    while not test.done:
        test.answer(True)  # noqa: FBT003 - right


def groups(responses):
    return [("a", "b")[k % 2] for k in range(len(responses.respondents))]


def dates(fit):
    return [2000 + k for k in range(len(fit.respondent_labels))]


# What is given: a result, its responses and a folder
CALLS = {
    "fit": lambda _, data, __: irtkit.fit(data),
    "abilities=": lambda _, data, __: irtkit.fit(data, abilities=2),
    "fixed=": lambda fit, data, _: irtkit.fit(data, "2PL", fixed=fit),
    "audit": lambda fit, *_: irtkit.audit(fit),
    "flag_items": lambda fit, *_: irtkit.flag_items(fit),
    "poor_fit=": lambda fit, *_: irtkit.flag_items(fit, poor_fit=True),
    "families=": lambda fit, *_: irtkit.flag_items(fit, families="similar"),
    "wrong_keys": lambda fit, *_: irtkit.wrong_keys(fit),
    "similar_respondents": lambda fit, *_: irtkit.similar_respondents(fit),
    "health": lambda fit, *_: fit.health(),
    "leaderboard": lambda fit, *_: fit.leaderboard(),
    "compare_systems": lambda fit, *_: irtkit.compare_systems(fit, "s0", "s1"),
    "gate": lambda _, data, __: irtkit.gate(data, data),
    "drift": lambda _, data, __: irtkit.drift(data, data),
    "compare_difficulties": lambda fit, *_: irtkit.compare_difficulties(fit, folds=2),
    "score": lambda fit, data, _: irtkit.score(data, fit),
    "select_items": lambda fit, *_: irtkit.select_items(fit, 6),
    "adaptive": lambda fit, *_: asked(irtkit.adaptive(fit, 6, order="fixed")),
    "link": lambda fit, *_: irtkit.link(fit, fit),
    "report": lambda fit, _, here: irtkit.report(fit, here / "report.html"),
    "characteristic_curves": lambda fit, *_: irtkit.characteristic_curves(fit),
    "item_fit": lambda fit, *_: irtkit.item_fit(fit),
    "respondent_fit": lambda fit, *_: irtkit.respondent_fit(fit),
    "model_fit": lambda fit, *_: irtkit.model_fit(fit),
    "local_dependence": lambda fit, *_: irtkit.local_dependence(fit),
    "information": lambda fit, *_: irtkit.information(fit),
    "differential_functioning": lambda _, data, __: irtkit.differential_functioning(
        data, groups(data)
    ),
    "pass_k": lambda _, data, __: irtkit.pass_k(data),
    "trend": lambda fit, *_: irtkit.trend(fit, dates(fit)),
    "format='wide'": lambda _, data, here: irtkit.write_responses(
        data, here / "wide.csv", format="wide"
    ),
}
OF_DATA = (
    "fit",
    "abilities=",
    "gate",
    "drift",
    "differential_functioning",
    "pass_k",
    "format='wide'",
)
NOT_CALLED = {
    "likelihood_ratio_test": "needs two nested fits: tests/diagnostics/test_models.py",
    "horizon": "as trend",
    "expected_performance": "needs reliable difficulties: tests/curves/test_curves.py",
    "judges": "needs ratings: tests/judges/test_judges.py",
    "result.category_probability": "as plots.category_curves",
    "difficulty.held_out_predictions": "as compare_difficulties",
}


def expected(feature, kind):
    """The sentence that refuses a feature on data of a kind, None where it works."""
    given = data(kind) if feature in OF_DATA else result(kind)
    limit = limit_of(feature, given)
    return None if limit is None else str(UnsuitableDataError(feature, limit))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("feature", CALLS)
def test_a_function_works_or_is_refused_in_the_words_of_the_table(feature, kind, tmp_path):
    refused = expected(feature, kind)
    if refused is None:
        CALLS[feature](result(kind), data(kind), tmp_path)
        return
    with pytest.raises(UnsuitableDataError, match=f"^{re.escape(refused)}$"):
        CALLS[feature](result(kind), data(kind), tmp_path)


def test_every_function_of_the_table_is_called_here():
    pictures = {name for name in FUNCTIONS if name.startswith("plots.")}
    assert set(FUNCTIONS) <= {*CALLS, *NOT_CALLED, *pictures}
    for name in set(FUNCTIONS) - {name for name in FUNCTIONS if name.startswith("result.")}:
        place = irtkit
        for part in name.split("."):
            place = getattr(place, part)


@pytest.mark.parametrize("kind", KINDS_OF_EACH)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("plots.")])
def test_a_picture_is_drawn_or_refused(name, kind):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    draw = getattr(irtkit.plots, name.partition(".")[2])
    given = {
        "plots.item_curves": [["q0"]],
        "plots.category_curves": ["q0"],
        "plots.task_heatmap": [["a", "b"] * (N_ITEMS // 2)],
    }.get(name, [])
    refused = expected(name, kind)
    if refused is None:
        draw(result(kind), *given)
        pyplot.close("all")
        return
    with pytest.raises(UnsuitableDataError, match=f"^{re.escape(refused)}$"):
        draw(result(kind), *given)


READ = {"scores": " --score-range 0,1", "levels": " --levels", "trials": " --repeats count"}
"""How a file of data of a kind is read."""
COMMANDS = {
    "audit FIT": "audit",
    "health FIT": "health",
    "compare FIT --folds 2": "compare_difficulties",
    "leaderboard FIT": "leaderboard",
    "compare-systems FIT": "compare_systems",
    "select FIT -k 6 --folds 2": "select_items",
    "report FIT": "report",
    "fit data.csv": "fit",
    "fit data.csv --abilities 2": "abilities=",
    "gate data.csv data.csv --allow-inconclusive": "gate",
    "drift data.csv data.csv": "drift",
    "score data.csv FIT": "score",
    "differential data.csv --groups groups.csv": "differential_functioning",
    "inspect data.csv": "fit",
    "merge data.csv --out merged.csv": "merge",
}
"""Features of commands, which take a fit or a file."""


def write_files(kind, folder):
    """Write data of a kind and groups of its systems."""
    responses = data(kind)
    if kind == "levels":
        labels = list(responses.respondents), list(responses.items)
        pd.DataFrame(responses.successes, *labels).to_csv(folder / "data.csv")
    else:
        irtkit.write_responses(responses, folder / "data.csv")
    group = pd.Series(groups(responses), list(responses.respondents), name="group")
    group.rename_axis("respondent").to_csv(folder / "groups.csv")


@pytest.mark.parametrize(("command", "kind"), [
    pytest.param(command, kind, marks=[pytest.mark.slow] * (kind in FURTHER))
    for command, kind in product(COMMANDS, KINDS)
    if "data.csv" not in command or kind not in {"no responses", "sparse"}  # as no file is
])  # fmt: skip
def test_a_command_works_or_is_refused_in_the_words_of_the_table(command, kind, saved, tmp_path):
    line, given = command.replace("FIT", f"'{saved(kind)}'"), result(kind)
    if "data.csv" in command:
        write_files(kind, tmp_path)
        line, given = line + READ.get(kind, ""), data(kind)
    done = run(line, tmp_path)
    refused = limit_of(COMMANDS[command], given)
    assert done.returncode == (0 if refused is None else 2), done.stderr
    if refused is not None:
        assert refused.reason in done.stderr.replace("\n  ", " ")
