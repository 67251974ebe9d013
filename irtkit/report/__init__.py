"""A page that a team lead reads: one file that works offline, and results shown in notebooks."""

from irtkit.report.report import report

__all__ = ["report"]
