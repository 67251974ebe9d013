"""Reading and writing: response matrices from outside formats, and irtkit's own tables."""
