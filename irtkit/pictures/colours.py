"""Colours of pictures, which the colour-blind tell apart (Okabe & Ito 2008)."""

ITEM = "#0072b2"
SUSPECT = "#c2410c"
"""Darker than theirs, for a contrast of 4.5 with white."""
INK, RULE = "#1b1f24", "#8a8f98"
"""Of texts and of what was observed; of axes."""
