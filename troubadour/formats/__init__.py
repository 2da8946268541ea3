"""The log on disk: reading it into `troubadour.model`, writing it, and nothing else.

Knows no SQL and no isolation level: a statement is a text, a level is a name.
"""

from troubadour.formats.place import place_of
from troubadour.formats.read import SPILL_BYTES, STREAMED_BYTES, read_either, read_log
from troubadour.formats.write import LogWriter, write_log, write_objects

__all__ = [
    "SPILL_BYTES",
    "STREAMED_BYTES",
    "LogWriter",
    "place_of",
    "read_either",
    "read_log",
    "write_log",
    "write_objects",
]
