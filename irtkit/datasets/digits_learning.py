"""Digits learning curves: eight classifiers answer the digits after training on growing samples.

The classifiers of the digits crowd with these names answer and train on the same digits as there.
``benchmarks/make_digits_learning.py`` made the data (at commit 145d316d).
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 1797
"""Digits of the set that scikit-learn ships, all used as items."""


def load_digits_learning() -> pd.DataFrame:
    """Load the digits learning curves, for :func:`irtkit.learning_surface`.

    Returns
    -------
    pandas.DataFrame
        A row per answer: respondent (classifier and settings, as in
        :func:`irtkit.load_digits_crowd`), training_size, item ("digit-0000", …) and right (True or
        False). The training size is 10, 20, 40, … 1280 digits, balanced over the ten classes, and
        each sample holds the one before. Nothing is missing: 8 systems × 8 sizes × 1,797 digits.

    Examples
    --------
    >>> from irtkit.datasets import load_digits_learning
    >>> answers = load_digits_learning()
    >>> len(answers)
    115008
    >>> share = answers.groupby(["respondent", "training_size"])["right"].mean()
    >>> share["knn-k1"].round(3).tolist()
    [0.636, 0.748, 0.853, 0.902, 0.941, 0.963, 0.981, 0.986]
    """
    import pandas as pd

    resource = files("irtkit.datasets").joinpath("digits_learning.npz")
    with resource.open("rb") as file, np.load(file, allow_pickle=False) as data:
        systems, sizes = data["systems"].tolist(), data["sizes"].tolist()
        right = np.unpackbits(data["right"], axis=-1, count=_DIGITS).astype(bool)
    items = [f"digit-{k:04d}" for k in range(_DIGITS)]
    names = ["respondent", "training_size", "item"]
    index = pd.MultiIndex.from_product([systems, sizes, items], names=names)
    return pd.Series(right.ravel(), index=index, name="right").reset_index()
