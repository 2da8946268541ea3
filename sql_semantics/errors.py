"""What can go wrong while SQL is read or run (paper §3.3, S1: "terminates without error").

Three different things that must never be confused: the DBMS would raise an error (`SqlError`, an outcome like any
other), the text is outside the modelled fragment (`Unsupported`, makes a verdict `undecided`), or the schema handed
in cannot be read (`SchemaError`, bad input). This module does not know which statement or transaction is to blame;
callers add that.
"""

from __future__ import annotations


class SqlSemanticsError(Exception):
    """Root of every error that this library raises on purpose."""


class SqlError(SqlSemanticsError):
    """The DBMS would answer this statement with an error.

    `sqlstate` is the five-character code. `may` is True where the standard or the DBMS leaves open whether the error
    is raised at all (evaluation order, planner's choice), so that neither its presence nor its absence is wrong.
    `number` is MySQL's own number, where it is known: handlers may name it.
    """

    def __init__(self, sqlstate: str, message: str, *, may: bool = False, number: int | None = None) -> None:
        super().__init__(f"{sqlstate}: {message}")
        self.sqlstate = sqlstate
        self.message = message
        self.may = may
        self.number = number


NAMED = 160
"""Characters of a construct's name; what a statement computes may be part of it."""


class UnknownLabel(SqlError):
    """A text that is no label of an enum: an error, or a label that the schema's definition lacks."""


class Unsupported(SqlSemanticsError):
    """A construct outside the modelled fragment; `construct` names it in the user's words, briefly."""

    def __init__(self, construct: str) -> None:
        construct = construct if len(construct) <= NAMED else f"{construct[: NAMED - 3]}..."
        super().__init__(f"not modelled: {construct}")
        self.construct = construct


class UnmodelledValue(Unsupported):
    """A value that is stored in a column and not modelled, in a statement of which everything else may be."""

    def __init__(self, construct: str, column: str) -> None:
        super().__init__(construct)
        self.column = column


class Unreadable(Unsupported):
    """Text that is not one statement of the dialect, as far as the parser can tell: a statement that the DBMS took may
    be beyond us, but a schema like that is bad input."""


class UnknownTable(SqlSemanticsError):
    """A statement names a table that no schema statement creates."""

    def __init__(self, table: str) -> None:
        super().__init__(f"no table named {table!r}")
        self.table = table


class MisfitParameters(SqlSemanticsError):
    """The parameters given are not those that the text has placeholders for: no driver would have sent it."""


class SchemaError(SqlSemanticsError):
    """A schema or procedure definition that cannot be read."""
