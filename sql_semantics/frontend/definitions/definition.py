"""The definition of one table: its columns and constraints (PostgreSQL CREATE TABLE, MySQL 15.1.20; paper §3.1).

Constraints wait until all columns are known. Does not know other statements of a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unreadable, Unsupported
from sql_semantics.frontend.definitions.named import domain_checks
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Parameters, Scope
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.dialects import fold_column, named_of, sql_type
from sql_semantics.frontend.text.syntax import Node, only, parse_one, unsupported
from sql_semantics.frontend.types.coerce import refuse_unmodelled
from sql_semantics.frontend.writes.generated import generated_column, is_generated
from sql_semantics.frontend.writes.identity import (
    chosen_default,
    identity_column,
    numbered,
    rowid_column,
    serial_type,
    without_rowid,
)
from sql_semantics.frontend.writes.references import bind_reference, parent_of, spell_reference
from sql_semantics.frontend.writes.unmodelled import opaque_name, stored_value
from sql_semantics.ir.expressions import Const, Free
from sql_semantics.ir.schema import Catalog, Check, ForeignKey, SpelledKey, Table, TableColumn, Unique
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect, NamedType
from sql_semantics.values.text import TextRule, text_rule
from sql_semantics.values.types import UNSIGNED_KINDS, ZEROFILL, Kind, SqlType

_NO_EFFECT = (
    exp.AutoIncrementProperty,
    exp.EngineProperty,
    exp.CharacterSetProperty,
    exp.CollateProperty,
    exp.SchemaCommentProperty,
)


def _column(columns: Sequence[TableColumn], node: Node, dialect: Dialect) -> int:
    while isinstance(node, (exp.Column, exp.Ordered)):
        only(node, "this", "nulls_first")
        node = node.this
    if not isinstance(node, exp.Identifier):
        raise unsupported(node, "a key")
    name = fold_column(node, dialect)
    for place, column in enumerate(columns):
        if column.name == name:
            return place
    raise SchemaError(f"no column {name!r} for a key")


def _spelled(nodes: Sequence[Node], dialect: Dialect) -> list[str]:
    """The names of columns, for that of a constraint."""
    return [fold_column(node, dialect) if isinstance(node, exp.Identifier) else node.name for node in nodes]


@dataclass(slots=True)
class Definition:
    """A table while its definition is read. `checks`, and those of domains, which come first, wait until all columns
    are known. `lenient`: what is not modelled makes columns opaque and constraints `loose`, where it would else be
    refused. `collation` is that of its texts, where it is another than the log's."""

    name: str
    dialect: Dialect
    columns: list[TableColumn] = field(default_factory=list)
    keys: list[Unique] = field(default_factory=list)
    checks: list[tuple[str, Node]] = field(default_factory=list)
    first_checks: list[tuple[str, Node]] = field(default_factory=list)
    autoincrement: bool = False
    key_nodes: list[tuple[str, list[Node], bool, bool]] = field(default_factory=list)
    references: list[tuple[str, list[Node] | int, Node]] = field(default_factory=list)
    generated: list[tuple[int, Node]] = field(default_factory=list)
    lenient: bool = False
    loose: list[str] = field(default_factory=list)
    hangs_on: list[str] = field(default_factory=list)
    indexes: list[tuple[str, ...]] = field(default_factory=list)
    collation: str = ""

    @contextmanager
    def loosely(self) -> Iterator[None]:
        """Within it a constraint that is not modelled makes the table loose."""
        try:
            yield
        except Unsupported as error:
            if not self.lenient or isinstance(error, Unreadable):
                raise
            self.loose.append(error.construct)


@dataclass(frozen=True, slots=True)
class WaitingReference:
    """A foreign key of `table` that stands before the definition of the table it refers to, as dumps of MySQL have
    them; `text` is that of the table's definition."""

    table: str
    name: str
    columns: tuple[int, ...]
    node: Node
    text: str

    def bind(self, tables: dict[str, Table], dialect: Dialect) -> None:
        """Add it to its table, once all are known. Raises SchemaError, Unsupported."""
        table = tables[self.table]
        found = bind_reference(self.node, self.name, self.columns, table, tables, dialect)
        tables[self.table] = replace(table, foreign_keys=(*table.foreign_keys, found))


def create_table(
    tree: Node,
    tables: dict[str, Table],
    dialect: Dialect,
    text: str,
    waiting: list[WaitingReference] | None = None,
    *,
    lenient: bool = False,
) -> None:
    """CREATE TABLE into `tables`; foreign keys to tables that are not among them go to `waiting`. Raises SchemaError,
    Unsupported; where `lenient` fewer of the latter."""
    only(tree, "this", "kind", "exists", "properties")
    properties, collation = tree.args.get("properties"), ""
    if properties is not None:
        only(properties, "expressions")
        for item in properties.expressions:
            if not isinstance(item, _NO_EFFECT) and not _is_storage(item, dialect):
                raise Unsupported(f"table option {item.key.upper().removesuffix('PROPERTY') or item.name.upper()}")
        collation = _table_collation(properties.expressions, dialect)
    body = tree.this
    if not isinstance(body, exp.Schema):
        raise Unsupported("CREATE TABLE without a column list")
    only(body, "this", "expressions")
    definition = Definition(table_name(body.this, dialect), dialect, lenient=lenient, collation=collation)
    if definition.name in tables:
        if tree.args.get("exists"):
            return
        raise SchemaError(f"table {definition.name!r} is created twice")
    for item in body.expressions:
        if isinstance(item, exp.ColumnDef):
            add_column(definition, item)
        else:
            with definition.loosely():
                add_constraint(definition, item, None)
    tables[definition.name] = finish(definition, tables, text, waiting=waiting)


def _is_storage(item: Node, dialect: Dialect) -> bool:
    """Whether it is a storage parameter, which says how rows are kept (PostgreSQL and MySQL, CREATE TABLE)."""
    if isinstance(item, exp.RowFormatProperty):
        name = "row_format"
    elif type(item) is exp.Property:
        name = item.this.name if isinstance(item.this, Node) else str(item.this)
    else:
        return False
    return pattern(dialect.rules.definitions.storage_parameters, re.IGNORECASE).fullmatch(name) is not None


def _table_collation(properties: Sequence[Node], dialect: Dialect) -> str:
    """The collation of a table's texts that tell none; "" for the log's (MySQL 10.3.3)."""
    own = next((item for item in properties if isinstance(item, exp.CollateProperty)), None)
    charset = next((item for item in properties if isinstance(item, exp.CharacterSetProperty)), None)
    if not dialect.rules.definitions.table_collations:
        if own is not None:
            raise Unsupported("COLLATE of a table")
        return ""
    return own_collation(_word(own), _word(charset), dialect)


def _word(node: Node | None) -> str | None:
    """The name in a property or constraint."""
    if node is None:
        return None
    return node.this.name if isinstance(node.this, Node) else str(node.this)


def own_collation(name: str | None, charset: str | None, dialect: Dialect) -> str:
    """The collation of texts of this name or character set, "" for the log's. A character set brings its own default,
    which ignores case. Raises Unsupported for one whose texts are bytes."""
    log, found = (dialect.collation or "").lower(), (name or "").lower()
    if "binary" in (found, (charset or "").lower()):
        raise Unsupported("texts that are bytes")
    if not found and charset is not None and log:
        found = _default_of(charset.lower(), dialect)
    return "" if found == log else found


def _default_of(charset: str, dialect: Dialect) -> str:
    """The collation of a character set that none is named for (MySQL 10.2; MariaDB before 11.2, which can be told
    another); a name of its own where the product is not known."""
    mariadb = dialect.product == "mariadb" and dialect.version is not None and dialect.version < (11, 2)
    if charset == "utf8mb4" and (mariadb or dialect.product == "mysql"):
        return "utf8mb4_general_ci" if mariadb else "utf8mb4_0900_ai_ci"
    return f"{charset}_default_ci"


def finish(
    definition: Definition,
    tables: Mapping[str, Table],
    text: str,
    keys_before: Sequence[Unique] = (),
    waiting: list[WaitingReference] | None = None,
) -> Table:
    """The table. `text` is that of its CREATE TABLE; `keys_before`: keys that it has already."""
    name, dialect = definition.name, definition.dialect
    if not definition.columns:
        raise Unsupported("a table without columns")
    names = [column.name for column in definition.columns]
    if len(set(names)) < len(names):
        raise SchemaError(f"a column of {name!r} is defined twice")
    for key_name, nodes, primary, nulls_equal in definition.key_nodes:
        positions = tuple(_column(definition.columns, node, dialect) for node in nodes)
        definition.keys.append(Unique(key_name, positions, primary, nulls_equal))
    if sum(key.primary for key in definition.keys) > 1:
        raise SchemaError(f"table {name!r} has two primary keys")
    not_null = dialect.rules.definitions.primary_keys_are_not_null or without_rowid(text, dialect)
    for key in definition.keys:
        for place in key.columns if key.primary and not_null else ():
            definition.columns[place] = replace(definition.columns[place], not_null=True)
    primary_key = next((key.columns for key in definition.keys if key.primary), ())
    rowid = rowid_column(text, definition.columns, primary_key, dialect)
    if rowid is not None:
        definition.columns[rowid] = numbered(
            definition.columns[rowid], name, "auto" if definition.autoincrement else "rowid", "null"
        )
    elif definition.autoincrement:
        raise SchemaError(f"AUTOINCREMENT of table {name!r} is only allowed on an INTEGER PRIMARY KEY")
    keys = _told_apart(sorted(definition.keys, key=lambda key: not key.primary), definition)
    table = Table(name, tuple(definition.columns), tuple(keys), collation=definition.collation)
    context = Context(Catalog({name: table}), dialect, Parameters.none())
    scope = Scope()
    scope.add(name, table, dialect)
    checks: list[Check] = []
    enforced = () if dialect.ignores_checks else (*definition.first_checks, *definition.checks)
    for place, (check_name, node) in enumerate(enforced):
        first = place < len(definition.first_checks)
        with definition.loosely():
            checks.append(Check(check_name, Binder(context, scope, "CHECK").condition(node), first))
    for place, node in definition.generated:
        try:
            definition.columns[place] = generated_column(definition.columns, place, node, name, dialect)
        except Unsupported as error:
            _leave_open(definition, place, error)
    table = replace(table, columns=tuple(definition.columns), keys=(*keys_before, *keys), checks=tuple(checks))
    table = _with_references(definition, table, tables, text, waiting)
    return replace(
        table,
        keys=tuple(keys),
        loose=tuple(definition.loose),
        hangs_on=tuple(definition.hangs_on),
        indexes=tuple(definition.indexes),
    )


def _with_references(
    definition: Definition,
    table: Table,
    tables: Mapping[str, Table],
    text: str,
    waiting: list[WaitingReference] | None,
) -> Table:
    dialect = definition.dialect
    foreign_keys: list[ForeignKey] = []
    spelled: list[SpelledKey] = []
    for key_name, owner, node in definition.references:
        places = [owner] if isinstance(owner, int) else [_column(definition.columns, item, dialect) for item in owner]
        if dialect.rules.definitions.references_by_name:
            key = spell_reference(node, key_name, [definition.columns[place].name for place in places], dialect)
            spelled += [] if key is None else [key]
            continue
        if waiting is not None and not _has_parent(node, table, tables, dialect):
            waiting.append(WaitingReference(table.name, key_name, tuple(places), node, text))
            continue
        parent = parent_of(node, dialect)
        if definition.lenient and parent in tables and tables[parent].refused:
            definition.loose.append(f"{tables[parent].refused}, in the definition of {parent}")
            definition.hangs_on.append(parent)
            continue
        foreign_keys.append(bind_reference(node, key_name, places, table, tables, dialect))
    return replace(table, foreign_keys=tuple(foreign_keys), spelled=tuple(spelled))


def _told_apart(keys: Sequence[Unique], definition: Definition) -> list[Unique]:
    """The keys of whose values it is known which are equal."""
    found: list[Unique] = []
    for key in keys:
        types = [definition.columns[place].type for place in key.columns]
        with definition.loosely():
            refuse_unmodelled(types)
            found.append(key)
    return found


def _leave_open(definition: Definition, place: int, error: Unsupported) -> None:
    """A column of whose values nothing is known. Raises the error again where that is not wanted."""
    if not definition.lenient or isinstance(error, Unreadable):
        raise error
    column = definition.columns[place]
    kind = SqlType(Kind.UNKNOWN, name=error.construct)
    definition.columns[place] = TableColumn(column.name, kind, unread=error.construct)


def _has_parent(node: Node, table: Table, tables: Mapping[str, Table], dialect: Dialect) -> bool:
    """Whether the table that a reference names is known by now; PostgreSQL takes no other."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    needed = dialect.rules.definitions.references_need_parents
    return needed or table_name(target, dialect) in (table.name, *tables)


def add_column(definition: Definition, node: Node, *also: str) -> None:
    """One column with its constraints; `also`: what else the node may carry."""
    only(node, "this", "kind", "constraints", *also)
    dialect = definition.dialect
    kind = node.args.get("kind")
    if not isinstance(kind, exp.DataType):
        raise Unsupported(f"column {node.name} without a type" if kind is None else f"type {kind.sql().upper()}")
    serial = serial_type(kind, dialect)
    name = fold_column(node.this, dialect)
    domain = named_of(kind, dialect)
    domain = domain if domain is not None and domain.domain else None
    given = domain.type if domain is not None else _type_of(kind, definition) if serial is None else serial
    column = TableColumn(name, given)
    if serial is not None:
        column = numbered(column, definition.name, "nextval", "")
    place = len(definition.columns)
    definition.columns.append(column)
    if domain is not None:
        _add_domain(definition, place, domain, node.this)
    constraints = [part for given in node.args.get("constraints") or [] for part in _parted(given)]
    if dialect.rules.definitions.table_collations:
        try:
            constraints = _collated(definition, place, constraints)
        except Unsupported as error:
            _leave_open(definition, place, error)
    for constraint in constraints:
        try:
            _add_to_column(definition, place, constraint)
        except Unsupported as error:
            if isinstance(constraint.args.get("kind"), _REFUSING):
                with definition.loosely():
                    raise
            else:
                _leave_open(definition, place, error)
    kinds = [constraint.args.get("kind") for constraint in constraints]
    if any(isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null") for kind in kinds):
        column = definition.columns[place]
        if column.type.kind is Kind.UNKNOWN:  # which of its values are NULL is not known
            definition.columns[place] = replace(column, not_null=True)
            definition.loose.append(column.unread)


def _parted(constraint: Node) -> list[Node]:
    """``DEFAULT 'x' COLLATE c`` as two constraints: what the parser takes for an expression is one of each, as no
    product takes an operator in a default without parentheses."""
    kind = constraint.args.get("kind")
    if not isinstance(kind, exp.DefaultColumnConstraint) or not isinstance(kind.this, exp.Collate):
        return [constraint]
    default, collation = kind.this.this, kind.this.expression
    return [
        exp.ColumnConstraint(this=constraint.args.get("this"), kind=exp.DefaultColumnConstraint(this=default.copy())),
        exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=collation.copy())),
    ]


def _collated(definition: Definition, place: int, constraints: Sequence[Node]) -> list[Node]:
    """Give a column of texts its collation, and one of numbers the zeros that it is written with; the constraints that
    do not tell that."""
    told = {type(kind): kind for item in constraints if isinstance(kind := item.args.get("kind"), _COLLATIONS)}
    column = definition.columns[place]
    if column.type.kind in UNSIGNED_KINDS and any(map(_fills_zeros, constraints)):
        definition.columns[place] = replace(column, type=replace(column.type, name=ZEROFILL))
        constraints = [item for item in constraints if not _fills_zeros(item)]
    elif column.type.kind in (Kind.TEXT, Kind.ENUM):
        collate, charset = (_word(told.get(kind)) for kind in _COLLATIONS)
        own = definition.collation
        if told:
            own = own_collation(collate, charset, definition.dialect)
        definition.columns[place] = replace(column, type=replace(column.type, collation=own))
    elif told:
        raise Unsupported(f"COLLATE of a column of type {column.type}")
    return [item for item in constraints if not isinstance(item.args.get("kind"), _COLLATIONS)]


def _fills_zeros(constraint: Node) -> bool:
    return isinstance(constraint.args.get("kind"), exp.ZeroFillColumnConstraint)


_COLLATIONS = (exp.CollateColumnConstraint, exp.CharacterSetColumnConstraint)


def _add_domain(definition: Definition, place: int, domain: NamedType, column: exp.Identifier) -> None:
    """What a column takes from its domain: NOT NULL, a default and checks."""
    if domain.not_null:
        definition.columns[place] = replace(definition.columns[place], not_null=True)
    if domain.default:
        default = parse_one(f"SELECT {domain.default}", definition.dialect.name).expressions[0]
        _add_to_column(definition, place, exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=default)))
    definition.first_checks += domain_checks(domain, column)


_REFUSING = (exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint, exp.CheckColumnConstraint)
"""Constraints that refuse rows, and have no say in what a column holds."""


def _type_of(node: exp.DataType, definition: Definition) -> SqlType:
    """The column's type; one that is not modelled is opaque."""
    try:
        return sql_type(node, definition.dialect)
    except Unsupported:
        if not definition.lenient:
            raise
        return SqlType(Kind.OPAQUE, name=opaque_name(node, definition.dialect))


def _add_to_column(definition: Definition, place: int, constraint: Node) -> None:
    """One constraint of a column, or what else is said of it."""
    dialect = definition.dialect
    only(constraint, "this", "kind")
    given = constraint.args.get("this")
    name = None if given is None else fold_column(given, dialect)
    detail = constraint.args["kind"]
    column = definition.columns[place]
    if isinstance(detail, exp.NotNullColumnConstraint):
        only(detail, "allow_null")
        if not detail.args.get("allow_null"):
            definition.columns[place] = replace(column, not_null=True)
    elif isinstance(detail, exp.DefaultColumnConstraint):
        only(detail, "this")
        try:
            definition.columns[place] = with_default(column, detail.this, definition)
        except Unsupported as error:
            if not definition.lenient:
                raise
            definition.columns[place] = replace(column, unread=error.construct)
    elif isinstance(detail, exp.PrimaryKeyColumnConstraint):
        _index_parameters(detail, dialect)
        definition.keys.append(Unique(name or f"{definition.name}_pkey", (place,), True))
    elif isinstance(detail, exp.UniqueColumnConstraint):
        if detail.args.get("this") is not None:
            raise Unsupported("UNIQUE with a name in a column definition")
        nulls_equal = _nulls_equal(detail, dialect)
        name = name or f"{definition.name}_{column.name}_key"
        definition.keys.append(Unique(name, (place,), nulls_equal=nulls_equal))
    elif isinstance(detail, exp.CheckColumnConstraint):
        only(detail, "this", "enforced")
        definition.checks.append((name or f"{definition.name}_{column.name}_check", detail.this))
    elif isinstance(detail, exp.Reference):
        if not dialect.rules.definitions.column_references:
            raise Unsupported("REFERENCES of a column, which MySQL ignores and MariaDB does not")
        definition.references.append((name or f"{definition.name}_{column.name}_fkey", place, detail))
    elif is_generated(detail, dialect):
        definition.generated.append((place, detail))
    elif (
        isinstance(detail, exp.AutoIncrementColumnConstraint)
        and dialect.rules.definitions.auto_increment == "keeps rowids"
    ):
        only(detail)
        definition.autoincrement = True
    elif isinstance(detail, exp.AutoIncrementColumnConstraint | exp.GeneratedAsIdentityColumnConstraint):
        definition.columns[place] = identity_column(column, detail, definition.name, dialect)
    elif isinstance(detail, exp.OnUpdateColumnConstraint) and dialect.rules.definitions.updates_moments:
        only(detail, "this")
        if not isinstance(detail.this, exp.CurrentTimestamp) or column.type.kind not in (
            Kind.TIMESTAMP,
            Kind.TIMESTAMPTZ,
        ):
            raise Unsupported("column constraint ON UPDATE")
        moment = Free("execution_time", "", SqlType(Kind.TIMESTAMP, precision=column.type.precision))
        definition.columns[place] = replace(column, on_update=moment)
    elif isinstance(detail, exp.CommentColumnConstraint):
        only(detail, "this")
    elif isinstance(detail, exp.CollateColumnConstraint):
        only(detail, "this")
        if not _is_own_collation(detail, dialect):
            raise Unsupported("column constraint COLLATE")
    else:
        raise Unsupported(f"column constraint {_constraint_name(detail)}")


def _is_own_collation(node: Node, dialect: Dialect) -> bool:
    """Whether a column's collation is code points, as it is in the whole log (PostgreSQL 23.2)."""
    name = node.this.name if isinstance(node.this, Node) else str(node.this)
    named = replace(dialect, collation=name)
    told = dialect.rules.definitions.column_collations
    return told and text_rule(named) is text_rule(dialect) is TextRule.CODE_POINT


_CONSTRAINTS = {
    "computedcolumnconstraint": "GENERATED ALWAYS AS (expression)",
    "collatecolumnconstraint": "COLLATE",
    "charactersetcolumnconstraint": "CHARACTER SET",
    "onupdatecolumnconstraint": "ON UPDATE",
    "excludecolumnconstraint": "EXCLUDE",
    "likeproperty": "LIKE",
}


def named_in(parts: Iterable[Node], dialect: Dialect) -> tuple[str, ...]:
    """The columns that the parts of an index name; ``w(10)``, the beginning of one, is read as a call where no table
    is told of."""
    found = (
        fold_column(node.this if isinstance(node, exp.Column) else exp.to_identifier(node.name), dialect)
        for part in parts
        for node in part.find_all(exp.Column, exp.Anonymous)
    )
    return tuple(dict.fromkeys(found))


def _constraint_name(node: Node) -> str:
    return _CONSTRAINTS.get(node.key, node.key.removesuffix("columnconstraint").upper())


def _index_parameters(node: Node, dialect: Dialect, *also: str) -> None:
    only(node, "this", "include", "expressions", *also)
    include = node.args.get("include")
    if isinstance(include, exp.IndexParameters):
        only(include, "include")
        check_covered(include, dialect)
    elif include:
        raise Unsupported("INCLUDE in a key")


def check_covered(node: Node, dialect: Dialect) -> None:
    """``INCLUDE (columns)`` (PostgreSQL): they stand in the index, and are no part of the key."""
    covered = node.args.get("include") or ()
    covers = dialect.rules.definitions.covering_keys
    if covered and not (covers and all(isinstance(item, exp.Identifier) for item in covered)):
        raise Unsupported("INCLUDE in a key")


def _nulls_equal(node: Node, dialect: Dialect) -> bool:
    """Whether a UNIQUE says NULLS NOT DISTINCT (PostgreSQL)."""
    _index_parameters(node, dialect, *(("nulls",) if dialect.rules.definitions.nulls_not_distinct else ()))
    return bool(node.args.get("nulls"))


def with_default(column: TableColumn, node: Node, definition: Definition) -> TableColumn:
    """The column with a DEFAULT."""
    context = Context(Catalog(), definition.dialect, Parameters.none())
    default = chosen_default(stored_value(node, column, Binder(context, Scope(), "DEFAULT")))
    return replace(column, default=None if default == Const(None, column.type) else default)


def add_constraint(definition: Definition, node: Node, name: str | None) -> None:
    """A constraint of the table, noted for `finish`."""
    dialect = definition.dialect
    if isinstance(node, exp.Constraint):
        only(node, "this", "expressions")
        if len(node.expressions) != 1:
            raise Unsupported("constraint with attributes")
        add_constraint(definition, node.expressions[0], fold_column(node.this, dialect))
    elif isinstance(node, exp.PrimaryKey):
        _index_parameters(node, dialect)
        if node.args.get("this") is not None:
            raise Unsupported("a named PRIMARY KEY")
        definition.key_nodes.append((name or f"{definition.name}_pkey", list(node.expressions), True, False))
    elif isinstance(node, exp.UniqueColumnConstraint):
        if node.args.get("on_conflict"):
            raise Unreadable("ON CONFLICT in UNIQUE")  # decides what becomes of the row, not only whether it may be
        nulls_equal = _nulls_equal(node, dialect)
        columns = node.this
        if not isinstance(columns, exp.Schema):
            raise Unsupported("UNIQUE without columns")
        only(columns, "this", "expressions")
        given = columns.this
        if isinstance(given, exp.Identifier):
            name = name or fold_column(given, dialect)
        elif given is not None:
            raise unsupported(given, "UNIQUE")
        items = list(columns.expressions)
        name = name or "_".join([definition.name, *_spelled(items, dialect), "key"])
        definition.key_nodes.append((name, items, False, nulls_equal))
    elif isinstance(node, exp.CheckColumnConstraint):
        only(node, "this", "enforced")
        definition.checks.append((name or f"{definition.name}_check", node.this))
    elif isinstance(node, exp.ForeignKey):
        only(node, "expressions", "reference")
        if node.args.get("reference") is None:
            raise Unreadable("FOREIGN KEY without REFERENCES")
        columns = list(node.expressions)
        name = name or "_".join([definition.name, *_spelled(columns, dialect), "fkey"])
        definition.references.append((name, columns, node.args["reference"]))
    elif isinstance(node, exp.IndexColumnConstraint):
        if str(node.args.get("kind") or "").upper() in ("FULLTEXT", "SPATIAL"):
            raise Unsupported(f"{node.args['kind']} index")
        definition.indexes.append(named_in(node.expressions, dialect))
    else:
        raise Unsupported(f"table constraint {_constraint_name(node)}")
