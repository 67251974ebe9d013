"""Draw the pictures of the first pages again: ``python docs/make_pictures.py``."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import irtkit

FOLDER = Path(__file__).parent / "_static"
SHOWN = {
    "digit-1658": "key probably wrong",
    "digit-0129": "does not discriminate",
    "digit-0187": "a good item",
}
"""Items of the digits crowd, and what their curves show."""
CURVES = {"easy": (1.0, -1.2), "hard": (1.0, 1.2), "steep": (3.0, 0.0)}
"""Discrimination and difficulty of three items."""


def item_curves() -> None:
    """Draw a broken, a flat and a good item: observed accuracies, and fitted curves."""
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(irtkit.load_digits_crowd().responses)
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    irtkit.plots.item_curves(result, list(SHOWN), ax=axes)
    for ax, (item, said) in zip(axes, SHOWN.items(), strict=True):
        ax.set_title(f"{item}: {said}", fontsize=10)
        ax.set_ylabel("accuracy")
        ax.label_outer()
    figure.savefig(FOLDER / "item_curves.svg", metadata={"Date": None})


def three_curves() -> None:
    """Draw what difficulty and discrimination do to a curve."""
    abilities = np.linspace(-3, 3, 121)
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for (name, (slope, difficulty)), line in zip(CURVES.items(), ("-", "--", ":"), strict=True):
        item = irtkit.ItemParameters.from_difficulty([slope], [difficulty])
        label = f"{name}: discrimination {slope:.0f}, difficulty {difficulty:.1f}".replace("-", "−")
        ax.plot(abilities, item.probability(abilities)[:, 0], line, label=label)
    ax.plot([-1.2, 0], [0.5, 1 / (1 + np.exp(-1.2))], "o", color="C0")
    ax.set(xlabel="ability of the system", ylabel="probability of a correct answer", ylim=(0, 1))
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 1.25))
    figure.savefig(FOLDER / "three_curves.svg", metadata={"Date": None})


if __name__ == "__main__":
    mpl.rcParams |= {"svg.hashsalt": "irtkit", "svg.fonttype": "path"}
    item_curves()
    three_curves()
