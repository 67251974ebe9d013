"""The command line: ``irtkit inspect``, ``fit``, ``compare``, ``audit``, ``merge`` and others.

Results go to standard output and files, progress, warnings and errors to standard error. Bad input
ends with exit code 2 and one line that says what is wrong.
"""

from irtkit.cli.commands import main

__all__ = ["main"]
