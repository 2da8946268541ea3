"""Which names a statement may use, and what they stand for (paper §3.1). Does not know expressions' types or rules.

An environment row is the concatenation of the FROM items' columns; a name resolves to a `Column` at a position of it,
to a merged USING column, or, in procedures, to a `Variable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column, Expr, Param, Variable
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import TEXT, Kind, SqlType

ParamShape = tuple[Kind, ...] | tuple[tuple[str, Kind], ...] | None
"""What the JSON values of a statement's parameters look like: in order, or by name; None without any."""

SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "rowid", "oid"})


@dataclass(slots=True)
class Parameters:
    """The statement's parameters: `kinds` as the log shows them, `types` as contexts determine them, first one wins."""

    kinds: dict[int | str, Kind]
    keys: Mapping[str, int | str] = field(default_factory=dict)
    types: dict[int | str, SqlType] = field(default_factory=dict)
    mentioned: set[int | str] = field(default_factory=set)

    @staticmethod
    def of(shape: ParamShape) -> Parameters:
        """Parameters of a shape, none mentioned yet."""
        kinds: dict[int | str, Kind] = {}
        items: Iterable[Kind | tuple[str, Kind]] = shape or ()
        for position, item in enumerate(items):
            if isinstance(item, Kind):
                kinds[position] = item
            else:
                kinds[item[0]] = item[1]
        return Parameters(kinds)

    def mention(self, placeholder: str) -> Param:
        """A placeholder of the rewritten text; its type is Kind.NULL until a context determines it."""
        key = self.keys.get(placeholder)
        if key is None or key not in self.kinds:
            shown = placeholder if key is None else (f"${key + 1}" if isinstance(key, int) else f":{key}")
            raise SqlError("42P02", f"there is no parameter {shown}")
        self.mentioned.add(key)
        return Param(key, self.types.get(key, SqlType(Kind.NULL)))

    def final(self) -> dict[int | str, SqlType]:
        """The type of every parameter. Raises Unsupported where the statement leaves out a positional one."""
        for key, kind in self.kinds.items():
            if key not in self.types:
                if isinstance(key, int) and key not in self.mentioned:
                    raise Unsupported("a parameter that the statement does not mention")
                self.types[key] = TEXT if kind is Kind.NULL else SqlType(kind)
        return self.types


@dataclass(slots=True)
class Context:
    """What a statement is bound against. `variables` by lower-case name, in procedures only."""

    catalog: Catalog
    dialect: Dialect
    parameters: Parameters
    variables: Mapping[str, Variable] = field(default_factory=dict)
    in_procedure: bool = False


@dataclass(slots=True)
class ScopeTable:
    """One FROM item: the columns that it shows, under the name that qualifies them."""

    alias: str
    columns: tuple[tuple[str, Column], ...]


@dataclass(slots=True)
class Scope:
    """The FROM items so far. `merged` are USING columns in order, with what the name stands for."""

    tables: list[ScopeTable] = field(default_factory=list)
    merged: dict[str, Expr] = field(default_factory=dict)
    hidden: set[tuple[str, str]] = field(default_factory=set)
    width: int = 0

    def add(self, alias: str, table: Table, dialect: Dialect) -> None:
        """Append a table's columns. Raises SqlError for a name used twice."""
        if any(item.alias == alias for item in self.tables):
            state = {"postgres": "42712", "mysql": "42000"}.get(dialect.name)
            if state is None:
                raise Unsupported(f"table name {alias!r} twice in FROM")
            raise SqlError(state, f"table name {alias!r} specified more than once")
        columns = tuple(
            (item.name, Column(self.width + place, item.type, item.name)) for place, item in enumerate(table.columns)
        )
        self.tables.append(ScopeTable(alias, columns))
        self.width += len(columns)

    def star(self) -> list[tuple[str, Expr]]:
        """What ``*`` stands for: merged columns first, then the rest in order."""
        rest = [
            (name, column)
            for item in self.tables
            for name, column in item.columns
            if (item.alias, name) not in self.hidden
        ]
        return [*self.merged.items(), *rest]

    def table(self, alias: str) -> ScopeTable | None:
        """The FROM item of that name."""
        return next((item for item in self.tables if item.alias == alias), None)

    def unqualified(self, name: str) -> list[Expr]:
        """Everything that a bare name may stand for."""
        found: list[Expr] = [self.merged[name]] if name in self.merged else []
        for item in self.tables:
            for column_name, column in item.columns:
                if column_name == name and (item.alias, name) not in self.hidden:
                    found.append(column)
        return found

    def since(self, first: int) -> Scope:
        """The scope that the ON of a join sees: the items from number `first` on."""
        names = {item.alias for item in self.tables[first:]}
        hidden = {pair for pair in self.hidden if pair[0] in names}
        return Scope(self.tables[first:], dict(self.merged) if hidden else {}, hidden, self.width)


def unknown_column(name: str, dialect: Dialect) -> SqlError | Unsupported:
    """The answer to a column that does not exist."""
    state = {"postgres": "42703", "mysql": "42S22"}.get(dialect.name)
    if dialect.name == "postgres" and name in SYSTEM_COLUMNS:
        return Unsupported(f"system column {name}")
    return Unsupported(f"unknown column {name}") if state is None else SqlError(state, f"no column {name!r}")


def resolve(scope: Scope, name: str, qualifier: str | None, context: Context) -> Expr:
    """What a column name stands for. Raises SqlError as the DBMS would for unknown and ambiguous names."""
    dialect = context.dialect
    if qualifier is not None:
        table = scope.table(qualifier)
        if table is None:
            if dialect.name == "postgres":
                raise SqlError("42P01", f"missing FROM-clause entry for table {qualifier!r}")
            raise unknown_column(f"{qualifier}.{name}", dialect)
        for column_name, column in table.columns:
            if column_name == name:
                return column
        raise unknown_column(name, dialect)
    variable = context.variables.get(name.lower())
    if variable is not None:
        return variable
    found = scope.unqualified(name)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        state = {"postgres": "42702", "mysql": "23000"}.get(dialect.name)
        if state is None:
            raise Unsupported(f"ambiguous column {name}")
        raise SqlError(state, f"column {name!r} is ambiguous")
    if dialect.name == "postgres" and scope.table(name) is not None:
        raise Unsupported(f"whole-row reference {name}")
    raise unknown_column(name, dialect)
