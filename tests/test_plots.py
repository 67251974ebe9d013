"""Claims about the pictures of matplotlib."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import irtkit
from irtkit import pictures, plots

if TYPE_CHECKING:
    from collections.abc import Iterator

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result() -> irtkit.FitResult:
    slopes = [*np.linspace(0.5, 2, 29), -1.5]
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-2, 2, 30))
    labels = [f"$q_{k}$" for k in range(30)]
    drawn = irtkit.simulate_responses(items, np.linspace(-2, 2, 150), seed=0).values
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(irtkit.ResponseMatrix(drawn, items=labels))


OF_CURVES = ("characteristic_curves", "learning_surface")
OF_RESULTS = [name for name in plots.__all__ if name not in OF_CURVES]
OTHERS = [name for name in OF_RESULTS if name != "item_curves"]


def test_curves_of_systems_and_surfaces_are_drawn(result: irtkit.FitResult) -> None:
    curves = irtkit.characteristic_curves(result, bins=4)
    ax = plots.characteristic_curves(curves, ["respondent-3", "respondent-140"])
    assert [line.get_label() for line in ax.get_lines() if line.get_label()[0] != "_"] == [
        "respondent-3",
        "respondent-140",
    ]
    table = curves.table.loc["respondent-140"]
    dots = vars(ax.containers[-1])["lines"][0].get_xydata()
    smooth = ax.get_lines()[-1].get_xydata()
    np.testing.assert_allclose(dots, table[["difficulty", "accuracy"]])
    np.testing.assert_allclose(smooth, table[["difficulty", "smooth"]])
    with pytest.raises(ValueError, match="there is no curve of 'nobody'"):
        plots.characteristic_curves(curves, "nobody")
    answers = irtkit.datasets.load_digits_learning()
    answers["difficulty"] = answers["item"].map(hash_free(answers["item"]))
    surface = irtkit.learning_surface(answers)
    system = answers["respondent"].iloc[0]
    ax = plots.learning_surface(surface, system)
    assert (ax.get_title(), ax.get_xscale()) == (system, "log")
    with pytest.raises(ValueError, match="no surface over difficulty of 'nobody'"):
        plots.learning_surface(surface, "nobody")


def hash_free(labels: Any) -> Any:
    """A number for every label, the same in every run."""
    return labels.drop_duplicates().reset_index(drop=True).reset_index().set_index("item")["index"]


@pytest.mark.parametrize("name", OTHERS)
def test_every_picture_draws_on_the_axes_given_and_returns_them(
    name: str, result: irtkit.FitResult
) -> None:
    figure, ax = plt.subplots()
    assert getattr(plots, name)(result, ax=ax) is ax
    figure.canvas.draw()
    assert ax.get_ylabel() or ax.get_yticklabels()
    alone = getattr(plots, name)(result)
    assert alone.figure is not figure


def test_curves_are_drawn_for_one_item_and_for_several(result: irtkit.FitResult) -> None:
    one = plots.item_curves(result, "$q_3$")
    assert one.get_title() == r"\$q_3\$"
    [seen] = one.containers
    [curve] = pictures.item_curves(result, ["$q_3$"])
    np.testing.assert_array_equal(seen.lines[0].get_ydata(), curve.observed.share)
    several = plots.item_curves(result, ["$q_1$", "$q_2$", "$q_4$", "$q_5$", "$q_6$"])
    assert several.shape == (5,)
    one.figure.canvas.draw()
    axes = plt.subplots(1, 2)[1]
    assert list(plots.item_curves(result, ["$q_1$", "$q_2$"], ax=axes)) == list(axes)


def test_the_map_shows_every_item_and_marks_the_inverted_one(result: irtkit.FitResult) -> None:
    ax = plots.item_map(result)
    n = {one.get_label(): len(one.get_offsets()) for one in ax.collections}
    assert n["called negative"] == 1
    assert sum(n.values()) == 30


def test_without_matplotlib_the_extra_is_named(
    result: irtkit.FitResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'irtkit\[plots\]'"):
        plots.trace(result)
