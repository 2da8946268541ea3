"""Hand-written statements on a real engine and in the interpreter: one schema, its rows, and what differs.

Statements of one area that the generator does not write. Does not know what a statement should answer.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import compile_statement
from sql_semantics.values.dialect import Dialect, read_version
from tests.differential.comparison import answers_differ, only_way
from tests.differential.engines import Answer, Engine
from tests.differential.leveled import SAID, LeveledView, said_of


def unlocked(outcome: Outcome) -> Outcome:
    """Without what was locked, which is told only where rows may be newer."""
    return replace(outcome, results=[replace(result, locked=None) for result in outcome.results])


class Fixed:
    """Tables with rows, in the engine and in a view; what only reads is run whatever the view says of its level."""

    def __init__(self, engine: Any, schema: Sequence[str], rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
        self.engine: Engine = engine
        version = read_version(importlib.metadata.version("duckdb")) if engine.name == "duckdb" else None
        self.dialect = Dialect(engine.name, collation=engine.collation, version=version)
        self.catalog = Catalog(read_schema(schema, self.dialect), {})
        engine.clear()
        for ddl, (name, contents) in zip(schema, rows.items(), strict=True):
            created = engine.run(ddl)
            assert created.error is None, created
            engine.fill(name, [column.name for column in self.catalog.tables[name].columns], list(contents))
        self.view = LeveledView({name: list(contents) for name, contents in rows.items()})
        self.view.picking = only_way

    def difference(self, sql: str, scale: bool = True) -> str | None:
        """How the two answers differ, or None. Raises Unsupported where the interpreter has none."""
        try:
            bound = bind(sql, None, self.catalog, self.dialect)
            run = compile_statement(bound.statement, self.catalog, self.dialect)
            self.view.say(said_of(self.engine.name, sql))
            outcome = run(self.view, ())
            if isinstance(bound.statement, Select):
                for says in SAID.get(self.engine.name, ()):
                    self.view.say(says)
                    assert unlocked(run(self.view, ())) == unlocked(outcome), (
                        f"{sql}: not the same where rows may be newer"
                    )
        except SqlError as error:
            answer = self.engine.run(sql)
            if answer.error in (error.sqlstate, "any") or (error.may and answer.error is None):
                return None
            return f"{answer} where {error} is expected"
        answer: Answer = self.engine.run(sql)
        problem = answers_differ(outcome, answer, self.engine.name, scale)
        return None if problem is None else f"{problem}\n    ours: {outcome.results[0].rows}\n    theirs: {answer}"

    def report(self, statements: Iterable[str], scale: bool = True) -> tuple[list[str], dict[str, str]]:
        """(differences, the construct named for each statement that is not modelled)."""
        differences: list[str] = []
        refused: dict[str, str] = {}
        for sql in statements:
            try:
                problem = self.difference(sql, scale)
            except Unsupported as error:
                refused[sql] = error.construct
                continue
            if problem is not None:
                differences.append(f"{sql}\n    {problem}")
        return differences, refused
