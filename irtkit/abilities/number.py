"""How many abilities the responses show, by held-out systems.

Whole families of near-duplicates are held out together. Items come from the other systems. A random
half of the answers of a held-out system places it, and the other half is predicted.

One ability more has to lower the loss by 1 % and by two standard errors of the gain. The usual rule
of one standard error of the loss itself makes the same choices on simulated boards, and too few on
real ones, where systems differ much in loss: one ability instead of two on CommonsenseQA (3 % more
loss), two instead of three on RTE (4 % more). One standard error of the gain takes up to four where
there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.abilities.engine import Cells, fit_design, fold_in, probabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.abilities.engine import Design, Fitted
    from irtkit.irf import Array


@dataclass(frozen=True)
class Choice:
    """What makes ``abilities="auto"`` take one ability more (``benchmarks/abilities.py``)."""

    most_abilities: int = 6  # That are tried.
    fewest_systems: int = 30  # With fewer there is one ability.
    fewest_families: int = 15  # The same.
    folds: int = 4  # A quarter of the families is held out at a time.
    least_gain: float = 0.01  # Share of the loss that one ability more takes off.
    least_z: float = 2.0  # The same in standard errors.


CHOICE = Choice()


def item_families(cells: Cells, fitted: Fitted) -> NDArray[np.int64]:
    """Number the families of items whose residuals repeat each other, given one ability.

    Two items are alike if residuals correlate by more than 0.5 and by six standard errors.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    p = probabilities(fitted.respondents, fitted.known_items)
    answered = (cells.weight > 0).astype(np.float32)
    sd = np.sqrt(np.maximum(p * (1 - p), 1e-3))
    standard = (cells.y - p) / sd
    residual = (answered * standard).astype(np.float32)
    common = (residual**2).T @ answered
    scale = np.sqrt(np.maximum(common * common.T, 1e-9))
    correlation = residual.T @ residual / scale
    n_common = np.maximum(answered.T @ answered, 1)
    alike = correlation > np.maximum(0.5, 6 / np.sqrt(n_common))
    _, family = connected_components(coo_array(alike), directed=False)
    return np.asarray(family, dtype=np.int64)


class HeldOut(NamedTuple):
    """Families of systems in folds, and the answers of each that place it when it is held out."""

    cells: Cells
    families: NDArray[np.int64]  # Number of the family of every system.
    fold: NDArray[np.int64]  # Of every system.
    shown: NDArray[np.bool_]  # (n, n_items)

    @classmethod
    def of(
        cls, cells: Cells, families: NDArray[np.int64], copies: NDArray[np.int64], seed: int
    ) -> HeldOut:
        """Draw folds of families, and half of the families ``copies`` of items for every system."""
        generator = np.random.default_rng(seed)
        order = generator.permutation(int(families.max()) + 1)
        fold = order[families] % CHOICE.folds
        shape = len(cells.y), int(copies.max()) + 1
        half = generator.random(shape) < 0.5
        return cls(cells, families, fold, half[:, copies])

    @property
    def weights(self) -> NDArray[np.float32]:
        """Weights of the answers that are predicted."""
        return self.cells.weight * ~self.shown

    def loss(self, design: Design) -> Array:
        """Log loss of the answers that are predicted, by family."""
        p = np.empty(self.cells.y.shape)
        for number in range(CHOICE.folds):
            held = self.fold == number
            fitted = fit_design(self.cells.chosen(~held), design, max_iterations=100)
            weights = self.cells.weight[held] * self.shown[held]
            respondents = fold_in(Cells(self.cells.y[held], weights), fitted)
            p[held] = probabilities(respondents, fitted.known_items)
        p = np.clip(p, 1e-6, 1 - 1e-6)
        y = self.cells.y
        log_p = y * np.log(p)
        log_p += (1 - y) * np.log(1 - p)
        loss = -(self.weights * log_p).sum(axis=1)
        return np.asarray(np.bincount(self.families, loss), dtype=np.float64)

    def losses(self, designs: list[Design], report: Callable[[int, float], None]) -> list[Array]:
        """Losses of designs with one ability more each, as long as they gain."""
        losses: list[Array] = []
        for design in designs:
            loss = self.loss(design)
            report(design.n_abilities, self.per_answer(loss))
            if losses and not gains(losses[-1], loss):
                break
            losses.append(loss)
        return losses

    def per_answer(self, loss: Array) -> float:
        """Mean loss of an answer."""
        return float(loss.sum() / self.weights.sum(dtype=np.float64))


def gains(before: Array, after: Array) -> bool:
    """Whether a loss by family falls by enough, and by more than chance explains."""
    gain = before - after
    total = float(gain.sum())
    error = float(np.sqrt(len(gain)) * gain.std(ddof=1))
    large = total >= CHOICE.least_gain * float(before.sum())
    return large and total >= CHOICE.least_z * error
