"""Which statements the interpreter models, so that nearly all that is generated can be judged. Knows no generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect


def plain_library(dialect: str) -> Callable[[Sequence[str], Sequence[str]], SqlLibrary]:
    """Makes the library of a schema and routines on a product of whose version and settings nothing is known."""
    given = Dialect(dialect, foreign_keys=dialect == "sqlite" or None)
    return lambda schema, routines: SqlLibrary(given, list(schema), list(routines))


class Fragment:
    """The statements that are modelled by a library."""

    def __init__(self, library: SqlLibrary) -> None:
        self._library = library

    def has(self, sql: str) -> bool:
        """Whether a statement is modelled as far as its text tells; one that is refused as a mistake is."""
        try:
            self._library.program(sql)
        except Unsupported:
            return False
        except SqlError as error:
            return error.sqlstate != "42601"
        except SqlSemanticsError:
            return False
        return True
