"""Rules for SELECT, set operations, WITH, aggregates and windows. Does not know writes."""

from __future__ import annotations

from troubadour.hunt.generate.expressions import computed, condition, expression, leaf, literal, where
from troubadour.hunt.generate.grammar import Column, Grammar, Query, Scope
from troubadour.hunt.generate.pieces import EMPTY, Piece, clause, listed, piece
from troubadour.hunt.generate.schemas import Family
from troubadour.hunt.generate.sources import from_clause


def query(
    g: Grammar,
    outer: Scope | None,
    families: list[Family],
    *,
    single: bool = False,
    named: bool = False,
    limited: bool = True,
) -> Query:
    """A query within another: `single` for at most one row (nearly always), `named` for outputs called o0, o1, ...;
    not `limited` where the place takes no LIMIT."""
    g.nesting += 1
    try:
        if not single and g.chance(0.12, "set operation in a subquery"):
            return _set_operation(g, outer, families, named)
        made = (
            _grouped(g, outer, families, named, whole=single) if g.random.random() < (0.5 if single else 0.2) else None
        )
        if made is not None:
            return made
        if not g.careful and outer is not None and g.chance(0.06, "subquery without FROM"):
            return Query(
                piece("SELECT ", _named([leaf(g, f, Scope(outer=outer.enclosing())) for f in families], named)),
                families,
            )
        limit = "one" if single and g.random.random() < 0.95 else "some" if limited and g.random.random() < 0.1 else ""
        return _select(g, outer, families, named, limit)
    finally:
        g.nesting -= 1


def top(g: Grammar) -> Piece:
    """A query as a statement."""
    if g.chance(0.06, "WITH"):
        return _with(g)
    return _body(g)


def _body(g: Grammar) -> Piece:
    r = g.random
    families = [g.pick(g.families) for _ in range(r.randint(1, 3))]
    kind = r.random()
    if kind < 0.11:
        return _ordered(g, _set_operation(g, None, families, False), len(families))
    if kind < 0.38:
        made = _grouped(g, None, families, False, whole=r.random() < 0.4)
        if made is not None:
            ordered = _ordered(g, made, len(families))
            locks = g.chance(0.05, "locking read of groups", "m")
            return piece(ordered, clause(" FOR UPDATE")) if locks else ordered
    if g.chance(0.015, "VALUES", "psd"):
        rows = listed([piece("(", listed(literal(g, f) for f in families), ")") for _ in range(r.randint(1, 3))])
        return _ordered(g, Query(piece("VALUES ", rows), families), len(families))
    return _free_select(g)


def _ordered(g: Grammar, made: Query, width: int) -> Piece:
    """ORDER BY positions and LIMIT after a whole query."""
    r = g.random
    tail: list[Piece] = []
    if r.random() < 0.35:
        keys = [f"{r.randint(1, width)}{_direction(g)}" for _ in range(r.choice((1, 1, 2)))]
        tail.append(clause(" ORDER BY ", listed(keys)))
    if r.random() < 0.12:
        tail.append(_limit(g))
    return piece(made.piece, *tail)


def _direction(g: Grammar) -> str:
    if g.dialect == "mysql":
        return g.pick(("", " DESC", " ASC"))
    return g.pick(("", " DESC", " ASC", " DESC NULLS LAST", " NULLS FIRST", " ASC NULLS LAST"))


def _limit(g: Grammar) -> Piece:
    r = g.random
    if g.chance(0.2, "FETCH FIRST", "p"):
        return clause(f" FETCH FIRST {r.randint(1, 4)} ROWS ONLY")
    if g.chance(0.1, "LIMIT a, b", "ms"):
        return clause(f" LIMIT {r.randint(0, 2)}, {r.randint(0, 4)}")
    return clause(f" LIMIT {r.randint(0, 4)}", clause(f" OFFSET {r.randint(0, 2)}") if r.random() < 0.5 else EMPTY)


# --- SELECT -----------------------------------------------------------------------------------------------------


def _free_select(g: Grammar) -> Piece:
    """A SELECT with everything that only a whole statement may have."""
    r = g.random
    if g.chance(0.03, "SELECT without FROM"):
        return piece("SELECT ", listed(expression(g, g.pick(g.families), Scope(), 2) for _ in range(r.randint(1, 3))))
    text, scope = from_clause(g, None)
    outputs: list[Piece] = []
    mixed = g.letter in "sd" and {"USING", "NATURAL JOIN"} & set(g.features)
    if r.random() < 0.08 and not mixed:
        g.features.append("star")
        outputs.append(piece("*"))
    else:
        outputs = [expression(g, g.pick(g.families), scope, r.choice((0, 1, 2))) for _ in range(r.randint(1, 3))]
        if g.chance(0.14 if g.careful else 0.2, "window function"):
            outputs.append(window(g, scope))
            if not g.careful and g.chance(0.5, "several windows"):
                outputs.append(window(g, scope))
    starred = str(outputs[0]) == "*"
    if not starred and g.chance(0.03, "DISTINCT ON", "pd") and scope.order:
        key = r.choice(scope.columns).name
        order = ", ".join([key, *(n for n in scope.order if n != key)])
        return piece(
            f"SELECT DISTINCT ON ({key}) ", listed(outputs), " FROM ", text, where(g, scope), f" ORDER BY {order}"
        )
    distinct = not starred and g.chance(0.12, "DISTINCT")
    head = piece(
        "SELECT ", clause("DISTINCT ") if distinct else EMPTY, listed(outputs), " FROM ", text, where(g, scope)
    )
    tail: list[Piece] = []
    if not g.careful and not distinct and g.chance(0.05, "QUALIFY", "d"):
        tail.append(clause(" QUALIFY ", window(g, scope), " = 1"))
    keyed = r.random() < 0.35
    if keyed:
        tail.append(clause(" ORDER BY ", listed(_keys(g, scope, len(outputs), distinct, starred))))
    if r.random() < 0.15:
        tail.append(_limit(g))
    elif keyed and g.chance(0.08, "WITH TIES", "p"):
        tail.append(piece(f" FETCH FIRST {r.randint(1, 3)} ROWS WITH TIES"))
    may_lock = not distinct or g.dialect == "mysql"
    if may_lock and "left join" not in g.features and g.chance(0.03, "locking read", "pm"):
        tail.append(clause(g.pick((" FOR UPDATE", " FOR SHARE") if g.dialect == "postgres" else (" FOR UPDATE",))))
    return piece(head, *tail)


def _keys(g: Grammar, scope: Scope, width: int, distinct: bool, starred: bool) -> list[str | Piece]:
    keys: list[str | Piece] = []
    for _ in range(g.random.choice((1, 1, 2))):
        direction = _direction(g)
        if distinct or (g.random.random() < 0.5 and not starred):
            keys.append(f"{g.random.randint(1, width)}{direction}")
        elif g.chance(0.2, "ORDER BY expression"):
            keys.append(piece(expression(g, g.pick(g.families), scope, 1), " IS NULL", direction))
        else:
            keys.append(f"{g.pick(scope.columns).name}{direction}")
    return keys


def _named(outputs: list[Piece], named: bool) -> Piece:
    if not named:
        return listed(outputs)
    return Piece(
        tuple(piece(item, f" AS o{i}{', ' if i + 1 < len(outputs) else ''}") for i, item in enumerate(outputs))
    )


def _select(g: Grammar, outer: Scope | None, families: list[Family], named: bool, limit: str) -> Query:
    """A SELECT of given families; with `limit` ordered by all its outputs, so that equal rows alone are tied."""
    r = g.random
    text, scope = from_clause(g, outer)
    outputs = [_output(g, family, scope, named) for family in families]
    distinct = clause("DISTINCT ") if r.random() < 0.1 else EMPTY
    if named and not limit and not g.careful and scope.order and g.chance(0.06, "DISTINCT ON in FROM", "pd"):
        key = r.choice(scope.columns).name
        order = ", ".join([key, *(name for name in scope.order if name != key)])
        head = piece(f"SELECT DISTINCT ON ({key}) ", _named(outputs, named), " FROM ", text, where(g, scope))
        return Query(piece(head, f" ORDER BY {order}"), families)
    tail: list[Piece] = []
    if limit:
        g.features.append("LIMIT in a subquery")
        count = 1 if limit == "one" else r.randint(1, 3)
        keys = ", ".join(f"{i + 1}{_direction(g)}" for i in range(len(outputs)))
        tail.append(piece(f" ORDER BY {keys} LIMIT {count}"))
    made = piece("SELECT ", distinct, _named(outputs, named), " FROM ", text, where(g, scope), *tail)
    return Query(made, families, bool(limit))


def _output(g: Grammar, family: Family, scope: Scope, named: bool) -> Piece:
    """What a SELECT gives out; of one in FROM that may be more than a column."""
    if named and not g.careful:
        if family == "int" and g.chance(0.15, "window given out"):
            return piece(window(g, scope), family=family)
        if g.random.random() < 0.25:
            return computed(g, family, scope)
    return expression(g, family, scope, g.random.choice((0, 0, 1)))


# --- aggregates -------------------------------------------------------------------------------------------------


def aggregate(g: Grammar, family: Family, scope: Scope) -> Piece | None:
    """An aggregate that gives a family, or None."""
    r = g.random
    distinct = "DISTINCT " if r.random() < 0.2 else ""
    made: Piece | None = None
    if family == "int" and r.random() < 0.6:
        if r.random() < 0.35:
            made = piece("COUNT(*)", family="int")
        else:
            argument = expression(g, g.pick(g.families), scope, 1)
            made = piece(f"COUNT({distinct}", argument, ")", family="int")
    elif family == "int" and r.random() < 0.5 and g.dialect in ("postgres", "sqlite", "duckdb"):
        made = piece(f"SUM({distinct}", expression(g, "int", scope, 1), ")", family="int")
    elif family in ("num", "float") and r.random() < 0.6:
        exact = g.dialect in ("postgres", "mysql")
        inner = g.pick([f for f in ("int", family) if f in g.families and (exact or f == family)] or [family])
        argument = expression(g, inner, scope, 1)
        if inner != family and family == "float":
            return None
        made = piece(f"{g.pick(('SUM', 'AVG'))}({distinct}", argument, ")", family=family)
    elif family == "bool":
        if not g.chance(1, "bool_and", "pd"):
            return None
        made = piece(f"{g.pick(('BOOL_AND', 'BOOL_OR'))}(", condition(g, scope, 1), ")", family="bool")
    elif family == "text" and scope.order and g.chance(0.12, "string_agg"):
        item, order = leaf(g, "text", scope), ", ".join(scope.order)
        if g.dialect == "mysql":
            made = piece("GROUP_CONCAT(", item, f" ORDER BY {order} SEPARATOR ',')", family="text")
        elif g.dialect == "sqlite":
            made = piece("GROUP_CONCAT(", item, f", ',' ORDER BY {order})", family="text")
        else:
            made = piece("STRING_AGG(", item, f", ',' ORDER BY {order})", family="text")
    else:
        made = piece(f"{g.pick(('MIN', 'MAX'))}(", expression(g, family, scope, 1), ")", family=family)
    if made is not None and g.chance(0.08, "FILTER", "psd"):
        made = piece(made, clause(" FILTER (WHERE ", condition(g, scope, 1), ")"), family=family)
    return made


def _grouped(g: Grammar, outer: Scope | None, families: list[Family], named: bool, whole: bool) -> Query | None:
    """Aggregates, over the whole or by keys; None where a family cannot be made."""
    r = g.random
    text, scope = from_clause(g, outer)
    keys: list[Piece] = []
    outputs: list[Piece] = []
    for family in families:
        if not whole and (not keys or r.random() < 0.3):
            key = leaf(g, family, scope) if r.random() < 0.8 else expression(g, family, scope, 1)
            if not any(c.name in str(key) for c in scope.columns):
                names = scope.of(family)
                if not names:
                    return None
                key = piece(r.choice(names), family=family)
            keys.append(Piece(key.parts))
            outputs.append(Piece(key.parts))
            continue
        made = aggregate(g, family, scope)
        if made is None:
            return None
        outputs.append(made)
    parts: list[str | Piece] = ["SELECT ", _named(outputs, named), " FROM ", text, where(g, scope)]
    if keys:
        g.features.append("GROUP BY")
        parts += [" GROUP BY ", listed(keys)]
        if g.chance(0.25, "HAVING"):
            counted = aggregate(g, "int", scope) or piece("COUNT(*)")
            parts.append(clause(" HAVING ", counted, f" {g.pick(('>', '=', '<'))} {r.randint(0, 3)}"))
    else:
        g.features.append("aggregate without GROUP BY")
        if not g.careful and g.chance(0.1, "HAVING without GROUP BY"):
            parts.append(clause(f" HAVING COUNT(*) {g.pick(('>', '=', '<'))} {r.randint(0, 3)}"))
    return Query(piece(*parts), families)


# --- windows ----------------------------------------------------------------------------------------------------


def window(g: Grammar, scope: Scope) -> Piece:
    """A window function; where the order of tied rows would matter, the order is total."""
    r = g.random
    partition = clause("PARTITION BY ", g.pick(scope.columns).name, " ") if r.random() < 0.5 else EMPTY
    total = ", ".join(scope.order or ())
    some = f"{g.pick(scope.columns).name}{_direction(g)}"
    kind = r.random()
    if total and kind < 0.3:
        called = g.pick(("ROW_NUMBER()", "NTILE(2)", "ROW_NUMBER()"))
        return piece(f"{called} OVER (", partition, f"ORDER BY {some}, {total})")
    if total and kind < 0.45:
        argument = g.pick(scope.columns).name
        called = g.pick(("LAG({})", "LEAD({})", "FIRST_VALUE({})", "LAST_VALUE({})", "LAG({}, 2)")).format(argument)
        return piece(f"{called} OVER (", partition, f"ORDER BY {total})")
    if kind < 0.65:
        frame = (
            "" if g.careful or not g.chance(0.3, "frame of a rank", "psd") else " ROWS BETWEEN UNBOUNDED PRECEDING AND"
        )
        frame += g.pick((" CURRENT ROW", " UNBOUNDED FOLLOWING")) if frame else ""
        return piece(f"{g.pick(('RANK()', 'DENSE_RANK()'))} OVER (", partition, f"ORDER BY {some}{frame})")
    made: Piece | None
    if not g.careful and g.chance(0.35, "window over a constant"):
        made = _of_one_value(g, Scope())
    elif not g.careful and g.chance(0.15, "window over what may be NULL"):
        made = _of_one_value(g, scope)
    else:
        made = aggregate(g, g.pick([f for f in g.families if f not in ("bool", "text")]), scope)
    text = "COUNT(*)" if made is None or "DISTINCT" in str(made) else str(made)
    order = clause(f"ORDER BY {some}") if r.random() < 0.5 else EMPTY
    if total and g.chance(0.3, "window frame"):
        order = piece(f"ORDER BY {total} ROWS BETWEEN {g.pick(('1 PRECEDING', 'UNBOUNDED PRECEDING'))} AND ")
        order = piece(order, g.pick(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")))
    elif str(order) and g.chance(0.15, "window frame"):
        order = piece(order, f" RANGE BETWEEN {g.pick(('CURRENT ROW', 'UNBOUNDED PRECEDING'))} AND ")
        order = piece(order, g.pick(("CURRENT ROW", "UNBOUNDED FOLLOWING")))
    return piece(f"{text} OVER (", partition, order, ")")


def _of_one_value(g: Grammar, scope: Scope) -> Piece:
    """An aggregate of a function that may give NULL; each pair of them is a construct of its own."""
    word, called = g.pick(("SUM", "AVG", "MIN", "MAX")), g.pick(("NULLIF", "COALESCE", "ABS"))
    g.features.append(f"{word} of {called} over a window")
    items = [expression(g, "int", scope, 1 if scope.columns else 0)]
    items += [] if called == "ABS" else [expression(g, "int", scope, 0)]
    return piece(f"{word}({called}(", listed(items), "))", family="num")


# --- set operations, WITH ---------------------------------------------------------------------------------------


def _member(g: Grammar, outer: Scope | None, families: list[Family], named: bool) -> Piece:
    g.nesting += 1
    try:
        made = _grouped(g, outer, families, named, False) if g.random.random() < 0.2 else None
        return (made or _select(g, outer, families, named, "")).piece
    finally:
        g.nesting -= 1


def _parts(g: Grammar, outer: Scope | None, families: list[Family], named: bool) -> Query:
    """The rows where a predicate holds, where it does not, and where it is unknown: the same FROM each time."""
    text, scope = from_clause(g, outer)
    outputs = [leaf(g, family, scope) for family in families]
    held = condition(g, scope, 1)
    kinds = [piece(held), piece("(NOT ", held, ")"), piece("(", held, " IS NULL)")]
    chosen = g.random.sample(kinds, g.random.choice((2, 3)))
    head = piece("SELECT ", _named(outputs, named), " FROM ", text, " WHERE ")
    return Query(listed([piece(head, kind) for kind in chosen], " UNION ALL "), families)


def _set_operation(g: Grammar, outer: Scope | None, families: list[Family], named: bool) -> Query:
    if not g.careful and g.chance(0.15, "parts of a query"):
        g.nesting += 1
        try:
            return _parts(g, outer, families, named)
        finally:
            g.nesting -= 1
    parts: list[str | Piece] = [_member(g, outer, families, named)]
    words: tuple[str, ...] = ("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
    if g.dialect == "mysql":
        # MariaDB makes a derived table of the others beside a UNION, and such a one sees no enclosing query.
        words = g.pick((("UNION", "UNION ALL"), ("INTERSECT",), ("EXCEPT",)))
    for _ in range(g.random.choice((1, 1, 1, 2))):
        word = g.pick(words)
        if g.letter in "pmd" and word in ("INTERSECT", "EXCEPT") and g.random.random() < 0.3:
            word += " ALL"
        g.features.append(word.lower())
        parts += [f" {word} ", _member(g, outer, families, named)]
    return Query(piece(*parts), families)


def _with(g: Grammar) -> Piece:
    parts: list[str | Piece] = []
    recursive = g.chance(0.25, "WITH RECURSIVE")
    for _ in range(g.random.choice((1, 1, 2))):
        name = g.name("cte")
        if recursive:
            start, end, step = g.random.randint(0, 2), g.random.randint(2, 5), g.random.randint(1, 2)
            word = g.pick(("UNION ALL", "UNION"))
            body = piece(f"SELECT {start} AS n {word} SELECT n + {step} FROM {name} WHERE n < {end}")
            columns, head = [Column("n", "int")], f"{name} (n)"
        else:
            families = [g.pick(g.families) for _ in range(g.random.randint(1, 3))]
            body = g.query(g, None, families, named=True).piece
            columns, head = [Column(f"o{i}", f) for i, f in enumerate(families)], name
        parts.append(piece(f"{', ' if parts else ''}{head} AS (", body, ")"))
        g.ctes.append((name, columns))
    made = _body(g)
    return piece(f"WITH {'RECURSIVE ' if recursive else ''}", *parts, " ", made)
