"""The variational path."""
