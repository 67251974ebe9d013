"""Data that irtkit carries: real responses to try things on, no download needed.

- ``digits``: a crowd of classifiers answers scikit-learn's handwritten digits.
- ``digits_learning``: eight of them answer after training on growing samples.

``make_digits_crowd.py`` and ``make_digits_learning.py`` made the data. They stand in ``benchmarks``
at commit 145d316d.
"""

from irtkit.datasets.digits import DigitsCrowd, load_digits_crowd
from irtkit.datasets.digits_learning import load_digits_learning

__all__ = ["DigitsCrowd", "load_digits_crowd", "load_digits_learning"]
