"""Generated input of every awkward shape, content, type and label.

Each ends in the right answer or in one refusal in irtkit's own words, and no other library's
warning comes through. IRTKIT_CASES=20 draws twenty times as many cases, and new ones.
"""

from __future__ import annotations

import math
import re
import tempfile
import traceback
import warnings
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import irtkit
from irtkit import ResponseMatrix
from irtkit.io import read_table, write_responses, write_table
from tests.trials.conftest import cases

if TYPE_CHECKING:
    from collections.abc import Callable


RIGHT = [1, True, 1.0, "1", "true", "TRUE", " 1 ", "1.0", np.int8(1), np.float32(1), np.bool_(1)]
WRONG = [0, False, 0.0, -0.0, "0", "false", "0.0", np.uint8(0), np.float16(0)]
MISSING = [None, math.nan, "", " ", "NA", "n/a", "NaN", "null", pd.NA, pd.NaT, np.float64("nan")]
INVALID = [2, -3, 0.5, math.inf, -math.inf, 1e308, "x", "correct", "\x1b[2J", 1j,
           date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), pd.Timestamp(0),
           np.timedelta64(1, "s"), np.complex64(2j), object, print, Ellipsis]  # fmt: skip
CODES: list[tuple[list[Any], int]] = [(RIGHT, 1), (WRONG, 0), (MISSING, -1)]
USUAL = [CODES[:1], CODES[1:2], CODES[:2], CODES, CODES[2:]]
LABELS = ["a", "b", "007", "1e5", "NA", "=1+1", "-x", "\x1b[31m", "ß", "日本", "a,b", '"', "x\ny",
          "'", "a\tb", "z" * 300, "true", "1.0", " lead", "trail ", "item-1", "🤖"]  # fmt: skip
PACKAGE = Path(irtkit.__file__).parent


def answer_or_refusal(call: Callable[[], Any]) -> Any:
    """What a call returns, or the ValueError or TypeError it raises; nothing else gets through.

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


def answer(call: Callable[[], Any]) -> Any:
    """What a call returns that must not refuse."""
    found = answer_or_refusal(call)
    assert not isinstance(found, Exception), found
    return found


@st.composite
def cells(draw: Any, *, invalid: bool = True) -> tuple[np.ndarray, np.ndarray]:
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


def labels_of(n: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(LABELS), min_size=n, max_size=n, unique=True)


def holds(found: Any, codes: np.ndarray) -> None:
    """A matrix holds the codes, or was refused since it could not."""
    if (codes == -2).any() or (codes == -1).all():
        assert isinstance(found, ValueError), found
    else:
        assert isinstance(found, ResponseMatrix), found
        assert (found.values == codes).all()


@cases(700)
@given(cells(), st.data())
def test_an_array_of_anything_is_read_right_or_refused_at_a_cell(
    drawn: tuple[np.ndarray, np.ndarray], data: Any
) -> None:
    table, codes = drawn
    rows, columns = (data.draw(labels_of(n)) for n in table.shape)
    given: Any = table.tolist() if data.draw(st.booleans()) else table
    found = answer_or_refusal(lambda: ResponseMatrix(given, rows, columns))
    holds(found, codes)
    if (codes == -2).any() and given is table:  # NumPy makes one type of a list
        named = found.finding.values
        assert codes[rows.index(named["respondent"]), columns.index(named["item"])] == -2


@cases(350)
@given(cells(), st.data())
def test_frames_of_any_library_and_files_read_as_arrays_do(
    drawn: tuple[np.ndarray, np.ndarray], data: Any
) -> None:
    table, codes = drawn
    rows = data.draw(labels_of(table.shape[0]))
    columns = data.draw(labels_of(table.shape[1]))
    index = pd.Index(rows, name="model")
    frame = pd.DataFrame(table, index=index, columns=columns)
    form = data.draw(st.sampled_from(["wide", "long", "records", "dict", "read", "fit"]))
    if form == "wide":
        found = answer_or_refusal(lambda: ResponseMatrix.from_frame(frame))
    elif form == "long":
        long = frame.reset_index().melt("model", var_name="item", value_name="response")
        found = answer_or_refusal(lambda: ResponseMatrix.from_long(long))
        if isinstance(found, ResponseMatrix):
            assert sorted(found.respondents) == sorted(rows)
            kept = found.to_frame().loc[rows, columns].fillna(-1).to_numpy(int)
            assert (kept == codes).all()
            return
    elif form == "records":
        found = answer_or_refusal(
            lambda: irtkit.read_responses(frame.reset_index().to_dict("records"))
        )
    elif form == "dict":
        found = answer_or_refusal(
            lambda: irtkit.read_responses({"model": rows, **{c: frame[c].tolist() for c in frame}})
        )
    elif form == "read":
        found = answer_or_refusal(lambda: irtkit.read_responses(frame))
    else:
        found = answer_or_refusal(lambda: irtkit.fit(frame, "1PL", standard_errors=False))
        if not isinstance(found, Exception):
            found = found.responses
    holds(found, codes)


@cases(200)
@given(st.data())
def test_tables_of_arrow_and_polars_read_as_arrays_do(data: Any) -> None:
    polars = pytest.importorskip("polars")
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    codes = np.array(
        data.draw(st.lists(st.integers(-1, 1), min_size=n * m, max_size=n * m))
    ).reshape(n, m)
    kind = data.draw(
        st.sampled_from(
            [
                pa.int8(),
                pa.float32(),
                pa.bool_(),
                pa.string(),
                pa.dictionary(pa.int32(), pa.string()),
            ]
        )
    )
    plain: Any = {"bool": bool, "string": str, "float": float}.get(str(kind), int)
    if pa.types.is_dictionary(kind):
        plain = str
    columns = [
        pa.array([None if one < 0 else plain(int(one)) for one in column], kind)
        for column in codes.T
    ]
    names = data.draw(labels_of(m))
    if m > 1 and data.draw(st.integers(0, 5)) == 0:
        names[1] = names[0]
    rows = [f"system {k}" for k in range(n)]
    table = pa.table([pa.array(rows), *columns], names=["model", *names])
    found = answer_or_refusal(lambda: ResponseMatrix.from_frame(table))
    if len(set(names)) < m:
        assert isinstance(found, ValueError)
        return
    holds(found, codes)
    if isinstance(found, ResponseMatrix):
        other = answer_or_refusal(lambda: irtkit.read_responses(polars.from_arrow(table)))
        assert other == found


COUNTS = [0, 1, 2, 3, 5, 255, 256, 65536, 2**31 - 1, 2**31, 2**63, -1, 0.5, math.nan, math.inf,
          None, True, "x"]  # fmt: skip


def is_count(value: Any) -> bool:
    whole = isinstance(value, int | float) and value >= 0 and value <= 2**31 - 1
    return whole and float(value).is_integer()


@cases(500)
@given(st.data())
def test_counts_are_kept_or_refused(data: Any) -> None:
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    usual = st.sampled_from(COUNTS[:9])
    tried: Any = [data.draw(usual) for _ in range(n * m)]
    right: Any = [data.draw(st.integers(0, one)) for one in tried]
    if data.draw(st.booleans()):
        other = tried if data.draw(st.booleans()) else right
        other[data.draw(st.integers(0, n * m - 1))] = data.draw(st.sampled_from(COUNTS))
    tables = [np.array(one, object).reshape(n, m) for one in (right, tried)]
    wanted = [table.copy() for table in tables]
    if data.draw(st.booleans()) and all(is_count(one) for one in (*right, *tried)):
        hidden = np.array(data.draw(st.lists(st.booleans(), min_size=n * m, max_size=n * m)), bool)
        hidden = hidden.reshape(n, m)
        k = data.draw(st.integers(0, 1))
        tables[k] = np.ma.array(tables[k].astype(np.int64), mask=hidden)
        for table in wanted:
            table[hidden] = 0
    found = answer_or_refusal(lambda: ResponseMatrix.from_counts(*tables))
    flat = list(zip(wanted[0].flat, wanted[1].flat, strict=True))
    missing = [one is None or one != one for _, one in flat]  # noqa: PLR0124 - NaN
    good = all(
        gone or (is_count(a) and is_count(b) and a <= b) or (b == 0 and (a is None or a != a))  # noqa: PLR0124
        for gone, (a, b) in zip(missing, flat, strict=True)
    )
    if good and any(not gone and b > 0 for gone, (_, b) in zip(missing, flat, strict=True)):
        assert isinstance(found, ResponseMatrix), found
        kept = [
            (0, 0) if gone or b == 0 else (a, b) for gone, (a, b) in zip(missing, flat, strict=True)
        ]
        assert [*zip(found.successes.flat, found.trials.flat, strict=True)] == kept
        observed = found.observed
        sparse = answer_or_refusal(lambda: ResponseMatrix.from_counts(*observed))
        assert sparse == found
    else:
        assert isinstance(found, ValueError), found


ARGUMENTS: dict[str, tuple[list[Any], list[Any]]] = {
    "model": (["2PL", "1PL"], ["4PL", None, 2, "x" * 10**5]),
    "method": (["em"], ["mcmc", 1, None, ["em"]]),
    "prior": (["weak", None], ["strong", 1.0, [], "y" * 10**5]),
    "seed": ([0, 2**70, np.int64(3)], [True, -1, 1.0, "a", None, math.nan]),
    "quadrature": (["adaptive", (61, 6), [21, 4.0]],
                   [(3, 1e300), (2, 6.0), (61, math.nan), (True, 6), 5, None, (10**12, 6),
                    (61, 1e-300), (61, "6")]),
    "standard_errors": ([True, False], [1, None, "yes"]),
    "tol": ([1e-7], [0, -1, math.nan, math.inf, "a", True, None]),
    "max_iterations": ([5, 10**30], [0, 1.5, True, None]),
    "threshold": ([None, 0.5], ["a", math.nan, math.inf, True]),
    "right": ([None, 1, "1"], [[], {}]),
}  # fmt: skip
"""Values that a fit takes, and values that it refuses."""
OF_EM = {"tol", "max_iterations"}


@cases(250)
@given(st.data())
def test_arguments_of_a_fit_are_taken_or_refused_by_name(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(ARGUMENTS)))
    good, bad = ARGUMENTS[name]
    value, refused = data.draw(
        st.sampled_from([*((one, False) for one in good), *((one, True) for one in bad)])
    )
    table = [[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]]
    of_method = {"max_iterations": 20, **({name: value} if name in OF_EM else {})}

    def fitted() -> irtkit.FitResult:
        how = {"method": irtkit.EM(**of_method), "standard_errors": False}
        return irtkit.fit(table, **(how if name in OF_EM else {**how, name: value}))

    found = answer_or_refusal(fitted)
    if refused:
        assert isinstance(found, ValueError | TypeError), found
        assert name in str(found)
        assert len(str(found)) < 600
    else:
        assert isinstance(found, irtkit.FitResult), found
        assert np.isfinite(found.ability).all()


@st.composite
def matrices(draw: Any) -> ResponseMatrix:
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


def honest(result: Any, matrix: ResponseMatrix) -> None:
    """Numbers are finite where something is known, and counts are those of the responses."""
    items, respondents = result.items, result.respondents
    right, tried = (table.toarray()[~matrix.synthetic] for table in matrix.observed)
    right, tried = right.astype(int), tried.astype(int)
    assert list(items.index) == list(matrix.items)
    assert list(respondents.index) == list(matrix.respondents)
    assert (items["n_responses"] == tried.sum(axis=0)).all()
    answered = tried.sum(axis=0) > 0
    share = (right.sum(axis=0) / np.maximum(tried.sum(axis=0), 1))[answered]
    np.testing.assert_allclose(items["average_error"][answered], 1 - share, atol=1e-12)
    assert items["average_error"][~answered].isna().all()
    assert ((items["status"] == "no responses") == ~answered).all()
    assert np.isfinite(respondents[["ability", "ability_se"]]).all().all()
    assert np.isfinite(result.log_likelihood)
    assert result.log_likelihood <= 0
    known = items[answered]
    assert np.isfinite(known[["discrimination", "intercept"]]).all().all()
    assert known["guessing"].between(0, 1).all()
    assert not np.isinf(known[["difficulty_se", "discrimination_se"]].to_numpy()).any()
    assert known["p_negative"].between(0, 1).all()
    usual = known["status"].isin(["ok", "flat"])
    if result.settings.standard_errors and known["intercept_se"][usual].isna().any():
        why = ("No standard errors", "No finite estimate", "Too few items")
        assert any(word in text for text in result.warnings for word in why)


@cases(220)
@given(matrices(), st.data())
def test_the_whole_chain_answers_with_finite_numbers_and_files_that_read_back_equal(
    matrix: ResponseMatrix, data: Any
) -> None:
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
    compared = answer(lambda: irtkit.compare_difficulties(result, folds=0))
    assert list(compared.table.index) == list(matrix.items)
    board = answer(result.leaderboard)
    assert (board["rank_low"] <= board["rank"]).all()
    assert (board["rank"] <= board["rank_high"]).all()
    assert np.isfinite(board["ability"]).all()
    scores = answer(lambda: irtkit.score(matrix, result))
    assert np.isfinite(scores["ability"]).all()
    with tempfile.TemporaryDirectory() as folder:
        of_files(result, matrix, Path(folder))


def of_files(result: Any, matrix: ResponseMatrix, folder: Path) -> None:
    """What is written reads back equal, and nothing else is left in the folder."""
    result.save(folder / "result.npz")
    loaded = irtkit.load(folder / "result.npz")
    pd.testing.assert_frame_equal(loaded.items, result.items, check_exact=True)
    pd.testing.assert_frame_equal(loaded.respondents, result.respondents, check_exact=True)
    assert loaded.responses == matrix
    assert str(loaded) == str(result)
    names = ["items.csv", "items.tsv", "items.json", "items.parquet", "items.csv.gz"]
    for name in names:
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
