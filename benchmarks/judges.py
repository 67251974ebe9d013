"""Judges: systems and severities from incomplete ratings, and preferences for families.

`judges`: who marks what, and how well systems and severities are recovered, beside averages and
ordinary least squares. `preferences`: one judge marks one family higher, and judges see each system
differently. `verdicts`: judges of noise and reversed ones.
"""

from collections import namedtuple

import numpy as np
import pandas as pd
from machine import part
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import lsmr
from scipy.stats import norm, spearmanr
from study import run, study

import irtkit

N_SYSTEMS, N_ITEMS = 30, 80
SDS = (1.0, 0.8, 0.7)  # Of systems, items and answers.
LEVEL = 0.05


Design = namedtuple("Design", "setting n_judges n_data_sets", defaults=(60,))
DESIGNS = (
    Design("all judges mark all answers", 3),
    Design("one random judge per answer", 3),
    Design("old and new systems, 10 % of answers by both judges", 3),
    Design("one random judge per answer", 12),
    Design("4 of 12 judges per system, one per answer", 12),
    Design("one random judge per answer", 40),
)


def kept(design, g):
    """Which marks there are, systems × items × judges."""
    shape = N_SYSTEMS, N_ITEMS
    judges = np.arange(design.n_judges)
    if design.setting.startswith("all"):
        return np.ones((*shape, design.n_judges), bool)
    if design.setting.startswith("old"):
        new = (np.arange(N_SYSTEMS) >= N_SYSTEMS // 2)[:, None]
        both = g.random(shape) < 0.1
        return np.stack([~new | both, new | both, np.zeros(shape, bool)], axis=2)
    if design.setting.startswith("4"):
        chosen = np.stack([g.permutation(design.n_judges)[:4] for _ in range(N_SYSTEMS)])
        return np.take_along_axis(chosen, g.integers(4, size=shape), axis=1)[..., None] == judges
    return g.integers(design.n_judges, size=shape)[..., None] == judges


def marked(quality):
    """Marks from 1 to 5."""
    return np.clip(np.round(3 + quality), 1, 5)


def drawn_quality(g, n_systems, n_items):
    """Quality of the answers of systems to items."""
    sizes = ((n_systems, 1), (n_items,), (n_systems, n_items))
    system, item, own = (sd * g.normal(size=size) for sd, size in zip(SDS, sizes, strict=True))
    return system + item + own


def expected_marks(severity, noise):
    """Mean mark of each judge over many answers."""
    sd = np.sqrt(np.sum(np.square(SDS)) + noise**2)
    ends = np.arange(1.5, 5)
    return 1 + norm.sf((ends - 3 + severity[:, None]) / sd[:, None]).sum(axis=1)


def table_of(marks, there):
    """A long table of ratings."""
    system, item, judge = np.nonzero(there)
    columns = {"system": system, "item": item, "judge": judge}
    named = {name: np.char.add(name, places.astype(str)) for name, places in columns.items()}
    return pd.DataFrame({**named, "score": marks[system, item, judge]})


def additive(ratings):
    """Effects of systems by ordinary least squares."""
    coded = [pd.factorize(ratings[name]) for name in ("system", "item", "judge")]
    rows = np.arange(len(ratings))
    design = hstack([csr_array((np.ones(len(rows)), (rows, places))) for places, _ in coded])
    effects = lsmr(design.tocsr(), ratings["score"].to_numpy(float), atol=1e-10, btol=1e-10)[0]
    labels = coded[0][1]
    return pd.Series(effects[: len(labels)], labels)


def recovered(design, seed):
    """How well systems and severities are recovered in one data set."""
    g = np.random.default_rng([seed, design.n_judges, len(design.setting), 52])
    severity = np.array([0.6, 0.0, -0.6])
    if design.n_judges > 3:
        severity = g.normal(0, 0.5, design.n_judges)
    noise = np.resize([0.3, 0.6, 1.0], design.n_judges)
    quality = drawn_quality(g, N_SYSTEMS, N_ITEMS)
    there = kept(design, g)
    error = noise * g.normal(size=there.shape)
    ratings = table_of(marked(quality[..., None] - severity + error), there)
    judged = irtkit.judges(ratings, score_range=(1, 5))
    result = irtkit.fit(judged.responses, standard_errors=False, progress=False)
    labels = [f"system{k}" for k in range(N_SYSTEMS)]
    truth = marked(quality).mean(axis=1)
    estimates = {
        "average": ratings.groupby("system")["score"].mean(),
        "additive": additive(ratings),
        "adjusted": result.leaderboard()["expected_score"],
    }
    record = {}
    for name, values in estimates.items():
        ordered = values.reindex(labels).to_numpy(float)
        record[f"spearman_{name}"] = spearmanr(ordered, truth)[0]
        residual = truth - np.polyval(np.polyfit(ordered, truth, 1), ordered)
        record[f"rmse_{name}"] = float(np.sqrt(np.mean(residual**2)))
    used = sorted(int(name.removeprefix("judge")) for name in judged.table.index)
    wanted = -expected_marks(severity, noise)[used]
    wanted = wanted - wanted.mean()
    table = judged.table.loc[[f"judge{k}" for k in used]]
    reach = norm.isf(0.025) * table["severity_se"].to_numpy()
    errors = table["severity"].to_numpy() - wanted
    record["correlation"] = np.corrcoef(table["severity"], wanted)[0, 1]
    record["coverage"] = (np.abs(errors) <= reach).mean()
    return record


Favour = namedtuple(
    "Favour",
    "preference views by apart sizes n_data_sets",
    defaults=("all judges", 0.0, "10, 10, 10", 100),
)
"""A preference of one judge for one family, in marks.

`views` is the SD between systems in how judges see them, in marks: all, or this one. Families are
so many SDs of ability `apart`.
"""
FAVOURS = (
    *(Favour(preference, views) for views in (0.0, 0.2) for preference in (0.0, 0.15, 0.3)),
    *(Favour(preference, 0.2, "this judge") for preference in (0.0, 0.15, 0.3)),
    *(Favour(0.0, views, apart=0.7) for views in (0.0, 0.2)),
    *(Favour(0.0, views, sizes="3, 5, 22") for views in (0.0, 0.2)),
)


def tested(case, seed):
    """What is said of preferences in one data set."""
    g = np.random.default_rng([seed, round(100 * case.preference), round(10 * case.views), 53])
    sizes = [int(size) for size in case.sizes.split(",")]
    family = np.repeat(range(3), sizes)
    judge = seed % 3
    quality = drawn_quality(g, N_SYSTEMS, N_ITEMS) + case.apart * (family - 1)[:, None]
    seen = case.views * g.normal(size=(N_SYSTEMS, 3))
    if case.by == "this judge":
        seen[:, np.arange(3) != judge] = 0.0
    seen[family == 0, judge] += case.preference
    severity, noise = np.array([0.6, 0.0, -0.6]), np.array([0.3, 0.6, 1.0])
    error = noise * g.normal(size=(*quality.shape, 3))
    marks = marked(quality[..., None] - severity + seen[:, None] + error)
    ratings = table_of(marks, np.ones(marks.shape, bool))
    of_system = {f"system{k}": f"family{f}" for k, f in enumerate(family)}
    judged = irtkit.judges(ratings, of_system, (1, 5))
    p = judged.favours["p_value"]
    planted = (f"judge{judge}", "family0")
    findings = [finding for finding in judged.findings if finding.code == "judge-favours"]
    named = {(finding.values["judge"], finding.values["family"]) for finding in findings}
    return {
        "p_below": (p <= LEVEL).mean(),
        "planted_below": p.loc[planted] <= LEVEL,
        "named": planted in named,
        "others_named": bool(named - {planted}) if case.preference else bool(named),
    }


Panel = namedtuple("Panel", "setting slopes noise n_marks n_data_sets", defaults=(9, 100))
"""Judges that mark the same answers, of which each gets at most so many marks."""
PANELS = (
    Panel("three good judges", (1, 1, 1), (0.3, 0.6, 1)),
    Panel("one with a narrow scale", (0.35, 1, 1), (0.2, 0.6, 0.6)),
    Panel("one of noise", (1, 1, 0), (0.4, 0.8, 1.2)),
    Panel("one reversed", (1, 1, -1), (0.4, 0.8, 0.6)),
    Panel("three good, noise, reversed", (1, 1, 1, 0, -1), (0.4, 0.6, 0.8, 1.2, 0.6)),
    Panel("two, one of noise", (1, 0), (0.4, 1.2)),
    Panel("two, one reversed", (1, -1), (0.4, 0.6)),
    Panel("six weak ones, two per answer", (0.5,) * 6, (1.2,) * 6, 2),
)
BLAMED = {"noise", "reversed", "constant"}


def judged(panel, seed):
    """What is said of the judges in one data set."""
    g = np.random.default_rng([seed, len(panel.setting), 54])
    slopes, noise = np.array(panel.slopes), np.array(panel.noise)
    exact = drawn_quality(g, 30, 40)[..., None] * slopes
    marks = marked(exact + noise * g.normal(size=exact.shape))
    there = g.random(marks.shape).argsort(axis=2).argsort(axis=2) < panel.n_marks
    table = irtkit.judges(table_of(marks, there), score_range=(1, 5)).table.sort_index()
    called = table["verdict"].isin(BLAMED).astype(float)
    good = slopes > 0
    variance = slopes**2 * np.sum(np.square(SDS))
    errors = table["consistency"] - variance / (variance + noise**2)
    record = {
        "named": called[~good].mean(),
        "blamed": called[good].mean(),
        "known": table["consistency"].notna()[good].mean(),
        "error": errors[good].abs().mean(),
    }
    return {name: None if np.isnan(value) else value for name, value in record.items()}


def judges():
    """Designs of ratings."""
    return {"designs": study(part(DESIGNS, 2), recovered)}


def preferences():
    """Preferences for families."""
    return {"favours": study(part(FAVOURS, 1), tested)}


def verdicts():
    """Judges of noise and reversed ones."""
    return {"panels": study(part(PANELS, 2), judged)}


if __name__ == "__main__":
    run(judges, preferences, verdicts)
