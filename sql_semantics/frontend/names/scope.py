"""Which names a statement may use, and what they stand for (paper §3.1). Does not know expressions' types or rules.

An environment row is the concatenation of the FROM items' columns; a name resolves to a `Column` at a position of it,
to a merged USING column, to an `Outer` column of a query further out, or, in procedures, to a `Variable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sql_semantics.errors import MisfitParameters, SqlError, Unsupported
from sql_semantics.frontend.names.rows import row_of, row_type
from sql_semantics.frontend.text.listing import Listing
from sql_semantics.ir.expressions import (
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Free,
    Function,
    Invoke,
    IsNull,
    Outer,
    Param,
    Subquery,
    Variable,
)
from sql_semantics.ir.queries import CommonTable, WorkingTable, WrittenTable
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions.composites import PERHAPS_NULL
from sql_semantics.values.types import BIGINT, BOOLEAN, DOUBLE, INT, INTEGER_KINDS, TEXT, ArrayShape, Kind, SqlType

ParamShape = tuple[Kind | ArrayShape, ...] | tuple[tuple[str, Kind | ArrayShape], ...] | None
"""What the JSON values of a statement's parameters look like: in order, or by name; None without any."""

SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "rowid", "oid"})


_SPARE = "more parameters are given than the statement has placeholders: leave out those that it does not use"


@dataclass(slots=True)
class Parameters:
    """The statement's parameters: `kinds` as the log shows them, `types` as contexts determine them, first one wins.
    `arrays` are those that are lists, with the keys of their items, which are parameters like others: positions after
    all positional ones, names with an index. `left_out`: what of the statement's values was stored or shown without
    being modelled, `unshown`: what of those that it shows. `defines`: it is a definition, which no product takes
    parameters in, though a driver may fill them in."""

    kinds: dict[int | str, Kind]
    arrays: dict[int | str, tuple[int | str, ...]] = field(default_factory=dict)
    keys: Mapping[str, int | str] = field(default_factory=dict)
    types: dict[int | str, SqlType] = field(default_factory=dict)
    mentioned: set[int | str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)
    unshown: list[str] = field(default_factory=list)
    defines: bool = False

    @staticmethod
    def none() -> Parameters:
        """Those of a definition."""
        return Parameters({}, defines=True)

    @staticmethod
    def of(shape: ParamShape) -> Parameters:
        """Parameters of a shape, none mentioned yet."""
        kinds: dict[int | str, Kind] = {}
        arrays: dict[int | str, tuple[int | str, ...]] = {}
        items: Sequence[Kind | ArrayShape | tuple[str, Kind | ArrayShape]] = shape or ()
        further = len(items)
        for position, item in enumerate(items):
            key, looks = (position, item) if isinstance(item, Kind | ArrayShape) else item
            if isinstance(looks, Kind):
                kinds[key] = looks
                continue
            places = range(len(looks.items))
            keys = tuple(further + place if isinstance(key, int) else f"{key}[{place}]" for place in places)
            further += len(keys)
            kinds.update(zip(keys, looks.items, strict=True))
            arrays[key] = keys
        return Parameters(kinds, arrays)

    def mention(self, placeholder: str, dialect: Dialect) -> Expr:
        """A placeholder of the rewritten text; its type is Kind.NULL until a context determines it, unless its value
        does."""
        if self.defines:
            raise Unsupported("a parameter in a definition")
        key = self.keys.get(placeholder)
        if key is not None and key in self.arrays:
            if not dialect.rules.expressions.has_arrays:
                raise Unsupported("an array")
            return Function("array of", tuple(self.items(placeholder) or ()), SqlType(Kind.NULL))
        if key is None or key not in self.kinds:
            shown = placeholder if key is None else (f"${key + 1}" if isinstance(key, int) else f":{key}")
            raise MisfitParameters(f"no value is given for the placeholder {shown}: add it to the parameters")
        self.mentioned.add(key)
        if dialect.types_by_value and self.kinds[key] is not Kind.TEXT:  # a text may stand for bytes
            return self._of_its_value(key)
        return Param(key, self.types.get(key, SqlType(Kind.NULL)))

    def _of_its_value(self, key: int | str) -> Expr:
        kind = self.kinds[key]
        if kind is Kind.NULL:
            return Const(None, SqlType(Kind.NULL))
        if kind is Kind.BOOLEAN:
            self.types[key] = BOOLEAN
            return Function("coalesce", (Cast(Param(key, BOOLEAN), INT),), INT)  # a value without affinity
        if kind not in INTEGER_KINDS and kind is not Kind.DOUBLE:
            raise Unsupported("an integer parameter beyond 64 bits")
        self.types[key] = DOUBLE if kind is Kind.DOUBLE else BIGINT
        return Param(key, self.types[key])

    def is_array(self, placeholder: str) -> bool:
        """Whether a parameter's value is a list."""
        return self.keys.get(placeholder, placeholder) in self.arrays

    def items(self, placeholder: str) -> list[Param] | None:
        """The items of an array; None for a parameter that is none."""
        keys = self.arrays.get(self.keys.get(placeholder, placeholder))
        if keys is not None:
            self.mentioned.update(keys, [self.keys[placeholder]])
        return None if keys is None else [Param(key, self.types.get(key, SqlType(Kind.NULL))) for key in keys]

    def final(self) -> dict[int | str, SqlType]:
        """The type of every parameter. Raises MisfitParameters where the statement leaves out a positional one."""
        if any(isinstance(key, int) and key not in self.mentioned for key in self.arrays):
            raise MisfitParameters(_SPARE)
        for key, kind in self.kinds.items():
            if key not in self.types:
                if isinstance(key, int) and key not in self.mentioned:
                    raise MisfitParameters(_SPARE)
                self.types[key] = TEXT if kind is Kind.NULL else SqlType(kind)
        return self.types


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a query in FROM: names and types. `exact` is False where a name is not what the product would
    give the column; then unknown names may be these. `row` and `key` as in `ScopeTable`."""

    names: tuple[str, ...]
    types: tuple[SqlType, ...]
    exact: bool = True
    row: SqlType | None = None
    key: int | None = None


@dataclass(frozen=True, slots=True)
class Common:
    """A WITH item in sight, defined on query level `level`."""

    table: CommonTable | WorkingTable | WrittenTable
    shape: Shape
    level: int


@dataclass(slots=True)
class Context:
    """What a statement is bound against.

    `outer` is the innermost query around the one being bound that it may read, `level` how many there are, `common`
    the WITH items by name, `compound` whether the query is a branch of a UNION or the like. In routines only:
    `variables` by lower-case name, `qualified` ones (labels, records) by qualifier and name, `refused` names,
    `invocation`, which gives the slot for `Invoke.within`, and `routines`, the catalog's while it is being made.
    `listing`: the rows of which the text's VALUES list shows some.
    `conflicts`: a name that is both a variable and a column is an error (PL/pgSQL);
    else it is the variable (SQL/PSM), or with `columns_first` the column (LANGUAGE SQL).
    """

    catalog: Catalog
    dialect: Dialect
    parameters: Parameters
    variables: Mapping[str, Variable] = field(default_factory=dict)
    in_procedure: bool = False
    outer: Scope | None = None
    level: int = 0
    common: Mapping[str, Common] = field(default_factory=dict)
    qualified: Mapping[tuple[str, str], Variable] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    conflicts: bool = False
    columns_first: bool = False
    invocation: Callable[[], int] | None = None
    routines: Mapping[str, Routine] | None = None
    compound: bool = False
    listing: Listing | None = None

    def inside(self, scope: Scope) -> Context:
        """The context of a subquery that may read the rows of `scope`."""
        return replace(self, outer=scope, level=self.level + 1, compound=False)


@dataclass(slots=True)
class ScopeTable:
    """One FROM item: the columns that it shows, under the name that qualifies them (`exact` as in `Shape`).

    `row`: what the name alone stands for: a row of this composite type, a value of this type if it is another one, a
    row of no type if None. `extended`: there may be NULL in its place, as an outer join puts it
    there. `key`: the place of the column that `key_column` tells, if there is one. `present`: something that is NULL
    nowhere but in the place of a missing row, if that is known.
    """

    alias: str
    columns: tuple[tuple[str, Expr], ...]
    exact: bool = True
    row: SqlType | None = None
    extended: bool = False
    key: int | None = None
    present: Expr | None = None

    def whole(self) -> Expr:
        """What the name stands for by itself (PostgreSQL 8.16.5). Raises Unsupported where it may be NULL, which the
        columns do not tell from a row of NULLs."""
        if self.row is not None and self.row.kind is not Kind.COMPOSITE:
            return self.columns[0][1]
        if (self.extended and self.present is None) or not self.exact:
            raise Unsupported(f"whole-row reference {self.alias}")
        row = row_of([column for _, column in self.columns], [name for name, _ in self.columns], self.row)
        if not self.extended or self.present is None:
            return row
        return Case(((IsNull(self.present, False), Const(None, row.type)),), row, row.type)


Visible = list[tuple[str, Expr]]


@dataclass(slots=True)
class Scope:
    """The FROM items so far.

    `tables` is for qualified names. `groups` is what bare names and ``*`` stand for, in order: one list per item
    between commas, USING columns in it once. `lenient`: a name that is not found may be an alias of the select list.
    """

    tables: list[ScopeTable] = field(default_factory=list)
    groups: list[Visible] = field(default_factory=list)
    width: int = 0
    outer: Scope | None = None
    lenient: bool = False

    def add(
        self, alias: str, table: Table, dialect: Dialect, *, absent: bool = False, shown: Sequence[int] | None = None
    ) -> None:
        """Append a table's columns; `absent`: there may be no row, which is NULL then, and no row of NULLs. `shown`:
        the places of the columns that are seen, as through a view. Raises SqlError for a name used twice."""
        columns = tuple(
            (
                table.columns[place].name,
                Column(self.width + place, table.columns[place].type, table.columns[place].name),
            )
            for place in (range(len(table.columns)) if shown is None else shown)
        )
        key = key_column(table, dialect.rules.text.key_name, dialect)
        row = row_type(table) if shown is None else None
        self.add_tables([ScopeTable(alias, columns, row=row, extended=absent, key=key)], dialect)
        self.groups.append(list(columns))
        self.width += len(table.columns)

    def add_tables(self, tables: Sequence[ScopeTable], dialect: Dialect) -> None:
        """Append names for qualified columns. Raises SqlError for a name used twice."""
        for table in tables:
            if table.alias and any(item.alias == table.alias for item in self.tables):
                state = dialect.rules.text.repeated_table_error
                if state is None:
                    raise Unsupported(f"table name {table.alias!r} twice in FROM")
                raise SqlError(state, f"table name {table.alias!r} specified more than once")
            self.tables.append(table)

    def hide_last(self) -> None:
        """Bare names do not see the last item."""
        self.groups[-1] = []

    def star(self) -> Visible:
        """What ``*`` stands for."""
        return [item for group in self.groups for item in group]

    def table(self, alias: str) -> ScopeTable | None:
        """The FROM item of that name, which one of another schema need not say."""
        found = next((item for item in self.tables if item.alias == alias), None)
        if found is not None or "." in alias:
            return found
        others = [item for item in self.tables if item.alias.endswith(f".{alias}")]
        if len(others) > 1:
            raise Unsupported(f"two tables of the name {alias}")
        return others[0] if others else None

    def unqualified(self, name: str) -> list[Expr]:
        """Everything that a bare name may stand for."""
        return [column for group in self.groups for column_name, column in group if column_name == name]

    def exact(self) -> bool:
        """Whether a name that is not here is certainly unknown here."""
        return not self.lenient and all(table.exact for table in self.tables)


def key_column(table: Table, name: str, dialect: Dialect) -> int | None:
    """The place of the column that a name of the product's own stands for: the only one of the key by which the rows
    are kept, where it is a number (tried on MariaDB 10.11); None for another name, or where there is none."""
    own = dialect.rules.text.key_name
    key = table.clustered if own and name.lower() == own else ()
    if len(key) != 1 or any(column.name == name for column in table.columns):
        return None
    kind = table.columns[key[0]].type.kind
    return key[0] if kind in INTEGER_KINDS or kind in (Kind.BOOLEAN, Kind.OPAQUE, Kind.UNKNOWN) else None


def unknown_column(name: str, dialect: Dialect) -> SqlError | Unsupported:
    """The answer to a column that does not exist."""
    rules = dialect.rules.text
    state = rules.unknown_column_error
    if rules.has_system_columns and name in SYSTEM_COLUMNS:
        return Unsupported(f"system column {name}")
    return Unsupported(f"unknown column {name}") if state is None else SqlError(state, f"no column {name!r}")


def _by_key(table: ScopeTable, name: str, dialect: Dialect) -> list[Expr]:
    if table.key is None or name.lower() != dialect.rules.text.key_name:
        return []
    return [table.columns[table.key][1]]


def _found(scope: Scope, name: str, qualifier: str | None, dialect: Dialect) -> Expr | None:
    """What the name stands for on this level, None for nothing."""
    if qualifier is not None:
        table = scope.table(qualifier)
        if table is None:
            return None
        found = [column for column_name, column in table.columns if column_name == name]
        found = found or _by_key(table, name, dialect)
        if not found:
            further = scope.outer
            while further is not None and not dialect.rules.text.qualifiers_hide:
                if further.table(qualifier) is not None:
                    raise Unsupported(f"column {name} of two tables named {qualifier}")
                further = further.outer
            raise unknown_column(name, dialect) if scope.exact() else Unsupported(f"unknown column {name}")
    else:
        found = scope.unqualified(name)
        if not found and len(scope.tables) == 1:
            found = _by_key(scope.tables[0], name, dialect)
    if len(found) > 1:
        state = dialect.rules.text.ambiguous_column_error
        if state is None:
            raise Unsupported(f"ambiguous column {name}")
        raise SqlError(state, f"column {name!r} is ambiguous")
    return found[0] if found else None


def resolve(scope: Scope, name: str, qualifier: str | None, context: Context) -> Expr:
    """What a column name stands for: on the innermost level that knows it. Raises SqlError as the DBMS would for
    unknown and ambiguous names."""
    dialect = context.dialect
    calls = dialect.rules.text.columns_call_functions
    variable = _variable(name, qualifier, context)
    if variable is not None and not context.conflicts and not context.columns_first:
        return variable
    try:
        column = _column(scope, name, qualifier, dialect, lenient=variable is not None)
    except SqlError as error:
        if calls and qualifier is not None and _routine(name, context):
            raise Unsupported(f"{qualifier}.{name}, a call of the function {name}") from error
        raise
    if variable is None or column is None:
        found = column if variable is None else variable
        if found is not None:
            return found
        if qualifier is None and name in context.refused:
            return _record(name, context)
        if qualifier is not None and (qualifier, "") in context.qualified:
            raise Unsupported(f"{qualifier}.{name}, which the variable does not have")
        if qualifier is not None and calls and _routine(name, context):
            raise Unsupported(f"{qualifier}.{name}, a call of the function {name}")
        raise _unresolved(scope, name, qualifier, dialect)
    if context.columns_first:
        return column
    raise SqlError("42702", f"{name!r} is both a variable and a column")


def _record(name: str, context: Context) -> Expr:
    """A record as a value: whether it is NULL or a row of NULLs is not known. Raises Unsupported for another variable
    that is refused."""
    own = context.qualified.get((name, ""))
    fields = [item for (record, field), item in context.qualified.items() if record == name and field]
    if own is None or not fields:
        raise Unsupported(f"variable {name}")
    row = row_of(fields, [field.name for field in fields], None if own.type.kind is Kind.NULL else own.type)
    return Function(PERHAPS_NULL, row.arguments, row.type)


def _routine(name: str, context: Context) -> bool:
    known = context.catalog.procedures if context.routines is None else context.routines
    return name in known or name in context.catalog.refused


def _variable(name: str, qualifier: str | None, context: Context) -> Variable | None:
    if qualifier is None:
        return context.variables.get(name)
    return context.qualified.get((qualifier, name))


def _column(scope: Scope, name: str, qualifier: str | None, dialect: Dialect, lenient: bool) -> Expr | None:
    """The column on the innermost level that knows it; None where no level does. `lenient`: a whole row of that name
    is nothing either."""
    current: Scope | None = scope
    depth = 0
    has_rows = dialect.rules.expressions.has_rows
    while current is not None:
        column = _found(current, name, qualifier, dialect)
        if column is not None:
            return column if depth == 0 else outward(column, depth)
        table = current.table(name) if qualifier is None and not lenient and has_rows else None
        if table is not None:
            return table.whole() if depth == 0 else outward(table.whole(), depth)
        current, depth = current.outer, depth + 1
    return None


def around(scope: Scope, name: str, context: Context) -> list[tuple[str, Expr]] | None:
    """The columns of the FROM item of that name, on the innermost level that has one, or the fields of the record;
    None for neither."""
    fields = [(field, item) for (record, field), item in context.qualified.items() if record == name and field]
    is_record = (name, "") in context.qualified
    current: Scope | None = scope
    depth = 0
    while current is not None:
        table = current.table(name)
        if table is not None:
            if is_record or (not table.exact and context.dialect.rules.expressions.has_rows):
                raise Unsupported(f"{name}, a row of several meanings")
            return [(column, outward(e, depth) if depth else e) for column, e in table.columns]
        current, depth = current.outer, depth + 1
    if is_record and not fields:
        raise Unsupported(f"record {name}, which may not be assigned yet")
    return [*fields] if is_record else None


def _unresolved(scope: Scope, name: str, qualifier: str | None, dialect: Dialect) -> SqlError | Unsupported:
    """The answer to a name that no level knows."""
    current: Scope | None = scope
    while current is not None:
        if not current.exact():
            return Unsupported(f"unknown column {name}")
        current = current.outer
    rules = dialect.rules.text
    if rules.subqueries_see_aliases and scope.outer is not None:
        return Unsupported(f"unknown column {name} in a subquery")
    if qualifier is not None and rules.missing_table_error is not None:
        return SqlError(rules.missing_table_error, f"missing FROM-clause entry for table {qualifier!r}")
    if qualifier is not None:  # MySQL misses the column, MariaDB the table
        return Unsupported(f"unknown column {qualifier}.{name}")
    return unknown_column(name, dialect)


def outward(expr: Expr, depth: int) -> Expr:
    """A column (or merged columns) of a query `depth` levels further out."""

    def move(part: Expr) -> Expr:
        if isinstance(part, Column):
            return Outer(depth, part.index, part.type, part.name, part.constant, part.affine)
        if isinstance(part, Outer):
            return replace(part, depth=depth + part.depth)
        return rebuild(part, move)

    return move(expr)


def shifted(expr: Expr, by: int) -> Expr:
    """A column (or merged columns) of a row that now starts `by` positions further right."""

    def move(part: Expr) -> Expr:
        if isinstance(part, Column):
            return replace(part, index=part.index + by)
        return rebuild(part, move)

    return move(expr)


_CHANGING = (Param, Variable, Free, Invoke, Subquery)


def never_changes(expr: Expr) -> bool:
    """Whether MySQL may take an expression for a constant when it finds its type: there is nothing in it that may have
    another value the next time."""
    return not any(
        isinstance(part, _CHANGING) or (isinstance(part, Column | Outer) and not part.constant) for part in walk(expr)
    )
