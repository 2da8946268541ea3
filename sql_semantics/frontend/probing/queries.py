"""Queries that ask of the session or the system catalog, as statements whose answer is not judged. Does not know which
queries these are: see `frontend.probes`."""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.probes import probe_of, settings_given
from sql_semantics.frontend.text.syntax import Node, parse_one
from sql_semantics.frontend.types.coerce import settle
from sql_semantics.ir.expressions import Const, Expr, Function
from sql_semantics.ir.statements import NoEffect
from sql_semantics.values.types import BOOLEAN, TEXT


def bind_query_probe(text: str, context: Context) -> NoEffect | None:
    """The statement, None for a query that is no probe. Raises Unsupported for one that changes what is modelled."""
    probe = probe_of(text, context.catalog, context.dialect)
    if probe is None or probe.kind not in ("session", "catalog"):
        return None
    tree = parse_one(text, context.dialect.name, spelling=False)
    for node in tree.find_all(exp.Placeholder):
        context.parameters.mention(str(node.this or "?"), context.dialect)
    binder = Binder(context, Scope(), "SELECT")
    checks: list[Expr] = []
    for name, value in settings_given(tree):
        if _is_itself(name, value):
            continue
        given = settle(binder.value(value), TEXT, context)
        checks.append(Function("kept setting", (Const(name, TEXT), given), BOOLEAN))
    return NoEffect(probe.what, probe.kind, opaque=True, checks=tuple(checks))


def _is_itself(name: str, value: Node) -> bool:
    """Whether a setting is given the value that it has."""
    asked = isinstance(value, exp.Anonymous) and value.name.lower() == "current_setting" and value.expressions
    first = value.expressions[0] if asked else None
    return isinstance(first, exp.Literal) and str(first.this).lower() == name.lower()
