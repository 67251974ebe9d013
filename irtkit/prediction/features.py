"""What is known of items, as a table of features; and what may not be a feature.

Of a table numbers stay numbers, and everything else is a category. Images are rows of pixels; texts
go through an embedding. A feature that is the class, the answer or the accuracy in other words
predicts difficulty well, and says nothing of items that nobody has answered: it is refused.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import and_more, check_unique, check_unmasked, did_you_mean, first_names, short
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.responses import ResponseMatrix
from irtkit.responses.labels import category_name
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Embedding = Callable[[list[str]], Any]

_LABEL = {
    *("class", "label", "labels", "target", "truth", "gold", "answer", "response", "responses"),
}
_OUTCOME = {
    *("correct", "correctness", "accuracy", "accuracies", "acc", "meanacc"),
    *("difficulty", "difficulties", "dffclt", "discrimination"),
}
"""Words in the names of features that say that these are the label, or what is to be predicted."""
_LEAKING_NAMES = {
    *("average_error", "expected_error", "ave", "p_negative", "pass_rate", "error_rate"),
    *("n_wrong", "n_right", "solved", "score", "scores", "answers", "classes", "targets"),
    "response_count",
}
"""Whole names: "n_classes" or "possible_answers" tell nothing."""
_LENGTH = {"length", "len"}
_OF_SIZE = _LENGTH | {
    *("size", "count", "time", "words", "word", "chars", "characters", "tokens"),
    *("lines", "options", "format", "type"),
}
"""Words after which a name says how much of a label there is, or of what form: "answer_type". Of an
outcome only a length does: "correct_answer_length" tells nothing, and "correct_count" all."""
_MISSING = "missing"
"""The category of what is missing."""
_THE_SAME = 0.995
"""Rank correlation with a measure of difficulty from which on a feature is taken for it in other
words. True difficulties may get there where respondents are many."""

_ENOUGH_ITEMS = 20
"""Items from which on a feature of two values is no respondent's answers by chance: that of a fair
coin agrees with one of 1,000 respondents, either way round, once in 500 times. With as many outside
its commonest value none of 1,000 features is in the order of difficulty by chance, but once in a
million times: 20 of 40 items or more are drawn in 10¹¹ ways."""


def as_features(
    given: object, labels: Sequence[str] | None = None, embed: Embedding | None = None
) -> pd.DataFrame:
    """A table of features, index = item labels, of whatever there is.

    Parameters
    ----------
    given
        A DataFrame indexed by item label (or with a column "item", which one of polars or PyArrow
        must have); an array whose first axis is
        the items, such as images; a list or Series of texts; or a ResponseMatrix or FitResult whose
        item table has a text.
    labels
        Labels of the rows of an array or list.
    embed
        Makes texts numbers: called with a list of texts, it returns an array with a row for each. A
        column "text" of a table goes through it as well.

    Raises
    ------
    TypeError
        If it is none of these, or a column holds dates or durations.
    ValueError
        If rows and labels are not as many, a label occurs twice, a number is infinite, or texts
        have no embedding.
    """
    import pandas as pd

    if isinstance(given, FitResult | ResponseMatrix):
        given = _texts_of(given)
    if hasattr(given, "columns"):
        table = by_item(given, "features").copy()
        if "text" in table.columns:
            table = table.drop(columns="text").join(_embedded(table["text"], embed))
        elif embed is not None:
            raise ValueError("embed is for texts, in a column text, which features do not have")
    elif isinstance(given, pd.Series):
        table = _embedded(given, embed) if _is_text(given) else given.to_frame(given.name or "x")
    else:
        check_unmasked("features", given)
        table = _of_array(given, labels, embed)
    table.index = pd.Index(table.index.map(str), name="item")
    table.columns = table.columns.map(str)
    check_unique("features must have one column per feature", table.columns)
    numeric, categories = columns_by_kind(table)
    numeric += [name for name in categories if _holds_numbers(table[name])]
    categories = [name for name in categories if name not in numeric]
    table = table.astype(dict.fromkeys(numeric, np.float64))
    for name in numeric:
        if np.isinf(table[name]).any():
            label = table.index[np.isinf(table[name])][0]
            raise ValueError(f"features: {short(name)} of item {short(label)} is infinite")
    for name in categories:  # what is missing is a category as well
        table[name] = table[name].astype(object).where(table[name].notna(), _MISSING).map(str)
    check_unique("features must have one row per item", table.index)
    return table


def _holds_numbers(values: pd.Series[Any]) -> bool:
    """Whether a column of objects holds numbers, with gaps or without."""
    there = values[values.notna()]
    return values.dtype == object and len(there) > 0 and all(isinstance(v, Real) for v in there)


def like(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Columns of a table that is known, each of numbers or categories as it is there.

    Raises
    ------
    ValueError
        If there is text where numbers were.
    """
    import pandas as pd

    found = table[list(known.columns)].copy()
    was, (is_now, _) = set(columns_by_kind(known)[0]), columns_by_kind(found)
    for name in known.columns:
        if name in was and name not in is_now:
            there = found[name].where(found[name] != _MISSING)
            try:
                found[name] = pd.to_numeric(there).astype(np.float64)
            except ValueError as error:
                raise ValueError(
                    f"features: {short(name)} held numbers when it was fitted"
                ) from error
        elif name not in was and name in is_now:
            as_written = _numbers_as_written(known[name])
            text = [as_written.get(number, category_name(number)) for number in found[name]]
            found[name] = np.where(found[name].notna(), text, _MISSING).astype(object)
    return found


def _numbers_as_written(categories: pd.Series[Any]) -> dict[float, str]:
    """Category of each number that one is, such as "007" of 7: the shortest, where there are more.

    A reader of tables makes numbers of a column that was text.
    """
    import pandas as pd

    written = sorted(categories.unique(), key=len, reverse=True)
    numbers = pd.to_numeric(pd.Series(written, dtype=object), errors="coerce")
    pairs = zip(numbers, written, strict=True)
    return {float(number): text for number, text in pairs if not np.isnan(number)}


def columns_by_kind(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the columns with numbers, and of those with categories."""
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

    numeric = [name for name in table.columns if is_numeric_dtype(table[name])]
    for name, kind in table.dtypes.items():
        if is_datetime64_any_dtype(kind) or is_timedelta64_dtype(kind):
            raise TypeError(
                f"features: column {short(name)} holds dates or durations; make numbers of them"
            )
    return numeric, [name for name in table.columns if name not in numeric]


def check_leaks(
    features: pd.DataFrame,
    *,
    target: pd.Series[float] | pd.DataFrame | None = None,
    responses: ResponseMatrix | None = None,
    allow: Collection[str] = (),
) -> None:
    """Refuse features that are the class, the answer, the accuracy or the difficulty itself.

    Told by name ("class", "Truth_SAT", "meanACC"); by values that order the items as what is
    predicted does, either way round: with a rank correlation of 0.995 or more, or of 3 values or
    kinds or more that have a range of difficulty each to themselves, such as accuracy, rounded
    or called low, middle and high (two have one where items are of two sources); features of two
    values also by their mean, of which the answers of all respondents are an example. (Of few
    values, 20 items must lie outside the commonest.) With
    responses also by values that are the answers of one respondent, right or wrong, or the target
    that the responses' item table has: a table of targets does not tell these.

    Parameters
    ----------
    features
        Index = item labels.
    target
        What is predicted, by item label; or a table of it and of other measures of difficulty.
    responses
        Answers to these items.
    allow
        Names of features that are allowed in spite of this.

    Raises
    ------
    ValueError
        If there is such a feature; it names all of them. If a name that is allowed is no feature.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.prediction import check_leaks
    >>> check_leaks(pd.DataFrame({"words": [3, 5], "class": ["a", "b"]}))
    Traceback (most recent call last):
        ...
    ValueError: features must not tell what is predicted: 'class' (by its name); leave it out, or
    say allow=['class']
    """
    allowed = names_allowed(allow, features)
    found = {name: "by its name" for name in features.columns if _leaks_by_name(name)}
    numbers = _as_numbers(features)
    if target is not None:
        found = _in_order_of(target, features, numbers) | found
    if responses is not None:
        for name in _answers_of_one(numbers, responses):
            found.setdefault(name, "it is what one respondent answered")
        for name in _target_again(features, responses):
            found.setdefault(name, "it is the target of the items")
    refused = {name: why for name, why in found.items() if name not in allowed}
    if refused:
        name, why = next(iter(refused.items()))
        raise ValueError(
            f"features must not tell what is predicted: {short(name)} ({why})"
            f"{and_more(len(refused) - 1, 'feature')}; leave it out, or say allow={list(refused)}"
        )


def _in_order_of(
    target: pd.Series[float] | pd.DataFrame, features: pd.DataFrame, numbers: pd.DataFrame
) -> dict[str, str]:
    """Features that order items as a measure of difficulty does, and how."""
    known: Array = np.asarray(target.reindex(features.index), dtype=np.float64)
    measures = known.reshape(len(features), -1).T
    marks = numbers.loc[:, numbers.nunique() == 2]
    share = (marks == marks.max()).where(marks.notna()).mean(axis=1).to_numpy(np.float64)
    found: dict[str, str] = {}
    if any(_in_one_order(share, measure) for measure in measures):
        found = dict.fromkeys(
            map(str, marks), "it orders items as their difficulty does, with others"
        )
    for name in features.columns:
        is_number = name in numbers
        values: Any = numbers[name].to_numpy(np.float64) if is_number else features[name]
        alike = _in_one_order if is_number else _kinds_in_order
        if any(alike(values, measure) for measure in measures):
            found[name] = "it orders items as their difficulty does"
    return found


def names_allowed(allow: str | Collection[str], features: pd.DataFrame) -> set[str]:
    """Names of features that are allowed.

    Raises
    ------
    ValueError
        If one is no feature.
    """
    allowed = [allow] if isinstance(allow, str) else list(allow)
    names = list(features.columns)
    if unknown := [name for name in allowed if name not in names]:
        raise ValueError(
            f"allow must name features, and {short(unknown[0])} is none"
            f"{and_more(len(unknown) - 1, 'name')}{did_you_mean(unknown[0], names)}; "
            f"they are {first_names(names)}"
        )
    return set(allowed)


def _as_numbers(features: pd.DataFrame) -> pd.DataFrame:
    """Features with numbers, those written as text and those of two categories among them."""
    import pandas as pd

    numeric, categories = columns_by_kind(features)
    found = {name: features[name].astype(np.float64) for name in numeric}
    for name in categories:
        there = features[name].where(features[name] != _MISSING)
        values = pd.to_numeric(there.str.rstrip("% "), errors="coerce")
        if values.notna().equals(there.notna()):
            found[name] = values
        elif there.nunique() == 2:
            codes = pd.Series(
                pd.factorize(there, sort=True)[0], index=features.index, dtype=np.float64
            )
            found[name] = codes.where(codes >= 0)
    return pd.DataFrame(found, index=features.index)


def _leaks_by_name(name: str) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z][a-z])", r"\1 \2", name).lower())
    label = not _LABEL.isdisjoint(words) and _OF_SIZE.isdisjoint(words)
    outcome = not _OUTCOME.isdisjoint(words) and _LENGTH.isdisjoint(words)
    return label or outcome or "_".join(words) in _LEAKING_NAMES


def _in_one_order(feature: Array, measure: Array) -> bool:
    """Whether a feature, in any unit, and a measure order items alike, or the other way round."""
    there = ~(np.isnan(feature) | np.isnan(measure))
    order = np.unique(feature[there], return_inverse=True)[1]
    measured = levels(measure[there])
    if min(order.max(initial=0), measured.max(initial=0)) < 2:
        return False
    return abs(spearman(order, measured)) >= _THE_SAME or _coarser(order, measured)


def _coarser(order: NDArray[np.intp], measured: NDArray[np.intp]) -> bool:
    """Whether each of three or more values has a range of the measure, and these are in order."""
    counts = np.bincount(order)
    if len(counts) < 3 or counts.sum() - counts.max() < _ENOUGH_ITEMS:
        return False
    low, high = np.full(len(counts), measured.max()), np.zeros(len(counts), dtype=np.intp)
    np.minimum.at(low, order, measured)
    np.maximum.at(high, order, measured)
    return bool((high[:-1] < low[1:]).all() or (low[:-1] > high[1:]).all())


def _kinds_in_order(kinds: pd.Series[str], measure: Array) -> bool:
    """Whether kinds, half as many as items at most, have a range of the measure each."""
    import pandas as pd

    there = (kinds != _MISSING).to_numpy() & ~np.isnan(measure)
    codes, names = pd.factorize(kinds[there])
    if not 3 <= len(names) <= len(codes) / 2:
        return False
    measured = levels(measure[there])
    order = np.argsort(np.argsort(np.bincount(codes, measured) / np.bincount(codes)))
    return _coarser(order[codes], measured)


def refuse_texts(features: pd.DataFrame, allow: Collection[str] = ()) -> None:
    """Refuse texts as categories: one of its own for each item says nothing of other items.

    Raises
    ------
    ValueError
        If most values of a column are of several words, and nine in ten are not those of another.
    """
    for name in columns_by_kind(features)[1]:
        texts = features[name]
        alone = texts.nunique() >= max(2, 0.9 * len(texts))
        if alone and texts.str.contains(" ").mean() > 0.5 and name not in allow:
            raise ValueError(
                f"features: {short(name)} holds texts, of {len(texts)} items {texts.nunique()} "
                "different ones, and such categories say nothing of other items: call the column "
                "text and give embed=, or leave it out"
            )


def _answers_of_one(numeric: pd.DataFrame, responses: ResponseMatrix) -> list[str]:
    """Features of two values that go with the right and wrong answers of some respondent."""
    places = {label: k for k, label in enumerate(responses.items)}
    items = [label for label in numeric.index if label in places]
    if len(items) < _ENOUGH_ITEMS or responses.is_sparse:
        return []
    there = numeric.loc[items]
    values = responses.values[:, [places[label] for label in items]]
    varied = (values == 0).any(axis=1) & (values == 1).any(axis=1)
    binary = [
        name
        for name in there.columns
        if there[name].nunique() == 2 and there[name].notna().sum() >= _ENOUGH_ITEMS
    ]
    if not binary or not varied.any():
        return []
    columns = there[binary].to_numpy()
    known = np.where(np.isnan(columns), 0.0, 1.0)
    marks = known * np.where(columns == np.nanmax(columns, axis=0), 1.0, -1.0)
    answers = np.where(values[varied] < 0, 0.0, 2.0 * values[varied] - 1)
    both = np.abs(answers) @ known
    same = (np.abs(answers @ marks) == both) & (both >= _ENOUGH_ITEMS)
    return [name for name, is_one in zip(binary, same.any(axis=0), strict=True) if is_one]


def _target_again(features: pd.DataFrame, responses: ResponseMatrix) -> list[str]:
    """Features that say no more and no less than the target of the items."""
    known = responses.item_table
    if known is None or "target" not in known.columns:
        return []
    return the_same_kinds(features, known["target"].reindex(features.index))


def the_same_kinds(features: pd.DataFrame, target: pd.Series[Any]) -> list[str]:
    """Features that tell apart the same items as a target with some kinds does."""
    import pandas as pd

    there = target.notna()
    codes, kinds = pd.factorize(target[there].map(str))
    if not 2 <= len(kinds) <= there.sum() / 2:  # numbers of items say nothing of their answers
        return []
    return [
        name
        for name in features.columns
        if np.array_equal(pd.factorize(features.loc[there, name].map(str))[0], codes)
    ]


def _texts_of(given: FitResult | ResponseMatrix) -> Any:
    responses = given.responses if isinstance(given, FitResult) else given
    table = None if responses is None else responses.item_table
    if table is None or "text" not in table.columns:
        raise ValueError("features: the responses' item table has no column text")
    return table["text"]


def _is_text(series: pd.Series[Any]) -> bool:
    from pandas.api.types import is_numeric_dtype

    return not is_numeric_dtype(series)


def _embedded(texts: pd.Series[Any], embed: Embedding | None) -> pd.DataFrame:
    """Numbers of texts, NaN where there is no text."""
    import pandas as pd

    if embed is None:
        raise ValueError(
            "features hold texts: give embed=, a function from a list of texts to an array, such "
            "as irtkit.prediction.text_embedding()"
        )
    there = texts.notna().to_numpy()
    made = np.asarray(embed([str(text) for text in texts[there]]), dtype=np.float64)
    if made.ndim != 2 or len(made) != there.sum():
        raise ValueError(
            f"embed must return a row for each of {there.sum()} texts, got shape {made.shape}"
        )
    numbers = np.full((len(texts), made.shape[1]), np.nan)
    numbers[there] = made
    names = [f"text{k}" for k in range(made.shape[1])]
    return pd.DataFrame(numbers, index=texts.index, columns=names)


def _of_array(given: object, labels: Sequence[str] | None, embed: Embedding | None) -> pd.DataFrame:
    import pandas as pd

    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        _check_length(len(given), labels)
        return _embedded(pd.Series(list(given), index=_index(labels, len(given))), embed)
    if isinstance(given, list | tuple) and any(isinstance(one, str) for one in given):
        at = next(k for k, one in enumerate(given) if not isinstance(one, str))
        raise TypeError(
            f"features: texts must all be text; that of item {at + 1} is {short(given[at])}"
        )
    array = np.asarray(given)
    if array.ndim < 2 or (not np.issubdtype(array.dtype, np.number) and array.dtype != bool):
        raise TypeError(
            "features must be a DataFrame by item, an array (items × …) of numbers, or texts; got "
            f"{type(given).__name__}"
        )
    _check_length(len(array), labels)
    flat = array.reshape(len(array), -1).astype(np.float64)
    names = [f"x{k}" for k in range(flat.shape[1])]
    return pd.DataFrame(flat, index=_index(labels, len(flat)), columns=names)


def _index(labels: Sequence[str] | None, n: int) -> list[str]:
    return [f"item-{k + 1}" for k in range(n)] if labels is None else list(labels)


def _check_length(n: int, labels: Sequence[str] | None) -> None:
    if labels is not None and n != len(labels):
        raise ValueError(
            f"features must have a row for each of {len(labels)} items "
            f"({first_names(labels)}), got {n}; a DataFrame by item label may have others"
        )
