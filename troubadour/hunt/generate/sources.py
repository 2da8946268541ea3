"""Rules for FROM: tables, views, derived tables, joins of all kinds. Knows no clause after it."""

from __future__ import annotations

from sql_semantics.records import dataclass
from troubadour.hunt.generate.expressions import condition
from troubadour.hunt.generate.grammar import Column, Grammar, Scope
from troubadour.hunt.generate.pieces import Piece, piece
from troubadour.hunt.generate.schemas import MANY


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
    often = 0.12 if g.careful else 0.35 if outer is not None else 0.2
    if g.nesting < 2 and g.chance(often, "derived table"):
        return _derived(g, outer)
    if g.nesting < 2 and g.chance(0.03, "VALUES in FROM", "pd"):
        alias = g.name("v")
        rows = g.pick(("(1, 'a'), (2, 'b')", "(1, NULL), (3, 'ab'), (3, 'ab')", "(0, '')"))
        columns = [Column("a", "int"), Column("b", "text")]
        return Source(piece(f"(VALUES {rows}) AS {alias} (a, b)"), alias, columns, None)
    table = g.pick(g.readable)
    if not g.careful and len(table.rows) > MANY:
        if "many rows" in g.features:  # not joined with itself
            table = g.pick([other for other in g.tables if len(other.rows) <= MANY])
        else:
            g.features.append("many rows")
    if table not in g.tables:
        g.features.append("view")
    alias = g.name("t")
    columns = [Column(c.name, c.family) for c in table.columns]
    return Source(piece(f"{table.name} AS {alias}"), alias, columns, ["k"] if table.key else None)


def _derived(g: Grammar, outer: Scope | None) -> Source:
    families = [g.pick(g.families) for _ in range(g.random.randint(1, 3))]
    sees = not g.careful and outer is not None and g.chance(0.7, "derived table that reads the query around it", "psd")
    query = g.query(g, outer if sees else None, families, named=True)
    alias = g.name("d")
    columns = [Column(f"o{i}", family) for i, family in enumerate(families)]
    return Source(piece("(", query.piece, f") AS {alias}"), alias, columns, None)


def from_clause(g: Grammar, outer: Scope | None) -> tuple[Piece, Scope]:
    """FROM and what it puts in scope."""
    before = [source(g, outer)] if not g.careful and g.chance(0.08, "comma") else []
    first = source(g, outer)
    text, sources = first.piece, [first]
    left_only = False
    more = ((0, 1, 2), (58, 34, 8)) if g.careful else ((0, 1, 2, 3), (54, 33, 9, 4))
    for _ in range(g.random.choices(*more)[0]):
        if "many rows" in g.features and len(sources) > 1:
            break
        text, known = _joined(g, text, sources, outer, before)
        left_only = left_only or not known
    if before:  # its columns are in sight of all but the ON of the joins
        text, sources = piece(before[0].piece, ", ", text), [*before, *sources]
    scope = Scope([c for s in sources for c in s.qualified()], _outer(outer))
    if all(s.order is not None for s in sources) and not left_only:
        scope.order = [f"{s.alias}.{name}" for s in sources for name in s.order or ()]
    return text, scope


def _outer(outer: Scope | None) -> list[Column]:
    return outer.enclosing() if outer is not None else []


def _joined(
    g: Grammar, text: Piece, sources: list[Source], outer: Scope | None, before: list[Source]
) -> tuple[Piece, bool]:
    """One more source; False where the other one's columns may all be NULL in several rows. `before`: sources that
    LATERAL alone sees."""
    if not g.careful and g.nesting < 2 and g.chance(0.1, "LATERAL", "pd"):
        return _lateral(g, text, sources, outer, before), True
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
    if g.careful and g.dialect == "sqlite" and len(sources) > 1 and word in ("RIGHT JOIN", "FULL JOIN"):
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
    enclosing = None if g.careful and g.dialect == "mysql" else outer
    scope = Scope([c for s in sources for c in s.qualified()], _outer(enclosing))
    on = condition(g, scope, 1)
    if not g.careful and (word != "FULL JOIN" or g.dialect == "sqlite") and g.chance(0.12, "constant ON"):
        constant = g.pick(("(1 = 0)", "(1 = 0)", "(1 = 1)", "(NULL IS NULL)"))
        return piece(text, f" {word} ", right.piece, " ON ", piece(constant, family="bool")), True
    left_names = [c for s in sources[:-1] for c in s.qualified()]
    pairs = [(a.name, b.name) for a in left_names for b in right.qualified() if a.family == b.family]
    merged = word == "FULL JOIN" and (g.careful or g.dialect != "sqlite")  # others want an equality there
    if pairs and (r.random() < 0.75 or merged):
        left, other = r.choice(pairs)
        equal = piece(f"{left} = {other}", family="bool")
        on = equal if r.random() < 0.7 or merged else piece(equal, " AND ", on, family="bool")
    return piece(text, f" {word} ", right.piece, " ON ", on), True


def _lateral(g: Grammar, text: Piece, sources: list[Source], outer: Scope | None, before: list[Source]) -> Piece:
    """A derived table that sees what stands before it."""
    families = [g.pick(g.families) for _ in range(g.random.randint(1, 2))]
    seen = Scope([c for s in (*before, *sources) for c in s.qualified()], _outer(outer))
    query = g.query(g, seen, families, named=True)
    alias = g.name("d")
    sources.append(Source(piece(""), alias, [Column(f"o{i}", family) for i, family in enumerate(families)], None))
    kind = g.random.random()
    if kind < 0.35:
        return piece(text, " CROSS JOIN LATERAL (", query.piece, f") AS {alias}")
    if kind < 0.65:
        return piece(text, " LEFT JOIN LATERAL (", query.piece, f") AS {alias} ON TRUE")
    on = condition(g, Scope([c for s in sources for c in s.qualified()], _outer(outer)), 1)
    return piece(text, " JOIN LATERAL (", query.piece, f") AS {alias} ON ", on)


def _common(left: Source, right: Source) -> set[str]:
    return {c.name for c in left.columns} & {c.name for c in right.columns}


def _shared(left: Source, right: Source) -> set[str]:
    families = {c.name: c.family for c in left.columns}
    return {c.name for c in right.columns if families.get(c.name) == c.family}
