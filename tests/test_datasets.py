"""Claims about the data that irtkit carries."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit.datasets import DigitsCrowd, load_digits_crowd, load_digits_learning

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def crowd() -> DigitsCrowd:
    return load_digits_crowd()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return pytest.importorskip("make_digits_crowd")


def test_all_parts_carry_the_same_labels(crowd: DigitsCrowd) -> None:
    assert crowd.predictions.index.equals(crowd.systems.index)
    assert crowd.predictions.columns.equals(crowd.labels.index)
    assert (crowd.predictions.index.name, crowd.labels.index.name) == ("respondent", "item")
    assert (crowd.labels.index[0], crowd.labels.index[-1]) == ("digit-0000", "digit-1796")
    rows = crowd.predictions.to_numpy()
    assert len(np.unique(rows, axis=0)) == len(rows) >= 40
    for name, size in crowd.systems["training_size"].items():
        assert size == 1437 or str(name).endswith(f"-n{size}")


def test_a_response_is_right_exactly_where_the_prediction_is_the_label(crowd: DigitsCrowd) -> None:
    responses = crowd.responses
    right = crowd.predictions.eq(crowd.labels, axis="columns")
    assert np.array_equal(responses.values, right.to_numpy().astype(np.int8))
    assert responses.respondents == tuple(crowd.systems.index)
    assert responses.items == tuple(crowd.labels.index)


def test_the_crowd_reaches_from_guessing_to_almost_perfect(crowd: DigitsCrowd) -> None:
    accuracy = crowd.responses.values.mean(axis=1)
    assert (accuracy < 0.4).sum() >= 5
    assert (accuracy > 0.97).sum() >= 5
    assert ((accuracy > 0.5) & (accuracy < 0.9)).sum() >= 20
    by_name = dict(zip(crowd.systems.index, accuracy, strict=True))
    for name in ("logreg-C1", "svm-rbf-C1", "knn-k1", "tree-full", "forest-100"):
        ladder = [by_name[name + size] for size in ("-n50", "-n150", "-n500", "")]
        assert ladder == sorted(ladder), name


@pytest.mark.parametrize("name", ["digits_crowd", "digits_learning"])
def test_the_data_file_is_under_one_megabyte(name: str) -> None:
    assert len(files("irtkit.datasets").joinpath(f"{name}.npz").read_bytes()) < 1_000_000


def test_the_learning_curves_rise() -> None:
    share = load_digits_learning().groupby(["respondent", "training_size"])["right"].mean()
    assert (share.unstack().diff(axis="columns").iloc[:, 1:] > 0).all(axis=None)
    assert share.index.unique(level=1).tolist() == [10 * 2**k for k in range(8)]


def test_importing_the_datasets_leaves_pandas_alone() -> None:
    code = "import sys, irtkit.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_labels_are_those_of_scikit_learn(crowd: DigitsCrowd) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    assert np.array_equal(crowd.labels.to_numpy(), datasets.load_digits().target)


@pytest.mark.parametrize(
    ("name", "size"), [("knn-k1", 150), ("centroid", 1437), ("bayes-bernoulli", 1280)]
)
def test_the_script_still_gives_the_carried_answers(
    crowd: DigitsCrowd, script: ModuleType, name: str, size: int
) -> None:
    made = script.answers(name, size, *script.digits())
    label = name if size == 1437 else f"{name}-n{size}"
    if label in crowd.predictions.index:
        assert np.array_equal(made, crowd.predictions.loc[label])
    else:  # of the learning curves
        carried = load_digits_learning().set_index(["respondent", "training_size"])["right"]
        assert np.array_equal(made == crowd.labels.to_numpy(), carried.loc[(name, size)])


def test_the_script_trains_no_system_on_a_digit_it_answers(script: ModuleType) -> None:
    labels = script.digits()[1]
    answered: list[int] = []
    for train, test in script.folds(labels):
        assert not set(train) & set(test)
        assert np.array_equal(np.bincount(labels[train[:50]]), np.full(10, 5))
        answered.extend(test)
    assert sorted(answered) == list(range(1797))
