"""Rules for FROM: tables, views, derived tables, joins of all kinds. Knows no clause after it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.expressions import condition
from tests.differential.grammar import Column, Grammar, Scope
from tests.differential.pieces import Piece, piece


@dataclass(slots=True)
class Source:
    """One item of FROM, its alias, its columns by bare name, and those that order its rows totally."""

    piece: Piece
    alias: str
    columns: list[Column]
    order: list[str] | None
    merged: frozenset[str] = frozenset()

    def qualified(self) -> list[Column]:
        """The columns as they are written elsewhere in the query."""
        return [Column(f"{self.alias}.{c.name}", c.family) for c in self.columns]


def source(g: Grammar, outer: Scope | None) -> Source:
    """A table, a view, a common table expression or a derived table, with an alias."""
    if g.ctes and g.random.random() < 0.6:
        name, columns = g.pick(g.ctes)
        alias = g.name("w")
        return Source(piece(f"{name} AS {alias}"), alias, columns, None)
    if g.nesting < 2 and g.chance(0.12, "derived table"):
        return _derived(g)
    if g.nesting < 2 and g.chance(0.03, "VALUES in FROM", "pd"):
        alias = g.name("v")
        rows = g.pick(("(1, 'a'), (2, 'b')", "(1, NULL), (3, 'ab'), (3, 'ab')", "(0, '')"))
        columns = [Column("a", "int"), Column("b", "text")]
        return Source(piece(f"(VALUES {rows}) AS {alias} (a, b)"), alias, columns, None)
    table = g.pick(g.readable)
    if table not in g.tables:
        g.features.append("view")
    alias = g.name("t")
    columns = [Column(c.name, c.family) for c in table.columns]
    return Source(piece(f"{table.name} AS {alias}"), alias, columns, ["k"] if table.key else None)


def _derived(g: Grammar) -> Source:
    families = [g.pick(g.families) for _ in range(g.random.randint(1, 3))]
    query = g.query(g, None, families, named=True)
    alias = g.name("d")
    columns = [Column(f"o{i}", family) for i, family in enumerate(families)]
    return Source(piece("(", query.piece, f") AS {alias}"), alias, columns, None)


def from_clause(g: Grammar, outer: Scope | None) -> tuple[Piece, Scope]:
    """FROM and what it puts in scope."""
    first = source(g, outer)
    text, sources = first.piece, [first]
    left_only = False
    for _ in range(g.random.choices((0, 1, 2), (58, 34, 8))[0]):
        text, known = _joined(g, text, sources, outer)
        left_only = left_only or not known
    scope = Scope([c for s in sources for c in s.qualified()], _outer(outer))
    if all(s.order is not None for s in sources) and not left_only:
        scope.order = [f"{s.alias}.{name}" for s in sources for name in s.order or ()]
    return text, scope


def _outer(outer: Scope | None) -> list[Column]:
    return outer.enclosing() if outer is not None else []


def _joined(g: Grammar, text: Piece, sources: list[Source], outer: Scope | None) -> tuple[Piece, bool]:
    """One more source; False where the other one's columns may all be NULL in several rows."""
    right = source(g, outer)
    r = g.random
    kind = r.random()
    if kind < 0.10:
        sources.append(right)
        g.features.append("cross join")
        return piece(text, " CROSS JOIN ", right.piece), True
    kinds, products = g.pick(
        (
            ("JOIN", "pmsd"),
            ("JOIN", "pmsd"),
            ("LEFT JOIN", "pmsd"),
            ("LEFT JOIN", "pmsd"),
            ("RIGHT JOIN", "pmsd"),
            ("FULL JOIN", "psd"),
        )
    )
    word = kinds if g.letter in products else "LEFT JOIN"
    if g.dialect == "sqlite" and len(sources) > 1 and word in ("RIGHT JOIN", "FULL JOIN"):
        word = "LEFT JOIN"  # SQLite makes a WHERE of a constant in the ON of an inner join before a RIGHT or FULL one
    g.features.append(word.lower())
    shared = _shared(sources[-1], right)
    if len(sources) == 1 and shared and g.chance(0.15, "USING"):
        chosen = g.pick(sorted(shared))
        sources.append(right)
        return piece(text, f" {word} ", right.piece, f" USING ({chosen})"), True
    if len(sources) == 1 and shared and shared == _common(sources[0], right) and g.chance(0.12, "NATURAL JOIN"):
        sources.append(right)
        return piece(text, f" NATURAL {word} ", right.piece), True
    sources.append(right)
    # MariaDB goes wrong where an ON within a subquery reads the query around it
    scope = Scope([c for s in sources for c in s.qualified()], _outer(None if g.dialect == "mysql" else outer))
    on = condition(g, scope, 1)
    left_names = [c for s in sources[:-1] for c in s.qualified()]
    pairs = [(a.name, b.name) for a in left_names for b in right.qualified() if a.family == b.family]
    if pairs and (r.random() < 0.75 or word == "FULL JOIN"):
        left, other = r.choice(pairs)
        equal = piece(f"{left} = {other}", family="bool")
        on = equal if r.random() < 0.7 or word == "FULL JOIN" else piece(equal, " AND ", on, family="bool")
    return piece(text, f" {word} ", right.piece, " ON ", on), True


def _common(left: Source, right: Source) -> set[str]:
    return {c.name for c in left.columns} & {c.name for c in right.columns}


def _shared(left: Source, right: Source) -> set[str]:
    families = {c.name: c.family for c in left.columns}
    return {c.name for c in right.columns if families.get(c.name) == c.family}
