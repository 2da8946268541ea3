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

import psycopg

from sql_semantics.errors import SqlSemanticsError, Unsupported
from sql_semantics.frontend.probes import probe_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value
from tests.differential.beside import Beside, only_reads
from tests.differential.engines import Engine
from troubadour.record.postgres.capture import definitions

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
_ROLE = re.compile(r"(?:(SET)|RESET)\s+(?:LOCAL\s+|SESSION\s+)*(?:ROLE|AUTHORIZATION)\b", re.IGNORECASE)
_CONFORMING = re.compile(r"SET\s+standard_conforming_strings", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<![:\w]):['\"]?[A-Za-z_]")
_TEMPORARY = re.compile(
    r"CREATE\s+(?:LOCAL\s+)?TEMP(?:ORARY)?\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s*\(", re.IGNORECASE
)


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


def shares(reports: dict[str, Report]) -> list[str]:
    """The figures as Markdown: of the statements that the interpreter is asked, how many it answered."""
    lines = ["| script | statements | answered | share | different |", "|---|---:|---:|---:|---:|"]
    total = Report()
    for report in reports.values():
        total.add(report)
    for name, one in {**reports, "all": total}.items():
        asked = one.same + len(one.differences) + sum(one.refused.values())
        share = f"{one.same / asked:.0%}" if asked else "-"
        lines.append(f"| {name} | {asked} | {one.same} | {share} | {len(one.differences)} |")
    lines += ["", "| refused | statements |", "|---|---:|"]
    lines += [f"| {construct} | {count} |" for construct, count in total.refused.most_common(60)]
    return [*lines, *(f"DIFFERENT {text}" for text in total.differences)]


class Script:
    """One script's state. The schema is what the server's catalogs say, as a recorder reads them (temporary tables: as
    they were created), whenever a statement may have changed it."""

    def __init__(self, engine: Engine, connection: Any) -> None:
        self.engine = engine
        self.connection = connection
        self.report = Report()
        version = (connection.info.server_version // 10_000,)
        self.dialect = Dialect("postgres", collation=engine.collation, version=version)
        self.beside = Beside(engine, self.dialect, Catalog({}, {}))
        self.beside.choose = _refuse
        self.escapes = False
        self.temporary: dict[str, str] = {}
        self._known: tuple[list[str], list[str]] = ([], [])
        self._stale = True
        self.refused = ""
        self.another_role = False

    # --- the schema ---------------------------------------------------------------------------------------------

    def setup(self, script: str) -> None:
        """Those of the suite's usual tables that the script's text names."""
        named = {name for name in TABLES if re.search(rf"\b{name}\b", script, re.IGNORECASE)}
        for name, columns, rows in SETUP:
            if name in named:
                for text in (f"CREATE TABLE {name} ({columns})", f"INSERT INTO {name} {rows}"):
                    answer = self.engine.run(text)
                    assert answer.error is None, answer.message

    def _refresh(self) -> None:
        """Take over the server's definitions, and rows where these are others than before."""
        if not self._stale or self.another_role or self._failed():
            return
        self._stale = False
        made = definitions(_AsIs(self.connection))
        for name in list(self.temporary):
            if self.engine.run(f"SELECT to_regclass('pg_temp.{name}')").rows == [(None,)]:
                del self.temporary[name]  # its transaction was rolled back
        # what a temporary table hides is not followed
        schema = [text for text in made.schema if not _made_of(text, self.temporary)] + list(self.temporary.values())
        if (schema, made.routines) == self._known:
            self.beside.load()
            return
        self._known = schema, made.routines
        try:
            library = SqlLibrary(self.dialect, schema, made.routines)
        except Unsupported as error:
            self.refused = error.construct  # as of the audit, of which nothing is judged then
            return
        self.refused = ""
        self.beside.library, self.beside.dialect, self.beside.catalog = library, library.dialect, library.catalog
        self.beside.load()

    def _created(self, sql: str) -> None:
        self._stale = True
        found = _TEMPORARY.match(sql)
        if found is not None:
            self.temporary[found.group(1).lower()] = f"CREATE TABLE {sql[found.start(1) :]}"

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
            self._resume(sql)
            return
        if (role := _ROLE.match(sql)) is not None:
            self.another_role = role.group(1) is not None
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
            return
        self._refresh()
        if self._is_probe(sql):
            # what a probe answers is not judged
            self.report.refused["a probe"] += 1
            self.engine.run(sql)
            self._resume(sql)
            return
        if self.refused or self.another_role:
            self.report.refused[self.refused or "another role, which may see other tables"] += 1
            self.engine.run(sql)
            self._resume(sql)
            return
        tables = self.beside.catalog.tables
        self.beside.watched = [
            name for name in tables if self.beside.catalog.triggers or re.search(rf"\b{name}\b", sql, re.IGNORECASE)
        ]
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
        elif step.problem is not None and "Composite:" in step.problem:
            self.report.refused["a row, which the driver shows as a text"] += 1
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
        if _CHANGES.match(sql):
            self._stale = True
        if self._failed() or not (_CHANGES.match(sql) or not only_reads(sql) or re.search(r"\w+\s*\(", sql)):
            return
        self._stale = True
        self._refresh()


class _AsIs:
    """The connection for `definitions`: texts with ``$1``."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, text: bytes, params: tuple[object, ...] = ()) -> Any:
        """Run one query."""
        return psycopg.RawCursor(self.connection).execute(text, params)


def _made_of(text: str, names: Iterable[str]) -> bool:
    return any(re.search(rf"\b{name}\b", text, re.IGNORECASE) for name in names)
