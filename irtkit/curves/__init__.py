"""How systems perform as items get harder, as systems grow, and after a change."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
