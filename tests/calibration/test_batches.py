"""Claims about items that are fitted in batches."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.calibration.batches import _turned
from irtkit.calibration.maximise import Control, GridSchedule, Monitor, Stopping
from irtkit.calibration.maximum_likelihood import maximum_likelihood
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.refitting import refitted
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.irf import ModelName

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def responses() -> irtkit.ResponseMatrix:
    generator = np.random.default_rng(3)
    slope = generator.lognormal(0.0, 0.3, 90) * np.where(np.arange(90) % 10 == 9, -1, 1)
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=90))
    return irtkit.simulate_responses(items, generator.normal(size=300), seed=generator)


@pytest.mark.parametrize("model", ["1PL", "Rasch", "2PL"])
def test_a_batch_is_the_fit_to_its_items_alone(
    responses: irtkit.ResponseMatrix, model: ModelName
) -> None:
    whole = irtkit.fit(responses, model, batch_items=40)
    assert whole.batches is not None
    assert whole.batches["first_item"].tolist() == ["item-1", "item-41", "item-81"]
    assert whole.batches["n_items"].tolist() == [40, 40, 10]
    alone = irtkit.fit(irtkit.ResponseMatrix(responses.values[:, 40:80]), model)
    columns = ["discrimination", "difficulty", "intercept", "intercept_se"]
    ours, theirs = whole.items[columns].to_numpy()[40:80], alone.items[columns].to_numpy()
    assert ours == pytest.approx(theirs, abs=1e-6, nan_ok=True)
    assert whole.batches.loc[1, "log_likelihood"] == pytest.approx(alone.log_likelihood)
    assert whole.batches.loc[1, "latent_sd"] == pytest.approx(alone.latent_sd)
    assert whole.n_parameters == {"1PL": 93, "Rasch": 93, "2PL": 180}[model]


def test_one_batch_of_all_items_is_the_usual_fit(responses: irtkit.ResponseMatrix) -> None:
    usual, batched = irtkit.fit(responses), irtkit.fit(responses, batch_items=90)
    assert batched.items["intercept"].to_numpy() == pytest.approx(usual.items["intercept"])
    assert batched.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-3)
    assert batched.ability == pytest.approx(usual.ability, abs=1e-4)
    assert usual.batches is None


def test_all_items_at_once_are_more_likely_than_batches(responses: irtkit.ResponseMatrix) -> None:
    usual, batched = (
        irtkit.fit(responses, prior=None, batch_items=size, standard_errors=False)
        for size in (None, 30)
    )
    assert usual.log_likelihood > batched.log_likelihood
    agreement = np.corrcoef(usual.items["intercept"], batched.items["intercept"])[0, 1]
    assert agreement > 0.99


def test_a_batch_of_inverted_items_has_its_scale_the_right_way_up(
    responses: irtkit.ResponseMatrix,
) -> None:
    values = responses.values[:, np.argsort(np.arange(90) % 10 == 9, kind="stable")]
    batched = irtkit.fit(irtkit.ResponseMatrix(values), batch_items=81)
    slopes = batched.items["discrimination"]
    # nine inverted items alone: more of them right is what the batch takes for able
    assert (slopes[:81] > 0).mean() > 0.9
    assert (slopes[81:] > 0).all()


def test_batches_are_printed_and_saved(responses: irtkit.ResponseMatrix, tmp_path: Path) -> None:
    result = irtkit.fit(responses, "Rasch", batch_items=45, quadrature=(61, 6.0), prior=None)
    result.save(tmp_path / "result.npz")
    again = irtkit.load(tmp_path / "result.npz")
    assert again.batches is not None
    assert result.batches is not None
    assert again.batches.equals(result.batches)
    assert again.settings["batch_items"] == 45
    assert "fitted in 2 batches, each on the scale of its respondents" in str(again)


def test_a_fit_in_batches_says_what_each_batch_learned_of_items(
    responses: irtkit.ResponseMatrix, tmp_path: Path
) -> None:
    fits = {
        prior: irtkit.fit(responses, prior=prior, batch_items=45, standard_errors=False)
        for prior in ("empirical", "weak")
    }
    learned = fits["empirical"].settings.prior
    alone = irtkit.fit(
        irtkit.ResponseMatrix(responses.values[:, 45:]), prior="empirical", standard_errors=False
    )
    assert learned["kind"] == "empirical"
    assert learned["batches"][1] == pytest.approx(alone.settings.prior)
    assert fits["weak"].settings.prior == {"kind": "WeakPrior", **asdict(irtkit.WeakPrior())}
    again = refitted(fits["empirical"], responses, tol=1e-7)
    assert again.items["intercept"].to_numpy() == pytest.approx(
        fits["empirical"].items["intercept"].to_numpy(), abs=1e-3
    )
    fits["empirical"].save(tmp_path / "result.npz")
    assert irtkit.load(tmp_path / "result.npz").settings.prior == learned


def test_batches_that_others_answered_are_each_on_a_scale_of_their_own() -> None:
    # the able answered the second batch: each batch calls its own respondents average
    items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.zeros(60))
    ability = np.repeat([-1.0, 1.0], 200)
    values = irtkit.simulate_responses(items, ability, seed=0).values.copy()
    values[:200, 30:] = values[200:, :30] = -1
    result = irtkit.fit(irtkit.ResponseMatrix(values), "Rasch", batch_items=30)
    found = result.items["difficulty"]
    assert result.batches is not None
    assert result.batches["ability_mean"].to_numpy() == pytest.approx(0, abs=0.05)
    assert found.iloc[:30].mean() - found.iloc[30:].mean() == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_items": 0}, "whole number"),
        ({"batch_items": 2.5}, "whole number"),
        ({"batch_items": 5, "method": "vi"}, "method='em'"),
    ],
)
def test_what_is_no_batch_is_refused(
    responses: irtkit.ResponseMatrix, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        irtkit.fit(responses, **given)


def test_abilities_have_the_sd_of_all_batches_by_their_items(
    responses: irtkit.ResponseMatrix,
) -> None:
    result = irtkit.fit(responses, "Rasch", batch_items=80, standard_errors=False)
    assert result.batches is not None
    of_batches, sizes = result.batches["latent_sd"], result.batches["n_items"]
    assert result.latent_sd**2 == pytest.approx(np.average(of_batches**2, weights=sizes))


def test_items_that_nobody_answered_are_in_no_batch(responses: irtkit.ResponseMatrix) -> None:
    values, places = responses.values[:, :90], np.r_[1:41, 43:93]
    whole = np.full((len(values), 95), -1)
    whole[:, places] = values
    one, other = (irtkit.fit(table, batch_items=40) for table in (values, whole))
    assert one.batches is not None
    assert other.batches is not None
    assert other.items["discrimination"].notna().to_numpy().nonzero()[0].tolist() == [*places]
    np.testing.assert_array_equal(other.parameters.intercept[places], one.parameters.intercept)
    assert other.batches["first_item"].tolist() == ["item-2", "item-44", "item-84"]
    numbers = one.batches.drop(columns="first_item")
    pd.testing.assert_frame_equal(other.batches.drop(columns="first_item"), numbers)


def test_a_batch_that_no_real_respondent_answered_is_refused() -> None:
    values = np.array([[1, 0, -1], [0, 1, -1], [1, 1, -1], [1, 1, 1]])
    responses = irtkit.ResponseMatrix(values, synthetic=[False, False, False, True])
    with pytest.raises(ValueError, match="answered items 3 to 3"):
        irtkit.fit(responses, batch_items=2)


def with_rows_of_the_paper(shared_data: Path, name: str, seed: int) -> Any:
    """Answers of AI systems with the rows that the AAAI-22 paper added, and its items."""
    items = pd.read_csv(shared_data / f"aid_{name}_reference_items.csv.gz")
    table = pd.read_csv(shared_data / f"aid_{name}.csv.gz", index_col=0)
    known = pd.read_csv(shared_data / f"aid_{name}_respondents.csv.gz", index_col=0)
    first = (known.loc[table.index, "exact_duplicate"] == 0).to_numpy() | (name == "tptp")
    order = np.random.default_rng(seed).random((3, len(items))).argsort(axis=0)
    rows = [table[first][items["item"]].to_numpy(), order < items["rnd_total"].to_numpy()]
    if name != "tptp":
        rows += [np.ones((1, len(items))), np.zeros((1, len(items)))]
    return irtkit.ResponseMatrix(np.concatenate(rows).astype(int)), items


def fitted_as_in_the_paper(shared_data: Path, name: str, model: ModelName, seed: int) -> Any:
    responses, items = with_rows_of_the_paper(shared_data, name, seed)
    settings: dict[str, Any] = {"prior": None, "quadrature": (61, 6.0), "standard_errors": False}
    result = irtkit.fit(responses, model, batch_items=int((items["batch"] == 0).sum()), **settings)
    return result.items, items


@pytest.mark.parametrize(
    ("name", "draws"),
    [
        *(("liver-disorders", 3), ("diabetes", 3), ("sat", 3), ("tptp", 20)),
        *(
            pytest.param(*large, marks=pytest.mark.slow)
            for large in (("SST", 15), ("optdigits", 5))
        ),
    ],
)
def test_the_difficulties_that_the_paper_stored_come_out(
    shared_data: Path, name: str, draws: int
) -> None:
    # of the random rows totals alone are known, and all items of a batch shift with the draw
    off = []
    for seed in range(draws):
        ours, stored = fitted_as_in_the_paper(shared_data, name, "Rasch", seed)
        both = pd.DataFrame({"ours": ours["difficulty"].to_numpy(), "theirs": stored["Dffclt"]})
        off.append(np.sqrt(((both["ours"] - both["theirs"]) ** 2).mean()))
        for _, batch in both.groupby(stored["batch"]):
            assert batch.corr().iloc[0, 1] >= 0.9998
    assert np.median(off) <= 0.03


@pytest.mark.parametrize(
    ("name", "share"), [("liver-disorders", 0.43), ("diabetes", 0.21), ("sat", 0.0), ("tptp", 0.0)]
)
def test_as_many_slopes_are_negative_as_mirt_finds(
    shared_data: Path, name: str, share: float
) -> None:
    slopes = fitted_as_in_the_paper(shared_data, name, "2PL", 0)[0]["discrimination"]
    assert (slopes < 0).mean() == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("standard_errors", [False, True])
def test_a_batch_upside_down_is_turned_with_its_covariances(
    *, responses: irtkit.ResponseMatrix, standard_errors: bool
) -> None:
    patterns = patterns_of(responses, synthetic_is_real=False)
    part = maximum_likelihood(
        patterns,
        "2PL",
        WeakPrior(),
        Control(GridSchedule(), Stopping(1e-3), Monitor(lambda *_: None)),
        empirical=False,
        standard_errors=standard_errors,
        mesh=None,
        trial_correlation=None,
    )
    sign = np.array([[1, -1], [-1, 1]])  # of the covariances of −a and d
    turned = part._replace(
        items=part.items._replace(slope=-part.items.slope),
        ability=-part.ability,
        covariances=None if part.covariances is None else part.covariances * sign,
    )
    again = _turned(turned, patterns)
    assert _turned(part, patterns) is part
    assert np.array_equal(again.items.slope, part.items.slope)
    assert np.array_equal(again.ability, part.ability)
    if standard_errors:
        assert np.array_equal(again.covariances, part.covariances)
