"""Item response theory for evaluations of AI systems.

A matrix of right and wrong answers (respondents × items) becomes the difficulty, discrimination
and guessing of every item and the ability of every respondent. `docs/architecture.md` lists
the modules.

A public name is imported when it is first used. `__init__.pyi` says where each of them lives.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import lazy_loader

from irtkit.capabilities import no_attribute
from irtkit.printed import InNotebooks

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"

GONE = {
    "AbilitiesResult": "irtkit.FitResult, which has one ability or several",
    "Density": "irtkit.ItemPrior with irtkit.Normal or irtkit.Beta",
    "LogNormal": "irtkit.ItemPrior with irtkit.Normal, or prior='weak'",
    "doubling_time": "scipy.stats.linregress on the logarithms of horizons",
    "shuffle_control": "irtkit.model_fit, or the finding only-noise of a fit",
}
"""Names that irtkit had, and what to use instead."""


def __getattr__(name: str) -> Any:
    if name in GONE:
        raise AttributeError(f"irtkit.{name} is gone. Use {GONE[name]}")
    if name in __all__:
        public = _public(name)
        if not getattr(public, "__module__", "").startswith(("irtkit.io.", "irtkit.responses.")):
            import_module("irtkit.results")  # which gives results their methods
        return public
    if name in {module.name for module in iter_modules(__path__)} - {"__main__"}:
        return import_module(f"{__name__}.{name}")  # as after another module has imported it
    raise no_attribute("irtkit", name, __all__, {})


def _html_of(shown: Any) -> str:
    from irtkit.report.notebook import html_of

    return html_of(shown)


InNotebooks.html_of = staticmethod(_html_of)
