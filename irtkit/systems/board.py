"""A leaderboard as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable


class Leaderboard(pd.DataFrame):
    """A DataFrame that notebooks show in words; what is taken from it is a plain one."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        from irtkit.report.notebook import of_board

        return of_board(self)
