"""How often tests of models raise an alarm where the model holds: a test at 5 % should in 5 %.

Items are drawn anew in every set. `model_fit`: S-X², lz and Q3. `levels`: respondents, and
items of two samples that are linked. `differential`: items that differ between groups, and families
of near-copies. `likelihood_ratio`: families of copies; "unscaled" is the test without regard to
near-duplicates. `versions`: two versions of a benchmark. `anchors`: items held fixed, some of which
leaked.
"""

from collections import namedtuple

import numpy as np
from machine import part
from scipy.stats import chi2
from simulated import items_of
from study import run, study

import irtkit

LEVEL = 0.05


Null = namedtuple(
    "Null", "n_respondents n_items n_sets model prior kind", defaults=("2PL", "weak", "")
)


def named(setting):
    """What data are drawn, from the model that is fitted."""
    prior = "" if setting.prior else ", no prior"
    kind = f", {setting.kind}" if setting.kind else ""
    return f"{setting.n_respondents:,} × {setting.n_items:,} {setting.model}{prior}{kind}"


NULLS = (
    *(Null(1000, 5, 120), Null(1000, 20, 30), Null(500, 40, 15), Null(500, 40, 15, prior=None)),
    *(Null(500, 40, 30, "1PL"), Null(1000, 20, 40, "Rasch"), Null(2000, 30, 40, "3PL")),
    Null(1000, 40, 30, kind="negative"),
    *(Null(1000, 40, 15, kind="skewed"), Null(1000, 40, 15, kind="missing"), Null(2000, 120, 5)),
    *(Null(200, 200, 4), Null(200, 1000, 2), Null(50, 1000, 2), Null(30, 500, 4)),
)


def draw(setting, seed):
    """Responses from the model."""
    generator = np.random.default_rng([seed, *setting[:2]])
    items = items_of(generator, setting.n_items, setting.model)
    if setting.kind == "negative":
        sign = np.where(generator.random(setting.n_items) < 0.07, -1, 1)
        items = irtkit.ItemParameters(sign * items.discrimination, items.intercept, items.guessing)
    ability = generator.normal(size=setting.n_respondents)
    if setting.kind == "skewed":
        ability = generator.exponential(size=setting.n_respondents) - 1
    missing = 0.01 if setting.kind == "missing" else 0.0
    return irtkit.simulate_responses(items, ability, missing=missing, seed=generator)


def fitted(setting, seed):
    """A fit of the model without standard errors."""
    responses, prior = draw(setting, seed), setting.prior
    return irtkit.fit(responses, setting.model, prior=prior, standard_errors=False)


def share_below(p, level=LEVEL):
    """Share of the known p-values below a level."""
    known = np.asarray(p)[~np.isnan(p)]
    return float((known < level).mean()) if len(known) else float("nan")


def pooled(case, measure, n_sets):
    """What is measured in all data sets, one after the other."""
    rows = [measure(case, seed) for seed in range(n_sets)]
    return {name: np.concatenate([np.atleast_1d(row[name]) for row in rows]) for name in rows[0]}


def p_of_fit(setting, seed):
    """p-values of S-X², lz and Q3."""
    result = fitted(setting, seed)
    pairs = irtkit.local_dependence(result, threshold=0.0, top=None)
    tables = {"s_x2": irtkit.item_fit(result), "lz": irtkit.respondent_fit(result), "q3": pairs}
    return {name: table["p_value"].to_numpy() for name, table in tables.items()}


def null(setting):
    """Alarms where the model holds."""
    p = pooled(setting, p_of_fit, setting.n_sets)
    n_items = int((~np.isnan(p["s_x2"])).sum())
    shares = {f"{name}_05": share_below(of_test) for name, of_test in p.items()}
    return {"data": named(setting), "n_items": n_items, "sets": setting.n_sets, **shares}


def model_fit():
    """S-X², lz and Q3 of data from the model that is fitted."""
    return {"null": map(null, part(NULLS, 14))}


RESPONDENTS = (
    *(Null(1000, 5, 60), Null(1000, 10, 60), Null(1000, 20, 60), Null(500, 40, 60)),
    *(Null(500, 40, 60, "1PL"), Null(1000, 60, 40), Null(2000, 30, 40, "3PL")),
    *(Null(200, 100, 60), Null(300, 300, 20), Null(500, 40, 40, prior=None)),
)


LINKED = (
    *(Null(600, 5, 80), Null(600, 10, 60), Null(600, 20, 40), Null(600, 40, 40)),
    *(Null(2000, 40, 30), Null(300, 40, 40), Null(150, 100, 20), Null(100, 30, 40)),
    *(Null(600, 40, 40, "1PL"), Null(600, 40, 40, "Rasch"), Null(2000, 30, 30, "3PL")),
)


def of_respondents(setting, seed):
    """Respondents called on clean data, and the mean infit."""
    result = fitted(setting, seed)
    table = irtkit.respondent_fit(result)
    called = (table["q_value"] < LEVEL).any()
    infit = irtkit.item_fit(result)["infit"].mean()
    return {"p": table["p_value"].to_numpy(), "called": called, "infit": infit}


def of_drift(setting, seed):
    """Items that are said to drift between two samples where none does."""
    generator = np.random.default_rng([seed, setting.n_respondents, setting.n_items])
    items = items_of(generator, setting.n_items, setting.model)
    fits = []
    for mean, sd in ((0, 1), (0.7, 0.8)):
        ability = generator.normal(size=setting.n_respondents) * sd + mean
        responses = irtkit.simulate_responses(items, ability, seed=generator)
        fits.append(irtkit.fit(responses, setting.model))
    table = irtkit.link(fits[0], fits[1]).items
    return {"p": table["p_value"].to_numpy(), "called": table["drifts"].any()}


def level(setting, measure):
    """Shares of p-values, and of data sets of which something is called."""
    of_all = pooled(setting, measure, setting.n_sets)
    p, called = of_all.pop("p"), of_all.pop("called")
    return {
        "data": named(setting),
        "sets": setting.n_sets,
        "p_05": share_below(p),
        "p_001": share_below(p, 0.001),
        "sets_called": float(called.mean()),
        **{name: float(values.mean()) for name, values in of_all.items()},
    }


def levels():
    """Systems, and items that are linked."""
    return {
        "respondents": (level(setting, of_respondents) for setting in part(RESPONDENTS, 0)),
        "drift": (level(setting, of_drift) for setting in part(LINKED, 6)),
    }


Groups = namedtuple(  # Families lie within groups, or across them.
    "Groups",
    "setting n_reference n_focal n_items shift missing family noise across",
    defaults=(500, 500, 40, 0.0, 0.0, 1, 0.0, False),
)
FIVES = {"n_reference": 100, "n_focal": 100, "n_items": 100, "family": 5}
GROUPS = (
    Groups("equal groups"),
    Groups("one SD apart", shift=1.0),
    Groups("one SD apart, 900 and 100", 900, 100, shift=1.0),
    Groups("one SD apart, 20 items", n_items=20, shift=1.0),
    Groups("one SD apart, 10 items", n_items=10, shift=1.0),
    Groups("one SD apart, 2,000 each, 20 items", 2000, 2000, 20, 1.0),
    Groups("one SD apart, half missing", shift=1.0, missing=0.5),
    Groups("100 each, 100 items, one SD apart", 100, 100, 100, 1.0),
    Groups("30 each, 100 items, one SD apart", 30, 30, 100, 1.0),
    Groups("10 each, 200 items, one SD apart", 10, 10, 200, 1.0),
    Groups("families of 5, 20 in each group", **FIVES, noise=0.05),
    Groups("families of 5, one SD apart", **FIVES, noise=0.05, shift=1.0),
    Groups("families of 5, 20 % differ", **FIVES, noise=0.2),
    Groups("families of 5 across groups", **FIVES, noise=0.05, across=True),
)


def of_groups(s, seed):
    """p-values of items, none of which differs between two groups."""
    g = np.random.default_rng([seed, 8])
    focal = np.repeat([False, True], [s.n_reference, s.n_focal])
    items = items_of(g, s.n_items)
    p = items.probability(g.normal(size=len(focal)) - s.shift * focal)
    right = g.random(p.shape) < p
    if s.family > 1:
        first = np.arange(len(focal)) // s.family * s.family
        right = right[first] ^ (g.random(p.shape) < s.noise)
        if s.across:
            focal = np.arange(len(focal)) % 2 == 1
    values = right.astype(np.int8)
    values[g.random(values.shape) < s.missing] = -1
    responses = irtkit.ResponseMatrix(values)
    groups = np.where(focal, "focal", "ref").tolist()
    table = irtkit.differential_functioning(responses, groups, reference="ref", focal="focal")
    return {"p": table["p_value"].to_numpy()}


def differential(items=2000):
    """Tests of differential item functioning, of so many items of every setting."""

    def record(case):
        sets = max(round(items / case.n_items), 6)
        low = share_below(pooled(case, of_groups, sets)["p"])
        return {**case._asdict(), "data_sets": sets, "low": low}

    return {"studies": map(record, part(GROUPS, 0, 7))}


Versions = namedtuple(
    "Versions", "n shift n_drifting systems repeats n_items", defaults=(10, "others", 0.0, 200)
)
VERSIONS = (
    *(Versions(60, 0.0), Versions(60, 0.5), Versions(60, 0.5, systems="the same")),
    *(Versions(60, 0.5, systems="the same", repeats=share) for share in (0.5, 0.8)),
    *(Versions(200, 0.0), Versions(200, 0.5), Versions(60, 0.5, n_drifting=0)),
)


def drifted(setting, seed):
    """Calls of drift, and whether the shift of scores lies within its interval."""
    generator = np.random.default_rng([seed, 3, setting.n])
    items = items_of(generator, setting.n_items)
    drifts = generator.permutation(setting.n_items) < setting.n_drifting
    before, after = generator.normal(size=(2, setting.n))
    is_same = setting.systems == "the same"
    if is_same:
        after = before
    after = after + setting.shift
    intercept = items.intercept + 1.5 * drifts
    changed = irtkit.ItemParameters(items.discrimination, intercept, items.guessing)
    draws, fresh = generator.random((2, setting.n, setting.n_items))
    old = irtkit.ResponseMatrix(draws < items.probability(before))
    draws = np.where(generator.random(draws.shape) < setting.repeats, draws, fresh)
    labels = old.respondents if is_same else [f"new {k}" for k in range(setting.n)]
    new = irtkit.ResponseMatrix(draws < changed.probability(after), labels)
    drift = irtkit.drift(old, new)
    called = drift.items["became"].reindex(list(old.items)).to_numpy() != ""
    moved = changed.probability(after) - items.probability(after)
    true = moved[:, called].sum() / moved.size
    return {
        "found": (called & drifts).sum(),
        "false": (called & ~drifts).sum(),
        "sets_called": called.any(),
        "shift_covered": drift.shift.low <= true <= drift.shift.high if called.any() else None,
    }


def versions(data_sets=50):
    """Drift between two versions of a benchmark."""
    return {"studies": study(part(VERSIONS, 0), drifted, data_sets)}


Families = namedtuple("Families", "model families copies flips n_items")
FAMILIES = (
    *(Families("1PL", 240, 1, 0.0, n_items) for n_items in (20, 30, 60)),
    *(Families("1PL", 60, 4, 0.0, n_items) for n_items in (10, 15, 20, 30, 60)),
    *(Families("1PL", 60, 4, 0.05, n_items) for n_items in (15, 20, 30, 60)),
    Families("1PL", 30, 8, 0.05, 30),
    Families("2PL", 240, 1, 0.0, 30),
    Families("2PL", 60, 4, 0.0, 30),
    Families("2PL", 60, 1, 0.0, 30),
)


def rejected(setting, seed):
    """Whether the 1PL is rejected, and whether it is without regard to near-duplicates."""
    model, families, copies, flips, n_items = setting
    generator = np.random.default_rng([seed, families, n_items])
    slopes = np.ones(n_items) if model == "1PL" else generator.lognormal(0.0, 0.4, n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-1.5, 1.5, n_items))
    abilities = generator.normal(size=families)
    right = irtkit.simulate_responses(items, abilities, seed=generator).values
    right = np.repeat(right, copies, axis=0)
    responses = irtkit.ResponseMatrix(right ^ (generator.random(right.shape) < flips))
    settings = {"prior": None, "standard_errors": False, "progress": False}
    smaller, larger = (irtkit.fit(responses, fitted, **settings) for fitted in ("1PL", "2PL"))
    test = irtkit.likelihood_ratio_test(smaller, larger)
    unscaled = chi2.sf(test.statistic / larger.evidence, test.degrees_of_freedom)
    return {"rejected": test.p_value < LEVEL, "unscaled": unscaled < LEVEL}


def likelihood_ratio(data_sets=200):
    """How often the likelihood-ratio test rejects the 1PL."""
    return {"studies": study(part(FAMILIES, 6), rejected, data_sets)}


N_ANCHORS, N_NEW_ITEMS, SHIFT = 30, 15, 1.2


Later = namedtuple(  # Later systems have abilities of this mean and SD.
    "Later",
    "model n_earlier n_later leaked population copies n_data_sets",
    defaults=((0.0, 1.0), 1, 40),
)
LATER = (
    *(Later("2PL", earlier, 1000, 6) for earlier in (500, 1000, 5000)),
    *(Later(model, 1000, 1000, 6) for model in ("Rasch", "1PL", "3PL")),
    Later("2PL", 1000, 1000, 12),
    Later("2PL", 1000, 1000, 6, (1.0, 0.7)),
    *(Later("2PL", n, n, 0) for n in (100, 500, 2000)),
    *(Later("2PL", 500, n, 0) for n in (60, 5000)),
    *(Later(model, 500, 500, 0) for model in ("Rasch", "1PL", "3PL")),
    Later("2PL", 500, 500, 0, (1.0, 0.7)),
    Later("2PL", 500, 400, 0, copies=4),
)


def one_set(setting, seed):
    """What is found in one data set."""
    generator = np.random.default_rng([seed, setting.n_earlier, setting.n_later, setting.leaked])
    n_items = N_ANCHORS + N_NEW_ITEMS
    slope = generator.lognormal(0, 0.3 if setting.model in {"2PL", "3PL"} else 0.0, n_items)
    difficulty = generator.normal(size=n_items)
    guessing = generator.beta(5, 17, n_items) if setting.model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty, guessing)
    leaked = generator.permutation(n_items) < 0
    leaked[generator.permutation(N_ANCHORS)[: setting.leaked]] = True
    later_items = irtkit.ItemParameters(slope, items.intercept + SHIFT * leaked, items.guessing)
    mean, sd = setting.population
    ability = generator.normal(mean, sd, setting.n_later // setting.copies)
    first = irtkit.simulate_responses(
        items.chosen(slice(N_ANCHORS)), generator.normal(size=setting.n_earlier), seed=generator
    )
    drawn = irtkit.simulate_responses(later_items, ability, seed=generator)
    second = irtkit.ResponseMatrix(np.repeat(drawn.values, setting.copies, axis=0))
    earlier = irtkit.fit(first, setting.model, progress=False)
    result = irtkit.fit(second, setting.model, fixed=earlier, progress=False)
    kept = earlier.items.drop(result.items.query("drifts").index)
    after = irtkit.fit(second, setting.model, fixed=kept, progress=False)
    named = result.items["drifts"].to_numpy()
    return {
        "exactly": (named == leaked).all(),
        "false": (named & ~leaked).any(),
        "before": result.latent_mean,
        "after": after.latent_mean,
    }


def anchors():
    """How often drifted anchors are named, and how often sound ones are."""
    totals = ("exactly", "false")
    return {"studies": study(part(LATER, 8, 11), one_set, totals=totals, count="n_data_sets")}


if __name__ == "__main__":
    run(model_fit, levels, differential, likelihood_ratio, anchors, versions)
