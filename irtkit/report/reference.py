"""All items, settings and method: what is looked up."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING

from irtkit.calibration.summary import hardest_first
from irtkit.difficulty.quality import quality_finding
from irtkit.pictures import trace
from irtkit.printed import percent
from irtkit.report import svg
from irtkit.report.findings import families_sentence
from irtkit.report.html import paragraphs, safe, section, table
from irtkit.report.words import count, number, shown

if TYPE_CHECKING:
    from irtkit.report.findings import Findings

_HARDEST = 50
"""Items in the table for print and for browsers without scripts: a page of paper."""
_FORMULA = (
    "P(right) = c + (1 − c) / (1 + exp(−a (θ − b))), with ability θ, slope (discrimination) a, "
    "difficulty b and guessing c (Birnbaum 1968)"
)
_WITHOUT = {
    "Rasch": "; here a is 1 and c is 0",
    "1PL": "; here all items share a, and c is 0",
    "2PL": "; here c is 0",
    "3PL": "",
}
_SIGNS = (
    "Whether a slope is below 0 is told by how responses follow the share right of systems, and by "
    "what all items show of slopes; calls are made at a false-discovery rate."
)
_ALIKE = "Systems that answer alike count for as many as are independent."
_INTERVALS = (
    "Shares have Wilson's intervals (1927). Rank intervals are those of Mogstad, Romano, Shaikh & "
    "Wilhelm (2024, Review of Economic Studies 91), about items like these; errors are those of "
    "paired differences (Miller 2024, arXiv 2411.00640)."
)

_ESTIMATED = {
    "em": "Items are estimated with abilities integrated out (Bock & Aitkin 1981).",
    "vi": "The posterior of the items is approximated by variational inference (Blei, Kucukelbir "
    "& McAuliffe 2017).",
}
_PRIORS = {"WeakPrior": "weak", "ItemPrior": "given"}
"""Kinds of priors, and the words for them."""
_EXPECTED = "weak, with difficulties expected of items"
"""Of a fit with ``WeakPrior(difficulty_mean=...)``."""


def all_items(found: Findings) -> str:
    """The place of the table that the script makes, and the hardest items for paper."""
    hardest = hardest_first(found.result.items).head(_HARDEST)
    numbers = {
        "average_error": "average error",
        "difficulty": "difficulty",
        "discrimination": "slope",
        "p_negative": "p negative",
    }
    if found.grouped:
        del numbers["p_negative"]  # that of the suspects counts by family
    columns = {"item": False, **dict.fromkeys([*numbers.values(), "responses"], True)}
    columns["status"] = False
    rows = [
        (
            shown(str(label)),
            *(number(row[name]) for name in numbers),
            count(int(row["n_responses"])),
            row["status"],
        )
        for label, row in hardest.iterrows()
    ]
    caption = f"The {len(hardest)} items with the highest average error that some get right"
    return section(
        "items",
        "All items",
        '<p class="caption">Difficulty is blank where an item is flat, its slope is below 0, or '
        'all or none get it right. <span class="scripted">Items that all or none get right stand '
        "last, until a column is chosen to sort by. Choose an item to see its curve.</span></p>",
        '<div class="scripted" id="table"></div>'
        '<div id="detail-below" class="detail scripted" role="region" '
        'aria-label="The chosen item, again"></div>',
        f'<div class="fallback">{table(caption, columns, rows)}</div>',
    )


def method(found: Findings) -> str:
    """Settings, what the figures are, and the summary as text."""
    result = found.result
    settings = result.settings
    stated = settings.prior or {"kind": "none"}
    prior = _PRIORS.get(stated["kind"], stated["kind"])
    rows = [
        ("model", result.model),
        ("method", "variational posterior" if result.method == "vi" else "EM"),
        ("prior of the items", _EXPECTED if "item_intercept_mean" in stated else prior),
        ("converged", f"{'yes' if result.converged else 'NO'}, {result.n_iterations} iterations"),
        ("log-likelihood", f"{result.log_likelihood:.2f}".replace("-", "−")),
        ("parameters", count(result.n_parameters)),
        ("nodes of ability", count(result.quadrature.n_nodes)),
        ("false-discovery rate", percent(found.fdr)),
        ("families", "none given" if found.n_families is None else count(found.n_families)),
        ("seed", str(settings.seed)),
        ("irtkit", version("irtkit")),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{safe(value)}</dd></div>" for name, value in rows)
    spread = "The scale: systems come from a population with mean ability 0 and SD 1."
    if result.model == "Rasch":
        sd = f"{result.latent_sd:.2f}, as estimated"
        spread = f"The scale: systems come from a population with mean ability 0 and SD {sd}."
    if result.fixed is not None:
        spread = "Abilities are on the scale of the items that were fixed."
    quality = []
    if result.quality_standard is not None and settings.metrics:
        quality.append(f"{quality_finding(result.quality_standard, settings.metrics)}.")
    scale = f"{_FORMULA}{_WITHOUT[result.model]}. {_ESTIMATED[result.method]} {spread}"
    summary = escape(str(result))
    drawn = svg.trace(trace(result), "Progress of the fit")
    return section(
        "method",
        "Settings and method",
        f'<dl class="settings">{listed}</dl>',
        paragraphs([scale, f"{_SIGNS} {families_sentence(found) or _ALIKE}", _INTERVALS, *quality]),
        f"<details><summary>Progress of the fit</summary><figure>{drawn}</figure></details>",
        f"<details><summary>Summary as text</summary><pre>{summary}</pre></details>",
    )
