"""Tables of stored benchmark results, for the pages of the manual.

A page shows a table between ``<!-- figure NAME -->`` and ``<!-- end -->``. `generate` fills it. No
other number about speed or accuracy stands on a page, so that no number is older than the script
that printed it. A number that a script did not store is an error.
"""

from __future__ import annotations

import json
import re
import string
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
DUE = (RESULTS.parent / "DUE.txt").read_text(encoding="utf-8").split()

Record = dict[str, Any]


SHOWN: set[str] = set()
"""Names of the files of which the present table shows figures."""


def stored(name: str) -> Any:
    """What a script stored."""
    SHOWN.add(name)
    return _loaded(name)


@cache
def _loaded(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def measured() -> str:
    """When figures of the present table were measured, and at which commit."""
    found = set()
    for name in SHOWN:
        about = _loaded(name)["measured"]
        said = f"Measured on {about['date']} at commit {about['commit'][:8]}"
        if last := about.get("confirmed"):
            said += f", confirmed on {last['date']} at commit {last['commit'][:8]}"
        older = " The code has changed since then." if name in DUE else ""
        found.add(f"{said}.{older}")
    return " ".join(sorted(found))


class Cells(string.Formatter):
    """Format fields of a record. None is a dash, and so is a field ``name?`` that is missing."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        """A field of the record."""
        name = str(key)
        return kwargs.get(name[:-1]) if name.endswith("?") else super().get_value(key, args, kwargs)

    def format_field(self, value: Any, form: str) -> str:
        """A value in its format."""
        return "—" if value is None else format(value, form)


def plain(name: str) -> str:
    """The name of a board, or of a number, in words."""
    return name.replace("_", " ").replace(": ", " ")


def shape(record: Record) -> str:
    """Respondents × items, and the model."""
    size = record["shape"]
    if isinstance(size, list):
        return f"{size[0]:,} × {size[1]:,}"
    missing = f", {size['missing']:.0%} missing" if size.get("missing") else ""
    return f"{size['n_respondents']:,} × {size['n_items']:,} {size['model']}{missing}"


def fastest(fit: Record) -> Record:
    """A fit with its shortest time, and how many times irtkit is faster."""
    ratios = ("—" if ratio is None else f"{ratio:.3g}×" for ratio in fit.get("irtkit_faster", []))
    return {**fit, "s": min(fit["seconds"]), "faster": " / ".join(ratios)}


def default_calls() -> Iterator[Record]:
    """Every peer and irtkit, with the call that people type."""
    fits = stored("default_call")["fits"]
    ours = {shape(fit): fit for fit in fits if "irtkit" in fit["package"]}
    for fit in fits:
        our = ours.get(shape(fit), fit)
        if fit["seconds"] and our is not fit:
            yield {**fastest(fit), "peer": fit["package"].split(",")[0], "irtkit": fastest(our)}


def fits_alone() -> Iterator[Record]:
    """Fits of peers that ended."""
    return (fastest(fit) for fit in stored("peers")["fits"] if fit["seconds"])


def sizes() -> Iterator[Record]:
    """Time for each cell, and memory."""
    for fit in stored("scaling")["fits"]:
        memory = fit["peak_bytes"] / 2**30
        yield {**fit, "ns": fit["seconds"] / fit["cells"] * 1e9, "gib": memory}


def threads() -> Iterator[Record]:
    """Seconds on the clock with one thread and with all."""
    for fit in stored("threads")["fits"]:
        one, _, every, _ = fit["seconds"]
        yield {**fit, "one": one, "every": every}


def intervals() -> Iterator[Record]:
    """A record for every kind of parameter of every study of intervals."""
    for study in stored("coverage")["studies"]:
        for parameter in ("discrimination", "intercept"):
            prior = study["prior"] or "none"
            yield {**study, "coverage": study[parameter], "parameter": parameter, "prior": prior}


def guessing() -> Iterator[Record]:
    """Coverage of the quantiles of the three parameters, by shape and kind of data."""
    joined: dict[tuple[str, str], Record] = {}
    for row in stored("guessing")["coverage"]:
        key = shape(row), row["kind"]
        joined.setdefault(key, {**row})[row["parameter"]] = row["quantiles"]
    yield from joined.values()


def standard_errors() -> Iterator[Record]:
    """Largest deviation in all fits of a size."""
    by_size: dict[str, Record] = {}
    for fit in stored("standard_errors")["fits"]:
        size = by_size.setdefault(shape(fit), {"shape": fit["shape"], "n": 0, "largest": 0.0})
        size["n"] += 1
        size["largest"] = max(size["largest"], fit["largest"])
    yield from by_size.values()


def repeated_trials() -> Iterator[Record]:
    """Studies of repeated trials, whose numbers of trials are words."""
    for one in stored("repeated_trials")["studies"]:
        yield one | {"trials": ", ".join(map(str, one["trials"]))}


def boards() -> Iterator[Record]:
    """Comparisons on simulated boards. Only drawn abilities make pairs that surely differ."""
    for record in stored("systems")["boards"]:
        yield record if record["abilities"] == "normal" else record | {"better": None, "p": None}


def named_boards(file: str) -> Iterator[Record]:
    """Boards, whose names are words."""
    return (one | {"board": plain(one["board"])} for one in stored(file)["boards"])


def simulated_wrong_keys() -> Iterator[Record]:
    """Studies of responses that follow the model."""
    for one in stored("planted_wrong_keys")["studies"]:
        kind, _, size = one["data"].partition(" ")
        if kind == "simulated":
            yield one | {"size": size}


def few_items() -> Iterator[Record]:
    """Error of scores estimated from few items, by how the items were chosen."""
    rows: dict[tuple[str, int], Record] = {}
    for row in stored("few_items")["records"]:
        of_size = rows.setdefault((row["board"], row["k"]), {"name": plain(row["board"])})
        of_size |= {"k": row["k"], row["method"]: row}
    yield from rows.values()


def beyond() -> Iterator[Record]:
    """Coverage of the best systems, and how much wider the intervals of others are."""
    records = stored("beyond")["records"]
    others = {(row["board"], row["k"]): row for row in records if row["group"] == "any"}
    for row in records:
        if row["group"] == "best":
            other = others[row["board"], row["k"]]
            wider = other["width"] / other["closed_width"] - 1
            yield {**row, "board": plain(row["board"]), "wider": wider}


def several_covered() -> Iterator[Record]:
    """Coverage of intervals of several abilities."""
    for size, share in stored("abilities")["coverage"].items():
        yield {"size": size, "coverage": share}


def expected_difficulty() -> Iterator[Record]:
    """What predictions are worth. The study looks no further than the most answers it tried."""
    records = stored("expected_difficulty")["curves"]
    most = max(record["answers"] for record in records)
    for record in records:
        yield record | {"worth": None if record["worth"] >= most else record["worth"]}


def damaged() -> Iterator[Record]:
    """All damages to logs together."""
    names = ("damages", "matrix", "error", "failures")
    yield {name: sum(one[name] for one in stored("fuzzed_logs")["records"]) for name in names}


def near_duplicates(file: str) -> Iterator[Record]:
    """Studies of near-duplicate systems. A colon would end the name of a field."""
    return ({plain(key): value for key, value in one.items()} for one in stored(file)["studies"])


def score_boards() -> Iterator[Record]:
    """Boards of scores between 0 and 1."""
    return ({"board": name} | one for name, one in stored("scores")["boards"].items())


def by_levels(part: str) -> Iterator[Record]:
    """Studies of ordered levels, with their shape."""
    for one in stored("rubrics")[part]:
        yield one | {"sizes": " × ".join(f"{n:,}" for n in one["shape"])}


def rubric_seconds() -> Iterator[Record]:
    """Seconds of fits of ordered levels."""
    return (
        one | {"fit": one["seconds"][0], "both": one["seconds"][1]} for one in by_levels("seconds")
    )


def floor() -> Iterator[Record]:
    """Fits and the least work of a step."""
    return (one | {"prior": one["prior"] or "none"} for one in stored("floor")["fits"])


def report_page() -> Iterator[Record]:
    """Size and speed of the page."""
    return (one | {"mb": one["bytes"] / 1e6} for one in stored("report_page")["records"])


def at_chance() -> Iterator[Record]:
    """Studies of systems that guess."""
    return (one for one in stored("at_chance")["studies"] if one["wanted"] != "elsewhere")


def replications(of: str) -> Iterator[Record]:
    """Published numbers, and ours."""
    for one in stored("replications")["records"]:
        if one["of"] == of:
            yield one | {"difference": one["ours"] - one["theirs"]}


def negative_slopes() -> Iterator[Record]:
    """Shares of items with a negative slope, by mirt and by irtkit."""
    for one in stored("stored_difficulties")["negative_slopes"]:
        yield one | {"difference": one["share"] - one["of_mirt"]}


TABLES = """
default calls = default_calls
data {shape} | irtkit, s {irtkit[s]:.3g} | peer {peer} {version} | peer, s {s:.3g} |
irtkit faster: clock / processors {faster} | log-likelihood minus irtkit's {above_irtkit:+.1f}

fits alone = fits_alone
data {shape} | package {package} | s {s:.3g} |
irtkit faster: without a prior / by default {faster} |
log-likelihood minus irtkit's {above_irtkit:+.1f} | RMSE of slopes {rmse_discrimination:.3f}

size = sizes
respondents {n_respondents:,} | items {n_items:,} | seconds {seconds:.3g} | ns per cell {ns:.1f} |
peak GiB {gib:.2f}

sparse = sparse/fits
respondents {respondents:,} | items {items:,} | responses {responses:,} |
seconds: matrix {seconds_matrix:.1f} | fit with standard errors {seconds_fit:.1f} |
peak GiB {peak_gib:.2f}

copies = copies/fits
data {shape} | distinct items {distinct_items:,} | task {task} |
times less CPU time {times_less:.1f}

threads = threads
data {shape} | at the same time {beside} | s: one thread {one:.3g} | all threads {every:.3g}

intervals = intervals
data {shape} | prior {prior} | data sets {data_sets:,} | parameter {parameter} |
95 % intervals cover {coverage:.1%}

empirical prior = empirical/studies
data {shape} | SD of log slopes {spread} | RMSE of slopes, weak {rmse_weak:.3f} |
RMSE, empirical {rmse_empirical:.3f} | RMSE, known best {rmse_best:.3f} |
intervals cover, slope {covered_discrimination:.1%} |
intervals cover, intercept {covered_intercept:.1%}

posterior = variational/calibration
data {shape} | fit {fit} | parameter {parameter} | ± 1.645 SD covers {coverage:.1%} |
quantiles cover {quantiles:.1%}

guessing = guessing
data {shape} | drawn {kind} | 90 % intervals cover, slope {discrimination:.1%} |
intercept {intercept:.1%} | guessing {guessing:.1%}

chance = guessing/chance
data {shape} | guessing {guessing} | chance {way} | on average {level:.2f} |
parameter {parameter} | ± 1.96 SE covers {coverage:.1%} | off by {median_off:+.2f}

standard errors = standard_errors
data {shape} | fits {n} | off by at most {largest:.2%}

near-copies = near_duplicates near_copies
data {setting} | effective sample size {effective:.1f} | false, each counted {alone false:.1%} |
false, weighted {weighed false:.1%} | found, each counted {alone found:.1%} |
found, weighted {weighed found:.1%} | warned {warned:.0%}

few families = near_duplicates few_families
data {setting} | false, each counted {alone false:.1%} | false, weighted {weighed false:.1%} |
found, weighted {weighed found:.1%}

named families = named_families/studies
families × size, answers changed, items {setting} | called without families {unnamed called} |
false {unnamed false of all:.1%} | called with similar {similar called} |
false {similar false of all:.1%} | called with the true families {true called} |
false {true false of all:.1%}

anchors = anchors/studies
model {model} | earlier systems {n_earlier} | later systems {n_later} | drifted {leaked} |
data sets {n_data_sets} | exactly the drifted named {exactly} | a sound one named {false} |
latent mean {before:.2f} | without the named {after:.2f}

likelihood ratio = likelihood_ratio/studies
drawn from {model} | families {families} | copies of each {copies} | differ in {flips:.0%} |
items {n_items} | rejected {rejected:.1%} | unscaled {unscaled:.1%}

wrong keys = planted_wrong_keys/studies
data {data} | planted {planted} | irtkit {auc irtkit:.3f} | item–total {auc item–total:.3f} |
average error {auc average error:.3f} | mirt {auc mirt?:.3f} | found {found:.1%} |
false {false:.1%} | suspect found {suspect found:.1%} | suspect false {suspect false:.1%}

multiple choice = multiple_choice/studies
options {options} | systems {systems} | first five of an audit {audit:.1f} |
of item–total {item–total:.1f} | likely {likely:.1f} | likely but false {likely false:.2f} |
called {called:.1f} | called falsely {called false:.2f} |
sets without wrong keys, with a likely one {sets with a likely one:.0%}

probabilities of wrong keys = multiple_choice/calibration
probability from {from} | to {to} | items {items:,} | keys that are wrong {wrong:.0%}

wrong keys by systems = simulated_wrong_keys
simulated responses, systems × items {size} | wrong keys found {found:.0%} |
found or listed as suspect {suspect found:.0%} | suspects that are false {suspect false:.0%}

held out = held_out/claims
drawn from {data} | respondents {respondents} | items {items:,} | data sets {sets} |
a gain is claimed in {claims}

repeated trials = repeated_trials
respondents {n_respondents} | items {n_items} | trials {trials} |
correlation {correlation} | estimated {found:.3f} |
95 % intervals of abilities cover {covered:.1%}

boards = boards
systems × items {systems} × {items} | abilities {abilities} | answers {answers} |
all ranks {all ranks:.1%} | no pair wrong {tied:.1%} | better {better:.1%} | mean P {p:.1%}

likely ranks = named_boards rank_intervals
board {board} | likely ranks cover {likely_coverage:.1%} |
the bootstrap's cover {bootstrap_coverage:.1%} | width divided by the bootstrap's {ratio:.2f} |
width of simultaneous intervals {simultaneous_width:.1f}

scores by task = tasks/studies
items of tasks {items} | correlation of abilities {correlation} | missing {missing:.0%} |
items of a passage {passage} | scores of tasks {tasks:.1%} | least of a task {least:.1%} |
averages {average:.1%} | likely ranks {ranks:.1%} | pairs {pairs:.1%}

paired tests = named_boards paired_tests
board {board} | swapped pairs {swapped:.1%} | near-duplicates {alike:.1%}

power = systems/power
items {items:,} | simulated {simulated:.1%} | stated {formula:.1%}

gates = systems/gates
items {items:,} | trials {trials} | allowed drop {max_drop:.0%} | merges {gates:,} |
failed where the drop is just allowed {failed:.1%}

default gate = systems/by_default
items {items:,} | answers that differ between two runs of one model {differ:.0%} |
true drop {drop:.0%} | passed {passed:.1%} | inconclusive {inconclusive:.1%} |
failed {failed:.1%}

few items = few_items
board {name} | asked {k} | stratified mean {stratified, mean[rmse]:.1f} |
random, p-IRT {random, p-IRT[rmse]:.1f} | selected {fixed[rmse]:.1f} |
one by one {adaptive[rmse]:.1f} | intervals cover {fixed[holds]:.0%}

reliability = reliability/studies
responses {kind} | systems × items {systems} × {items} | data sets {sets} |
squared correlation with truth {reached:.3f} | reliability {said:.3f}

ordinary systems = beyond/ordinary
calibrated systems {calibrated} | data sets {sets} | called beyond {beyond:.1%} |
coverage {coverage:.1%}

advice = health/advice
benchmark {benchmark} | systems {systems} | sets with advice {n} | items to add {items:.0f} |
reliability reached (0.9 promised) {reached:.3f}

coverage of several abilities = several_covered
systems × tasks × items of each {size} | coverage {coverage:.1%}

beyond = beyond
board {board} | asked {k} | closed intervals cover {closed_coverage:.1%} |
intervals cover {coverage:.1%} | width {width:.0f} |
other systems, wider {wider:.1%}

fit of items = model_fit/null
data {data} | items {n_items:,} | S-X² below 0.05 {s_x2_05:.1%} | lz below 0.05 {lz_05:.1%} |
Q3 below 0.05 {q3_05:.1%}

respondents = levels/respondents
data {data} | data sets {sets} | p below 0.05 {p_05:.1%} | p below 0.001 {p_001:.2%} |
data sets with a q below 0.05 {sets_called:.1%} | mean infit of items {infit:.2f}

judges = judges/designs
who marks what {setting} | judges {n_judges} | Spearman: average {spearman_average:.3f} |
additive {spearman_additive:.3f} | adjusted {spearman_adjusted:.3f} |
RMSE: average {rmse_average:.3f} | additive {rmse_additive:.3f} | adjusted {rmse_adjusted:.3f} |
severities correlate {correlation:.3f} | their intervals cover {coverage:.1%}

preferences = preferences/favours
preference, marks {preference:g} | systems are seen differently, SD {views:g} | by {by} |
families apart, SD {apart:g} | systems in families {sizes} | data sets {data_sets} |
all p below 0.05 {p_below:.1%} | p of this judge and family below 0.05 {planted_below:.1%} |
named {named:.1%} | another is named {others_named:.1%}

verdicts = verdicts/panels
judges {setting} | data sets {data_sets} | noise or reversed, and named {named:.0%} |
others blamed {blamed:.1%} | consistency of others is known {known:.0%} | its mean error {error:.2f}

drift = levels/drift
each calibration {data} | pairs {sets} | p below 0.05 {p_05:.1%} | p below 0.001 {p_001:.2%} |
pairs with an item that drifts {sets_called:.1%}

versions = versions/studies
systems in each version {n} | new ones abler by {shift:.1f} SD | changed items {n_drifting} |
these are {systems} | answers that repeat {repeats:.0%} | data sets {data_sets} |
found {found:.1f} | false {false:.2f} | data sets with a call {sets_called:.0%} |
intervals of the shift of scores cover {shift_covered:.0%}

differential = differential/studies
setting {setting} | groups {n_reference} + {n_focal} | items {n_items} |
p below 0.05 {low:.1%}

warnings = warnings_of_fit/studies
data {setting} | wanted {wanted} | parts {parts?:.0%} | apart {apart?:.0%} | few {few?:.0%} |
chance {chance?:.0%} | further ability {further ability?:.0%} | item groups {item groups?:.0%} |
near-duplicates {near-duplicates?:.0%}

at chance = at_chance
data {setting} | wanted {wanted} | named {told:.0%} | guessers named {guessers:.0%} |
others named {others:.1%}

prediction = difficulty_prediction/sets
data {set} | random forest, rank correlation {forest:.2f} | intervals cover {coverage:.1%}

expected difficulty = expected_difficulty
answers {answers} | without predictions {weak prior:.2f} | with {with predictions:.2f} |
worth {worth:.0f}

stored difficulties = stored_difficulties/difficulties
data {set} | draws {draws} | RMSE, median {rmse:.4f} |
without the shift {rmse_without_shift:.4f} | correlation, median {correlation:.6f} |
lowest of a batch {least_correlation:.6f} |
all items at once, correlation {at_once_correlation:.4f}

curves = curves/curves
systems {systems} | items {items:,} | trials {trials} | missing {missing:.0%} |
ranges cover: fits without the system {without:.1%} | fit with all {of all:.1%}

alarms = curves/alarms
difficulties {difficulties} | systems {systems} | items {items:,} |
new items harder by {harder:.0f} | alarm {alarm:.1%} | power {power:.1%}

reading = read_long/records
rows {rows:,} | form {form} | reader {reader} | s {seconds:.2g} | peak MiB {peak_mib:.0f}

reading logs = read_logs/records
logs {format} | systems {systems} | items {items:,} | processor s {cpu_seconds:.1f} |
µs per sample {microseconds_per_sample:.1f} | json alone, µs {microseconds_of_json:.1f} |
peak MiB {peak_mib:.0f}

damaged logs = damaged
damaged logs {damages:,} | read as a matrix {matrix:,} | refused with one error {error:,} |
anything else {failures:,}

least work = floor
data {shape} | prior {prior} | steps {evaluations} |
times the least work of one step {ratio:.0f}

page = report_page
responses {responses} | processor s {cpu_seconds:.1f} | MB {mb:.2f} |
ready after, ms {ready[median]:.0f} | pointer moved, ms {hover[median]:.0f} |
click, ms {click[median]:.0f}

replication of LSAT6 = replications LSAT6
{what} | R's mirt {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

replication of LSAT7 = replications LSAT7
{what} | R's mirt {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

replication of GPQA pair = replications GPQA pair
{what} | published {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

replication of τ-bench = replications τ-bench
{what} | published {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

replication of Kolena = replications Kolena
{what} | published {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

replication of impact = replications impact
{what} | published {theirs:.5g} | ours {ours:.5g} | difference {difference:+.1e}

negative slopes of AAAI-22 = negative_slopes
data {set} | R's mirt {of_mirt:.0%} | irtkit {share:.0%} | difference {difference:+.1%} |
irtkit by default {by_default:.0%}

trends = trend/slopes
items answered {answered} | slope by {method} | mean slope (truth 0.8) {mean slope:.3f} |
95 % intervals cover {coverage:.0%}

time horizons = trend/horizons
intervals of p50 cover {coverage of p50:.1%} | mean error of p50, doublings
{mean error, doublings:+.2f} | slope / true slope {slope / true slope:.2f} | SD / true SD
{SD / true SD:.2f} |
doubling time / true one {days / true days:.2f} | its intervals cover {coverage of days:.0%}

ranks given these items = trend/ranks
systems {systems} | items {items} | missing {missing:.0%} |
intervals of ranks cover {coverage of ranks:.1%} | median width {median width:.0f}

score boards = score_boards
board {board} | RMSE of held-out scores {RMSE:.4f} | minus RMSE of 100 trials {beyond counts:+.5f} |
trials that a score is worth {trials:.1f} | SD of z between halves {SD of z:.2f}

score families = scores/families
scores {family} | systems {n} | items {n_items} | missing {missing:.0%} |
trials found {trials:.2f} |
intervals cover: ability {ability:.1%} | slope {slopes:.1%} | intercept {intercepts:.1%}

levels of items = by_levels coverage
model {model} | systems × items × levels {sizes} | intervals cover: ability {abilities:.1%} |
slope {slopes:.1%} | threshold {thresholds:.1%}

models of levels = by_levels fractions
truth {truth} | systems × items × levels {sizes} | RMSE of ability: GPCM {GPCM:.2f} |
GRM {GRM:.2f} | scores in the 2PL {2PL:.2f}

mixed items = rubrics/mixed
systems × items {shape} | intervals cover: slopes, right and wrong
{binary:.1%} | of fractions {fractions:.1%} | of levels {levels:.1%} |
abilities {abilities:.1%} | weight of a fraction {weight:.2f}

time of levels = rubric_seconds
model {model} | systems × items × levels {sizes} | missing {missing:.0%} |
s: fit {fit:.2f} | with standard errors {both:.2f}
"""
"""Name and records of every table, and its columns: a heading, and a cell that begins with a field.

Records stand under FILE/KEY in the results, or a function makes them, from a word if one follows.
"""


def table(name: str) -> str:
    """A table in Markdown, and when it was measured.

    Raises
    ------
    ValueError
        There is no such table, or no record is stored for it.
    """
    found = re.search(rf"(?ms)^{re.escape(name)} = (\S+)(?: ([^\n]+))?\n(.*?)(?:^$|\Z)", TABLES)
    if found is None:
        raise ValueError(f"there is no table {name!r} in docs/figures.py")
    source, word, columns = found.groups()
    SHOWN.clear()
    if "/" in source:
        file, key = source.split("/")
        records = stored(file)[key]
    else:
        records = globals()[source](*([word] if word else []))
    parts = [re.split(r"(?={)", column, maxsplit=1) for column in columns.split("|")]
    headings = [heading.strip() for heading, _ in parts]
    rows = []
    for record in records:
        known = record | ({"shape": shape(record)} if "shape" in record else {})
        rows.append([Cells().vformat(cell.strip(), (), known) for _, cell in parts])
    if not rows:
        raise ValueError(f"no record is stored for the table {name!r}")
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines) + f"\n{measured()}\n"


def names() -> list[str]:
    """All tables."""
    return re.findall(r"(?m)^([^{|\n]+) = \S+", TABLES)
