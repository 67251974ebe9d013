"""Typing what `inspect` proposes never gives another matrix than the truth."""

import shlex
import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix, read_responses
from irtkit.findings import ReadingError
from irtkit.fitting import silently
from irtkit.io.overview import overview
from irtkit.responses.guessing import near_chance
from tests.commands import run

VALUES = np.array(
    [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]]
)
MODELS = [*"abcdef"]
ITEMS = ["q1", "q2", "q3", "q4"]
TRUTH = ResponseMatrix(VALUES, MODELS, ITEMS)
HOLES = np.where(np.arange(24).reshape(6, 4) % 7 == 3, -1, VALUES)
HOLED = ResponseMatrix(HOLES, MODELS, ITEMS)
FILLED = ResponseMatrix(np.maximum(HOLES, 0), MODELS, ITEMS)
GRADES = 1 + np.arange(24).reshape(6, 4) * 7 % 5  # Marks from 1 to 5.
SECONDS = 1 + 1.25 * (np.arange(24).reshape(6, 4) * 5 % 25)


def wide(cells, items=ITEMS):
    frame = pd.DataFrame(cells, columns=items)
    frame.insert(0, "model", MODELS)
    return frame


def words(right, wrong, missing=""):
    """Marks in words, with another word in some cells."""
    marked = np.where(HOLES == 1, right, wrong).astype(object)
    return wide(np.where(HOLES < 0, missing, marked))


def long(**columns):
    names = {"model": np.repeat(MODELS, 4), "item": np.tile(ITEMS, 6)}
    return pd.DataFrame({**names, **columns})


def scored(scores):
    return ResponseMatrix(scores, MODELS, ITEMS)


MARKS = VALUES.ravel()
READ = {  # Read as they are.
    **{
        f"{right}/{wrong}": (words(right, wrong), HOLED)
        for right, wrong in (
            *(("correct", "incorrect"), ("Right", "Wrong"), ("PASS", "FAIL"), ("yes", "No")),
            *(("passed", "failed"), ("C", "I"), ("success", "failure"), ("solved", "unsolved")),
            *(("resolved", "unresolved"), ("True", "False"), ("correct", "wrong"), ("✓", "✗")),
        )
    },
    "confidence beside marks": (long(score=MARKS, confidence=np.linspace(0, 1, 24)), TRUTH),
    "difficulty beside grades": (long(correct=MARKS, steps=np.arange(24) % 3), TRUTH),
}  # fmt: skip
ASKED = {  # Not read without a choice, which gives the truth.
    "-1/+1, -1 missing": (
        wide(np.where(VALUES, 1, -1)), scored(np.where(VALUES, 1, -1)), {"missing": -1}),
    "1 or nothing": (wide(np.where(VALUES, "1", "")), TRUTH, {"right": 1, "wrong": ""}),
    "-1/0/+1": (
        wide(np.where(HOLES < 0, 0, 2 * VALUES - 1)), HOLED,
        {"right": 1, "wrong": -1, "missing": 0}),
    "-1/0/+1, levels": (
        wide(GRADES % 3 - 1), scored(GRADES % 3 / 2), {"score_range": (-1, 1)}),
    "score among marks": (
        long(score=MARKS, polite=np.roll(MARKS, 5)), TRUTH, {"response": "score"}),
    "accuracy among ratings": (
        long(accuracy=MARKS, helpfulness=GRADES.ravel(), clarity=GRADES[::-1].ravel()), TRUTH,
        {"response": "accuracy"}),
    "seconds": (
        wide(SECONDS), scored((31 - SECONDS) / 30), {"score_range": (31, 1)}),
    "points out of 40": (
        wide(VALUES * 10 + 20), scored((VALUES * 10 + 20) / 40), {"score_range": (0, 40)}),
    "a rubric beside marks": (
        wide(VALUES).assign(q5=[0, 1, 2, 3, 4, 5]),
        ResponseMatrix(np.c_[VALUES, np.arange(6) / 5], MODELS, [*ITEMS, "q5"]),
        {"score_range": {"q5": (0, 5)}}),
    "three words, one wrong": (
        words("C", "I", "ERROR"), FILLED, {"right": "C", "wrong": ["I", "ERROR"]}),
    "a word among marks, wrong": (
        words(1, 0, "timeout"), FILLED, {"right": 1, "wrong": [0, "timeout"]}),
    "true or false answers": (
        wide(np.where(VALUES == 1, list("TFTF"), list("FTFT"))), TRUTH,
        {"key": dict(zip(ITEMS, "TFTF", strict=True))}),
    "yes and no beside marks": (
        wide(VALUES).assign(released=["yes", "no"] * 3), TRUTH, {"ignore": "released"}),
    "two words of which one is unknown": (
        words("ok", "meh", ""), HOLED, {"right": "ok", "wrong": "meh"}),
    "three words, ordered": (
        words("correct", "incorrect", "partial"), scored(np.where(HOLES < 0, 0.5, HOLES)),
        {"order": ["incorrect", "partial", "correct"]}),
    "0/1/2": (wide(GRADES % 3), scored(GRADES % 3 / 2), {"score_range": (0, 2)}),
    "ordered words": (
        wide(np.array(["very bad", "bad", "ok", "good", "very good"])[GRADES - 1]),
        scored((GRADES - 1) / 4),
        {"order": ["very bad", "bad", "ok", "good", "very good"]}),
}  # fmt: skip


def saved(frame, folder):
    frame.to_csv(folder / "results.csv", index=False)
    return folder / "results.csv"


@pytest.mark.parametrize("name", READ)
def test_what_means_one_thing_is_read(tmp_path, name):
    frame, truth = READ[name]
    assert read_responses(frame) == truth
    shown = overview(saved(frame, tmp_path))
    assert (shown.matrix, shown.settings) == (truth, {})


@pytest.mark.parametrize("name", ASKED)
def test_what_may_mean_two_things_is_asked_with_the_choices(tmp_path, name):
    frame, truth, settings = ASKED[name]
    path = saved(frame, tmp_path)
    shown = overview(path)
    assert (shown.matrix, shown.command) == (None, "")
    choices = [choice.settings for choice in shown.problem.finding.remedies]
    assert any(settings.keys() & choice.keys() for choice in choices)
    assert read_responses(path, **settings) == truth
    assert read_responses(frame, **settings) == truth or name == "1 or nothing"


def test_ordered_levels_are_named_and_typed(tmp_path):
    for frame, option in (
        (wide(GRADES % 3), "--score-range 0,2 --levels"),
        (wide(GRADES % 3 - 1), "--score-range -1,1 --levels"),
        (words("correct", "incorrect", "partial"), "--order incorrect,partial,correct"),
    ):
        assert f"add {option} if these are ordered levels" in str(overview(saved(frame, tmp_path)))
    path = saved(wide(GRADES), tmp_path)
    assert "--score-range 1,5 --levels if these are ordered levels" in str(overview(path))
    shown = overview(path, score_range=(1, 5), levels=True)
    assert shown.command == f"irtkit fit {shlex.quote(str(path))} --score-range 1,5 --model GPCM"
    low = wide(np.minimum(GRADES, 3)).assign(q4=GRADES[:, 3])
    points = read_responses(low, levels=True)
    assert points.trials.tolist() == [[4] * 4] * 6
    assert points.scores.max() <= 1
    assert (points.scores[:, :3] <= 0.5).all()


def test_words_are_noted_and_a_mixture_is_asked_about():
    (note,) = read_responses(words("pass", "fail")).source.findings
    assert (note.code, note.values) == ("words-read", {"right": ["pass"], "wrong": ["fail"]})
    mixed = words("pass", "fail").assign(q1=["yes", "no"] * 3)
    with pytest.raises(ValueError, match="not responses: 'q1'"):
        read_responses(mixed)
    assert ResponseMatrix([["yes", "no"], ["no", ""]]).values.tolist() == [[1, 0], [0, -1]]


def test_the_number_of_options_is_declared_or_asked_about(tmp_path):
    generator = np.random.default_rng(0)
    accuracy = np.array([0.25] * 5 + [0.5, 0.6, 0.7, 0.8, 0.9])[:, None]
    frame = pd.DataFrame((generator.random((10, 600)) < accuracy).astype(int))
    frame.insert(0, "model", [f"m{k}" for k in range(10)])
    (said,) = near_chance(read_responses(frame))
    assert (said.code, said.values["n"], said.values["n_options"]) == ("near-chance", 5, 4)
    declared = read_responses(frame, options=4)
    assert declared.item_table["n_options"].eq(4).all()
    assert near_chance(declared) == []
    with silently():
        guessing = irtkit.fit(declared, standard_errors=False).at_chance
    assert guessing == ("m0", "m1", "m2", "m3", "m4")
    for n_options in (1, 2.5, "four"):
        with pytest.raises(ValueError, match="options must be a whole number"):
            read_responses(frame, options=n_options)
    with pytest.warns(irtkit.IRTWarning, match="as if they guessed between 4 options"):
        seeming = irtkit.fit(frame, standard_errors=False)
    assert "near-chance" in {finding.code for finding in seeming.findings}
    saved(frame, tmp_path)
    assert [finding.code for finding in overview(tmp_path / "results.csv").findings] == [said.code]
    dropped = run("leaderboard results.csv --drop at-chance", tmp_path).stderr
    assert "Add --options 4 if" in dropped
    shown = run("leaderboard results.csv --drop at-chance --options 4", tmp_path).stdout
    assert "m9" in shown
    assert "m0 " not in shown


def test_weak_systems_that_find_easy_items_easier_do_not_guess():
    generator = np.random.default_rng(0)
    easy = np.tile([0.05, 0.1, 0.6], 200)  # Mean accuracy 1/4.
    values = (generator.random((20, 600)) < easy).astype(int)
    assert not near_chance(read_responses(values))
    values[:10] = generator.random((10, 600)) < 0.25
    (said,) = near_chance(read_responses(values))
    assert 8 <= said.values["n"] <= 10


# Tables of one truth in drawn words, missing marks, separators, encodings and layouts
# Reading must give the truth, or a finding; so must the command that `inspect` proposes.


WORDS = (
    *((1, 0), (1, -1), ("correct", "incorrect"), ("Right", "WRONG"), ("pass", "fail")),
    *(("Passed", "Failed"), ("YES", "no"), ("True", "False"), ("C", "I"), ("Y", "N"), ("P", "F")),
    *(("success", "failure"), ("solved", "unsolved"), ("ok", "error"), ("good", "bad")),
    *(("A", "B"), (100, 0), (2, 1), (5, 1), ("1.0", "0.0"), ("100%", "0%"), ("✓", "✗")),
)
MISSING = ("", "NA", "nan", "None", "-", "?", "N/A", "null", "skipped", "timeout", -1, 9, -99)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
SEPARATORS = (",", "\t", ";")
LAYOUTS = ("wide", "long", "transposed", "long by task", "with a family", "with a size")
NAMES = ("model", "system", "agent", "Subject ID", "")


def table(seed):
    """Content of a file, its truth, the setting that says how rows lie, and what was drawn."""
    generator = np.random.default_rng(seed)

    def one(choices):
        return choices[generator.integers(len(choices))]

    n_models, n_items = generator.integers(3, 9, 2)
    holes = generator.random((n_models, n_items)) < one((0, 0.15))
    values = np.where(holes, -1, generator.random((n_models, n_items)) < 0.6).astype(np.int8)
    (right, wrong), missing, layout, name = one(WORDS), one(MISSING), one(LAYOUTS), one(NAMES)
    models, items = [f"m{k}" for k in range(n_models)], [f"q{k}" for k in range(n_items)]
    cells = np.where(values == 1, right, wrong).astype(object)
    cells[holes] = missing
    frame = pd.DataFrame(cells, pd.Index(models, name=name), items).reset_index(names=name)
    truth = ResponseMatrix(values, models, items) if (values >= 0).any() else None
    how = {}
    if layout == "transposed":
        frame, how = frame.set_index(name).T.rename_axis("item").reset_index(), {"transpose": True}
    elif layout == "with a family":
        frame["family"] = [f"f{k % 2}" for k in range(n_models)]
    elif layout == "with a size":
        frame["size"] = generator.integers(11, 400, n_models) / 2
    elif layout.startswith("long"):
        how["respondent"] = name or "model"
        frame = frame.rename(columns={name: how.pop("respondent")})
        frame = frame.melt(frame.columns[0], var_name="item", value_name=one(("score", "correct")))
        if layout == "long by task":
            frame.insert(0, "task", "t")
            truth = ResponseMatrix(values, models, [f"t/{item}" for item in items])
    content = frame.to_csv(index=False, sep=one(SEPARATORS)).encode(one(ENCODINGS))
    return content, truth, how, f"{right}/{wrong}, missing {missing!r}, {layout}, {name!r}"


def outcome(path, truth, how):
    """Whether reading is right, asks, is wrong with a finding, or wrong; as inspect types it."""
    try:
        matrix = read_responses(path, **how)
    except ReadingError:
        shown = overview(path, **how)
        if shown.matrix is None:
            return "asked"
        return "proposed" if same(shown.matrix, truth) else "wrong proposal"
    if same(matrix, truth):
        return "right"
    return "wrong with a finding" if matrix.source.findings else "wrong"


def same(matrix, truth):
    """Whether two matrices agree, whatever the order of their labels."""
    frames = [one.to_frame().sort_index(axis=0).sort_index(axis=1) for one in (matrix, truth)]
    return frames[0].astype(float).equals(frames[1].astype(float))


@pytest.mark.parametrize("first", [0, pytest.param(25, marks=pytest.mark.slow)])
def test_no_table_is_read_wrongly_without_a_finding(tmp_path, first):
    counts = {}
    path = tmp_path / "results.csv"
    for seed in range(first, 200 if first else 25):
        content, truth, how, drawn = table(seed)
        path.write_bytes(content)
        with warnings.catch_warnings(action="ignore"):
            counts.setdefault(outcome(path, truth, how), []).append(f"{seed}: {drawn}")
    assert not counts.get("wrong")
    assert not counts.get("wrong proposal")
    assert len(counts["right"]) > 0.2 * sum(map(len, counts.values()))
