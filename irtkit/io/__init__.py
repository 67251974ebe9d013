"""Reading and writing: response matrices from outside formats, and irtkit's own tables."""

from irtkit.io.reading import read_responses
from irtkit.io.tables import read_table, write_table
from irtkit.io.writing import write_responses

__all__ = ["read_responses", "read_table", "write_responses", "write_table"]
