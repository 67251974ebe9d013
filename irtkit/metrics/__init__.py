"""What was measured of every answer besides right and wrong, and what it says of the items.

- ``tables``: metrics of answers in any layout;
- ``quality_standard``: several metrics on one scale (Kolena's difficulty score);
- ``of_responses``: the same for the items of a response matrix.

They need nothing of a fit, and stand below it: `irtkit.fit` puts the score beside its items.
"""

from irtkit.metrics.of_responses import metric_table, quality_of
from irtkit.metrics.quality_standard import QualityStandard, quality_standard

__all__ = ["QualityStandard", "metric_table", "quality_of", "quality_standard"]
