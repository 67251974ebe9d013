"""Mistakes that people make when they call `fit`: what the message says to type works."""

import pytest

import irtkit
from tests.crowds import crowd


@pytest.mark.parametrize(("wrong", "right"), [("2PLM", "2PL"), ("rash", "Rasch"), ("3-PL", "3PL")])
def test_a_wrong_model_is_asked_about(wrong, right):
    with pytest.raises(ValueError, match=f"did you mean '{right}'"):
        irtkit.fit(crowd("small").responses, wrong)
    assert irtkit.fit(crowd("small").responses, right.lower(), standard_errors=False).model == right


@pytest.mark.parametrize(("argument", "advice"), [
    ("rigth", ", did you mean 'right'"), ("modle", ", did you mean 'model'"),
    ("batch", ". Write method=irtkit.Variational"), ("colour", ""),
])  # fmt: skip
def test_an_argument_that_there_is_not_is_refused(argument, advice):
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{argument}'{advice}"):
        irtkit.fit(crowd("small").responses, **{argument: 1})
