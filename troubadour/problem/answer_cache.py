"""Answers of queries that were compared before, on tables that held the same (one run per footprint).

A query that looked at nothing but whole tables answers alike wherever these hold the same rows, in whichever state and
order of the log: it is run once for each such content while a transaction is placed here and there. Does not know why
it is placed again.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.ir.queries import Query
from sql_semantics.ir.walks.effects import acting_of
from sql_semantics.library import Program
from troubadour.execution.views.concrete import ConcreteView
from troubadour.problem.budget import MOST

_Address = tuple[int, int]
"""An item and one of its statements."""


class KeptAnswers:
    """By statement and by the tables that it scanned: what these held, and how the answer differs from the observed one
    (None: not at all)."""

    def __init__(self) -> None:
        self._found: dict[_Address, dict[tuple[str, ...], dict[tuple[int, ...], str | None]]] = {}
        self._count = 0

    def compare(self, address: _Address, view: ConcreteView, compare: Callable[[], str | None]) -> str | None:
        """How the answer of a query that `reads_only` differs from the observed one; `compare` runs it on the view."""
        kept = self._found.get(address)
        for tables, answers in kept.items() if kept is not None else ():
            contents = view.contents_ahead(tables)
            if contents is not None and contents in answers:
                view.begin()
                view.scanned.update(tables)
                return answers[contents]
        rows, count, before, execution = view.footprint, len(view.footprint), view.scanned, view.execution
        view.scanned = scanned = set[str]()
        lookups = view.lookups
        try:
            text = compare()
        finally:
            looked = view.scanned
            if looked is scanned:
                before |= scanned
                view.scanned = before
        alone = view.footprint is rows and len(rows) == count
        if view.footprint is not rows:
            alone = not view.footprint
        # a key that is not there leaves no row behind
        alone = alone and view.lookups == lookups
        if looked and alone and view.execution == execution + 1 and not view.chose:
            tables = tuple(sorted(looked))
            contents = view.contents(tables)
            if contents is not None:
                self._keep(address, tables, contents, text)
        return text

    def _keep(self, address: _Address, tables: tuple[str, ...], contents: tuple[int, ...], text: str | None) -> None:
        if self._count >= MOST:
            self._found.clear()
            self._count = 0
        self._found.setdefault(address, {}).setdefault(tables, {})[contents] = text
        self._count += 1


def reads_only(program: Program) -> bool:
    """Whether it is one query that locks nothing."""
    statement = program.statement
    return program.remember("reads only", lambda: isinstance(statement, Query) and acting_of(statement) == "reads")
