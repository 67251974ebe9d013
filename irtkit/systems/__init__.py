"""Systems ranked and compared: leaderboard, differences of pairs, a gate for merge checks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
