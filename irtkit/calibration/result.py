"""What a calibration returns: item and respondent tables, and how they were got."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.files import replacing
from irtkit.irf import ItemParameters
from irtkit.observed import Observed
from irtkit.patterns import patterns_of
from irtkit.responses import ResponseMatrix, refuse_sparse
from irtkit.signs import Verdict, slope_signs

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.calibration.variational.posterior import Posterior
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns
    from irtkit.signs import SlopeSigns

_FORMAT = "irtkit result"
_FORMAT_VERSION = 1
_IN_HEADER = (
    *("model", "method", "settings", "latent_sd", "log_likelihood"),
    *("n_parameters", "converged", "n_iterations"),
)


@dataclass(frozen=True)
class Quadrature:
    """The grid over which ability was integrated.

    Parameters
    ----------
    n_nodes, lowest, highest
        Number of nodes and where they begin and end, in units of ability.
    estimated_error
        Absolute difference between the log-likelihood on this grid and on an adaptive one twice
        as dense as it needs to be, over all real respondents together.
    """

    n_nodes: int
    lowest: float
    highest: float
    estimated_error: float


@dataclass(frozen=True)
class Counts:
    """Counts of responses, which outlive the responses themselves.

    Every trial of a repeated response counts. Item counts leave synthetic respondents out; arrays
    have shape (n_items,) or (n_respondents,).
    """

    item_right: NDArray[np.int64]
    item_responses: NDArray[np.int64]
    respondent_right: NDArray[np.int64]
    respondent_responses: NDArray[np.int64]

    @classmethod
    def of(cls, responses: ResponseMatrix, left_out: NDArray[np.bool_]) -> Counts:
        """Count responses, leaving the marked rows out of the counts by item."""
        right, answered = (
            responses.observed if responses.is_sparse else (responses.successes, responses.trials)
        )

        def by_item(table: Any) -> NDArray[np.int64]:
            counted = table.sum(axis=0, dtype=np.int64)
            return np.asarray(counted - table[left_out].sum(axis=0, dtype=np.int64))

        return cls(
            by_item(right),
            by_item(answered),
            right.sum(axis=1, dtype=np.int64),
            answered.sum(axis=1, dtype=np.int64),
        )

    @property
    def average_error(self) -> NDArray[np.float64]:
        """Share wrong of the counted responses to every item, NaN without any."""
        n = self.item_responses
        share = np.full(len(n), np.nan)
        np.divide(n - self.item_right, n, out=share, where=n > 0)
        return share


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted item response model; made by :func:`irtkit.fit`.

    Ability has mean 0 and SD 1 among real respondents (SD ``latent_sd`` for Rasch) and rises with
    the proportion right. All arrays are in the order of ``item_labels`` and ``respondent_labels``.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix(
    ...     [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], items=["a", "b", "c"]
    ... )
    >>> result = irtkit.fit(responses, "1PL")
    >>> result.items["average_error"].to_dict()
    {'a': 0.25, 'b': 0.25, 'c': 0.75}
    >>> bool(result.items.loc["c", "difficulty"] > result.items.loc["a", "difficulty"])
    True
    """

    model: ModelName
    method: str
    settings: dict[str, Any]
    """The arguments of the fit, and what followed from them."""
    item_labels: tuple[str, ...]
    respondent_labels: tuple[str, ...]
    parameters: ItemParameters
    standard_errors: NDArray[np.float64]
    """Shape (n_items, 4): of discrimination, difficulty, guessing and intercept; NaN if not asked
    for, or where the model has no such parameter."""
    status: tuple[str, ...]
    """Per item: "ok", "no variance", "unbounded" or "no responses"."""
    ability: NDArray[np.float64]
    """Posterior means (EAP), shape (n_respondents,)."""
    ability_se: NDArray[np.float64]
    """Posterior SDs."""
    synthetic: NDArray[np.bool_]
    counts: Counts
    latent_sd: float
    """SD of ability among real respondents: 1, and estimated for Rasch."""
    log_likelihood: float
    """Marginal log-likelihood of the real respondents, priors left out."""
    n_parameters: int
    converged: bool
    n_iterations: int
    """Evaluations of the likelihood, each of the cost of one EM step."""
    trace_rows: NDArray[np.float64] = field(repr=False)
    """Shape (n, 4): step, nodes, log-likelihood, largest change of a parameter; (n, 6) for a
    variational fit, see :attr:`trace`."""
    quadrature: Quadrature
    responses: ResponseMatrix | None = field(repr=False)
    """The matrix the model was fitted to; None if it was left out when saving."""
    posterior: Posterior | None = field(default=None, repr=False)
    """The posterior of a variational fit, to draw from; None for EM."""
    saved_verdict: Verdict | None = field(default=None, repr=False)
    """The verdict of a result that was read from a file."""

    @property
    def items(self) -> pd.DataFrame:
        """Table of items, index "item"; a copy, to be changed at will.

        Columns: discrimination, difficulty, guessing and intercept with their standard errors
        (``_se``, NaN if not asked for); average_error (share of observed real respondents that
        got the item wrong, NaN without any); n_responses (by real respondents, every repeated
        trial counts here as in average_error); p_negative (probability that the slope is below 0,
        NaN without a response); status.

        p_negative is told by the trend of an item's responses with how strong respondents are by
        all their responses, and by what all items of the matrix teach about slopes
        (:func:`irtkit.flag_items`); it is the same for every model.
        """
        return self._items.copy()

    @property
    def respondents(self) -> pd.DataFrame:
        """Table of respondents, index "respondent"; a copy, to be changed at will.

        Columns: ability (posterior mean, EAP), ability_se (posterior SD), accuracy (share right
        of what was answered, NaN without any), n_responses (every repeated trial counts),
        synthetic.
        """
        return self._respondents.copy()

    @cached_property
    def _items(self) -> pd.DataFrame:
        import pandas as pd

        values = {
            "discrimination": self.parameters.discrimination,
            "difficulty": self.parameters.difficulty,
            "guessing": self.parameters.guessing,
            "intercept": self.parameters.intercept,
        }
        columns: dict[str, Any] = {}
        for k, (name, estimates) in enumerate(values.items()):
            columns[name] = estimates
            columns[f"{name}_se"] = self.standard_errors[:, k]
        columns["average_error"] = self.counts.average_error
        columns["n_responses"] = self.counts.item_responses
        columns["p_negative"] = self.verdict.p_negative
        columns["status"] = np.array(self.status, dtype=object)
        return pd.DataFrame(columns, index=pd.Index(self.item_labels, name="item"))

    @cached_property
    def _respondents(self) -> pd.DataFrame:
        import pandas as pd

        answered = self.counts.respondent_responses
        right = self.counts.respondent_right
        return pd.DataFrame(
            {
                "ability": self.ability,
                "ability_se": self.ability_se,
                "accuracy": np.divide(
                    right, answered, out=np.full(len(answered), np.nan), where=answered > 0
                ),
                "n_responses": answered,
                "synthetic": self.synthetic,
            },
            index=pd.Index(self.respondent_labels, name="respondent"),
        )

    @cached_property
    def trace(self) -> pd.DataFrame:
        """One row per accepted step: step, nodes, log_likelihood, change.

        Of a variational fit the log-likelihood is that expected under the posterior, of all
        responses, change is the root mean square step of the posterior means in posterior SDs,
        and elbo and elbo_smoothed follow, in nats.
        """
        import pandas as pd

        columns = ["step", "nodes", "log_likelihood", "change", "elbo", "elbo_smoothed"]
        frame = pd.DataFrame(self.trace_rows, columns=columns[: self.trace_rows.shape[1]])
        return frame.astype({"step": int, "nodes": int})

    @property
    def elbo(self) -> float | None:
        """Evidence lower bound of a variational fit, in nats; None for EM."""
        return None if self.posterior is None else self.posterior.elbo

    @property
    def n_real(self) -> int:
        """Number of respondents that are not synthetic."""
        return int((~self.synthetic).sum())

    @property
    def aic(self) -> float:
        """Akaike's criterion, −2 log L + 2 k; lower is better."""
        return -2 * self.log_likelihood + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Bayesian criterion, −2 log L + k log n with n real respondents; lower is better."""
        return float(-2 * self.log_likelihood + self.n_parameters * np.log(self.n_real))

    def probability(self, abilities: ArrayLike | pd.Series[float] | None = None) -> pd.DataFrame:
        """P(right) of respondents (rows) on items (columns).

        Parameters
        ----------
        abilities
            Shape (n,), or a Series whose index labels the rows; by default the fitted abilities
            (after a fit to a sparse matrix they must be given: a table for all respondents is what
            such a matrix spares).

        Examples
        --------
        >>> import irtkit
        >>> result = irtkit.fit(irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]]), "1PL")
        >>> result.probability([0.0]).shape
        (1, 2)
        """
        import pandas as pd

        rows: Any = pd.Index(self.respondent_labels, name="respondent")
        if abilities is None:
            if self.responses is not None:
                refuse_sparse(self.responses, "probability without abilities")
            theta = self.ability
        else:
            given: Any = abilities
            rows = given.index if isinstance(given, pd.Series) else pd.RangeIndex(np.size(given))
            theta = np.asarray(abilities, dtype=np.float64)
            if theta.ndim != 1 or not np.isfinite(theta).all():
                raise ValueError("abilities must be a list of finite numbers (1 dimension)")
        return pd.DataFrame(
            self.parameters.probability(theta),
            index=rows,
            columns=pd.Index(self.item_labels, name="item"),
        )

    def save(self, path: str | PathLike[str], *, include_responses: bool = True) -> None:
        """Write the result to one file, to be read back with :func:`irtkit.load`.

        The file is a NumPy ``.npz`` archive without pickled objects. It appears whole or not at
        all. With ``include_responses=False`` the response matrix is left out.
        """
        header = {
            "format": _FORMAT,
            "version": _FORMAT_VERSION,
            "items": self.item_labels,
            "respondents": self.respondent_labels,
            "status": self.status,
            "quadrature": vars(self.quadrature),
            **{name: getattr(self, name) for name in _IN_HEADER},
        }
        of_posterior: dict[str, NDArray[Any]] = {}
        if self.posterior is not None:
            header["posterior"], of_posterior = self.posterior.stored()
        arrays = {
            "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            **of_posterior,
            "discrimination": self.parameters.discrimination,
            "intercept": self.parameters.intercept,
            "guessing": self.parameters.guessing,
            "standard_errors": self.standard_errors,
            "ability": self.ability,
            "ability_se": self.ability_se,
            "synthetic": self.synthetic,
            "trace_rows": self.trace_rows,
            **vars(self.counts),
            **self.verdict._asdict(),
        }
        if include_responses and self.responses is not None:
            if self.responses.is_sparse:
                arrays |= self.responses.observed.arrays()
            elif self.responses.has_repeats:
                arrays["successes"] = self.responses.successes
                arrays["trials"] = self.responses.trials
            else:
                arrays["responses"] = self.responses.values
            arrays["responses_synthetic"] = self.responses.synthetic
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez_compressed(handle, allow_pickle=False, **arrays)

    @cached_property
    def patterns(self) -> Patterns:
        """The responses as the fit saw them; an error if they were not saved."""
        if self.responses is None:
            raise ValueError("the responses were not saved with this result")
        ordinary = self.settings["synthetic"] == "ordinary"
        return patterns_of(self.responses, synthetic_is_real=ordinary)

    @cached_property
    def signs(self) -> SlopeSigns:
        """What the responses say about the signs of slopes; an error if they were not saved."""
        return slope_signs(self.patterns)

    @property
    def verdict(self) -> Verdict:
        """How likely each slope is negative; NaN if the result was saved without it."""
        if self.saved_verdict is not None:
            return self.saved_verdict
        nothing = np.full(len(self.item_labels), np.nan)
        return Verdict(nothing, nothing) if self.responses is None else self.signs.verdict

    def __str__(self) -> str:
        from irtkit.calibration.summary import summarise

        return summarise(self)


def load(path: str | PathLike[str]) -> FitResult:
    """Read a result written by :meth:`FitResult.save`.

    Raises
    ------
    ValueError
        If the file is not a saved result, is damaged, or was written by a later version of irtkit.
    OSError
        If there is no such file, or it is a folder.
    """
    try:
        with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(bytes(arrays["header"]))
        known = header["format"] == _FORMAT
        later = header["version"] > _FORMAT_VERSION
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a saved irtkit result, or is damaged: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not a saved irtkit result: {error}") from error
    if not known:
        raise ValueError(f"{path} is not a saved irtkit result: format {header['format']!r}")
    if later:
        raise ValueError(
            f"{path} has format version {header['version']}; this irtkit reads up to "
            f"{_FORMAT_VERSION}: install a newer one"
        )
    try:
        return _from_parts(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole irtkit result: {error}") from error


def _from_parts(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FitResult:
    """Put a result together again, checking that arrays and labels belong together."""
    items, respondents = tuple(header["items"]), tuple(header["respondents"])
    expected = {
        **dict.fromkeys(("discrimination", "item_right", "item_responses"), len(items)),
        **dict.fromkeys(set(Verdict._fields) & arrays.keys(), len(items)),
        **dict.fromkeys(("ability", "ability_se", "synthetic"), len(respondents)),
        **dict.fromkeys(("respondent_right", "respondent_responses"), len(respondents)),
    }
    for name, length in expected.items():
        if arrays[name].shape != (length,):
            raise ValueError(f"{name} has shape {arrays[name].shape}, not ({length},)")
    responses, marks = None, arrays.get("responses_synthetic")
    if "responses" in arrays:
        responses = ResponseMatrix(arrays["responses"], respondents, items, synthetic=marks)
    elif "observed_trials" in arrays:
        observed = Observed.of_arrays(arrays, (len(respondents), len(items)))
        responses = ResponseMatrix.from_observed(*observed, respondents, items, synthetic=marks)
    elif "trials" in arrays:
        responses = ResponseMatrix.from_counts(
            arrays["successes"], arrays["trials"], respondents, items, synthetic=marks
        )
    counts = {name: arrays[name] for name in Counts.__dataclass_fields__}
    posterior = None
    if "posterior" in header:
        from irtkit.calibration.variational.posterior import Posterior

        posterior = Posterior.restored(
            header["posterior"],
            arrays,
            item_labels=items,
            respondent_labels=respondents,
            synthetic=arrays["synthetic"],
        )
    return FitResult(
        item_labels=items,
        respondent_labels=respondents,
        parameters=ItemParameters(
            arrays["discrimination"], arrays["intercept"], arrays["guessing"]
        ),
        standard_errors=arrays["standard_errors"],
        status=tuple(header["status"]),
        ability=arrays["ability"],
        ability_se=arrays["ability_se"],
        synthetic=arrays["synthetic"],
        counts=Counts(**counts),
        trace_rows=arrays["trace_rows"],
        quadrature=Quadrature(**header["quadrature"]),
        responses=responses,
        posterior=posterior,
        saved_verdict=Verdict(arrays["p_negative"], arrays["wrong_key"])
        if "p_negative" in arrays
        else None,
        **{name: header[name] for name in _IN_HEADER},
    )
