"""Item response theory for evaluations of AI systems.

A matrix of right and wrong answers (respondents × items) becomes the difficulty, discrimination
and guessing of every item and the ability of every respondent. `docs/architecture.md` lists
the modules.

A public name is imported when it is first used. `__init__.pyi` says where each of them lives.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
