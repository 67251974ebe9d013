"""Make the picture of the README anew: ``python docs/make_pictures.py``."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import irtkit

SHOWN = {"digit-1658": "key 9, the strong say 3", "digit-0129": "flat", "digit-0187": "sound"}
"""Items of the digits crowd, and what their curves show."""


def main() -> None:
    """Draw a broken, a flat and a sound item: observed shares right, and fitted curves."""
    mpl.rcParams |= {"svg.hashsalt": "irtkit", "svg.fonttype": "path"}
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(irtkit.load_digits_crowd().responses)
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    irtkit.plots.item_curves(result, list(SHOWN), ax=axes)
    for ax, (item, said) in zip(axes, SHOWN.items(), strict=True):
        ax.set_title(f"{item}: {said}", fontsize=10)
        ax.label_outer()
    path = Path(__file__).parent / "_static" / "item_curves.svg"
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
