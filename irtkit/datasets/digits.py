"""The digits crowd: 130 classifiers answer 1,797 handwritten digits.

The respondents are scikit-learn classifiers of many families, settings and training sizes, from
guessing to support vector machines. The items are the handwritten digits that scikit-learn ships
(``sklearn.datasets.load_digits``, UCI's "Optical Recognition of Handwritten Digits"). No system
trained on a digit it answers here: they were split into five stratified folds. The script that made
the data is ``benchmarks/make_digits_crowd.py`` at commit 145d316d. Reading it does not need
scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class DigitsCrowd:
    """What each system answered to each handwritten digit, and what the digits are.

    Examples
    --------
    >>> from irtkit.datasets import load_digits_crowd
    >>> crowd = load_digits_crowd()
    >>> int(crowd.predictions.loc["tree-depth4", "digit-0002"]), int(crowd.labels["digit-0002"])
    (8, 2)
    >>> crowd.responses
    ResponseMatrix(130 systems × 1,797 items)
    """

    predictions: pd.DataFrame
    """Index = respondents, columns = items: the class, 0 to 9, each system answered (uint8)."""
    labels: pd.Series[int]
    """Index = items: the class that the data set gives, 0 to 9 (uint8)."""
    systems: pd.DataFrame
    """Index = respondents. Columns: ``family`` (kind of classifier) and ``training_size`` (number
    of digits trained on). A size of 1437 stands for all that a fold leaves, 1437 or 1438."""

    @property
    def responses(self) -> ResponseMatrix:
        """The response matrix: 1 if the prediction is the label, else 0, and complete."""
        right = self.predictions.to_numpy() == self.labels.to_numpy()
        return ResponseMatrix(right, self.predictions.index, self.predictions.columns)


def load_digits_crowd() -> DigitsCrowd:
    """Load the digits crowd.

    Returns
    -------
    DigitsCrowd
        130 systems × 1,797 digits, nothing missing. An item is called ``digit-`` and its
        position in ``sklearn.datasets.load_digits``, counted from ``digit-0000``. A system is
        called by its classifier and settings, and ``-n50``, ``-n150`` or ``-n500`` where it
        trained on a part of the digits only. ``logreg-C1``, ``svm-rbf-C1``, ``knn-k1``,
        ``tree-full`` and ``forest-100`` are there in all four training sizes.

    Examples
    --------
    >>> from irtkit.datasets import load_digits_crowd
    >>> crowd = load_digits_crowd()
    >>> crowd.predictions.shape
    (130, 1797)
    >>> crowd.systems.loc["knn-k1-n50"].to_dict()
    {'family': 'nearest neighbours', 'training_size': 50}
    """
    import pandas as pd

    resource = files("irtkit.datasets").joinpath("digits_crowd.npz")
    with resource.open("rb") as file, np.load(file, allow_pickle=False) as data:
        arrays = dict(data)
    labels: NDArray[np.uint8] = arrays["labels"]
    respondents = pd.Index(arrays["systems"].tolist(), name="respondent")
    items = pd.Index([f"digit-{k:04d}" for k in range(len(labels))], name="item")
    return DigitsCrowd(
        predictions=pd.DataFrame(arrays["predictions"], index=respondents, columns=items),
        labels=pd.Series(labels, index=items, name="label"),
        systems=pd.DataFrame(
            {"family": arrays["family"].tolist(), "training_size": arrays["training_size"]},
            index=respondents,
        ),
    )
