"""Ten questions, each with the command that answers it, the sentence, and its truth.

Data are simulated, so that the truth is known. The commands are those of the README and of
``irtkit --help``.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.commands import printed

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
N, N_ITEMS, N_WRONG, N_NOISE = 120, 200, 5, 4
OPTIONS = np.array([*"ABCD"])
ITEMS = [f"q{k:03}" for k in range(N_ITEMS)]
WRONG = {*ITEMS[:N_WRONG]}
CHANGED = {*ITEMS[7::20]}
COMMANDS = {
    "mislabelled": "audit",
    "A better than B": "compare-systems",
    "how many items": "health",
    "ranking": "leaderboard",
    "saturated": "health",
    "drop": "health",
    "different abilities": "health",
    "ability of a new system": "score",
    "subset of items": "select",
    "judge usable": "judges",
    "rubric usable": "health --levels",
    "changed between two versions": "drift",
}
"""Words of questions, and the command that the README names for them."""


class Truth:
    """Parameters behind the files."""

    generator = np.random.default_rng(49)
    ability = np.sort(generator.normal(size=N))[::-1]
    slope = generator.lognormal(0, 0.3, N_ITEMS)
    difficulty = generator.normal(size=N_ITEMS)

    def probability(self, ability, shift=0.0):
        """P(right) of systems to all items."""
        distance = ability[:, None] - self.difficulty - shift
        return np.asarray(1 / (1 + np.exp(-self.slope * distance)))

    def drawn(self, p):
        """Responses, 1 or 0."""
        return (self.generator.random(p.shape) < p).astype(int)


def write(path, values, items, prefix="s"):
    """Write a wide table."""
    systems = [f"{prefix}{k:03}" for k in range(len(values))]
    pd.DataFrame(values, systems, items).rename_axis("model").to_csv(path)


@pytest.fixture(scope="module")
def truth():
    return Truth()


@pytest.fixture(scope="module")
def here(tmp_path_factory, truth):
    """Folder with the files of all questions."""
    folder, generator = tmp_path_factory.mktemp("questions"), truth.generator
    right = truth.drawn(truth.probability(truth.ability))
    meant = generator.integers(0, 4, N_ITEMS)
    answers = (meant + np.where(right, 0, generator.integers(1, 4, right.shape))) % 4
    key = np.where(np.isin(ITEMS, [*WRONG]), meant + 1, meant) % 4
    write(folder / "answers.csv", OPTIONS[answers], ITEMS)
    pd.DataFrame({"item": ITEMS, "answer": OPTIONS[key]}).to_csv(folder / "key.csv", index=False)
    pd.Series(OPTIONS[meant], ITEMS, name="meant").to_csv(folder / "meant.csv")
    marked = (answers == key).astype(int)
    marked[40] = marked[39]  # a tie
    write(folder / "results.csv", marked, ITEMS)
    newcomer = truth.drawn(truth.probability(np.array([0.8])))
    write(folder / "newcomer.csv", newcomer, ITEMS, "new")
    difficulty = np.repeat([-5.0, -1.5], [30, 70])
    easy = truth.drawn(1 / (1 + np.exp(difficulty - truth.ability[:, None])))
    easy[:, -2], easy[:, -1] = easy[:, 40], generator.integers(0, 2, N)
    write(folder / "easy.csv", easy, [f"e{k:02}" for k in range(100)])
    abilities = generator.normal(size=(80, 2))
    tasks = np.repeat(["code", "law"], 40)
    of_tasks = np.repeat(abilities, 40, axis=1) - generator.normal(size=80)
    suite = pd.DataFrame(truth.drawn(1 / (1 + np.exp(-of_tasks))), [f"s{k}" for k in range(80)])
    long = suite.rename_axis("model").reset_index().melt("model", None, "question", "correct")
    long["task"] = tasks[long["question"].astype(int)]
    long.to_csv(folder / "suite.csv", index=False)
    write(folder / "marks.csv", marks_of_a_judge(generator), [f"p{k:02}" for k in range(30)])
    ratings_of_four(generator).to_csv(folder / "ratings.csv", index=False)
    shift = -1.5 * np.isin(ITEMS, [*CHANGED])
    for version, moved, first in (("v1", 0.0, "a"), ("v2", shift, "b")):
        p = truth.probability(generator.normal(size=N), moved)
        write(folder / f"{version}.csv", truth.drawn(p), ITEMS, first)
    return folder


def marks_of_a_judge(generator):
    """Marks 1 to 5 of 40 systems by a partial credit model, on prompts of which 4 are noise."""
    slope = generator.lognormal(0, 0.3, 30)
    threshold = np.sort(generator.normal(size=(30, 4)), axis=1)
    distance = generator.normal(size=(40, 1, 1)) - threshold
    steps = np.cumsum(slope[:, None] * distance, axis=2)
    p = np.exp(np.concatenate([np.zeros((40, 30, 1)), steps], axis=2))
    below = (p / p.sum(axis=2, keepdims=True)).cumsum(axis=2)[:, :, :-1]
    marks = 1 + (generator.random((40, 30, 1)) > below).sum(axis=2)
    marks[:, :N_NOISE] = generator.integers(1, 6, (40, N_NOISE))
    return np.asarray(marks)


def ratings_of_four(generator):
    """Marks 1 to 5 by four judges. The third is noisy, and the fourth strict by 0.8."""
    shape = (30, 40, 4)
    quality = generator.normal(size=(30, 1, 1)) + generator.normal(0, 0.5, (1, 40, 1))
    noise = generator.normal(size=shape) * [0.4, 0.4, 1.6, 0.4]
    marks = np.clip(np.round(3 + quality - [0, 0, 0, 0.8] + noise), 1, 5).astype(int)
    system, item, judge = np.indices(shape).reshape(3, -1).astype(str)
    judge = np.char.add("judge-", judge)
    return pd.DataFrame({"model": system, "item": item, "judge": judge, "score": marks.ravel()})


def said(line, folder):
    """What a command prints, in one line."""
    return " ".join(printed(line, folder).split())


@pytest.mark.parametrize("words", COMMANDS)
def test_the_readme_names_the_command(words):
    row = re.search(rf"(?i)^\|[^|]*{words}[^|]*\|[^|]*\|([^|]*)\|", README, re.MULTILINE)
    assert row is not None
    assert f"`{COMMANDS[words]}`" in row[1]


def test_mislabelled_items_without_answers(here):
    text = said("audit results.csv", here)
    n_called, n_read = map(int, re.findall(r"(\d+) items? called. Read these (\d+) first", text)[0])
    first = re.findall(r"\b(q\d{3}) (?:yes )?[\d.]+ ", text)[:n_read]
    assert {*first[:n_called]} <= WRONG
    assert len({*first[:N_WRONG]} & WRONG) >= N_WRONG - 1


def test_mislabelled_items_with_answers(here):
    text = said("audit answers.csv --key key.csv", here)
    meant = pd.read_csv(here / "meant.csv", index_col=0)["meant"]
    called = re.findall(r"\b(q\d{3}) yes .*? ([A-D]) [A-D] ", text)
    assert {item for item, _ in called} <= WRONG
    assert len(called) >= N_WRONG - 1
    assert all(answer == meant[item] for item, answer in called)


def test_a_or_b(here):
    assert "s005 is ahead of s100:" in said("compare-systems results.csv s100 s005", here)
    text = said("compare-systems results.csv s060 s061", here)
    assert re.search("s06[01] does not differ significantly from s06[01]", text)


def test_how_many_items(here, truth):
    text = said("health results.csv", here)
    n = int(re.findall(r"How many items: .*? ([\d,]+) if 5", text)[0].replace(",", ""))
    p = truth.probability(truth.ability[:10])
    p[:, :N_WRONG] = (1 - p[:, :N_WRONG]) / 3
    pairs = np.array(np.triu_indices(10, 1))
    variance = (p * (1 - p)).mean(axis=1)[pairs].sum(axis=0)  # of two systems, an item
    varying = (p[pairs[0]] - p[pairs[1]]).var(axis=1)
    expected = (1.959964 + 0.841621) ** 2 * (variance + varying).mean() / 0.05**2
    assert n == pytest.approx(expected, rel=0.15)


def test_ranks_with_ties(here):
    text = printed("leaderboard results.csv --top 120", here)
    row = r"(?m)^(s\d{3}) +(\d+) +(\d+)…(\d+) ([\w-]+) "
    ranks = {system: rest for system, *rest in re.findall(row, text)}
    assert ranks["s039"] == ranks["s040"]
    true = {f"s{k:03}": k + 1 for k in range(N) if k != 40}  # s040 is a copy
    inside = [int(ranks[s][1]) - 1 <= rank <= int(ranks[s][2]) + 1 for s, rank in true.items()]
    assert np.mean(inside) >= 0.9


def test_saturated(here, truth):
    text = said("health easy.csv", here)
    said_score = r"(\d+) of (\d+) items still .*?, whose mean\s+score\s+is ([\d.]+)%"
    n, of, score = re.findall(said_score, text)[0]
    best = 1 / (1 + np.exp(np.repeat([-5.0, -1.5], [30, 70]) - truth.ability[:10, None]))
    assert int(of) == 100
    assert float(score) / 100 == pytest.approx(best.mean(), abs=0.02)
    assert int(n) < 70  # the others are at the ceiling for all
    assert "Items at the ceiling" in text


def test_what_to_drop(here):
    printed("health easy.csv --out items.csv", here)
    items = irtkit.read_table(here / "items.csv")["drop"]
    assert items["e99"] == "flat"
    assert items["e98"] == "repeats"
    at_ceiling = items.index[items == "ceiling"]
    assert len(at_ceiling) >= 20
    assert {*at_ceiling} <= {f"e{k:02}" for k in range(30)}
    n = (items.fillna("") != "").sum()
    assert f"Items to drop: {n} of 100 items add little." in said("health easy.csv", here)


def test_different_abilities(here):
    assert "Different abilities: 2 of 2 tasks" in said("health suite.csv", here)
    assert ", 2 abilities, 80 " in said("fit suite.csv --abilities auto", here)
    assert "One ability" in said("health results.csv", here)


def test_a_new_model_from_50_items(here, truth):
    printed("select results.csv -k 50 --out few.npz", here)
    printed("select results.csv -k 50 --out few.csv", here)
    chosen = irtkit.read_table(here / "few.csv").index
    assert len(chosen) == 50
    answers = pd.read_csv(here / "newcomer.csv", index_col=0)
    answers[list(chosen)].to_csv(here / "fifty.csv")
    text = said("score fifty.csv few.npz", here)
    low, high = map(float, re.findall(r"new000 \S+ \S+ \S+ ([\d.]+) ([\d.]+)", text)[0])
    true = truth.probability(np.array([0.8]))[0]
    true[:N_WRONG] = (1 - true[:N_WRONG]) / 3
    assert low <= true.mean() <= high
    assert high - low < 0.2


def test_is_the_judge_usable(here):
    text = printed("judges ratings.csv --score-range 1,5", here)
    row = r"(?m)^(judge-\d) +\d+ +(-?[\d.]+) +[\d.]+ +([\d.]+)"
    rows = {judge: (float(value), float(agrees)) for judge, value, agrees in re.findall(row, text)}
    assert next(iter(rows)) == "judge-3"  # the strictest
    assert rows["judge-3"][0] - rows["judge-0"][0] == pytest.approx(0.8, abs=0.15)
    assert min(rows, key=lambda judge: rows[judge][1]) == "judge-2"


def test_is_the_rubric_usable(here):
    text = said("health marks.csv --levels", here)
    assert f"Items to drop: {N_NOISE} of 30 items add little. Flat: {N_NOISE}." in text
    assert "Names: p00, p01, p02, p03." in text
    assert "Marks at the ends" in text


def test_what_changed_between_versions(here):
    text = said("drift v1.csv v2.csv", here)
    changed = {*re.findall(r"q\d{3}", re.findall("Easier: (.*?) Scores:", text)[0])}
    assert len(changed) >= 3
    assert len(changed - CHANGED) <= 1
