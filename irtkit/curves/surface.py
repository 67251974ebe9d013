"""What a learning surface holds: regressions of systems, the grid for contours, time horizons."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, first_names
from irtkit.curves.answered import with_intercept
from irtkit.curves.logistic import crossing
from irtkit.irf import logistic
from irtkit.printed import in_lines, plain, shortened, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.axis import Axis
    from irtkit.curves.logistic import Regression

    Array = NDArray[np.float64]

DIFFICULTY = "difficulty"
_GRID = 25
"""Points of the grid along either side: contours drawn through them look smooth."""


@dataclass(frozen=True)
class Surface:
    """The regression of one system."""

    name: tuple[Any, ...]
    """Its values in the columns ``by``."""
    fisher: Regression
    """Errors as of independent responses."""
    clustered: Regression
    """Errors clustered, or the same again."""
    covariate: tuple[float, float]
    """Least and largest, as the regression takes it."""
    difficulty: tuple[float, float] | None
    n_responses: int
    n_clusters: int | None
    right: int


@dataclass(frozen=True, eq=False)
class LearningSurface:
    """Logistic regressions of systems; made by :func:`irtkit.learning_surface`."""

    coefficients: pd.DataFrame
    """A row per system and term, index ``by`` and "term": "intercept", the covariate ("log size"
    on a log scale, natural logarithms), "difficulty" and their product ("log size:difficulty").
    Columns: estimate; se (inverse Fisher information, as of independent responses); se_clustered
    (NaN without clusters, and of no more clusters than terms); low, high and p_value (two-sided, of
    0) from the clustered error where there are clusters. NaN where there is no maximum."""
    systems: pd.DataFrame
    """Index ``by``: n_responses, n_clusters, accuracy, log_likelihood, status. That is "ok";
    "unbounded" (some covariate value or plane parts right from wrong, so that the likelihood has no
    maximum); "no variance" (all right, or all wrong); "collinear" (such as one size alone); "no
    responses"; or "not converged"."""
    axis: Axis
    level: float
    surfaces: tuple[Surface, ...] = field(repr=False)
    by: tuple[str, ...] = ()
    middle: float | None = None
    """Median difficulty of the rows of the frame; None without difficulties."""
    interaction: bool = True

    @property
    def grid(self) -> pd.DataFrame:
        """Points for contours, 25 along either side over what each system's rows span.

        Columns: those of ``by``, the covariate, difficulty (if there is one), log_odds, se (of
        log_odds, clustered where there are clusters) and probability. A system whose status is not
        "ok" has none.
        """
        import pandas as pd

        parts = [self._points(one) for one in self.surfaces if one.fisher.status == "ok"]
        names = [*self.by, self.axis.name, *self._difficulty, "log_odds", "se", "probability"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=names)

    @property
    def _difficulty(self) -> list[str]:
        return [] if self.middle is None else [DIFFICULTY]

    def _points(self, one: Surface) -> pd.DataFrame:
        import pandas as pd

        sides = [np.linspace(*one.covariate, _GRID)]
        if one.difficulty is not None:
            sides.append(np.linspace(*one.difficulty, _GRID))
        places = [side.ravel() for side in np.meshgrid(*sides, indexing="ij")]
        x = self._design(*places)
        log_odds = one.clustered.log_odds(x)
        columns: dict[str, Any] = dict(zip(self.by, one.name, strict=True))
        columns[self.axis.name] = self.axis.given(places[0])
        columns |= dict(zip(self._difficulty, places[1:], strict=True))
        columns |= {"log_odds": log_odds, "se": one.clustered.se(x)}
        return pd.DataFrame(columns | {"probability": logistic(log_odds)})

    def _design(self, covariate: Array, difficulty: Array | None = None) -> Array:
        return design(covariate, difficulty, interaction=self.interaction)

    def horizons(
        self, shares: Iterable[float] = (0.5, 0.8), *, difficulty: float | None = None
    ) -> pd.DataFrame:
        """Value of the covariate at which a share of the answers is right.

        Parameters
        ----------
        shares
            Shares right, between 0 and 1.
        difficulty
            Of the items; by default the median of the frame's rows.

        Returns
        -------
        pandas.DataFrame
            Index ``by`` and "share". Columns: difficulty (if there is one); the covariate, with
            ``_low`` and ``_high`` (Fieller's interval with the coverage ``level``; without ends
            where the slope is not told from 0: 0 and infinity on a log scale, NaT for dates); slope
            (of the log-odds by the covariate there); beyond (whether the value lies outside the
            system's rows); status. NaN where there is no maximum.

        Raises
        ------
        ValueError
            If a share is not between 0 and 1, or there is a difficulty where the frame had none.

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> minutes, right = [1, 2, 4, 8, 15, 30, 60, 120], [1, 1, 1, 0, 1, 0, 1, 0]
        >>> runs = pd.DataFrame({"model": "agent", "minutes": minutes, "right": right})
        >>> surface = irtkit.learning_surface(runs, covariate="minutes")
        >>> surface.horizons([0.5])["minutes"].round(1).tolist()
        [25.5]
        """
        import pandas as pd

        each: Any = [shares] if np.ndim(shares) == 0 else shares  # type: ignore[arg-type]
        wanted = [check_number("shares", share, above=0, below=1) for share in each]
        at = self.middle if difficulty is None else check_number("difficulty", difficulty)
        if difficulty is not None and self.middle is None:
            raise ValueError("difficulty: the regressions have none")
        known = None if at is None else np.array([at])
        start = self._design(np.zeros(1), known)[0]
        step = self._design(np.ones(1), known)[0] - start
        rows, names = [], []
        for one, share in product(self.surfaces, wanted):
            log_odds = float(np.log(share / (1 - share)))
            found = crossing(one.clustered, start, step, log_odds, self.level)
            least, most = one.covariate
            names.append((*one.name, share))
            slope = float(step @ one.clustered.coefficients)
            beyond = found[0] < least or found[0] > most
            rows.append((*found, slope, beyond, one.fisher.status))
        axis = self.axis.name
        columns = [axis, f"{axis}_low", f"{axis}_high", "slope", "beyond", "status"]
        index = pd.MultiIndex.from_tuples(names, names=[*self.by, "share"])
        table = pd.DataFrame(rows, index=index, columns=columns)
        for column in columns[:3]:
            table[column] = self.axis.given(table[column].to_numpy())
        if at is not None:
            table.insert(0, DIFFICULTY, at)
        return table

    def _sentences(self) -> Iterator[str]:
        if any(one.n_clusters for one in self.surfaces):
            yield "Intervals and p-values are from errors clustered by what responses share."
        else:
            yield "Errors take all responses for independent: there are no clusters."
        fitted = [one for one in self.surfaces if one.fisher.status == "ok"]
        few = [one for one in fitted if np.isnan(one.clustered.covariance).any()]
        if few:
            unsure = first_names([_label(one.name) for one in few])
            yield f"No more clusters than terms, and so no intervals: {unsure}."
        ill = self.systems["status"][self.systems["status"] != "ok"]
        for status in ill.unique():
            which = [_label(name) for name in ill.index[ill == status]]
            yield f"{status.capitalize()}: {first_names(which)}."
        one_size = all(one.covariate[0] == one.covariate[1] for one in self.surfaces)
        if one_size and (self.systems["status"] == "collinear").all():
            yield (
                f"Where each system has one value of {self.axis.name}, by=[] fits one curve to all."
            )
        term = f"{self.axis.term}:{DIFFICULTY}"
        if self.middle is None or not self.interaction or not fitted:
            return
        product_of = self.coefficients.xs(term, level="term")
        significant = product_of["p_value"] < 1 - self.level
        faster, slower = (significant & (sign * product_of["estimate"] < 0) for sign in (1, -1))
        yield (
            f"The slope of the log-odds along {self.axis.name} is higher for easy items in "
            f"{faster.sum()} of {int(product_of['estimate'].notna().sum())}, for hard ones in "
            f"{slower.sum()}, each told from 0 by itself."
        )

    def __str__(self) -> str:
        import pandas as pd

        shown = self.coefficients["estimate"].unstack("term")  # noqa: PD010  # the terms as columns
        shown = shown[[name for name in self.terms if name in shown]]
        names = pd.Index([shortened(_label(name)) for name in shown.index], name="system")
        table = plain(table_of(shown.set_axis(names)))
        return f"{table}\n\n{in_lines(self._sentences())}"

    @property
    def terms(self) -> list[str]:
        """Names of the coefficients."""
        known = self.middle is not None
        return terms_of(self.axis, by_difficulty=known, interaction=self.interaction)


def _label(name: Any) -> str:
    return " / ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def terms_of(axis: Axis, *, by_difficulty: bool, interaction: bool) -> list[str]:
    """Names of the coefficients."""
    crossed = [f"{axis.term}:{DIFFICULTY}"] if interaction else []
    return ["intercept", axis.term, *([DIFFICULTY, *crossed] if by_difficulty else [])]


def design(covariate: Array, difficulty: Array | None, *, interaction: bool) -> Array:
    """Rows (1, s, b, s·b) of the regression, (n, k)."""
    if difficulty is None:
        return with_intercept(covariate)
    crossed = [covariate * difficulty] if interaction else []
    return with_intercept(covariate, difficulty, *crossed)
