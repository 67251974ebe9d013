"""Table of features of items, and a check for features that reveal what is predicted.

Numbers stay numbers, and other columns are categories. Images become rows of pixels, and texts go
through an embedding.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import and_more, check_unique, check_unmasked, did_you_mean, first_names, short
from irtkit.responses import ResponseMatrix
from irtkit.responses.labels import category_name
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pandas as pd

    Embedding = Callable[[list[str]], Any]

_TARGETS = {
    *("class", "label", "labels", "target", "truth", "gold", "answer", "response", "correct"),
    *("correctness", "accuracy", "acc", "meanacc", "score", "solved", "error", "pass"),
    *("difficulty", "dffclt", "discrimination"),
}
_SIZES = {
    *("length", "len", "size", "count", "number", "n", "time", "words", "chars", "tokens"),
    *("lines", "options", "format", "type"),
}
_EQUAL = 1 - 1e-9  # Correlation with a target from which on a feature is the target in some unit.


def as_features(
    given: object, labels: Sequence[str] | None = None, embed: Embedding | None = None
) -> pd.DataFrame:
    """A table of features by item label: float columns, and categories as text.

    Parameters
    ----------
    given
        A DataFrame by item label (in a column "item", or else the index), or a list or Series of
        texts. Or an array whose first axis is the items, such as images. Or a ResponseMatrix or
        FitResult with texts of items.
    labels
        Labels of the rows of an array or list.
    embed
        Turns a list of texts into an array with a row for each. A column "text" goes through it.

    Raises
    ------
    TypeError
        If it is something else, or a column holds dates or durations.
    ValueError
        If rows and labels differ in number, a label occurs twice, a number is infinite, or texts
        are given without embedding.
    """
    import pandas as pd

    if isinstance(given, FitResult | ResponseMatrix):
        responses = given.responses if isinstance(given, FitResult) else given
        known = None if responses is None else responses.item_table
        if known is None or "text" not in known.columns:
            raise ValueError("features: the responses' item table lacks the column text")
        given = known[["text"]]
    if isinstance(given, pd.Series):
        numeric = pd.api.types.is_numeric_dtype(given)
        given = given.to_frame((given.name or "x") if numeric else "text")
    table = by_item(given, "features") if hasattr(given, "columns") else _of_array(given, labels)
    table = table.set_axis(pd.Index(table.index.map(str), name="item"), axis="index")
    table = table.set_axis(table.columns.map(str), axis="columns")
    check_unique("features must have one column per feature", table.columns)
    check_unique("features must have one row per item", table.index)
    if "text" in table.columns:
        table = table.drop(columns="text").join(_embedded(table["text"], embed))
    elif embed is not None:
        raise ValueError("embed is for texts, in a column text, which features do not have")
    return table.apply(_numbers_or_text)


def _numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of numbers, or of categories where a missing value is one more."""
    import pandas as pd

    name, values = column.name, column.infer_objects()
    if values.dtype.kind in "mM":
        raise TypeError(
            f"features: column {short(name)} holds dates or durations: convert them to numbers"
        )
    if not pd.api.types.is_numeric_dtype(values):
        return values.map(category_name).replace("", "missing").astype(object)
    values = values.astype(np.float64)
    if np.isinf(values).any():
        label = values.index[np.isinf(values)][0]
        raise ValueError(f"features: {short(name)} of item {short(label)} is infinite")
    return values


def columns_by_kind(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the columns with numbers, and of the columns with categories."""
    numeric = list(table.columns[table.dtypes == np.float64])
    return numeric, [name for name in table.columns if name not in numeric]


def like(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Columns of a known table, with numbers or categories as they are there."""
    import pandas as pd

    found = table[list(known.columns)].copy()
    for name in known.columns:
        if known[name].dtype != np.float64:
            found[name] = found[name].map(category_name).replace("", "missing").astype(object)
            continue
        try:
            found[name] = pd.to_numeric(found[name].replace("missing", np.nan)).astype(np.float64)
        except ValueError as error:
            raise ValueError(f"features: {short(name)} held numbers when it was fitted") from error
    return found


def check_leaks(
    features: pd.DataFrame,
    *,
    target: pd.Series[float] | pd.DataFrame | None = None,
    allow: Collection[str] = (),
) -> None:
    """Refuse features that are named like the target or equal to it.

    Names with a word such as "class", "answer" or "accuracy" are refused, unless they say how much
    or which type of it there is ("answer_length"). Values are refused that equal the target, or one
    column of a table of targets, in any unit. Other leaks are not detected.

    Parameters
    ----------
    features : DataFrame
        Features by item label.
    target : Series or DataFrame, optional
        What is predicted, by item label, or a table of it and other measures of difficulty.
    allow : str or list of str, optional
        Names of features that are allowed in spite of this.

    Raises
    ------
    ValueError
        If there is such a feature, or a name that is allowed is not a feature.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.prediction import check_leaks
    >>> check_leaks(pd.DataFrame({"words": [3, 5], "class": ["a", "b"]}))
    Traceback (most recent call last):
        ...
    ValueError: features must not reveal what is predicted: 'class' (by its name). Leave it out, or
    pass allow=['class']
    """
    allowed, names = [allow] if isinstance(allow, str) else list(allow), list(map(str, features))
    if unknown := [name for name in allowed if name not in names]:
        raise ValueError(
            f"allow must name features, got {short(unknown[0])}"
            f"{and_more(len(unknown) - 1, 'name')}. The features are {first_names(names)}"
            f"{did_you_mean(unknown[0], names)}"
        )
    found = {name: "by its name" for name in names if _named_like_target(name)}
    if target is not None:
        import pandas as pd

        measures = pd.DataFrame(target).reindex(features.index).replace([np.inf, -np.inf], np.nan)
        numbers = features.select_dtypes("number")
        for name in numbers.loc[:, numbers.nunique() > 2]:
            if (measures.corrwith(numbers[name]).abs() > _EQUAL).any():
                found[str(name)] = "it equals a target"
    refused = {name: why for name, why in found.items() if name not in allowed}
    if refused:
        name, why = next(iter(refused.items()))
        raise ValueError(
            f"features must not reveal what is predicted: {short(name)} ({why})"
            f"{and_more(len(refused) - 1, 'feature')}. Leave it out, or pass allow={list(refused)}"
        )


def _named_like_target(name: str) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z][a-z])", r"\1 \2", name).lower())
    return not _TARGETS.isdisjoint(words) and _SIZES.isdisjoint(words)


def _embedded(texts: pd.Series[Any], embed: Embedding | None) -> pd.DataFrame:
    """Numbers of texts, NaN without a text."""
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
    return pd.DataFrame(numbers, index=texts.index).rename(columns="text{}".format)


def _of_array(given: Any, labels: Sequence[str] | None) -> pd.DataFrame:
    """A table of an array, or of a list of texts."""
    import pandas as pd

    check_unmasked("features", given)
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        table = pd.DataFrame({"text": list(given)})
    else:
        array = np.asarray(given)
        if array.ndim < 2 or array.dtype.kind not in "iufb":
            raise TypeError(
                "features must be a DataFrame by item, an array (items × …) of numbers, or texts, "
                f"got {type(given).__name__}"
            )
        table = pd.DataFrame(array.reshape(len(array), -1)).rename(columns="x{}".format)
    names = [f"item-{k + 1}" for k in range(len(table))] if labels is None else list(labels)
    if len(table) != len(names):
        raise ValueError(
            f"features must have a row for each of {len(names)} items ({first_names(names)}), got "
            f"{len(table)}. A DataFrame by item label may have other rows too"
        )
    return table.set_axis(names, axis="index")


def text_embedding() -> Callable[[list[str]], Any]:
    """A function from a list of texts to an array, (n_texts, 256).

    WordLlama (Miller 2024) holds the token embeddings of a large language model, reduced to 256
    numbers. They are averaged over the tokens of a text. It works offline.

    Raises
    ------
    ImportError
        If WordLlama is not installed (the extra ``irtkit[text]``).

    Examples
    --------
    >>> from irtkit.prediction import text_embedding
    >>> text_embedding()(["two plus two", "the capital of France"]).shape
    (2, 256)
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        import wordllama
    except ImportError as error:
        raise ImportError("text_embedding needs WordLlama: pip install 'irtkit[text]'") from error
    finally:  # its import sets up logging for all
        root.handlers[:] = handlers
        root.setLevel(level)
    # its tokenizer is looked for in a cache, in a folder named as the one in the package is
    carried = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=carried, dim=256, disable_download=True)
    return lambda texts: model.embed(list(texts))
