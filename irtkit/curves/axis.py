"""A covariate as regressions take it: a number, its logarithm, or a date in years."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_DAYS = 365.25
"""Days of a year."""
_FAR = 200.0
"""Years from 1970 beyond which a date is none: pandas knows those up to 2262."""


@dataclass(frozen=True)
class Axis:
    """A covariate of systems, runs or items."""

    name: str
    kind: str
    """"number", "log" or "date"."""

    @classmethod
    def of(cls, name: str, values: Any, *, log: bool | None) -> Axis:
        """Return the axis of a column; on a log scale unless it says otherwise, or holds dates.

        Raises
        ------
        ValueError
            If logarithms are wanted of what is not above 0, or of dates; or a number is infinite.
        TypeError
            If the column holds neither numbers nor dates.
        """
        import pandas as pd

        if pd.api.types.is_datetime64_any_dtype(values):
            if log:
                raise ValueError(f"log: {short(name)} holds dates, which have no logarithm")
            return cls(name, "date")
        if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
            raise TypeError(
                f"column {short(name)} must hold numbers or dates, it is {values.dtype}; "
                "pandas.to_datetime turns texts into dates"
            )
        if not np.isfinite(values.to_numpy(dtype=np.float64)).all():
            raise ValueError(f"column {short(name)} must hold finite numbers")
        if log is False:
            return cls(name, "number")
        if (values <= 0).any():
            raise ValueError(
                f"column {short(name)} must be above 0 on a log scale, and has {values.min():g}; "
                "log=False takes it as it is"
            )
        return cls(name, "log")

    @property
    def term(self) -> str:
        """Name of its coefficient."""
        return f"log {self.name}" if self.kind == "log" else self.name

    def scaled(self, values: Any) -> Array:
        """Values as the regression takes them: natural logarithms, dates in years from 1970."""
        import pandas as pd

        if self.kind == "date":
            since = pd.DatetimeIndex(values).tz_localize(None) - pd.Timestamp(0)
            return np.asarray(since / pd.Timedelta(days=_DAYS), dtype=np.float64)
        found = np.asarray(values, dtype=np.float64)
        return np.log(found) if self.kind == "log" else found

    def given(self, scaled: Array) -> Any:
        """Values as they were given; a date that is too far off, or infinite, is NaT."""
        import pandas as pd

        if self.kind == "date":
            near = np.where(np.abs(scaled) < _FAR, scaled, np.nan)
            return pd.Timestamp(0) + pd.to_timedelta(near * _DAYS, unit="D")
        with np.errstate(over="ignore"):
            return np.exp(scaled) if self.kind == "log" else scaled


def as_dates(values: Any) -> Any:
    """A column of datetime.date or of periods as one of dates; others as they are."""
    import datetime as dt

    import pandas as pd

    if isinstance(values.dtype, pd.PeriodDtype):
        return values.dt.to_timestamp()
    held = values.dtype == object and len(values) > 0
    if held and all(isinstance(one, dt.date) for one in values):
        return pd.to_datetime(values)
    return values
