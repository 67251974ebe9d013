"""Variational calibration: a posterior of items and abilities instead of estimates.

The posterior of the items is approximated by a normal distribution in suitable coordinates, with
abilities integrated out. In order: ``target`` (coordinates and prior), ``guide`` (the normal
distribution), ``inference`` (the evidence lower bound and its maximisation), ``bent`` (items with
guessing, whose posterior is not normal), ``posterior`` (draws), ``fit_variational``.
"""
