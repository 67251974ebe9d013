"""Generated input of every awkward shape, content, type and label."""

import math
import re
import tempfile
import traceback
import warnings
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

import irtkit
from irtkit import Beta, ItemPrior, Normal, ResponseMatrix, read_table, write_responses, write_table
from irtkit.capabilities import UnsuitableDataError
from irtkit.findings import ReadingError
from irtkit.fitting import silently
from tests.trials.conftest import cases

RIGHT = [1, True, 1.0, "1", "true", "TRUE", " 1 ", "1.0", np.int8(1), np.float32(1), np.bool_(1)]
WRONG = [0, False, 0.0, -0.0, "0", "false", "0.0", np.uint8(0), np.float16(0)]
MISSING = [None, math.nan, "", " ", "NA", "n/a", "NaN", "null", pd.NA, pd.NaT, np.float64("nan")]
INVALID = [2, -3, 1.5, math.inf, -math.inf, 1e308, "x", "correct", "\x1b[2J", 1j,
           date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), pd.Timestamp(0),
           np.timedelta64(1, "s"), np.complex128(2j), object, print, Ellipsis]  # fmt: skip
CODES = [(RIGHT, 1), (WRONG, 0), (MISSING, -1)]
USUAL = [CODES[:1], CODES[1:2], CODES[:2], CODES, CODES[2:]]
LABELS = ["a", "b", "007", "1e5", "NA", "=1+1", "-x", "\x1b[31m", "ß", "日本", "a,b", '"', "x\ny",
          "'", "a\tb", "z" * 300, "true", "1.0", " lead", "trail ", "item-1", "🤖"]  # fmt: skip
PACKAGE = Path(irtkit.__file__).parent


def answer_or_refusal(call):
    """What a call returns, or the ValueError or TypeError it raises. Nothing else gets through.

    An error is one that a statement of irtkit raises, and so in its words.
    """
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = call()
        except (ValueError, TypeError) as error:
            found = error
    assert all(issubclass(one.category, UserWarning) for one in caught), [*map(str, caught)]
    if isinstance(found, Exception):
        raised = traceback.extract_tb(found.__traceback__)[-1]
        assert PACKAGE in Path(raised.filename).parents, raised
        assert str(raised.line).startswith("raise "), raised
        assert len(str(found)) < 3000
    return found


def answer(call):
    """What a call returns that must not refuse."""
    found = answer_or_refusal(call)
    assert not isinstance(found, Exception), found
    return found


@st.composite
def cells(draw, *, invalid=True):
    """A table of objects, and what each should be: 1, 0, −1, or −2 for a refusal."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    usual = draw(st.sampled_from(USUAL))
    kinds = [usual[draw(st.integers(0, len(usual) - 1))] for _ in range(n * m)]
    drawn = [(ones[draw(st.integers(0, len(ones) - 1))], code) for ones, code in kinds]
    for _ in range(draw(st.integers(0, 2)) if invalid else 0):
        place, bad = draw(st.integers(0, n * m - 1)), draw(st.integers(0, len(INVALID) - 1))
        drawn[place] = INVALID[bad], -2
    table = np.empty(n * m, object)
    for k, (value, _) in enumerate(drawn):
        table[k] = value
    return table.reshape(n, m), np.array([code for _, code in drawn]).reshape(n, m)


def labels_of(n):
    return st.lists(st.sampled_from(LABELS), min_size=n, max_size=n, unique=True)


FORMS = {
    "array": lambda frame: ResponseMatrix(frame.to_numpy(), frame.index, frame.columns),
    "lists": lambda frame: ResponseMatrix(frame.to_numpy().tolist(), frame.index, frame.columns),
    "wide": ResponseMatrix.from_frame,
    "records": lambda frame: irtkit.read_responses(frame.reset_index().to_dict("records")),
    "dict": lambda frame: irtkit.read_responses(
        {"model": [*frame.index], **{name: frame[name].tolist() for name in frame}}
    ),
    "read": irtkit.read_responses,
    "fit": lambda frame: irtkit.fit(frame, "1PL", standard_errors=False).responses,
    "long": lambda frame: ResponseMatrix.from_long(
        frame.reset_index().melt("model", var_name="item", value_name="response")
    ),
}


@cases(400)
@given(cells(), st.data())
def test_anything_is_read_right_or_refused_at_a_cell(drawn, data):
    table, codes = drawn
    rows, columns = (data.draw(labels_of(n)) for n in table.shape)
    frame = pd.DataFrame(table, pd.Index(rows, name="model"), columns)
    form = data.draw(st.sampled_from([*FORMS]))
    found = answer_or_refusal(lambda: FORMS[form](frame))
    if (codes == -2).any() or (codes == -1).all():
        assert isinstance(found, ValueError), found
        if isinstance(found, ReadingError) and (codes == -2).any() and form == "array":
            named = found.finding.values
            assert codes[rows.index(named["respondent"]), columns.index(named["item"])] == -2
        return
    assert isinstance(found, ResponseMatrix), found
    kept = found.to_frame().loc[rows, columns] if form == "long" else found.to_frame()
    assert (kept.fillna(-1).to_numpy(int) == codes).all()


@st.composite
def matrices(draw):
    """Small matrices with labels of all kinds, missing cells, empty rows and repeated trials."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.02, 0.5, 0.9, 1.0]))
    values = (generator.random((n, m)) < share).astype(np.int8)
    values[generator.random((n, m)) < draw(st.sampled_from([0, 0, 0.3, 0.8]))] = -1
    assume((values >= 0).any())
    rows, columns = draw(labels_of(n)), draw(labels_of(m))
    kind = draw(st.sampled_from(["dense", "dense", "sparse", "repeated", "synthetic"]))
    if kind == "repeated":
        trials = np.where(values < 0, 0, generator.integers(1, 5, values.shape))
        successes = generator.binomial(trials, share)
        return ResponseMatrix.from_counts(successes, trials, rows, columns)
    matrix = ResponseMatrix(values, rows, columns)
    if kind == "sparse":
        return matrix.to_sparse()
    if kind == "synthetic":
        return irtkit.add_synthetic(matrix, ("always-right", "always-wrong"))
    return matrix


def honest(result, matrix):
    """Numbers are finite if something is known, and counts agree with the responses."""
    items, respondents = result.items, result.respondents
    right, tried = (table.toarray()[~matrix.synthetic].sum(axis=0) for table in matrix.observed)
    assert list(items.index) == list(matrix.items)
    assert list(respondents.index) == list(matrix.respondents)
    assert (items["n_responses"] == tried).all()
    error = np.where(tried > 0, 1 - right / np.maximum(tried, 1.0), np.nan)
    np.testing.assert_allclose(items["average_error"], error, atol=1e-12)
    assert ((items["status"] == "no responses") == (tried == 0)).all()
    assert np.isfinite(respondents[["ability", "ability_se"]]).all().all()
    assert -np.inf < result.log_likelihood <= 0
    known = items[tried > 0]
    assert np.isfinite(known[["discrimination", "intercept"]]).all().all()
    assert known["guessing"].between(0, 1).all()
    assert known["p_negative"].between(0, 1).all()
    assert not np.isinf(known[["difficulty_se", "discrimination_se"]].to_numpy()).any()


@cases(80)
@given(matrices(), st.data())
def test_the_whole_chain_answers_with_finite_numbers_and_files_that_read_back_equal(matrix, data):
    model = data.draw(st.sampled_from(["2PL", "2PL", "1PL", "Rasch", "3PL"]))
    prior = data.draw(st.sampled_from(["weak", "weak", None, "empirical"]))
    result = answer_or_refusal(lambda: irtkit.fit(matrix, model, prior=prior))
    if prior == "empirical" and model in {"1PL", "Rasch"}:
        assert "is for the 2PL and 3PL" in str(result)
        return
    assert not isinstance(result, Exception), result
    honest(result, matrix)
    told = str(result)
    assert all(one.isprintable() or one == "\n" for one in told)
    flags = answer(lambda: irtkit.flag_items(result))
    assert set(flags.index) <= set(matrix.items)
    compared = answer_or_refusal(lambda: irtkit.compare_difficulties(result, folds=0))
    if isinstance(compared, UnsuitableDataError):
        assert matrix.is_sparse
    else:
        assert list(compared.table.index) == list(matrix.items)
    board = answer(result.leaderboard)
    assert (board["rank_low"] <= board["rank"]).all()
    assert (board["rank"] <= board["rank_high"]).all()
    assert np.isfinite(board["ability"]).all()
    scores = answer(lambda: irtkit.score(matrix, result))
    assert np.isfinite(scores["ability"]).all()
    with tempfile.TemporaryDirectory() as folder:
        of_files(result, matrix, Path(folder))


def of_files(result, matrix, folder):
    """What is written reads back equal, and nothing else is left in the folder."""
    result.save(folder / "result.npz")
    loaded = irtkit.load(folder / "result.npz")
    pd.testing.assert_frame_equal(loaded.items, result.items, check_exact=True)
    pd.testing.assert_frame_equal(loaded.respondents, result.respondents, check_exact=True)
    assert (loaded.responses, str(loaded)) == (matrix, str(result))
    for name in ("items.csv.gz", "items.json", "items.parquet"):
        write_table(result.items, folder / name)
        back = read_table(folder / name)
        pd.testing.assert_frame_equal(back, result.items, check_dtype=False)
    page = folder / "page.html"
    answer(lambda: irtkit.report(result, page))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")
    assert not re.search(r">\s*(nan|-?inf|None|NaN)\s*<", text)
    path = folder / "responses.csv"
    answer(lambda: write_responses(matrix, path))
    back = answer(lambda: irtkit.read_responses(path, repeats="count"))
    if matrix.is_sparse:  # the file holds the observed cells alone
        whole = matrix.to_dense().to_frame()
        there = whole.loc[list(back.respondents), list(back.items)]
        pd.testing.assert_frame_equal(back.to_frame(), there)
        assert back.cells.n_observed == matrix.cells.n_observed
    else:
        assert back == matrix
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


# What must not change an estimate, of generated matrices, for every model, prior and method
# IRTKIT_CASES=50 draws fifty times as many matrices, and new ones.


PRIORS = ["weak", "empirical", None, ItemPrior(Normal(0, 1), Normal(0, 2), Beta())]
NEAR = 0.02
"""Standard errors, or SDs where there are none, within which estimates are the same: fits end
within 0.0004 of them from the maximum, which the weak prior's spread of slopes, hardly told by six
items, makes flat."""


@st.composite
def tables(draw, least=10):
    """Responses of one ability to items whose slopes differ, some missing."""
    n, m = draw(st.integers(least, least + 20)), draw(st.integers(3, 8))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    slope, difficulty = generator.lognormal(0.2, 0.3, m), generator.normal(size=m)
    logits = slope * (generator.normal(size=(n, 1)) - difficulty)
    values = (generator.random((n, m)) < 1 / (1 + np.exp(-logits))).astype(np.int8)
    values[generator.random((n, m)) < draw(st.sampled_from([0, 0, 0.1, 0.4]))] = -1
    values[0, 0] = max(values[0, 0], 0)
    return values


def fitted(values, model, prior, **how):
    with warnings.catch_warnings(action="error"), silently():
        return irtkit.fit(values, model, prior=prior, method=irtkit.EM(tol=1e-9), **how)


def model_and_prior(data):
    prior = data.draw(st.sampled_from(PRIORS))
    usual = ["2PL", "3PL"] if prior == "empirical" else ["2PL", "3PL", "1PL", "Rasch"]
    return data.draw(st.sampled_from(usual)), prior


def determined(result):
    return result.converged and "unbounded" not in result.status


def assert_same(one, other, **turned):
    """Estimates of two fits, one of them perhaps with rows and columns in another order."""
    assume(determined(one) and determined(other))
    rows = turned.get("rows", np.arange(len(one.ability)))
    columns = turned.get("columns", np.arange(len(one.item_labels)))
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-3
    for name, place in (("discrimination", 0), ("guessing", 2), ("intercept", 3)):
        errors = np.nan_to_num(one.standard_errors[columns, place], nan=1.0)
        there = getattr(one.parameters, name)[columns] - getattr(other.parameters, name)
        assert (np.abs(there) <= NEAR * np.maximum(errors, 0.1)).all(), (name, there)
    assert (np.abs(one.ability[rows] - other.ability) <= NEAR).all()


@cases(50)
@given(tables(), st.data())
def test_the_order_of_rows_and_columns_changes_no_estimate(values, data):
    model, prior = model_and_prior(data)
    rows = np.array(data.draw(st.permutations(range(values.shape[0]))))
    columns = np.array(data.draw(st.permutations(range(values.shape[1]))))
    one, other = fitted(values, model, prior), fitted(values[rows][:, columns], model, prior)
    assert_same(one, other, rows=rows, columns=columns)
