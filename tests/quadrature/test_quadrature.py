"""Engines against the definition and each other, and nodes that follow the items."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from irtkit import ItemParameters, add_synthetic, simulate_responses
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import Items
from irtkit.quadrature import Grid, NodeDensity, engines, fixed_nodes
from irtkit.quadrature.compiled import JaxEngine
from irtkit.quadrature.engines import NumpyEngine, engine_of, posterior_weights

# Both engines against the definition, against each other, and on adaptive nodes
ENGINES = [NumpyEngine, JaxEngine]
CELLS = [("2PL", 0.0, 1), ("2PL", 0.3, 1), ("3PL", 0.0, 1), ("3PL", 0.3, 1), ("2PL", 0.2, 3)]
slow = pytest.mark.slow  # each shape of responses is compiled for itself, which takes a second
ENGINES_AND_CELLS = [
    *((NumpyEngine, *cells) for cells in CELLS),
    (JaxEngine, *CELLS[3]),
    pytest.param(JaxEngine, *CELLS[4], marks=slow),
]
WIDE = 3.0


def drawn(model, missing, trials=1, n_items=12):
    generator = np.random.default_rng(3)
    items = ItemParameters(
        generator.normal(0.8, 0.8, n_items),
        generator.normal(0, 1, n_items),
        np.full(n_items, 0.2 if model == "3PL" else 0.0),
    )
    abilities = generator.normal(size=40)
    return simulate_responses(items, abilities, missing=missing, trials=trials, seed=5), items


def as_arrays(items):
    c = items.guessing
    logit = np.log(c / (1 - c)) if c.any() else None
    return Items(items.discrimination, items.intercept, logit)


def grid_of(nodes):
    return Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in (1.0, WIDE)]))


def plain_log_likelihood(responses, items, theta):
    """Log-likelihood of every respondent at every ability, written as the definition says."""
    p = items.probability(theta)
    right = responses.successes.astype(float)
    wrong = responses.trials - right
    return np.asarray(right @ np.log(p).T + wrong @ np.log1p(-p).T)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("model", "missing", "trials"), CELLS)
def test_posteriors_are_what_the_definition_gives(engine, model, missing, trials):
    responses, items = drawn(model, missing, trials)
    theta = np.linspace(-6, 6, 61)
    weights = norm.logpdf(theta) - logsumexp(norm.logpdf(theta))
    joint = plain_log_likelihood(responses, items, theta) + weights
    marginal = logsumexp(joint, axis=1)
    mean = np.exp(joint - marginal[:, None]) @ theta

    rows = patterns_of(responses, synthetic_is_real=False)
    grid = grid_of(fixed_nodes(61, 6.0))
    found = engine(rows).posteriors(as_arrays(items), grid)
    assert found.log_marginal == pytest.approx(marginal, abs=1e-10)
    assert found.mean == pytest.approx(mean, abs=1e-10)
    (part,) = posterior_weights(rows, as_arrays(items), grid)
    assert grid.nodes.theta @ part.weights == pytest.approx(mean, abs=1e-10)


@pytest.mark.parametrize(("engine", "model", "missing", "trials"), ENGINES_AND_CELLS)
def test_sums_are_those_of_the_posteriors_and_the_gradient_their_derivative(
    engine, model, missing, trials
):
    responses, items = drawn(model, missing, trials)
    crowd = responses
    if trials == 1:
        crowd = add_synthetic(responses, ("always-right", "always-wrong"))
    computed = engine(patterns_of(crowd, synthetic_is_real=False))
    arrays, nodes = as_arrays(items), fixed_nodes(41, 6.0)
    if engine is NumpyEngine:  # the other is held to it on such nodes
        nodes = NodeDensity.of(arrays, 8.0, 1.0, share=10.0).nodes(2)
        assert nodes.interpolation is not None
    grid = grid_of(nodes)
    sums, exact = computed.sums(arrays, grid, exact=True), computed.posteriors(arrays, grid)
    by_group = [exact.log_marginal[crowd.synthetic == group].sum() for group in (False, True)]
    assert sums.log_marginal == pytest.approx(np.array(by_group), abs=1e-9)
    assert sums.node_mass.sum(axis=1) == pytest.approx([40, crowd.synthetic.sum()], abs=1e-9)

    def log_likelihood(arrays):
        return float(computed.posteriors(arrays, grid).log_marginal.sum())

    # in 32 bits a respondent is off by about 1e-7
    for narrow, full in zip(computed.sums(arrays, grid), sums, strict=True):
        assert narrow == pytest.approx(full, abs=1e-4)
    step = 1e-5
    for k, name in enumerate(arrays._fields[: sums.gradient.shape[1]]):
        for item in (0, 7):
            moved = []
            for sign in (1, -1):
                values = getattr(arrays, name).copy()
                values[item] += sign * step
                moved.append(log_likelihood(arrays._replace(**{name: values})))
            expected = (moved[0] - moved[1]) / (2 * step)
            assert sums.gradient[item, k] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "missing", "trials"),
    [*(pytest.param(*of, marks=slow) for of in CELLS[:3]), *CELLS[3:]],
)
@pytest.mark.parametrize(
    ("synthetic", "interpolated"), [(True, True), pytest.param(False, False, marks=slow)]
)
def test_engines_agree(model, missing, trials, synthetic, interpolated):
    responses, items = drawn(model, missing, trials, n_items=150)
    if synthetic and trials == 1:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    rows = patterns_of(responses, synthetic_is_real=False)
    arrays = as_arrays(items)
    nodes = NodeDensity.of(arrays, 8.0, 1.0, share=float(interpolated)).nodes(2)
    assert (nodes.interpolation is not None) == interpolated
    one, other = NumpyEngine(rows), JaxEngine(rows)
    for name, value in one.sums(arrays, grid_of(nodes), exact=True)._asdict().items():
        found = getattr(other.sums(arrays, grid_of(nodes), exact=True), name)
        assert found == pytest.approx(value, abs=1e-8)
    for name, value in one.posteriors(arrays, grid_of(nodes))._asdict().items():
        expected = getattr(other.posteriors(arrays, grid_of(nodes)), name)
        assert expected == pytest.approx(value, abs=1e-9)


def test_numpy_computes_large_matrices_where_jax_is_not_installed(monkeypatch):
    patterns = patterns_of(drawn("3PL", 0.3, 1)[0], synthetic_is_real=False)
    monkeypatch.setattr(engines, "_MANY_CELLS", 1)
    assert not isinstance(engine_of(patterns, with_guessing=True), NumpyEngine)
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    assert isinstance(engine_of(patterns, with_guessing=True), NumpyEngine)


@pytest.mark.parametrize(("engine", "model", "missing", "trials"), ENGINES_AND_CELLS)
@pytest.mark.parametrize("synthetic", [pytest.param(False, marks=slow), True])
def test_frequencies_give_the_sums_of_repeated_rows(engine, model, missing, trials, synthetic):
    responses, items = drawn(model, missing, trials)
    distinct = patterns_of(responses, synthetic_is_real=False)
    if synthetic:
        group = (np.arange(40) % 3 == 0).astype(np.int8)
        distinct = Patterns(distinct.cells, distinct.trials, group)
    times = np.random.default_rng(1).integers(1, 5, 40)
    repeated = distinct.chosen(np.repeat(np.arange(40), times))
    counted = distinct.with_weights(times.astype(float))
    arrays, grid = as_arrays(items), grid_of(fixed_nodes(41, 6.0))
    for exact, error in ((True, 1e-9), (False, 1e-3)):
        one, other = (engine(rows).sums(arrays, grid, exact=exact) for rows in (repeated, counted))
        for expected, found in zip(one, other, strict=True):
            assert found == pytest.approx(expected, abs=error)
    one, other = (engine(rows).posteriors(arrays, grid) for rows in (repeated, counted))
    for expected, found in zip(one, other, strict=True):
        assert np.repeat(found, times) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("negative", [False, True])
def test_a_table_of_scores_gives_what_every_respondent_by_themselves_gives(negative):
    generator = np.random.default_rng(11)
    slope = generator.lognormal(0, 0.5, 9) * np.where(np.arange(9) % 3 == 0, -1, 1) ** negative
    arrays = as_arrays(ItemParameters.from_difficulty(slope, generator.normal(size=9)))
    cells = generator.integers(0, 2, (300, 9), dtype=np.int8)
    rows, columns = generator.integers(1, 5, 300), generator.integers(1, 3, 9)
    counted = Patterns(cells, None, np.zeros(300, dtype=np.int8)).with_weights(
        rows.astype(float), columns.astype(float)
    )
    grid = grid_of(NodeDensity.of(arrays, 8.0, 1.0, columns).nodes())
    by_table, one_by_one = NumpyEngine(counted), JaxEngine(counted)
    for found, expected in zip(
        by_table.sums(arrays, grid), one_by_one.sums(arrays, grid, exact=True), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-5)
    for found, expected in zip(
        by_table.posteriors(arrays, grid), one_by_one.posteriors(arrays, grid), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("grid", [(60, 6.0), (3, 1.0)])
@pytest.mark.parametrize("by_step", [0.5, 1.01, 40.0])
def test_the_share_of_a_normal_on_a_grid_agrees_with_infinitely_many_nodes(grid, by_step):
    n_nodes, limit = grid
    nodes, step = fixed_nodes(n_nodes, limit), 2 * limit / (n_nodes - 1)
    long = nodes.theta[0] + step * np.arange(-2000, 2000)
    on_grid = np.arange(2000, 2000 + n_nodes)

    def log_share(log_sd, mean):
        log_density = -0.5 * ((long - mean) / np.exp(log_sd)) ** 2
        return float(logsumexp(log_density[on_grid]) - logsumexp(log_density))

    at, h = np.log(by_step * step), 1e-3
    for mean in (0.0, 0.3 * limit):
        value, by_mean, by_log_sd = nodes.log_share_of_normal(by_step * step, mean)
        assert value == pytest.approx(log_share(at, mean), abs=2e-8)
        rise = log_share(at + h, mean) - log_share(at - h, mean)
        assert by_log_sd == pytest.approx(rise / (2 * h), abs=1e-5)
        k = h * step
        rise = log_share(at, mean + k) - log_share(at, mean - k)
        assert by_mean * step == pytest.approx(rise / (2 * h), abs=1e-4)
