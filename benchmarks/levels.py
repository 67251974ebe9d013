"""Whether tests hold their level on clean data: M2 of the 3PL, respondent_fit, link and matching.

*m2*: 3PL data of 3,000 × 12 (log slopes of SD 0.3, difficulties N(0, 1), guessing in [0.1, 0.3]).
M2 beside its definition over all 4,096 patterns, with an orthogonal complement of the derivatives.

*respondents*: data from the model that is fitted. Printed are the shares of respondents whose
``respondent_fit`` has p < 0.05 and p < 0.001, the share of data sets with one whose q < 0.05, and
the mean infit of the items (``item_fit``).

*drift*: two samples that answer the same items, the second N(0.7, 0.8²), fitted apart and linked.
Printed are the shares of items with p < 0.05 and p < 0.001, and the share of data sets of which an
item is said to drift; beside them the share with p < 0.05 by the standard errors as they are.

*matching*: items that do not differ, in groups of 500 one SD apart; shares with p < 0.05 by Mantel
and Haenszel if respondents are matched on the weighted sum, as they are, and on the plain sum.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from differential import SETTINGS, drawn
from machine import arguments, part, store
from model_fit import Null, draw, fitted, items_of, share_below, shown
from scipy.special import expit, ndtr
from scipy.stats import norm

import irtkit
from irtkit.data.patterns import patterns_of
from irtkit.diagnostics import functioning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

M2_SETS, M2_SHAPE = 40, (3000, 12)
RESPONDENTS = (
    *(Null(1000, 5, 60), Null(1000, 10, 60), Null(1000, 20, 60), Null(500, 40, 60)),
    *(Null(500, 40, 60, "1PL"), Null(1000, 60, 40), Null(2000, 30, 40, "3PL")),
    *(Null(200, 100, 60), Null(300, 300, 20), Null(500, 40, 40, prior=None)),
)


class Linked(NamedTuple):
    """Pairs of samples that answered the same items."""

    n_respondents: int
    n_items: int
    n_sets: int
    model: ModelName = "2PL"

    def __str__(self) -> str:
        return f"{self.n_respondents:,} × {self.n_items} {self.model}"


LINKED = (
    *(Linked(600, 5, 80), Linked(600, 10, 60), Linked(600, 20, 40), Linked(600, 40, 40)),
    *(Linked(2000, 40, 30), Linked(300, 40, 40), Linked(150, 100, 20), Linked(100, 30, 40)),
    *(Linked(600, 40, 40, "1PL"), Linked(600, 40, 40, "Rasch"), Linked(2000, 30, 30, "3PL")),
)
MATCHED = ("one SD apart", "one SD apart, 20 items", "one SD apart, 10 items")


def m2(seed: int, shape: tuple[int, int] = M2_SHAPE) -> dict[str, Any]:
    """M2 of a fit of the 3PL, and by its definition."""
    n, n_items = shape
    generator = np.random.default_rng(seed)
    items = items_of(generator, n_items, "3PL")
    responses = irtkit.simulate_responses(items, generator.normal(size=n), seed=generator)
    result = fitted(responses, "3PL")
    found, dense = irtkit.model_fit(result), by_definition(result)
    return {
        "seed": seed,
        "df": found.degrees_of_freedom,
        "m2": found.m2,
        "dense": dense,
        "off": abs(found.m2 / dense - 1),
    }


def by_definition(result: irtkit.FitResult) -> float:
    """M2 from the probabilities of all patterns, of a result with complete responses."""
    theta = np.linspace(-8, 8, 401)[:, None]
    weights = norm.pdf(theta[:, 0]) / norm.pdf(theta[:, 0]).sum()
    a, d, c = (getattr(result.parameters, k) for k in ("discrimination", "intercept", "guessing"))
    rising = expit(a * theta + d)
    p = c + (1 - c) * rising
    n_items = len(a)
    patterns = (np.arange(2**n_items)[:, None] >> np.arange(n_items)) & 1
    given = np.exp(patterns @ np.log(p).T + (1 - patterns) @ np.log1p(-p).T)
    one, other = np.triu_indices(n_items, 1)
    margins = np.column_stack([patterns, patterns[:, one] * patterns[:, other]]).astype(float)
    expected = margins.T @ (given @ weights)
    covariance = (margins.T * (given @ weights)) @ margins - np.outer(expected, expected)
    by_logit = (1 - c) * rising * (1 - rising)
    kinds = (by_logit * theta, by_logit, 1 - rising)
    columns = []
    for kind in kinds:
        for item in range(n_items):  # the log-likelihood of an answer moves by P'/P or −P'/(1 − P)
            score = np.where(
                patterns[:, [item]] == 1,
                kind[:, item] / p[:, item],
                -kind[:, item] / (1 - p[:, item]),
            )
            columns.append(margins.T @ ((given * score) @ weights))
    delta = np.stack(columns, axis=1)
    delta /= np.linalg.norm(delta, axis=0)
    complement = np.linalg.svd(delta)[0][:, delta.shape[1] :]
    values = result.responses.values  # type: ignore[union-attr]  # it was just fitted
    observed = np.concatenate([values.mean(0), (values[:, one] * values[:, other]).mean(0)])
    e = complement.T @ (observed - expected)
    return float(len(values) * e @ np.linalg.solve(complement.T @ covariance @ complement, e))


def respondents(study: Null) -> dict[str, Any]:
    """Respondents called on clean data, and the mean infit."""
    p, called, infit = [], 0, []
    for seed in range(study.n_sets):
        result = fitted(draw(study, seed), study.model, study.prior)
        table = irtkit.respondent_fit(result)
        p.append(table["p_value"].to_numpy())
        called += int((table["q_value"] < 0.05).any())
        infit.append(float(irtkit.item_fit(result)["infit"].mean()))
    every = np.concatenate(p)
    return {
        "data": str(study),
        "sets": study.n_sets,
        "p_05": share_below(every),
        "p_001": share_below(every, 0.001),
        "sets_called": called / study.n_sets,
        "infit": float(np.mean(infit)),
    }


def linked(study: Linked, seed: int) -> tuple[Any, Array]:
    """A linking of two samples, and z by the standard errors as they are."""
    generator = np.random.default_rng([seed, study.n_respondents, study.n_items])
    items = items_of(generator, study.n_items, study.model)
    abilities = (
        generator.normal(size=study.n_respondents) * sd + m for m, sd in ((0, 1), (0.7, 0.8))
    )
    with warnings.catch_warnings(action="ignore"):
        first, second = (
            irtkit.fit(irtkit.simulate_responses(items, one, seed=generator), study.model)
            for one in abilities
        )
        linking = irtkit.link(first, second)
    errors = [one.items["difficulty_se"].to_numpy() for one in (first, second)]
    z = linking.items["difference"] / np.hypot(errors[0], linking.slope * errors[1])
    return linking, z.to_numpy()


def drift(study: Linked) -> dict[str, Any]:
    """Items that are said to drift where none does."""
    p, plain, called = [], [], 0
    for seed in range(study.n_sets):
        linking, z = linked(study, seed)
        p.append(linking.items["p_value"].to_numpy())
        plain.append(2 * ndtr(-np.abs(z)))
        called += int(linking.items["drifts"].any())
    every = np.concatenate(p)
    return {
        "data": str(study),
        "sets": study.n_sets,
        "p_05": share_below(every),
        "p_001": share_below(every, 0.001),
        "sets_called": called / study.n_sets,
        "by_errors_05": share_below(np.concatenate(plain)),
    }


def matching(name: str, n_items: int = 2000) -> dict[str, Any]:
    """Items that do not differ, matched on the weighted and on the plain sum."""
    setting = next(one for one in SETTINGS if one.name == name)
    found: dict[str, list[Array]] = {"weighted": [], "plain": []}
    sets = max(n_items // setting.n_items, 2)
    for seed in range(sets):
        responses, groups, _ = drawn(setting, seed)
        patterns = patterns_of(responses, synthetic_is_real=True)
        test = functioning.Matching(patterns, np.array(groups) == "focal")
        for kind, values in found.items():
            if kind == "plain":
                test.slopes = np.ones(setting.n_items)
            statistic = test.compared(np.ones(setting.n_items, dtype=bool))[0]
            values.append(2 * ndtr(-np.sqrt(statistic)))
    shares = {kind: share_below(np.concatenate(values)) for kind, values in found.items()}
    return {"data": name, "n_items": setting.n_items, "sets": sets, **shares}


def main() -> None:
    """Run all studies."""
    options = arguments(__doc__).parse_args()
    tables: dict[str, list[dict[str, Any]]] = {}

    def add(name: str, record: dict[str, Any]) -> None:
        if name not in tables:
            print(f"\n{name}: {', '.join(record)}", flush=True)
        tables.setdefault(name, []).append(record)
        print(shown(record), flush=True)

    for seed in part(range(M2_SETS), 0):
        add("m2", m2(seed))
    for study in part(RESPONDENTS, 0):
        add("respondents", respondents(study))
    for pair in part(LINKED, 6):
        add("drift", drift(pair))
    for name in part(MATCHED, 2):
        add("matching", matching(name))
    store(options, **tables)


if __name__ == "__main__":
    main()
