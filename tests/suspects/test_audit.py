"""Claims about what an audit says, and that everything irtkit prints tells one list."""

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import irtkit
from irtkit import ItemParameters, ResponseMatrix, flag_items, simulate_responses
from tests.crowds import crowd

N_ITEMS, N_WRONG, N_RIGHT = 150, 4, 3


@pytest.fixture(scope="module")
def responses():
    """150 items, 10 inverted, 2 copies of another, 4 that all get wrong, 3 that all get right."""
    generator = np.random.default_rng(1)
    slopes = generator.lognormal(0, 0.3, N_ITEMS)
    slopes[:10] *= -1
    items = ItemParameters(slopes, generator.normal(size=N_ITEMS), np.zeros(N_ITEMS))
    values = simulate_responses(items, generator.normal(size=120), seed=2).values.copy()
    values[:, -N_WRONG:], values[:, -N_WRONG - N_RIGHT : -N_WRONG] = 0, 1
    values[:, 10:12] = values[:, :1]
    return ResponseMatrix(values)


@pytest.fixture(scope="module")
def result(responses):
    return irtkit.fit(responses)


@pytest.fixture(scope="module")
def found(result):
    return irtkit.audit(result)


def test_what_no_system_gets_right_is_a_list_of_its_own(result, found):
    last = [f"item-{k}" for k in range(N_ITEMS - N_WRONG + 1, N_ITEMS + 1)]
    assert found.all_wrong == last
    for text in (" ".join(str(result).split()), " ".join(str(found).split())):
        assert f"{N_WRONG} items that no system gets right: look here for broken" in text
        assert f"{N_RIGHT} items that every system gets right" in text


def test_items_answered_alike_are_one_line(found):
    assert {"item-1", "item-11", "item-12"} <= set(found.items.index)
    printed = str(found)
    assert "item-1 +2 alike" in printed
    assert "item-12 " not in printed
    assert "… and" not in printed
    assert " more" in found.shown(1).text(1)


def test_without_its_responses_a_result_is_audited_by_what_was_saved(result, found, tmp_path):
    result.save(tmp_path / "r.npz", include_responses=False)
    back = irtkit.audit(irtkit.load(tmp_path / "r.npz"))
    assert back.families is None
    assert back.n_negative == found.n_negative > 0
    assert {*back.suspects.index} <= {*found.suspects.index}
    assert back.all_wrong == found.all_wrong
    assert "item-12 " in str(back)  # nothing says that it is answered as item-1 is


def test_a_suspect_item_can_be_read(responses):
    asked = [f"What is\n{item}\x1b[31m?  {'And why? ' * 20}" for item in responses.items]
    known = pd.DataFrame({"text": asked, "target": "42\a", "level": 1}, index=responses.items)
    result = irtkit.fit(responses.with_tables(known))
    found = irtkit.audit(result)
    assert found.items["text"].tolist() == known.loc[found.items.index, "text"].tolist()
    lines = [line for line in str(found).splitlines() if "What is" in line]
    assert 10 <= len(lines) <= len(found.suspects)
    assert {len(line) for line in lines} <= {79, 80}  # no space before what is cut off
    assert lines[0].startswith(f"{found.items.index[0]}")
    assert all(r"\x1b[31m? And why?" in line for line in lines)
    assert all(line.endswith(r"… (key: 42\x07)") for line in lines)
    assert "\x1b" not in str(found)
    comparison = irtkit.compare_difficulties(result, folds=0)
    assert comparison.table["text"].tolist() == asked
    assert {*comparison.pairs["measure_1"], *comparison.pairs["measure_2"]}.isdisjoint(known)


@pytest.mark.parametrize(("model", "letter"), [("2PL", "x"), ("3PL", "問")])
def test_everything_is_printed_within_80_columns(responses, model, letter):
    names = [[f"{letter * 40}{k}" for k in range(n)] for n in responses.values.shape]
    result = irtkit.fit(ResponseMatrix(responses.values, *names), model, standard_errors=False)
    comparison = irtkit.compare_difficulties(result, folds=0)
    for told in (result, irtkit.audit(result), comparison):
        assert max(map(cell_len, str(told).splitlines())) <= 80
        assert "discriminati…" not in str(told)


@pytest.mark.filterwarnings("ignore:Many wrong keys")
def test_there_is_one_list_with_one_order_and_one_set_of_probabilities(result, found):
    keys = irtkit.wrong_keys(result).loc[found.items.index]
    assert found.suspects["log_bayes_factor"].is_monotonic_decreasing
    assert (found.items["log_bayes_factor"] == keys["log_bayes_factor"]).all()
    assert found.items["p_wrong_key"].equals(keys["p_wrong_key"])
    flags = flag_items(result)
    pd.testing.assert_frame_equal(found.items, flags)
    called, n = int(flags["called"].sum()), int(flags["suspect"].sum())
    assert found.headline.startswith(f"{called} items called. Read these {n} first.")
    assert not found.uninformative["called"].any()


@pytest.mark.parametrize(("n", "n_wrong"), [(60, 5), (120, 5), (60, 0)])
def test_wrong_keys_of_four_options_are_printed_and_none_is_said_to_be_likely_without_any(
    n, n_wrong
):
    generator = np.random.default_rng(n)
    slopes, difficulties = generator.lognormal(0, 0.3, 200), generator.normal(size=200)
    distance = generator.normal(size=n)[:, None] - difficulties
    p = 1 / (1 + np.exp(-slopes * distance))
    p[:, :n_wrong] = (1 - p[:, :n_wrong]) / 3
    audited = irtkit.audit(irtkit.fit((generator.random(p.shape) < p).astype(int)))
    if n_wrong:  # benchmarks/keys.py has the rates
        first = audited.suspects.index[:5]
        assert first.isin([f"item-{k + 1}" for k in range(n_wrong)]).sum() >= 4
        assert all(label in str(audited) for label in first)
        assert "Read these" in audited.headline
    else:
        assert audited.headline.startswith("No item is likely to have a wrong key")
        assert not (audited.items["p_wrong_key"] > 0.2).any()


@pytest.mark.filterwarnings("ignore:(Not unidim|Item groups)")
def test_a_few_wrong_keys_have_a_probability_with_its_prior_and_many_have_none():
    made = crowd("ordinary")
    for n_wrong, has in ((1, True), (12, False)):
        values = made.responses.values.copy()
        values[:, :n_wrong] = 1 - values[:, :n_wrong]
        audited = irtkit.audit(irtkit.fit(values))
        assert audited.suspects["p_wrong_key"].notna().all() == has
        assert ("many-wrong-keys" in [finding.code for finding in audited.findings]) != has
        text = " ".join(str(audited).split())
        assert (f"if {audited.prior:.1%} of keys are wrong" in text) == has
        assert audited.suspects.index[0] in {f"item-{k + 1}" for k in range(n_wrong)}


def test_suspects_are_counted_by_task(responses):
    task = [f"t{k % 2}" for k in range(responses.n_items)]
    known = pd.DataFrame({"task": task}, [*responses.items])
    found = irtkit.audit(irtkit.fit(responses.with_tables(known)))
    table = found.by_task
    assert table["suspect"].sum() == len(found.suspects) > 0
    assert table["negative"].sum() == found.n_negative
    for name, row in table.iterrows():
        own = [
            label for label in found.suspects.index if task[responses.items.index(label)] == name
        ]
        assert row["suspect"] == len(own)
    assert "\nt0" in str(found)
    assert len(irtkit.audit(irtkit.fit(responses)).by_task) == 0
