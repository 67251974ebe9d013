"""Make ``digits_learning.npz``: digits classifiers answer after training on growing samples.

Run as ``python benchmarks/make_digits_learning.py OUTPUT``; needs scikit-learn.

The classifiers, folds and samples are those of the digits crowd (``make_digits_crowd.py``): every
digit is answered by a copy that did not train on it, and the samples are balanced over the classes,
nested, and the same for all systems. The sizes double from 10, one digit of each class, to 1280.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from make_digits_crowd import answers, digits

SIZES = (10, 20, 40, 80, 160, 320, 640, 1280)
SYSTEMS = (
    *("bayes-bernoulli", "bayes-gaussian-smooth", "forest-100", "knn-k1", "logreg-C1"),
    *("mlp-100", "svm-rbf-C1", "tree-full"),
)
"""Classifiers of the crowd, of seven families, that can learn from one digit of each class."""


def main(output: Path) -> None:
    """Ask every system at every size every digit, and write which answers were right."""
    pixels, labels = digits()
    right = np.array(
        [[answers(name, size, pixels, labels) == labels for size in SIZES] for name in SYSTEMS]
    )
    np.savez_compressed(
        output,
        right=np.packbits(right, axis=-1),
        systems=np.array(SYSTEMS),
        sizes=np.array(SIZES, dtype=np.int32),
    )
    for name, accuracy in zip(SYSTEMS, right.mean(axis=-1), strict=True):
        sys.stdout.write(f"{name}: {' '.join(f'{share:.3f}' for share in accuracy)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the digits learning curves.")
    parser.add_argument("output", type=Path)
    main(parser.parse_args().output)
