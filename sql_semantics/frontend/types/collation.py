"""The collation by which texts compare: that of the columns in them, or of the connection (MySQL 10.8.4, MariaDB
"Setting Character Sets and Collations").

Only MySQL and MariaDB have several here. Does not know what a collation says of two texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Function,
    Invoke,
    Outer,
    Param,
    ScalarQuery,
    Variable,
)
from sql_semantics.ir.queries import Query, Select, SetOperation
from sql_semantics.records import replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Kind

COLLATE = "with collation"
"""The function that a text under another collation is: its value is the text."""

_TEXTS = frozenset({Kind.TEXT, Kind.ENUM})
_UNCOLLATED = "texts of no column, which compare by another collation"
_SEVERAL = "texts of several collations"
_UNKNOWN = "?"
_EXPLICIT, _IMPLICIT, _COERCIBLE, _NONE = 0, 2, 4, 5
"""How much a collation counts, less where the number is greater (COERCIBILITY of MariaDB 10.11)."""

Derived = tuple[int, str]
"""How much the collation of an expression counts, and its name; "" for the log's."""

_OF_CONNECTION = frozenset(
    {
        "bin",
        "conv",
        "date_format",
        "dayname",
        "format",
        "from_unixtime",
        "hex",
        "md5",
        "monthname",
        "oct",
        "old_password",
        "password",
        "sha1",
        "sha2",
    }
)
"""Functions whose texts are as literals are, whatever they are given (MariaDB 10.11)."""
_OF_CODE_POINTS = frozenset({"json_quote", "json_unquote"})
COMPARING = frozenset({"field", "find_in_set", "instr", "locate", "position", "regexp", "strcmp"})
"""Functions that compare the texts that they are given."""
_OF_ARGUMENTS = frozenset(
    {"coalesce", "concat", "concat_ws", "elt", "greatest", "if", "ifnull", "insert", "lcase", "least", "left", "lower"}
    | {"lpad", "ltrim", "mid", "nullif", "quote", "repeat", "replace", "reverse", "right", "rpad", "rtrim", "substr"}
    | {"substring", "substring_index", "trim", "ucase", "upper"}
)


def derived(expr: Expr, dialect: Dialect) -> Derived:
    """The collation of an expression. Raises Unsupported where several of them meet."""
    if expr.type.kind not in _TEXTS:
        return _NONE, ""
    if isinstance(expr, Function) and expr.name == COLLATE:
        return _EXPLICIT, expr.type.collation
    literal = _COERCIBLE, of_literals(dialect)
    if isinstance(expr, Const | Param):
        return literal
    if expr.type.collation and not isinstance(expr, Binary | Case | Function):
        return _IMPLICIT, expr.type.collation
    match expr:
        case Column() | Outer():
            return _IMPLICIT, ""
        case Variable() | Invoke():
            return _IMPLICIT, _UNKNOWN if of_literals(dialect) else ""
        case Cast(operand) if operand.type.kind is Kind.JSON:
            return _IMPLICIT, _UNKNOWN  # that of the texts of which it was made
        case Cast(operand):
            found = derived(operand, dialect)
            return literal if found[0] == _NONE else found
        case Case(whens, otherwise):
            results = [derived(part, dialect) for part in (*(result for _, result in whens), otherwise)]
            return _joined([literal, *results], dialect)
        case Binary("||", left, right):
            return _joined([literal, derived(left, dialect), derived(right, dialect)], dialect)
        case ScalarQuery(query):
            return _shown(query, 0, dialect)
        case Function(name, arguments):
            if name in _OF_CONNECTION:
                return literal
            if name in _OF_CODE_POINTS:
                return _COERCIBLE, "utf8mb4_bin"
            given = _joined([literal, *(derived(part, dialect) for part in arguments)], dialect)
            known = name in _OF_ARGUMENTS or given[0] > _IMPLICIT or not given[1]
            return given if known else (_IMPLICIT, _UNKNOWN)
    return literal


def _joined(found: Sequence[Derived], dialect: Dialect) -> Derived:
    """The collation of several texts together."""
    most = min((strength for strength, _ in found), default=_NONE)
    names = {_full(name, dialect) for strength, name in found if strength == most}
    if most == _NONE:
        return _NONE, ""
    if len(names) == 1:
        return next(one for one in found if one[0] == most)
    if most == _COERCIBLE and _UNKNOWN in names:
        return most, _UNKNOWN
    if any(not name for strength, name in found if strength == most):
        raise Unsupported(_SEVERAL)  # a column of the log's own may be made of a literal
    by_code_points = [name for name in names if name.endswith("_bin")]
    alike = len({name.partition("_")[0] for name in names}) == 1
    if most == _EXPLICIT or len(by_code_points) != 1 or not alike:
        raise Unsupported(_SEVERAL)  # an error, if they are compared
    return most, by_code_points[0]


def _full(name: str, dialect: Dialect) -> str:
    return name or (dialect.collation or _UNKNOWN).lower()


def _shown(query: Query, place: int, dialect: Dialect) -> Derived:
    """The collation of a query's column."""
    if isinstance(query, SetOperation):
        return _joined([_shown(query.left, place, dialect), _shown(query.right, place, dialect)], dialect)
    shown = query.outputs[place].expression
    return derived(shown, dialect) if isinstance(query, Select) else (_IMPLICIT, shown.type.collation or _UNKNOWN)


def collated(items: Sequence[Expr], context: Context) -> list[Expr]:
    """Texts that are compared with one another, of the collation that they are compared by. Raises Unsupported where
    that is not known, or the product refuses it."""
    dialect = context.dialect
    if not dialect.rules.definitions.table_collations or all(item.type.kind is not Kind.TEXT for item in items):
        return list(items)
    strength, name = _joined([derived(item, dialect) for item in items], dialect)
    if strength == _NONE:
        return list(items)
    return [_named(item, name) if item.type.kind is Kind.TEXT else item for item in items]


def jointly(given: Sequence[Expr], compared: Sequence[Expr], context: Context) -> list[Expr]:
    """Operands of comparisons, of the collation that all that is `given` has together."""
    dialect = context.dialect
    if not dialect.rules.definitions.table_collations:
        return list(compared)
    strength, name = _joined([derived(item, dialect) for item in given], dialect)
    if strength > _IMPLICIT:
        return list(compared)
    return [_named(item, name) if item.type.kind is Kind.TEXT else item for item in compared]


def collated_columns(
    queries: tuple[Query, Query], items: tuple[Sequence[Expr], Sequence[Expr]], context: Context
) -> tuple[list[Expr], list[Expr]]:
    """The columns of a set operation's two queries, converted, of the collation that they have together."""
    left, right = map(list, items)
    if not context.dialect.rules.definitions.table_collations:
        return left, right
    for place, item in enumerate(left):
        if item.type.kind is Kind.TEXT:
            _, name = _joined([_shown(query, place, context.dialect) for query in queries], context.dialect)
            left[place], right[place] = _named(item, name), _named(right[place], name)
    return left, right


def beside_column(
    operand: Expr, query: Query, place: int, compared: tuple[Expr, Expr], context: Context
) -> tuple[Expr, Expr]:
    """An operand and a column of a query that it is compared with, of the collation that they have together."""
    if not context.dialect.rules.definitions.table_collations or compared[0].type.kind is not Kind.TEXT:
        return compared
    dialect = context.dialect
    strength, name = _joined([derived(operand, dialect), _shown(query, place, dialect)], dialect)
    return compared if strength > _IMPLICIT else (_named(compared[0], name), _named(compared[1], name))


def of_literals(dialect: Dialect) -> str:
    """The collation of texts of no column; "" where they compare as the log's do."""
    named = replace(dialect, collation=dialect.literals)
    return "" if dialect.literals is None or text_rule(named) is text_rule(dialect) else dialect.literals.lower()


def of_connection(dialect: Dialect) -> str:
    """The collation of what is cast to a text."""
    return (dialect.literals or dialect.collation or _UNKNOWN).lower()


def with_collation(expr: Expr, dialect: Dialect) -> Expr:
    """An expression whose type tells its collation, where that is another than the log's."""
    if not dialect.rules.definitions.table_collations or expr.type.kind is not Kind.TEXT or expr.type.collation:
        return expr
    if not isinstance(expr, Binary | Case | Cast | Function | ScalarQuery):
        return expr
    strength, name = derived(expr, dialect)
    return _named(expr, name) if strength < _NONE and name else expr


def _named(expr: Expr, name: str) -> Expr:
    return expr if expr.type.collation == name else replace(expr, type=replace(expr.type, collation=name))


def is_collated(expr: Expr, dialect: Dialect) -> bool:
    """Whether a column gives it a collation."""
    return derived(expr, dialect)[0] <= _IMPLICIT


def refuse_uncollated(items: Iterable[Expr], context: Context) -> None:
    """Raises Unsupported for texts of routines that are told apart or sorted, where it is not known how."""
    if not of_literals(context.dialect):
        return
    for item in items:
        if derived(item, context.dialect)[1] == _UNKNOWN and not item.type.collation:
            raise Unsupported(_UNCOLLATED)


def _of_one_case(item: Expr) -> bool:
    """Whether equal texts of it are written alike, whatever a collation makes equal: dates and numbers."""
    if isinstance(item, Cast):
        return item.operand.type.kind is not Kind.TEXT
    return isinstance(item, Function) and item.name == "date_format"


def refuse_uncollated_query(query: Query, context: Context) -> None:
    """Raises Unsupported for texts of a query, to be compared as its columns, that are of no column themselves and
    compare otherwise than the log's."""
    dialect = context.dialect
    if not dialect.rules.definitions.table_collations:
        return
    for place, output in enumerate(query.outputs):
        if output.expression.type.kind is not Kind.TEXT:
            continue
        strength, name = _shown(query, place, dialect)
        if strength > _IMPLICIT and name and not _of_one_case(output.expression):
            raise Unsupported(_UNCOLLATED)
