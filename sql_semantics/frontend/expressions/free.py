"""Functions whose value the DBMS chooses: sequences, identifiers, random numbers.

Sources: PostgreSQL manual 9.17 (sequences), 9.14 (UUID), 9.3 (random); MySQL manual 14.15 (LAST_INSERT_ID). What is
volatile has a new value per call, so it is taken only where the number of calls does not matter. Does not know values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.schemas import in_schema
from sql_semantics.frontend.text.syntax import Node, name_of, only, unsupported
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import Cast, Expr, Free
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BIGINT, DOUBLE, INT, TEXT, Kind, SqlType

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_VOLATILE_CLAUSES = frozenset({"VALUES", "UPDATE", "RETURNING", "DEFAULT", "SELECT", "SET", "an assignment"})
_STABLE_CLAUSES = _VOLATILE_CLAUSES | {"WHERE", "JOIN/ON", "HAVING", "ON CONFLICT DO UPDATE"}


def sequence_name(text: str, dialect: Dialect) -> str:
    """A sequence as it is compared, folded unless quoted, behind its schema if that is not the first of the search
    path. Raises Unsupported for one of a further schema of it, which may stand without."""
    *schema, last = text.strip().rsplit(".", 1)
    if schema and "." not in schema[0] and schema[0].strip('"').lower() not in ("public", "main"):
        named = sequence_name(schema[0], dialect)
        if named in dialect.search_path[1:]:
            raise Unsupported(f"a sequence of the schema {schema[0]}")
        if named != dialect.home_schema:
            return in_schema(named, sequence_name(last, dialect))
    if last[:1] == '"' and last[-1:] == '"' and len(last) > 1:
        return last[1:-1].replace('""', '"')
    return last.lower()


def is_random(node: Node) -> bool:
    """Whether it is a call of the product's random numbers that tells nothing of which."""
    return isinstance(node, exp.Rand) and not any(node.args.values())


def _sequence(binder: Binder, node: Node) -> str:
    argument = _plain(node.expressions[0])
    if isinstance(argument, exp.Anonymous) and str(argument.this).lower() == "pg_get_serial_sequence":
        return _of_column(binder, argument)
    if not isinstance(argument, exp.Literal) or not argument.is_string:
        raise Unsupported(f"{str(node.this).lower()}() of a computed name")
    return sequence_name(str(argument.this), binder.context.dialect)


def _plain(argument: Node) -> Node:
    """The name of a sequence without casts, parentheses and queries around it that do not change it."""
    while True:
        if isinstance(argument, exp.Cast) and isinstance(argument.args["to"], exp.ObjectIdentifier):
            only(argument, "this", "to")
        elif isinstance(argument, exp.Select) and len(argument.expressions) == 1:
            only(argument, "expressions")
            argument = argument.expressions[0]
            continue
        elif not isinstance(argument, exp.Paren | exp.Subquery) or argument.args.get("alias") is not None:
            return argument
        argument = argument.this


def _of_column(binder: Binder, node: Node) -> str:
    """The sequence that ``pg_get_serial_sequence('table', 'column')`` names: the one of the column's default."""
    names = [str(item.this) for item in node.expressions if isinstance(item, exp.Literal) and item.is_string]
    given, context = len(names) == len(node.expressions) == 2, binder.context
    table = context.catalog.tables.get(sequence_name(names[0], context.dialect)) if given else None
    for column in () if table is None else table.columns:
        default = column.default
        while isinstance(default, Cast):
            default = default.operand
        if column.name == names[1] and isinstance(default, Free) and default.source == "nextval":
            return default.name
    raise Unsupported("nextval() of a computed name")


def _nextval(binder: Binder, node: Node) -> Free:
    return _free(binder, "nextval", _sequence(binder, node), volatile=True)


def _currval(binder: Binder, node: Node) -> Free:
    return _free(binder, "currval", _sequence(binder, node), volatile=_moves(binder))


def _moves(binder: Binder) -> bool:
    """Whether the last value may change while the statement runs."""
    return binder.clause != "SELECT"


def _lastval(binder: Binder, node: Node) -> Free:
    return _free(binder, "lastval", "", volatile=_moves(binder))


def _last_insert_id(binder: Binder, node: Node) -> Free:
    return _free(binder, "last_insert_id", "", volatile=False)


def _last_insert_rowid(binder: Binder, node: Node) -> Free:
    """The name says where each table has the number of its rows, as `chosen.last_rowid` reads it."""
    if binder.clause not in ("SELECT", "WHERE", "UPDATE"):
        raise Unsupported(f"function last_insert_rowid() in {binder.clause}")
    places = {
        table.name: next((place for place, column in enumerate(table.columns) if column.identity == "null"), None)
        for table in binder.context.catalog.tables.values()
    }
    return Free(LAST_ROWID, "\n".join(f"{name}={place}" for name, place in places.items() if place is not None), BIGINT)


LAST_ROWID = "last_insert_rowid"


def _free(binder: Binder, source: str, name: str, *, volatile: bool) -> Free:
    allowed = _VOLATILE_CLAUSES if volatile else _STABLE_CLAUSES
    if binder.clause not in allowed:
        raise Unsupported(f"function {source}() in {binder.clause}")
    return Free(source, name, BIGINT)


def _random(binder: Binder, node: Node) -> Free:
    only(node)
    if binder.clause not in _VOLATILE_CLAUSES or binder.inside_aggregate:
        raise Unsupported(f"function random() in {binder.clause}")
    return Free("random", "", BIGINT if binder.context.dialect.rules.expressions.random_integers else DOUBLE)


def _counted(binder: Binder, node: Node) -> Free:
    """FOUND_ROWS() and ROW_COUNT(), which tell of the statement before: any number, as far as is known here."""
    if binder.clause not in _VOLATILE_CLAUSES or binder.inside_aggregate:
        raise Unsupported(f"{name_of(node)} in {binder.clause}")
    return Free("random", "", BIGINT)


def _moment(source: str, kind: Kind, precision: int | None = None) -> Callable[[Binder, Node], Expr]:
    """A function without arguments (but for a precision) that tells the time."""

    def bind(binder: Binder, node: Node) -> Free:
        given = node.expressions[0] if isinstance(node, exp.Anonymous) and node.expressions else node.args.get("this")
        digits = precision
        if isinstance(node, exp.Anonymous):
            only(node, "this", "expressions")
            given = node.expressions[0] if node.expressions else None
        else:
            only(node, "this", "sysdate")
        if given is not None:
            if not isinstance(given, exp.Literal) or given.is_string or not str(given.this).isdigit():
                raise Unsupported(f"{name_of(node)} of a computed precision")
            digits = int(str(given.this))
            if digits > 6 or kind is Kind.DATE:
                raise Unsupported(f"{name_of(node)} with {digits} digits")
        volatile = source == "clock"
        if binder.clause not in (_VOLATILE_CLAUSES if volatile else _STABLE_CLAUSES) or binder.inside_aggregate:
            raise Unsupported(f"{name_of(node)} in {binder.clause}")
        if binder.context.dialect.rules.expressions.moments_are_texts:
            return Free("statement_time", kind.value, TEXT)
        return Free(source, "", SqlType(kind, precision=digits))

    return bind


def _by_dialect(found: Mapping[str, Callable[[Binder, Node], Expr]]) -> Callable[[Binder, Node], Expr]:
    def bind(binder: Binder, node: Node) -> Expr:
        handler = found.get(binder.context.dialect.name)
        if handler is None:
            raise unsupported(node)
        return handler(binder, node)

    return bind


def _uuid(binder: Binder, node: Node) -> Free:
    only(node, "is_string")
    if binder.clause not in _VOLATILE_CLAUSES or binder.inside_aggregate:
        raise Unsupported(f"{name_of(node)} in {binder.clause}")
    return Free("uuid", "", TEXT if binder.context.dialect.rules.expressions.uuids_are_texts else SqlType(Kind.UUID))


def _environment(name: str, type: SqlType) -> Callable[[Binder, Node], Expr]:
    """What the server or the session is called: one value for the whole transaction."""

    def bind(binder: Binder, node: Node) -> Free:
        only(node, "this", "expressions") if isinstance(node, exp.Anonymous) else only(node)
        if binder.clause not in _STABLE_CLAUSES or binder.inside_aggregate:
            raise Unsupported(f"function {name}() in {binder.clause}")
        return Free("now", name, type)

    return bind


def _current(kind: str, place: int = 0) -> Callable[[Binder, Node], Expr | None]:
    """SQLite's ``datetime('now')`` and its kin, the same as CURRENT_TIMESTAMP, with what is counted from there; None
    for another moment. `place`: which argument is the moment."""

    def bind(binder: Binder, node: Node) -> Expr | None:
        given = node.expressions
        now, more = given[place : place + 1], given[place + 1 :]
        if not now or not isinstance(now[0], exp.Literal) or str(now[0].this).lower() != "now":
            return None
        if binder.clause not in _STABLE_CLAUSES or binder.inside_aggregate:
            raise Unsupported(f"{name_of(node)} of the moment in {binder.clause}")
        if not more and not place:
            return Free("statement_time", kind, TEXT)
        if not all(isinstance(item, exp.Literal) and _COUNTED.fullmatch(str(item.this).lower()) for item in more):
            raise Unsupported(f"{name_of(node)} of the moment with such a modifier")
        moment = Free("statement_time", Kind.TIMESTAMP.value, TEXT)
        first, rest = map(binder.value, given[:place]), map(binder.value, more)
        return call_function(str(node.this).lower(), [*first, moment, *rest], binder.context)

    return bind


_COUNTED = pattern(r"[+-]?\d+ (second|minute|hour|day|month|year)s?|start of (day|month|year)", re.ASCII)


def _registered_now(binder: Binder, node: Node) -> Free:
    """``now()``, which SQLite has not: an application that registers it has it tell some moment, as a text, each time
    anew."""
    upserts = binder.clause == "ON CONFLICT DO UPDATE"
    if (binder.clause not in _VOLATILE_CLAUSES and not upserts) or binder.inside_aggregate:
        raise Unsupported(f"{name_of(node)} in {binder.clause}")
    return Free("statement_time" if upserts else "clock", Kind.TIMESTAMP.value, TEXT)


_NOW = _moment("now", Kind.TIMESTAMPTZ)
_MYSQL_NOW = _moment("execution_time", Kind.TIMESTAMP, 0)
_MOMENTS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.CurrentTimestamp: _by_dialect(
        {"postgres": _NOW, "mysql": _MYSQL_NOW, "sqlite": _moment("statement_time", Kind.TIMESTAMP)}
    ),
    exp.Localtimestamp: _by_dialect({"postgres": _moment("now", Kind.TIMESTAMP), "mysql": _MYSQL_NOW}),
    exp.CurrentDate: _by_dialect(
        {
            "postgres": _moment("now", Kind.DATE),
            "mysql": _moment("execution_time", Kind.DATE),
            "sqlite": _moment("statement_time", Kind.DATE),
        }
    ),
    exp.CurrentTime: _by_dialect(
        {"mysql": _moment("execution_time", Kind.TIME, 0), "sqlite": _moment("statement_time", Kind.TIME)}
    ),
    exp.Localtime: _by_dialect({"postgres": _moment("now", Kind.TIME), "mysql": _MYSQL_NOW}),
    exp.CurrentUser: _by_dialect({"postgres": _environment("current_user", TEXT)}),
    exp.SessionUser: _by_dialect({"postgres": _environment("session_user", TEXT)}),
    exp.CurrentVersion: _by_dialect({"postgres": _environment("version", TEXT)}),
    exp.CurrentDatabase: _by_dialect({"postgres": _environment("current_database", TEXT)}),
    exp.CurrentSchema: _by_dialect({"postgres": _environment("current_schema", TEXT)}),
    exp.Uuid: _by_dialect({"postgres": _uuid, "duckdb": _uuid, "mysql": _uuid}),
}

_NAMED: Mapping[str, Mapping[str, tuple[int | None, Callable[[Binder, Node], Expr | None]]]] = {
    "postgres": {
        "nextval": (1, _nextval),
        "currval": (1, _currval),
        "lastval": (0, _lastval),
        "now": (0, _NOW),
        "transaction_timestamp": (0, _NOW),
        "statement_timestamp": (0, _moment("statement_time", Kind.TIMESTAMPTZ)),
        "clock_timestamp": (0, _moment("clock", Kind.TIMESTAMPTZ)),
        "pg_backend_pid": (0, _environment("pg_backend_pid", INT)),
        "txid_current": (0, _environment("txid_current", BIGINT)),
    },
    "duckdb": {"nextval": (1, _nextval), "currval": (1, _currval)},
    "mysql": {
        "last_insert_id": (0, _last_insert_id),
        "found_rows": (0, _counted),
        "row_count": (0, _counted),
        "now": (None, _MYSQL_NOW),
        "sysdate": (None, _moment("clock", Kind.TIMESTAMP, 0)),
    },
    "sqlite": {
        "now": (0, _registered_now),
        "last_insert_rowid": (0, _last_insert_rowid),
        "datetime": (None, _current("timestamp")),
        "date": (None, _current("date")),
        "time": (None, _current("time")),
        "strftime": (None, _current("", 1)),
    },
}
"""Per dialect: functions that the parser knows by name only, with their number of arguments (None: up to one)."""

HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {exp.Rand: _random, **_MOMENTS}


def bind_named(binder: Binder, node: Node) -> Expr | None:
    """The free value that a function of this name gives; None for another function."""
    known = _NAMED[binder.context.dialect.name].get(str(node.this).lower())
    if known is None:
        return None
    only(node, "this", "expressions")
    if known[0] is not None and len(node.expressions) != known[0]:
        raise Unsupported(f"{name_of(node)} with {len(node.expressions)} arguments")
    return known[1](binder, node)
