"""Fit of items, respondents, pairs of items and the model, information, and differential items."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
