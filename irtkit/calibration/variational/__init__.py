"""Variational calibration: a posterior of items and abilities instead of a point.

The posterior of the items is approximated by a normal distribution in coordinates that suit it;
abilities are integrated out, so that nothing is lost by supposing them independent of the items.
Bottom up: ``coordinates``, ``densities`` and ``target`` (what items are, and their prior),
``guide`` (the normal distribution), ``bound`` (the evidence lower bound), ``encoder`` (abilities
from answers by a small network), ``posterior`` (what the user draws from), ``inference`` (the
ascent), ``sources`` and ``amortised`` (all respondents, batches, batches told by an encoder),
``checkpoint`` (its state in a file), ``solving`` (from responses to estimates).
"""
