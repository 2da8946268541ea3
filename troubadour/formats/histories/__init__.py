"""Histories of other checkers and testers, read as object logs; one module a format (docs/histories.md).

Each module's `read` takes a path and gives an `Imported`. Does not judge: what no database could have answered is
kept as it stands.
"""

from troubadour.formats.histories.imported import HistoryError, Imported
from troubadour.formats.histories.known import FORMATS, read_history, told_apart

__all__ = ["FORMATS", "HistoryError", "Imported", "read_history", "told_apart"]
