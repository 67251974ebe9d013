"""What a comparison of difficulties found, in plain sentences.

The words for a Spearman correlation are conventions of this module; the number stands beside
them. An item's move is explained by what its own parameters have that most items do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.summary import negative_items
from irtkit.difficulty.held_out import AVERAGE_ERROR
from irtkit.difficulty.rank_agreement import ranks

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.difficulty.rank_agreement import RankAgreement

_SHOWN = 3  # items that a sentence names
_LARGE_MOVE = 0.1  # of all ranks
_SAME = 1 - 1e-9  # Spearman of the same order and the same ties, but for rounding
_FEW_RESPONSES = 30  # an average error of a half has a standard error of 0.09
_UNUSUAL_GUESSING = 0.05  # away from the median
_UNUSUAL_SLOPE = 2.0  # times the median, or the median times the slope
_MANY_RESPONSES = 0.9  # of the most that an item has
_WORDS = (
    (0.95, "put the items in nearly the same order"),
    (0.8, "put the items in much the same order"),
    (0.5, "agree in part on the order of the items"),
    (0.2, "agree little on the order of the items"),
    (-0.2, "do not agree on the order of the items"),
    (-1.0, "tend to opposite orders of the items"),
)


def agreement_sentence(names: tuple[str, str], agreement: RankAgreement, n_left_out: int) -> str:
    """Say how far two measures agree on the order of the items."""
    both = " and ".join(names)
    have = "items have" if n_left_out > 1 else "item has"
    why = " (unanswered, flat, or a slope below 0)" if "difficulty" in names else ""
    without = f"; {n_left_out} {have} no value{why}" if n_left_out else ""
    if np.isnan(agreement.spearman):
        return f"{both}: no order to compare, since one of them does not tell items apart{without}."
    numbers = (
        f"Spearman {agreement.spearman:.3f}, 95% interval "
        f"{agreement.spearman_low:.3f} to {agreement.spearman_high:.3f}{without}"
    )
    if agreement.same_order:
        if agreement.spearman > _SAME:
            return f"{both} put the items in the same order: nothing changes ({numbers})."
        return (
            f"{both}: no two items change places, nothing changes but ties, which one of them "
            f"has and the other has not ({numbers})."
        )
    words = next(words for least, words in _WORDS if agreement.spearman >= least)
    return f"{both} {words} ({numbers})."


def moves_sentence(
    names: tuple[str, str], agreement: RankAgreement, compared: pd.DataFrame, items: pd.DataFrame
) -> str:
    """Name the items whose ranks differ most and why; empty where nothing changes.

    `compared` are the rows of the item table in the order of the agreement, `items` is the whole.
    """
    if np.isnan(agreement.spearman) or agreement.same_order:
        return ""
    first, second = ranks(agreement.first), ranks(agreement.second)
    moves = np.abs(first - second)
    largest = np.argsort(-moves, kind="stable")[:_SHOWN]
    named = [
        f"{compared.index[k]} from {first[k]:g} to {second[k]:g} "
        f"({_reasons(compared.iloc[k], items)})"
        for k in largest
        if moves[k] > _LARGE_MOVE * len(moves)
    ]
    between = f"from {names[0]} to {names[1]}"
    if not named:
        return f"No item moves by more than a tenth of the ranks {between}."
    return f"The largest moves {between}, of {len(moves)} ranks (1 = easiest): {'; '.join(named)}."


def held_out_sentence(held_out: pd.DataFrame, duplicates: NearDuplicates | None = None) -> str:
    """Say whether a model predicts responses it has not seen better than average error does.

    The interval is that of all gains at once, so that the best may be chosen.
    """
    usual, models = held_out.loc[AVERAGE_ERROR], held_out.drop(AVERAGE_ERROR)
    if models["gain_low"].isna().all():
        return (
            "One respondent, or one item, does not show whether a model predicts responses better "
            "than average error does."
        )
    sure = models[models["gain_low"] > 0]
    best = (models if sure.empty else sure).sort_values("gain").iloc[-1]
    numbers = (
        f"gain in log-likelihood per response {best['gain']:.4f}, simultaneous 95% interval "
        f"{best['gain_low']:.4f} to {best['gain_high']:.4f}; accuracy {best['accuracy']:.1%} "
        f"against {usual['accuracy']:.1%}"
    )
    tie = ""
    ties = (models["gain_low"] <= 0) & (models["gain_high"] >= 0)
    if "1PL" in models.index[ties]:
        tie = (
            " The 1PL, which like it has one number per system and one per item, does neither "
            "better nor worse beyond error."
        )
    opponent = "average error as the additive logistic model"
    if sure.empty:
        how = "worse" if best["gain_high"] < 0 else "no better, beyond error,"
        return (
            f"IRT predicts responses left out at random {how} than does "
            f"{opponent}: at best the {best.name} ({numbers}).{tie}"
        )
    alike = ""
    if duplicates is not None and duplicates.found:
        alike = " Some systems are near-duplicates, which may be part of the gain."
    return (
        f"Responses left out at random are predicted better by the {best.name} than by {opponent} "
        f"({numbers}).{tie}{alike}"
    )


def signs_sentence(items: pd.DataFrame, *, doubted: bool) -> str:
    """Say how many items are called negative, as the fit and an audit do."""
    nothing = np.full(len(items), np.nan)
    p_negative = np.asarray(items.get("p_negative", nothing))
    varied = items["average_error"].between(0, 1, inclusive="neither")
    slope = np.asarray(items["discrimination"].where(varied))
    return "".join(f"{one}." for one in negative_items(p_negative, slope, doubted=doubted))


def few_sentence(items: pd.DataFrame, n_respondents: int) -> str:
    """Say how uncertain average errors are where those who answered are few.

    Repeated trials of a respondent count once.
    """
    n = min(float(items["n_responses"].median()), n_respondents)
    if not 0 < n < _FEW_RESPONSES:
        return ""
    return (
        f"Few respondents: a typical item was answered by {n:g}, so that an average error of one "
        f"half is uncertain by ±{0.98 / np.sqrt(n):.2f}, and so is the order of items."
    )


def _reasons(item: pd.Series[Any], items: pd.DataFrame) -> str:
    """What sets an item apart from the others and can move its rank."""
    reasons = [f"status {item['status']}"] if item["status"] != "ok" else []
    slope, usual_slope = item["discrimination"], items["discrimination"].median()
    if slope < 0:
        reasons.append(f"fitted slope below 0, {slope:.2f}")
    elif slope * _UNUSUAL_SLOPE < usual_slope:
        reasons.append(f"low discrimination {slope:.2f}, median {usual_slope:.2f}")
    elif slope > _UNUSUAL_SLOPE * usual_slope:
        reasons.append(f"high discrimination {slope:.2f}, median {usual_slope:.2f}")
    guessing, usual_guessing = item["guessing"], items["guessing"].median()
    if abs(guessing - usual_guessing) > _UNUSUAL_GUESSING:
        reasons.append(f"guessing {guessing:.2f}, median {usual_guessing:.2f}")
    if item["n_responses"] < _MANY_RESPONSES * items["n_responses"].max():
        n, most = item["n_responses"], items["n_responses"].max()
        reasons.append(f"{n} {'response' if n == 1 else 'responses'}, others have {most} at most")
    return ", ".join(reasons) or "nothing unusual in its parameters"
