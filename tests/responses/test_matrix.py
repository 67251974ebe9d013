"""The response matrix: what is right, wrong and missing, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix
from irtkit.io.merging import merge_responses
from irtkit.responses import Source, cells
from irtkit.simulation import add_synthetic

RIGHT_WRONG_MISSING = [[1, 0], [cells.MISSING, 1]]
SUCCESSES, TRIALS = [[2, 0], [0, 3]], [[3, 1], [0, 4]]


@pytest.mark.parametrize("values", [
    np.array(RIGHT_WRONG_MISSING),
    np.array([[1.0, 0.0], [np.nan, 1.0]]),
    [[1, 0], [None, 1]],
    [[True, False], [None, True]],
    [["1", "0"], ["", "1.0"]],
    [["TRUE", "false"], ["NA", " 1 "]],
    np.ma.array([[1, 0], [0, 1]], mask=[[0, 0], [1, 0]]),
    np.ma.array([["1", "0"], ["0", "1"]], mask=[[0, 0], [1, 0]]),
])  # fmt: skip
def test_every_way_to_write_responses_gives_the_same_matrix(values):
    responses = ResponseMatrix(values)
    assert responses.values.tolist() == RIGHT_WRONG_MISSING
    assert responses.values.dtype == np.int8


@pytest.mark.parametrize("bad", [2, 1.5, -1.0, np.inf, "yes", [1]])
def test_a_wrong_value_is_named_with_its_place_and_the_number_of_others(bad):
    frame = pd.DataFrame({"a": [1, bad], "b": [1, bad]}, index=["x", "y"], dtype=object)
    with pytest.raises(ValueError, match=r"system 'y', item 'a' has .*1 more cell"):
        ResponseMatrix.from_frame(frame)


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset({"a", "b"}), "ab", b"ab", 2])
def test_labels_without_an_order_or_that_are_no_list_are_refused(labels):
    with pytest.raises(TypeError, match=r"^respondents must be a list of labels"):
        ResponseMatrix([[1], [0]], labels)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"values": [1, 0]}, "2 dimensions"),
    ({"values": np.empty((0, 3))}, "at least one cell"),
    ({"values": [[None, None]]}, "every cell is missing"),
    ({"values": [np.ma.array([1, 0], mask=[1, 0])]}, "must not be masked"),
    ({"values": [[1]], "items": ["a", "b"]}, "items must hold 1 labels"),
    ({"values": [[1, 1, 1]], "items": ["a", "a", 1]}, "'a' occurs twice"),
    ({"values": [[1], [0]], "respondents": ["x", pd.NA]}, "respondent 2 has no label"),
    ({"values": [[1]], "synthetic": [0]}, "1 booleans"),
])  # fmt: skip
def test_a_table_that_is_no_matrix_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ResponseMatrix(**arguments)


# Repeated trials


@pytest.mark.parametrize("dtype", ["float64", "Int64", "object"])
@pytest.mark.parametrize(("right", "tried"), [(None, None), (0, None), (None, 0), (0, 0)])
def test_a_cell_without_trials_is_missing(dtype, right, tried):
    successes = pd.DataFrame([[1, right]], dtype=dtype)
    responses = ResponseMatrix.from_counts(successes, pd.DataFrame([[2, tried]], dtype=dtype))
    assert (responses.successes.tolist(), responses.trials.tolist()) == ([[1, 0]], [[2, 0]])
    assert responses.n_missing == 1


def test_repeated_trials_have_no_single_value_and_cannot_be_changed():
    given = np.array(SUCCESSES, np.uint8), np.array(TRIALS, np.uint8)
    responses = ResponseMatrix.from_counts(*given)
    given[0][:] = 0
    assert responses == ResponseMatrix.from_counts(SUCCESSES, TRIALS)
    assert responses != ResponseMatrix.from_counts([[1, 0], [0, 3]], TRIALS)
    assert responses != ResponseMatrix.from_counts(SUCCESSES, TRIALS, synthetic=[True, False])
    with pytest.raises(ValueError, match=r"not for repeated trials.* Use \.successes and"):
        _ = responses.values
    np.testing.assert_array_equal(responses.to_frame(), responses.scores)
    for table in (responses.successes, responses.trials, ResponseMatrix([[1]]).trials):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 1


def test_two_tables_of_counts_must_have_the_same_labels():
    successes, trials = pd.DataFrame([[1]], ["x"]), pd.DataFrame([[2]], ["y"])
    with pytest.raises(ValueError, match="respondent 1 is 'x' in successes and 'y' in trials"):
        ResponseMatrix.from_counts(successes, trials)
    labels = ResponseMatrix.from_counts(successes, [[2]], items=["c"])
    assert (labels.respondents, labels.items) == (("x",), ("c",))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_rows_and_columns_are_exchanged(n, *, sparse):
    successes, trials = np.array([[n, 0, 0], [0, 1, 0]]), np.array([[n, 1, 0], [0, 1, 1]])
    names = ["x", "y"], ["a", "b", "c"]
    responses = ResponseMatrix.from_counts(successes, trials, *names)
    turned = ResponseMatrix.from_counts(successes.T, trials.T, *reversed(names))
    given = responses.to_sparse() if sparse else responses
    assert turned == given.T
    assert given.T.is_sparse is sparse
    assert responses == given.T.T
    with pytest.raises(ValueError, match="transpose before adding them"):
        _ = add_synthetic(given, "always-right").T


def test_tables_and_metrics_go_where_the_matrix_goes():
    texts = pd.DataFrame({"text": ["1?", "2?"]}, index=[2, "q1"])
    sizes = pd.DataFrame({"size": [7.0]}, index=["gpt"])
    rows = [("gpt", "q1", "time", 1.5), ("gpt", "q9", "cost", 2.0), ("gpt", 2, "time", 3.0)]
    metrics = pd.DataFrame(rows, columns=["respondent", "item", "metric", "value"])
    plain = ResponseMatrix([[1, 0]], ["gpt"], ["q1", 2])
    responses = plain.with_tables(texts, sizes, metrics)
    assert responses == plain
    kept = [["gpt", "q1", "time", 1.5], ["gpt", "2", "time", 3.0]]  # q9 is no item
    crowd = add_synthetic(responses, ("always-right",))
    for one in (responses, responses.to_sparse().to_dense(), responses.T.T, crowd):
        assert one.item_table["text"].tolist() == ["2?", "1?"]
        assert one.respondent_table["size"].tolist()[:1] == [7.0]
        assert one.metrics.astype(object).to_numpy().tolist() == kept
        assert list(one.metrics["metric"].cat.categories) == ["time"]
    assert crowd.respondent_table["size"].isna().tolist() == [False, True]
    assert responses.T.metrics["item"].tolist() == ["gpt", "gpt"]
    with pytest.raises(ValueError, match="item_table must have one row per item: 'q1' occurs"):
        responses.with_tables(pd.concat([texts, texts.iloc[[1]]]))


@pytest.mark.parametrize("sparse", [False, True])
def test_respondents_are_dropped_with_what_is_known_of_them(*, sparse):
    sizes = pd.DataFrame({"size": [7.0, 70.0, 1.0]}, index=["a", "b", "c"])
    plain = ResponseMatrix(
        [[1, 0], [0, -1], [1, 1]], ["a", "b", "c"], synthetic=[False, True, True]
    )
    given = (plain.to_sparse() if sparse else plain).with_tables(respondent_table=sizes)
    fewer = given.drop(["b"])
    assert fewer == ResponseMatrix([[1, 0], [1, 1]], ["a", "c"], synthetic=[False, True])
    assert fewer.is_sparse == sparse
    assert fewer.respondent_table["size"].tolist() == [7.0, 1.0]
    assert plain.drop([]) == plain
    for names, message in ((["a", "d"], "names 'd', which no system is called"),
                           (plain.respondents, "names all respondents")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            plain.drop(names)


def test_answers_and_source_go_where_the_matrix_goes():
    answers = pd.DataFrame({"q2": ["B", np.nan], "q9": ["A", "A"]}, ["o1", "gpt"])
    source = Source(("answers.csv",), "long", {"key": "key.csv"})
    responses = ResponseMatrix([[1, 0], [0, 1]], ["gpt", "o1"], ["q1", "q2"])
    responses = responses.with_tables(predictions=answers, source=source)
    expected = [[None, None], [None, "B"]]
    for one in (responses, responses.with_tables(), responses.to_sparse().to_dense()):
        assert one.predictions.to_numpy().tolist() == expected
        assert one.source == source
    assert responses.drop("gpt").predictions.to_numpy().tolist() == [[None, "B"]]
    crowd = add_synthetic(responses, ("always-right",))
    assert crowd.predictions.to_numpy().tolist() == [*expected, [None, None]]
    assert (responses.T.predictions, responses.T.source) == (None, source)
    merged = merge_responses([responses.drop("o1"), responses.drop("gpt"), ResponseMatrix([[1]])])
    assert merged.predictions.loc["o1", "q2"] == "B"
    assert merged.source == source


# Cells: one storage, dense or sparse, and the builder that puts rows into it


@pytest.mark.parametrize(("successes", "trials", "message"), [
    ([[1, 3]], [[1, 2]], "system 'respondent-1', item 'item-2' has 3 out of 2"),
    ([[1, 1]], [[0, 2]], r"item 'item-1' has 1(\.0)? out of 0"),
    ([[np.nan]], [[3]], "has nan out of 3"),
    ([[0.5]], [[1]], "whole numbers, .* trials ≤ 2147483647: .* has 0.5 out of 1"),
    ([[1, 1]], [[-1, -2]], "has 1 out of -1.*1 more such cell"),
    ([[1]], [[np.inf]], "must be whole numbers"),
    ([[1]], [[cells.MOST_TRIALS + 1]], "must be whole numbers"),
    ([[0]], [[0]], "every cell is missing"),
    ([[1, 0]], [[2], [2]], r"the same shape, got \(1, 2\) and \(2, 1\)"),
])  # fmt: skip
def test_tables_that_are_no_counts_are_refused_with_the_labels(successes, trials, message):
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_counts(successes, trials)


@pytest.mark.parametrize("given", [np.int64, np.uint64, np.float64, object])
@pytest.mark.parametrize("most", [255, 256, 65_535, 65_536, cells.MOST_TRIALS])
def test_counts_are_kept_whole_in_the_smallest_type(most, given):
    responses = ResponseMatrix.from_counts(np.array([[most]], given), np.array([[most]], given))
    assert responses.successes.tolist() == [[most]]
    assert responses.trials.dtype == cells.count_type(most)


# The builder


def test_counts_above_a_byte_do_not_wrap_around():
    builder = cells.CellBuilder("count")
    for _ in range(3):
        builder.add(np.zeros(200, int), np.zeros(200, int), np.ones(200, np.int8))
    assert builder.build((1, 1)).trials.tolist() == [[600]]


# A sparse matrix gives what the dense one gives, and a dense one is never made of it


GIB = 2**30
ESTIMATES = [f"{name}{end}" for name in ("discrimination", "intercept", "guessing")
             for end in ("", "_se")] + ["status"]  # fmt: skip


def drawn(model="2PL", n_items=20, trials=1, n_respondents=250):
    """Responses of which 60 % are missing, each to an item that is easy to tell apart."""
    generator = np.random.default_rng(7)
    items = irtkit.ItemParameters(
        generator.lognormal(0.2, 0.4, n_items) * np.where(np.arange(n_items) % 9 == 4, -1, 1),
        generator.normal(0, 1, n_items),
        np.full(n_items, 0.2 if model == "3PL" else 0.0),
    )
    abilities = generator.normal(size=n_respondents)
    return irtkit.simulate_responses(items, abilities, missing=0.6, trials=trials, seed=3)


def assert_same_fit(one, other):
    """Estimates within 1e-4, where the ascents ended: some 0.1 % of a standard error."""
    assert one.converged
    assert other.converged
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)
    near, exact = {"check_exact": False, "rtol": 0, "atol": 1e-4}, ["average_error", "n_responses"]
    pd.testing.assert_frame_equal(one.items[ESTIMATES], other.items[ESTIMATES], **near)
    pd.testing.assert_frame_equal(one.respondents, other.respondents, **near)
    pd.testing.assert_frame_equal(one.items[exact], other.items[exact])
    assert one.items["p_negative"].to_numpy() == pytest.approx(
        other.items["p_negative"].to_numpy(), abs=1e-9
    )


# 20 items have standard errors from the whole information, 200 from that by item
@pytest.mark.filterwarnings("ignore:No standard errors")
@pytest.mark.parametrize(("model", "n_items", "trials", "kinds", "settings"), [
    ("1PL", 20, 1, (), {}),
    ("2PL", 200, 1, (), {"prior": "empirical"}),
    ("3PL", 40, 1, (), {"prior": irtkit.WeakPrior(chance=0.2)}),
    ("2PL", 20, 1, ("always-wrong", "coin"), {"prior": None}),
    ("2PL", 20, 3, ("always-right",), {"quadrature": (41, 6.0)}),
])  # fmt: skip
def test_a_fit_is_that_of_the_dense_matrix(model, n_items, trials, kinds, settings):
    responses = drawn(model, n_items, trials)
    crowd, few = (
        irtkit.add_synthetic(matrix, kinds) if kinds else matrix
        for matrix in (responses, responses.to_sparse())
    )
    assert few == crowd
    settings = {"method": irtkit.EM(tol=1e-9), **settings}
    assert_same_fit(*(irtkit.fit(matrix, model, **settings) for matrix in (few, crowd)))


_FIT_IN_LITTLE_MEMORY = """
import json
import numpy as np, pandas as pd
import irtkit

generator = np.random.default_rng(0)
n, m, each = 100_000, 20_000, 2
item = (generator.integers(0, m // each, (n, 1)) + np.arange(each) * (m // each)).ravel()
ability = np.repeat(generator.normal(size=n), each)
right = generator.random(n * each) < 1 / (1 + np.exp(-ability))
frame = pd.DataFrame({"respondent": np.repeat(np.arange(n), each), "item": item, "response": right})
responses = irtkit.ResponseMatrix.from_long(frame, sparse=True)
result = irtkit.fit(responses, "2PL", method=irtkit.EM(tol=1e-3), progress=False)
print(result)
# not ru_maxrss, which counts what the process that started this one held
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
n_responses = int(result.items["n_responses"].sum())
print(json.dumps([responses.n_respondents, responses.n_items, n_responses,
                  int(peak.split()[1])]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told elsewhere")
def test_a_matrix_of_two_thousand_million_cells_is_fitted_in_little_memory():
    command = [sys.executable, "-c", _FIT_IN_LITTLE_MEMORY]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    n_respondents, n_items, n_responses, kibibytes = json.loads(found.splitlines()[-1])
    assert (n_respondents, n_items, n_responses) == (100_000, 20_000, 200_000)
    assert kibibytes * 1024 < 0.75 * GIB
