"""A fit in words: sentences, and its tables in a few readable lines."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from irtkit.checks import first_names
from irtkit.metrics.quality_standard import quality_sentence
from irtkit.printed import LABEL, in_lines, percent, plain, printable, shortened, table_of
from irtkit.signs import FALSE_DISCOVERY_RATE, called_negative

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Counts
    from irtkit.irf import Array

_TELLING = 8
"""Systems from which on it tells that none gets an item right: 1 in 256 items that half of them get
right is so by chance, and 1 in 10 of those that a quarter gets right."""
_TIED = 1e-6
"""Abilities that differ by less are the same: rounding."""
_OF_PARTS = "(part: the component; rows of different parts cannot be compared)"
"""Said under tables whose rows have scales of their own."""
_SHOWN = 5
"""Rows of a table: as many as ``head`` of pandas shows."""


def in_words(result: FitResult) -> str:
    """What ``print(result)`` says: sentences, the hardest items, and the ablest respondents."""
    said = [*_headline(result), in_lines(_sentences(result))]
    return "\n".join([*filter(None, said), "", *_tables(result)])


def about(result: FitResult) -> list[str]:
    """What is said of a fit without its tables, a sentence or line each."""
    return [*_headline(result), *_sentences(result)]


def _headline(result: FitResult) -> list[str]:
    """What was fitted to how much, how the search ended, and where."""
    n_synthetic = int(result.synthetic.sum())
    synthetic = f" and {n_synthetic} synthetic" if n_synthetic else ""
    n, n_items = result.n_real, len(result.item_labels)
    state = "converged" if result.converged else "NOT CONVERGED"
    unit = "iterations" if result.elbo is None else "variational steps"
    mark = "*" if result.settings.prior else ""
    source = None if result.responses is None else result.responses.source
    return [
        (
            f"{result.model} fitted to {n} respondent{'s' * (n > 1)}{synthetic} × {n_items} "
            f"{_items(n_items)}"
        ),
        f"{state} after {result.n_iterations} {unit} on {result.quadrature.n_nodes} nodes",
        (
            f"log-likelihood {result.log_likelihood:.3f}   AIC{mark} {result.aic:.1f}   "
            f"BIC{mark} {result.bic:.1f}   ({result.n_parameters} parameters)"
        ),
        *([] if source is None else [in_lines([printable(str(source))])]),
    ]


def _sentences(result: FitResult) -> list[str]:
    """What is said below the headline: of the scale, of what is doubtful, and of items."""
    found = [f"{one.severity}: {one}" for one in result.findings]
    lines = [*found, *_of_settings(result), *_of_scale(result)]
    if result.dependence is not None and result.dependence.sentence:
        lines.append(
            f"{result.dependence.sentence}; AIC and BIC take {result.evidence:.2f} times the "
            "log-likelihood; errors of abilities and items ignore this and are too small"
        )
    if result.quality_standard is not None and (asked := result.settings.metrics):
        lines.append(quality_sentence(result.quality_standard, asked))
    return lines + _remarkable(result)


def _of_settings(result: FitResult) -> list[str]:
    """What a prior, the variational path and repeated trials make of the figures above."""
    lines = []
    if result.settings.prior:
        lines.append("* without the prior. To compare models, fit them with prior=None")
    if result.model == "3PL" and isinstance(
        chance := (result.settings.prior or {}).get("chance"), float
    ):
        lines.append(f"the prior of guessing is centred on {chance:.2f}")
    if result.elbo is not None:
        lines.append(
            f"evidence lower bound {result.elbo:.3f} ± {result.elbo_se:.3f}; "
            "items are posterior means"
        )
    correlation = result.settings.trial_correlation
    if correlation and all(one.code != "correlated-trials" for one in result.findings):
        lines.append(
            "repeated trials count for less, in the log-likelihood as well: they correlate by "
            f"{correlation:.2g} beyond what the model explains"
        )
    return lines


def _of_scale(result: FitResult) -> list[str]:
    """Mean and SD of ability, where they are not 0 and 1."""
    lines = []
    if result.fixed is not None:
        known = result.latent_mean_se, result.latent_sd_se
        mean_se, sd_se = ("" if se is None else f" (SE {se:.3f})" for se in known)
        lines.append(
            f"{result.fixed.sum()} items fixed, on whose scale ability has mean "
            f"{result.latent_mean:.3f}{mean_se} and SD {result.latent_sd:.3f}{sd_se}"
        )
    elif result.model == "Rasch":
        lines.append(f"SD of ability {result.latent_sd:.3f}")
    return lines


def _tables(result: FitResult) -> list[str]:
    """The hardest items, and the ablest respondents."""
    items, respondents = result.items, result.respondents
    columns = ["discrimination", "difficulty", "average_error", "n_responses", "status"]
    room = LABEL
    if result.model == "3PL":
        columns.insert(2, "guessing")
        room -= len("guessing ")
    of_parts = ["part"] if "component" in items else []
    if of_parts:
        items, respondents = (
            table.rename(columns={"component": "part"}) for table in (items, respondents)
        )
        columns[-1:-1] = of_parts
        room -= len("part ")
    hardest = hardest_first(items)[columns]
    real = respondents.iloc[result.best_first]
    ablest = real[["ability", "ability_se", "accuracy", "n_responses", *of_parts]].head(_SHOWN)
    ablest = ablest.set_axis([*map(shortened, ablest.index)]).rename_axis("respondent")
    lines = []
    if len(hardest):
        lines += [
            "items with the highest average error, of those that some get right",
            "(difficulty is blank where an item is flat or its slope is below 0):",
            plain(table_of(folded(hardest, result.alike, _SHOWN, room)[0], ["status"])),
            "",
        ]
    by = "highest-scoring" if result.at_chance else "ablest"
    n_first = int((real["ability"] > real["ability"].max() - _TIED).sum())
    tied = n_first >= _SHOWN and not result.at_chance
    tie = f" ({n_first} are as able as the first)" if tied else ""
    lines += [f"{by} respondents{tie}:", plain(table_of(ablest))]
    return [*lines, _OF_PARTS] if of_parts else lines


def _remarkable(result: FitResult) -> list[str]:
    """How many items are called negative, and how many have no ordinary estimate."""
    items, doubted = result.items, result.one_ability_doubted
    varied = items["average_error"].between(0, 1, inclusive="neither")
    slope, status = items["discrimination"].where(varied).to_numpy(), items["status"]
    lines = []
    if sentence := negative_sentence(items["p_negative"].to_numpy(), slope, doubted=doubted):
        lines.append(sentence)
    if flat := int((status == "flat").sum()):
        lines.append(
            f"{flat:,} flat {_items(flat)}: by responses to {'it' if flat == 1 else 'each'} alone "
            "the slope cannot be told from 0, and so there is no difficulty to speak of"
        )
    if unbounded := int((status == "unbounded").sum()):
        lines.append(f"{unbounded:,} {_items(unbounded)} without a finite estimate (unbounded)")
    n_answering = int(result.answering.sum())
    return lines + silent_items(result.counts, items.index, n_answering)


def negative_sentence(p_negative: Array, slope: Array, *, doubted: bool) -> str:
    """Say how many items are called negative, and how many slopes below 0 are not believed.

    A sentence that fit and comparison share; without any such item, nothing. Where one scale does
    not hold (``doubted``), no rate does.
    """
    called = called_negative(p_negative, slope=slope)
    n, unsure = called.sum(), ((slope < 0) & ~called).sum()
    parts = []
    if n:
        parts.append(called_in_words(n, len(called), FALSE_DISCOVERY_RATE, doubted=doubted))
    if unsure:
        further = "further " if n else ""
        slopes = f"{further}slope is" if unsure == 1 else f"{further}slopes are"
        parts.append(f"{unsure:,} {slopes} estimated below 0, but not significantly")
    return "; ".join(parts)


def called_in_words(n: int, n_items: int, fdr: float, *, doubted: bool) -> str:
    """Say how many items are called negative, 1 or more, and how sure that is."""
    sure = (
        "unreliable, see the warnings"
        if doubted
        else f"at a false-discovery rate of {percent(fdr)}"
    )
    return (
        f"{n:,} of {n_items:,} items {'has' if n == 1 else 'have'} negative discrimination ({sure})"
    )


def silent_items(
    counts: Counts, labels: Iterable[str], n_answering: int, shown: int = _SHOWN
) -> list[str]:
    """Say how many items all get wrong, which ones, and how many all get right or nobody answered.

    They say nothing about abilities, and those that no system gets right may be broken; of those
    that few of the ``n_answering`` respondents tried nothing follows.
    """
    many = np.minimum(counts.item_responses, n_answering) >= _TELLING
    wrong = [*compress(labels, counts.all_wrong & many)]
    few = int((counts.all_wrong & ~many).sum())
    right, unanswered = int(counts.all_right.sum()), int((counts.item_responses == 0).sum())
    lines = []
    if wrong:
        lines.append(
            f"{len(wrong):,} {_items(len(wrong))} that no system gets right: look here for broken "
            f"items ({first_names(wrong, shown=shown)})"
        )
    if few:
        lines.append(
            f"{few:,} {_items(few)} that no system gets right, of fewer than {_TELLING} that "
            "tried: too few to say that an item is broken"
        )
    if right:
        lines.append(f"{right:,} {_items(right)} that every system gets right")
    if unanswered:
        lines.append(f"{unanswered:,} {_items(unanswered)} without responses")
    return lines


def _items(n: int) -> str:
    return "item" if n == 1 else "items"


def readable_difficulty(items: pd.DataFrame) -> pd.Series[float]:
    """Difficulties of the items that rise with ability; of others −intercept / slope tells nothing.

    Where the slope is below 0, it is high for items that most get right.
    """
    rises = (items["status"] == "ok") & (items["discrimination"] > 0)
    return items["difficulty"].where(rises)


def hardest_first(items: pd.DataFrame) -> pd.DataFrame:
    """Items that some get right, the highest average error first, with readable difficulties."""
    varied = items[items["average_error"].between(0, 1, inclusive="neither")]
    hardest = varied.sort_values("average_error", ascending=False, kind="stable")
    return hardest.assign(difficulty=readable_difficulty(hardest))


def folded(
    table: pd.DataFrame, alike: pd.Series[float], most: int, room: int = LABEL
) -> tuple[pd.DataFrame, int]:
    """The first rows of a table by item, items with the same number in ``alike`` in one of them.

    Its label says how many more there are. With them comes the number of items that they are.
    """
    import pandas as pd

    numbers = alike.loc[table.index]
    _, first, n_alike = np.unique(numbers, return_index=True, return_counts=True)
    chosen = np.argsort(first)[:most]
    shown, n_alike = table.iloc[first[chosen]], n_alike[chosen]
    further = [f" +{n - 1} alike" if n > 1 else "" for n in n_alike]
    names = [
        shortened(label, room - len(more)) + more
        for label, more in zip(shown.index, further, strict=True)
    ]
    return shown.set_axis(pd.Index(names, name="item")), int(n_alike.sum())
