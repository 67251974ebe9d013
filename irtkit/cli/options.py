"""How commands declare their arguments and options, and the help that they print.

The docstring of a command is its help. Its last paragraphs declare the arguments and options, as
the help shows them, and examples, which a test runs.
"""

from __future__ import annotations

import csv
import logging
import os
import re
from dataclasses import fields
from inspect import cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from irtkit.calibration.result import RESULT_FILE
from irtkit.capabilities import answer_to
from irtkit.checks import did_you_mean
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.files import check_writable, to_be_written
from irtkit.io.tables import TABLE_ENDINGS
from irtkit.irf import EXTREME, MODELS
from irtkit.printed import in_lines
from irtkit.responses.tables import Settings
from irtkit.systems.gate import MAX_DROP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def options_of_reading(*kinds: str) -> Iterator[str]:
    """Options that `Settings` declares, or those for some kinds of sources, one to a line."""
    names = Settings.names(*kinds)
    for setting in fields(Settings):
        if setting.metadata["option"] and setting.name in names:
            option, text = option_of(setting.name), setting.metadata["text"]
            text = re.sub("`(.+?)`", lambda name: option_of(name[1]), text)
            yield f"{option} {setting.metadata['word']}".rstrip() + f"  {text}"


def option_of(name: str) -> str:
    """Spell an argument as an option."""
    return f"--{name.replace('_', '-')}"


FIT_FILES = ("items.csv", "respondents.csv", "summary.json", RESULT_FILE)
"""What ``irtkit fit --out`` writes."""
CORRELATIONS_FILE = "correlations.csv"
"""What it writes in addition for several abilities."""
COMPARISON_FILES = (
    *("difficulties.csv", "difficulty_pairs.csv", "difficulty_summary.txt"),
    *("held_out.csv", "systems.csv"),
)
"""What ``irtkit compare --out`` writes."""
JUDGE_FILES = ("judges.csv", "favours.csv", "adjusted.csv")
"""What ``irtkit judges --out`` writes."""
READING = "\n".join(["Reading:", *options_of_reading()])
"""Settings of `irtkit.read_responses`."""
_SHOWN_OF_RATINGS = ("--judge ", "--score-range ")
_OF_RATINGS = [text for text in options_of_reading() if text.startswith(_SHOWN_OF_RATINGS)]
RATINGS = "\n".join(
    [*_OF_RATINGS, "Reading:", *(text for text in options_of_reading() if text not in _OF_RATINGS)]
)
"""The same, those that ratings need first."""
_MODEL = "--model MODEL  Rasch, 1PL, 2PL (default) or 3PL; GPCM (default of --levels) or GRM."
_ROWS = """--drop NAMES  Systems to leave out. at-chance: systems that score no better than
  guessing.
--abilities WHAT  Different abilities: a number of them, auto (as many as held-out answers show),
  task (one a task) or bifactor (a general one too).
--synthetic KINDS  Synthetic respondents to add: always-right, always-wrong, class-prior, coin.
--fixed PATH  Items to hold on an earlier scale: a saved fit or a table of items. Those that drift
  are named."""
_SEARCH = """--method em|vi=em  Expectation maximisation, or variational inference for a posterior.
--prior weak|empirical|none=weak  Prior of items: weak, learned from the items, or none for maximum
  likelihood.
--quadrature POINTS,LIMIT  Fixed quadrature grid: 61,6 as in R's mirt. By default adaptive.
--labels FILE  Table of items and their classes, for class-prior.
--draws INTEGER=1  Rows of each random kind of synthetic respondent.
--seed INTEGER=0  Seed of all that is random."""
FITTING = f"Options:\n{_MODEL}\nAdvanced:\n{_ROWS}\n{_SEARCH}"
"""Settings of `irtkit.fit`, and of respondents that are added or left out."""
FIT = f"Options:\n{_MODEL}\n{_ROWS}\nAdvanced:\n{_SEARCH}"
"""The same for the command ``fit``, whose help shows more of them."""
METRICS = """--metrics FILE|NAMES  Score items by more metrics: a table, or names of metrics in the
  logs.
--higher-is-better NAMES  Metrics that are better when higher, or none. Others are better when
  lower."""
FDR = f"--fdr NUMBER={FALSE_DISCOVERY_RATE}  False-discovery rate."
FAMILIES = """--families FILE|NAME  Table of systems and their families, similar for families of
  near-duplicates, or a column that describes systems."""
CLUSTERS = """--clusters FILE|NAME  Table of items and their clusters, such as passages, or a column
  that describes items. Standard errors are then clustered."""
BY = """--by FILE|NAME  Table of items and their tasks, or a column that describes items, such as
  task. Each task then has the same weight."""
INTERVALS = f"--level NUMBER=0.95  Coverage of the intervals.\n{CLUSTERS}"
REMOVED = """--removed ITEMS  Items that you removed after reading: q1,q2, or called for those that
  irtkit audit calls."""
HARNESS = """--for inspect|lm-eval  Print the command line that asks only these items."""
SHOWN = """--top COUNT=20  Rows of a table to print.
--legend  Explain all columns."""
DIFFICULTY = f"""--extreme-difficulty NUMBER={EXTREME}  Difficulty in SDs of ability beyond which an
  item is extreme."""
DROP = f"--max-drop NUMBER={MAX_DROP}  Allowed drop in accuracy: 0.02 is 2 percentage points."


class _Text(click.types.StringParamType):
    """A path, a name or a number, which must not be empty as an unset variable of the shell is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class Given(_Text):
    """A path. With `endings` it is a file to write, with `files` a folder to write these to."""

    def __init__(self, *, endings: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> None:
        self._endings, self._files = endings, files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Files that will be written there are not read from now on."""
        path = Path(super().convert(value, param, ctx))
        option = "--out" if param is None else param.opts[0]
        targets = [path / name for name in self._files]
        if self._endings:
            check_out(path, self._endings, option)
            targets = [path]
        if ctx is not None:
            named = [(f"{option} {target}", target) for target in targets]
            ctx.find_root().with_resource(to_be_written(named))
        return path


def check_out(out: Path, endings: tuple[str, ...], option: str = "--out") -> None:
    """Refuse a file before the long work if it cannot be written or is part of a saved fit."""
    if not out.name.lower().endswith(endings):
        ways = " or ".join(endings)
        raise ValueError(f"{option} must be a file that ends in {ways}, got {str(out)!r}")
    check_writable(out, option)
    real = out.resolve()
    in_fit = all((real.parent / name).exists() for name in FIT_FILES[-2:])
    if in_fit and real.name in FIT_FILES:
        raise ValueError(f"{option} {out}: is a file of the fit in {real.parent}")


def _numbers(text: str) -> Any:
    if text == "adaptive":
        return text
    return [int(word) if word.isdigit() else float(word) for word in text.split(",")]


def _range(text: str) -> Any:
    """A range of all items, or an item and its own range."""
    item, _, pair = text.rpartition("=")
    return (item, _numbers(pair)) if item else _numbers(pair)


def names_of(given: Iterable[str]) -> list[str]:
    """Names with commas between them. A name in double quotes may hold commas."""
    return [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row]


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("PATH", "FILE"), Given()),
    **dict.fromkeys(("FILE|NAME", "FILE|NAMES", "FILE|LABEL", "NUMBER|FILE"), _Text()),
    "NUMBER": float,
    "INTEGER": int,
    "COUNT": click.IntRange(min=0),
    "K": click.IntRange(min=1),
    "PARTS": click.IntRange(min=2),
    "MODEL": click.Choice(MODELS, case_sensitive=False),
    "TABLE": Given(endings=TABLE_ENDINGS),
    "TABLE|NPZ": Given(endings=(*TABLE_ENDINGS, ".npz")),
    "OUT": Given(endings=("",)),  # the format says which
    "PAGE": Given(endings=(".html", ".htm")),
    "MARKDOWN": Given(endings=(".md", ".txt")),
    "FOLDER": Given(files=FIT_FILES),
    "TABLES": Given(files=COMPARISON_FILES),
    "DIR": Given(files=JUDGE_FILES),
    **dict.fromkeys(("POINTS,LIMIT", "TYPE,START,END"), _numbers),
    "RANGE": _range,
}
"""Types of options by the word of their help. Other words are texts."""
_SEVERAL = {"NAMES", "FILE|NAMES", "COLUMNS", "WORDS", "KINDS", "ITEMS", "RANGE"}
"""Words of options that may be given several times."""
SHOW_ALL = "irtkit.all"  # Key of a help that shows all options.
_LINE = re.compile(r"(-\S+)(?: ([^\s=]+)(?:=(\S+))?)? +(.*)")


_USUAL = ("item", "key", "threshold", "repeats", "metric")
"""Options of reading that the help of every command shows."""
_KINDS = {
    "all": "All sources",
    "labels": "Tables",
    "marks": "Tables and arrays",
    "ratings": "Ratings by judges",
    "logs": "Evaluation logs",
}
"""Sources by the kind of the settings that are for them."""


class _Option(click.Option):
    section = "Options"


def options(text: str) -> Iterator[_Option]:
    """Options that a text declares, one to a line, as ``--name WORD=default  Help``.

    A word such as ``em|vi`` is a choice, an option without a word is a flag, and one with the
    default ``*`` is required. An indented line continues the help. A line of one word and a colon
    begins a section of the help.
    """
    section = "Options"
    for line in re.sub(r"\n +", " ", text).split("\n"):
        if not (declared := _LINE.fullmatch(line)):
            section = line.rstrip(":")
            continue
        flag, word, default, told = declared.groups()
        how: dict[str, Any] = {"is_flag": True}
        if word is not None:
            kind = _TYPES.get(word)
            if kind is None and ("|" in word or word.islower()):
                kind = click.Choice(word.split("|"), case_sensitive=False)
            how = {"metavar": word, "type": kind, "multiple": word in _SEVERAL}
        if default == "*":
            how["required"] = True
            told += " [required]"
        elif default is not None:
            how["default"] = default
            told += f" [default: {default}]"
        made = _Option([flag], help=told, **how)
        made.section = section
        yield made


Rows = list[tuple[str, str]]


def _row(option: click.Option) -> tuple[str, str]:
    """An option as it is typed, and its text."""
    names = ", ".join(option.opts)
    return f"{names} {option.metavar or ''}".strip(), option.help or ""


def _section_text(heading: str, rows: Rows, column: int = 28) -> str:
    """A section of a help, whose texts begin at a column."""
    lines = [f"{heading}:"] if rows else []
    for name, text in rows:
        start = f"  {name}  ".ljust(column)
        if len(start) > column:
            lines.append(f"  {name}")
            start = " " * column
        lines.append(in_lines([text], bullet=start))
    return "".join(f"{line}\n" for line in lines)


def reading_help() -> str:
    """All options of reading, by what they are for."""
    sections = [
        "How commands read RESPONSES. irtkit.read_responses has the same settings.\n",
        *(
            _section_text(heading, [_row(option) for option in options(declared)])
            for kind, heading in _KINDS.items()
            if (declared := "\n".join(options_of_reading(kind)))
        ),
    ]
    return "\n".join(sections)


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    """Print the help with all options, and end."""
    if wanted:
        ctx.meta[SHOW_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _be_quiet(_ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    """Silence lines on what is read, and progress."""
    if wanted:
        logging.getLogger("irtkit").setLevel(logging.WARNING)


class _Help(click.Command):
    """Help in sections, 80 columns wide, in which no word is broken."""

    examples = ""
    column = 28  # Where the text about an option begins.

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what was typed. What is refused is an error that names what to type."""
        options = [param for param in self.params if isinstance(param, _Option)]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = [option.opts[0] for option in options if option.section == "Options"]
            hint = did_you_mean(error.option_name, (option.opts[0] for option in options))
            if names and not hint:
                hint = f". irtkit {self.name} has {', '.join(names)}"
            text = f"No such option {error.option_name}{hint}"
            raise click.BadOptionUsage(error.option_name, text, ctx) from None
        except click.UsageError as error:
            # a plain UsageError is arguments too many: the shell expanded a pattern
            if type(error) is not click.UsageError:
                raise
            answer = answer_to(str(self.name))
            other = "" if answer is None else f". See also {answer.command}"
            quote = (
                "Quote a pattern, as in 'runs/*.eval', or merge paths with irtkit merge. Systems "
                "are compared by irtkit compare-systems"
            )
            raise click.UsageError(f"{error.format_message()}. {quote}{other}", ctx) from None

    def sections(self, ctx: click.Context) -> dict[str, Rows]:
        """Return names and texts of the options by section."""
        texts: dict[str, Rows] = {"Options": [], "Reading": [], "Advanced": []}
        for param in self.get_params(ctx):
            if not isinstance(param, click.Option):
                continue
            section = getattr(param, "section", "Options")
            name, text = _row(param)
            if section == "Options" or SHOW_ALL in ctx.meta:
                texts[section].append((name, text))
            elif param.name in _USUAL:
                beginning = re.split(r"[:.] |, or ", text)[0]
                texts[section].append((name, beginning.rstrip(".") + "."))
        return texts

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description, the options by section, and the examples as they are typed."""
        self.format_usage(ctx, formatter)
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write(f"\n{in_lines([' '.join(paragraph.split())], bullet='  ')}\n")
        for heading, rows in self.sections(ctx).items():
            if rows:
                formatter.write(f"\n{_section_text(heading, rows, self.column)}")
        formatter.write("\nExamples:\n" + re.sub("(?m)^", "  ", self.examples) + "\n")


class Group(_Help, click.Group):
    """Commands in sections. The text ends with examples, as the docstrings of commands do."""

    column = 19

    def __init__(self, text: str, sections: dict[str, str]) -> None:
        settings = {"help_option_names": ["-h", "--help"]}
        description, _, self.examples = cleandoc(text).rpartition("\n\n")
        super().__init__("irtkit", help=description, context_settings=settings)
        click.version_option(package_name="irtkit")(self)
        self._sections = {name: commands.split() for name, commands in sections.items()}

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command. A word that people try is an error that names the command to use."""
        command = super().get_command(ctx, name)
        answer = answer_to(name)
        if command is None and answer is not None:
            raise click.UsageError(f"{name} is answered by {answer.command}")
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of the help."""
        return [name for names in self._sections.values() for name in names]

    def sections(self, ctx: click.Context) -> dict[str, Rows]:
        """Return names and summaries of the commands before the options."""
        summaries = {
            name: (command.help or "").split("\n")[0] for name, command in self.commands.items()
        }
        commands = {
            section: [(name, summaries[name]) for name in names]
            for section, names in self._sections.items()
        }
        return commands | super().sections(ctx)

    def declare(self, function: Callable[[Any], Any]) -> None:
        """Add a function of the values of the options as a command.

        Its docstring has paragraphs of help, then the name, arguments and options (`options`), and
        at last examples. An argument is a path, ``PATHS...`` several, ``[SYSTEMS]...`` any names.
        """
        *description, declared, examples = cleandoc(function.__doc__ or "").split("\n\n")
        usage, _, text = declared.format_map(globals()).partition("\n")
        name, *words = usage.split()
        params: list[click.Parameter] = []
        for word in words:
            required = not word.startswith("[")
            how: dict[str, Any] = {"nargs": -1} if word.endswith("...") else {}
            how |= {"type": Given() if required else str, "required": required}
            params.append(click.Argument([word.strip("[].").lower()], **how))

        def callback(**values: Any) -> Any:
            return function(SimpleNamespace(**values))

        declared_options = list(options(text))
        params += declared_options
        if any(option.section != "Options" for option in declared_options):
            shown = "Show all options. See also irtkit help reading."
            how = {"is_flag": True, "is_eager": True, "expose_value": False, "help": shown}
            params.append(click.Option(["--help-all"], callback=_show_all, **how))
        silence: dict[str, Any] = {
            "is_flag": True,
            "expose_value": False,
            "help": "Print no progress and no lines on what is read.",
        }
        params.append(click.Option(["-q", "--quiet"], callback=_be_quiet, **silence))
        made = _Help(name, params=params, callback=callback, help="\n\n".join(description))
        made.examples = examples
        self.add_command(made)
