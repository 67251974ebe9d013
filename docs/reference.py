"""Pages of the reference in Markdown, from signatures, docstrings and the help of commands."""

from __future__ import annotations

import inspect
import re
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from sphinx.pycode import ModuleAnalyzer

import irtkit
from irtkit import capabilities as capabilities_of
from irtkit.cli.commands import cli
from irtkit.cli.options import reading_help
from irtkit.findings import as_typed
from irtkit.results import PUBLIC, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ENTRIES = {"Parameters", "Other Parameters", "Returns", "Raises", "Warns", "Attributes"}
"""Sections of a docstring that are lists of names with descriptions."""
WIDTH = 88
DOCS = Path(__file__).parent


def summary(name: str) -> str:
    """First sentence of a docstring."""
    first = inspect.getdoc(attrgetter(name)(irtkit)).split("\n\n")[0].replace("\n", " ")
    return inline(re.split(r"(?<=[.;]) ", first)[0]).rstrip(".;") + "."


def names_table(names: str) -> str:
    """Names with their summaries, and links to their pages."""
    rows = ["| name | summary |", "| --- | --- |"]
    for name in names.split():
        said = summary(name).replace("|", r"\|")
        rows.append(f"| [`{name}`](reference/{name}.md) | {said} |")
    return "\n".join(rows) + "\n"


_NAMED = 3  # Functions of a limit up to which it names them.


def capabilities() -> str:
    """Which function is for which data, and what to do where it is not, by the table of limits."""
    traits = {
        capabilities_of.LEVELS: "levels",
        capabilities_of.SCORES: "scores",
        capabilities_of.TRIALS: "trials",
        capabilities_of.SEVERAL: "several abilities",
        capabilities_of.SPARSE: "sparse",
        capabilities_of.FEW: "few systems",
        capabilities_of.UNSAVED: "no responses",
    }
    rows = [f"| function | {' | '.join(traits.values())} |", "| --- |" + " --- |" * len(traits)]
    reasons: dict[Any, list[str]] = {}
    for function, limits in capabilities_of.FUNCTIONS.items():
        refused = {limit.trait for limit in limits}
        marks = ["no" if trait in refused else "" for trait in traits]
        rows.append(f"| `{function}` | {' | '.join(marks)} |")
        for limit in limits:
            reasons.setdefault(limit, []).append(f"`{function}`")
    lines = []
    for limit, functions in reasons.items():
        of = f" ({', '.join(functions)})" if len(functions) <= _NAMED else ""
        lines.append(f"- {limit.trait}{of}: {limit.reason}. {as_typed(limit.instead)}.")
    return "\n".join([*rows, "", *lines, ""])


def inline(text: str, links: Iterable[str] = ()) -> str:
    """Roles and double backticks of a docstring as Markdown."""

    def shown(role: re.Match[str]) -> str:
        name = role[2].removeprefix("irtkit.")
        short = name == role[2]
        pages = [page for page in links if name in {page, page.split(".")[-1] if short else ""}]
        linked = role[1] in {"func", "class"} and pages
        return f"[`{role[2]}`]({pages[0]}.md)" if linked else f"`{role[2]}`"

    return re.sub(r"``([^`]+)``", r"`\1`", re.sub(r":(\w+):`~?([^`]+)`", shown, text))


def described(doc: str, links: Iterable[str], of: Any = None) -> str:
    """A docstring as Markdown, with the types of what it describes beside its parameters."""
    types = {} if of is None else inspect.signature(of).parameters
    first, *sections = re.split(r"(?m)^([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.cleandoc(doc))
    parts = [inline(first, links)]
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        if title in ENTRIES:
            known = partial(entry, types=types if "Parameters" in title else {})
            body = re.sub(r"(?m)^(\S.*)\n", known, content)
            body = inline(re.sub(r"(?m)^    ", "  ", body), links).replace(":\n  ", ": ")
        elif title == "Examples":
            body = re.sub(
                r"(?ms)^>>>.*?(?=\n\n(?!>>>)|\Z)", r"```pycon\n\g<0>\n```", content.strip()
            )
        elif title == "References":
            body = inline(re.sub(r"(?m)^(?=[A-Z].*\(\d{4}\))", "- ", content), links)
        else:
            named = r":func:`\g<0>`" if title == "See Also" else r"\g<0>"
            body = inline(re.sub(r"\birtkit\.\w[\w.]*", named, content), links)
        parts.append(f"**{title}**\n\n{body.strip()}")
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def entry(head: re.Match[str], types: Mapping[str, inspect.Parameter]) -> str:
    """Names of an entry of a docstring, with the type that it states or that of the signature."""
    names, _, stated = head[1].replace("*", r"\*").partition(" : ")
    one = types.get(names)
    if one is not None and not stated:
        default = "" if one.default is one.empty else f", default `{value(one)}`"
        stated = f"`{one.annotation}`{default}"
    return f"- **{names}**" + (f" ({stated})" if stated else "") + ":\n"


def value(one: inspect.Parameter) -> str:
    """Default of a parameter."""
    shown = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
    return shown.replace("<factory>", "...")


def signature(name: str, of: Any) -> str:
    """A call with types and defaults, on several lines if it is long."""
    found = inspect.signature(of)
    parts: list[str] = []
    for one in found.parameters.values():
        if one.name in {"self", "cls"}:
            continue
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        if one.kind is one.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        part = stars + one.name + ("" if one.annotation is one.empty else f": {one.annotation}")
        if one.default is not one.empty:
            part += f" = {value(one)}"
        parts.append(part)
    returned = found.return_annotation
    end = "" if inspect.isclass(of) or returned is found.empty else f" -> {returned}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def attributes(of: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of the attributes and properties of a class."""
    notes = ModuleAnalyzer.for_module(of.__module__).find_attr_docs()
    public = PUBLIC if of is irtkit.FitResult else None
    for name, kind in vars(of).get("__annotations__", {}).items():
        if not name.startswith("_") and (public is None or name in public):
            yield name, kind, "\n".join(notes.get((of.__qualname__, name), []))
    for name, value in members(of).items():
        get = value.fget if isinstance(value, property) else getattr(value, "func", None)
        if get is not None and not name.startswith("_"):
            yield name, inspect.signature(get).return_annotation, inspect.getdoc(get) or ""


def members(of: type) -> dict[str, Any]:
    """What people use of a class, by name."""
    public = PUBLIC if of is irtkit.FitResult else vars(of)
    return {name: value for name, value in vars(of).items() if name in public}


def pages() -> dict[Path, str]:
    """A page for every name in the tables of names, which the site shows and links to."""
    index = (DOCS / "reference.md").read_text(encoding="utf-8")
    names = " ".join(re.findall(r"(?s)<!-- names (.+?) -->", index)).split()
    return {DOCS / "reference" / f"{name}.md": page(name, names) for name in names}


def page(name: str, links: Iterable[str]) -> str:
    """Page of a public name, with links to the pages of others."""
    of = attrgetter(name)(irtkit)
    lines = [f"# irtkit.{name}", ""]
    if not (inspect.isclass(of) and ":func:" in of.__doc__.split(".\n")[0]):  # results are returned
        lines += ["```py", signature(f"irtkit.{name}", of), "```", ""]
    lines += [described(of.__doc__, links, of)]
    if inspect.isclass(of):
        entries = []
        for attribute, kind, doc in attributes(of):
            text = described(doc, links).rstrip().replace("\n", "\n  ").replace("\n  \n", "\n\n")
            entries.append(f"- **{attribute}** (`{kind}`)" + (f": {text}" if text else ""))
        if entries:
            lines += ["## Attributes", "", *entries, ""]
        for method, found in members(of).items():
            if isinstance(found, Question):
                lines += [f"## {method}", "", f"[`irtkit.{method}`]({method}.md) of it.", ""]
            plain = getattr(found, "__func__", found)
            if inspect.isfunction(plain) and not method.startswith("_"):
                call = signature(f"{of.__name__}.{method}", plain)
                text = described(inspect.getdoc(plain) or "", links, plain)
                lines += [f"## {method}", "", "```py", call, "```", "", text]
    return "\n".join(lines).rstrip() + "\n"


def commands() -> str:
    """Help of every command, 80 columns wide."""
    found: list[str] = []
    with click.Context(cli, info_name="irtkit", **cli.context_settings) as context:
        for name in cli.list_commands(context):
            command: Any = cli.get_command(context, name)
            with click.Context(command, info_name=name, parent=context) as of:
                text = reading_help() if name == "help" else command.get_help(of)
            found += [f"## irtkit {name}", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(found)
