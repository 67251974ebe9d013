"""Whether errors are right where repeated trials repeat each other, and when it is said.

Every respondent tries an item several times, and the trials of a cell have a correlation ρ given
ability and item: "beta", the cell has a probability of its own, drawn from a beta distribution
around the model's; "copies", the runs of a share ρ of the cells are one run copied, the others are
independent. Items are those of ``shapes.py``, 5 % of them inverted (of the 2PL). The 1PL is fitted
to a 2PL once more: what a model misses repeats itself from trial to trial as well.

Printed are the sets in which it was said that trials count for less, and those in which they did;
the mean of the estimated ρ, and of the errors of ability against the other systems; how often 95 %
intervals hold
the ability, brought to mean 0 and SD 1 among the respondents as that of fits is, and slopes and
intercepts on the scale of the population; beside them what holds the ability if trials are taken as
independent; the false ones
among the items called negative; and how long a fit takes, in fits that take trials as independent.
Of identical runs the fit is set beside that of one of them.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]


class Study(NamedTuple):
    """Matrices of one kind, and the fit they get."""

    n_respondents: int
    n_items: int
    trials: tuple[int, ...]
    """Numbers of trials that cells have, each as often; 0 is a missing cell."""
    correlation: float
    kind: Literal["beta", "copies"] = "beta"
    n_data_sets: int = 40
    true_model: ModelName = "2PL"
    model: ModelName = "2PL"
    method: Literal["em", "vi"] = "em"

    def __str__(self) -> str:
        of = "" if self.model == self.true_model else f" to {self.true_model}"
        trials = "/".join(map(str, self.trials))
        return (
            f"{self.n_respondents} × {self.n_items}, {trials} trials, {self.model}{of}, "
            f"{self.method}, {self.kind}"
        )


MIXED = (0, 1, 2, 5, 10)
STUDIES = (
    Study(300, 40, (5,), 0.0, n_data_sets=200),
    *(Study(300, 40, (5,), rho) for rho in (0.2, 0.5, 1.0)),
    *(Study(300, 40, (5,), rho, "copies") for rho in (0.2, 0.5)),
    *(Study(30, 50, (5,), rho, n_data_sets=n) for rho, n in ((0.0, 200), (0.2, 40), (1.0, 40))),
    *(Study(12, 400, (5,), rho, n_data_sets=n) for rho, n in ((0.0, 100), (0.2, 40), (1.0, 40))),
    *(Study(60, 40, (50,), rho, n_data_sets=n) for rho, n in ((0.0, 100), (0.2, 40), (1.0, 40))),
    *(Study(300, 40, MIXED, rho, n_data_sets=n) for rho, n in ((0.0, 200), (0.2, 40), (1.0, 40))),
    *(Study(6, 60, (10**6,), rho, n_data_sets=10) for rho in (0.001, 0.2)),
    *(Study(300, 40, (5,), rho, "beta", 20, method="vi") for rho in (0.0, 0.2, 1.0)),
    *(Study(500, 30, (5,), rho, "beta", 20, "3PL", "3PL") for rho in (0.0, 0.2, 1.0)),
    *(Study(300, 40, (5,), rho, "beta", 20, "1PL", "1PL") for rho in (0.0, 0.2)),
    Study(300, 40, (5,), 0.0, "beta", 20, "2PL", "1PL"),
    Study(60, 40, (50,), 0.0, "beta", 20, "2PL", "1PL"),
)
HEADER = (
    *("data and fit", "ρ", "sets", "said", "counted", "estimated ρ", "SE of ability"),
    *("coverage of ability", "if independent", "of slopes", "of intercepts"),
    *("false negatives", "time", "from one run"),
)


COVERED = ("ability", "ability_if_independent", "discrimination", "intercept")


class Drawn(NamedTuple):
    """A simulated data set."""

    items: irtkit.ItemParameters
    ability: Array
    responses: irtkit.ResponseMatrix


def draw(study: Study, seed: int) -> Drawn:
    """Items, abilities and counts, all drawn anew from a seed."""
    generator = np.random.default_rng([seed, *study[:2]])
    n_items, rho = study.n_items, study.correlation
    slope = generator.lognormal(0, 0.0 if study.true_model == "1PL" else 0.3, n_items)
    if study.model == study.true_model == "2PL":
        slope[generator.permutation(n_items)[: round(0.05 * n_items)]] *= -1
    guessing = generator.uniform(0.1, 0.3, n_items) if study.true_model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)
    ability = generator.normal(size=study.n_respondents)
    p = items.probability(ability)
    trials = generator.choice(study.trials, p.shape)
    copied = generator.random(p.shape) < (rho if study.kind == "copies" else float(rho == 1))
    if study.kind == "beta" and 0 < rho < 1:
        p = generator.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho)
    right = np.where(
        copied, trials * (generator.random(p.shape) < p), generator.binomial(trials, p)
    )
    return Drawn(items, ability, irtkit.ResponseMatrix.from_counts(right, trials))


def one_set(study: Study, seed: int) -> dict[str, Any]:
    """What is found in one data set."""
    items, ability, responses = draw(study, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        result = irtkit.fit(responses, study.model, method=study.method, progress=False)
        middle = time.process_time()
        single = responses.with_trial_correlation(0.0)
        independent = irtkit.fit(single, study.model, method=study.method, progress=False)
        seconds = middle - began, time.process_time() - middle
        reasons = irtkit.flag_items(result)["reasons"]
    truth = (ability - ability.mean()) / ability.std()
    kept = np.array(result.status) == "ok"
    of_items = {
        name: _within(
            getattr(result.parameters, name)[kept] - getattr(items, name)[kept],
            result.items[f"{name}_se"].to_numpy()[kept],
        )
        for name in ("discrimination", "intercept")
    }
    negative = {str(item) for item, why in reasons.items() if "negative" in why}
    called = np.isin(result.item_labels, list(negative))
    return {
        "said": any("repeated trials" in str(one.message) for one in caught),
        "correlation": result.settings.trial_correlation,
        "ability_se": float(result.board_se.mean()),
        "ability": _within(result.ability - truth, result.board_se),
        "ability_if_independent": _within(independent.ability - truth, independent.board_se),
        **of_items,
        "called_negative": int(called.sum()),
        "falsely_negative": int((called & (items.discrimination > 0)).sum()),
        "not_converged": not result.converged,
        "seconds": seconds,
        "from_one_run": _from_one_run(result, study) if study.correlation == 1 else None,
    }


def _from_one_run(result: irtkit.FitResult, study: Study) -> float:
    """Largest relative difference of errors of ability from those of one of identical runs."""
    responses = result.responses
    assert responses is not None  # noqa: S101  # of a fit just made
    values = np.where(responses.trials > 0, (responses.successes > 0).astype(int), -1)
    one = irtkit.fit(
        irtkit.ResponseMatrix(values), study.model, method=study.method, progress=False
    )
    return float(np.abs(result.board_se / one.board_se - 1).max())


def _within(off: Array, error: Array) -> float:
    """Share of 95 % intervals that hold the truth; one that does not exist holds nothing."""
    return float((np.abs(off) <= 1.96 * error).mean())


def measure(study: Study) -> dict[str, Any]:
    """Averages over the data sets of a study, with the standard errors of coverages."""
    sets = [one_set(study, seed) for seed in range(study.n_data_sets)]
    by_name = {name: [one[name] for one in sets] for name in sets[0]}
    record: dict[str, Any] = {"study": study._asdict()}
    for name in ("said", "called_negative", "falsely_negative", "not_converged"):
        record[name] = int(sum(by_name[name]))
    record["counted"] = sum(rho > 0 for rho in by_name["correlation"])
    for name in ("correlation", "ability_se"):
        record[name] = float(np.mean(by_name[name]))
    record["correlation_sd"] = float(np.std(by_name["correlation"], ddof=1))
    for name in COVERED:
        mean, spread = np.mean(by_name[name]), np.std(by_name[name], ddof=1)
        record[name] = {"coverage": float(mean), "se": float(spread / len(sets) ** 0.5)}
    seconds = np.sum(by_name["seconds"], axis=0)
    record["times_as_long"] = float(seconds[0] / seconds[1])
    differences = [one for one in by_name["from_one_run"] if one is not None]
    record["from_one_run"] = max(differences) if differences else None
    return record


def row(study: Study, record: dict[str, Any]) -> str:
    """One row of the table."""
    coverages = [f"{record[name]['coverage']:.3f} ± {record[name]['se']:.3f}" for name in COVERED]
    away = record["from_one_run"]
    cells = (
        *(str(study), f"{study.correlation:g}", str(study.n_data_sets)),
        *(str(record["said"]), str(record["counted"]), f"{record['correlation']:.4f}"),
        *(f"{record['ability_se']:.3f}", *coverages),
        f"{record['falsely_negative']} of {record['called_negative']}",
        f"× {record['times_as_long']:.1f}",
        "" if away is None else f"{away:.1e}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, help="data sets of every study")
    parser.add_argument("--studies", type=int, help="only the first so many")
    options = parser.parse_args()
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for planned in part(STUDIES[: options.studies], 7, 10):
        study = planned._replace(n_data_sets=options.data_sets or planned.n_data_sets)
        records.append(measure(study))
        print(row(study, records[-1]), flush=True)
    print(f"\nfits that did not converge: {sum(one['not_converged'] for one in records)}")
    store(options, studies=records)


if __name__ == "__main__":
    main()
