"""Runs generated cases on a real engine beside the interpreter, tells where they differ, and makes that small. Does not
know how statements are generated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sql_semantics.errors import SqlSemanticsError, Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside, only_reads
from tests.differential.engines import Engine
from tests.differential.explained import explanations
from troubadour.hunt.generate.generator import Generated, Generator
from troubadour.hunt.generate.pieces import Piece, simpler
from troubadour.hunt.generate.schemas import TableSpec

SHRINK_ATTEMPTS = 400


@dataclass(slots=True)
class Tally:
    """How a run went; `unsupported` and `inside` count by construct, `features` what the generator used; `explained_in`
    has the numbers of the cases."""

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
    explained_in: dict[str, list[int]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)


class Case(Beside):
    """One schema with its data, in the engine and in a `MemoryView`. Raises Unsupported from the schema."""

    def __init__(self, engine: Engine, tables: Sequence[TableSpec], extra: Sequence[str] = ()) -> None:
        self.specs = {table.name: table for table in tables}
        self.extra = tuple(extra)
        dialect = Dialect(engine.name, collation=engine.collation, foreign_keys=engine.name == "sqlite" or None)
        self.schema = [table.ddl() for table in tables] + list(extra)
        catalog = Catalog(read_schema(self.schema, dialect), {})
        engine.clear()
        for ddl in self.schema:
            answer = engine.run(ddl)
            assert answer.error is None, f"{engine.name} refuses {ddl}: {answer.message}"
        for table in tables:
            engine.fill(table.name, table.filled(), table.rows)
        super().__init__(engine, dialect, catalog)

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """What the tables hold, as the interpreter sees it."""
        return {name: list(self.view.rows(name)) for name in self.specs}

    def filled(self, rows: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
        """The same in the columns that are filled only."""
        places = {
            name: [place for place, column in enumerate(spec.columns) if column.generated is None]
            for name, spec in self.specs.items()
        }
        return {name: [tuple([row[p] for p in places[name]]) for row in found] for name, found in rows.items()}


def run_cases(
    engine: Engine,
    seed: int,
    statements: int,
    per_case: int = 25,
    most: int = 5,
    tell: Callable[[Tally], object] | None = None,
) -> Tally:
    """`statements` generated statements, a fresh schema every `per_case`; ends early after `most` differences.

    `tell` is told how it stands after each schema.
    """
    tally = Tally()
    number = 0
    while tally.statements < statements and len(tally.differences) < most:
        run_case(engine, seed * 1_000_000 + number, per_case, tally)
        number += 1
        if tell is not None:
            tell(tally)
    return tally


def run_case(engine: Engine, seed: int, statements: int, tally: Tally) -> None:
    """One schema and its statements; a plainer schema where the first is refused."""
    generator, case = _started(engine, seed, tally)
    for _ in range(statements):
        generated = generator.statement()
        sql = str(generated.piece)
        tally.statements += 1
        tally.features.update(generated.features)
        before = case.rows() if not only_reads(sql) else None
        done = case.step(sql)
        if done.outside is not None:
            tally.unsupported[done.outside] += 1
            continue
        tally.compared += 1
        tally.errors += done.error
        tally.may += done.may
        tally.inside.update(generated.features)
        if done.problem is not None:
            found = before or case.rows()
            rows = case.filled(found)
            reason, case = explained(engine, case, found, sql, done.problem)
            if reason is not None:
                tally.explained[reason] += 1
                tally.explained_in.setdefault(reason, []).append(seed)
                continue
            tally.differences.append(f"case {seed}: {report(engine, case, rows, generated, done.problem)}")
            case = Case(engine, [replace(spec, rows=rows[name]) for name, spec in case.specs.items()], case.extra)


def explained(
    engine: Engine, case: Case, rows: dict[str, list[tuple[Any, ...]]], sql: str, problem: str
) -> tuple[str | None, Case]:
    """Why a statement that ran on `rows` differs, where that is known; and the case to go on with."""
    filled = case.filled(rows)
    tables = [replace(spec, rows=filled[name]) for name, spec in case.specs.items()]
    for known in explanations(engine.name, sql, problem):
        if known.plain:
            generated = any(column.generated is not None for table in tables for column in table.columns)
            ordinary = [_ordinary(spec, rows[name]) for name, spec in case.specs.items()]
            agrees = generated and Case(engine, ordinary, case.extra).step(sql).problem is None
            case = Case(engine, tables, case.extra)
            if agrees:
                return known.reason, case
            continue
        if known.without is None:
            return known.reason, case
        off, on = known.without
        assert engine.run(off).error is None, off
        try:
            case = Case(engine, tables, case.extra)
            if case.step(sql).problem is None:
                return known.reason, case
        finally:
            engine.run(on)
    return None, case


def _ordinary(spec: TableSpec, rows: list[tuple[Any, ...]]) -> TableSpec:
    """The table with its generated columns as ordinary ones, which have the same values."""
    return replace(spec, columns=[replace(column, generated=None) for column in spec.columns], rows=rows)


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
