"""The rows that transactions look at, each with the transactions that may write it and their steps on it.

Does not know in which order they wrote, nor what they left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from troubadour.facts.rows.local import Does
from troubadour.facts.rows.programs import RowPrograms, Step
from troubadour.facts.rows.tables import Key
from troubadour.order.rows.events import Model
from troubadour.order.rows.states import RowStates

RowsOfTable = dict[Key, RowStates]


class WrittenRows:
    """The rows of a log's tables (`tables`), and those tables to which rows may have come of which nothing is known
    (`open`)."""

    def __init__(
        self,
        programs: RowPrograms,
        model: Model,
        items: Sequence[int],
        *,
        optional: Collection[int],
        kept: Collection[int],
    ) -> None:
        """`optional`: transactions that need not have happened; those that are not `kept` may have left anything where
        they may have written. Raises Unsupported."""
        self._programs = programs
        self._model = model
        self._items = items
        self.optional = set(optional)
        self.kept = set(kept)
        self._of = {item: programs.of(item) for item in items}
        self.tables: dict[str, RowsOfTable] = {table: {} for table in programs.tables.keys}
        self.open: set[str] = set()
        self._make()

    def close(self, commit: Mapping[int, int]) -> None:
        """Number the writers of each row; `commit` are the events of their commits."""
        for rows in self.tables.values():
            for row in rows.values():
                row.close(commit)

    def is_untold(self, step: Step) -> bool:
        """Whether a statement that did nothing may have met other versions than those that its transaction reads."""
        if not step.idle or self._model.whole:
            return False
        return self._model.views or (step.part.does is Does.INSERTS and (step.part.conditional or self._model.acts))

    def _make(self) -> None:
        for (table, place), version in self._programs.initial().items():
            self.tables[table][place] = RowStates(table, place, version)
        for program in self._of.values():
            for step in program.steps:
                for place in step.places or ():
                    self._row(step.part.table, place)
            self.open |= program.adds & self.tables.keys()
        if len(self.kept) < len(self._items):
            self._spare_rows()
        for item in self._items:
            self._note_writer(item)

    def _spare_rows(self) -> None:
        """Forget the rows that none of those kept has looked at."""
        named: dict[str, set[Key]] = defaultdict(set)
        whole: set[str] = set()
        for item in self.kept:
            whole.update(*(query.tables for query in self._of[item].queries))
            for step in self._of[item].steps:
                if step.places is None:
                    whole.add(step.part.table)
                else:
                    named[step.part.table] |= step.places
        for table, rows in self.tables.items():
            if table not in whole:
                self.tables[table] = {place: row for place, row in rows.items() if place in named[table]}

    def _row(self, table: str, place: Key) -> RowStates:
        rows = self.tables[table]
        if place not in rows:
            rows[place] = RowStates(table, place, None)
        return rows[place]

    def _note_writer(self, item: int) -> None:
        program = self._of[item]
        spared = item not in self.kept and item not in self.optional
        touched: dict[tuple[str, Key], list[Step]] = {}
        for step in program.steps:
            if self.is_untold(step) or (step.idle and self._model.acts):
                # what it met may have been another version than the one that a later statement changes
                continue
            rows, passed = self.tables[step.part.table], self._programs.passed(step)
            for place in rows if step.places is None or (spared and step.answers) else step.places:
                if place in rows and place not in passed:
                    touched.setdefault((step.part.table, place), []).append(step)
        for (table, place), steps in touched.items():
            if any(step.writes for step in steps):
                row = self.tables[table][place]
                row.writers.append(item)
                row.steps[item] = steps
                if spared:
                    row.vague.add(item)
        for table in (program.changes | program.adds) & self.tables.keys():
            for row in self.tables[table].values():
                if item not in row.steps:
                    row.writers.append(item)
                    row.steps[item] = []
                row.vague.add(item)
        for table in {table for table, _ in touched} | (program.changes & self.tables.keys()):
            for row in self.tables[table].values():
                if item in row.steps and item in self.optional:
                    row.optional.add(item)
