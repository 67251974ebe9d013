"""Data that irtkit carries: real responses to try things on, no download needed.

- ``digits``: a crowd of classifiers answers scikit-learn's handwritten digits.

``make_digits_crowd.py`` is the script that made the data.
"""

from irtkit.datasets.digits import DigitsCrowd, load_digits_crowd

__all__ = ["DigitsCrowd", "load_digits_crowd"]
