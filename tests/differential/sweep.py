"""Every function, operator and cast of the fragment with columns, typed and untyped literals, parameters and NULL,
beside the real engine: ``python -m tests.differential.sweep ENGINE [EXPRESSIONS]``.

Values are compared in full, digits of floats, scales of decimals and SQLite's storage classes included, and so are the
types of results. What the interpreter refuses by name is counted and passed over. Does not know statements around an
expression.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
import time as clock
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import ResultSet
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect, read_version
from sql_semantics.values.functions import rules
from sql_semantics.values.types import INTEGER_KINDS, NUMBER_KINDS, Interval, Kind, SqlType
from tests.differential.comparison import as_stored, shown
from tests.differential.engines import Engine
from tests.differential.result_types import Typed, ask
from troubadour.execution.observations.errors import PARAMETER_ERRORS
from troubadour.execution.prepared import arguments_of
from troubadour.model.values import param_shape, read_value
from troubadour.record.values import to_json

COLUMNS: dict[str, dict[str, tuple[str, Sequence[str]]]] = {
    "postgres": {
        "s": ("smallint", ("7", "-3")), "i": ("integer", ("1", "2147483647")), "b": ("bigint", ("12", "-5")),
        "n": ("numeric", ("1.50", "-0.005")), "n2": ("numeric(10,2)", ("3.10", "-2.05")), "r": ("real", ("0.1", "2.5")),
        "d": ("double precision", ("0.1", "-2.5")), "bo": ("boolean", ("true", "false")),
        "c": ("char(3)", ("'a'", "'b1'")),
        "vc": ("varchar(5)", ("'ab'", "'12'")), "t": ("text", ("'Ab c'", "'3'")),
        "da": ("date", ("'2024-02-29'", "'1999-12-31'")), "ti": ("time", ("'01:02:03.5'", "'23:59:59'")),
        "ts": ("timestamp", ("'2024-02-29 13:45:07.25'", "'1999-12-31 00:00:00'")),
        "tz": ("timestamptz", ("'2024-02-29 13:45:07Z'", "'1999-12-31 00:00:00Z'")),
        "iv": ("interval", ("'1 mon 2 days 03:00:00'", "'-1 day'")), "bt": ("bytea", ("'\\x6162'", "'\\x'")),
        "u": ("uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",)), "j": ("json", ("'{\"a\": 1}'",)),
    },
    "mysql": {
        "i": ("INT", ("1", "2147483647")), "b": ("BIGINT", ("12", "-5")), "un": ("INT UNSIGNED", ("3", "4000000000")),
        "n2": ("DECIMAL(10,2)", ("3.10", "-2.05")), "d": ("DOUBLE", ("0.1", "-2.5")), "c": ("CHAR(3)", ("'a'", "'b1'")),
        "vc": ("VARCHAR(5)", ("'ab'", "'12'")), "t": ("TEXT", ("'Ab c'", "'3'")),
        "da": ("DATE", ("'2024-02-29'", "'1999-12-31'")), "ti": ("TIME", ("'01:02:03'", "'23:59:59'")),
        "ts": ("DATETIME", ("'2024-02-29 13:45:07'", "'1999-12-31 00:00:00'")),
    },
    "sqlite": {
        "i": ("INTEGER", ("1", "9007199254740993")), "r": ("REAL", ("0.1", "2.5")), "t": ("TEXT", ("'Ab c'", "'3'")),
        "n": ("NUMERIC", ("3", "2.5")), "da": ("DATE", ("'2024-02-29'", "'1999-12-31'")),
        "ts": ("DATETIME", ("'2024-02-29 13:45:07'",)), "bt": ("BLOB", ("x'6162'", "x''")),
    },
    "duckdb": {
        "y": ("TINYINT", ("7", "-3")), "s": ("SMALLINT", ("7", "-3")), "i": ("INTEGER", ("1", "2147483647")),
        "b": ("BIGINT", ("12", "-5")), "n2": ("DECIMAL(10,2)", ("3.10", "-2.05")),
        "n5": ("DECIMAL(18,5)", ("1.5", "-0.00005")),
        "r": ("FLOAT", ("0.1", "2.5")), "d": ("DOUBLE", ("0.1", "-2.5")), "bo": ("BOOLEAN", ("true", "false")),
        "t": ("VARCHAR", ("'Ab c'", "'3'")), "da": ("DATE", ("'2024-02-29'", "'1999-12-31'")),
        "ts": ("TIMESTAMP", ("'2024-02-29 13:45:07.25'", "'1999-12-31 00:00:00'")),
        "iv": ("INTERVAL", ("'1 day'", "'-2 hours'")), "u": ("UUID", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",)),
    },
}  # fmt: skip
LITERALS: dict[str, tuple[str, ...]] = {
    "postgres": (
        "'1'", "'ab'", "'2024-01-31'", "NULL", "1", "-2", "1.50", "1e1", "3000000000", "true", "date '2024-01-31'",
    ),
    "mysql": ("'1'", "'ab'", "'2024-01-31'", "'1e500'", "NULL", "1", "-2", "1.50", "1e1", "3000000000", "true"),
    "sqlite": ("'1'", "'ab'", "'2024-01-31'", "NULL", "1", "-2", "1.5", "1e1", "9223372036854775807", "x'61'"),
    "duckdb": (
        "'1'", "'ab'", "'2024-01-31'", "NULL", "1", "-2", "1.50", "1e1", "3000000000", "true", "date '2024-01-31'",
    ),
}  # fmt: skip
PARAMETERS: tuple[Any, ...] = (1, -2, 3_000_000_000, 2.5, "ab", "1", "2024-01-31", None, True)
CASTS: dict[str, tuple[str, ...]] = {
    "postgres": tuple(type_ for type_, _ in COLUMNS["postgres"].values()),
    "mysql": (
        "SIGNED",
        "UNSIGNED",
        "DECIMAL(10,1)",
        "DECIMAL",
        "CHAR",
        "CHAR(2)",
        "DOUBLE",
        "DATE",
        "DATETIME",
        "TIME",
    ),
    "sqlite": ("INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB", "VARCHAR(2)", "BOOLEAN", "DATE"),
    "duckdb": tuple(type_ for type_, _ in COLUMNS["duckdb"].values()),
}
OPERATORS: dict[str, tuple[str, ...]] = {
    "postgres": ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "IS DISTINCT FROM", "LIKE", "~"),
    "mysql": ("+", "-", "*", "/", "%", "DIV", "=", "<>", "<", ">=", "<=>", "LIKE"),
    "sqlite": ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "IS", "LIKE"),
    "duckdb": ("+", "-", "*", "/", "//", "%", "||", "=", "<>", "<", ">=", "IS DISTINCT FROM", "LIKE"),
}
FORMS = (
    *("COALESCE({}, {})", "NULLIF({}, {})", "CASE WHEN k > 1 THEN {} ELSE {} END", "{} IN ({})", "{} IN ({}, NULL)"),
    *("GREATEST({}, {})", "{} BETWEEN {} AND 9", "CASE {} WHEN {} THEN 1 END"),
)
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")
FIELDS = ("year", "month", "day", "hour", "minute", "second", "epoch", "dow", "quarter", "doy")
_LEFT_OUT = re.compile(r"pg_\w+|sleep|extract|position|xor|negate|kept setting|with collation")
"""Functions that wait and lock, and those that are called with keywords."""


@dataclass(slots=True)
class Sweep:
    """How a sweep went."""

    asked: int = 0
    compared: int = 0
    errors: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def rows_of(engine: str) -> list[str]:
    """VALUES lists: each column runs through its values and NULL."""
    lists = []
    for place in range(4):
        cells = [(*values, "NULL")[(place + shift) % (len(values) + 1)]
                 for shift, (_, values) in enumerate(COLUMNS[engine].values())]  # fmt: skip
        lists.append(f"({place}, {', '.join(cells)})")
    return lists


def expressions(engine: str) -> Iterator[str]:
    """Every expression of the sweep; a parameter is written ``?``."""
    dialect = Dialect(engine)
    terms = [*COLUMNS[engine], *LITERALS[engine], "?"]
    pairs = list(itertools.product(terms, repeat=2))
    for operator in OPERATORS[engine]:
        yield from (f"{left} {operator} {right}" for left, right in pairs)
    for form in FORMS:
        if "GREATEST" not in form or engine != "sqlite":
            yield from (form.format(left, right) for left, right in pairs)
    yield from (f"CAST({term} AS {type_})" for term in terms for type_ in CASTS[engine])
    yield from (f"{aggregate}({term})" for term in terms for aggregate in AGGREGATES)
    yield from (f"{aggregate}(DISTINCT {term})" for term in terms for aggregate in ("SUM", "AVG"))
    if engine != "sqlite":
        yield from (f"EXTRACT({part} FROM {term})" for term in terms for part in FIELDS)
    drawn = random.Random(23)
    triples = list(itertools.product(terms, repeat=3))
    for name in sorted(rules(dialect)):
        if not name.replace("_", "").isalnum() or _LEFT_OUT.fullmatch(name) or (name, engine) == ("trim", "mysql"):
            continue
        yield from (f"{name}({term})" for term in terms)
        yield from (f"{name}({left}, {right})" for left, right in pairs)
        yield from (f"{name}({', '.join(given)})" for given in drawn.sample(triples, min(len(triples), 60)))
    if engine == "postgres":
        yield from (f"substring({left} FROM {right})" for left, right in pairs)
        yield from (f"{term} = ANY (ARRAY[{other}, NULL])" for term, other in pairs)


class Beside:
    """One engine and the interpreter over the table of the sweep."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        name = engine.name
        version = ask(engine, "SELECT version()").value() if name == "duckdb" else None
        self.dialect = Dialect(name, collation=engine.collation, version=read_version(version))
        ddl = f"CREATE TABLE o (k INTEGER, {', '.join(f'{n} {t}' for n, (t, _) in COLUMNS[name].items())})"
        engine.clear()
        for sql in (ddl, *(f"INSERT INTO o VALUES {row}" for row in rows_of(name))):
            answer = engine.run(sql)
            assert answer.error is None, (sql, answer)
        self.catalog = Catalog(read_schema([ddl], self.dialect))
        types = [column.type for column in self.catalog.tables["o"].columns]
        stored = engine.run("SELECT * FROM o").rows
        assert stored is not None
        self.view = MemoryView({"o": [tuple(map(as_held, row, types)) for row in stored]})

    def ours(self, sql: str, parameters: Sequence[Any]) -> ResultSet[Any] | SqlError:
        """The interpreter's answer. Raises Unsupported."""
        given = [to_json(value) for value in parameters] if parameters else None
        try:
            bound = bind(sql, param_shape(given), self.catalog, self.dialect)
            run = compile_statement(bound.statement, self.catalog, self.dialect)
            return run(self.view, arguments_of(given, bound.parameters, self.dialect)).results[0]
        except SqlError as error:
            return error
        except ValueError as error:  # a parameter that does not fit: bad input, which an error explains
            if not self.dialect.reads_untyped_texts:
                raise Unsupported("a parameter of another type than it is used as") from error
            return SqlError("any", str(error))

    def compare(self, expression: str, parameters: Sequence[Any], tally: Sweep) -> None:
        """One expression on both sides, row by row where it fails for some."""
        aggregate = expression.split("(")[0] in AGGREGATES
        before = len(tally.differences)
        for condition in ("",) if aggregate else ("", " WHERE k = 0", " WHERE k = 1", " WHERE k = 2", " WHERE k = 3"):
            sql = f"SELECT {expression} AS x FROM o{condition}"
            tally.asked += 1
            try:
                mine = self.ours(sql, parameters)
            except Unsupported as refusal:
                tally.refused[refusal.construct.split("'")[0]] += 1
                if condition or refusal.construct.startswith(("function", "operator", "type", "cast")):
                    return
                continue
            theirs = ask(self.engine, sql, parameters)
            tally.compared += 1
            problem = self.difference(mine, theirs, sql, parameters)
            if problem is not None and len(tally.differences) == before:
                tally.differences.append(f"{sql} {list(parameters) or ''}: {problem}")
            if theirs.error is None and not isinstance(mine, SqlError):
                return
            tally.errors += 1
            if theirs.error is not None and theirs.error[:2] in ("42", "0A"):
                return

    def difference(
        self, mine: ResultSet[Any] | SqlError, theirs: Typed, sql: str, parameters: Sequence[Any]
    ) -> str | None:
        """What differs, None for nothing."""
        if isinstance(mine, SqlError):
            if theirs.error is None:
                return None if mine.may else f"fails here with {mine}; there {theirs.rows[:4]}"
            same = "any" in (mine.sqlstate, theirs.error) or mine.sqlstate[:2] == theirs.error[:2]
            same = same or (bool(parameters) and theirs.error[:2] == "42")
            same = same or {mine.sqlstate[:2], theirs.error[:2]} == {"22", "42"}  # a text with two mistakes
            return None if same else f"fails here with {mine}, there with {theirs.error}"
        if theirs.error is not None:
            given = [to_json(value) for value in parameters] if parameters else None
            statement = bind(sql, param_shape(given), self.catalog, self.dialect).statement
            free = free_errors(statement, self.catalog, self.dialect.name)
            refused = theirs.error[:2] == "42" or theirs.error in PARAMETER_ERRORS
            if parameters and (refused or theirs.message.startswith("Binder Error")):
                return None  # a driver gives a parameter a type by its value
            return None if theirs.error in free else f"fails there with {theirs.error} {theirs.message[:90]}"
        type_ = mine.types[0]
        if not parameters and (other := theirs.differs(type_)) is not None:  # of a parameter a driver decides
            return f"is {type_} here, {other} there"
        ours = Counter(strict(row[0], type_, self.dialect.name) for row in mine.rows)
        engines = Counter(strict(as_held(row[0], type_), type_, self.dialect.name) for row in theirs.rows)
        if parameters and self.dialect.name != "sqlite" and type_.kind in NUMBER_KINDS:
            held = [as_held(row[0], type_) for row in theirs.rows]
            ours, engines = Counter(row[0] for row in mine.rows), Counter(held)
        if ours != engines:
            return f"{dict(ours - engines)} here, {dict(engines - ours)} there"
        return None


def as_held(value: Any, type_: SqlType) -> Any:
    """A driver's value as the interpreter holds it."""
    if isinstance(value, str) and (type_.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME) or type_.kind is Kind.JSONB):
        return read_value(value, type_)
    if isinstance(value, int) and not isinstance(value, bool) and type_.kind is Kind.NUMERIC:
        return Decimal(value)
    if isinstance(value, str) and type_.padded:
        return value.rstrip(" ")
    if isinstance(value, timedelta) and type_.kind is Kind.INTERVAL:
        total = value // timedelta(microseconds=1)
        days = abs(total) // 86_400_000_000 * (1 if total >= 0 else -1)
        return Interval(days=days, microseconds=total - days * 86_400_000_000)
    return as_stored(value, type_)


def strict(value: Any, type_: SqlType, engine: str) -> str:
    """A value with everything that must agree."""
    if isinstance(value, bool) and engine in ("sqlite", "mysql"):
        value = int(value)
    if isinstance(value, bool) and type_.kind in INTEGER_KINDS:
        return f"bool {value}"
    if isinstance(value, str) and type_.padded:
        value = value.rstrip(" ")
    if engine == "mysql" and isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        value = int(value)  # of signed and unsigned integers together it makes DECIMALs
    if isinstance(value, date):
        return f"{type(value).__name__} {value.isoformat()}"
    return shown(value)


def sweep(engine: Engine, drawn: Sequence[str]) -> Sweep:
    """The expressions, each with parameters of several kinds where it has one."""
    beside, tally = Beside(engine), Sweep()
    chance = random.Random(5)
    for expression in drawn:
        count = expression.count("?")
        for _ in range(3 if count else 1):
            beside.compare(expression, [chance.choice(PARAMETERS) for _ in range(count)], tally)
    return tally


def main() -> int:
    from tests.differential.campaign import engine_named

    name, start = sys.argv[1], clock.process_time()
    drawn = list(expressions(name))
    if len(sys.argv) > 2:
        drawn = random.Random(1).sample(drawn, min(int(sys.argv[2]), len(drawn)))
    with engine_named(name) as engine:
        tally = sweep(engine, drawn)
    lines = [
        *tally.differences,
        f"{name}: {len(drawn)} expressions, {tally.compared} answers compared ({tally.errors} errors),"
        f" {sum(tally.refused.values())} refused, {len(tally.differences)} differ,"
        f" {clock.process_time() - start:.0f} s",
        *(f"  {times:6} {construct}" for construct, times in tally.refused.most_common(12)),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
