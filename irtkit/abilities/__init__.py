"""Several abilities: fitting, the choice of their number, and results."""
