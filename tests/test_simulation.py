"""Simulated responses, synthetic respondents, and the data that irtkit carries."""

import numpy as np
import pytest

from irtkit.datasets import load_digits_crowd, load_digits_learning
from irtkit.irf import ItemParameters
from irtkit.responses import ResponseMatrix
from irtkit.simulation import add_synthetic, simulate_responses

# Claims about simulated responses and synthetic respondents
ITEMS = ItemParameters.from_difficulty([1.5, 0.8, -1.0], [-1.0, 0.5, 0.0], [0.0, 0.2, 0.0])


@pytest.fixture
def real():
    return ResponseMatrix([[1, 0, -1, 1], [0, 0, 1, 1]], ["gpt", "llama"], ["a", "b", "c", "d"])


# Simulated responses


@pytest.mark.parametrize("n", [1, 20_000])
def test_the_share_of_right_responses_is_the_item_response_function(n):
    drawn = simulate_responses(ITEMS, np.repeat([-1.0, 0.0, 1.0], 20_000 // n), trials=n)
    assert (drawn.trials == n).all()
    shares = (drawn.successes / n).reshape(3, 20_000 // n, 3).mean(axis=1)
    # five standard errors of a share of 20,000 draws: 5 · √(0.25 / 20,000) = 0.018
    np.testing.assert_allclose(shares, ITEMS.probability([-1.0, 0.0, 1.0]), atol=0.018)


@pytest.mark.parametrize(("settings", "message"), [
    ({"abilities": [np.nan]}, "abilities"),
    ({"missing": 1.0}, "missing must be at least 0 and below 1"),
    ({"trials": -1}, "trials must be whole numbers from 0 to 2147483647, got -1"),
    ({"trials": [1, 2]}, r"broadcast to 1 system × 3 items, got shape \(2,\)"),
    ({"trials": 0}, "every cell is missing"),
    ({"item_labels": ["x"]}, "3 labels"),
])  # fmt: skip
def test_simulation_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        simulate_responses(ITEMS, **{"abilities": [0.0], **settings})


# Synthetic respondents


def test_synthetic_rows_are_marked_and_real_ones_untouched(real):
    before = real.values.tolist()
    crowd = add_synthetic(real)
    assert crowd.respondents == ("gpt", "llama", "always-right", "always-wrong")
    assert crowd.synthetic.tolist() == [False, False, True, True]
    assert crowd.values.tolist() == [*before, [1] * 4, [0] * 4]
    assert real.values.tolist() == before


def test_a_synthetic_row_has_one_trial_a_cell_next_to_repeated_ones():
    crowd = add_synthetic(ResponseMatrix.from_counts([[300, 0], [2, 0]], [[400, 5], [2, 0]]))
    assert crowd.successes.tolist() == [[300, 0], [2, 0], [1, 1], [0, 0]]
    assert crowd.trials.tolist() == [[400, 5], [2, 0], [1, 1], [1, 1]]


def test_random_kinds_are_right_as_often_as_they_should():
    classes = np.repeat(["cat", "dog"], [15_000, 5_000])
    wide = ResponseMatrix(np.ones((1, 20_000), dtype=np.int8))
    crowd = add_synthetic(wide, ("coin", "class-prior"), probability=0.3, labels=classes)
    _, coin, row = crowd.values
    # five standard errors: 5 · √(0.21 / 20,000) = 0.016, and of 5,000 draws 5 · √(0.19 / 5,000)
    assert coin.mean() == pytest.approx(0.3, abs=0.016)
    assert row[:15_000].mean() == pytest.approx(0.75, abs=0.031)
    assert row[15_000:].mean() == pytest.approx(0.25, abs=0.031)


@pytest.mark.parametrize(("settings", "message"), [
    ({"kinds": "oracle"}, "kinds must be one of .*'oracle'"),
    ({"kinds": "coin", "probability": 1.2}, "probability must be at least 0 and at most 1"),
    ({"kinds": "class-prior"}, "labels must give the true class of every item"),
    ({"kinds": "class-prior", "labels": [1, 2]}, "labels must have one class per.*got 2 for 4"),
    ({"kinds": "class-prior", "labels": {"a": 1, "b": 1, "c": 2}}, "'d' lacks one"),
])  # fmt: skip
def test_add_synthetic_refuses(real, settings, message):
    with pytest.raises(ValueError, match=message):
        add_synthetic(real, **settings)


# Claims about the data that irtkit carries
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


def test_more_training_digits_make_the_same_classifier_better(crowd):
    accuracy = dict(zip(crowd.systems.index, crowd.responses.values.mean(axis=1), strict=True))
    for name in ("logreg-C1", "svm-rbf-C1", "knn-k1", "tree-full", "forest-100"):
        ladder = [accuracy[name + size] for size in ("-n50", "-n150", "-n500", "")]
        assert ladder == sorted(ladder), name
    share = load_digits_learning().groupby(["respondent", "training_size"])["right"].mean()
    assert (share.unstack().diff(axis="columns").iloc[:, 1:] > 0).all(axis=None)
    assert share.index.unique(level=1).tolist() == [10 * 2**k for k in range(8)]
