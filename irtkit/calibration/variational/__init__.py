"""Variational calibration: a posterior of items and abilities instead of a point.

The posterior of the items is approximated by a normal distribution in coordinates that suit it;
abilities are integrated out, so that nothing is lost by supposing them independent of the items.
Bottom up: ``options`` (what a user may ask for), ``coordinates`` and ``target`` (what items are,
and their prior), ``guide`` (the normal distribution), ``elbo`` (the evidence lower bound),
``minibatches`` (which respondents a step sees), ``bent`` (items with guessing, whose posterior is
not normal), ``posterior`` (what the user draws from), ``inference`` (the maximisation),
``checkpoint``, ``fit_variational`` (from responses to estimates).
"""
