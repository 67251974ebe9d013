"""Tables of the documentation, made of the stored results of benchmarks and studies.

A page has ``{figures} NAME``; NAME is one of `TABLES`. Nothing else in the documentation may state
how fast or how exact irtkit is, so that no figure is older than the script that printed it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

NEAR_COPIES = 30
"""Settings of the study that are shown, the first ones."""

Record = dict[str, Any]
Column = Callable[[Record], str]


@cache
def stored(name: str) -> Any:
    """What a script stored."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def percent(name: str, digits: int = 1) -> Column:
    """A share as a percentage, a dash where there is none."""
    return lambda record: "—" if record.get(name) is None else f"{record[name]:.{digits}%}"


def number(name: str, form: str = "") -> Column:
    """A number as it is, or in a form."""
    return lambda record: "—" if record.get(name) is None else f"{record[name]:{form}}"


def shape(record: Record) -> str:
    """Respondents × items, and the model."""
    of = record["shape"]
    if isinstance(of, list):
        return f"{of[0]:,} × {of[1]:,}"
    missing = f", {of['missing']:.0%} missing" if of.get("missing") else ""
    return f"{of['n_respondents']:,} × {of['n_items']:,} {of['model']}{missing}"


def fastest(record: Record, name: str = "seconds") -> str:
    """Least seconds of all runs."""
    return f"{min(record[name]):.3g}" if record.get(name) else "—"


def of_parameters(parts: Iterable[str], records: Iterable[Record]) -> Iterator[Record]:
    """A record for every part of every record."""
    for record in records:
        for part in parts:
            yield {**record, **record[part], "parameter": part}


def default_calls() -> Iterator[Record]:
    """Every peer beside irtkit, the call that people type."""
    fits = stored("default_call")["fits"]
    ours = {shape(fit): fit for fit in fits if "irtkit" in fit["package"]}
    for fit in fits:
        if fit["seconds"] and shape(fit) in ours and fit is not ours[shape(fit)]:
            yield fit | {"irtkit": ours[shape(fit)]}


def faster(record: Record) -> str:
    """How many times irtkit is faster."""
    ratios = record.get("irtkit_faster") or []
    return " / ".join("—" if ratio is None else f"{ratio:.3g}×" for ratio in ratios)


def of_unequal(name: str) -> Column:
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


def rmse(method: str) -> Column:
    """Root mean square error of scores, in percentage points."""
    return lambda record: f"{record[method]['rmse']:.1f}"


def parameters_of(which: str, rows: Iterable[Record], *same: str) -> Iterator[Record]:
    """Records of several parameters joined: the values of ``which`` by parameter."""
    joined: dict[tuple[Any, ...], Record] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in same)
        at = joined.setdefault(key, {**row, "all": []})
        at["all"].append(f"{row[which]:.1%}")
    yield from joined.values()


def together(record: Record) -> str:
    """Values of all parameters."""
    return ", ".join(record["all"])


TABLES: dict[str, tuple[Callable[[], Iterable[Record]], dict[str, Column]]] = {
    "default calls": (
        default_calls,
        {
            "data": shape,
            "irtkit, s": lambda record: fastest(record["irtkit"]),
            "peer": lambda record: f"{record['package'].split(',')[0]} {record['version']}",
            "its s": fastest,
            "irtkit faster: clock / processors": faster,
            "its log-likelihood beside irtkit's": number("above_irtkit", "+.1f"),
        },
    ),
    "fits alone": (
        lambda: (fit for fit in stored("peers")["fits"] if fit["seconds"]),
        {
            "data": shape,
            "package": number("package"),
            "s": fastest,
            "irtkit faster: without a prior / by default": faster,
            "log-likelihood beside irtkit's": number("above_irtkit", "+.1f"),
            "RMSE of slopes": number("rmse_discrimination", ".3f"),
        },
    ),
    "size": (
        lambda: stored("scaling")["fits"],
        {
            "respondents": number("n_respondents", ","),
            "items": number("n_items", ","),
            "seconds": number("seconds", ".3g"),
            "ns per cell": lambda record: f"{record['seconds'] / record['cells'] * 1e9:.1f}",
            "peak GiB": lambda record: f"{record['peak_bytes'] / 2**30:.2f}",
        },
    ),
    "sparse": (
        lambda: stored("sparse")["fits"],
        {
            "respondents": number("respondents", ","),
            "items": number("items", ","),
            "responses": number("responses", ","),
            "seconds: matrix": number("seconds_matrix", ".1f"),
            "fit with errors": number("seconds_fit", ".1f"),
            "peak GiB": number("peak_gib", ".2f"),
        },
    ),
    "copies": (
        lambda: stored("copies")["fits"],
        {
            "data": shape,
            "distinct items": number("distinct_items", ","),
            "task": number("task"),
            "times less CPU time": number("times_less", ".1f"),
        },
    ),
    "threads": (
        lambda: stored("threads")["fits"],
        {"data": shape, "beside": number("beside"), "s": fastest},
    ),
    "intervals": (
        lambda: of_parameters(("discrimination", "intercept"), stored("coverage")["studies"]),
        {
            "data": shape,
            "prior": lambda record: record["prior"] or "none",
            "data sets": number("data_sets", ","),
            "parameter": number("parameter"),
            "95 % intervals hold": percent("coverage"),
        },
    ),
    "empirical prior": (
        lambda: ({**study, **study["mean"]} for study in stored("empirical")["studies"]),
        {
            "data": shape,
            "SD of log slopes": number("spread"),
            "RMSE of slopes: weak": number("rmse_weak", ".3f"),
            "empirical": number("rmse_empirical", ".3f"),
            "known best": number("rmse_best", ".3f"),
            "intervals hold: slope": percent("covered_discrimination"),
            "intercept": percent("covered_intercept"),
        },
    ),
    "posterior": (
        lambda: stored("variational")["calibration"]["figures"],
        {
            "data": shape,
            "fit": number("fit"),
            "parameter": number("parameter"),
            "± 1.645 SD holds": percent("coverage"),
            "quantiles hold": percent("quantiles"),
        },
    ),
    "guessing": (
        lambda: parameters_of(
            "quantiles",
            (row for row in stored("guessing")["coverage"] if row["way"] == "irtkit"),
            "shape",
            "kind",
        ),
        {
            "data": shape,
            "guessing": number("kind"),
            "90 % intervals hold: slope, intercept, guessing": together,
        },
    ),
    "standard errors": (
        lambda: _by_size(stored("standard_errors")["fits"]),
        {
            "data": shape,
            "fits": number("n"),
            "off by at most": percent("largest", 2),
        },
    ),
    "near-copies": (
        lambda: stored("near_copies")["studies"][:NEAR_COPIES],
        {
            "data": number("setting"),
            "say as many as": number("effective", ".1f"),
            "false: each counted": percent("alone: false"),
            "weighed": percent("weighed: false"),
            "found: each counted": percent("alone: found"),
            "weighed ": percent("weighed: found"),
            "warned": percent("warned", 0),
        },
    ),
    "few families": (
        lambda: stored("few_families")["studies"],
        {
            "data": number("setting"),
            "false: each counted": percent("alone: false"),
            "weighed": percent("weighed: false"),
            "found": percent("weighed: found"),
        },
    ),
    "wrong keys": (
        lambda: stored("planted_wrong_keys")["studies"],
        {
            "data": number("data"),
            "planted": number("planted"),
            "irtkit": number("auc irtkit", ".3f"),
            "item–total": number("auc item–total", ".3f"),
            "average error": number("auc average error", ".3f"),
            "mirt": number("auc mirt", ".3f"),
            "found": percent("found"),
            "false": percent("false"),
        },
    ),
    "held out": (
        lambda: stored("held_out")["claims"],
        {
            "drawn from": number("data"),
            "respondents": number("respondents"),
            "items": number("items", ","),
            "data sets": number("sets"),
            "a gain is claimed in": number("claims"),
        },
    ),
    "repeated trials": (
        lambda: (
            {**one, **one["study"], "found": one["correlation"], "held": one["ability"]["coverage"]}
            for one in stored("repeated_trials")["studies"]
        ),
        {
            "respondents": number("n_respondents"),
            "items": number("n_items"),
            "trials": lambda record: ", ".join(map(str, record["study"]["trials"])),
            "correlation": lambda record: f"{record['study']['correlation']}",
            "estimated": number("found", ".3f"),
            "95 % intervals of abilities hold": percent("held"),
        },
    ),
    "boards": (
        lambda: stored("systems")["boards"],
        {
            "systems × items": lambda record: f"{record['systems']} × {record['items']}",
            "abilities": number("abilities"),
            "answers": number("answers"),
            "rank": percent("rank"),
            "all ranks": percent("all ranks"),
            "no pair wrong": percent("tied"),
            "better": of_unequal("better"),
            "mean P": of_unequal("p"),
        },
    ),
    "power": (
        lambda: stored("systems")["power"],
        {
            "items": number("items", ","),
            "simulated": percent("simulated"),
            "stated": percent("formula"),
        },
    ),
    "gates": (
        lambda: stored("systems")["gates"],
        {
            "items": number("items", ","),
            "trials": number("trials"),
            "allowed drop": percent("max_drop", 0),
            "merges": number("gates", ","),
            "failed where the drop is just allowed": percent("failed"),
        },
    ),
    "few items": (
        boards,
        {
            "board": number("name"),
            "asked": number("k"),
            "stratified mean": rmse("stratified, mean"),
            "random, p-IRT": rmse("random, p-IRT"),
            "selected": rmse("fixed"),
            "one by one": rmse("adaptive"),
            "intervals hold": lambda record: f"{record['fixed']['holds']:.0%}",
        },
    ),
    "fit of items": (
        lambda: stored("model_fit")["null"],
        {
            "data": number("data"),
            "items": number("n_items", ","),
            "S-X² below 0.05": percent("s_x2_05"),
            "lz below 0.05": percent("lz_05"),
            "Q3 below 0.05": percent("q3_05"),
        },
    ),
    "differential": (
        lambda: (one for one in stored("differential")["studies"] if one["share"] == 0),
        {
            "setting": number("name"),
            "groups": lambda record: f"{record['n_reference']} + {record['n_focal']}",
            "items": number("n_items"),
            "method": number("method"),
            "p below 0.05": percent("below 0.05"),
        },
    ),
    "warnings": (
        lambda: stored("warnings_of_fit")["studies"],
        {
            "data": number("setting"),
            "wanted": lambda record: record["wanted"] or "none",
            "transposed": percent("transposed", 0),
            "parts": percent("parts", 0),
            "few": percent("few", 0),
            "chance": percent("chance", 0),
            "does not follow": percent("follows", 0),
            "one ability": percent("one ability", 0),
            "disagree": percent("disagree", 0),
        },
    ),
    "prediction": (
        lambda: stored("difficulty_prediction")["sets"],
        {
            "data": number("set"),
            "random forest, rank correlation": lambda record: (
                f"{record['spearman']['irtkit']:.2f}" if record.get("spearman") else "—"
            ),
            "intervals hold": percent("coverage"),
        },
    ),
    "expected difficulty": (
        lambda: stored("expected_difficulty")["curves"]["1PL"],
        {
            "answers": number("answers"),
            "without predictions": number("weak prior", ".2f"),
            "with": number("with predictions", ".2f"),
            "worth": number("worth", ".0f"),
        },
    ),
    "stored difficulties": (
        lambda: stored("stored_difficulties")["difficulties"],
        {
            "data": number("set"),
            "draws": number("draws"),
            "RMSE, median": number("rmse", ".4f"),
            "without the shift": number("rmse_without_shift", ".4f"),
            "correlation, median": number("correlation", ".6f"),
            "least of a batch": number("least_correlation", ".6f"),
            "all items at once, correlation": number("at_once_correlation", ".4f"),
        },
    ),
    "curves": (
        lambda: stored("curves")["curves"],
        {
            "systems": number("systems"),
            "items": number("items", ","),
            "trials": number("trials"),
            "missing": percent("missing", 0),
            "ranges hold: fits without the system": percent("without"),
            "fit with all": percent("of all"),
        },
    ),
    "alarms": (
        lambda: stored("curves")["alarms"],
        {
            "difficulties": number("difficulties"),
            "systems": number("systems"),
            "items": number("items", ","),
            "new items harder by": number("harder", ".0f"),
            "alarm": percent("alarm"),
            "power": percent("power"),
        },
    ),
    "horizons": (
        lambda: stored("curves")["horizons"],
        {
            "runs": number("runs"),
            "errors": number("errors"),
            "share": percent("share", 0),
            "95 % intervals hold": percent("coverage"),
        },
    ),
    "reading": (
        lambda: stored("read_long")["records"],
        {
            "rows": number("rows", ","),
            "form": number("form"),
            "reader": number("reader"),
            "times pyarrow": number("times_pyarrow", ".2f"),
            "peak MiB": number("peak_mib", ".0f"),
        },
    ),
}


def _replicated(name: str) -> tuple[Callable[[], Iterable[Record]], dict[str, Column]]:
    """Published, ours, difference."""
    return (
        lambda: (one for one in stored("replications")["records"] if one["of"] == name),
        {
            "": number("what"),
            "published": number("published", ".5g"),
            "ours": number("ours", ".5g"),
            "difference": lambda record: f"{record['ours'] - record['published']:+.1e}",
        },
    )


def _by_size(fits: list[Record]) -> Iterator[Record]:
    """Largest deviation of all fits of a size."""
    sizes: dict[str, Record] = {}
    for fit in fits:
        at = sizes.setdefault(shape(fit), {"shape": fit["shape"], "n": 0, "largest": 0.0})
        at["n"] += 1
        at["largest"] = max(at["largest"], fit["largest"])
    yield from sizes.values()


def table(name: str) -> list[str]:
    """Lines of a table in Markdown."""
    replicated = name.removeprefix("replication of ")
    records, columns = TABLES[name] if name in TABLES else _replicated(replicated)
    rows = [list(columns), ["---"] * len(columns)]
    rows += [[column(record) for column in columns.values()] for record in records()]
    return ["| " + " | ".join(row) + " |" for row in rows]


def setup(app: Any) -> dict[str, bool]:
    """Give Sphinx the directive."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class Figures(SphinxDirective):
        """Table of stored figures."""

        required_arguments = 1
        final_argument_whitespace = True

        def run(self) -> list[nodes.Node]:
            """Parse the table as Markdown."""
            node = nodes.container(classes=["figures"])
            lines = StringList(table(self.arguments[0]), source=f"{self.arguments[0]}")
            self.state.nested_parse(lines, self.content_offset, node)
            return node.children

    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
