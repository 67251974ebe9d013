"""Simulated responses, and what a fit of them must find, computed without irtkit.

``python tests/data/make_references.py`` writes ``simulated_*.csv`` and
``simulated_references.json`` anew, in a few minutes; it needs NumPy and SciPy alone. Everything is
the definition written down: ability is summed out by the trapezoid rule on 401 nodes from −8 to 8
(801 nodes give the same to 1e-12), the log-likelihood plus log prior is maximised over slopes,
intercepts and logits of guessing by SciPy's BFGS and Newton steps, and standard errors come from
the inverse Hessian and the delta method. First derivatives are complex steps (Squire & Trapp 1998,
exact to rounding), second ones central differences of these.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[Any]


FOLDER = Path(__file__).parent
THETA = np.linspace(-8.0, 8.0, 401)
LOG_WEIGHTS = -0.5 * THETA**2 - np.log(np.exp(-0.5 * THETA**2).sum())
SMALL = 1e-30  # a complex step has no cancellation, so that it may be as small as one likes
STEP = 1e-4  # central differences: errors of 1e-8 by the step and of 1e-11 by rounding
DIGITS, N_ABILITIES = 12, 10  # significant digits, and respondents whose abilities are kept


@dataclass(frozen=True)
class Case:
    """Responses and the model and prior they are fitted with."""

    data: str
    model: str
    prior: str
    right: Array
    trials: Array

    @property
    def n_items(self):
        return self.right.shape[1]

    @property
    def sizes(self):
        """Numbers of slopes, intercepts, logits of guessing, and of what the prior learns."""
        n = self.n_items
        n_slopes = 1 if self.model in {"1PL", "Rasch"} else n
        n_learned = {"weak": 1 if n_slopes == 1 else 2}.get(self.prior, 0)
        return [n_slopes, n, n if self.model == "3PL" else 0, n_learned]

    def split(self, x):
        """Slopes (Rasch: the SD of ability), intercepts, logits of guessing, location, log τ."""
        return np.split(x, np.cumsum(self.sizes)[:-1])

    def by_node(self, x):
        """Log of the probability of a respondent's answers and of each node, (n, 401)."""
        slope, intercept, logit, _ = self.split(x)
        z = THETA[:, None] * slope + intercept
        guessing = 1 / (1 + np.exp(-logit)) if len(logit) else 0.0
        # c + (1 − c)/(1 + e⁻ᶻ) = (1 + c·e⁻ᶻ)/(1 + e⁻ᶻ), and 1 less that is (1 − c)/(1 + eᶻ)
        log_right = np.log(1 + guessing * np.exp(-z)) - np.log(1 + np.exp(-z))
        log_wrong = np.log(1 - guessing) - np.log(1 + np.exp(z))
        wrong = self.trials - self.right
        return self.right @ log_right.T + wrong @ log_wrong.T + LOG_WEIGHTS

    def log_likelihood(self, x):
        """Marginal log-likelihood."""
        joint = self.by_node(x)
        peak = joint.real.max(axis=1, keepdims=True)
        return (peak[:, 0] + np.log(np.exp(joint - peak).sum(axis=1))).sum()

    def objective(self, x):
        """Log-likelihood plus log prior."""
        return self.log_likelihood(x) + PRIORS[self.prior](*self.split(x))

    def abilities(self, x):
        """Posterior means and SDs in units in which ability is N(0, 1)."""
        posterior = np.exp(self.by_node(x) - self.by_node(x).max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        mean = posterior @ THETA
        return mean, np.sqrt(posterior @ THETA**2 - mean**2)


def normal(value, mean, sd):
    return -0.5 * (((value - mean) / sd) ** 2).sum()


def size(slope):
    """Absolute values, by a formula that a complex step goes through."""
    return np.sqrt(slope**2)


def no_prior(*_):
    return 0.0


def prior_of_guessing(_slope, _intercept, logit, _learned):
    """Logit of guessing N(−1.1, 0.5²)."""
    return normal(logit, -1.1, 0.5)


def prior_of_items(slope, intercept, _logit, _learned):
    """Slopes N(1, 0.6²), intercepts N(0, 2²)."""
    return normal(slope, 1.0, 0.6) + normal(intercept, 0.0, 2.0)


def weak_prior(slope, intercept, logit, learned):
    """The prior that the docstring of ``irtkit.WeakPrior`` defines, at its default values."""
    location = learned[0]
    total = normal(intercept - location * slope, 0.0, 3.0) + normal(location, 0.0, 5.0)
    if len(slope) == 1:
        total += normal(np.log(size(slope)), 0.0, 1.0)
    else:
        log_scale = learned[1]
        off = (np.arcsinh(slope / np.exp(log_scale)) - np.arcsinh(1.0)) / 0.3
        total += -2.5 * np.log(1 + off**2 / 4).sum() + normal(log_scale, 0.0, 1.0)
        steep = size(slope)[size(slope).real > 20]
        total += normal(np.log(steep / 20), 0.0, 0.5)
    if len(logit):
        guessing = 1 / (1 + np.exp(-logit))
        total += (4 * np.log(guessing) + 16 * np.log(1 - guessing)).sum()
    return total


PRIORS = {
    "none": no_prior,
    "weak": weak_prior,
    "slope and intercept": prior_of_items,
    "logit of guessing": prior_of_guessing,
}


def gradient(case, x):
    """Gradient of the objective by complex steps."""
    steps = 1j * SMALL * np.eye(len(x))
    return np.array([case.objective(x + step).imag / SMALL for step in steps])


def hessian(case, x):
    """Second derivatives of the objective by central differences of the gradient."""
    steps = STEP * np.eye(len(x))
    rows = [(gradient(case, x + step) - gradient(case, x - step)) / (2 * STEP) for step in steps]
    return 0.5 * (np.array(rows) + np.array(rows).T)


def maximum(case):
    """Where the objective is largest, and the covariance of the parameters there."""
    n_slopes, n_items, n_logits, n_learned = case.sizes
    start = np.concatenate(
        [np.ones(n_slopes), np.zeros(n_items), np.full(n_logits, -1.5), np.zeros(n_learned)]
    )
    x = minimize(
        lambda x: -case.objective(x), start, jac=lambda x: -gradient(case, x), method="BFGS"
    ).x
    curvature = hessian(case, x)
    for _ in range(5):
        x -= np.linalg.solve(curvature, gradient(case, x))
    if np.abs(gradient(case, x)).max() > 1e-8 or np.linalg.eigvalsh(curvature).max() >= 0:
        raise ArithmeticError(f"{case.data} {case.model} {case.prior}: this is no maximum")
    return x, np.linalg.inv(-hessian(case, x))


def named(case, x):
    """Parameters as they are reported, by name; a complex step goes through."""
    slope, intercept, logit, _ = case.split(x)
    if case.model == "Rasch":
        return {"intercept": intercept, "difficulty": -intercept, "latent_sd": slope}
    each = slope * np.ones(case.n_items)
    found = {"discrimination": each, "intercept": intercept, "difficulty": -intercept / each}
    return found | ({"guessing": 1 / (1 + np.exp(-logit))} if len(logit) else {})


def reference(case):
    """What a fit must find."""
    x, covariance = maximum(case)
    steps = 1j * SMALL * np.eye(len(x))
    found = {"log_likelihood": case.log_likelihood(x)}
    for name, values in named(case, x).items():
        jacobian = np.array([named(case, x + step)[name].imag / SMALL for step in steps])
        found[name] = values
        found[f"{name}_se"] = np.sqrt(np.einsum("ij,ik,kj->j", jacobian, covariance, jacobian))
    mean, sd = case.abilities(x)
    units = x[0] if case.model == "Rasch" else 1.0
    found |= {"ability": units * mean[:N_ABILITIES], "ability_se": units * sd[:N_ABILITIES]}
    about = {"data": case.data, "model": case.model, "prior": case.prior}
    return about | {name: rounded(values) for name, values in found.items()}


def rounded(values):
    """Plain numbers, as they are stored."""
    return np.vectorize(lambda value: float(f"{value:.{DIGITS}g}"))(values).tolist()


def simulated(name):
    """Right answers and trials, respondents × items."""
    n, n_items, seed = {"missing": (200, 8, 1), "guessed": (300, 6, 2), "repeated": (60, 5, 3)}.get(
        name, (40, 30, 4)
    )
    generator = np.random.default_rng(seed)
    slope, intercept = generator.lognormal(0.0, 0.3, n_items), generator.normal(size=n_items)
    if name == "few":
        slope[::10] *= -1
    chance = 1 / (1 + np.exp(-(generator.normal(size=(n, 1)) * slope + intercept)))
    if name == "guessed":
        chance = 0.2 + 0.8 * chance
    trials = np.ones((n, n_items), dtype=int)
    if name == "missing":
        trials[generator.random(trials.shape) < 0.1] = 0
    if name == "repeated":
        trials = generator.integers(0, 6, trials.shape)
    return generator.binomial(trials, chance), trials


FITS = {
    "missing": [
        ("Rasch", "none"),
        ("1PL", "none"),
        ("2PL", "none"),
        ("1PL", "weak"),
        ("2PL", "weak"),
    ],
    "guessed": [("3PL", "logit of guessing"), ("3PL", "weak")],
    "repeated": [("2PL", "none"), ("2PL", "weak"), ("2PL", "slope and intercept")],
    "few": [("1PL", "none"), ("2PL", "weak"), ("2PL", "slope and intercept")],
}


def main():
    """Write responses and references."""
    references = []
    for name, fits in FITS.items():
        right, trials = simulated(name)
        if name == "repeated":
            np.savetxt(FOLDER / "simulated_repeated_right.csv", right, fmt="%d", delimiter=",")
            np.savetxt(FOLDER / "simulated_repeated_trials.csv", trials, fmt="%d", delimiter=",")
        else:
            cells = np.where(trials > 0, right, -1)
            np.savetxt(FOLDER / f"simulated_{name}.csv", cells, fmt="%d", delimiter=",")
        references += [reference(Case(name, *fit, right, trials)) for fit in fits]
    lines = ",\n".join(json.dumps(one) for one in references)
    (FOLDER / "simulated_references.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
