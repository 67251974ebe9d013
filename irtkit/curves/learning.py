"""Learning surface: log-odds of a right answer over training size and difficulty, or the like.

For each system (and task) a logistic regression of right answers on the log of a covariate of
systems or runs, on the difficulty of items, and on their product (Lalor, Wu, Munkhdalai & Yu, EMNLP
2018): the odds rise faster with size for easy items where the product has a negative coefficient.
The covariate may be training size, compute, a release date, or how long items take people; the
value of it at which half of the answers are right is then a time horizon (Kwa et al. 2025,
*Measuring AI ability to complete long tasks*, arXiv 2503.14499).

The same items are answered at every size, or in several runs, so responses are not independent, and
errors that take them for independent may be too small: of eight runs of tasks that differ by more
than their length, 78 % of such 95 % intervals hold the 50 % horizon (``benchmarks/curves.py``).
Errors are therefore clustered by item where there is a column of items, and by system as well where
systems are pooled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_unique, check_yes_or_no, first_names, short
from irtkit.curves.axis import Axis, as_dates
from irtkit.curves.logistic import clustered, logistic_regression
from irtkit.curves.surface import DIFFICULTY, LearningSurface, Surface, design, terms_of
from irtkit.responses.columns import no_column, recognised, usual_columns
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SIZES = ("training_size", "train_size", "size")
_TASK, _POOLED = "task", "rows"


def learning_surface(
    frame: Any,
    *,
    covariate: str | None = None,
    log: bool | None = None,
    difficulty: str | None = None,
    response: str | None = None,
    trials: str | None = None,
    by: Iterable[str] | None = None,
    clusters: Iterable[str] | None = None,
    interaction: bool = True,
    level: float = 0.95,
) -> LearningSurface:
    """Fit right answers by training size and difficulty, or other covariates, for each system.

    Parameters
    ----------
    frame
        A data frame of pandas, polars, PyArrow or the like, a row per response: system, covariate,
        difficulty of the item, and whether the answer was right (1, 0, True, False; missing ones
        are left out). Rows that lack a value in any other column named below are left out as well.
    covariate
        The column of the covariate; by default "training_size", "train_size" or "size". It may be
        of systems or runs (size, compute, release date) or of items (minutes people take).
    log
        Whether to take its natural logarithm; by default unless it holds dates, which are counted
        in years.
    difficulty
        The column of difficulties; by default "difficulty" if there is one, and otherwise the
        covariate stands alone.
    response, trials
        The columns of responses, by default recognised by its usual names ("right", "correct", …);
        and of how many trials a row stands for, of which the response is then how many were right.
    by
        Columns whose values each get a regression of their own; by default that of the systems
        ("respondent", "model", …) and "task", where they are. ``by=[]`` pools all rows.
    clusters
        Columns, two at most, of which responses that share a value go together; by default the
        items ("item", "question_id", …), and the systems if ``by`` leaves them out, where there are
        such columns. ``clusters=[]`` takes all responses for independent. Of no more clusters than
        there are terms, errors and intervals are NaN.
    interaction
        Whether to have the product of both.
    level
        Coverage of the intervals.

    Returns
    -------
    LearningSurface
        ``coefficients``, ``systems``, ``grid`` (for contours) and ``horizons()``.

    Raises
    ------
    TypeError, ValueError
        If columns are not there or hold something else.

    References
    ----------
    Lalor, Wu, Munkhdalai & Yu (2018), *Understanding deep learning performance through an
    examination of test set difficulty*, EMNLP.
    Kwa et al. (2025), *Measuring AI ability to complete long tasks*, arXiv 2503.14499.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import irtkit
    >>> generator = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"size": np.repeat([100, 1000], 500)})
    >>> frame["difficulty"] = np.tile(generator.normal(size=500), 2)
    >>> log_odds = np.log(frame["size"]) - 5 - frame["difficulty"]
    >>> frame["right"] = generator.random(1000) < 1 / (1 + np.exp(-log_odds))
    >>> surface = irtkit.learning_surface(frame.assign(model="net"))
    >>> surface.systems.loc["net", "status"]
    'ok'
    >>> surface.coefficients.loc[("net", "log size"), ["estimate", "se"]].round(2).tolist()
    [0.99, 0.08]
    """
    check_yes_or_no(interaction=interaction)
    if log is not None:
        check_yes_or_no(log=log)
    level = check_number("level", level, above=0, below=1)
    table = with_index(as_frame(frame))
    check_unique("frame must have one column of a name", table.columns)
    table = table.set_axis([str(name) for name in table.columns], axis="columns")
    columns = _Columns.of(
        list(table.columns),
        covariate=covariate,
        difficulty=difficulty,
        response=response,
        trials=trials,
        by=by,
        clusters=clusters,
    )
    table = table.dropna(subset=columns.needed)
    if not len(table):
        raise ValueError("frame has no row with a response and all covariates")
    table = table.assign(**{columns.covariate: as_dates(table[columns.covariate])})
    axis = Axis.of(columns.covariate, table[columns.covariate], log=log)
    surfaces = tuple(
        _surface(name, part, columns, axis, interaction=interaction)
        for name, part in _parts(table, columns.by)
    )
    names = columns.by or (_POOLED,)
    middle = None
    if columns.difficulty is not None:
        middle = float(np.median(_numbers(table, columns.difficulty)))
    terms = terms_of(axis, by_difficulty=middle is not None, interaction=interaction)
    return LearningSurface(
        coefficients=_coefficients(surfaces, names, terms, level),
        systems=_systems(surfaces, names),
        axis=axis,
        level=level,
        surfaces=surfaces,
        by=names,
        middle=middle,
        interaction=interaction,
    )


class _Columns(NamedTuple):
    """Names of the columns."""

    covariate: str
    difficulty: str | None
    response: str
    trials: str | None
    by: tuple[str, ...]
    clusters: tuple[str, ...]

    @classmethod
    def of(
        cls,
        header: list[str],
        *,
        covariate: str | None,
        difficulty: str | None,
        response: str | None,
        trials: str | None,
        by: Iterable[str] | None,
        clusters: Iterable[str] | None,
    ) -> _Columns:
        """Return the columns that are named, and usual ones for those that are not."""
        size = _named(header, "covariate", covariate) or _size(header)
        if difficulty == size:
            raise ValueError(f"difficulty and covariate are both {short(size)}")
        if difficulty is not None and size == DIFFICULTY:
            raise ValueError(
                f"covariate {short(size)} has the name of the term of difficulties, of which "
                f"{short(difficulty)} holds others; rename it"
            )
        usual = None if size == DIFFICULTY else _there(header, DIFFICULTY)
        who = next((header[k] for k in usual_columns(header, "respondent")), None)
        systems = _several(header, "by", by, [who, _there(header, _TASK)])
        if reserved := {"term", "share"}.intersection(systems):
            raise ValueError(
                f"by: {short(min(reserved))} is a name that tables of the surface use; rename "
                "the column"
            )
        taken = {*systems, size}
        items = [header[k] for k in usual_columns(header, "item")[:1]]
        alike = [name for name in (*items, who) if name not in taken]
        together = _several(header, "clusters", clusters, alike)
        if len(together) > 2:
            raise ValueError(f"clusters must be two columns at most, got {len(together)}")
        return cls(
            covariate=size,
            difficulty=_named(header, "difficulty", difficulty) or usual,
            response=_named(header, "response", response) or header[recognised(header, "response")],
            trials=_named(header, "trials", trials),
            by=systems,
            clusters=together,
        )

    @property
    def needed(self) -> list[str]:
        """Columns of which no row may lack a value."""
        each = (self.covariate, self.difficulty, self.response, self.trials)
        return [name for name in (*each, *self.by, *self.clusters) if name is not None]


def _parts(table: pd.DataFrame, by: tuple[str, ...]) -> list[tuple[Any, pd.DataFrame]]:
    """Rows of each system, or all of them."""
    if not by:
        return [("all", table)]
    places = table.groupby(list(by), sort=False).indices
    return [(name, table.iloc[rows]) for name, rows in places.items()]


def _there(header: list[str], name: str) -> str | None:
    return name if name in header else None


def _named(header: list[str], argument: str, name: str | None) -> str | None:
    """Refuse a name that no column has."""
    if name is not None and not (isinstance(name, str) and name in header):
        raise no_column(argument, name, header)
    return name


def _several(
    header: list[str], argument: str, names: Iterable[str] | None, usual: list[str | None]
) -> tuple[str, ...]:
    if names is None:
        return tuple(name for name in usual if name is not None)
    given = [names] if isinstance(names, str) else list(names)
    return tuple(name for name in given if _named(header, argument, name))


def _size(header: list[str]) -> str:
    found = next((name for name in _SIZES if name in header), None)
    if found is None:
        raise ValueError(
            f"no column is called {' or '.join(_SIZES)}: pass covariate= with the name of one; "
            f"the columns are {first_names(header, shown=20)}"
        )
    return found


def _numbers(table: pd.DataFrame, name: str) -> Array:
    """Finite numbers of a column."""
    try:
        found = table[name].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"column {short(name)} must hold numbers, it is {table[name].dtype}"
        ) from error
    if not np.isfinite(found).all():
        raise ValueError(f"column {short(name)} must hold finite numbers")
    return np.asarray(found)


def _responses(table: pd.DataFrame, columns: _Columns) -> tuple[Array, Array]:
    """How many trials of every row were right, and how many there were."""
    right = _numbers(table, columns.response)
    n = np.ones(len(right)) if columns.trials is None else _numbers(table, columns.trials)
    wrong = (right < 0) | (right > n) | (right != np.round(right)) | (n != np.round(n))
    if wrong.any():
        row = table.index[int(np.argmax(wrong))]
        rule = "0 or 1" if columns.trials is None else "whole, from 0 to the number of trials"
        value = right[int(np.argmax(wrong))]
        raise ValueError(
            f"column {short(columns.response)} must be {rule}; row {row} has {value:g}"
        )
    return right, n


def _surface(
    name: Any, part: pd.DataFrame, columns: _Columns, axis: Axis, *, interaction: bool
) -> Surface:
    """Regression of one system."""
    right, n = _responses(part, columns)
    covariate = axis.scaled(part[columns.covariate])
    difficulty = None if columns.difficulty is None else _numbers(part, columns.difficulty)
    x = design(covariate, difficulty, interaction=interaction)
    clusters = [
        part.groupby(column).ngroup().to_numpy(dtype=np.intp) for column in columns.clusters
    ]
    fisher = logistic_regression(x, right, n)
    return Surface(
        name=name if isinstance(name, tuple) else (name,),
        fisher=fisher,
        clustered=clustered(fisher, x, right, n, clusters),
        covariate=(float(covariate.min()), float(covariate.max())),
        difficulty=None if difficulty is None else (difficulty.min(), difficulty.max()),
        n_responses=int(n.sum()),
        n_clusters=min((int(one.max()) + 1 for one in clusters), default=None),
        right=int(right.sum()),
    )


def _index(surfaces: Iterable[Surface], by: tuple[str, ...]) -> pd.Index[Any]:
    import pandas as pd

    names = [one.name for one in surfaces]
    index: pd.Index[Any] = pd.MultiIndex.from_tuples(names, names=by)
    return index.get_level_values(0) if len(by) == 1 else index


def _systems(surfaces: tuple[Surface, ...], by: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        "n_responses": [one.n_responses for one in surfaces],
        "n_clusters": [one.n_clusters for one in surfaces],
        "accuracy": [one.right / max(one.n_responses, 1) for one in surfaces],
        "log_likelihood": [one.fisher.log_likelihood for one in surfaces],
        "status": [one.fisher.status for one in surfaces],
    }
    return pd.DataFrame(columns, index=_index(surfaces, by))


def _coefficients(
    surfaces: tuple[Surface, ...], by: tuple[str, ...], terms: list[str], level: float
) -> pd.DataFrame:
    import pandas as pd

    parts = []
    for one in surfaces:
        estimate, best = one.fisher.coefficients, one.clustered
        error = np.sqrt(np.diag(best.covariance))
        reach = best.quantile(level) * error
        table = {
            "estimate": estimate,
            "se": np.sqrt(np.diag(one.fisher.covariance)),
            "se_clustered": error if one.n_clusters else np.nan,
            "low": estimate - reach,
            "high": estimate + reach,
            "p_value": best.p_value(estimate, error),
        }
        names = pd.MultiIndex.from_tuples(
            [(*one.name, term) for term in terms], names=[*by, "term"]
        )
        parts.append(pd.DataFrame(table, index=names))
    return pd.concat(parts)
