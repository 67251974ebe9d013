"""Ratings by several judges: how severe and consistent judges are, and whom they favour."""

from irtkit.judges.judges import Judges, Reliability, judges

__all__ = ["Judges", "Reliability", "judges"]
