"""How many abilities the responses show, by held-out systems.

Whole families of near-duplicates are held out together. Items come from the other systems. A random
half of the answers of a held-out system places it, and the other half is predicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.abilities.engine import Cells, fit_design, fold_in, probabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.abilities.engine import Design, Fitted
    from irtkit.irf import Array

MOST_ABILITIES = 6  # That "auto" tries.
FEWEST_SYSTEMS, FEWEST_FAMILIES = 30, 15  # With fewer there is one ability.
_FOLDS = 4  # A quarter of the families is held out at a time.
LEAST_GAIN, LEAST_Z = 0.01, 2.0  # Share of the loss, and standard errors, of one ability more.


def item_families(cells: Cells, fitted: Fitted) -> NDArray[np.int64]:
    """Number the families of items whose residuals repeat each other, given one ability.

    Two items are alike if residuals correlate by more than 0.5 and by six standard errors.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    p = probabilities(fitted.respondents, fitted.known_items)
    weights = cells.weights > 0
    residual = np.where(weights, (cells.y - p) / np.sqrt(np.maximum(p * (1 - p), 1e-3)), 0)
    residual = residual.astype(np.float32)
    square, seen = residual**2, weights.astype(np.float32)
    scale = np.sqrt(np.maximum((square.T @ seen) * (seen.T @ square), 1e-9))
    together = np.maximum(seen.T @ seen, 1)
    alike = residual.T @ residual / scale > np.maximum(0.5, 6 / np.sqrt(together))
    return np.asarray(connected_components(coo_array(alike), directed=False)[1], dtype=np.int64)


def held_out_losses(
    cells: Cells,
    designs: list[Design],
    families: NDArray[np.int64],
    copies: NDArray[np.int64],
    seed: int,
    report: Callable[[int, float], None] | None = None,
) -> tuple[list[Array], float]:
    """Log loss of held-out answers by family for each design, and the number of answers.

    Designs after the first that does not gain are left out.
    """
    generator = np.random.default_rng(seed)
    n_families = int(families.max()) + 1
    fold = generator.permutation(n_families)[families] % _FOLDS
    half = generator.random((len(cells.y), int(copies.max()) + 1)) < 0.5
    losses: list[Array] = []
    for design in designs:
        loss, number = np.zeros(n_families), 0.0
        for at in range(_FOLDS):
            held = fold == at
            fitted = fit_design(cells.chosen(~held), design, max_iterations=100)
            shown = half[held][:, copies]
            new = cells.chosen(held)
            people = fold_in(Cells(new.y, np.where(shown, new.weights, np.float32(0))), fitted)
            p = np.clip(probabilities(people, fitted.known_items), 1e-6, 1 - 1e-6)
            each = new.weights * ~shown * -(new.y * np.log(p) + (1 - new.y) * np.log(1 - p))
            loss += np.bincount(families[held], each.sum(axis=1), n_families)
            number += float((new.weights * ~shown).sum())
        losses.append(loss)
        if report is not None:
            report(design.n_abilities, float(loss.sum() / number))
        if len(losses) > 1 and not design.correlated and not gains(losses[-2], loss):
            break
    return losses, number


def gains(before: Array, after: Array) -> bool:
    """Whether a loss by family falls by enough, and by more than chance explains."""
    gain = before - after
    error = float(np.sqrt(len(gain)) * gain.std(ddof=1))
    total = float(gain.sum())
    return total >= LEAST_GAIN * float(before.sum()) and total >= LEAST_Z * error
