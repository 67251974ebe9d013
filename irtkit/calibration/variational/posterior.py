"""The posterior of a variational fit: draws, intervals and moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import expit

from irtkit.calibration.standard_errors import common_ability_basis
from irtkit.calibration.variational.bent import NODE_WEIGHTS, Bent
from irtkit.calibration.variational.guide import Guide
from irtkit.calibration.variational.inference import Abilities
from irtkit.calibration.variational.target import Coordinates, Point
from irtkit.checks import check_number, check_one_of, check_seed, check_times
from irtkit.data.patterns import blocks
from irtkit.irf import outer
from irtkit.storage import fields_of, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from irtkit.data.patterns import Mask, Places
    from irtkit.irf import Array

Scale = Literal["population", "sample"]
_ITEMS_AT_ONCE = 2048
"""Items drawn at once, 50 MB for 1,000 draws. Draws depend on it."""
_ROTATIONS = 24
"""Systems of axes for posterior means and SDs of items: SDs are off by 0.03 to 0.25 %."""
_OF_RESULT = ("item_labels", "respondent_labels", "synthetic")


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior distribution of items and abilities, ``result.posterior`` of a variational fit.

    Items are normal in coordinates of their own, jointly with what they share. Items with guessing
    (3PL) follow the bent ridge of their density instead, given what they share. Given the items,
    each ability is taken as normal.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.5, 0.8], [-1.0, 0.0, 1.0])
    >>> responses = irtkit.simulate_responses(items, [k / 50 - 2 for k in range(200)], seed=1)
    >>> posterior = irtkit.fit(responses, method="vi").posterior
    >>> posterior.draws(100, seed=0)["discrimination"].shape
    (100, 3)
    >>> bool((posterior.item_intervals(0.9)["discrimination_low"] < 1.5).all())
    True
    """

    item_labels: tuple[str, ...]
    respondent_labels: tuple[str, ...]
    synthetic: Mask
    coordinates: Coordinates
    guide: Guide
    abilities: Abilities
    elbo: float
    """Evidence lower bound in nats, with abilities integrated out and all constants.

    It is a mean over points, off by some tenths, and by 1 to 3 with 1,000 items and more. For the
    3PL it is the bound of the normal distribution before items are bent.
    """
    stretch: float
    """Ability in the result over ability here. −1 reverses the scale."""
    bent: Bent | None
    """Distribution of the own coordinates of the 3PL, in place of the guide's."""

    def __repr__(self) -> str:
        return (
            f"<Posterior of {len(self.item_labels)} items and {len(self.respondent_labels)} "
            f"respondents, evidence lower bound {self.elbo:.3f}>"
        )

    def of_all(
        self,
        of_items: Callable[[Any], Any],
        rows: Places,
        synthetic: Mask,
        population_sd: Array,
        stretch: float,
    ) -> Posterior:
        """The posterior with items and respondents that have no response.

        Of such respondents the population is known, and of such items nothing. ``of_items`` makes
        an array of all items of one of those estimated. ``rows`` are the respondents estimated.
        """
        nothing = np.zeros_like(population_sd)
        abilities = [nothing, population_sd.copy(), nothing.copy(), population_sd.copy()]
        for whole, part in zip(abilities, self.abilities, strict=True):
            whole[rows] = part
        guide = self.guide._replace(
            own=of_items(self.guide.own),
            factor=of_items(self.guide.factor),
            loading=of_items(self.guide.loading),
        )
        return replace(
            self,
            synthetic=synthetic,
            coordinates=replace(self.coordinates, n_items=len(guide.own)),
            guide=guide,
            abilities=type(self.abilities)(*abilities),
            bent=None if self.bent is None else type(self.bent)(*map(of_items, self.bent)),
            stretch=stretch,
        )

    def draws(self, n: int = 1000, *, seed: int = 0, scale: Scale = "population") -> dict[str, Any]:
        """Draw items and abilities together.

        Parameters
        ----------
        n
            Number of draws, at most 100,000.
        seed
            The same seed gives the same draws.
        scale
            "population" (default): abilities of the population are N(0, 1). "sample": each draw is
            rescaled so that the real respondents have mean 0 and SD 1. Mean and SD of these are
            ``ability`` and ``ability_se`` of the result.

        Returns
        -------
        dict
            "discrimination", "difficulty", "intercept" (and "guessing" for the 3PL), each of shape
            (n, n_items), and "ability", (n, n_respondents). Items without a response are NaN,
            unless each item has a density of its own.

        Raises
        ------
        ValueError
            If n is below 1 or the scale is unknown.
        """
        check_one_of("scale", scale, get_args(Scale))
        check_times("n", n, 1)
        check_seed(seed)
        generator = np.random.default_rng(seed)
        common = self._common(generator, n)
        drawn = np.concatenate(list(self._items(generator, common)), axis=1)
        slope, intercept, *guessing = np.moveaxis(drawn, 2, 0)
        mean = self.abilities.population_mean
        sd = self.abilities.given_items
        moved, _ = common_ability_basis(mean)
        ability = mean + common[:, len(self.guide.shared) :] @ moved.T
        ability = ability + sd * generator.normal(size=ability.shape)
        if scale == "sample":
            answered = (self.abilities.mean != 0) | (self.abilities.given_items < 1)
            real = ability[:, answered & ~self.synthetic]
            centre = real.mean(axis=1, keepdims=True)
            spread = real.std(axis=1, keepdims=True)
            spread[spread == 0] = 1.0  # of a single respondent
            ability = (ability - centre) / spread
            intercept = intercept + slope * centre
            slope = slope * spread
        slope, ability = self._in_units(slope, ability)
        drawn_parameters = {
            "discrimination": slope,
            "difficulty": -intercept / slope,
            "intercept": intercept,
        }
        if guessing:
            drawn_parameters["guessing"] = guessing[0]
        return {**drawn_parameters, "ability": ability}

    def item_intervals(
        self, probability: float = 0.9, *, n: int = 2000, seed: int = 0
    ) -> pd.DataFrame:
        """Central intervals of item parameters, from quantiles of ``n`` draws.

        Parameters
        ----------
        probability
            Posterior probability of an interval, between 0 and 1.
        n, seed
            Number of draws, 2 to 100,000, and their seed.

        Returns
        -------
        pandas.DataFrame
            Index "item", columns discrimination_low, discrimination_high, and so on for difficulty,
            intercept and (3PL) guessing, on the scale of the population. An interval of difficulty
            is wide where the discrimination may be 0.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        import pandas as pd

        check_number("probability", probability, above=0, below=1)
        ends = (1 - probability) / 2, (1 + probability) / 2
        check_times("n", n, 2)
        check_seed(seed)
        generator = np.random.default_rng(seed)
        intervals = []
        for drawn in self._items(generator, self._common(generator, n)):
            slope, intercept, *guessing = np.moveaxis(drawn, 2, 0)
            slope, _ = self._in_units(slope, np.zeros((n, 1)))
            with np.errstate(divide="ignore"):
                parts = [slope, -intercept / slope, intercept, *guessing]
            quantiles = [np.quantile(part, ends, axis=0) for part in parts]
            intervals.append(np.concatenate(quantiles))
        names = ["discrimination", "difficulty", "intercept", "guessing"]
        columns = [f"{name}_{end}" for name in names for end in ("low", "high")]
        table = np.concatenate(intervals, axis=1).T
        index = pd.Index(self.item_labels, name="item")
        return pd.DataFrame(table, index=index, columns=columns[: table.shape[1]])

    def stored(self) -> dict[str, Any]:
        """The record for :meth:`restored`, without the labels of the result."""
        return {name: part for name, part in fields_of(self).items() if name not in _OF_RESULT}

    @classmethod
    def restored(cls, record: dict[str, Any], **of_result: Any) -> Posterior:
        """The posterior of a record and of the labels of its result."""
        parts = {"coordinates": Coordinates, "guide": Guide, "abilities": Abilities, "bent": Bent}
        return cls(**with_parts(record, **parts), **of_result)

    def _common(self, generator: np.random.Generator, n: int) -> Array:
        """Draws of shared coordinates and shifts, (n, r)."""
        r = len(self.guide.common)
        return generator.normal(size=(n, r)) @ self.guide.common_root()

    def _items(self, generator: np.random.Generator, common: Array) -> Iterator[Array]:
        """Slope, intercept (and guessing) of some items at a time, (n, n_some, 2 or 3)."""
        guide = self.guide
        bent = self.bent
        shared = guide.shared + common[:, : len(guide.shared)]
        for block in blocks(len(guide.own), 1, _ITEMS_AT_ONCE):
            part = self.coordinates.chosen(block)
            deviates = generator.normal(size=(len(common), *guide.own[block].shape))
            if bent is None:
                own = guide.own[block] + np.einsum("jkl,njl->njk", guide.factor[block], deviates)
            else:
                chosen = Bent(bent.own[block], bent.factor[block])
                at_once = 8 * deviates[0].size
                parts = [chosen.at(deviates[k]) for k in blocks(len(common), at_once)]
                own = np.concatenate(parts)
            own -= np.einsum("jkr,nr->njk", guide.loading[block], common)
            drawn = [part.parameters(Point(*pair)) for pair in zip(own, shared, strict=True)]
            yield _with_guessing(np.stack(drawn))

    def _in_units(self, slope: Array, ability: Array) -> tuple[Array, Array]:
        """Slopes and abilities in units of the result. For Rasch every slope is 1."""
        if self.coordinates.model == "Rasch":
            return np.ones_like(slope), ability * slope[:, :1]
        return slope / self.stretch, ability * self.stretch


def moments_of(
    coordinates: Coordinates, guide: Guide, bent: Bent | None = None
) -> tuple[Array, Array]:
    """Posterior means of slope, intercept and guessing of each item, and their covariances."""
    if bent is None:
        return _normal_moments(coordinates, guide)
    # a mixture of normal distributions, one at each node
    n_items, n_nodes, k = bent.own.shape
    factor = np.zeros((*bent.own.shape, k))
    factor[:, :, :2, :2] = bent.factor
    each = np.repeat(np.arange(n_items), n_nodes)
    at_nodes = guide._replace(
        own=bent.own.reshape(-1, k),
        factor=factor.reshape(-1, k, k),
        loading=guide.loading[each],
    )
    means, covariances = _normal_moments(coordinates.chosen(each), at_nodes)
    means = means.reshape(bent.own.shape)
    covariances = covariances.reshape(factor.shape)
    mean = NODE_WEIGHTS @ means
    off = means - mean[:, None]
    covariances += outer(off, off)
    return mean, np.einsum("g,jgkl->jkl", NODE_WEIGHTS, covariances)


def _normal_moments(coordinates: Coordinates, guide: Guide) -> tuple[Array, Array]:
    """The same where own coordinates are normal.

    They are means over the centre, of weight 2/(D + 2), and points ±√(D + 2) times randomly rotated
    axes. D is the number of coordinates that an item depends on. Means of cubics are exact.
    """
    n = len(guide.shared)
    k = guide.own.shape[1]
    cross = -guide.loading @ guide.common[:, :n]
    whole = np.zeros((len(guide.own), k + n, k + n))
    # what is shared comes first, so that its points are the same for each item to the last bit
    whole[:, :n, :n] = guide.common[:n, :n]
    whole[:, n:, :n] = cross
    whole[:, :n, n:] = cross.transpose(0, 2, 1)
    whole[:, n:, n:] = guide.own_covariance()
    diagonal = np.einsum("jkk->jk", whole)
    diagonal *= 1 + 1e-10
    diagonal += 1e-16  # a coordinate may be without variance
    reach = np.sqrt(k + n + 2)
    root = np.linalg.cholesky(whole) * reach
    generator = np.random.default_rng(0)
    centre = _with_guessing(coordinates.parameters(guide.mean))
    total = np.zeros_like(centre)
    square = np.zeros((*centre.shape, centre.shape[1]))
    n_points = 0
    for _ in range(_ROTATIONS):
        drawn = generator.normal(size=(k + n, k + n))
        axes = np.linalg.qr(drawn)[0].T
        for axis in np.concatenate([axes, -axes]):
            shared, own = np.split(root @ axis, [n], axis=1)
            point = Point(guide.own + own, guide.shared + shared)
            off = _with_guessing(coordinates.parameters(point)) - centre
            total += off
            square += outer(off, off)
            n_points += 1
    weight = (k + n) / (k + n + 2) / n_points
    mean = weight * total
    covariance = weight * square - outer(mean, mean)
    return centre + mean, covariance


def _with_guessing(parameters: Array) -> Array:
    """Parameters with guessing in place of its logit, if there is one."""
    if parameters.shape[-1] == 3:
        parameters[..., 2] = expit(parameters[..., 2])
    return parameters
