"""The difficulty of items that nobody has answered, predicted from their features.

It needs scikit-learn (``pip install 'irtkit[predict]'``), which is loaded when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
