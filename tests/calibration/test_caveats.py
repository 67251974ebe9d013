"""Claims about the findings of a fit, and that all results repeat them."""

import warnings

import numpy as np
import pytest

from irtkit import (
    EM,
    IRTWarning,
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    load,
    simulate_responses,
)
from irtkit.calibration.summary import notes


def drawn(seed, n, m, *, correlation=None, share=0.2):
    """Responses to items a share of which asks for a second ability, if a correlation is given."""
    generator = np.random.default_rng(seed)
    r = 1.0 if correlation is None else correlation
    theta = generator.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
    slope, difficulty = generator.lognormal(0, 0.3, m), generator.normal(size=m)
    ability = theta[:, (np.arange(m) < round(share * m)).astype(int)]
    p = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return (generator.random((n, m)) < p).astype(np.int8)


def apart(values):
    """Half of the respondents on half of the items, and the others on the others."""
    n, m = values.shape
    kept = (np.arange(n) < n // 2)[:, None] == (np.arange(m) < m // 2)
    return np.where(kept, values, -1).astype(np.int8)


def fitted(values, *labels, **how):
    """A fit whose warnings, and no others, were raised, each once and by this line."""
    responses = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values, *labels)
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = fit(responses, **{"model": "2PL", "standard_errors": False, **how})
    assert tuple(str(one.message) for one in caught) == result.warnings
    assert {(one.category, one.filename) for one in caught} <= {(IRTWarning, __file__)}
    assert [one.message.code for one in caught] == codes(result)
    return result


def codes(result):
    return [one.code for one in result.findings]


def test_one_ability_is_not_warned_of():
    for n, m in ((8, 30), (12, 140), (500, 20), (1000, 5)):
        assert fitted(drawn(0, n, m)).warnings == ()


@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL", "3PL"])
def test_a_second_ability_is_told_alike_by_every_model(model):
    result = fitted(drawn(0, 200, 100, correlation=-0.5), model=model)
    assert codes(result) == ["further-ability"]
    assert result.one_ability_doubted
    same = fitted(drawn(0, 200, 100, correlation=-0.5), model="1PL")
    assert result.findings[0].values == same.findings[0].values


def test_passages_are_groups_of_items_and_doubt_intervals_only():
    generator = np.random.default_rng(1)
    own = np.repeat(generator.normal(size=(200, 20)), 5, axis=1)
    z = generator.normal(size=(200, 1)) + own - generator.normal(size=100)
    result = fitted((generator.random(z.shape) < 1 / (1 + np.exp(-z))).astype(np.int8))
    assert codes(result) == ["item-groups"]
    assert not result.one_ability_doubted


def test_parts_without_a_response_in_common_are_listed_and_marked_in_the_tables(tmp_path):
    values = apart(drawn(0, 90, 40))
    result = fitted(values)
    assert codes(result) == ["disconnected-groups"]
    assert result.findings[0].values == {"n": 2, "sizes": ["45 × 20", "45 × 20"]}
    assert result.items["component"].tolist() == [1] * 20 + [2] * 20
    assert result.respondents["component"].tolist() == [1] * 45 + [2] * 45
    result.save(tmp_path / "fit", include_responses=False)
    back = load(tmp_path / "fit")
    assert back.findings == result.findings
    assert back.items["component"].equals(result.items["component"])
    assert "component" not in fitted(drawn(0, 90, 40)).items
    linked = fitted(np.hstack([values, np.ones((90, 1), np.int8)]))  # by one that all get right
    assert codes(linked) == ["hardly-linked-groups"]
    assert linked.respondents["component"].tolist() == [1] * 45 + [2] * 45


def test_respondents_that_differ_by_chance_are_not_ranked_and_items_are_flat():
    values = np.random.default_rng(0).integers(0, 2, (30, 50)).astype(np.int8)
    for model in ("2PL", "1PL"):
        result = fitted(values, model=model)
        assert codes(result) == ["no-differences"]
        assert set(result.status) == {"flat"}
        assert not result.one_ability_doubted


def test_of_inverted_items_that_level_what_is_right_the_slopes_speak():
    items = ItemParameters.from_difficulty([1.5, 1.5, -1.5, -1.5], [-0.5, 0.5, -0.5, 0.5])
    responses = simulate_responses(items, np.random.default_rng(0).normal(size=600), seed=1)
    assert codes(fitted(responses)) == []
    assert codes(fitted(responses, model="1PL")) == ["no-differences"]


def test_synthetic_respondents_link_no_parts_unless_they_are_ordinary():
    crowd = add_synthetic(ResponseMatrix(apart(drawn(0, 90, 40))), ("coin",))
    result = fitted(crowd)
    assert codes(result) == ["disconnected-groups"]
    assert result.respondents.loc["coin", "component"] == 0
    ordinary = crowd.with_tables(synthetic=[False] * crowd.n_respondents)
    assert codes(fitted(ordinary)) == ["hardly-linked-groups"]


def test_fewer_than_eight_respondents_are_few():
    for n, few in ((1, True), (7, True), (8, False)):
        crowd = add_synthetic(ResponseMatrix(drawn(0, n, 50)), ("coin",), draws=10)
        found = [one for one in fitted(crowd).findings if one.code == "few-systems"]
        assert [one.values["n"] for one in found] == [n] * few
        assert all(one.values["model"] == "2PL" for one in found)


def test_warnings_are_printed_within_80_columns_and_kept(tmp_path):
    names = [f"a very long label of something {k}" for k in range(40)]
    result = fitted(apart(drawn(0, 6, 40)), names[:6], names, method=EM(max_iterations=1))
    assert codes(result) == ["not-converged", "disconnected-groups", "few-systems"]
    assert (result.converged, result.n_iterations) == (False, 1)
    assert result.warnings[0].endswith("Pass method=irtkit.EM(max_iterations=2)")
    printed = str(result)
    assert max(map(len, printed.splitlines())) <= 80
    for text in result.warnings:
        assert f"warning: {text}" in " ".join(printed.split())
    assert sum("responses component" in line for line in printed.splitlines()) == 2  # headings
    assert "rows of different ones cannot be compared" in printed
    result.save(tmp_path / "fit")
    assert load(tmp_path / "fit").findings == result.findings
    assert str(load(tmp_path / "fit")) == printed


def test_items_without_errors_are_named_with_what_gives_them():
    generator = np.random.default_rng(15)
    values = (generator.random((9, 4)) < generator.random(4)).astype(np.int8)
    result = fitted(values, prior=None, standard_errors=True)
    lacking = result.items.index[result.items["difficulty_se"].isna()]
    (found,) = (one for one in result.findings if one.code == "no-standard-errors")
    assert found.values == {"n": len(lacking), "n_items": 4, "items": [*lacking]}
    assert str(found).endswith("Pass prior='weak'")
    assert fitted(values, standard_errors=True).items["difficulty_se"].notna().all()
    assert "no-standard-errors" not in codes(fitted(values, prior=None))


def test_items_without_an_ordinary_estimate_are_counted():
    generator = np.random.default_rng(0)
    chance = 1 / (1 + np.exp(-generator.normal(size=60)))
    values = (generator.random((60, 9)) < chance[:, None]).astype(int)
    values[:, 0], values[:, 1:3], values[:, 3] = 0, 1, -1
    with pytest.warns(UserWarning, match="No finite estimate: the likelihood of 3 of 9 items"):
        printed = str(fit(ResponseMatrix(values), prior=None, standard_errors=False))
    for said in (
        "1 item that no system gets right",
        "2 items that every system gets right",
        "1 item without responses",
    ):
        assert f"note: {said}" in " ".join(printed.split())


@pytest.mark.parametrize("inverted", [0, 2])
def test_negative_slopes_are_counted_if_responses_show_them(inverted):
    items = ItemParameters.from_difficulty(
        np.where(np.arange(30) < inverted, -1.2, 1.2), np.linspace(-1, 1, 30)
    )
    responses = simulate_responses(items, np.random.default_rng(0).normal(size=150), seed=1)
    found = [one.values["n"] for one in notes(fitted(responses)) if one.code == "negative-items"]
    assert found == [inverted] * bool(inverted)
