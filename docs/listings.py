"""Public names and commands, listed in the documentation from what the package has.

``{names}`` is followed by lines of names in irtkit, such as `fit` or `systems.Gate`. `commands`
lists the help of every command.
"""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import Any

import click
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import irtkit
from irtkit.cli.commands import cli


def parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """What lines of Markdown become where a directive stands; they may have headings."""
    section = nodes.section()
    section.document = directive.state.document
    content = StringList(lines, source=directive.name)
    directive.state.nested_parse(content, directive.content_offset, section, match_titles=True)
    return section.children


class Names(SphinxDirective):
    """Documentation of public names, from their docstrings."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """One directive of autodoc for every name."""
        found: list[str] = []
        for name in " ".join(self.content).split():
            kind = "class" if inspect.isclass(attrgetter(name)(irtkit)) else "function"
            found += ["```{eval-rst}", f".. auto{kind}:: irtkit.{name}"]
            found += ["   :members:"] * (kind == "class") + ["```", ""]
        return parsed(self, found)


class Commands(SphinxDirective):
    """Help of every command."""

    def run(self) -> list[nodes.Node]:
        """What the commands print about themselves, 80 columns wide."""
        found: list[str] = []
        with click.Context(cli, info_name="irtkit") as context:
            for name in cli.list_commands(context):
                command: Any = cli.get_command(context, name)
                with click.Context(command, info_name=name, parent=context) as of:
                    found += [f"## irtkit {name}", "", "```text", *command.get_help(of).split("\n")]
                    found += ["```", ""]
        return parsed(self, found)


def setup(app: Any) -> dict[str, bool]:
    """Give Sphinx the directives."""
    app.add_directive("names", Names)
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
