"""Runs generated cases on a real engine beside the interpreter, tells where they differ, and makes that small (DESIGN
§10). Does not know how statements are generated."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import MemoryView, compile_statement, free_errors
from sql_semantics.values.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.differential.comparison import answers_differ, typed
from tests.differential.engines import Answer, Engine
from tests.differential.explained import explanation
from tests.differential.generator import Generated, Generator
from tests.differential.pieces import Piece, simpler
from tests.differential.schemas import TableSpec

_SCALE_IS_FREE = re.compile(
    r"\b(MIN|MAX|GROUP BY|DISTINCT|UNION|INTERSECT|EXCEPT|USING|NATURAL|GREATEST|LEAST)\b", re.I
)
_SUMS = re.compile(r"\b(SUM|AVG|STDDEV|VARIANCE|STDDEV_POP|STDDEV_SAMP|VAR_POP|VAR_SAMP)\b", re.IGNORECASE)
_KEY_TEXT = re.compile(r"unique|duplicate key|primary key", re.IGNORECASE)
SHRINK_ATTEMPTS = 400
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
class Tally:
    """How a run went; `outside` and `compared` count by construct, `features` what the generator used."""

    statements: int = 0
    compared: int = 0
    errors: int = 0
    may: int = 0
    schemas: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    refused_schemas: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Step:
    """What came of one statement: exactly one of `outside`, `problem` or neither (agreement)."""

    outside: str | None = None
    problem: str | None = None
    error: bool = False
    may: bool = False


class Case:
    """One schema with its data, in the engine and in a `MemoryView`. Raises Unsupported from the schema."""

    def __init__(self, engine: Engine, tables: Sequence[TableSpec], extra: Sequence[str] = ()) -> None:
        self.engine = engine
        self.specs = {table.name: table for table in tables}
        self.extra = tuple(extra)
        self.dialect = Dialect(engine.name, collation=engine.collation)
        self.schema = [table.ddl() for table in tables] + list(extra)
        self.catalog = Catalog(read_schema(self.schema, self.dialect), {})
        engine.clear()
        for ddl in self.schema:
            answer = engine.run(ddl)
            assert answer.error is None, f"{engine.name} refuses {ddl}: {answer.message}"
        for table in tables:
            engine.fill(table.name, table.filled(), table.rows)
        self.load()

    def load(self) -> None:
        """Fill the view with what the engine holds."""
        self.view = MemoryView({name: self._stored(name) for name in self.specs})

    def rows(self, table: TableSpec) -> list[tuple[Any, ...]]:
        """What the engine holds in the columns that are filled."""
        answer = self.engine.run(f"SELECT {', '.join(table.filled())} FROM {table.name}")
        assert answer.rows is not None, answer
        return answer.rows

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
                values.append(value)
            stored.append(tuple(values))
        return stored

    def step(self, sql: str) -> Step:
        """Run one statement on both sides."""
        predicted: SqlError | None = None
        free: frozenset[str] = frozenset()
        outcome: Outcome | None = None
        try:
            bound = bind(sql, None, self.catalog, self.dialect)
            free = free_errors(bound.statement, self.catalog)
            outcome = compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ())
        except SqlError as error:
            predicted = error
        except Unsupported as error:
            return Step(outside=error.construct)
        except CRASHES as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.load()
            return Step(problem=f"the interpreter crashed: {error!r} at {Path(place.filename).name}:{place.lineno}")
        answer = self.engine.run(sql)
        if predicted is None and not _only_reads(sql):
            taken = self._taken_keys(sql, answer)
            if taken is not None:
                return taken
        if answer.error is not None and (answer.error in free or (answer.error == "any" and free)):
            self.load()
            return Step(may=True, error=True)
        done = Step(problem=self._problem(sql, answer, predicted, outcome), error=predicted is not None)
        done.may = predicted is not None and predicted.may
        if done.problem is None and not done.may and not _only_reads(sql):
            done.problem = self.state_difference()
        if done.problem is not None or done.may:
            self.load()
        return done

    def _taken_keys(self, sql: str, answer: Answer) -> Step | None:
        """What two rows with one key mean; the interpreter leaves keys to its caller (DESIGN §4). None: nothing.

        An UPDATE may pass through two equal keys that are gone when it ends; whether it fails depends on row order.
        """
        twice = self._doubled()
        failed = answer.error is not None and (
            answer.error in ("23505", "23000") or (answer.error == "any" and _KEY_TEXT.search(answer.message))
        )
        if not twice and not (failed and not sql.upper().startswith("INSERT")):
            return None
        self.load()
        if twice and not failed:
            return Step(problem=f"two rows with one key in {twice}, and the engine answered {answer}", error=True)
        return Step(error=True, may=not twice)

    def _doubled(self) -> str | None:
        for name, table in self.catalog.tables.items():
            for key in table.keys:
                values = [tuple(row[c] for c in key.columns) for row in self.view.rows(name)]
                full = [value for value in values if None not in value]
                if len(set(full)) < len(full):
                    return name
        return None

    def _problem(self, sql: str, answer: Answer, predicted: SqlError | None, outcome: Outcome | None) -> str | None:
        if predicted is not None:
            if answer.error is None:
                return None if predicted.may else f"the interpreter failed with {predicted}, the engine did not"
            if _same_class(answer.error, predicted) or _several_mistakes(sql, answer.error):
                return None
            return f"the engine failed with {answer.error} ({answer.message[:160]}), the interpreter with {predicted}"
        assert outcome is not None
        scale = not _SCALE_IS_FREE.search(sql)  # which of equal numbers stands for a group is the engine's choice
        digits = 12 if _SUMS.search(sql) else 17  # the order of float sums is the engine's choice
        return answers_differ(outcome, answer, self.engine.name, scale, digits)

    def state_difference(self) -> str | None:
        """How the tables differ, or None."""
        for name in self.specs:
            types = [column.type for column in self.catalog.tables[name].columns]
            theirs = Counter(typed(row, types, self.engine.name) for row in self._stored(name))
            ours = Counter(typed(row, types, self.engine.name) for row in self.view.rows(name))
            if ours != theirs:
                return f"table {name}: engine {dict(theirs - ours)}, interpreter {dict(ours - theirs)}"
        return None


def _only_reads(sql: str) -> bool:
    return not re.search(r"\b(INSERT|UPDATE|DELETE|REPLACE|TRUNCATE|MERGE)\b", sql, re.IGNORECASE)


def _several_mistakes(sql: str, state: str) -> bool:
    """A row of an INSERT that came first broke a key, which the interpreter leaves to its caller."""
    return state in ("23505", "23000") and sql.upper().startswith(("INSERT", "REPLACE"))


def _same_class(state: str, predicted: SqlError) -> bool:
    """Errors agree by class; which of several mistakes in one statement is reported is not modelled."""
    return state == "any" or state[:2] == predicted.sqlstate[:2]


def run_cases(engine: Engine, seed: int, statements: int, per_case: int = 25, most: int = 5) -> Tally:
    """`statements` generated statements, a fresh schema every `per_case`; ends early after `most` differences."""
    tally = Tally()
    number = 0
    while tally.statements < statements and len(tally.differences) < most:
        run_case(engine, seed * 1_000_000 + number, per_case, tally)
        number += 1
    return tally


def run_case(engine: Engine, seed: int, statements: int, tally: Tally) -> None:
    """One schema and its statements; a plainer schema where the first is refused."""
    generator, case = _started(engine, seed, tally)
    for _ in range(statements):
        generated = generator.statement()
        sql = str(generated.piece)
        tally.statements += 1
        tally.features.update(generated.features)
        before = {name: case.rows(spec) for name, spec in case.specs.items()} if not _only_reads(sql) else None
        done = case.step(sql)
        if done.outside is not None:
            tally.unsupported[done.outside] += 1
            continue
        tally.compared += 1
        tally.errors += done.error
        tally.may += done.may
        tally.inside.update(generated.features)
        if done.problem is not None:
            reason = explanation(engine.name, sql, done.problem)
            if reason is not None:
                tally.explained[reason] += 1
                continue
            rows = before or {name: case.rows(spec) for name, spec in case.specs.items()}
            tally.differences.append(f"case {seed}: {report(engine, case, rows, generated, done.problem)}")
            case = Case(engine, [replace(spec, rows=rows[name]) for name, spec in case.specs.items()], case.extra)


def _started(engine: Engine, seed: int, tally: Tally) -> tuple[Generator, Case]:
    tally.schemas += 1
    for level in (0, 1):
        generator = Generator(seed, engine.name, level)
        try:
            return generator, Case(engine, generator.tables, generator.views)
        except Unsupported as error:
            tally.refused_schemas[error.construct] += 1
    generator = Generator(seed, engine.name, 2)
    return generator, Case(engine, generator.tables, generator.views)


# --- making a difference small --------------------------------------------------------------------------------


def report(
    engine: Engine, case: Case, rows: dict[str, list[tuple[Any, ...]]], generated: Generated, problem: str
) -> str:
    """The difference as a script, with everything taken out of it that it does not need."""
    tables = [replace(spec, rows=rows[name]) for name, spec in case.specs.items()]
    found = _differs(engine, tables, case.extra, generated.piece)
    if found is None:
        return f"(needs its history) {problem}\n    {generated.piece}\n    {'; '.join(case.schema)}"
    tables, tree, problem = shrink(engine, tables, case.extra, generated.piece, found)
    lines = [line for table in tables for line in (table.ddl(), *table.inserts())]
    return "\n    ".join([problem, *lines, *case.extra, str(tree)])


def _differs(engine: Engine, tables: Sequence[TableSpec], extra: Sequence[str], tree: Piece) -> str | None:
    try:
        return Case(engine, tables, extra).step(str(tree)).problem
    except (SqlSemanticsError, AssertionError):
        return None


def shrink(
    engine: Engine, tables: list[TableSpec], extra: Sequence[str], tree: Piece, problem: str
) -> tuple[list[TableSpec], Piece, str]:
    """Greedy: the first smaller case that still differs, until none does or the attempts are used up."""
    attempts = SHRINK_ATTEMPTS
    progress = True
    while progress and attempts > 0:
        progress = False
        for smaller_tables, smaller_tree in _smaller(tables, tree):
            attempts -= 1
            if attempts <= 0:
                break
            found = _differs(engine, smaller_tables, extra, smaller_tree)
            if found is not None:
                tables, tree, problem = smaller_tables, smaller_tree, found
                progress = True
                break
    return tables, tree, problem


def _smaller(tables: list[TableSpec], tree: Piece) -> Iterable[tuple[list[TableSpec], Piece]]:
    for place, table in enumerate(tables):
        if table.rows:
            for kept in (table.rows[: len(table.rows) // 2], table.rows[len(table.rows) // 2 :]):
                if len(kept) < len(table.rows):
                    yield [*tables[:place], replace(table, rows=list(kept)), *tables[place + 1 :]], tree
    for smaller in simpler(tree):
        yield tables, smaller
    for place, table in enumerate(tables):
        for index in range(len(table.rows)):
            kept = [*table.rows[:index], *table.rows[index + 1 :]]
            yield [*tables[:place], replace(table, rows=kept), *tables[place + 1 :]], tree
    if len(tables) > 1:
        for place in range(len(tables)):
            yield [*tables[:place], *tables[place + 1 :]], tree
