"""The rows of a long VALUES list, written once for all that are alike.

A list of ten thousand rows has few *forms*: rows that differ in nothing but literals and parameters. An `Insert` then
holds one row of each form, so that walks over the intermediate representation meet few, and a `Listed` for them all,
which such walks pass by. `in_full` is what it means. Does not know the text, nor what becomes of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from sql_semantics.ir.expressions import Const, Expr, Param
from sql_semantics.ir.walks.rebuilding import rebuild

if TYPE_CHECKING:
    from sql_semantics.ir.statements import Insert
    from sql_semantics.values.types import Value

RowOfExpressions = tuple[Expr, ...]


class Listed:
    """Every row of a VALUES list, in order.

    `forms`: rows of expressions in which ``Param(i)`` is the i-th cell of a row, whatever the statement's parameters
    are. Row r is of form ``which[r]``; its cells are the literals ``literals[r]``, all of one length, followed by the
    statement's parameters ``keys[r]``. A cell that a row's form does not read is None.
    """

    __slots__ = ("forms", "keys", "literals", "which")

    def __init__(
        self,
        forms: Sequence[RowOfExpressions],
        which: Sequence[int],
        literals: Sequence[tuple[Value, ...]],
        keys: Sequence[tuple[int | str | None, ...]],
    ) -> None:
        self.forms = tuple(forms)
        self.which = which
        self.literals = literals
        self.keys = keys

    def __len__(self) -> int:
        return len(self.which)

    def cells(self, number: int, args: Sequence[Value] | Mapping[str, Value]) -> tuple[Value, ...]:
        """The cells of a row for these values of the statement's parameters."""
        given = [None if key is None else cast("Any", args)[key] for key in self.keys[number]]
        return (*self.literals[number], *given)

    def row(self, number: int) -> RowOfExpressions:
        """A row with its own literals and parameters."""
        literals, keys = self.literals[number], self.keys[number]
        first = len(literals)

        def change(part: Expr) -> Expr:
            if not isinstance(part, Param):
                return rebuild(part, change)
            assert isinstance(part.key, int)
            if part.key < first:
                return Const(literals[part.key], part.type)
            key = keys[part.key - first]
            assert key is not None
            return Param(key, part.type)

        return tuple(map(change, self.forms[self.which[number]]))

    def one_of_each(self) -> tuple[RowOfExpressions, ...]:
        """The first row of each form."""
        return tuple(self.row(self.which.index(form)) for form in range(len(self.forms)))


def in_full(statement: Insert) -> Insert:
    """The same statement with all its rows."""
    listed = statement.listed
    return (
        statement
        if listed is None
        else replace(statement, rows=tuple(map(listed.row, range(len(listed)))), listed=None)
    )
