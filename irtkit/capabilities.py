"""Which function has a meaning for which data: one table.

A response matrix and a result give their traits, a frozenset. A row of `LIMITS` lists the traits
that a function, a method or a setting has no meaning for. `require` refuses those. The page "Which
function do I call?" prints the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from irtkit.checks import did_you_mean
from irtkit.findings import as_typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARKS = "items without ordered levels"
LEVELS = "ordered levels"
SCORES = "scores between 0 and 1"
TRIALS = "repeated trials"
SEVERAL = "several abilities"
ONE = "one ability"
SPARSE = "sparse responses"
SYNTHETIC = "synthetic respondents"
FEW = "fewer than 20 systems"
UNSAVED = "a result without its responses"
VARIATIONAL = "a variational fit"
ON_DEVICES = "a fit on a mesh"
NO_GUESSING = "a model without guessing"
EMPIRICAL = "the empirical prior"
_SHORT = 2  # Letters of a name up to which it is not searched for in others.
FEWEST = 20
"""Systems from which on responses are not `FEW`: the least for two groups of ten."""


class Limit(NamedTuple):
    """A trait that something has no meaning for."""

    trait: str
    reason: str  # Why, as a clause.
    instead: str  # What to do, as a sentence without its full stop.


class UnsuitableDataError(ValueError, AttributeError):
    """Data that a function, a method or a setting has no meaning for.

    It is an AttributeError too, since ``hasattr`` is to answer no for such a method of a result.
    """

    def __init__(self, feature: str, limit: Limit) -> None:
        instead = as_typed(limit.instead)
        super().__init__(f"{feature} is not for {limit.trait}: {limit.reason}. {instead}")
        self.feature = feature
        self.limit = limit


def _one_ability(reason: str, instead: str = "Fit the data with abilities=1") -> Limit:
    return Limit(SEVERAL, reason, instead)


_SAVED = Limit(UNSAVED, "it needs them", "Save results with include_responses=True")
_DENSE = Limit(
    SPARSE,
    "it needs every cell in a table",
    "Use .to_dense() if that is small enough, else .observed",
)
_AT_A_THRESHOLD = "Fit the 2PL to scores at or above a threshold"
_NO_LEVELS = Limit(LEVELS, "it counts right and wrong answers", _AT_A_THRESHOLD)
_OF_SEVERAL = Limit(ONE, "it shows two", "Fit with abilities=2, or see plots.wright_map")
_OF_LEVELS = Limit(MARKS, "it shows the levels", "Fit the GPCM, or read with levels=True")
_NO_SCORES = Limit(SCORES, "it counts right and wrong answers", "Read them with threshold=")
_NO_TRIALS = Limit(TRIALS, "it takes one response a cell", "Fit one run of each (repeats='first')")
_TEN_IN_A_GROUP = Limit(
    FEW, "its test needs ten in each of two groups", "Add systems, or compare their accuracy"
)
_REAL = Limit(SYNTHETIC, "it is fitted to real respondents alone", "Use responses.drop(…)")
_POINTS = Limit(LEVELS, "they are fitted by EM with a weak prior or none", "Leave it out")
_AXES = Limit(SEVERAL, "they are fitted as the 2PL by EM of their own", "Leave it out")
_TABLE_OF_MARKS = (
    _DENSE,
    Limit(TRIALS, "it has one number a cell", "Use .successes and .trials"),
    Limit(SCORES, "it has whole numbers", "Use .scores"),
)
_ONE_MARK_A_CELL = (_SAVED, _NO_LEVELS, _DENSE, _NO_SCORES, _NO_TRIALS)
_NO_STEPS = Limit(SEVERAL, "their fit keeps no steps", "See result.converged")
_NO_CORRELATIONS = Limit(
    SEVERAL, "it has no derivatives by correlations of abilities", "Use item_fit, local_dependence"
)

FUNCTIONS: Mapping[str, tuple[Limit, ...]] = {
    "fit": (),
    "audit": (),
    "flag_items": (),
    "wrong_keys": (
        _SAVED,
        Limit(LEVELS, "a key says which answer is right", _AT_A_THRESHOLD),
        _DENSE,
    ),
    "similar_respondents": (_SAVED, _DENSE),
    "health": (_SAVED,),
    "leaderboard": (_SAVED,),
    "compare_systems": (_SAVED,),
    "gate": (),
    "drift": (
        _one_ability("it compares versions at one ability", "Compare versions on each task"),
        _SAVED,
        Limit(LEVELS, "it compares chances of a right answer", _AT_A_THRESHOLD),
        _DENSE,
        Limit(
            FEW,
            "its test needs as many in each version",
            "Compare two versions of one system with <irtkit.gate|irtkit gate OLD NEW>",
        ),
    ),
    "judges": (),
    "compare_difficulties": (_DENSE,),
    "difficulty.held_out_predictions": (_DENSE,),
    "score": (),
    "select_items": (_SAVED, _DENSE),
    "adaptive": (
        _SAVED,
        Limit(LEVELS, "it is told which answers are right", _AT_A_THRESHOLD),
        _DENSE,
    ),
    "link": (
        _one_ability("their axes may be turned against each other", "Fit all responses together"),
        Limit(LEVELS, "it moves one difficulty of each item", "Fit all responses together"),
    ),
    "report": (_SAVED,),
    "characteristic_curves": (_SAVED, _DENSE),
    "expected_performance": (_SAVED, _DENSE),
    "item_fit": _ONE_MARK_A_CELL,
    "respondent_fit": _ONE_MARK_A_CELL,
    "model_fit": (_NO_CORRELATIONS, *_ONE_MARK_A_CELL),
    "local_dependence": _ONE_MARK_A_CELL,
    "information": (),
    "likelihood_ratio_test": (),
    "differential_functioning": (
        _one_ability("it compares groups at one ability", "Compare groups on each task"),
        _SAVED,
        _DENSE,
        _TEN_IN_A_GROUP,
    ),
    "pass_k": (_NO_LEVELS, _NO_SCORES),
    "trend": (_one_ability("it regresses one ability on the date"), _SAVED),
    "horizon": (
        _one_ability("it regresses one ability on the date"),
        _SAVED,
        Limit(LEVELS, "it asks which tasks are done right half of the time", _AT_A_THRESHOLD),
    ),
    "plots.item_map": (),
    "plots.item_curves": (),
    "plots.category_curves": (_OF_LEVELS,),
    "plots.marks": (_SAVED, _DENSE),
    "result.category_probability": (_OF_LEVELS,),
    "plots.wright_map": (),
    "plots.information": (),
    "plots.average_error": (),
    "plots.trace": (_NO_STEPS,),
    "plots.leaderboard": (_SAVED,),
    "plots.task_heatmap": (_SAVED,),
    "plots.ability_scatter": (_OF_SEVERAL,),
}
"""Functions of the manual's questions, in its order."""

SETTINGS: Mapping[str, tuple[Limit, ...]] = {
    # of fit
    "abilities=": (_DENSE, _REAL),
    "a model other than the 2PL": (_AXES,),
    "GPCM": (_DENSE, _REAL),
    "GRM": (_DENSE, _REAL),
    "method=": (_AXES,),
    "method='vi'": (_POINTS,),
    "mesh=": (_POINTS, _DENSE),
    "prior=None": (Limit(VARIATIONAL, "a posterior needs a prior", "Use prior='weak'"),),
    "prior=ItemPrior": (_POINTS, _AXES),
    "prior='empirical'": (_POINTS,),
    "prior=WeakPrior": (_AXES,),
    "difficulty_mean=": (Limit(VARIATIONAL, "it is a prior of EM", "Use method='em'"),),
    "quadrature=": (_AXES,),
    "fixed=": (
        _POINTS,
        _AXES,
        Limit(VARIATIONAL, "items are fixed in EM alone", "Use method='em'"),
        Limit(ON_DEVICES, "items are fixed on one device", "Leave the mesh out"),
        Limit(EMPIRICAL, "fixed items are not learned from", "Use prior='weak'"),
    ),
    # of reading and writing
    "levels=": (_DENSE, _NO_TRIALS),
    "merge": (Limit(LEVELS, "its file would hold them as trials", "Join the tables with pandas"),),
    "format='wide'": (_DENSE, Limit(TRIALS, "it has one response a cell", "Use format='long'")),
    # of questions
    "families=": (_one_ability("evidence is clustered along one ability"), _SAVED, _DENSE),
    "chance=": (Limit(NO_GUESSING, "it is compared with guessing", "Fit the 3PL"),),
    "poor_fit=": _ONE_MARK_A_CELL,
    "predictions=": (_SAVED,),
    "of='these'": (_one_ability("it ranks by one ability"),),
    "leaderboard(families=)": (_one_ability("errors are clustered along one ability"),),
    # attributes
    ".values": _TABLE_OF_MARKS,
    ".scores": (_DENSE,),
    ".successes": (_DENSE,),
    ".trials": (_DENSE,),
    "patterns": (_SAVED,),
}
LIMITS = {**FUNCTIONS, **SETTINGS}


class Answer(NamedTuple):
    """What answers a word that people try: in Python, and on the command line."""

    python: str
    command: str


_HEALTH = Answer("irtkit.health(result)", "irtkit health")
_BOARD = Answer("irtkit.leaderboard(result)", "irtkit leaderboard")
_AUDIT = Answer("irtkit.audit(result)", "irtkit audit")
_FIT = Answer("irtkit.fit(responses)", "irtkit fit")
_READ = Answer("irtkit.read_responses(path)", "irtkit inspect")
_ITEMS = Answer("irtkit.fit(responses).items", "irtkit fit")
_ABILITY = Answer("irtkit.fit(responses).respondents", "irtkit fit")
_PAIR = Answer("irtkit.compare_systems(result, a, b)", "irtkit compare-systems")
_PLOTS = Answer("irtkit.plots", "irtkit report")
_GROUPS = Answer("irtkit.differential_functioning(responses, group)", "irtkit differential")
_DUPLICATES = Answer(
    "irtkit.health(result) for items, irtkit.similar_respondents(result) for systems",
    "irtkit health for items, irtkit audit for systems",
)
_PLAN = Answer(
    "irtkit.health(result).to_add, irtkit.compare_systems(result, a, b).items_needed",
    "irtkit health (items to add), irtkit compare-systems (items that show a difference)",
)
_VERSIONS = Answer(
    "irtkit.drift(old, new) for a benchmark, irtkit.gate(old, new) for one system",
    "irtkit drift (a benchmark), irtkit gate (one system)",
)
ASKED: Mapping[str, Answer] = {
    "ab_test": _PAIR,
    "ability": _ABILITY,
    "alpha": _HEALTH,
    "calibrate": _FIT,
    "ceiling": _HEALTH,
    "check": _AUDIT,
    "compare": Answer(
        "irtkit.compare_systems(result, a, b), or irtkit.compare_difficulties(result) of items",
        "irtkit compare-systems for systems, irtkit compare for items",
    ),
    "csv": _READ,
    "dif": _GROUPS,
    "dimensions": Answer("irtkit.fit(responses, abilities='auto')", "irtkit fit --abilities auto"),
    "discrimination": _ITEMS,
    "drop": _HEALTH,
    "duplicates": _DUPLICATES,
    "equate": Answer("irtkit.link(first, second)", "irtkit fit --fixed"),
    "flag": _AUDIT,
    "guessing": _ITEMS,
    "inspect": _READ,
    "irt": _FIT,
    "items": _ITEMS,
    "kappa": Answer("irtkit.fleiss_kappa(ratings)", "irtkit.fleiss_kappa in Python"),
    "logs": _READ,
    "merge": Answer("irtkit.read_responses([first, second])", "irtkit merge"),
    "mislabeled": _AUDIT,
    "mislabelled": _AUDIT,
    "outliers": _AUDIT,
    "plan": _PLAN,
    "plot": _PLOTS,
    "plots": _PLOTS,
    "power": _PLAN,
    "predict": Answer("irtkit.fit(responses).probability()", "irtkit score"),
    "rank": _BOARD,
    "ranking": _BOARD,
    "rasch": Answer("irtkit.fit(responses, 'Rasch')", "irtkit fit --model Rasch"),
    "read": _READ,
    "sample_size": _PLAN,
    "saturated": _HEALTH,
    "saturation": _HEALTH,
    "select": Answer("irtkit.select_items(result, k)", "irtkit select"),
    "scores": _BOARD,
    "simulate": Answer(
        "irtkit.simulate_responses(items, abilities)", "irtkit.simulate_responses in Python"
    ),
    "subset": Answer("irtkit.select_items(result, k)", "irtkit select"),
    "summary": Answer("print(irtkit.fit(responses))", "irtkit fit"),
    "suspects": _AUDIT,
    "systems": _ABILITY,
    "theta": _ABILITY,
    "to_csv": Answer("irtkit.write_table(irtkit.fit(responses).items, path)", "irtkit fit --out"),
    "versions": _VERSIONS,
}
"""Words that people try as functions or commands, and what to use."""


def answer_to(word: str) -> Answer | None:
    """What answers a word that people try, or a name that holds one, such as read_logs."""
    name = word.lower()
    return next((ASKED[part] for part in (name, *name.split("_")) if part in ASKED), None)


def no_attribute(
    owner: str, name: str, names: Iterable[str], tables: Mapping[str, Iterable[str]]
) -> AttributeError:
    """The error for an attribute that is not there, which names what answers it.

    ``tables`` has the columns of the tables of the owner, by their names.
    """
    where = f"{owner}.{name}"
    answer = answer_to(name)
    if answer is not None and f".{owner}(" in answer.python:
        answer = None  # which this is already
    if answer is None or name.lower() not in ASKED:
        for function in FUNCTIONS:
            if function in {name, f"plots.{name}"}:
                return AttributeError(f"{where} is the function irtkit.{function}")
        is_part = len(name) > _SHORT  # or it is in words that have nothing to do with it
        places = [f"{owner}.{other}" for other in names if tables and is_part and name in other]
        for table, columns in tables.items():
            like = [str(column) for column in columns if is_part and name in str(column)]
            places += [f"{owner}.{table}[{min(like, key=len)!r}]"] if like else []
        if places:
            return AttributeError(f"{where} is in {' and '.join(places)}")
        suggestion = did_you_mean(name, names)
        if suggestion or answer is None:
            return AttributeError(f"{owner} has no attribute {name}{suggestion}")
    python = answer.python
    if owner == "result":
        python = python.replace("irtkit.fit(responses)", owner)
    return AttributeError(f"{where} is answered by {python}")


def limit_of(feature: str, given: object) -> Limit | None:
    """First limit of a feature that responses, a result, items or their traits meet."""
    limits = LIMITS[feature]
    traits = given if isinstance(given, frozenset) else getattr(given, "traits", None)
    if not isinstance(traits, frozenset):
        return None
    return next((limit for limit in limits if limit.trait in traits), None)


def require(feature: str, given: object) -> None:
    """Refuse what a function or a setting has no meaning for.

    Raises
    ------
    UnsuitableDataError
        If a limit of the feature is a trait of the responses, the result or the items given.
    """
    limit = limit_of(feature, given)
    if limit is not None:
        raise UnsuitableDataError(feature, limit)
