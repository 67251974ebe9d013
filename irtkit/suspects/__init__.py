"""Suspect items: which they are, how sure that is, and what noise alone would look like."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
