"""Texts as numbers, by word vectors that a package of the registry carries.

WordLlama (Miller 2024) is the token embeddings of a large language model, reduced to 256 numbers
and averaged over the tokens of a text: 16 MB in its wheel, NumPy to compute with, nothing to
download.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def text_embedding() -> Callable[[list[str]], Any]:
    """A function from a list of texts to an array, (n_texts, 256).

    It works offline. Rows are averages of the vectors of a text's tokens, whatever their order.

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
    from pathlib import Path

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
