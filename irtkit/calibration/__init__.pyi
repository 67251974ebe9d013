from .fitting import fit
from .result import FitResult, load

__all__ = ["FitResult", "fit", "load"]
