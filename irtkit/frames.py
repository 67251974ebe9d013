"""Tables of results that `print` and notebooks show as the package shows them.

pandas hides the columns in the middle of a table that is wider than the terminal. What is made of
such a table, such as some of its columns, is a plain table of pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from irtkit.printed import InNotebooks, Shown

if TYPE_CHECKING:
    from collections.abc import Callable


class Scored(NamedTuple):
    """A table with the level of its intervals, and what shows both."""

    table: pd.DataFrame
    level: float
    render: Callable[[pd.DataFrame, float], Shown]

    def shown(self) -> Shown:
        """Return the table with what its columns mean."""
        return self.render(self.table, self.level)


class ShownFrame(pd.DataFrame):
    """A table of pandas that is shown in 80 columns, until it is changed."""

    _metadata = ["source"]  # noqa: RUF012  # pandas reads it
    source: Any

    @classmethod
    def of(cls, source: Any) -> ShownFrame:
        """Return the table of a source such as `Scored`, which is shown as it says."""
        frame = cls(source.table, copy=True)
        frame.source = source
        return frame

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def shown(self) -> Shown:
        """Return what is shown. Its ``text(legend=True)`` explains all columns."""
        return self.source.shown()

    def __repr__(self) -> str:
        return self.shown().text() if self._as_made else super().__repr__()

    def _repr_html_(self) -> str | None:
        if self._as_made:
            return InNotebooks.html_of(self.source)
        return super()._repr_html_()  # type: ignore[misc]

    @property
    def _as_made(self) -> bool:
        return len(self) > 0 and self.equals(self.source.table)
