"""The state of binding a PL/pgSQL body: names, expressions, SQL statements and what takes their rows (PostgreSQL 41.5).

A name that is a variable and a column is an error, raised when its statement runs. A RECORD takes its shape from the
query that was assigned to it last; where the ways to a statement leave several shapes, or none, reading it there is
refused (`flow`). Does not know control flow.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import SchemaError, SqlError, Unsupported
from sql_semantics.frontend.binding import bind_text
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.routines.bodies import (
    Cursor,
    Frame,
    Names,
    Record,
    bind_value,
    converted,
    query_outputs,
    same_shape,
    single_row,
    stored,
)
from sql_semantics.frontend.routines.plpgsql.flow import Flow
from sql_semantics.frontend.routines.skeleton import Piece, tokens
from sql_semantics.ir.expressions import Expr, IsNull, ScalarQuery, Variable
from sql_semantics.ir.programs import (
    Perform,
    Raise,
)
from sql_semantics.ir.queries import OutputColumn, Query
from sql_semantics.ir.routines import Signature
from sql_semantics.ir.statements import If, SetVariable, Statement, Together, Write
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written
from sql_semantics.values.types import NULL

PLPGSQL = Dialect("postgres")
"""Whose names the language folds as."""
SQLERRM = "sqlerrm"


@dataclass(frozen=True, slots=True)
class Versions:
    """The rows that a trigger sees, and its event; `deletes`: that may be a DELETE. There is no old row of an INSERT
    and no new one of a DELETE; a row that may be missing is not assigned to, so that RETURN of it gives nothing."""

    old: Record
    new: Record
    event: Variable
    deletes: bool

    def missing_at(self, record: Record | None) -> str | None:
        """The event for which there is no such row; None for another record."""
        return "INSERT" if record is self.old else "DELETE" if record is self.new else None

    def is_kept(self, record: Record | None) -> bool:
        """Whether no field of the record may be assigned to."""
        return record is self.old or (record is self.new and self.deletes)


@dataclass(slots=True)
class Body:
    """Binds one body. `found` and `count` are the slots of FOUND and ROW_COUNT, where the body uses them; `answers`
    the OUT and INOUT parameters; `flow` the shapes of the records where binding stands; `versions` what a trigger has;
    `required` the slots of the variables that are NOT NULL."""

    context: Context
    frame: Frame
    signature: Signature
    answers: tuple[Variable, ...]
    found: int | None = None
    count: int | None = None
    flow: Flow = field(default_factory=Flow)
    versions: Versions | None = None
    required: set[int] = field(default_factory=set)

    def within(self, names: Names, *refused: str) -> Context:
        """The context of a statement: records as their fields, as far as they are certain to be assigned."""
        qualified = dict(names.qualified)
        for name, record in names.records.items():
            qualified[name, ""] = Variable(-1, record.type or NULL, name)
            fields = self.flow.shape(record) or ()
            qualified.update({(name, field.name): field for field in reversed(fields)})  # the first of a name
        return replace(
            self.context,
            variables=names.variables,
            qualified=qualified,
            refused=self.context.refused | {SQLERRM, "sqlstate", *names.records, *names.cursors, *refused},
        )

    def value(self, piece: Piece, context: Context) -> Expr:
        """An expression; what follows FROM makes it a query of one row."""
        if piece.find("FROM") < 0:
            return bind_value(piece, context, "an assignment")
        if self.count is not None:
            raise Unsupported(f"ROW_COUNT beside an assignment from a query ({piece.text})")
        bound = bind_value(tokens(f"(SELECT {piece.text})", "plpgsql"), context, "an assignment")
        if not isinstance(bound, ScalarQuery) or not single_row(bound.query):
            raise Unsupported(f"an assignment from a query that may have several rows ({piece.text})")
        return bound

    def cursor(self, token: tuple[str, str, int, int, int], names: Names) -> Cursor:
        """A bound cursor by its name."""
        cursor = names.cursors.get(name_of(token))
        if cursor is None:
            raise Unsupported(f"cursor {token[1]}, which is not bound to a query")
        return cursor

    def cursor_arguments(self, cursor: Cursor, piece: Piece, names: Names) -> tuple[tuple[int, Expr], ...]:
        """The values of a cursor's parameters, in parentheses."""
        given = piece.slice(1, -1).split() if len(piece.tokens) > 2 else []
        if len(given) != len(cursor.parameters):
            raise SchemaError(f"a cursor with {len(cursor.parameters)} parameters is given {len(given)}")
        context = self.within(names)
        return tuple(
            (parameter.slot, stored(self.value(part, context), parameter, context))
            for parameter, part in zip(cursor.parameters, given, strict=True)
        )

    def rows(self, piece: Piece, names: Names, verb: str = "") -> Query | Write | Together:
        """A query, or a write, perhaps with RETURNING."""
        statement = bind_text(verb + piece.text, self.within(names))
        if not isinstance(statement, Query | Write | Together):
            raise Unsupported(f"{piece.words()[0]} in a procedure")
        return statement

    def query(self, piece: Piece, names: Names) -> Query:
        """The query of a cursor."""
        statement = self.rows(piece, names)
        if isinstance(statement, Write | Together):
            raise SchemaError(f"a cursor for {piece.text}")
        return statement

    def sql(self, piece: Piece, names: Names) -> Statement:
        """An SQL statement, perhaps with INTO."""
        words = piece.words()
        start = 0
        if words[0] == "INSERT":
            start = max(piece.find("RETURNING"), 2)
        into = piece.find("INTO", start=start)
        while into > 0 and words[into - 1] in ("INSERT", "MERGE"):
            into = piece.find("INTO", start=into + 1)
        if into < 0:
            statement = self.rows(piece, names)
            if query_outputs(statement) is not None:
                raise SqlError("42601", "query has no destination for result data")
            return Perform(statement, (), (), False, self.found, self.count)
        place = into + 1
        strict = words[place] == "STRICT"
        place += strict
        end = place
        while end < len(words) and piece.tokens[end][0] in ("NAME", "QUOTED", "PARAM"):
            end += 1
            while end + 1 < len(words) and words[end] == "." and piece.tokens[end + 1][0] in ("NAME", "QUOTED"):
                end += 2
            if end == len(words) or words[end] != ",":
                break
            end += 1
        stop = piece.tokens[end][2] if end < len(words) else len(piece.text)
        text = f"{piece.text[: piece.tokens[into][2]]} {piece.text[stop:]}"
        bound = bind_text(text, self.within(names))
        columns = query_outputs(bound)
        if columns is None or not isinstance(bound, Query | Write | Together):
            raise SqlError("42601", "INTO used with a command that cannot return data")
        targets = self.targets(piece.slice(place, end), names, bound)
        if len(columns) != len(targets):
            raise Unsupported("a row of another number of columns than variables")
        row = converted(columns, targets, self.within(names))
        slots = tuple(target.slot for target in targets)
        return Perform(bound, row, slots, strict, self.found, self.count)

    def targets(self, piece: Piece, names: Names, query: Statement) -> tuple[Variable, ...]:
        """The variables that a query's row goes to; a record takes the query's shape."""
        parts = piece.split()
        if len(parts) == 1 and len(parts[0].tokens) == 1:
            record = names.records.get(name_of(parts[0].tokens[0]))
            if record is not None:
                return self.shaped(record, query_outputs(query) or ())
        targets = tuple(self.target(part, names) for part in parts)
        if any(target.slot in self.required for target in targets):
            raise Unsupported("a row's value in a NOT NULL variable")
        return targets

    def shaped(self, record: Record, columns: Sequence[OutputColumn]) -> tuple[Variable, ...]:
        """A record's fields, assigned from here on."""
        if self.versions is not None and self.versions.missing_at(record) is not None:
            raise Unsupported(f"assignment to {record.name} of a trigger, which may be no row then")
        fields = next((shape for shape in record.shapes if record.fixed or same_shape(columns, shape)), None)
        if fields is None:
            fields = tuple(self.frame.slot(column.name, column.expression.type) for column in columns)
            record.shapes.append(fields)
        self.flow.take(record, fields)
        return fields

    def target(self, piece: Piece, names: Names) -> Variable:
        """A variable or a record's field."""
        parts = [name_of(token) for token in piece.tokens[::2]]
        if len(piece.tokens) == 1:
            variable = names.variables.get(parts[0])
            if variable is not None and (self.versions is None or variable != self.versions.event):
                return variable
        elif len(piece.tokens) == 3 and piece.tokens[1][1] == ".":
            variable = self.within(names).qualified.get((parts[0], parts[1]))
            if variable is not None:
                if self.versions is not None and self.versions.is_kept(names.records.get(parts[0])):
                    raise Unsupported(f"assignment to {parts[0]} of a trigger that may have no such row")
                return variable
        raise Unsupported(f"assignment to {piece.text}")

    def assignment(self, piece: Piece, equals: int, names: Names) -> Sequence[Statement]:
        """``target := expression``."""
        target = self.target(piece.slice(0, equals), names)
        context = self.within(names)
        value = self.value(piece.slice(equals + 1), context)
        return self.assign(target, stored(value, target, context))

    def assign(self, target: Variable, value: Expr) -> Sequence[Statement]:
        """The value into the variable; one that is NOT NULL keeps what it has where that fails."""
        if target.slot not in self.required:
            return [SetVariable(target.slot, value)]
        tried = self.frame.slot("", target.type)
        missing = Raise("22004", f"null value cannot be assigned to variable {target.name} declared NOT NULL")
        return [
            SetVariable(tried.slot, value),
            If(((IsNull(tried, False), (missing,)),), ()),
            SetVariable(target.slot, tried),
        ]


def label_of(written: str) -> str:
    """The name of a block or loop, as it is compared."""
    return folded_written(written, PLPGSQL)


def name_of(token: tuple[str, str, int, int, int]) -> str:
    """A name as it is compared; ``$1`` too."""
    return folded_written(token[1], PLPGSQL)
