"""Tables of the documentation, made of the stored results of benchmarks and studies.

A page has ``{figures} NAME``; NAME is one of `TABLES`. Nothing else in the documentation may state
how fast or how exact irtkit is, so that no figure is older than the script that printed it. What a
script did not store is an error, of a column as of a whole table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

Record = dict[str, Any]
Cell = Callable[[Record], str]
Column = tuple[str, Cell]
Table = tuple[Callable[[], Iterable[Record]], list[Column]]
"""What makes the records, and heading and cell of every column."""


@cache
def stored(name: str) -> Any:
    """What a script stored."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(name: str, form: str = "", *, optional: bool = False) -> Cell:
    """A number or a word; a dash where None is stored, or, of an optional one, nothing."""

    def cell(record: Record) -> str:
        value = record.get(name) if optional else record[name]
        return "—" if value is None else f"{value:{form}}"

    return cell


def percent(name: str, digits: int = 1, *, optional: bool = False) -> Cell:
    """A share as a percentage."""
    return number(name, f".{digits}%", optional=optional)


def shape(record: Record) -> str:
    """Respondents × items, and the model."""
    of = record["shape"]
    if isinstance(of, list):
        return f"{of[0]:,} × {of[1]:,}"
    missing = f", {of['missing']:.0%} missing" if of.get("missing") else ""
    return f"{of['n_respondents']:,} × {of['n_items']:,} {of['model']}{missing}"


def fastest(record: Record) -> str:
    """Least seconds of all runs."""
    return f"{min(record['seconds']):.3g}"


def median_of(name: str) -> Cell:
    """Median of all rounds."""
    return lambda record: f"{record[name]['median']:.0f}"


def intervals() -> Iterator[Record]:
    """A record for every kind of parameter of every study of intervals."""
    for study in stored("coverage")["studies"]:
        for parameter in ("discrimination", "intercept"):
            yield {**study, **study[parameter], "parameter": parameter}


def default_calls() -> Iterator[Record]:
    """Every peer beside irtkit, the call that people type."""
    fits = stored("default_call")["fits"]
    ours = {shape(fit): fit for fit in fits if "irtkit" in fit["package"]}
    for fit in fits:
        if fit["seconds"] and shape(fit) in ours and fit is not ours[shape(fit)]:
            yield fit | {"irtkit": ours[shape(fit)]}


def faster(record: Record) -> str:
    """How many times irtkit is faster."""
    ratios = record.get("irtkit_faster", [])  # a fit of irtkit itself has none
    return " / ".join("—" if ratio is None else f"{ratio:.3g}×" for ratio in ratios)


def of_unequal(name: str) -> Cell:
    """A share of pairs, where abilities are drawn: levels are a board of ties and clear gaps."""
    share = percent(name)
    return lambda record: share(record) if record["abilities"] == "normal" else "—"


def boards() -> Iterator[Record]:
    """Scores told from few items, by how they were chosen."""
    for name, board in stored("few_items")["boards"].items():
        rows = {(row["method"], row["k"]): row for row in board["by_size"]}
        for k in sorted({k for _, k in rows}):
            found = {method: row for (method, size), row in rows.items() if size == k}
            yield {"name": name.replace("_", " "), "k": k, **found}


def beyond() -> Iterator[Record]:
    """Coverage of the best systems, and how much wider the intervals of others are."""
    records = [row for row in stored("beyond")["records"] if not row["outlier"]]
    others = {(row["board"], row["k"]): row for row in records if row["group"] == "any"}
    for row in records:
        if row["group"] == "best":
            other = others[row["board"], row["k"]]
            name = row["board"].replace("_", " ")
            yield {**row, "board": name, "wider": other["width"] / other["closed_width"] - 1}


def rmse(method: str) -> Cell:
    """Root mean square error of scores, in percentage points."""
    return lambda record: f"{record[method]['rmse']:.1f}"


def guessing() -> Iterator[Record]:
    """How often quantiles hold, by shape and kind of data, of the three parameters."""
    joined: dict[tuple[str, str], Record] = {}
    for row in stored("guessing")["coverage"]:
        if row["way"] == "irtkit":
            key = shape(row), row["kind"]
            joined.setdefault(key, {**row})[row["parameter"]] = row["quantiles"]
    yield from joined.values()


def worth(record: Record) -> str:
    """Answers that predictions are worth; the study looks no further than the most it tried."""
    most = max(curve["answers"] for curve in stored("expected_difficulty")["curves"]["1PL"])
    return "—" if record["worth"] >= most else f"{record['worth']:.0f}"


def standard_errors() -> Iterator[Record]:
    """Largest deviation of all fits of a size."""
    sizes: dict[str, Record] = {}
    for fit in stored("standard_errors")["fits"]:
        at = sizes.setdefault(shape(fit), {"shape": fit["shape"], "n": 0, "largest": 0.0})
        at["n"] += 1
        at["largest"] = max(at["largest"], fit["largest"])
    yield from sizes.values()


def busy() -> Iterator[Record]:
    """Seconds on the clock with one thread and with all."""
    for fit in stored("threads")["fits"]:
        one, _, every, _ = fit["seconds"]
        yield {**fit, "one": one, "every": every}


def damaged() -> Iterator[Record]:
    """All damages to logs together."""
    records = stored("fuzzed_logs")["records"]
    names = ("damages", "matrix", "error", "failures")
    yield {name: sum(record[name] for record in records) for name in names}


def replicated(name: str, theirs: str = "published") -> Table:
    """Their numbers beside ours."""
    return (
        lambda: (one for one in stored("replications")["records"] if one["of"] == name),
        [
            ("", number("what")),
            (theirs, number("theirs", ".5g")),
            ("ours", number("ours", ".5g")),
            ("difference", lambda record: f"{record['ours'] - record['theirs']:+.1e}"),
        ],
    )


TABLES: dict[str, Table] = {
    "default calls": (
        default_calls,
        [
            ("data", shape),
            ("irtkit, s", lambda record: fastest(record["irtkit"])),
            ("peer", lambda record: f"{record['package'].split(',')[0]} {record['version']}"),
            ("its s", fastest),
            ("irtkit faster: clock / processors", faster),
            ("its log-likelihood beside irtkit's", number("above_irtkit", "+.1f")),
        ],
    ),
    "fits alone": (
        lambda: (fit for fit in stored("peers")["fits"] if fit["seconds"]),
        [
            ("data", shape),
            ("package", number("package")),
            ("s", fastest),
            ("irtkit faster: without a prior / by default", faster),
            ("log-likelihood beside irtkit's", number("above_irtkit", "+.1f")),
            ("RMSE of slopes", number("rmse_discrimination", ".3f")),
        ],
    ),
    "size": (
        lambda: stored("scaling")["fits"],
        [
            ("respondents", number("n_respondents", ",")),
            ("items", number("n_items", ",")),
            ("seconds", number("seconds", ".3g")),
            ("ns per cell", lambda record: f"{record['seconds'] / record['cells'] * 1e9:.1f}"),
            ("peak GiB", lambda record: f"{record['peak_bytes'] / 2**30:.2f}"),
        ],
    ),
    "sparse": (
        lambda: stored("sparse")["fits"],
        [
            ("respondents", number("respondents", ",")),
            ("items", number("items", ",")),
            ("responses", number("responses", ",")),
            ("seconds: matrix", number("seconds_matrix", ".1f")),
            ("fit with errors", number("seconds_fit", ".1f")),
            ("peak GiB", number("peak_gib", ".2f")),
        ],
    ),
    "copies": (
        lambda: stored("copies")["fits"],
        [
            ("data", shape),
            ("distinct items", number("distinct_items", ",")),
            ("task", number("task")),
            ("times less CPU time", number("times_less", ".1f")),
        ],
    ),
    "threads": (
        busy,
        [
            ("data", shape),
            ("beside", number("beside")),
            ("s: one thread", number("one", ".3g")),
            ("all threads", number("every", ".3g")),
        ],
    ),
    "intervals": (
        intervals,
        [
            ("data", shape),
            ("prior", lambda record: record["prior"] or "none"),
            ("data sets", number("data_sets", ",")),
            ("parameter", number("parameter")),
            ("95 % intervals hold", percent("coverage")),
        ],
    ),
    "empirical prior": (
        lambda: ({**study, **study["mean"]} for study in stored("empirical")["studies"]),
        [
            ("data", shape),
            ("SD of log slopes", number("spread")),
            ("RMSE of slopes, weak", number("rmse_weak", ".3f")),
            ("RMSE, empirical", number("rmse_empirical", ".3f")),
            ("RMSE, known best", number("rmse_best", ".3f")),
            ("intervals hold, slope", percent("covered_discrimination")),
            ("intervals hold, intercept", percent("covered_intercept")),
        ],
    ),
    "posterior": (
        lambda: stored("variational")["calibration"]["figures"],
        [
            ("data", shape),
            ("fit", number("fit")),
            ("parameter", number("parameter")),
            ("± 1.645 SD holds", percent("coverage")),
            ("quantiles hold", percent("quantiles")),
        ],
    ),
    "guessing": (
        guessing,
        [
            ("data", shape),
            ("drawn", number("kind")),
            ("90 % intervals hold, slope", percent("discrimination")),
            ("intercept", percent("intercept")),
            ("guessing", percent("guessing")),
        ],
    ),
    "chance": (
        lambda: stored("guessing")["chance"],
        [
            ("data", shape),
            ("guessing", number("guessing")),
            ("chance", number("way")),
            ("on average", number("level", ".2f")),
            ("parameter", number("parameter")),
            ("± 1.96 SE holds", percent("coverage")),
            ("off by", number("median_off", "+.2f")),
        ],
    ),
    "standard errors": (
        standard_errors,
        [
            ("data", shape),
            ("fits", number("n")),
            ("off by at most", percent("largest", 2)),
        ],
    ),
    "near-copies": (
        lambda: stored("near_copies")["studies"],
        [
            ("data", number("setting")),
            ("worth", number("effective", ".1f")),
            ("false, each counted", percent("alone: false")),
            ("false, weighed", percent("weighed: false")),
            ("found, each counted", percent("alone: found")),
            ("found, weighed", percent("weighed: found")),
            ("warned", percent("warned", 0)),
        ],
    ),
    "few families": (
        lambda: stored("few_families")["studies"],
        [
            ("data", number("setting")),
            ("false, each counted", percent("alone: false")),
            ("false, weighed", percent("weighed: false")),
            ("found, weighed", percent("weighed: found")),
        ],
    ),
    "anchors": (
        lambda: stored("anchors")["studies"],
        [
            ("model", number("model")),
            ("earlier systems", number("n_earlier")),
            ("later systems", number("n_later")),
            ("drifted", number("leaked")),
            ("data sets", number("n_data_sets")),
            ("exactly the drifted named", number("exactly")),
            ("a sound one named", number("false")),
            ("latent mean", number("before", ".2f")),
            ("without the named", number("after", ".2f")),
        ],
    ),
    "likelihood ratio": (
        lambda: stored("likelihood_ratio")["studies"],
        [
            ("drawn from", number("model")),
            ("families", number("families")),
            ("copies of each", number("copies")),
            ("differ in", percent("flips", 0)),
            ("items", number("n_items")),
            ("rejected", percent("rejected")),
            ("unscaled", percent("unscaled")),
        ],
    ),
    "wrong keys": (
        lambda: stored("planted_wrong_keys")["studies"],
        [
            ("data", number("data")),
            ("planted", number("planted")),
            ("irtkit", number("auc irtkit", ".3f")),
            ("item–total", number("auc item–total", ".3f")),
            ("average error", number("auc average error", ".3f")),
            ("mirt", number("auc mirt", ".3f", optional=True)),
            ("found", percent("found")),
            ("false", percent("false")),
            ("suspect found", percent("suspect found")),
            ("suspect false", percent("suspect false")),
        ],
    ),
    "held out": (
        lambda: stored("held_out")["claims"],
        [
            ("drawn from", number("data")),
            ("respondents", number("respondents")),
            ("items", number("items", ",")),
            ("data sets", number("sets")),
            ("a gain is claimed in", number("claims")),
        ],
    ),
    "repeated trials": (
        lambda: (
            {**one, **one["study"], "found": one["correlation"], "held": one["ability"]["coverage"]}
            for one in stored("repeated_trials")["studies"]
        ),
        [
            ("respondents", number("n_respondents")),
            ("items", number("n_items")),
            ("trials", lambda record: ", ".join(map(str, record["study"]["trials"]))),
            ("correlation", lambda record: f"{record['study']['correlation']}"),
            ("estimated", number("found", ".3f")),
            ("95 % intervals of abilities hold", percent("held")),
        ],
    ),
    "boards": (
        lambda: stored("systems")["boards"],
        [
            ("systems × items", lambda record: f"{record['systems']} × {record['items']}"),
            ("abilities", number("abilities")),
            ("answers", number("answers")),
            ("all ranks", percent("all ranks")),
            ("no pair wrong", percent("tied")),
            ("better", of_unequal("better")),
            ("mean P", of_unequal("p")),
        ],
    ),
    "likely ranks": (
        lambda: stored("rank_intervals")["boards"],
        [
            ("board", lambda record: record["board"].replace("_", " ")),
            ("likely ranks hold", percent("likely_coverage")),
            ("the bootstrap's hold", percent("bootstrap_coverage")),
            ("width by the bootstrap's", number("ratio", ".2f")),
            ("width of all at once", number("simultaneous_width", ".1f")),
        ],
    ),
    "weighted tests": (
        lambda: stored("paired_tests")["boards"],
        [
            ("board", lambda record: record["board"].replace("_", " ")),
            ("swapped pairs: t", lambda record: f"{record['swapped'][0]:.1%}"),
            ("weighted", lambda record: f"{record['swapped'][1]:.1%}"),
            ("near-duplicates: t", lambda record: f"{record['alike'][0]:.1%}"),
            ("weighted, too", lambda record: f"{record['alike'][1]:.1%}"),
            ("boards with a gain", number("gain_known")),
            ("reported", lambda record: f"{record['gain'][0]:.2f}" if record["gain"] else "–"),
            ("realised", lambda record: f"{record['gain'][1]:.2f}" if record["gain"] else "–"),
        ],
    ),
    "power": (
        lambda: stored("systems")["power"],
        [
            ("items", number("items", ",")),
            ("simulated", percent("simulated")),
            ("stated", percent("formula")),
        ],
    ),
    "gates": (
        lambda: stored("systems")["gates"],
        [
            ("items", number("items", ",")),
            ("trials", number("trials")),
            ("allowed drop", percent("max_drop", 0)),
            ("merges", number("gates", ",")),
            ("failed where the drop is just allowed", percent("failed")),
        ],
    ),
    "default gate": (
        lambda: stored("systems")["by_default"],
        [
            ("items", number("items", ",")),
            ("answers that differ between two runs of one model", percent("differ", 0)),
            ("true drop", percent("drop", 0)),
            ("passed", percent("passed")),
            ("inconclusive", percent("inconclusive")),
            ("failed", percent("failed")),
        ],
    ),
    "few items": (
        boards,
        [
            ("board", number("name")),
            ("asked", number("k")),
            ("stratified mean", rmse("stratified, mean")),
            ("random, p-IRT", rmse("random, p-IRT")),
            ("selected", rmse("fixed")),
            ("one by one", rmse("adaptive")),
            ("intervals hold", lambda record: f"{record['fixed']['holds']:.0%}"),
        ],
    ),
    "beyond": (
        beyond,
        [
            ("board", number("board")),
            ("asked", number("k")),
            ("closed intervals cover", percent("closed_coverage")),
            ("intervals cover", percent("coverage")),
            ("width", lambda record: f"{record['width']:.0f}"),
            ("with 10 more", percent("second_coverage")),
            ("width then", lambda record: f"{record['second_width']:.0f}"),
            ("other systems, wider", percent("wider")),
        ],
    ),
    "fit of items": (
        lambda: stored("model_fit")["null"],
        [
            ("data", number("data")),
            ("items", number("n_items", ",")),
            ("S-X² below 0.05", percent("s_x2_05")),
            ("lz below 0.05", percent("lz_05")),
            ("Q3 below 0.05", percent("q3_05")),
        ],
    ),
    "respondents": (
        lambda: stored("levels")["respondents"],
        [
            ("data", number("data")),
            ("data sets", number("sets")),
            ("p below 0.05", percent("p_05")),
            ("p below 0.001", percent("p_001", 2)),
            ("data sets with a q below 0.05", percent("sets_called")),
            ("mean infit of items", number("infit", ".2f")),
        ],
    ),
    "drift": (
        lambda: stored("levels")["drift"],
        [
            ("each calibration", number("data")),
            ("pairs", number("sets")),
            ("p below 0.05", percent("p_05")),
            ("p below 0.001", percent("p_001", 2)),
            ("pairs with an item that drifts", percent("sets_called")),
        ],
    ),
    "matching": (
        lambda: stored("levels")["matching"],
        [
            ("groups", number("data")),
            ("items", number("n_items")),
            ("p below 0.05, weighted sum", percent("weighted")),
            ("p below 0.05, plain sum", percent("plain")),
        ],
    ),
    "differential": (
        lambda: (one for one in stored("differential")["studies"] if one["share"] == 0),
        [
            ("setting", number("name")),
            ("groups", lambda record: f"{record['n_reference']} + {record['n_focal']}"),
            ("items", number("n_items")),
            ("method", number("method")),
            ("p below 0.05", percent("below 0.05")),
        ],
    ),
    "warnings": (
        lambda: stored("warnings_of_fit")["studies"],
        [
            ("data", number("setting")),
            ("wanted", number("wanted")),
            ("parts", percent("parts", 0, optional=True)),
            ("apart", percent("apart", 0, optional=True)),
            ("few", percent("few", 0, optional=True)),
            ("chance", percent("chance", 0, optional=True)),
            ("further ability", percent("further ability", 0, optional=True)),
            ("item groups", percent("item groups", 0, optional=True)),
            ("near-duplicates", percent("near-duplicates", 0, optional=True)),
        ],
    ),
    "at chance": (
        lambda: (one for one in stored("at_chance")["studies"] if one["wanted"] != "elsewhere"),
        [
            ("data", number("setting")),
            ("wanted", number("wanted")),
            ("named", percent("told", 0)),
            (
                "of guessers",
                lambda record: "—" if record["guessers"] is None else f"{record['guessers']:.0%}",
            ),
            ("of others", percent("others")),
        ],
    ),
    "prediction": (
        lambda: stored("difficulty_prediction")["sets"],
        [
            ("data", number("set")),
            (
                "random forest, rank correlation",
                lambda record: (
                    f"{record['spearman']['irtkit']:.2f}" if record.get("spearman") else "—"
                ),
            ),
            ("intervals hold", percent("coverage")),
        ],
    ),
    "expected difficulty": (
        lambda: stored("expected_difficulty")["curves"]["1PL"],
        [
            ("answers", number("answers")),
            ("without predictions", number("weak prior", ".2f")),
            ("with", number("with predictions", ".2f")),
            ("worth", worth),
        ],
    ),
    "stored difficulties": (
        lambda: stored("stored_difficulties")["difficulties"],
        [
            ("data", number("set")),
            ("draws", number("draws")),
            ("RMSE, median", number("rmse", ".4f")),
            ("without the shift", number("rmse_without_shift", ".4f")),
            ("correlation, median", number("correlation", ".6f")),
            ("least of a batch", number("least_correlation", ".6f")),
            ("all items at once, correlation", number("at_once_correlation", ".4f")),
        ],
    ),
    "curves": (
        lambda: stored("curves")["curves"],
        [
            ("systems", number("systems")),
            ("items", number("items", ",")),
            ("trials", number("trials")),
            ("missing", percent("missing", 0)),
            ("ranges hold: fits without the system", percent("without")),
            ("fit with all", percent("of all")),
        ],
    ),
    "alarms": (
        lambda: stored("curves")["alarms"],
        [
            ("difficulties", number("difficulties")),
            ("systems", number("systems")),
            ("items", number("items", ",")),
            ("new items harder by", number("harder", ".0f")),
            ("alarm", percent("alarm")),
            ("power", percent("power")),
        ],
    ),
    "horizons": (
        lambda: stored("curves")["horizons"],
        [
            ("runs", number("runs")),
            ("errors", number("errors")),
            ("share", percent("share", 0)),
            ("95 % intervals hold", percent("coverage")),
        ],
    ),
    "reading": (
        lambda: stored("read_long")["records"],
        [
            ("rows", number("rows", ",")),
            ("form", number("form")),
            ("reader", number("reader")),
            ("s", number("seconds", ".2g")),
            ("peak MiB", number("peak_mib", ".0f")),
        ],
    ),
    "reading logs": (
        lambda: stored("read_logs")["records"],
        [
            ("logs", number("format")),
            ("systems", number("systems")),
            ("items", number("items", ",")),
            ("processor s", number("cpu_seconds", ".1f")),
            ("µs per sample", number("microseconds_per_sample", ".1f")),
            ("of which json alone", number("microseconds_of_json", ".1f")),
            ("peak MiB", number("peak_mib", ".0f")),
        ],
    ),
    "damaged logs": (
        damaged,
        [
            ("damaged logs", number("damages", ",")),
            ("read as a matrix", number("matrix", ",")),
            ("refused with one error", number("error", ",")),
            ("anything else", number("failures", ",")),
        ],
    ),
    "least work": (
        lambda: stored("floor")["fits"],
        [
            ("data", shape),
            ("prior", lambda record: record["prior"] or "none"),
            ("steps", number("evaluations")),
            ("times the least work of one step", number("ratio", ".0f")),
        ],
    ),
    "page": (
        lambda: stored("report_page")["records"],
        [
            ("responses", number("responses")),
            ("made in, processor s", number("cpu_seconds", ".1f")),
            ("MB", lambda record: f"{record['bytes'] / 1e6:.2f}"),
            ("ready after, ms", median_of("ready")),
            ("pointer moved, ms", median_of("hover")),
            ("click, ms", median_of("click")),
        ],
    ),
    "replication of LSAT6": replicated("LSAT6", "R's mirt"),
    "replication of LSAT7": replicated("LSAT7", "R's mirt"),
    "replication of GPQA pair": replicated("GPQA pair"),
    "replication of τ-bench": replicated("τ-bench"),
    "replication of Kolena": replicated("Kolena"),
    "replication of impact": replicated("impact"),
    "negative slopes of AAAI-22": (
        lambda: stored("stored_difficulties")["negative_slopes"],
        [
            ("data", number("set")),
            ("R's mirt", percent("of_mirt", 0)),
            ("ours", percent("share", 0)),
            ("difference", lambda record: f"{record['share'] - record['of_mirt']:+.1%}"),
            ("ours by default", percent("by_default", 0)),
        ],
    ),
}


def table(name: str) -> list[str]:
    """Lines of a table in Markdown.

    Raises
    ------
    ValueError
        No record is stored for it.
    """
    records, columns = TABLES[name]
    rows = [[cell(record) for _, cell in columns] for record in records()]
    if not rows:
        raise ValueError(f"there are no figures {name!r}")
    rows = [[heading for heading, _ in columns], ["---"] * len(columns), *rows]
    return ["| " + " | ".join(row) + " |" for row in rows]


def setup(app: Any) -> dict[str, bool]:
    """Give Sphinx the directive."""
    from listings import parsed
    from sphinx.util.docutils import SphinxDirective

    class Figures(SphinxDirective):
        """Table of stored figures."""

        required_arguments = 1
        final_argument_whitespace = True

        def run(self) -> list[Any]:
            """Parse the table as Markdown."""
            return parsed(self, table(self.arguments[0]))

    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
