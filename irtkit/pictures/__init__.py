"""Pictures of a fit, each defined once: marks on two axes, for pages and for matplotlib."""
