"""Families of regressors compared by the protocol of the AAAI-22 paper.

30 % of the items are held out. On the others each regressor is cross-validated, 5 folds twice; its
NRMSE is the root mean square error over the SD of the true difficulties of these items. Fitted to
all of them, it predicts those held out, and the rank correlation with their difficulties is what
counts. Once all items are trained on, once those with a negative slope are left out of training,
and of training alone.

Whether regressors differ at all is Friedman's test over the folds (Friedman 1937), and which do is
Wilcoxon's signed rank test of every pair over the folds, with Holm's correction (Demšar 2006,
García & Herrera 2008). Folds overlap in what they train on, so that p-values are smaller than those
of independent data would be (Nadeau & Bengio 2003): they rank regressors on these items.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_one_of, check_seed, check_times, check_whole
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.io.reading import as_responses
from irtkit.prediction.predictor import by_label, training_of, weights_of
from irtkit.prediction.regressors import REGRESSORS, fitted, model_of, predicted
from irtkit.prediction.targets import TARGETS, difficulty_targets
from irtkit.printed import in_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.prediction.features import Embedding
    from irtkit.prediction.predictor import Training
    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]

_USUAL = ("1PL",)
_MIXED = ("kept", "removed")
"""What becomes of training items with a negative slope."""


@dataclass(frozen=True, eq=False)
class PredictorComparison:
    """Regressors compared on one benchmark; ``print`` shows the tables.

    Examples
    --------
    >>> import irtkit, numpy as np, pandas as pd
    >>> words = np.arange(120) % 40
    >>> difficulty = words / 10 - 2 + np.sin(words**2) / 2
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(120), difficulty)
    >>> responses = irtkit.simulate_responses(items, [k / 40 - 2 for k in range(160)], seed=0)
    >>> features = pd.DataFrame({"words": words}, index=responses.items)
    >>> from irtkit.prediction import cross_validate_predictors
    >>> found = cross_validate_predictors(features, responses, ["linear", "random forest"])
    >>> found.table["spearman"].gt(0.8).all().item()
    True
    """

    table: pd.DataFrame
    """Index: target, negative_slopes ("kept" or "removed" in training), regressor. Columns:
    nrmse (mean over folds), nrmse_sd (between folds), nrmse_held_out, spearman (with the target of
    the held-out items), n_training, n_held_out."""
    folds: pd.DataFrame
    """Index as of the table, and repeat and fold; column nrmse."""
    friedman: pd.DataFrame
    """Index: target, negative_slopes. Columns: statistic and p_value; NaN with fewer than three
    regressors."""
    pairs: pd.DataFrame
    """Index: target, negative_slopes, regressor, other. Columns: difference (of nrmse, median over
    folds; below 0 where the first is better), p_value and p_holm."""

    def __str__(self) -> str:
        lines = []
        for (target, negative), some in self.table.groupby(level=[0, 1], sort=False):
            items = some[["n_training", "n_held_out"]].iloc[0]
            lines.append(
                f"{target}, items with negative slopes {negative} in training "
                f"({items.iloc[0]:.0f} items, {items.iloc[1]:.0f} held out)"
            )
            shown = some.droplevel([0, 1])[["nrmse", "nrmse_sd", "nrmse_held_out", "spearman"]]
            lines.append(shown.round(3).to_string())
            lines.append(self._tests(target, negative))
        return "\n".join(lines)

    def _tests(self, target: Any, negative: Any) -> str:
        """Both tests in words."""
        p = self.friedman.loc[(target, negative), "p_value"]
        if not len(self.pairs):
            return ""
        pairs = self.pairs.loc[(target, negative)]
        apart = pairs[pairs["p_holm"] < 0.05]
        sentences = [] if np.isnan(p) else [f"Friedman's test over folds: p = {p:.2g}"]
        for (first, second), row in apart.iterrows():
            better, worse = (first, second) if row["difference"] < 0 else (second, first)
            sentences.append(f"{better} better than {worse} (p = {row['p_holm']:.2g}, Holm)")
        if not len(apart):
            sentences.append("no two regressors are told apart (Wilcoxon's test, Holm)")
        sentences.append("folds share what they train on, so that p-values are too small")
        return in_lines(sentences) + "\n"


def cross_validate_predictors(
    features: object,
    target: object,
    regressors: Sequence[Any] | Mapping[str, Any] = REGRESSORS,
    *,
    targets: Sequence[str] = _USUAL,
    negative_slopes: Sequence[str] | None = None,
    slopes: object = None,
    held_out: float = 0.3,
    folds: int = 5,
    repeats: int = 2,
    weights: str | None = None,
    embed: Embedding | None = None,
    allow: Collection[str] = (),
    seed: int = 0,
) -> PredictorComparison:
    """Compare regressors by the protocol of the AAAI-22 paper.

    Parameters
    ----------
    features, target
        As in :meth:`DifficultyPredictor.fit`; a target may also be responses, which are fitted.
    regressors
        Names of families (by default all five, with weights those that take any: k nearest
        neighbours does not), or a mapping of names to regressors or pipelines
        of scikit-learn.
    targets
        Columns of the table of targets that are predicted: any of "1PL", "Rasch", "2PL",
        "average_error" and "expected_error". Of a Series it is its name, or "difficulty", and
        need not be given.
    negative_slopes
        What becomes of training items with a negative slope: "kept", "removed" or, by default,
        both where slopes are known and some are negative.
    slopes
        Slopes by item label, for a target that is a Series.
    held_out
        Share of the items that is held out.
    folds, repeats
        Of the cross-validation on the other items; at most 100,000 repeats.
    weights, embed, allow
        As in :class:`DifficultyPredictor`.
    seed
        The same seed divides the items the same way, and gives the same regressors.

    Returns
    -------
    PredictorComparison
        ``print`` shows the table and what the tests say.

    Raises
    ------
    ValueError
        If a feature tells what is predicted, there are too few items, slopes are needed and not
        known, or a regressor takes no weights.
    """
    import pandas as pd

    check_number("held_out", held_out, above=0, below=1)
    check_whole("folds", folds, 2)
    check_times("repeats", repeats, 1)
    check_seed(seed)
    if weights is not None:
        check_one_of("weights", weights, ("error",))
    if isinstance(regressors, str):
        regressors = [regressors]
    if regressors is REGRESSORS and weights is not None:
        regressors = [name for name in REGRESSORS if name != "k nearest neighbours"]
    named = regressors if hasattr(regressors, "items") else {name: name for name in regressors}
    if not named:
        raise ValueError("regressors must name one or more, and got none")
    if len(named) < len(regressors):
        raise ValueError("regressors must have different names; give a mapping of names to them")
    table, targets, slopes, responses = _targets(target, targets, slopes)
    plan = _Plan(held_out, folds, repeats, weights is not None, seed)
    rows: list[pd.DataFrame] = []
    for name in targets:
        given = table if name in TARGETS else table[name]
        training = training_of(features, given, name, responses=responses, embed=embed, allow=allow)
        negative = _negative(training, slopes)
        for kind in _kinds(negative_slopes, negative):
            left_out = negative if kind == "removed" and negative is not None else None
            found = pd.concat(
                {label: plan.run(training, one, left_out) for label, one in named.items()},
                names=["regressor"],
            )
            rows.append(pd.concat({(name, kind): found}, names=["target", "negative_slopes"]))
    return _compared(pd.concat(rows))


@dataclass(frozen=True)
class _Plan:
    """How items are divided."""

    held_out: float
    folds: int
    repeats: int
    weighted: bool
    seed: int

    def run(self, training: Training, regressor: Any, left_out: Any) -> pd.DataFrame:
        """NRMSE by fold, and of the held-out items, with their rank correlation."""
        import pandas as pd

        y, n = training.target, len(training.target)
        generator = np.random.default_rng(self.seed)
        order = generator.permutation(n)
        n_held = round(self.held_out * n)
        if n_held < 2 or n - n_held < 2 * self.folds:
            raise ValueError(f"{n} items are too few for {self.folds} folds and a share held out")
        held, rest = np.sort(order[:n_held]), np.sort(order[n_held:])
        if not np.ptp(y[held]) or not np.ptp(y[rest]):
            raise ValueError(
                "target is the same for all items, of those held out or of the others: there is "
                "nothing to predict"
            )
        scale = float(y[rest].std())
        found = []
        for repeat in range(self.repeats):
            fold_of = generator.permutation(np.arange(len(rest)) % self.folds)
            for k in range(self.folds):
                inside, outside = rest[fold_of != k], rest[fold_of == k]
                off = y[outside] - self._predicted(training, regressor, inside, outside, left_out)
                found.append((repeat, k, float(np.sqrt(np.mean(off**2))) / scale, np.nan))
        found_out = self._predicted(training, regressor, rest, held, left_out)
        nrmse = float(np.sqrt(np.mean((y[held] - found_out) ** 2)) / y[held].std())
        rho = spearman(levels(found_out / scale), levels(y[held] / scale))
        found.append((-1, -1, nrmse, rho))
        table = pd.DataFrame(found, columns=["repeat", "fold", "nrmse", "spearman"])
        removed = 0 if left_out is None else int(left_out[rest].sum())
        return table.assign(n_training=len(rest) - removed, n_held_out=len(held))

    def _predicted(
        self, training: Training, regressor: Any, inside: Any, outside: Any, left_out: Any
    ) -> Array:
        """Predictions of some items by the regressor trained on others."""
        seen = inside if left_out is None else inside[~left_out[inside]]
        if len(seen) < 2:
            raise ValueError(
                f"negative_slopes='removed' leaves {len(seen)} items to train on, and 2 are needed"
            )
        table = training.features
        model = model_of(regressor, table, self.seed)
        weights = weights_of(training)[seen] if self.weighted else None
        one = fitted(model, table.iloc[seen], training.target[seen], weights)
        found: Array = predicted(one, table.iloc[outside])
        return found


def _targets(
    target: Any, targets: Sequence[str], slopes: Any
) -> tuple[Any, list[str], Any, ResponseMatrix | None]:
    """A table of targets, which of its columns are meant, and slopes and responses, or None."""
    import pandas as pd

    if isinstance(targets, str):
        targets = [targets]
    if isinstance(target, pd.Series):
        name = str(target.name or "difficulty")
        for asked in () if tuple(targets) == _USUAL else targets:
            check_one_of("targets", asked, [name])
        return target.to_frame(name), [name], slopes, None
    for name in targets:
        check_one_of("targets", name, TARGETS)
    own = hasattr(target, "columns") and not set(TARGETS).isdisjoint(target.columns)
    if own:
        target = by_label(target, "target")
    elif not isinstance(target, FitResult):
        target = as_responses(target)
    responses = target.responses if isinstance(target, FitResult) else None if own else target
    table = target if own else difficulty_targets(target)
    if isinstance(target, FitResult) and slopes is None and target.model in {"2PL", "3PL"}:
        slopes = target.items["discrimination"]
    slopes = table.get("slope") if slopes is None else slopes
    return table, list(targets), slopes, responses


def _negative(training: Training, slopes: Any) -> Any:
    """Which items have a negative slope, None if slopes are not known."""
    if slopes is None:
        return None
    known = by_label(slopes, "slopes").reindex(training.features.index)
    return np.asarray(known < 0)


def _kinds(asked: Sequence[str] | None, negative: Any) -> Iterator[str]:
    if asked is None:
        yield "kept"
        if negative is not None and negative.any():
            yield "removed"
        return
    kinds = [asked] if isinstance(asked, str) else list(asked)
    if not kinds:
        raise ValueError(f"negative_slopes must name one of {', '.join(_MIXED)}, or both")
    for kind in kinds:
        check_one_of("negative_slopes", kind, _MIXED)
        if kind == "removed" and negative is None:
            raise ValueError("negative_slopes='removed' needs slopes=")
        yield kind


def _compared(runs: pd.DataFrame) -> PredictorComparison:
    """Tables and tests of all runs."""
    import pandas as pd

    where = ["target", "negative_slopes", "regressor"]
    runs = runs.reset_index(level=-1, drop=True)
    last = runs[runs["fold"] < 0].drop(columns=["repeat", "fold"])
    by_fold = runs[runs["fold"] >= 0]
    grouped = by_fold.groupby(level=where, sort=False)["nrmse"]
    table = pd.DataFrame(
        {
            "nrmse": grouped.mean(),
            "nrmse_sd": grouped.std(),
            "nrmse_held_out": last["nrmse"],
            "spearman": last["spearman"],
            "n_training": last["n_training"],
            "n_held_out": last["n_held_out"],
        }
    )
    folds = by_fold.set_index(["repeat", "fold"], append=True)[["nrmse"]]
    tests: dict[Any, tuple[float, ...]] = {}
    pairs: dict[Any, tuple[float, ...]] = {}
    of_runs: Any = folds["nrmse"].groupby(level=where[:2], sort=False)
    for place, some in of_runs:
        by_name = some.groupby(level="regressor", sort=False)
        wide = pd.DataFrame({name: one.to_numpy() for name, one in by_name})
        tests[place] = _friedman(wide)
        pairs |= {(*place, *pair): row for pair, row in _wilcoxon(wide).items()}
    return PredictorComparison(
        table.sort_index(),
        folds.sort_index(),
        _framed(tests, where[:2], ["statistic", "p_value"]),
        _framed(pairs, [*where, "other"], ["difference", "p_value", "p_holm"]),
    )


def _framed(rows: dict[Any, tuple[float, ...]], names: list[str], columns: list[str]) -> Any:
    import pandas as pd

    index = pd.MultiIndex.from_tuples(list(rows), names=names) if rows else None
    if index is None:
        index = pd.MultiIndex.from_arrays([[]] * len(names), names=names)
    table = pd.DataFrame(list(rows.values()), index=index, columns=columns, dtype=float)
    return table.sort_index()


def _friedman(wide: pd.DataFrame) -> tuple[float, float]:
    from scipy.stats import friedmanchisquare

    if wide.shape[1] < 3:
        return np.nan, np.nan
    found = friedmanchisquare(*wide.to_numpy().T)
    return float(found.statistic), float(found.pvalue)


def _wilcoxon(wide: pd.DataFrame) -> dict[tuple[Any, Any], tuple[float, float, float]]:
    """Every pair: median difference, p-value, and p-value times how many are left (Holm 1979)."""
    from scipy.stats import wilcoxon

    found = {}
    for one, other in combinations(wide.columns, 2):
        difference = (wide[one] - wide[other]).to_numpy()
        p = float(wilcoxon(difference).pvalue) if difference.any() else 1.0
        found[one, other] = (float(np.median(difference)), p)
    order = sorted(found, key=lambda pair: found[pair][1])
    least, corrected = 0.0, {}
    for rank, pair in enumerate(order):
        least = max(least, min(1.0, found[pair][1] * (len(order) - rank)))
        corrected[pair] = least
    return {pair: (*found[pair], corrected[pair]) for pair in found}
