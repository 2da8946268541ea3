"""Values of columns that are not modelled: what may be stored in them without being understood.

A column of an unmodelled type takes literals and parameters as they are written. One of whose values nothing is known
takes anything, as long as its evaluation changes nothing. What is left out is noted with the statement. Does not know
which columns these are.
"""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import UnmodelledValue, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.builtins import is_builtin
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.types.coerce import assign, settle
from sql_semantics.ir.expressions import Case, Const, Expr, IsNull
from sql_semantics.ir.schema import TableColumn
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded
from sql_semantics.values.opaque import UNSEEN, Opaque
from sql_semantics.values.types import TEXT, UNMODELLED_KINDS, Kind, SqlType


def stored_value(node: Node, column: TableColumn, binder: Binder) -> Expr:
    """What a column is given. Raises UnmodelledValue where nothing but this value is not modelled."""
    context, what = binder.context, f"column {column.name!r}"
    kind = column.type.kind
    typed = len(context.parameters.types)
    try:
        if kind not in UNMODELLED_KINDS:
            return assign(binder.value(node), column.type, context, what)
        if kind is Kind.OPAQUE:
            given = _other_array(node, column)
            if given is not None:
                return _unseen(binder.shown(given), column, context)
            return assign(binder.shown(_without_cast(node, column, context)), column.type, context, what)
    except Unsupported as error:
        if not is_harmless(node, context):
            raise
        if kind is not Kind.OPAQUE or not column.not_null:
            raise UnmodelledValue(error.construct, column.name) from error
        construct = error.construct
    else:
        if not is_harmless(node, context):
            raise Unsupported(f"a call in a value of {column.type}")
        construct = column.type.name
    while len(context.parameters.types) > typed:  # the first context wins, so that others were only added
        context.parameters.types.popitem()
    _mention(node, context)
    context.parameters.left_out.append(construct)
    if kind is Kind.OPAQUE:
        return Const(Opaque(UNSEEN, column.type.spelled), column.type)
    return Const(None, column.type)


def shown_value(node: Node, binder: Binder, stored: bool) -> Expr:
    """An item of a select list or of RETURNING. One that is not modelled, and changes neither rows nor how many there
    are, may be anything: it is left out of what is judged, and the rest of the statement is not. `stored`: what is
    shown goes into columns."""
    context = binder.context
    typed = len(context.parameters.types)
    left_out = len(context.parameters.left_out)
    try:
        return binder.shown(node)
    except Unsupported as error:
        inside = context.level or context.compound or stored or binder.clause not in ("SELECT", "RETURNING")
        if inside or not binder.scope.tables or not _is_scalar(node, context) or not is_harmless(node, context):
            raise
        if not all(_is_known(column, binder) for column in node.find_all(exp.Column)):
            raise  # it may be a call of a function by the name of a column
        construct = error.construct
    del context.parameters.left_out[left_out:]
    while len(context.parameters.types) > typed:
        context.parameters.types.popitem()
    _mention(node, context)
    context.parameters.unshown.append(construct)
    if _asks_only(node):
        return Const(None, SqlType(Kind.UNKNOWN))  # as where nothing else is asked for
    context.parameters.left_out.append(construct)
    return Const(None, SqlType(Kind.UNKNOWN, name=construct))


def _asks_only(node: Node) -> bool:
    """Whether an expression hangs on settings of the session alone (PostgreSQL 9.28.1)."""
    called = [call for call in node.find_all(exp.Func) if not isinstance(call, exp.Nullif | exp.Coalesce | exp.Cast)]
    asked = all(isinstance(call, exp.Anonymous) and call.name.lower() == "current_setting" for call in called)
    return bool(called) and asked and node.find(exp.Column) is None


def _is_known(column: exp.Column, binder: Binder) -> bool:
    try:
        binder.shown(column)
    except Unsupported:
        return False
    return True


def _is_scalar(node: Node, context: Context) -> bool:
    """Whether an expression gives one value for each row, and calls nothing that does more than to give one."""
    if not context.dialect.rules.queries.opaque_outputs:
        return False
    if node.find(
        exp.AggFunc, exp.Window, exp.Explode, exp.Unnest, exp.Query, exp.Star, exp.SessionParameter, exp.Parameter
    ):
        return False
    for call in node.find_all(exp.Func):
        names = {call.name.lower()} if isinstance(call, exp.Anonymous) else {name.lower() for name in call.sql_names()}
        if any(name in _NOT_SCALAR or _DOES_MORE.match(name) for name in names):
            return False
        may_be_registered = context.dialect.rules.definitions.registered_functions and isinstance(call, exp.Anonymous)
        if may_be_registered and not names <= _SCALAR:
            return False  # an aggregate, perhaps
        plain = isinstance(call, exp.Binary | exp.Connector | exp.Case | exp.Cast | exp.TryCast | exp.SubqueryPredicate)
        if not plain and not any(is_builtin(name, context.dialect) for name in names):
            return False  # an aggregate, perhaps
    return True


_DOES_MORE = pattern(
    r"pg_|lo_|dblink|set_?config|setval|nextval|currval|lastval|last_insert|txid_|ts_(stat|rewrite|parse|token|debug)|load_"
    r"|\w*xml|regr_|stddev|var_|covar_|percentile_|json\w*_agg|json_\w*agg|json_group_|jsonb?_(array_elements|each|object_keys|"
    r"populate_recordset|to_record|path_query)|regexp_(matches|split_to_table)|generate_|range_\w*agg|bit_(and|or|xor)\Z"
)
_NOT_SCALAR = frozenset(
    {
        *("any_value", "array_agg", "avg", "bool_and", "bool_or", "corr", "count", "every", "group_concat", "grouping"),
        *("max", "min", "mode", "std", "string_agg", "sum", "total", "variance", "cume_dist", "dense_rank", "lag"),
        *("first_value", "last_value", "lead", "nth_value", "ntile", "percent_rank", "rank", "row_number"),
        *("string_to_table", "unnest", "aclexplode", "changes", "total_changes"),
    }
)
"""Aggregates, window functions, and functions that give several rows, as PostgreSQL, MySQL and SQLite have them."""
_SCALAR = frozenset(
    {
        *(
            "abs",
            "char",
            "coalesce",
            "concat",
            "concat_ws",
            "format",
            "glob",
            "hex",
            "ifnull",
            "iif",
            "instr",
            "length",
        ),
        *("like", "likelihood", "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "random"),
        *("randomblob", "replace", "round", "rtrim", "sign", "soundex", "sqlite_source_id", "sqlite_version", "substr"),
        *("substring", "trim", "typeof", "unhex", "unicode", "unlikely", "upper", "zeroblob"),
        *("date", "datetime", "julianday", "strftime", "time", "timediff", "unixepoch"),
        *("json", "json_array", "json_array_length", "json_extract", "json_insert", "json_object", "json_patch"),
        *("json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_type", "json_valid", "jsonb"),
    }
)
"""SQLite's own functions that give a value for each row (its manual, "Built-In Scalar SQL Functions", "Date And Time
Functions", "JSON Functions"): one of another name may be an aggregate that the application registered."""


def is_harmless(node: Node, context: Context) -> bool:
    """Whether evaluating an expression changes nothing, whatever its value: it calls the product's own functions only.
    Never in a routine, which is bound once for all statements."""
    if context.in_procedure or context.variables:
        return False
    if node.find(exp.DML) is not None:
        return False
    return all(_is_own(call, context) for call in node.find_all(exp.Func))


def _is_own(call: exp.Func, context: Context) -> bool:
    if isinstance(call, exp.Binary | exp.Connector | exp.Case | exp.Cast | exp.TryCast | exp.SubqueryPredicate):
        return True
    dialect = context.dialect
    spelled = {call.name} if isinstance(call, exp.Anonymous) else call.sql_names()
    names = {folded(name, dialect) for name in spelled}
    if names & (set(context.catalog.procedures) | set(context.catalog.refused)):
        return False
    return dialect.rules.definitions.registered_functions or any(is_builtin(name, dialect) for name in names)


def opaque_name(node: exp.DataType, dialect: Dialect) -> str:
    """What a type is called that is not modelled."""
    return f"type {node.sql(dialect=dialect.name).upper()}"


def _without_cast(node: Node, column: TableColumn, context: Context) -> Node:
    """The value inside a cast to the column's own type, or to one by way of which it means the same."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if not isinstance(inner, exp.Cast) or isinstance(inner, exp.TryCast):
        return inner
    given = opaque_name(inner.to, context.dialect)
    same = given == column.type.name or (given, column.type.name) in _BY_WAY
    return _without_cast(inner.this, column, context) if same else inner


def _other_array(node: Node, column: TableColumn) -> Node | None:
    """The parameter or literal that is cast to an array of other items than the column's."""
    if not isinstance(node, exp.Cast) or isinstance(node, exp.TryCast) or not column.type.name.endswith("[]"):
        return None
    array = node.to.this == exp.DataType.Type.ARRAY
    return node.this if array and isinstance(node.this, exp.Placeholder | exp.Literal) else None


def _unseen(given: Expr, column: TableColumn, context: Context) -> Expr:
    """A value of which nothing is known but whether it is NULL."""
    text = settle(given, TEXT, context)
    missing = IsNull(text, False)
    return Case(
        ((missing, Const(None, column.type)),), Const(Opaque(UNSEEN, column.type.spelled), column.type), column.type
    )


_BY_WAY = frozenset({("type JSON", "type JSONB")})
"""Casts of a text that leave it as it is, until the column's own type reads it (PostgreSQL 8.14)."""


def _mention(node: Node, context: Context) -> None:
    """The parameters that stand in what is left out are mentioned all the same."""
    for place in node.find_all(exp.Placeholder):
        name = str(place.this or "?")
        if context.parameters.items(name) is None:
            context.parameters.mention(name, context.dialect)
