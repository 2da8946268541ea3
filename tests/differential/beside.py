"""A real engine and the interpreter side by side: one statement on both, and what differs.

The engine's tables are the truth: after whatever the interpreter does not follow, its view is filled from them anew.
Knows no generator and no suite.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Statement
from sql_semantics.ir.walks.effects import fired_by
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import Outcome
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.run.memory import Choose
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.differential.comparison import answers_differ, as_stored, only_way, typed
from tests.differential.engines import Answer, Engine
from tests.differential.leveled import LeveledView, said_of

_SCALE_IS_FREE = re.compile(
    r"\b(MIN|MAX|GROUP BY|DISTINCT|UNION|INTERSECT|EXCEPT|USING|NATURAL|GREATEST|LEAST)\b", re.I
)
_SUMS = re.compile(r"\b(SUM|AVG|STDDEV|VARIANCE|STDDEV_POP|STDDEV_SAMP|VAR_POP|VAR_SAMP)\b", re.IGNORECASE)
_KEY_TEXT = re.compile(r"unique|duplicate key|primary key", re.IGNORECASE)
_DATA_ERRORS = {"21", "22", "23"}
"""Classes of which another error may come where one may come (docs/transactions.md)."""
CRASHES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a mistake of the interpreter raises; never an answer."""


@dataclass(slots=True)
class Step:
    """What came of one statement: exactly one of `outside`, `problem` or neither (agreement)."""

    outside: str | None = None
    problem: str | None = None
    error: bool = False
    may: bool = False


class Beside:
    """`catalog` names the tables that both have; `watched` limits which of them are compared after a write."""

    def __init__(self, engine: Engine, dialect: Dialect, catalog: Catalog) -> None:
        self.engine = engine
        self.dialect = dialect
        self.catalog = catalog
        self.watched: Collection[str] | None = None
        self.choose: Choose | None = None
        self.library: SqlLibrary | None = None
        """Where the definitions are a log's: what it says of statements that may do more than is modelled counts."""
        self.load()

    def _names(self) -> Collection[str]:
        watched = self.catalog.tables if self.watched is None else self.watched
        return [name for name in watched if _is_stored(self.catalog.tables[name])]

    def _aborted(self) -> bool:
        return self.engine.run("SELECT 1").error == "25P02"

    def load(self) -> None:
        """Fill the view with what the engine holds; not within an aborted transaction, which holds nothing."""
        if self._aborted():
            return
        self.view = LeveledView(
            {name: self._stored(name) for name, table in self.catalog.tables.items() if _is_stored(table)},
            self.choose,
        )
        self.view.picking = only_way

    def _stored(self, table: str) -> list[tuple[Any, ...]]:
        types = [column.type for column in self.catalog.tables[table].columns]
        answer = self.engine.run(f"SELECT * FROM {table}")
        assert answer.rows is not None, answer
        stored = []
        for row in answer.rows:
            values = []
            for value, type_ in zip(row, types, strict=True):
                if value is not None and type_.kind is Kind.TEXT:
                    convert = caster(type_, type_, False, self.dialect)
                    value = value if convert is None else convert(value)
                elif isinstance(value, int) and type_.kind is Kind.BOOLEAN:
                    value = bool(value)
                values.append(as_stored(value, type_))
            stored.append(tuple(values))
        return stored

    def step(self, sql: str) -> Step:
        """Run one statement on both sides."""
        predicted: SqlError | None = None
        outcome: Outcome | None = None
        statement: Statement | None = None
        self.view.say(said_of(self.engine.name, sql))
        try:
            statement, run = self._compiled(sql)
            outcome = run(self.view, ())
        except SqlError as error:
            predicted = error
        except Unsupported as error:
            if not only_reads(sql):
                self.load()  # it may have been left in the middle
            return Step(outside=error.construct)
        except CRASHES as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.load()
            return Step(problem=f"the interpreter crashed: {error!r} at {Path(place.filename).name}:{place.lineno}")
        answer = self.engine.run(sql)
        if answer.error is not None and statement is not None and self._is_free(answer.error, statement):
            self.load()
            return Step(may=True, error=True)
        if predicted is None and not only_reads(sql):
            taken = self._taken_keys(sql, answer)
            if taken is not None:
                return taken
        if statement is None and predicted is not None and _refused_text(answer, predicted):
            return Step(error=True)
        done = Step(problem=self._problem(sql, answer, predicted, outcome), error=predicted is not None)
        done.may = predicted is not None and predicted.may
        aborted = answer.error is not None and self._aborted()
        if done.problem is None and not done.may and not aborted and not only_reads(sql):
            done.problem = self.state_difference()
        if done.problem is not None or done.may:
            self.load()
        return done

    def _compiled(self, sql: str) -> tuple[Statement, Callable[[MemoryView, tuple[()]], Outcome]]:
        if self.library is None:
            bound = bind(sql, None, self.catalog, self.dialect)
            return bound.statement, compile_statement(bound.statement, self.catalog, self.dialect)
        program = self.library.program(sql)
        if fired_by(program.statement, self.catalog):
            raise Unsupported("a trigger that is not modelled")
        return program.statement, program.run

    def _is_free(self, state: str, statement: Statement) -> bool:
        """Whether the statement may have this error whatever its outcome here."""
        free = free_errors(statement, self.catalog, self.dialect.name)
        return state in free or (state == "any" and bool(free))

    def _taken_keys(self, sql: str, answer: Answer) -> Step | None:
        """What two rows with one key mean; the interpreter leaves keys to its caller. None: nothing.

        An UPDATE may pass through two equal keys that are gone when it ends; whether it fails depends on row order.
        """
        twice = doubled(self.catalog, self.view)
        failed = answer.error is not None and (
            answer.error in ("23505", "23000") or (answer.error == "any" and _KEY_TEXT.search(answer.message))
        )
        if not twice and not (failed and not sql.upper().startswith("INSERT")):
            return None
        self.load()
        if twice and not failed:
            return Step(problem=f"two rows with one key in {twice}, and the engine answered {answer}", error=True)
        return Step(error=True, may=not twice)

    def _problem(self, sql: str, answer: Answer, predicted: SqlError | None, outcome: Outcome | None) -> str | None:
        if predicted is not None:
            if answer.error is None:
                return None if predicted.may else f"the interpreter failed with {predicted}, the engine did not"
            if (
                _same_class(answer.error, predicted)
                or _several_mistakes(sql, answer.error)
                or _first_mistake(answer.error, predicted)
                or (predicted.may and {answer.error[:2], predicted.sqlstate[:2]} <= _DATA_ERRORS)
            ):
                return None
            return f"the engine failed with {answer.error} ({answer.message[:160]}), the interpreter with {predicted}"
        assert outcome is not None
        scale = not _SCALE_IS_FREE.search(sql)  # which of equal numbers stands for a group is the engine's choice
        digits = 12 if _SUMS.search(sql) else 17  # the order of float sums is the engine's choice
        return answers_differ(outcome, answer, self.engine.name, scale, digits)

    def state_difference(self) -> str | None:
        """How the tables differ, or None."""
        for name in self._names():
            types = [column.type for column in self.catalog.tables[name].columns]
            theirs = Counter(typed(row, types, self.engine.name) for row in self._stored(name))
            ours = Counter(typed(row, types, self.engine.name) for row in self.view.rows(name))
            if ours != theirs:
                return f"table {name}: engine {dict(theirs - ours)}, interpreter {dict(ours - theirs)}"
        return None


def _is_stored(table: Table) -> bool:
    return table.query is None and not table.refused


def doubled(catalog: Catalog, view: MemoryView) -> str | None:
    """A table that has two rows with one key, or None."""
    for name, table in catalog.tables.items():
        for key in table.keys if _is_stored(table) else ():
            values = [tuple(row[c] for c in key.columns) for row in view.rows(name)]
            full = [value for value in values if None not in value]
            if len(set(full)) < len(full):
                return name
    return None


def _first_mistake(state: str, predicted: SqlError) -> bool:
    """Whether the row or the clause that failed first decides which of two errors comes: a subquery of several rows
    beside a value that cannot be computed."""
    return {state, predicted.sqlstate} & {"21000"} != set() and {state[:2], predicted.sqlstate[:2]} <= {"21", "22"}


def _refused_text(answer: Answer, predicted: SqlError) -> bool:
    """Whether PostgreSQL refused the text, as predicted, for another of its mistakes: it reads literals and names in an
    order that is not modelled, and points at them."""
    pointed = answer.error is not None and ("\nLINE 1: " in answer.message or answer.error == "42883")
    return pointed and {str(answer.error)[:2], predicted.sqlstate[:2]} == {"22", "42"}


def only_reads(sql: str) -> bool:
    return not re.search(r"\b(INSERT|UPDATE|DELETE|REPLACE|TRUNCATE|MERGE)\b", sql, re.IGNORECASE)


def _several_mistakes(sql: str, state: str) -> bool:
    """A row that came first broke a key, which the interpreter leaves to its caller."""
    return state in ("23505", "23000", "21000") and not only_reads(sql)


def _same_class(state: str, predicted: SqlError) -> bool:
    """Errors agree by class; which of several mistakes in one statement is reported is not modelled."""
    return state == "any" or state[:2] == predicted.sqlstate[:2]
