"""Which rows a transaction may look at or write to: by their keys where its statements tell them, else whole tables.

Does not know what it did to a row, nor what was answered.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.errors import Unsupported
from sql_semantics.ir.definitions import EXISTING, Definition
from sql_semantics.ir.walks.effects import draws
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.records import dataclass
from troubadour.execution.prepared import PreparedStatement, tables_touched, tables_written
from troubadour.facts.rows.local import Does, local_of
from troubadour.facts.rows.programs import RowPrograms
from troubadour.facts.rows.tables import Key, Tables
from troubadour.problem.problem import Problem

DRAWN = ""
"""Stands for the values that the DBMS draws, as if a table held them: of which sequence is not told."""

Place = tuple[str, Key | None]
"""A row of a table by its key; None: any row of it."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a transaction may look at, and what of that it may write to."""

    places: frozenset[Place]
    written: frozenset[Place]


class Touching:
    """What the transactions of a problem touch. `by_key`: rows by their keys, where these tell them apart and no other
    key, reference or trigger ties them to others; else whole tables."""

    def __init__(self, problem: Problem, *, by_key: bool) -> None:
        self._problem = problem
        self._programs = RowPrograms(problem)
        catalog = problem.library.catalog
        self._apart = frozenset(
            name
            for name in self._programs.tables.keys
            if by_key
            and len(catalog.tables[name].keys) == 1
            and not catalog.tables[name].foreign_keys
            and not catalog.references_to(name)
            and not catalog.triggers.get(name)
            and not catalog.tables[name].fires
        )

    @property
    def tables(self) -> Tables:
        """How rows are told apart."""
        return self._programs.tables

    def of(self, item: int) -> Touched:
        """What an item touches. Raises UnsupportedStatement."""
        places: set[Place] = set()
        written: set[Place] = set()
        for statement in self._problem.prepared(item).statements:
            for place, writes in self._of(statement):
                places.add(place)
                if writes:
                    written.add(place)
        return Touched(frozenset(places), frozenset(written))

    def _of(self, statement: PreparedStatement) -> Iterator[tuple[Place, bool]]:
        program = statement.program
        if program is None:
            return
        rows = self.rows(statement)
        if rows is not None:
            yield from rows
            return
        written = tables_written(program, program.catalog)
        touched = tables_touched(program, program.catalog) | written
        if EXISTING in touched or any(isinstance(part, Definition) for part in walk_parts(program.statement)):
            # which tables there are is something that it writes
            written = touched = touched | {EXISTING}
        for table in touched:
            yield (table, None), table in written
        if draws(program.statement, program.catalog):
            yield (DRAWN, None), True

    def rows(self, statement: PreparedStatement) -> list[tuple[Place, bool]] | None:
        """The only rows that a statement touches, and whether it may write to them; None where it may be others."""
        program = statement.program
        if (
            program is None
            or not self._apart
            or program.calls
            or not tables_touched(program, program.catalog) <= self._apart
        ):
            return None
        found: list[tuple[Place, bool]] = []
        tables = self._programs.tables
        parts = local_of(program, tables.keys, tables.untaken, self._problem.library.dialect).parts
        for part in parts:
            if part.maybe or part.blurs:
                return None
            try:
                places = self._programs.places(part, statement.arguments)
            except Unsupported:
                return None
            if places is None:
                return None
            found += [((part.table, place), part.does in (Does.CHANGES, Does.INSERTS)) for place in places]
        return found if parts else None
