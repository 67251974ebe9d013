"""Calibration: item parameters from a response matrix."""

from irtkit.calibration.fitting import fit
from irtkit.calibration.result import FitResult, load

__all__ = ["FitResult", "fit", "load"]
