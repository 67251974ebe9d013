from .result import FitResult

__all__ = ["FitResult"]
