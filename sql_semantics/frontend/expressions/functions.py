"""Calls of scalar functions: from the parser's forms to names and arguments. Does not compute anything.

Most calls come by name and are looked up in the product's table (`values.functions`); what is here has a syntax of
its own, or a type that its arguments decide together (COALESCE and its kin). Sources: PostgreSQL manual 9.3, 9.4, 9.9,
9.18; MySQL manual 14.5 to 14.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.arrays import bind_array_function
from sql_semantics.frontend.expressions.conversions import as_text
from sql_semantics.frontend.expressions.jsons.functions import bind_json_function
from sql_semantics.frontend.expressions.jsons.operators import told_parts
from sql_semantics.frontend.expressions.jsons.parts import bind_json_writer
from sql_semantics.frontend.expressions.rows import refuse_row
from sql_semantics.frontend.text.intervals import several_fields
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.arithmetic import arithmetic
from sql_semantics.frontend.types.castability import castable
from sql_semantics.frontend.types.coerce import (
    as_value,
    is_loose,
    is_text_literal,
    null,
    settle,
    settle_alone,
    texts_of_enums,
    unify,
    written_moment,
)
from sql_semantics.frontend.types.collation import collated
from sql_semantics.frontend.types.comparison import comparable, plus
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import Binary, Case, Cast, Const, Expr, Function, Param
from sql_semantics.ir.walks.traverse import can_raise
from sql_semantics.records import replace
from sql_semantics.values.functions import rules
from sql_semantics.values.functions.moments.written import read_pattern
from sql_semantics.values.functions.texts.figures import read_figures
from sql_semantics.values.functions.texts.regular import read_regex
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DATETIME_KINDS,
    EXACT_KINDS,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    NUMBER_KINDS,
    TEXT,
    TIMESTAMP,
    Kind,
    SqlType,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

__all__ = ["HANDLERS", "as_text", "by_name", "shifted_date"]


def _coalesce(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expressions")
    items, target = unify([binder.expr(item) for item in (node.this, *node.expressions)], binder.context, "COALESCE")
    return Function("coalesce", tuple(items), target)


def _extreme(binder: Binder, node: Node) -> Expr:
    # `ignore_nulls` restates the dialect's rule.
    only(node, "this", "expressions", "ignore_nulls")
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    bound = [binder.expr(item) for item in (node.this, *node.expressions)]
    items, target = unify(bound, binder.context, name.upper())
    items = collated(items, binder.context)
    if target.kind is Kind.TEXT:
        target = replace(target, collation=items[0].type.collation)
    dialect, rules = binder.context.dialect.name, binder.context.dialect.rules
    if target.kind in (Kind.BOOLEAN, Kind.JSON, Kind.UUID, Kind.BYTES, Kind.ARRAY, Kind.JSONB):
        raise Unsupported(f"{name.upper()} of {target}")
    kinds = {BIGINT.kind if item.type.kind in INTEGER_KINDS else item.type.kind for item in items if item != null()}
    several = len(kinds) > 1 or not kinds <= {Kind.BIGINT, Kind.TEXT, Kind.DOUBLE}
    if rules.types.values_have_classes and several:  # which of equal ones is taken shows
        raise Unsupported(f"{name.upper()} of values of several types in {dialect}")
    if rules.types.null_operand == "double" and null() in bound:
        raise Unsupported(f"{name.upper()} with a bare NULL in {dialect}")
    if rules.expressions.extremes_need_two and len(items) < 2:
        raise SqlError("42000", f"incorrect parameter count in the call to {name}")
    return Function(name, tuple(items), target)


def _nullif(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    context, rule = binder.context, binder.context.dialect.rules.expressions.nullif
    first, second = binder.value(node.this), binder.value(node.expression)
    if rule == "text literals" and first == null():
        if can_raise(second):
            raise Unsupported(f"NULLIF of NULL and what may fail in {context.dialect.name}")
        return first  # of no type yet
    if rule == "text literals" and is_text_literal(first):
        first = settle(first, TEXT, context)
    if rule == "text literals of texts" and is_text_literal(first):
        if not is_text_literal(second) and second.type.kind is not Kind.TEXT:
            raise Unsupported("NULLIF of a text literal and another type")
        first = settle(first, TEXT, context)
    elif rule == "text literals of texts" and is_loose(first) and first != null() and second.type.kind is not Kind.TEXT:
        raise Unsupported("NULLIF of a parameter and another type")
    if is_loose(first) and second.type.kind is Kind.COMPOSITE:
        raise Unsupported("NULLIF of an untyped value and a row")  # a record
    if context.dialect.types_by_value and is_loose(first) and first != null():
        first = settle_alone(first, context)
    if context.dialect.types_by_value:
        left, right = comparable(plus(first), plus(second), context, "=")  # without affinity
    else:
        left, right = comparable(first, second, context, "=")
    if is_loose(first) or rule == "as compared":
        # PostgreSQL 9.18.3: the type of the first argument as the implied = takes it
        first = first if _compares_directly(first, left) else left
    (first,) = texts_of_enums([first], context, "operator NULLIF")
    return Case(((Binary("=", left, right, BOOLEAN), Const(None, first.type)),), first, first.type)


def _compares_directly(first: Expr, left: Expr) -> bool:
    """PostgreSQL has operators across these kinds, which leave their operands as they are."""
    kinds = {first.type.kind, left.type.kind}
    return kinds <= INTEGER_KINDS or kinds <= FLOAT_KINDS or kinds <= DATETIME_KINDS


def _concat(binder: Binder, node: Node) -> Expr:
    """Adjacent string literals, and the items of GROUP_CONCAT, which the parser reads as CONCAT."""
    only(node, "expressions", "safe", "coalesce")
    literals = all(isinstance(item, exp.Literal) and item.is_string for item in node.expressions)
    if not literals or "safe" in node.args:  # 'a' 'b' is one literal in several parts
        arguments = [_displayed(binder.value(item), binder) for item in node.expressions]
        return call_function("concat", arguments, binder.context)
    return Const("".join(str(item.this) for item in node.expressions), SqlType(Kind.NULL))


def _substring(binder: Binder, node: Node) -> Expr:
    only(node, "this", "start", "length")
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    if parts[1] is None and parts[2] is not None:
        parts[1] = exp.Literal.number(1)  # FOR without FROM
    if parts[1] is None:
        raise Unsupported("substring() without a position")
    return call_function("substring", [binder.value(part) for part in parts if part is not None], binder.context)


def _trim(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression", "position")
    side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
    return call_function(side, [binder.value(part) for part in parts], binder.context)


def _position(binder: Binder, node: Node) -> Expr:
    only(node, "this", "substr")
    if not binder.context.dialect.rules.expressions.has_position:
        raise Unsupported(f"function position() in {binder.context.dialect.name}")
    return call_function("position", [binder.value(node.args["substr"]), binder.value(node.this)], binder.context)


def _extract(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    field = node.this
    if not isinstance(field, (exp.Var, exp.Literal)):
        raise Unsupported("EXTRACT of a computed field")
    _check_unit(str(field.this), binder)
    source = _moment(binder.value(node.expression), binder)
    dialect = binder.context.dialect
    of_date = source.type.kind is Kind.TIME and str(field.this).lower() not in _CLOCK
    if dialect.rules.expressions.times_lack_dates and of_date:
        raise Unsupported(f"EXTRACT({str(field.this).upper()}) of a TIME in {dialect.name}")
    return call_function("extract", [Const(str(field.this).lower(), TEXT), source], binder.context)


_CLOCK = frozenset({"microsecond", "second", "minute", "hour"})


def _check_unit(unit: str, binder: Binder) -> None:
    """Raises Unsupported for what the product does not know as a unit of time."""
    units = binder.context.dialect.rules.expressions.time_units
    if units is not None and unit.lower() not in units:
        raise Unsupported(f"the unit {unit.upper()} in {binder.context.dialect.name}")


def _moment(bound: Expr, binder: Binder) -> Expr:
    """MySQL: a string literal where a date is expected, as the DATE or DATETIME that it looks like."""
    dialect = binder.context.dialect
    if dialect.rules.expressions.texts_become_moments and is_text_literal(bound) and isinstance(bound, Const):
        if "." in str(bound.value):
            raise Unsupported(f"a text with fractions of a second as a date in {dialect.name}")
        target = TIMESTAMP if ":" in str(bound.value) else DATE
        return settle(bound, target, binder.context)
    return bound


def _day_of_number(bound: Expr, binder: Binder) -> Expr:
    """An integer of 8 or 14 digits as the day, or the day and the time, that it is."""
    text = written_moment(bound, TIMESTAMP)
    return (
        bound if text is None else settle(Const(text, null().type), TIMESTAMP if ":" in text else DATE, binder.context)
    )


def _interval_parts(node: Node, binder: Binder) -> tuple[Expr, str]:
    """The number and the unit of MySQL's ``INTERVAL n unit``."""
    only(node, "this", "unit")
    unit = node.args.get("unit")
    if not isinstance(unit, exp.Var):
        raise Unsupported("INTERVAL with several fields")
    given = node.this
    if "_" in str(unit.this):
        if not isinstance(given, exp.Literal):
            raise Unsupported("INTERVAL with several fields that is no literal")
        number, name = several_fields(str(given.this), str(unit.this))
        return Const(number, BIGINT), name
    if isinstance(given, exp.Literal) and given.is_string:
        text = str(given.this).strip()
        if not text.lstrip("+-").isdigit():
            raise Unsupported(f"INTERVAL of {text!r}")
        return Const(int(text), INT), str(unit.this).lower()
    count = settle_alone(binder.value(given), binder.context)
    if count.type.kind not in INTEGER_KINDS:
        raise Unsupported(f"INTERVAL of {count.type}")
    return count, str(unit.this).lower()


def shifted_date(binder: Binder, node: Node) -> Expr:
    """MySQL's ``date + INTERVAL n unit`` and ``date - INTERVAL n unit``."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Interval):
        # Whatever follows the + belongs to the sum there, comparisons included.
        raise Unsupported("INTERVAL before a +")
    if not isinstance(right, exp.Interval) or not isinstance(node, (exp.Add, exp.Sub)):
        raise Unsupported("INTERVAL with another operator than + and -")
    return _shifted("date_add" if isinstance(node, exp.Add) else "date_sub", left, right, binder)


def _shifted(name: str, date: Node, interval: Node, binder: Binder) -> Expr:
    bound = binder.value(date)
    if bound == null():
        return Const(None, TEXT)  # MySQL 14.7: a string, as for any argument that is no date
    moment = _moment(bound, binder)
    if moment.type.kind not in DATETIME_KINDS:
        raise Unsupported(f"date arithmetic on {moment.type}")
    count, unit = _interval_parts(interval, binder)
    result = call_function(name, [moment, Const(unit, TEXT), count], binder.context)
    return Cast(result, TEXT) if is_text_literal(bound) else result


def _with_unit(name: str, arguments: list[Node], binder: Binder) -> Expr | None:
    """MySQL's functions with a unit; None for others."""
    if name in ("date_add", "date_sub", "adddate", "subdate"):
        if len(arguments) != 2 or not isinstance(arguments[1], exp.Interval):
            raise Unsupported(f"{name}() without INTERVAL")
        return _shifted("date_add" if "add" in name else "date_sub", arguments[0], arguments[1], binder)
    if name == "timestampdiff" and len(arguments) == 3:
        unit = arguments[0]
        if not isinstance(unit, (exp.Column, exp.Var)):
            raise Unsupported("timestampdiff() with a computed unit")
        _check_unit(unit.name, binder)
        moments = [_moment(binder.value(item), binder) for item in arguments[1:]]
        return call_function(name, [Const(unit.name.lower(), TEXT), *moments], binder.context)
    return None


def by_name(binder: Binder, node: Node) -> Expr:
    """A call that the parser left as it is written. Raises Unsupported for a function that is not modelled."""
    only(node, "this", "expressions")
    name, dialect = str(node.this).lower(), binder.context.dialect
    own_rules, types = dialect.rules.expressions, dialect.rules.types
    if isinstance(node.this, exp.Identifier):
        raise unsupported(node)
    arguments = _own_arguments(binder, name, list(node.expressions))
    untyped = name in _OF_CLOCKS and any(isinstance(item, _UNTYPED) for item in arguments)
    if own_rules.texts_become_moments and untyped:
        raise Unsupported(f"{name}() of an untyped text in {dialect.name}")  # one without a clock is read as one
    if any(isinstance(item, (exp.Star, exp.Distinct, exp.Kwarg, exp.PropertyEQ, exp.Order)) for item in arguments):
        raise unsupported(node)
    named = own_rules.types_as_functions.get(name)
    if named is not None and len(arguments) == 1:
        kind = exp.DataType.build(named, dialect="postgres")
        return binder.expr(exp.Cast(this=arguments[0].copy(), to=kind))
    own = (
        bind_array_function(binder, name, arguments)
        or bind_json_function(binder, name, arguments)
        or bind_json_writer(binder, name, arguments)
        or _named_constant(binder, name, arguments)
    )
    if own is not None:
        return own
    if name not in rules(dialect) and name not in _BOUND_BY_NAME:
        raise unsupported(node)
    if name in _OF_NO_ROW and any(rule.slots_for(len(arguments)) for rule in rules(dialect).get(name, ())):
        refuse_row(binder, arguments)
    if own_rules.interval_is_syntax:
        found = _with_unit(name, arguments, binder)
        if found is not None:
            return found
    if not own_rules.trims_characters and name in ("trim", "ltrim", "rtrim") and len(arguments) != 1:
        raise SqlError("42000", f"incorrect parameter count in the call to {name}")
    bound = _bound(name, arguments, binder)
    if name == "field":
        bound, _ = unify(bound, binder.context, "operator field")
    if name == "mod" and own_rules.mod_is_remainder and len(bound) == 2:
        return arithmetic("%", bound[0], bound[1], binder.context)
    if name in own_rules.keyworded_functions:
        raise Unsupported(f"{name}() without its keywords")
    if name == "to_char" and bound:
        _check_written(bound)
    if name == "timezone" and len(bound) == 2:
        return in_zone(bound[0], bound[1], binder)
    separator = bound[0] if name == "concat_ws" and own_rules.separators_are_texts and bound else None
    if separator is not None and not is_loose(separator) and separator.type.kind is not Kind.TEXT:
        if types.mismatch_is_error:
            raise SqlError("42883", f"function concat_ws({separator.type}, ...) does not exist")
        raise Unsupported(f"concat_ws() with a separator of type {separator.type}")
    bound = _as_shown(name, bound, binder)
    if name in ("quote_literal", "quote_nullable"):
        bound = [as_text(settle(item, TEXT, binder.context)) for item in bound]
    bound = told_parts(name, bound, binder.context)
    return call_function(name, bound, binder.context)


def _as_shown(name: str, bound: list[Expr], binder: Binder) -> list[Expr]:
    """The arguments, those as texts that the function takes as they are shown, whatever they are."""
    first, rules = len(bound), binder.context.dialect.rules
    if name in ("concat", "concat_ws"):
        first = 0
    elif name == "format" and not (rules.values.affinities or rules.expressions.formats_numbers):  # SQLite: printf()
        first = 1  # what is before is a text itself
    return [*bound[:first], *(_displayed(item, binder) for item in bound[first:])]


def _check_written(bound: list[Expr]) -> None:
    """to_char() of numbers has patterns of its own. Raises Unsupported for what is not modelled."""
    kind = bound[0].type.kind
    if is_loose(bound[0]) or kind not in (*EXACT_KINDS, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        raise Unsupported("to_char() of other than a date, a timestamp or an exact number")
    if len(bound) == 2 and isinstance(bound[1], Const) and isinstance(bound[1].value, str):
        with suppress(SqlError):  # raised for each row, if there is one
            (read_figures if kind in EXACT_KINDS else read_pattern)(bound[1].value)


def _bound(name: str, arguments: list[Node], binder: Binder) -> list[Expr]:
    """The arguments; texts and numbers of MySQL's that stand for days as these."""
    bound = [binder.value(item) for item in arguments]
    moments = len(bound) if name in _OF_DATES else int(name == "date_format")
    bound[:moments] = [_moment(item, binder) for item in bound[:moments]]
    if not binder.context.dialect.rules.expressions.texts_become_moments or name in _OF_CLOCKS:
        return bound
    days = len(bound) if name == "datediff" else int(name in _OF_DATES | _OF_WEEKS)
    bound[:days] = [_day_of_number(item, binder) for item in bound[:days]]
    return bound


def _named_constant(binder: Binder, name: str, arguments: list[Node]) -> Expr | None:
    """NAME_CONST is its value, a literal."""
    if name != "name_const" or name not in rules(binder.context.dialect):
        return None
    if len(arguments) != 2 or not isinstance(arguments[0], exp.Literal):
        raise Unsupported("name_const() of other than a name and a literal")
    given = arguments[1].this if isinstance(arguments[1], exp.Neg) else arguments[1]
    texts = isinstance(given, exp.Concat)  # which two literals side by side are, too
    if isinstance(given, exp.Func | exp.Column) and not (texts or isinstance(given, exp.Cast | exp.Collate)):
        raise SqlError("HY000", "incorrect arguments to NAME_CONST")
    signed = given is not arguments[1] and (not isinstance(given, exp.Literal) or given.is_string)
    if signed or not isinstance(given, exp.Literal | exp.Null):
        raise Unsupported("name_const() of other than a name and a literal")
    return binder.expr(arguments[1])


def _own_arguments(binder: Binder, name: str, arguments: list[Node]) -> list[Node]:
    """The arguments without one that says what is so in any case: FORMAT's English. Raises Unsupported for others."""
    formats = name == "format" and binder.context.dialect.rules.expressions.formats_numbers
    if not formats or len(arguments) != 3:
        return arguments
    if arguments[2].name.lower() != "en_us":
        raise Unsupported("function format()")
    return arguments[:2]


_BOUND_BY_NAME = frozenset({"date_add", "date_sub", "adddate", "subdate", "timestampdiff", "mod"})
"""Calls that need no rule in a table."""
_OF_DATES = frozenset(
    {
        *("datediff", "date", "last_day", "dayofweek", "weekday", "year", "month", "day", "dayofmonth", "quarter"),
        *("dayofyear", "hour", "minute", "second", "dayname", "monthname", "to_days"),
    }
)


_OF_WEEKS = frozenset({"week", "yearweek"})
_OF_CLOCKS = frozenset({"hour", "minute", "second"})
_UNTYPED = (exp.Literal, exp.Placeholder)

_OF_NO_ROW = frozenset(
    {
        *("ascii", "bit_count", "char_length", "character_length", "crc32", "date_format", "datediff", "find_in_set"),
        *("day", "dayofmonth", "dayofyear", "from_days", "hour", "last_day", "makedate", "maketime", "minute"),
        *("inet_aton", "instr", "json_depth", "json_length", "length", "locate", "octet_length", "pow", "power"),
        *("quarter", "replace", "sec_to_time", "second", "sign", "sqrt", "strcmp", "to_days", "truncate"),
        *("week", "year", "yearweek"),
    }
)
"""Functions of which MariaDB calls the type of a row illegal; others have an error of their own (tried on 10.11)."""


def _displayed(item: Expr, binder: Binder) -> Expr:
    """An argument of CONCAT as text: numbers, dates and truth values too (PostgreSQL writes these t and f)."""
    if is_loose(item):
        return settle(item, TEXT, binder.context) if not hasattr(item, "key") else settle_alone(item, binder.context)
    if item.type.kind is Kind.TEXT:
        return item
    if item.type.kind is Kind.BOOLEAN and binder.context.dialect.rules.expressions.booleans_shown_by_letter:
        words = ((Binary("=", item, Const(True, BOOLEAN), BOOLEAN), Const("t", TEXT)),)
        return Case(
            (*words, (Binary("=", item, Const(False, BOOLEAN), BOOLEAN), Const("f", TEXT))), Const(None, TEXT), TEXT
        )
    if item.type.kind is Kind.BYTES or not castable(item.type, TEXT, binder.context.dialect.rules.types):
        raise Unsupported(f"concat() of {item.type}")
    return Cast(item, TEXT)


_BITS: Mapping[type[Node], str] = {
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "xor",
    exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}  # fmt: skip


def _bits(binder: Binder, node: Node) -> Expr:
    """Bit operators: products and the parser rank them differently, so their operands need parentheses."""
    only(node, "this", "expression")
    for side in (node.this, node.expression):
        if isinstance(side, exp.Binary) and not isinstance(side, exp.Dot):
            raise Unsupported("a bit operator on an operation without parentheses")
    given = [as_value(binder.expr(side), binder.context) for side in (node.this, node.expression)]
    dialect = binder.context.dialect
    if dialect.rules.types.null_operand == "double" and null() in given:
        raise Unsupported(f"operator {_BITS[type(node)]} with a bare NULL in {dialect.name}")
    if any(item.type.kind not in NUMBER_KINDS and not is_loose(item) for item in given):
        raise Unsupported(f"operator {_BITS[type(node)]} on {given[0].type} and {given[1].type}")
    return call_function(_BITS[type(node)], given, binder.context, operator=True)


def _regex(binder: Binder, node: Node) -> Expr:
    """PostgreSQL's ``~`` and ``~*``, which bind closer than comparisons and looser than arithmetic."""
    only(node, "this", "expression")
    context = binder.context
    by_collation = context.dialect.rules.expressions.regex_by_collation
    if not context.dialect.rules.expressions.has_regex_operators:
        raise unsupported(node)
    sides = (node.this, node.expression)
    if any(isinstance(side, (exp.Binary, exp.Unary)) and not isinstance(side, (exp.Paren, exp.Dot)) for side in sides):
        raise Unsupported("a regular expression beside an operation without parentheses")
    ignore_case = isinstance(node, exp.RegexpILike)
    given = [as_value(binder.expr(side), context) for side in sides]
    if not isinstance(given[0], Param) and not isinstance(given[1], Param):
        given = [settle(item, TEXT, context) if is_loose(item) else item for item in given]
    if any(item.type.padded or (item.type.kind is not Kind.TEXT and not is_loose(item)) for item in given):
        raise Unsupported(f"a regular expression on {given[0].type} and {given[1].type}")
    if isinstance(given[1], Const) and isinstance(given[1].value, str):
        read_regex(given[1].value, ignore_case)
    if by_collation:
        given = [settle(item, TEXT, context) if is_loose(item) else item for item in given]
        return Binary("=", call_function("regexp", given, context), Const(1, INT), BOOLEAN)
    return call_function("~*" if ignore_case else "~", given, context, operator=True)


def _bit_not(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    if isinstance(node.this, exp.Binary):
        raise Unsupported("a bit operator on an operation without parentheses")
    operand = as_value(binder.typed(node.this), binder.context)
    if operand.type.kind not in NUMBER_KINDS:
        raise Unsupported(f"operator ~ on {operand.type}")
    return call_function("~", [operand], binder.context)


def _xor(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    sides = (binder.condition(node.this), binder.condition(node.expression))
    if not binder.context.dialect.rules.expressions.has_xor:
        raise unsupported(node)
    return Function("xor", sides, BOOLEAN)


def _power(binder: Binder, node: Node) -> Expr:
    """PostgreSQL's and DuckDB's ``^`` (the function comes by name)."""
    only(node, "this", "expression")
    sides = (node.this, node.expression)
    if any(isinstance(side, (exp.Binary, exp.Unary)) and not isinstance(side, exp.Paren) for side in sides):
        raise Unsupported("operator ^ on an operation without parentheses")
    return call_function("power", [binder.value(side) for side in sides], binder.context)


def _at_time_zone(binder: Binder, node: Node) -> Expr:
    """``moment AT TIME ZONE zone``, which is timezone(zone, moment)."""
    only(node, "this", "zone")
    moment = node.this
    if not binder.context.dialect.rules.expressions.has_time_zones:
        raise unsupported(node)
    if isinstance(moment, (exp.Binary, exp.Unary)) and not isinstance(moment, (exp.Paren, exp.Dot, exp.Column)):
        raise Unsupported("AT TIME ZONE behind an operation without parentheses")
    return in_zone(binder.value(node.args["zone"]), binder.value(moment), binder)


def in_zone(zone: Expr, moment: Expr, binder: Binder) -> Expr:
    """A moment in a zone. Raises Unsupported for a moment of no type, and for a time without a date."""
    if not is_loose(zone) and zone.type.kind is not Kind.TEXT:
        raise Unsupported(f"AT TIME ZONE with a zone of type {zone.type}")
    if is_loose(moment) or moment.type.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        raise Unsupported(f"AT TIME ZONE of {moment.type}")
    return call_function("timezone", [zone, moment], binder.context)


def _date(binder: Binder, node: Node) -> Expr:
    """``date(moment)``, where it is the cast."""
    only(node, "this")
    if "date" not in binder.context.dialect.rules.expressions.types_as_functions:
        raise unsupported(node)
    return binder.expr(exp.Cast(this=node.this.copy(), to=exp.DataType.build("date")))


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Date: _date,
    exp.Coalesce: _coalesce,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Nullif: _nullif,
    exp.Concat: _concat,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Extract: _extract,
    exp.BitwiseNot: _bit_not,
    exp.Xor: _xor,
    exp.RegexpLike: _regex,
    exp.RegexpILike: _regex,
    exp.Pow: _power,
    exp.AtTimeZone: _at_time_zone,
    **dict.fromkeys(_BITS, _bits),
}
