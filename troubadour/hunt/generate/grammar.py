"""What all rules of the generator share: the source of chance, the product, the tables, and what was used.

A rule is a function that takes the `Grammar` and returns a `Piece`. Knows no rule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from sql_semantics.records import dataclass, field
from troubadour.hunt.generate.operations import COERCED, LETTER, OPERATIONS, Operation
from troubadour.hunt.generate.pieces import Piece
from troubadour.hunt.generate.schemas import Family, TableSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column:
    """A column in scope under the name by which it is written."""

    name: str
    family: Family
    qualified: str = ""

    def from_within(self) -> Column:
        """The column as a query within has to write it."""
        return Column(self.qualified or self.name, self.family)


@dataclass(slots=True)
class Scope:
    """The columns that an expression may use; `outer` are those of the enclosing query. `order`: names that order the
    rows totally, None where nothing does."""

    columns: list[Column] = field(default_factory=list)
    outer: list[Column] = field(default_factory=list)
    order: list[str] | None = None

    def of(self, family: Family) -> list[str]:
        """Names of the columns of a family."""
        return [c.name for c in self.columns if c.family == family]

    def enclosing(self) -> list[Column]:
        """What a query within sees of this one and those around it."""
        return [column.from_within() for column in (*self.columns, *self.outer)]


@dataclass(slots=True)
class Query:
    """A query and what it returns."""

    piece: Piece
    families: list[Family]
    ordered: bool = False


class Grammar:
    """`chance` decides and records: a construct is used only where the product has it. `careful`: what a product is
    known to answer wrongly is not drawn."""

    def __init__(self, source: random.Random, dialect: str, tables: list[TableSpec], views: list[TableSpec]) -> None:
        self.random = source
        self.dialect = dialect
        self.letter = LETTER[dialect]
        self.tables = tables
        self.readable = tables + views
        self.families: list[Family] = sorted({c.family for t in tables for c in t.columns})
        self.features: list[str] = []
        self.nesting = 0
        self.careful = True
        self.ctes: list[tuple[str, list[Column]]] = []
        self._names = 0
        self.operations: dict[Family, list[tuple[int, Operation]]] = {}
        for table, scale in ((OPERATIONS, 3), (COERCED, 1)):
            for item in table:
                known = all(f in self.families or f in ("small", "bool") for f in item.operands)
                if self.letter in item.products and known:
                    self.operations.setdefault(item.result, []).append((item.weight * scale, item))
        self.query: Callable[..., Query]

    def chance(self, probability: float, feature: str = "", products: str = "pmsd") -> bool:
        """Whether to use a construct, with its name for the count."""
        if self.letter not in products or self.random.random() >= probability:
            return False
        if feature:
            self.features.append(feature)
        return True

    def pick(self, items: Sequence[T]) -> T:
        """One of several."""
        return self.random.choice(items)

    def name(self, stem: str) -> str:
        """A fresh alias."""
        self._names += 1
        return f"{stem}{self._names}"

    def restart(self) -> None:
        """Before each statement."""
        self.features = []
        self.nesting = 0
        self.ctes = []
        self._names = 0
