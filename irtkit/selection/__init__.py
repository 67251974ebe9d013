"""Fewer items: which to ask, at once or one after another, and how well they predict the score."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
