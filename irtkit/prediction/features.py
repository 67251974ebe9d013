"""Table of features of items, and a check for features that reveal what is predicted.

Numbers stay numbers, and other columns are categories. Images become rows of pixels, and texts go
through an embedding.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique, short
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pandas as pd

    Embedding = Callable[[list[str]], Any]


def as_features(
    given: object, labels: Sequence[str] | None = None, embed: Embedding | None = None
) -> pd.DataFrame:
    """A table of features by item label: float columns, and categories as text.

    Parameters
    ----------
    given
        A DataFrame by item label (in a column "item", or else the index), or a list or Series of
        texts. Or an array whose first axis is the items, such as images.
    labels
        Labels of the rows of an array or list.
    embed
        Turns a list of texts into an array with a row for each. A column "text" goes through it.

    Raises
    ------
    ValueError
        If rows and labels differ in number, a label occurs twice, or texts are given without
        embedding.
    """
    import pandas as pd

    if isinstance(given, pd.Series):
        given = given.to_frame("text")
    values = np.asarray(given)
    if hasattr(given, "columns"):
        table = by_item(given, "features")
    elif values.dtype.kind == "U" and values.ndim == 1:
        table = pd.DataFrame({"text": values})
    elif values.dtype.kind in "iufb" and values.ndim > 1:
        pixels = values.reshape(len(values), -1)
        table = pd.DataFrame(pixels).rename(columns="x{}".format)
    else:
        raise TypeError(
            "features must be a DataFrame by item, an array (items × …) of numbers, or texts, "
            f"got {type(given).__name__}"
        )
    if not hasattr(given, "columns"):
        names = [f"item-{k + 1}" for k in range(len(table))] if labels is None else list(labels)
        table = table.set_axis(names, axis="index")
    table = table.rename(index=str, columns=str).rename_axis(index="item")
    check_unique("features must have one row per item", table.index)
    if "text" in table.columns:
        if embed is None:
            raise ValueError(
                "features hold texts: give embed=, a function from a list of texts to an array, "
                "such as irtkit.prediction.text_embedding()"
            )
        texts = table.pop("text").dropna()
        embedded = pd.DataFrame(np.asarray(embed(list(map(str, texts)))), texts.index)
        table = table.join(embedded.rename(columns="text{}".format))
    numbers = table.select_dtypes(["number", "bool"]).astype(np.float64)
    categories = table.drop(columns=numbers.columns)
    return pd.concat([numbers, categories.astype(object)], axis="columns")


def check_categories(features: pd.DataFrame) -> None:
    """Refuse columns of texts or the like, which say nothing of other items as categories."""
    for name, values in features.select_dtypes(exclude="number").items():
        if values.nunique() > 0.9 * len(values):  # then they are no categories
            raise ValueError(
                f"features: {short(name)} is not a number, and nearly all its values differ, so it "
                "says nothing of other items. Leave it out. Texts go into a column text, with "
                "embed="
            )


def check_leaks(
    features: pd.DataFrame,
    *,
    target: pd.Series[float] | pd.DataFrame,
    allow: Collection[str] = (),
) -> None:
    """Refuse features that order the items as the target does.

    Such a feature is a measure of difficulty in other units, like the accuracy on the item. Other
    leaks are not detected, such as the right answer, or the responses of one system.

    Parameters
    ----------
    features : DataFrame
        Features by item label.
    target : Series or DataFrame
        What is predicted, by item label, or a table of it and other measures of difficulty.
    allow : str or list of str, optional
        Names of features that are allowed in spite of this.

    Raises
    ------
    ValueError
        If there is such a feature.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.prediction import check_leaks
    >>> features = pd.DataFrame({"words": [3, 9, 5], "accuracy": [0.9, 0.5, 0.2]})
    >>> check_leaks(features, target=pd.Series([-2.0, 0.0, 1.5]))
    Traceback (most recent call last):
        ...
    ValueError: features must not reveal what is predicted: 'accuracy' has the order of the target.
    Leave it out, or pass allow=['accuracy']
    """
    import pandas as pd

    allowed = [allow] if isinstance(allow, str) else list(allow)
    measures = pd.DataFrame(target).reindex(features.index)
    measures = measures.loc[:, measures.nunique() > 2]
    numbers = features.select_dtypes("number").drop(columns=allowed, errors="ignore")
    for name, values in numbers.loc[:, numbers.nunique() > 2].items():
        if (measures.corrwith(values, method="spearman").abs() > 1 - 1e-9).any():  # the same order
            raise ValueError(
                f"features must not reveal what is predicted: {short(name)} has the order of the "
                f"target. Leave it out, or pass allow=[{str(name)!r}]"
            )


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
