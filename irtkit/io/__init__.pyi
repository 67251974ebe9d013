from .reading import read_responses
from .tables import read_table, write_table
from .writing import write_responses

__all__ = ["read_responses", "read_table", "write_responses", "write_table"]
