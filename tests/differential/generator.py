"""Seeded random schemas and statements over the fragment. Knows no engine and no expected result."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.differential import queries, writes
from tests.differential.grammar import Grammar
from tests.differential.pieces import Piece
from tests.differential.schemas import SchemaMaker


@dataclass(frozen=True, slots=True)
class Generated:
    """A statement and the constructs that it uses, by name."""

    piece: Piece
    features: frozenset[str]


class Generator:
    """All choices come from one `random.Random(seed)`. `level`: how plain the schema is, see `SchemaMaker`."""

    def __init__(self, seed: int, dialect: str = "postgres", level: int = 0) -> None:
        self.random = random.Random(seed)
        maker = SchemaMaker(self.random, dialect, level)
        self.tables = maker.tables()
        views = maker.views(self.tables)
        self.views = [view.constraints[0] for view in views]
        self.grammar = Grammar(self.random, dialect, self.tables, views)
        self.grammar.query = queries.query

    def statement(self) -> Generated:
        """One statement."""
        g = self.grammar
        g.restart()
        choice = self.random.random()
        if choice < 0.60:
            made = queries.top(g)
            g.features.append("SELECT")
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
