"""Random triggers on PostgreSQL and in the interpreter.

Does not know how triggers are generated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.walks.effects import fired_by
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import Answer, Postgres
from tests.differential.trigger_generator import ROUTINE, ROWS, TABLES, TriggerGenerator


class TriggeredBeside(Beside):
    """Where the run went one of several ways, only that it ran is looked at."""

    def _problem(self, sql: str, answer: Answer, predicted: Any, outcome: Any) -> str | None:
        if answer.error == "23505":
            self.view.choices.add("a key that another row has")
        return None if self.view.choices else super()._problem(sql, answer, predicted, outcome)

    def state_difference(self) -> str | None:
        """See `Beside`."""
        if self.view.choices:
            self.load()
            return None
        return super().state_difference()

    def compare(self, sql: str, tally: Tally, case: str, texts: str) -> bool:
        """Run a statement on both; whether that could be compared. A difference is noted with the rows before."""
        rows = {name: list(self.view.rows(name)) for name in self.catalog.tables}
        done = self.step(sql)
        self.view.choices.clear()
        if done.outside is not None:
            self.skip(sql, done.outside, tally)
            return False
        tally.compared += 1
        tally.errors += done.error
        if done.problem is not None:
            tally.differences.append(f"{case}: {sql}\n{done.problem}\n{texts}\n{rows}\n")
        return True

    def skip(self, sql: str, reason: str, tally: Tally) -> None:
        """Run a statement on the engine alone."""
        tally.outside[reason] += 1
        self.engine.run(sql)
        self.load()


@dataclass(slots=True)
class Tally:
    """How it went."""

    run: int = 0
    compared: int = 0
    fired: int = 0
    errors: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def run_case(engine: Postgres, seed: int, tally: Tally, statements: int = 12) -> None:
    """One schema with triggers, and statements."""
    generator = TriggerGenerator(seed)
    found = generator.definitions()
    engine.connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
    engine.connection.execute("CREATE SCHEMA public")
    for text in (*TABLES, *ROWS, ROUTINE):
        engine.connection.execute(text)
    kept: list[tuple[str, str]] = []
    for function, trigger in found:
        answers = [engine.run(function), engine.run(trigger)]
        if all(answer.error is None for answer in answers):
            kept.append((function, trigger))
    library = SqlLibrary(
        Dialect("postgres", collation="C"),
        [*TABLES, *(trigger for _, trigger in kept)],
        [ROUTINE, *(function for function, _ in kept)],
    )
    tally.run += sum(map(len, library.catalog.triggers.values()))
    beside = TriggeredBeside(engine, library.dialect, library.catalog)
    texts = "\n".join(f"{function};\n{trigger};" for function, trigger in kept)
    for _ in range(statements):
        sql = generator.statement()
        if _fires_others(sql, library):
            beside.skip(sql, "a trigger that is not run", tally)
            continue
        compared = beside.compare(sql, tally, f"case {seed}", texts)
        tally.fired += compared and any(library.catalog.triggers.values())
        if tally.differences:
            return


def _fires_others(sql: str, library: SqlLibrary) -> bool:
    try:
        return bool(fired_by(library.program(sql).statement, library.catalog))
    except Unsupported:
        return True
    except SqlError:
        return False
