"""Seeded random schemas and statements over the fragment. Knows no engine and no expected result."""

from __future__ import annotations

import random

from sql_semantics.records import dataclass
from troubadour.hunt.generate import queries, writes
from troubadour.hunt.generate.definitions import merge
from troubadour.hunt.generate.grammar import Grammar
from troubadour.hunt.generate.pieces import Piece
from troubadour.hunt.generate.schemas import SchemaMaker

AGAIN_AND_AGAIN = frozenset(
    {"scalar subquery", "EXISTS", "IN subquery", "row IN subquery", "quantified comparison", "LATERAL", "comma",
     "predicate given out", "query given out", "derived table that reads the query around it", "WITH RECURSIVE",
     "several windows", "parts of a query"}
)  # fmt: skip
"""What may be computed for each row of a query around it, or several times over."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A statement and the constructs that it uses, by name."""

    piece: Piece
    features: frozenset[str]


class Generator:
    """All choices come from one `random.Random(seed)`. `level`: how plain the schema is, see `SchemaMaker`.
    `wider`: also what only hunts draw, and what a product is known to answer wrongly. `many`: one table has hundreds of
    rows."""

    def __init__(
        self, seed: int, dialect: str = "postgres", level: int = 0, wider: bool = False, many: bool = False
    ) -> None:
        self.random = random.Random(seed)
        maker = SchemaMaker(self.random, dialect, level, wider)
        self.tables = maker.tables()
        if many:
            maker.fill_up(self.tables)
        views = maker.views(self.tables)
        self.views = [view.constraints[0] for view in views]
        self.grammar = Grammar(self.random, dialect, self.tables, views)
        self.grammar.query = queries.query
        self.grammar.careful = not wider

    def statement(self) -> Generated:
        """One statement; none that reads many rows once for each of others."""
        while True:
            made = self._statement()
            if "many rows" not in made.features or not made.features & AGAIN_AND_AGAIN:
                return made

    def _statement(self) -> Generated:
        g = self.grammar
        g.restart()
        choice = self.random.random()
        if choice < 0.60:
            made = queries.top(g)
            g.features.append("SELECT")
        elif not g.careful and g.chance(0.02, "MERGE", "p"):
            made = merge(self.random, g.pick(self.tables))
        elif choice < 0.79:
            made = writes.update(g)
            g.features.append("UPDATE")
        elif choice < 0.93:
            made = writes.insert(g)
            g.features.append("INSERT")
        else:
            made = writes.delete(g)
            g.features.append("DELETE")
        return Generated(made, frozenset(g.features))
