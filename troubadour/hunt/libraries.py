"""One library for the logs of one schema: what was compiled as a case was made, or when a log was judged before, serves
the next one. Does not know what is judged.
"""

from __future__ import annotations

import json

from sql_semantics.library import SqlLibrary
from troubadour.coverage.library import library_of
from troubadour.execution.definitions import alterations_of, definitions_of, others_of
from troubadour.execution.initial.rows import unread_columns
from troubadour.model.log import Header, Log


class Libraries:
    """The newest only: cases come one after another."""

    def __init__(self) -> None:
        self._key = ""
        self._library: SqlLibrary | None = None

    def before(self, header: Header) -> SqlLibrary:
        """The library of a log that is to come."""
        return self.of(Log(header, (), ""))

    def of(self, log: Log) -> SqlLibrary:
        """The library of a log, as `library_of` makes it. Raises as that does."""
        defines = definitions_of(log) or alterations_of(log) or others_of(log) or others_of(log, failed=True)
        if defines:
            return library_of(log)
        header = log.header
        key = json.dumps(
            [header.dialect, header.dbms, header.schema, header.procedures, dict(header.settings)], default=str
        )
        if self._library is None or key != self._key or unread_columns(log, self._library):
            self._key, self._library = "", None
            library = library_of(log)
            if unread_columns(log, library):
                return library
            self._key, self._library = key, library
        return self._library
