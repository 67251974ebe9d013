"""Reading and writing: response matrices from outside formats, and irtkit's own tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
