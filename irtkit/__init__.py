"""Item response theory for evaluations of AI systems.

A matrix of right and wrong answers (respondents × items) becomes the difficulty, discrimination
and guessing of every item and the ability of every respondent. `docs/architecture.md` lists
the modules.

A public name is imported when it is first used. `__init__.pyi` says where each of them lives.
"""

from typing import Any

import lazy_loader

from irtkit.printed import InNotebooks

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"


def _html_of(shown: Any) -> str:
    from irtkit.report.notebook import html_of

    return html_of(shown)


InNotebooks.html_of = staticmethod(_html_of)
