"""The commands. The docstring of each declares its arguments, options and examples."""

from __future__ import annotations

import sys
import warnings
from datetime import UTC, datetime
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Any

import click

import irtkit
from irtkit.capabilities import limit_of
from irtkit.cli import outputs
from irtkit.cli.inputs import (
    column_or_name,
    fitted,
    how_to_read,
    read_rows,
    result_of,
)
from irtkit.cli.options import JUDGE_FILES, SHOW_ALL, Group, names_of, reading_help
from irtkit.cli.outputs import (
    command_for,
    described,
    next_step,
    prepared,
    say_written,
    show,
    with_severity,
    write,
    write_files,
)
from irtkit.cli.process import run
from irtkit.files import check_writable, replacing
from irtkit.findings import Finding, Remedy, reasons_text, typed
from irtkit.io.tables import as_labelled
from irtkit.printed import Shown, in_lines, printable

if TYPE_CHECKING:
    from types import SimpleNamespace

_LISTED = 5  # Items and systems that the demo prints: a screen in all.


def main() -> None:
    """Run the command line."""
    run(cli)


cli = Group(
    """Item response theory for evaluations of AI systems.

    RESPONSES is a file of right and wrong answers, a folder or a quoted glob. A wide table has a
    row per system and a column per item, with cells 1, 0 or empty. A long table has columns of
    systems, items and responses. Parquet, py-irt JSON lines, gzip and logs of evaluation harnesses
    are read as well, and so are scores of a judge and levels of a rubric. The format is recognised
    from the content.

    Commands that fit also take the folder that `irtkit fit --out` wrote, or a saved result.

    irtkit demo
    irtkit inspect runs/
    irtkit audit results.csv
    """,
    {
        "Read": "inspect merge judges demo help",
        "Items": "fit audit health compare differential select",
        "Systems": "leaderboard compare-systems gate drift score",
        "Share": "report impact",
    },
)


def _typed_path(given: SimpleNamespace) -> str:
    """RESPONSES as they are typed, with the options of reading before them."""
    options = typed(how_to_read(given), options=True)
    return f"{options} {quote(str(given.responses))}".lstrip()


@cli.declare
def _inspect(given: SimpleNamespace) -> None:
    """Summarise a file or folder and suggest the next command.

    inspect PATH
    {READING}

    irtkit inspect results.csv
    irtkit inspect runs/
    """
    from irtkit.calibration.result import FORMAT, saved_in
    from irtkit.io.overview import overview
    from irtkit.storage import name_of

    saved = saved_in(given.path)
    kind = name_of(saved) if saved.is_file() else None
    if kind == FORMAT.name:
        sentence = f"{irtkit.load(saved)!r}: a saved fit"
        click.echo(in_lines([f"{sentence}, which all commands take that fit responses"]))
    elif kind is not None:
        click.echo(in_lines([f"a saved {kind.removeprefix('irtkit ')}, which score takes"]))
    else:
        click.echo(str(overview(given.path, **how_to_read(given))))


@cli.declare
def _merge(given: SimpleNamespace) -> None:
    """Merge responses of several files or folders into one file.

    --repeats applies to each of the files or folders, and to a response that several of them hold.
    Of logs and tables, each takes the options that are for it.

    merge PATHS...
    --out OUT=*  File to write: .parquet, .csv or .tsv.
    --wide  Write a row per system, as for R's mirt. The file is .csv or .tsv.
    {READING}

    irtkit merge 2025.csv 2026.csv --out all.parquet
    irtkit merge runs/ --wide --out runs.csv
    """
    from irtkit.capabilities import require
    from irtkit.io.logs import holds_logs
    from irtkit.io.merging import merge_responses, repeats_of_parts
    from irtkit.io.reading import FOR_LOGS, FOR_TABLES
    from irtkit.io.writing import format_by_name, side_tables

    form = format_by_name(given.out, "wide" if given.wide else None)
    how = how_to_read(given)
    repeats = how.pop("repeats", "error")
    each = repeats_of_parts(repeats) if len(given.paths) > 1 else repeats
    are_logs = [holds_logs(path) for path in given.paths]
    mixed = len({*are_logs}) > 1
    matrices = []
    for path, of_logs in zip(given.paths, are_logs, strict=True):
        of_others = (FOR_TABLES if of_logs else FOR_LOGS) if mixed else ()
        own = {name: value for name, value in how.items() if name not in of_others}
        matrices.append(read_rows(path, repeats=each, **own))
        require("merge", matrices[-1])
    merged = merge_responses(matrices, repeats=repeats)
    irtkit.write_responses(merged, given.out, format=form)
    click.echo(in_lines([str(merged)]))
    say_written(given.out, *side_tables(given.out).values())


@cli.declare
def _judges(given: SimpleNamespace) -> None:
    """Say whether judges are usable and how strict, whom they favour, and adjust their marks.

    RATINGS is a table with a row per mark, or a folder of Inspect logs with several scorers.

    judges RATINGS
    --family FILE|NAME  Column of RATINGS with the family of each system, or a table of systems and
      families.
    --drop NAMES  Judges to leave out.
    {SHOWN}
    --out DIR  Folder for judges.csv, favours.csv and adjusted.csv.
    {RATINGS}

    irtkit judges ratings.csv
    irtkit judges ratings.csv --score-range 1,5 --family lab --out judged
    """
    family = column_or_name(given, "family")
    with prepared(given.out):
        how = how_to_read(given)
        drop = names_of(given.drop)
        judged = irtkit.judges(given.ratings, family, drop=drop or None, **how)
        written = write_files(given.out, outputs.judge_files, judged)
    show(given, judged.shown())
    if given.out is not None:
        click.echo(written.removeprefix("\n"))
    if not judged.is_comparable:
        next_step("have answers marked by judges of both groups, since marks are not comparable")
    elif judged.faulty and len(judged.table) > len(judged.faulty) + 1:
        how |= {"family": given.family} if given.family else {}
        how |= {"drop": [*drop, *judged.faulty], "out": str(given.out or "judged")}
        command = f"irtkit judges {quote(str(given.ratings))} {typed(how, options=True)}"
        next_step(command)
    elif given.out is None:
        next_step("--out DIR writes the adjusted marks, which irtkit fit takes")
    else:
        next_step(f"irtkit fit {quote(str(given.out / JUDGE_FILES[-1]))}")


@cli.declare
def _demo(given: SimpleNamespace) -> None:
    """Fit the bundled example: 130 classifiers on 1,797 digits.

    demo
    --model MODEL=2PL  Rasch, 1PL, 2PL or 3PL.
    --out FOLDER=irtkit-demo  Folder to write the tables to.

    irtkit demo
    """
    from irtkit.fitting import silently

    crowd, out = irtkit.load_digits_crowd(), given.out
    answered = crowd.responses.with_tables(predictions=crowd.predictions)
    with prepared(out):
        with silently():  # the summary says what it warns of
            result = irtkit.fit(answered, given.model)
            suspects = irtkit.flag_items(result)
        written = write_files(out, outputs.fit_files, result, "irtkit.load_digits_crowd()")
        irtkit.write_responses(crowd.responses, out / "responses.csv", format="wide")
        irtkit.write_table(crowd.predictions, out / "answers.csv")
    first = suspects.iloc[0]
    keys = suspects[["p_wrong_key", "average_error", "marked_right", "strong_answer"]]
    systems = result.respondents.iloc[result.best_first[:_LISTED]]
    sentence = (
        f"{first.name} is probably mislabelled. The answer key says {first['marked_right']}, and "
        f"most high-ability classifiers answer {first['strong_answer']}."
    )
    legend = ["P wrong key: probability that the item behaves as with a wrong key"]
    board = Shown("Systems by ability", systems[["ability", "ability_se", "accuracy"]])
    click.echo(
        Shown(findings=[sentence], further=[Shown("", keys.head(_LISTED), legend), board]).text()
    )
    click.echo(written.removeprefix("\n"))
    program = "irtkit" if which("irtkit") else f"{quote(sys.executable)} -m irtkit"
    click.echo(
        "responses.csv has who is right on which digit, answers.csv what was answered.\n\n"
        f"To make a page of these results, type:\n{program} report {quote(str(out))}"
    )


@cli.declare
def _help(given: SimpleNamespace) -> None:
    """Explain the options of reading, or a command with all of its options.

    help [TOPIC]...

    irtkit help reading
    irtkit help audit
    """
    ctx = click.get_current_context().find_root()
    if given.topic == ("reading",):
        click.echo(reading_help())
        return
    for name in given.topic:
        command = cli.get_command(ctx, name)
        if command is None:
            raise ValueError(f"help takes reading or a command, got {name!r}")
        of_command = click.Context(command, ctx, name)
        of_command.meta[SHOW_ALL] = True
        click.echo(of_command.get_help())
    if not given.topic:
        click.echo(ctx.get_help())


@cli.declare
def _fit(given: SimpleNamespace) -> None:
    """Fit an IRT model: item parameters and abilities of systems.

    fit RESPONSES
    {FIT}
    --chance NUMBER  Centre of the prior of guessing for the 3PL. By default estimated.
    --no-standard-errors  Leave standard errors out.
    Options:
    {METRICS}
    --out FOLDER  Folder to write the tables to.
    {READING}

    irtkit fit results.csv --out tables
    irtkit fit runs/ --metric match --model 1PL
    irtkit fit results.csv --abilities 2
    """
    exact = not given.no_standard_errors
    with prepared(given.out):
        result = fitted(given, standard_errors=exact, chance=given.chance)
        written = write_files(given.out, outputs.fit_files, result, printable(given.responses))
    click.echo(f"{result}{written}")
    path = _typed_path(given) if given.out is None else quote(str(given.out))
    next_step(f"irtkit audit {path}")


@cli.declare
def _audit(given: SimpleNamespace) -> int:
    """List suspect items: mislabelled ones, and texts that deserve a look.

    Items that hardly discriminate are listed as uninformative.

    audit RESPONSES
    {FITTING}
    {DIFFICULTY}
    --chance NUMBER  Probability of guessing right for the 3PL, such as 0.25.
    Options:
    {FDR}
    {FAMILIES}
    --predictions FILE  Wide table of what each system answered, to name the answer of strong
      systems.
    {SHOWN}
    --fail-on negative|any  Exit with code 1 if items have negative discrimination, or are called
      for any reason.
    {REMOVED}
    {HARNESS}
    --out TABLE  File for all items to read and uninformative items, such as .csv.
    {READING}

    irtkit audit results.csv
    irtkit audit runs/ --metric match --out suspects.csv
    irtkit audit runs/ --for inspect --removed called
    """
    thresholds = {name: getattr(given, name) for name in ("fdr", "extreme_difficulty", "chance")}
    answers = as_labelled(given.predictions, "--predictions")
    families = column_or_name(given, "families")
    result = result_of(given)
    responses = result.responses
    audit = irtkit.audit(result, families=families, predictions=answers, **thresholds)
    item_table = None if responses is None else responses.item_table
    items = audit.items.assign(reasons=audit.items["reasons"].map(reasons_text))
    removed = names_of(given.removed)
    if removed and getattr(given, "for") is None:
        raise ValueError("--removed is for --for, which was not given")
    command = command_for(given, result, audit.kept(removed))
    show(given, audit.shown(given.top), described(items, item_table))
    click.echo(command, nl=False)
    counted = {None: 0, "any": int(audit.suspects["called"].sum()), "negative": audit.n_negative}
    return int(counted[given.fail_on] > 0)


@cli.declare
def _health(given: SimpleNamespace) -> None:
    """Say if a benchmark is saturated, how many items it needs, and which to drop.

    Items that nearly all or nearly no systems solve are counted, and duplicates, which are answered
    like an earlier item. You can drop these. Where items have tasks, each task has a row,
    and tasks that measure different abilities are named. With --levels it says if a rubric is
    usable.

    health RESPONSES
    {SHOWN}
    --out TABLE  File for all items, such as .csv, with the group of near-duplicates.
    {FITTING}
    {READING}

    irtkit health results.csv
    irtkit health suite.csv --out items.csv
    """
    result = result_of(given)
    health = result.health()
    item_table = None if result.responses is None else result.responses.item_table
    show(given, health.shown(), described(health.items, item_table))


@cli.declare
def _compare(given: SimpleNamespace) -> None:
    """Compare average error with IRT difficulty.

    compare RESPONSES
    {FITTING}
    Options:
    {METRICS}
    --folds COUNT=5  Parts of the responses to hold out and predict. 0 skips this.
    {SHOWN}
    --out TABLES  Folder to write the tables to.
    {READING}

    irtkit compare results.csv --folds 2
    irtkit compare results.csv --metrics metrics.csv --higher-is-better f1
    """
    with prepared(given.out):
        result = result_of(given)
        comparison = irtkit.compare_difficulties(result, folds=given.folds, seed=given.seed)
        written = write_files(given.out, outputs.comparison_files, comparison)
    show(given, comparison.shown())
    click.echo(written.removeprefix("\n"), nl=bool(written))


@cli.declare
def _differential(given: SimpleNamespace) -> None:
    """Find items that are harder for one group, or version, at equal ability.

    differential RESPONSES
    --groups FILE|NAME=*  Table of systems and their groups, or a column that describes systems.
    {FDR}
    --reference GROUP  Reference group, if there are more than two groups.
    --focal GROUP  Focal group. By default all others are the reference.
    --anchors ITEMS  Items known to be equal for both groups: q1,q2,q3. By default all items that do
      not differ.
    --cut VALUE  Date or number at which the focal group begins.
    {SHOWN}
    --out TABLE  File for all items, such as .csv or .json.
    {READING}

    irtkit differential results.csv --groups families.csv
    """
    matrix = read_rows(given.responses, **how_to_read(given))
    try:
        cut = None if given.cut is None else float(given.cut)
    except ValueError:
        cut = given.cut  # a date
    table = irtkit.differential_functioning(
        matrix,
        column_or_name(given, "groups"),
        fdr=given.fdr,
        reference=given.reference,
        focal=given.focal,
        anchors=names_of(given.anchors) or None,
        cut=cut,
    )
    show(given, outputs.differential_shown(table, given.fdr), table)


@cli.declare
def _drift(given: SimpleNamespace) -> None:
    """Find what changed between two versions of a benchmark.

    Items are the same if their labels are. The systems may be the same or others. Two versions of
    one system are compared by irtkit gate.

    drift OLD NEW
    {FDR}
    {SHOWN}
    --out TABLE  File for all common items, such as .csv or .json.
    {READING}

    irtkit drift v1.csv v2.csv
    irtkit drift v1.csv v2.csv --out items.csv
    """
    versions = [read_rows(path, **how_to_read(given)) for path in (given.old, given.new)]
    changed = irtkit.drift(*versions, fdr=given.fdr)
    show(given, changed.shown(), changed.items)


@cli.declare
def _select(given: SimpleNamespace) -> None:
    """Select a subset of items that predicts the full score.

    The error is measured on held-out families of systems.

    select RESPONSES
    -k K=*  Items to select.
    {FAMILIES}
    --folds PARTS=10  Parts to hold out.
    {REMOVED}
    {HARNESS}
    {SHOWN}
    --out TABLE|NPZ  File for the items, such as .csv, or .npz for irtkit score.
    {FITTING}
    {READING}

    irtkit select results.csv -k 20
    irtkit select results.csv -k 20 --out few.npz
    irtkit select runs/ -k 20 --for inspect
    """
    from irtkit.data.families import SIMILAR

    families = column_or_name(given, "families")
    result = result_of(given, standard_errors=False)
    selection = irtkit.select_items(
        result,
        given.k,
        removed=names_of(given.removed),
        families=families or SIMILAR,
        folds=given.folds,
        seed=given.seed,
    )
    out = given.out
    command = command_for(given, result, selection.items)
    item_table = None if result.responses is None else result.responses.item_table
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of fits without a fold
        show(given, selection.shown())
        if out is not None and out.suffix == ".npz":
            selection.save(out)
            say_written(out, then=f": irtkit score ANSWERS {out}")
        else:
            table = selection.item_table.dropna(axis=1, how="all")
            write(described(table, item_table), out)
    click.echo(command, nl=False)


@cli.declare
def _leaderboard(given: SimpleNamespace) -> None:
    """Rank systems, with intervals for ranks and abilities.

    leaderboard RESPONSES
    --of like-these|these=like-these  Ranks on items like these, or by ability given these items.
    --simultaneous  Rank intervals that hold the ranks of all systems together.
    {BY}
    {FAMILIES}
    {INTERVALS}
    {SHOWN}
    --out TABLE  File for all systems, such as .csv or .json.
    {FITTING}
    {READING}

    irtkit leaderboard results.csv
    irtkit leaderboard suite.csv --by task
    irtkit leaderboard results.csv --families families.csv --out board.csv
    """
    from irtkit.calibration.result import AT_CHANCE
    from irtkit.systems.printed import board_shown, trials_shown
    from irtkit.systems.tasks import sizes_of_tasks

    of: Any = given.of.replace("-", " ")
    how: Any = {name: column_or_name(given, name) for name in ("families", "clusters", "by")}
    result = result_of(given)
    how |= {"level": given.level, "simultaneous": given.simultaneous, "seed": given.seed}
    board = result.leaderboard(of=of, **how)
    first = [finding for finding in result.findings if finding.code == AT_CHANCE]
    others = [finding for finding in result.findings if finding.code != AT_CHANCE]
    sizes = sizes_of_tasks(result)
    if given.by is None and len({*sizes}) > 1:
        values = {"n": len(sizes), "least": min(sizes), "most": max(sizes)}
        by_task = (Remedy({"by": "task"}, "by-task"),)
        others.append(Finding("tasks-pooled", "note", values, by_task))
    limits = [*map(with_severity, others)]
    further = [board_shown(board, given.level, of, limits, simultaneous=given.simultaneous)]
    trials = result.responses
    if trials is not None and trials.has_repeats and limit_of("pass_k", trials) is None:
        further.append(trials_shown(trials, board))
    show(given, Shown(findings=[*map(with_severity, first)], further=further), board)
    if len(board) > 1:
        names = " ".join(map(quote, map(str, board.index[:2])))
        next_step(f"irtkit compare-systems {_typed_path(given)} {names}")


@cli.declare
def _compare_systems(given: SimpleNamespace) -> None:
    """Compare two systems, or all pairs, to see if A is better than B.

    Without SYSTEMS, all pairs are compared. With more than two, all pairs of these are.

    compare-systems RESPONSES [SYSTEMS]...
    {BY}
    {INTERVALS}
    {SHOWN}
    --out TABLE  File for all pairs, or for the items of two systems, such as .csv or .json.
    {FITTING}
    {READING}

    irtkit compare-systems results.csv system-01 system-02
    irtkit compare-systems suite.csv system-01 system-02 --by task
    irtkit compare-systems results.csv --out pairs.csv
    """
    from irtkit.systems.printed import pairs_shown, tasks_shown

    systems, clusters = given.systems, column_or_name(given, "clusters")
    if len(systems) == 1:
        raise ValueError("compare-systems takes two systems or more, or none for all, got 1")
    by = column_or_name(given, "by")
    if by is not None and len(systems) != 2:
        raise ValueError(f"by needs two systems, got {len(systems)}")
    how: Any = {"by": by, "clusters": clusters, "level": given.level}
    result = result_of(given)
    if result.n_real < 2:
        raise ValueError("compare-systems needs two systems or more, and there is one")
    if len(systems) == 2:
        compared = irtkit.compare_systems(result, *systems, **how)
        if by is None:
            show(given, compared.shown(), compared.items)
        else:
            show(given, tasks_shown(compared, systems, given.level), compared)
        return
    how = {"systems": systems or None, "seed": given.seed, **how}
    pairs = irtkit.compare_systems(result, **how)
    show(given, pairs_shown(pairs, given.level), pairs.astype({"system": object, "other": object}))


@cli.declare
def _gate(given: SimpleNamespace) -> int:
    """Test whether a new version dropped by more than is allowed.

    OLD and NEW hold responses of one system each to the same items, or of the same systems.

    The exit code is 0 if a larger drop is ruled out and 1 if it is shown. It is 3 if the gate is
    inconclusive because more items are needed.

    gate OLD NEW
    {DROP}
    --level NUMBER=0.95  One minus the false-alarm rate.
    {CLUSTERS}
    --allow-inconclusive  Exit with code 0 if the gate is inconclusive.
    {SHOWN}
    --summary MARKDOWN  File for a summary, which ends in .md or .txt.
    {READING}

    irtkit gate old.csv new.csv --max-drop 0.01
    irtkit gate old.csv new.csv --summary gate.md
    """
    how = how_to_read(given)
    settings: Any = {"clusters": column_or_name(given, "clusters"), "level": given.level}
    runs = [read_rows(path, **how) for path in (given.old, given.new)]
    gate = irtkit.gate(*runs, max_drop=given.max_drop, **settings)
    show(given, gate.shown())
    if given.summary is not None:
        with replacing(given.summary) as temporary:
            temporary.write_text(gate.markdown, encoding="utf-8")
        say_written(given.summary)
    inconclusive = 0 if given.allow_inconclusive else 3  # it neither passes nor fails
    return {"passed": 0, "failed": 1, "inconclusive": inconclusive}[gate.verdict]


@cli.declare
def _score(given: SimpleNamespace) -> None:
    """Score systems on calibrated items.

    ITEMS is the folder that `irtkit fit --out` wrote, a saved result, or a table with the columns
    discrimination, and intercept or difficulty (and guessing).

    score RESPONSES ITEMS
    --method EAP|MAP|ML|WLE=EAP  Posterior mean or mode, maximum likelihood, or Warm's weighted
      likelihood.
    --level NUMBER=0.95  Coverage of the intervals.
    {SHOWN}
    --out TABLE  File for all scores, such as .csv or .json.
    {READING}

    irtkit score new.csv tables
    irtkit score new.csv tables --method WLE --out scores.csv
    """
    from irtkit.scoring.scores import items_for_scores, reading_for

    items = items_for_scores(given.items)
    how = reading_for(items, given.responses, how_to_read(given))
    matrix = read_rows(given.responses, **how)
    scores: Any = irtkit.score(matrix, items, given.method, level=given.level)
    show(given, scores.shown(), scores)


@cli.declare
def _report(given: SimpleNamespace) -> None:
    """Write a report for the browser: one HTML file.

    The page shows suspect items, all items and systems.

    report RESPONSES
    {FITTING}
    {METRICS}
    Options:
    {FDR}
    {FAMILIES}
    --predictions FILE  Wide table of what each system answered, to name the answer of strong
      systems.
    --difficulties FILE  Table of items and predicted difficulties, drawn next to the fitted ones.
    --compare  Add what irtkit compare prints, which takes several fits.
    --title TEXT  Heading of the page. By default the name of RESPONSES.
    --date TEXT  Date that the page shows. By default the day on which RESPONSES last changed.
    --out PAGE  File to write. By default the name of RESPONSES with .html, if it is free.
    {READING}

    irtkit report results.csv
    irtkit report runs/ --metric match --title Spring --out spring.html
    """
    from irtkit.report.report import page_for

    out = given.out
    if out is None:
        out = page_for(given.responses)
        check_writable(out, "--out")
    families = column_or_name(given, "families")
    changed = datetime.fromtimestamp(given.responses.stat().st_mtime, UTC)
    irtkit.report(
        result_of(given),
        out,
        title=printable(given.title or given.responses.resolve().name or "responses"),
        families=families,
        compare=given.compare,
        fdr=given.fdr,
        date=given.date or changed.date().isoformat(),
        predictions=as_labelled(given.predictions, "--predictions"),
        difficulties=as_labelled(given.difficulties, "--difficulties"),
    )
    click.echo(printable(f"wrote {out}"))


@cli.declare
def _impact(given: SimpleNamespace) -> int:
    """Measure how much work predicted annotations save.

    An impact of 0 saves all of it. Above 1, the predictions make more work.

    PREDICTED and MANUAL hold annotations by sample: CSV with the columns sample, type, start and
    end, or JSON, a list of these records or an object from the sample to its records.

    impact PREDICTED MANUAL
    --duration NUMBER  Duration of all samples. The cost of a pair then takes times as
      fractions of it.
    --tolerance NUMBER=0  Times that are this close need no fix.
    --weights TYPE,START,END=1,1,1  Weights of the cost that decides which annotations are paired.
    --max NUMBER  Exit with code 1 if the mean is higher.
    {SHOWN}
    --out TABLE  File for all samples, such as .csv or .json.

    irtkit impact predicted.json manual.csv --tolerance 0.5 --max 0.9
    """
    from irtkit.difficulty.annotation import read_annotations

    if len(given.weights) != 3:
        raise ValueError("--weights must be TYPE,START,END such as 1,1,1")
    summary = irtkit.impact(
        read_annotations(given.predicted),
        read_annotations(given.manual),
        weights=dict(zip(("type", "start", "end"), given.weights, strict=True)),
        duration=given.duration,
        tolerance=given.tolerance,
    )
    show(given, summary.shown(), summary.table)
    most = given.max
    too_high = most is not None and summary.exceeds(most)
    if too_high:
        click.echo(f"\nmean impact {summary.impact:.6g} is above --max {most:.6g}")
    return int(too_high)
