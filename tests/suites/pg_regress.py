"""PostgreSQL's regression scripts, statement by statement, on a real server beside the interpreter.

A statement is `same`, `refused` by name, `different`, or `skipped` (it is not for the interpreter at all: transaction
control, session settings, statements that the schema follows). The server is asked, not the expected output, which is
of another version. Does not know what the statements should answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sql_semantics.errors import SqlSemanticsError, Unsupported
from sql_semantics.frontend import read_procedures, read_schema
from sql_semantics.frontend.probes import probe_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value
from tests.differential.beside import Beside, only_reads
from tests.differential.engines import Engine

_ONEK = (
    "unique1 int4, unique2 int4, two int4, four int4, ten int4, twenty int4, hundred int4, thousand int4, "
    "twothousand int4, fivethous int4, tenthous int4, odd int4, even int4, stringu1 text, stringu2 text, string4 text"
)
_ONEK_ROWS = (
    "SELECT u, i, u % 2, u % 4, u % 10, u % 20, u % 100, u % 1000, u % 2000, u % 5000, u % 10000, (u % 100) * 2 + 1, "
    "(u % 100) * 2, chr(65 + u % 26) || chr(65 + u / 26 % 26) || 'AAAA', "
    "chr(65 + i % 26) || chr(65 + i / 26 % 26) || 'AAAA', (ARRAY['AAAAxx','HHHHxx','OOOOxx','VVVVxx'])[1 + i % 4] "
    "FROM (SELECT i, (i * 617 + 41) % {0} AS u FROM generate_series(0, {0} - 1) AS i) AS x"
)
SETUP = (
    ("int4_tbl", "f1 int4", "VALUES (0), (123456), (-123456), (2147483647), (-2147483647)"),
    (
        "int8_tbl",
        "q1 int8, q2 int8",
        "VALUES (123, 456), (123, 4567890123456789), (4567890123456789, 123), "
        "(4567890123456789, 4567890123456789), (4567890123456789, -4567890123456789)",
    ),
    ("text_tbl", "f1 text", "VALUES ('doh!'), ('hi de ho neighbor')"),
    ("float8_tbl", "f1 float8", "VALUES (0), (-34.84), (-1004.30), (-1.2345678901234e+200), (-1.2345678901234e-200)"),
    ("onek", _ONEK, _ONEK_ROWS.format(1000)),
    ("onek2", _ONEK, _ONEK_ROWS.format(1000)),
    ("tenk1", _ONEK, _ONEK_ROWS.format(600)),
)
"""The suite's usual tables as (name, columns, rows), as far as the scripts here use them, and some with fewer rows."""

TABLES = [name for name, _, _ in SETUP]
_SESSION = re.compile(
    r"(BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|SET|RESET|SHOW|ANALYZE|VACUUM|LISTEN|NOTIFY|COPY|GRANT|"
    r"REVOKE|PREPARE|EXECUTE|DEALLOCATE|DISCARD|LOCK|EXPLAIN|DECLARE|FETCH|MOVE|CLOSE|CHECKPOINT|DO)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(r"(ROLLBACK|ABORT|COMMIT|END|DO|TRUNCATE|CREATE|DROP|ALTER|EXECUTE)\b", re.IGNORECASE)
_DDL = re.compile(r"(CREATE|DROP|ALTER|COMMENT|TRUNCATE)\b", re.IGNORECASE)
_CONFORMING = re.compile(r"SET\s+standard_conforming_strings", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<![:\w]):['\"]?[A-Za-z_]")
_TABLE = re.compile(r"CREATE\s+(TEMP(?:ORARY)?\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s*\(", re.IGNORECASE)
_VIEW = re.compile(r"CREATE\s+VIEW\s+(\w+)", re.IGNORECASE)
_INDEX = re.compile(r"CREATE\s+(UNIQUE\s+)?INDEX\s+\w*\s*ON\s+(\w+)", re.IGNORECASE)
_FUNCTION = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+(\w+)", re.IGNORECASE)
_DROPPED = re.compile(r"DROP\s+(TABLE|VIEW|FUNCTION|PROCEDURE)\s+(?:IF\s+EXISTS\s+)?([\w\s,.]+)", re.IGNORECASE)


def _refuse(source: str, name: str, type: SqlType) -> Value:
    """Sequences go on where the server's stand, which nobody tells."""
    raise Unsupported(f"a value that the DBMS chooses ({source})")


@dataclass(slots=True)
class Report:
    """Counts of statements; `refused` by construct."""

    same: int = 0
    errors: int = 0
    skipped: int = 0
    schema: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Sum up."""
        self.same += other.same
        self.errors += other.errors
        self.skipped += other.skipped
        self.schema += other.schema
        self.refused += other.refused
        self.differences += other.differences

    def __str__(self) -> str:
        return (
            f"same {self.same} (of them errors {self.errors}), different {len(self.differences)}, "
            f"refused {sum(self.refused.values())}, schema {self.schema}, session {self.skipped}"
        )


class Script:
    """One script's state: what of the server's schema the interpreter follows."""

    def __init__(self, engine: Engine, connection: Any) -> None:
        self.engine = engine
        self.connection = connection
        self.definitions: dict[str, list[str]] = {}
        self.functions: dict[str, str] = {}
        self.report = Report()
        dialect = Dialect("postgres", collation=engine.collation)
        self.beside = Beside(engine, dialect, Catalog({}, {}))
        self.beside.choose = _refuse
        self.escapes = False

    # --- the schema ---------------------------------------------------------------------------------------------

    def setup(self, script: str) -> None:
        """Those of the suite's usual tables that the script's text names."""
        named = {name for name in TABLES if re.search(rf"\b{name}\b", script, re.IGNORECASE)}
        for name, columns, rows in SETUP:
            if name in named:
                for text in (f"CREATE TABLE {name} ({columns})", f"INSERT INTO {name} {rows}"):
                    answer = self.engine.run(text)
                    assert answer.error is None, answer.message
                self._created(f"CREATE TABLE {name} ({columns})")
        self.beside.load()

    def _follow(self, name: str, texts: list[str]) -> bool:
        """Take a table with these definitions into the catalog; False where they are not modelled."""
        trial = {**self.definitions, name: texts}
        try:
            tables = read_schema([text for group in trial.values() for text in group], self.beside.dialect)
        except SqlSemanticsError:
            return False
        self.definitions = trial
        self._catalog(tables)
        return True

    def _catalog(self, tables: Any) -> None:
        routines: dict[str, Any] = {}
        kept: dict[str, str] = {}
        for name, text in self.functions.items():
            trial = {**kept, name: text}
            try:
                routines = read_procedures(list(trial.values()), tables, self.beside.dialect)
            except SqlSemanticsError:
                continue
            kept = trial
        self.beside.catalog = Catalog(tables, routines)

    def _forget(self, name: str) -> None:
        """No longer follow a table (or whatever cannot be read without it)."""
        self.definitions.pop(name, None)
        while True:
            try:
                tables = read_schema([t for group in self.definitions.values() for t in group], self.beside.dialect)
            except SqlSemanticsError:
                self.definitions.popitem()
                continue
            self._catalog(tables)
            return

    def _created(self, sql: str) -> None:
        if (found := _TABLE.match(sql)) is not None:
            name = found.group(2).lower()
            text = re.sub(r"^CREATE\s+TEMP(ORARY)?\s+", "CREATE ", sql, flags=re.IGNORECASE)
            if not self._follow(name, [text]):
                self._forget(name)
        elif (found := _VIEW.match(sql)) is not None:
            self._follow(found.group(1).lower(), [sql])
        elif (found := _INDEX.match(sql)) is not None:
            name = found.group(2).lower()
            if name in self.definitions and not self._follow(name, [*self.definitions[name], sql]):
                self._forget(name)
        elif (found := _FUNCTION.match(sql)) is not None:
            self.functions[found.group(1).lower()] = sql
            self._catalog(self.beside.catalog.tables)
        elif (found := _DROPPED.match(sql)) is not None:
            for name in re.split(r"[\s,.]+", found.group(2).lower()):
                self.functions.pop(name, None)
                self._forget(name)
        elif not re.match(r"TRUNCATE|COMMENT|CREATE\s+(TYPE|DOMAIN|SEQUENCE|ROLE|USER|OPERATOR)", sql, re.IGNORECASE):
            for name in [name for name in self.definitions if re.search(rf"\b{name}\b", sql, re.IGNORECASE)]:
                self._forget(name)

    # --- statements -----------------------------------------------------------------------------------------------

    def run(self, texts: Iterable[str]) -> Report:
        """Every statement in turn."""
        for sql in texts:
            self._run(sql)
        return self.report

    def _failed(self) -> bool:
        return self.connection.info.transaction_status.name == "INERROR"

    def _run(self, sql: str) -> None:
        if _CONFORMING.search(sql):
            self.escapes = sql.lower().endswith("off")  # backslashes in plain literals: another language
        if self.escapes and not _SESSION.match(sql):
            self.report.skipped += 1
            self.engine.run(sql)
            if (found := _FUNCTION.match(sql)) is not None:
                self.functions.pop(found.group(1).lower(), None)
                self._catalog(self.beside.catalog.tables)
            self._resume(sql)
            return
        if _VARIABLE.search(sql) or (_SESSION.match(sql) and re.match("COPY|LISTEN|NOTIFY", sql, re.IGNORECASE)):
            self.report.skipped += 1
            return
        if _SESSION.match(sql) or self._failed():
            self.report.skipped += 1
            self.engine.run(sql)
            self._resume(sql)
            return
        if _DDL.match(sql):
            self.report.schema += 1
            if self.engine.run(sql).error is None:
                self._created(sql)
                self._resume(sql)
            return
        if self._is_probe(sql):
            # what a probe answers is not judged
            self.report.refused["a probe"] += 1
            self.engine.run(sql)
            self._resume(sql)
            return
        mentioned = [n for n in self.beside.catalog.tables if re.search(rf"\b{n}\b", sql, re.IGNORECASE)]
        self.beside.watched = mentioned
        try:
            step = self.beside.step(sql)
        except Unsupported as error:  # from filling the view again
            self.report.refused[error.construct] += 1
            return
        except SqlSemanticsError as error:
            self.report.refused[f"{type(error).__name__}"] += 1
            self.engine.run(sql)
            self._resume(sql)
            return
        if step.outside is not None:
            self.report.refused[step.outside] += 1
            self.engine.run(sql)
            self._resume(sql)
        elif step.problem is not None and step.problem.startswith("the engine failed with 25"):
            self.report.skipped += 1  # a read-only transaction
        elif step.problem is not None:
            self.report.differences.append(f"{sql}\n    {step.problem}")
        else:
            self.report.same += 1
            self.report.errors += step.error

    def _is_probe(self, sql: str) -> bool:
        try:
            found = probe_of(sql, self.beside.catalog, Dialect("postgres"))
        except SqlSemanticsError:
            return False
        return found is not None and only_reads(sql)

    def _resume(self, sql: str) -> None:
        """Fill the view from the server where the statement may have changed something."""
        if self._failed() or not (_CHANGES.match(sql) or not only_reads(sql) or re.search(r"\w+\s*\(", sql)):
            return
        for name in list(self.beside.catalog.tables):
            if self.engine.run(f"SELECT to_regclass('{name}')").rows == [(None,)]:
                self._forget(name)  # a transaction was rolled back, and the table with it
        self.beside.load()
