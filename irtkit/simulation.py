"""Simulated responses, drawn from known items and abilities or by synthetic respondents.

Synthetic respondents (always right, always wrong, guessing) are reference points next to real
responses (Martínez-Plumed et al. 2022). Marks keep them out of all counts and of the scale.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from irtkit.checks import (
    as_numbers,
    check_memory,
    check_number,
    check_one_of,
    check_seed,
    check_times,
    check_type,
    check_unique,
    check_unmasked,
    check_yes_or_no,
    counted,
    short,
)
from irtkit.data.patterns import blocks
from irtkit.io.reading import as_responses
from irtkit.irf import ItemParameters
from irtkit.responses import ResponseMatrix
from irtkit.responses.cells import MOST_TRIALS, Cells, count_type
from irtkit.responses.labels import is_missing_label, values_by_label

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Labels: TypeAlias = Mapping[Hashable, Hashable] | pd.Series | Sequence[Hashable]

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
    items : ItemParameters
        Discrimination, intercept and guessing of the items, without NaN, or ``result.parameters``
        of ordered levels.
    abilities : array-like of shape (n_respondents,)
        On the scale of the items.
    missing : float, default 0.0
        Probability in [0, 1) that a cell is missing at random. A larger value removes responses
        and keeps the others as they are.
    trials : int or array-like, default 1
        Trials of each cell: a whole number, or integers that broadcast to (n_respondents,
        n_items), 0 for missing cells. Successes of several trials are binomial.
    respondent_labels, item_labels : list of str, optional
        Unique labels. The default is ``respondent-1``, … and ``item-1``, ….
    seed : int or Generator, default 0
        The same number gives the same responses. A generator is advanced.

    Returns
    -------
    ResponseMatrix
        Respondents in the order of abilities.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.0, 1.0], [-2.0, 0.0, 2.0])
    >>> irtkit.simulate_responses(items, [-1.0, 1.0], seed=1).values
    array([[1, 0, 0],
           [1, 1, 0]], dtype=int8)
    """
    check_type("items", items, ItemParameters)
    theta = as_numbers("abilities", abilities)
    if theta.ndim != 1 or not np.isfinite(theta).all():
        raise ValueError("abilities must be one finite number per system")
    check_number("missing", missing, least=0, below=1)
    if not items.known.all():
        k = int(np.argmin(items.known))
        raise ValueError(f"items must have known parameters: item {k} (counted from 0) has NaN")
    if not isinstance(seed, np.random.Generator):
        check_seed(seed)
    generator = np.random.default_rng(seed)
    of_levels = items.steps is not None
    if of_levels:
        trials = items.top.astype(np.int64)
    tried = _trials(trials, (len(theta), items.n_items))
    successes = np.empty_like(tried)
    single = tried.max(initial=0) <= 1
    # no array of floats is ever as large as the matrix
    n_levels = items.steps.shape[1] if of_levels else 1
    for rows in blocks(len(theta), items.n_items * n_levels):
        if of_levels:
            below = items.category_probability(theta[rows]).cumsum(axis=2)
            drawn = generator.random((*below.shape[:2], 1))
            successes[rows] = (drawn > below[:, :, :-1]).sum(axis=2)
            continue
        p = items.probability(theta[rows])
        right = generator.random(p.shape) < p if single else generator.binomial(tried[rows], p)
        successes[rows] = right
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
    ordinary: bool = False,
) -> ResponseMatrix:
    """Append synthetic respondents, marked as synthetic, which answer every item once.

    Parameters
    ----------
    responses : ResponseMatrix, path or other responses
        Real responses, or what :func:`irtkit.read_responses` takes. A sparse matrix stays sparse.
    kinds : str or list of str, default ("always-right", "always-wrong")
        One or several of

        - ``always-right`` and ``always-wrong``: one row each
        - ``class-prior``: `draws` rows of classes drawn by their frequency among these items
        - ``coin``: `draws` rows, right with `probability` on every item
    labels : mapping, Series or list, optional
        True class of every item, for ``class-prior``, by item label or in the order of the items.
    draws : int, default 1
        Rows of each random kind, at most 100,000, numbered if there are several (``coin-1``).
    probability : float, default 0.5
        Probability in [0, 1] that ``coin`` is right.
    seed : int, default 0
        Seed of the draws. Neither other kinds nor more draws change the rows of a kind.
    ordinary : bool, default False
        Whether to add them without the mark, as respondents that set the scale like all others (as
        in Martínez-Plumed et al. 2022).

    Returns
    -------
    ResponseMatrix
        The responses with the new rows below.

    Examples
    --------
    >>> import irtkit
    >>> real = irtkit.ResponseMatrix([[1, 0, 1]], respondents=["gpt"])
    >>> irtkit.add_synthetic(real, ("always-right", "coin"), draws=2).respondents
    ('gpt', 'always-right', 'coin-1', 'coin-2')
    """
    import pandas as pd

    responses = as_responses(responses)
    if not isinstance(kinds, Iterable):
        raise TypeError(f"kinds must be names of kinds, got {short(kinds)}")
    chosen: tuple[SyntheticKind, ...] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in chosen:
        check_one_of("kinds", kind, SYNTHETIC_KINDS)
    check_unique("kinds must name a kind once", chosen, " (see draws=)")
    check_times("draws", draws, 1)
    check_number("probability", probability, least=0, most=1)
    check_seed(seed)
    check_yes_or_no(ordinary=ordinary)
    if labels is not None and "class-prior" not in chosen:
        raise ValueError("labels are for the kind 'class-prior', which kinds do not name")
    needed = 9.0 * draws * responses.n_items  # bytes of a number and whether it is right
    check_memory(needed, f"{draws} draws of synthetic respondents", "fewer draws need less")
    names = list[str]()
    rows = list[Any]()
    shape = draws, responses.n_items
    for kind in chosen:
        generator = np.random.default_rng([seed, SYNTHETIC_KINDS.index(kind)])
        if kind == "class-prior":
            # the class of an item picked at random is a draw from the frequencies of the classes
            rule = "labels must give the true class of every item"
            if labels is None:
                raise ValueError(f"{rule} for kind 'class-prior'")
            given = values_by_label("labels", labels, responses.items, value="class", kind="item")
            for item, label in zip(responses.items, given, strict=True):
                if is_missing_label(label):
                    raise ValueError(f"{rule}: {short(item)} lacks one")
            classes = pd.factorize(np.array(given, dtype=object))[0]
            right = classes[generator.integers(len(classes), size=shape)] == classes
        elif kind == "coin":
            right = generator.random(shape) < probability
        else:
            right = np.full((1, shape[1]), kind == "always-right")
        numbered = [f"{kind}-{k}" for k in range(1, len(right) + 1)]
        names += [kind] if len(right) == 1 else numbered
        rows.append(right.astype(np.int8))
    if taken := set(responses.respondents).intersection(names):
        added = short(min(taken))
        raise ValueError(
            f"kinds would add a synthetic respondent {added}, and a system has this label"
        )
    respondents = (*responses.respondents, *names)
    marks = np.concatenate([responses.synthetic, np.full(len(names), not ordinary)])
    cells = responses.cells.below(Cells(np.concatenate(rows)))
    crowd = ResponseMatrix.of_cells(cells, (respondents, responses.items), marks)
    return crowd.with_known(responses)


def _trials(trials: ArrayLike, shape: tuple[int, int]) -> NDArray[Any]:
    """Trials of every cell, an array of its own."""
    check_unmasked("trials", trials)
    given = np.asarray(trials)
    in_range = (given >= 0) & (given <= MOST_TRIALS)
    if given.dtype.kind not in "iu" or not in_range.all():
        rule = f"whole numbers from 0 to {MOST_TRIALS}"
        raise ValueError(f"trials must be {rule}, got {short(trials)}")
    try:
        wide = np.broadcast_to(given, shape)
    except ValueError as error:
        size = f"{counted(shape[0], 'system')} × {counted(shape[1], 'item')}"
        raise ValueError(f"trials must broadcast to {size}, got shape {given.shape}") from error
    return wide.astype(count_type(int(given.max(initial=0))))
