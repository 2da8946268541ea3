"""Rules for expressions and predicates. Of queries they know only that one may stand within."""

from __future__ import annotations

from functools import partial

from troubadour.hunt.generate.grammar import Grammar, Scope
from troubadour.hunt.generate.pieces import Piece, clause, listed, piece
from troubadour.hunt.generate.schemas import Family

_DOUBLE = {"sqlite": "REAL", "mysql": "DOUBLE"}


_BYTES = {
    "postgres": ("CAST('\\x6162' AS bytea)", "CAST('ab' AS bytea)", "CAST('' AS bytea)"),
    "mysql": ("X'6162'", "X'00ff'", "X'61'"),
    "sqlite": ("X'6162'", "X'00ff'", "X''"),
    "duckdb": ("CAST('\\x61\\x62' AS blob)", "CAST('ab' AS blob)", "CAST('' AS blob)"),
}


def literal(g: Grammar, family: Family) -> Piece:
    """A literal of a family."""
    r = g.random
    if r.random() < 0.05:
        return piece("NULL", family=family)
    return piece(_literal(g, family), family=family)


def _literal(g: Grammar, family: Family) -> str:
    r = g.random
    match family:
        case "small":
            return str(r.randint(0, 4))
        case "int":
            return str(r.choice((0, 1, 2, 3, 5, -1, 7, 10, r.randint(-50, 50), 2147483647)))
        case "num":
            return r.choice(("0.5", "1.0", "2.25", "-1.5", "100.00", "0.001", "3", "12345.678"))
        case "text":
            return r.choice(("''", "'a'", "'b'", "'ab'", "'abc'", "'B'", "'z9'", "'abcdefgh'"))
        case "bool":
            return r.choice(("TRUE", "FALSE"))
        case "date":
            return r.choice(("DATE '2020-01-01'", "DATE '2020-02-28'", "DATE '2021-12-15'"))
        case "ts":
            return r.choice(("TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2020-02-28 13:30:00'"))
        case "bytes":
            return r.choice(_BYTES[g.dialect])
        case "uuid":
            return f"CAST('00000000-0000-0000-0000-00000000000{r.randint(0, 3)}' AS uuid)"
        case "json":
            return r.choice(("CAST('{}' AS json)", "CAST('[1, 2]' AS json)", "CAST('null' AS json)"))
    number = r.choice(("1.5", "0", "-3", "0.1"))
    if g.dialect == "mysql":
        return r.choice(("1.5e0", "0e0", "-3e0", "1e-1"))
    return f"CAST({number} AS {_DOUBLE.get(g.dialect, 'double precision')})"


def expression(g: Grammar, family: Family, scope: Scope, depth: int) -> Piece:
    """An expression of a family over the columns in scope."""
    r = g.random
    if family == "small":
        return piece(_literal(g, "small"), family=family)
    if depth <= 0 or r.random() < 0.25:
        return leaf(g, family, scope)
    if family == "bool" and r.random() < 0.8:
        return condition(g, scope, depth - 1)
    if g.nesting < 2 and g.chance(0.05, "scalar subquery"):
        return _scalar(g, family, scope)
    if r.random() < 0.15:
        return _conditional(g, family, scope, depth - 1)
    return operation(g, family, scope, depth - 1)


def leaf(g: Grammar, family: Family, scope: Scope) -> Piece:
    """A column, perhaps of the enclosing query, or a literal."""
    r = g.random
    columns = scope.of(family)
    outer = [c.name for c in scope.outer if c.family == family]
    if outer and g.chance(0.25 if g.careful else 0.45, "correlation"):
        return piece(r.choice(outer), family=family)
    if columns and r.random() < 0.8:
        return piece(r.choice(columns), family=family)
    return literal(g, family)


def operation(g: Grammar, family: Family, scope: Scope, depth: int) -> Piece:
    """An operator or function applied."""
    choices = g.operations.get(family)
    if not choices:
        return leaf(g, family, scope)
    chosen = g.random.choices([o for _, o in choices], [w for w, _ in choices])[0]
    texts = chosen.template.split("{}")
    parts: list[str | Piece] = [texts[0]]
    for operand, text in zip(chosen.operands, texts[1:], strict=True):
        parts += [expression(g, operand, scope, depth), text]
    word = chosen.template.replace("{}", "_").replace(" ", "")
    g.features.append(f"op {chosen.result} {word}")
    return piece(*parts, family=family)


def _conditional(g: Grammar, family: Family, scope: Scope, depth: int) -> Piece:
    kind = g.random.random()
    first, second = expression(g, family, scope, depth), expression(g, family, scope, depth)
    if kind < 0.35:
        return piece("CASE WHEN ", condition(g, scope, depth), " THEN ", first, " ELSE ", second, " END", family=family)
    if kind < 0.45:
        tested = expression(g, "int", scope, 0)
        value = literal(g, "int")
        end = clause(" ELSE ", second)
        return piece("CASE ", tested, " WHEN ", value, " THEN ", first, end, " END", family=family)
    if kind < 0.8:
        return piece("COALESCE(", first, ", ", second, ")", family=family)
    return piece("NULLIF(", first, ", ", second, ")", family=family)


def _scalar(g: Grammar, family: Family, scope: Scope) -> Piece:
    query = g.query(g, scope, [family], single=True)
    return piece("(", query.piece, ")", family=family)


COMPARED = ("=", "=", "=", "<>", "<", "<=", ">", ">=")


def condition(g: Grammar, scope: Scope, depth: int) -> Piece:
    """A predicate."""
    r = g.random
    kind = r.random()
    if depth > 0 and kind < 0.4:
        return operation(g, "bool", scope, depth - 1)
    if g.nesting < 2 and kind < 0.5:
        made = _with_subquery(g, scope)
        if made is not None:
            return made
    family = r.choice(g.families)
    left = expression(g, family, scope, min(depth, 1))
    if kind < 0.58:
        return piece("(", left, " IS ", r.choice(("", "NOT ")), "NULL)", family="bool")
    if kind < 0.66:
        items = listed(literal(g, family) for _ in range(r.randint(1, 3)))
        return piece("(", left, r.choice((" ", " NOT ")), "IN (", items, "))", family="bool")
    if kind < 0.71 and family != "bool":
        bound = literal if g.careful or r.random() < 0.6 else partial(leaf, scope=scope)
        low, high = bound(g, family), bound(g, family)
        return piece("(", left, r.choice((" ", " NOT ")), "BETWEEN ", low, " AND ", high, ")", family="bool")
    right = expression(g, family, scope, min(depth, 1))
    if kind < 0.76:
        return piece("(", left, _distinct(g), right, ")", family="bool")
    return piece("(", left, f" {r.choice(COMPARED)} ", right, ")", family="bool")


def _distinct(g: Grammar) -> str:
    if g.dialect == "mysql":
        return " <=> "
    if g.dialect == "sqlite":
        return g.pick((" IS ", " IS NOT "))
    return g.pick((" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "))


def _with_subquery(g: Grammar, scope: Scope) -> Piece | None:
    family = g.pick([f for f in g.families if f != "bool"])
    limited = g.dialect != "mysql"
    if g.chance(0.4, "IN subquery"):
        query = g.query(g, scope, [family], limited=limited)
        left = leaf(g, family, scope)
        return piece("(", left, g.pick((" ", " NOT ")), "IN (", query.piece, "))", family="bool")
    if g.chance(0.5, "EXISTS"):
        query = g.query(g, scope, [family], limited=limited)
        return piece("(", g.pick(("", "NOT ")), "EXISTS (", query.piece, "))", family="bool")
    if g.chance(0.4, "quantified comparison", "pmd"):
        query = g.query(g, scope, [family], limited=limited)
        head = f" {g.pick(COMPARED)} {g.pick(('ANY', 'ALL'))} ("
        return piece("(", leaf(g, family, scope), head, query.piece, "))", family="bool")
    if g.chance(0.3, "row IN subquery"):
        query = g.query(g, scope, ["int", family], limited=limited)
        pair = ("((", leaf(g, "int", scope), ", ", leaf(g, family, scope), ")", g.pick((" ", " NOT ")), "IN (")
        return piece(*pair, query.piece, "))", family="bool")
    return None


def computed(g: Grammar, family: Family, scope: Scope) -> Piece:
    """What a query within gives out that is more than a column: a predicate that has a query of its own, or a query."""
    if g.nesting < 2 and family == "bool" and g.chance(0.6, "predicate given out"):
        made = _with_subquery(g, scope)
        if made is not None:
            return made
    if g.nesting < 2 and g.chance(0.3, "query given out"):
        return _scalar(g, family, scope)
    return expression(g, family, scope, 1)


def where(g: Grammar, scope: Scope) -> Piece:
    """A WHERE clause or nothing; often an equality that an index can serve."""
    r = g.random
    given = [] if g.careful else [c.name for c in scope.columns if c.family == "bool" and ".o" in c.name]
    if given and r.random() < 0.3:
        return clause(" WHERE ", r.choice(given))
    kind = r.random()
    if kind < 0.15 or not scope.columns:
        return clause(" WHERE ", condition(g, scope, 1)) if kind < 0.03 else Piece(())
    column = r.choice(scope.columns)
    equality = piece(column.name, " = ", literal(g, column.family), family="bool")
    if kind < 0.4:
        return clause(" WHERE ", equality)
    if kind < 0.55:
        return clause(" WHERE ", listed([equality, condition(g, scope, 1)], " AND "))
    return clause(" WHERE ", condition(g, scope, 2))
