"""Claims about the data that irtkit carries."""

import numpy as np
import pytest

from irtkit.datasets import load_digits_crowd, load_digits_learning


@pytest.fixture(scope="module")
def crowd():
    return load_digits_crowd()


def test_all_parts_have_the_same_labels_and_agree(crowd):
    responses, predictions = crowd.responses, crowd.predictions
    assert responses.respondents == tuple(crowd.systems.index) == tuple(predictions.index)
    assert responses.items == tuple(crowd.labels.index) == tuple(predictions.columns)
    assert (responses.items[0], responses.items[-1]) == ("digit-0000", "digit-1796")
    right = predictions.eq(crowd.labels, axis="columns")
    assert np.array_equal(responses.values, right.to_numpy())
    for name, size in crowd.systems["training_size"].items():
        assert size == 1437 or str(name).endswith(f"-n{size}")
    datasets = pytest.importorskip("sklearn.datasets")
    assert np.array_equal(crowd.labels.to_numpy(), datasets.load_digits().target)


def test_the_crowd_reaches_from_guessing_to_almost_perfect(crowd):
    rows = crowd.predictions.to_numpy()
    assert len(np.unique(rows, axis=0)) == len(rows) == 130
    accuracy = crowd.responses.values.mean(axis=1)
    assert (accuracy < 0.4).sum() >= 5
    assert (accuracy > 0.97).sum() >= 5
    assert ((accuracy > 0.5) & (accuracy < 0.9)).sum() >= 20


def test_more_training_digits_make_the_same_classifier_better(crowd):
    accuracy = dict(zip(crowd.systems.index, crowd.responses.values.mean(axis=1), strict=True))
    for name in ("logreg-C1", "svm-rbf-C1", "knn-k1", "tree-full", "forest-100"):
        ladder = [accuracy[name + size] for size in ("-n50", "-n150", "-n500", "")]
        assert ladder == sorted(ladder), name
    share = load_digits_learning().groupby(["respondent", "training_size"])["right"].mean()
    assert (share.unstack().diff(axis="columns").iloc[:, 1:] > 0).all(axis=None)
    assert share.index.unique(level=1).tolist() == [10 * 2**k for k in range(8)]
