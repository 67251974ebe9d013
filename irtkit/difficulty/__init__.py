"""How hard items are by several measures, how far these agree, and seed methods without a model.

- ``comparison``: measures side by side, and systems ranked by accuracy and by ability
- ``held_out``: predictions of responses that models have not seen
- ``rank_agreement``: rank correlations with intervals, and how well a predictor orders the items
- ``quality``: metrics of every answer, also on one scale (Kolena's difficulty score)
- ``agreement``: Fleiss' kappa;
- ``annotation``: the impact of predicted annotations.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
