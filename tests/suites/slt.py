"""Reads sqllogictest files and runs their records in the interpreter (https://sqlite.org/sqllogictest, "Test Script
Format"; sqllogictest-rs writes rows on one line each and regular expressions after ``error``).

A record passes, fails, or lies outside the fragment, with the construct named. With an engine of the dialect beside the
interpreter, an expectation that the engine does not meet either is another product's (RisingLight divides by zero),
and then the interpreter must agree with the engine; what a record outside the fragment wrote is read back from the
engine. Without one, everything after such a record is outside. Does not know which constructs should be inside.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import ResultSet
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from tests.differential.engines import Answer, Engine
from tests.suites.files import name_of, text_of
from tests.suites.ways import every_way

PRODUCTS = {"sqlite": "sqlite", "postgres": "postgresql", "mysql": "mysql", "duckdb": "duckdb"}
"""Our dialects by the names that ``skipif`` and ``onlyif`` use."""


@dataclass(frozen=True, slots=True)
class Record:
    """One statement or query with what is expected of it.

    `types` is None for a statement; `sort` is nosort, rowsort or valuesort; `values` are the lines below ``----``.
    """

    line: int
    sql: str
    fails: bool
    types: str | None = None
    sort: str = "nosort"
    values: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """How a file went. `foreign` counts expectations that the engine does not meet either; `failed` holds (line, sql,
    why)."""

    passed: int = 0
    foreign: int = 0
    failed: list[tuple[int, str, str]] = field(default_factory=list)
    outside: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Sum up."""
        self.passed += other.passed
        self.foreign += other.foreign
        self.failed += other.failed
        self.outside += other.outside


def read_records(text: str, product: str) -> Iterator[Record]:
    """The records of a script that are for this product, up to ``halt``. Raises ValueError for a line unknown here."""
    lines = text.splitlines()
    place = 0
    applies = True
    while place < len(lines):
        words = lines[place].split("#")[0].split()
        start = place
        place += 1
        if not words or words[0] in ("hash-threshold", "subtest"):
            continue
        if words[0] in ("skipif", "onlyif"):
            applies = applies and (words[1] == product) == (words[0] == "onlyif")
            continue
        if words[0] == "halt":
            if applies:
                return
            applies = True
            continue
        if words[0] not in ("statement", "query"):
            raise ValueError(f"line {start + 1}: {lines[start]}")
        sql, place = _until(lines, place, ("", "----"))
        values: list[str] = []
        if place < len(lines) and lines[place] == "----":
            values, place = _until(lines, place + 1, ("",))
        if applies:
            fails = words[1] == "error"
            query = words[0] == "query" and not fails
            sort = words[2] if query and len(words) > 2 else "nosort"
            text_of = "\n".join(sql).strip().rstrip(";")
            yield Record(start + 1, text_of, fails, words[1] if query else None, sort, tuple(values))
        applies = True


def _until(lines: Sequence[str], place: int, ends: tuple[str, ...]) -> tuple[list[str], int]:
    found = []
    while place < len(lines) and lines[place].strip() not in ends:
        found.append(lines[place])
        place += 1
    return found, place


class Runner:
    """A database in memory under one dialect, and the `engine` beside it. `one_line`: result rows stand on one line
    each (sqllogictest-rs)."""

    def __init__(self, dialect: str, one_line: bool, engine: Engine | None = None) -> None:
        collation = {"mysql": "utf8mb4_0900_bin", "postgres": "C"}.get(dialect)
        self.dialect = Dialect(dialect, collation=collation)
        self.one_line = one_line
        self.engine = engine
        self.schema: list[str] = []
        self.catalog = Catalog({}, {})
        self.view = MemoryView({})
        self.lost: str | None = None
        if engine is not None:
            engine.clear()

    def run(self, record: Record, tally: Tally) -> None:
        """Run one record and tell how it went."""
        answer = None if self.engine is None else self.engine.run(record.sql)
        if self.lost is not None:
            tally.outside[f"after {self.lost}"] += 1
            return
        try:
            problem, result = self._problem(record)
        except (Unsupported, UnknownTable, SchemaError) as error:
            construct = error.construct if isinstance(error, Unsupported) else str(error)
            tally.outside[re.sub(r"(text that the parser refuses):.*", r"\1", construct)] += 1
            if record.types is None and not record.fails:
                self._catch_up(construct)
            return
        if problem is None:
            tally.passed += 1
        elif answer is not None and self._agrees(record, result, answer):
            tally.foreign += 1
            self._catch_up("")
        else:
            tally.failed.append((record.line, record.sql, problem))

    def _catch_up(self, construct: str) -> None:
        """The tables as the engine holds them; without one they are lost."""
        if self.engine is None:
            self.lost = construct
            return
        rows = {}
        for name in self.catalog.tables:
            answer = self.engine.run(f"SELECT * FROM {name}")
            rows[name] = list(answer.rows or ())
        self.view = MemoryView(rows)

    def _agrees(self, record: Record, result: ResultSet[Any] | SqlError | None, answer: Answer) -> bool:
        """Whether the engine answers as the interpreter did."""
        if isinstance(result, SqlError) or answer.error is not None:
            return isinstance(result, SqlError) and answer.error in ("any", result.sqlstate)
        if record.types is None or result is None:
            return True
        rows = [tuple(map(_plain, row)) for row in result.rows]
        return _unlike(rows, [tuple(map(_plain, row)) for row in answer.rows or ()], result, record.sort) is None

    def _problem(self, record: Record) -> tuple[str | None, ResultSet[Any] | SqlError | None]:
        """Why the record fails, or None, and what the statement answered."""
        before = {name: self.view.rows(name) for name in self.catalog.tables}
        try:
            result = self._execute(record.sql)
        except SqlError as error:
            self.view = MemoryView(before)
            return (None if record.fails or error.may else f"{error}"), error
        except UnknownTable:
            if record.fails:
                return None, None
            raise
        if record.fails:
            return "succeeds", result
        if record.types is None:
            return None, result
        problem = self._difference(record, result)
        for other in every_way(self.view, lambda: self._execute(record.sql)) if problem is not None else ():
            if self._difference(record, other) is None:
                return None, other
        return problem, result

    def _execute(self, sql: str) -> ResultSet[Any] | None:
        words = sql.split(None, 3)
        kind = " ".join(words[:2]).upper()
        if kind == "DROP TABLE" and "." not in words[2]:
            self._drop(words[2])
            return None
        if words[0].upper() == "CREATE":
            self.catalog = Catalog(read_schema([*self.schema, sql], self.dialect), {})
            self.schema.append(sql)
            return None
        bound = bind(sql, None, self.catalog, self.dialect)
        if free_errors(bound.statement, self.catalog, self.dialect.name) and not bound.read_only:
            raise Unsupported("a write that may fail or not")
        outcome = compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ())
        if not bound.read_only:
            self._check_keys()
        return outcome.results[0] if outcome.results else None

    def _drop(self, name: str) -> None:
        table = name.strip('"').lower()
        if table not in self.catalog.tables:
            raise UnknownTable(table)
        self.schema = [ddl for ddl in self.schema if not re.search(rf"\b(TABLE|ON)\s+\"?{table}\b", ddl, re.IGNORECASE)]
        self.catalog = Catalog(read_schema(self.schema, self.dialect), {})
        self.view = MemoryView({known: self.view.rows(known) for known in self.catalog.tables})

    def _check_keys(self) -> None:
        """Keys are no business of the interpreter: they hang on states. Raises SqlError 23505."""
        for name, table in self.catalog.tables.items():
            for key in table.keys:
                values = [tuple(row[column] for column in key.columns) for row in self.view.rows(name)]
                values = [value for value in values if None not in value]
                if len(set(values)) < len(values):
                    raise SqlError("23505", f"duplicate key {key.name}")

    def _difference(self, record: Record, result: ResultSet[Any] | None) -> str | None:
        """Why the expected values are no possible answer, or None."""
        if result is None:
            return "no result"
        if self.one_line:
            rows = [" ".join(" ".join(map(_plain, row)).split()) for row in result.rows]
            return _unlike(rows, [" ".join(line.split()) for line in record.values], result, record.sort)
        types = (record.types or "").ljust(len(result.types), "?")
        flat = [tuple(map(_formatted, row, types)) for row in result.rows]
        expected = list(record.values)
        hashed = re.fullmatch(r"(\d+) values hashing to ([0-9a-f]{32})", expected[0]) if len(expected) == 1 else None
        if hashed is None and record.sort != "valuesort":
            width = len(result.types)
            if len(expected) % width:
                return f"{len(expected)} values, expected rows of {width}"
            wanted = [tuple(expected[i : i + width]) for i in range(0, len(expected), width)]
            return _unlike(flat, wanted, result, record.sort)
        if result.limit is not None or result.offset:
            raise Unsupported("LIMIT under a hash")
        if record.sort == "rowsort":
            flat.sort()
        values = list(itertools.chain.from_iterable(flat))
        if record.sort == "valuesort":
            values.sort()
        if hashed is None:
            return None if values == expected else f"{values[:8]}, expected {expected[:8]}"
        digest = hashlib.md5("".join(f"{value}\n" for value in values).encode()).hexdigest()
        right = (len(values), digest) == (int(hashed[1]), hashed[2])
        return None if right else f"{len(values)} values {values[:8]}, expected another hash"


def _unlike(ours: list[Any], wanted: list[Any], result: ResultSet[Any], sort: str) -> str | None:
    """The rows as a sequence up to ties, with OFFSET and LIMIT; without ORDER BY as a multiset."""
    end = len(ours) if result.limit is None else min(result.offset + result.limit, len(ours))
    start = min(result.offset, len(ours))
    if len(wanted) != max(end - start, 0):
        return f"{max(end - start, 0)} rows {ours[:4]}, expected {len(wanted)} {wanted[:4]}"
    keys: list[Any] = [0] * len(ours) if result.keys is None or sort == "rowsort" else result.keys
    place = 0
    for _, group in itertools.groupby(range(len(ours)), key=lambda i: keys[i]):
        tied = list(group)
        got = Counter(wanted[max(place - start, 0) : max(min(place + len(tied), end) - start, 0)])
        possible = Counter(ours[i] for i in tied)
        if got - possible:
            return f"{list((possible - got).elements())[:4]}, expected {list((got - possible).elements())[:4]}"
        place += len(tied)
    return None


def _formatted(value: Any, type_: str) -> str:
    """A value as sqllogictest prints it: I as an integer, R with three digits, T as text."""
    if value is None:
        return "NULL"
    if type_ == "I":
        number = re.match(r"[+-]?\d+", value) if isinstance(value, str) else None
        return number[0] if number is not None else "0" if isinstance(value, str) else str(int(value))
    if type_ == "R":
        return f"{float(value):.3f}"
    text = str(value)
    return "".join(c if " " <= c <= "~" else "@" for c in text) or "(empty)"


def _plain(value: Any) -> str:
    """A value as sqllogictest-rs prints it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value.normalize() if value else Decimal(0), "f")
    return str(value) or "(empty)"


def run_file(path: Path, dialect: str, engine: Engine | None = None) -> Tally:
    """All records of a file under one dialect, in a database of their own."""
    tally = Tally()
    runner = Runner(dialect, name_of(path).endswith(".slt"), engine)
    for record in read_records(text_of(path), PRODUCTS[dialect]):
        runner.run(record, tally)
    return tally
