"""Simulated responses: drawn from known items and abilities, or of synthetic respondents.

A simulation with known items and abilities tells how well a calibration recovers them. Synthetic
respondents (always right, always wrong, guessing) are appended to real responses as reference
points; they are marked, so that no count or scale describes them by mistake
(Martínez-Plumed et al. 2022).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from irtkit.checks import (
    as_numbers,
    check_number,
    check_one_of,
    check_seed,
    check_times,
    check_type,
    check_unique,
    check_unmasked,
    short,
)
from irtkit.data.patterns import blocks
from irtkit.io.reading import as_responses
from irtkit.irf import ItemParameters
from irtkit.memory import check_memory
from irtkit.responses import ResponseMatrix
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.responses.observed import Observed
from irtkit.responses.trials import MOST_TRIALS, count_type

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Labels: TypeAlias = Mapping[Hashable, Hashable] | pd.Series | Sequence[Hashable]

_BYTES = 9.0
"""Bytes of each answer while it is drawn: a number, and whether it is right."""
SyntheticKind = Literal["always-right", "always-wrong", "class-prior", "coin"]
SYNTHETIC_KINDS: tuple[SyntheticKind, ...] = get_args(SyntheticKind)


def simulate_responses(
    items: ItemParameters,
    abilities: ArrayLike,
    *,
    missing: float = 0.0,
    trials: ArrayLike = 1,
    respondent_labels: Iterable[Hashable] | None = None,
    item_labels: Iterable[Hashable] | None = None,
    seed: int | np.random.Generator = 0,
) -> ResponseMatrix:
    """Draw responses from known items and abilities.

    Parameters
    ----------
    items
        Discrimination, intercept and guessing of the items.
    abilities
        Shape (n_respondents,), on the scale of the items.
    missing
        Probability, from 0 to below 1, that a cell is missing, whatever the response would have
        been. Raising it takes responses away and leaves the others as they are.
    trials
        How often each respondent tries each item: a whole number, or integers that broadcast to
        (n_respondents, n_items), 0 where nothing is tried. With more than one trial somewhere,
        successes are binomial and the matrix holds repeated trials.
    respondent_labels, item_labels
        Unique labels; by default ``respondent-1``, … and ``item-1``, ….
    seed
        The same number gives the same responses; a generator is advanced.

    Raises
    ------
    ValueError
        If an ability is not finite or an item unknown (NaN), `missing` is not in [0, 1), `trials`
        are no such numbers, or every cell came out missing.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.0, 1.0], [-2.0, 0.0, 2.0])
    >>> irtkit.simulate_responses(items, [-1.0, 1.0], seed=1).values
    array([[1, 0, 0],
           [1, 1, 0]], dtype=int8)
    >>> irtkit.simulate_responses(items, [-1.0, 1.0], trials=10, seed=1).successes
    array([[7, 5, 0],
           [8, 8, 2]], dtype=uint8)
    """
    check_type("items", items, ItemParameters)
    theta = as_numbers("abilities", abilities)
    if theta.ndim != 1 or not np.isfinite(theta).all():
        raise ValueError("abilities must be one finite number per respondent")
    check_number("missing", missing, least=0, below=1)
    unknown = np.isnan(items.probability([0.0])[0])
    if unknown.any():
        raise ValueError(
            "items must all have known parameters: those of item "
            f"{int(np.argmax(unknown))} (counted from 0) are NaN"
        )
    if not isinstance(seed, np.random.Generator):
        check_seed(seed)
    generator = np.random.default_rng(seed)
    tried = _trials(trials, (len(theta), items.n_items))
    successes = np.empty_like(tried)
    single = tried.max(initial=0) <= 1
    for rows in blocks(*tried.shape):  # no array of floats is ever as large as the matrix
        p = items.probability(theta[rows])
        successes[rows] = (
            generator.random(p.shape) < p if single else generator.binomial(tried[rows], p)
        )
    for rows in blocks(*tried.shape) if missing else ():
        tried[rows][generator.random(tried[rows].shape) < missing] = 0
    np.minimum(successes, tried, out=successes)  # nothing is right where nothing was tried
    return ResponseMatrix.from_counts(successes, tried, respondent_labels, item_labels)


def add_synthetic(
    responses: object,
    kinds: SyntheticKind | Iterable[SyntheticKind] = ("always-right", "always-wrong"),
    *,
    labels: Labels | None = None,
    draws: int = 1,
    probability: float = 0.5,
    seed: int = 0,
) -> ResponseMatrix:
    """Append synthetic respondents, marked as such; the input is left as it is.

    Parameters
    ----------
    responses
        Real responses, or what :func:`irtkit.read_responses` takes; rows already marked synthetic
        stay so. A sparse matrix stays sparse.
    kinds
        One or several of

        - ``always-right`` and ``always-wrong``: one row each;
        - ``class-prior``: answers with a class drawn from the frequencies of the classes among
          these items, marked against the true class, `draws` rows;
        - ``coin``: right with `probability` on every item, `draws` rows.
    labels
        True class of every item, for ``class-prior``: a mapping or pandas Series by item label
        (further items in it are ignored), or a sequence in the order of the items.
    draws
        Rows of each random kind, at most 100,000. A row is named after its kind, and numbered from
        1 when there are several (``coin-1``, ``coin-2``).
    probability
        Probability in [0, 1] that ``coin`` is right.
    seed
        Each kind has a stream of its own: neither other kinds nor more draws change its rows.

    Returns
    -------
    ResponseMatrix
        The rows of `responses` and, below them, the synthetic ones in the order of `kinds`.
        They answer every item once, also where real responses are missing or repeated.

    Raises
    ------
    ValueError
        If a kind is unknown or named twice, a label is taken, an item has no class, `draws` is
        below 1 or `probability` outside [0, 1].

    Examples
    --------
    >>> import irtkit
    >>> real = irtkit.ResponseMatrix([[1, 0, 1]], respondents=["gpt"])
    >>> crowd = irtkit.add_synthetic(real, ("always-right", "coin"), draws=2)
    >>> crowd.respondents
    ('gpt', 'always-right', 'coin-1', 'coin-2')
    >>> crowd.synthetic
    array([False,  True,  True,  True])
    """
    responses = as_responses(responses)
    chosen = _checked_kinds(kinds)
    check_times("draws", draws, 1)
    check_number("probability", probability, least=0, most=1)
    check_seed(seed)
    if labels is not None and "class-prior" not in chosen:
        raise ValueError("labels are for the kind 'class-prior', which kinds do not name")
    needed = float(draws) * responses.n_items * _BYTES
    check_memory(needed, f"{draws} draws of synthetic respondents", "fewer draws need less")
    classes = _class_codes(labels, responses.items) if "class-prior" in chosen else None
    rows = {
        kind: _rows_right(kind, (draws, responses.n_items), classes, probability, seed)
        for kind in chosen
    }
    names = [name for kind in chosen for name in _row_names(kind, len(rows[kind]))]
    if taken := set(responses.respondents).intersection(names):
        raise ValueError(
            f"kinds would add a synthetic respondent {short(min(taken))}, a label that is taken"
        )
    right = np.concatenate([right.astype(np.int8) for right in rows.values()])
    respondents = (*responses.respondents, *names)
    marks = np.concatenate([responses.synthetic, np.ones(len(names), dtype=bool)])
    crowd = _with_rows(responses, right, respondents, marks)
    return crowd.with_tables(responses.item_table, responses.respondent_table, responses.metrics)


def _with_rows(
    responses: ResponseMatrix,
    right: NDArray[np.int8],
    respondents: tuple[str, ...],
    marks: NDArray[np.bool_],
) -> ResponseMatrix:
    if responses.is_sparse:
        observed = responses.observed.below(Observed.of_tables(right, np.ones_like(right)))
        return ResponseMatrix.from_observed(
            *observed, respondents, responses.items, synthetic=marks
        )
    if not responses.has_repeats:
        values = np.concatenate([responses.values, right])
        return ResponseMatrix(values, respondents, responses.items, synthetic=marks)
    return ResponseMatrix.from_counts(
        np.concatenate([responses.successes, right]),
        np.concatenate([responses.trials, np.ones_like(right)]),
        respondents,
        responses.items,
        synthetic=marks,
    )


def _trials(trials: ArrayLike, shape: tuple[int, int]) -> NDArray[Any]:
    """Trials of every cell, an array of its own."""
    check_unmasked("trials", trials)
    given = np.asarray(trials)
    if given.dtype.kind not in "iu" or not ((given >= 0) & (given <= MOST_TRIALS)).all():
        raise ValueError(
            f"trials must be whole numbers from 0 to {MOST_TRIALS}, got {short(trials)}"
        )
    try:
        wide = np.broadcast_to(given, shape)
    except ValueError as error:
        raise ValueError(
            f"trials must broadcast to {shape[0]} respondents × {shape[1]} items, "
            f"got shape {given.shape}"
        ) from error
    return wide.astype(count_type(int(given.max(initial=0))))


def _rows_right(
    kind: SyntheticKind,
    shape: tuple[int, int],
    classes: NDArray[np.intp] | None,
    probability: float,
    seed: int,
) -> NDArray[np.bool_]:
    """Whether each row of a kind is right on each item, from the kind's own stream."""
    generator = np.random.default_rng([seed, SYNTHETIC_KINDS.index(kind)])
    if kind == "class-prior" and classes is not None:
        # the class of an item picked at random is a draw from the frequencies of the classes
        predicted = classes[generator.integers(len(classes), size=shape)]
        return np.equal(predicted, classes)
    if kind == "coin":
        return np.less(generator.random(shape), probability)
    return np.full((1, shape[1]), kind == "always-right")


def _class_codes(labels: Labels | None, items: tuple[str, ...]) -> NDArray[np.intp]:
    """Class of every item as a number, in the order of the items."""
    if labels is None:
        raise ValueError("labels must give the true class of every item for kind 'class-prior'")
    classes = values_by_label("labels", labels, items, value="class", kind="item")
    for item, label in zip(items, classes, strict=True):
        if is_missing_label(label):
            raise ValueError(
                f"labels must give the true class of every item: {short(item)} has none"
            )
    numbers = {label: k for k, label in enumerate(dict.fromkeys(classes))}
    return np.array([numbers[label] for label in classes], dtype=np.intp)


def _checked_kinds(kinds: SyntheticKind | Iterable[SyntheticKind]) -> tuple[SyntheticKind, ...]:
    if not isinstance(kinds, Iterable):
        raise TypeError(f"kinds must be names of kinds, got {short(kinds)}")
    chosen: tuple[SyntheticKind, ...] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in chosen:
        check_one_of("kinds", kind, SYNTHETIC_KINDS)
    check_unique("kinds must name a kind once", chosen, " (see draws=)")
    return chosen


def _row_names(kind: str, n: int) -> list[str]:
    return [kind] if n == 1 else [f"{kind}-{k}" for k in range(1, n + 1)]
