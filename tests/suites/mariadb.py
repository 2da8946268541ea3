"""How many statements of MariaDB's own test suite agree with the server, and what is refused, by construct.

    python -m tests.suites.mariadb FOLDER [SCRIPT ...]

FOLDER is ``mysql-test/main`` of MariaDB's sources (Debian: package mariadb-test-data). The server is asked, not the
stored results. Ends with status 1 where one differs. Does not know the statements.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.frontend.probes import probe_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import TEMPORAL_KINDS, SqlType, Value
from sql_semantics.values.unsettled import unsettled
from tests.differential.beside import Beside, Step, only_reads
from tests.differential.comparison import SEVERAL_WAYS
from tests.differential.engines import Answer, MariaDB
from tests.suites.mysqltest import statements
from tests.suites.pg_regress import Report, shares
from tests.suites.ways import every_way
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

COLLATION = "utf8mb4_general_ci"
SCRIPTS = ("select", "update", "func_*")
_ASKED = re.compile(r"\(*\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|VALUES|TABLE|DO)\b", re.IGNORECASE)
_USUAL = {
    "sql_select_limit": 2**64 - 1,
    "default_week_format": 0,
    "sql_auto_is_null": 0,
    "sql_safe_updates": 0,
    "foreign_key_checks": 1,
    "check_constraint_checks": 1,
    "lc_time_names": "en_US",
    "max_sort_length": 1024,
    "old_passwords": 0,
}
"""MariaDB's settings that answers hang on, by default."""
_MODELLED = (
    "@@sql_mode, @@collation_connection, @@time_zone, DATABASE(), @@autocommit, @@div_precision_increment,"
    " @@group_concat_max_len"
)
_SETTINGS = f"SELECT {', '.join((_MODELLED, *(f'@@{name}' for name in _USUAL)))}"
_BOTH = re.compile(r"\b(INTO\s+(OUTFILE|DUMPFILE|@)|LOAD_FILE|SLEEP|BENCHMARK|GET_LOCK)\b", re.IGNORECASE)
_UNORDERED = re.compile(r"\b(GROUP_CONCAT|JSON_ARRAYAGG)\b", re.IGNORECASE)
_UNREAD = frozenset({"INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA", "MYSQL"})


class Script:
    """One script's state: what of the server's schema the interpreter follows."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._engine = MariaDB(connection, COLLATION)
        self._definitions: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._home = True
        self._dialect = Dialect("mysql", collation=COLLATION, product="mariadb", version=(10, 11))
        self._beside = Beside(self._engine, self._dialect, Catalog({}, {}))
        self._beside.choose = self._choose
        self._numbers: dict[str, int] = {}
        self.report = Report()

    def run(self, texts: Iterable[str]) -> Report:
        """Every statement in turn."""
        for sql in texts:
            self._run(sql)
        return self.report

    def _ask(self, sql: str) -> Answer:
        """The server's answer; it may be one that the driver cannot read."""
        try:
            return self._engine.run(sql)
        except (UnicodeError, ValueError, OverflowError) as error:
            return Answer(error="?????", message=str(error))

    def _run(self, sql: str) -> None:
        if not _ASKED.match(sql) or _BOTH.search(sql) or any(f"{name}." in sql.upper() for name in _UNREAD):
            self.report.skipped += 1
            self._ask(sql)
            if not re.match(r"(SHOW|EXPLAIN|ANALYZE|DESC|CHECK|FLUSH|HELP)\b", sql, re.IGNORECASE):
                self._follow()
            return
        if not self._home or self._is_probe(sql):
            self.report.skipped += 1
            self._ask(sql)
            self._load(sql)
            return
        for name, construct in self._refused.items():
            if re.search(rf"\b{re.escape(name)}\b", sql):
                self.report.refused[construct] += 1
                self._ask(sql)
                self._load(sql)
                return
        self._beside.watched = [n for n in self._beside.catalog.tables if re.search(rf"\b{re.escape(n)}\b", sql)]
        self._numbers.clear()
        try:
            self._refuse_left_out(sql)
            step = self._any_way(sql, self._beside.step(sql))
        except (UnicodeError, ValueError, OverflowError):
            self.report.refused["an answer that the driver does not read"] += 1
            return
        except AssertionError:  # a table that is no longer there
            self.report.skipped += 1
            self._follow()
            return
        except SqlSemanticsError as error:
            self.report.refused[getattr(error, "construct", type(error).__name__)] += 1
            self._ask(sql)
            self._load(sql)
            return
        if step.outside is not None:
            self.report.refused[step.outside] += 1
            self._ask(sql)
            self._load(sql)
        elif step.problem is not None and _UNORDERED.search(sql) and "ORDER" not in sql.upper():
            self.report.refused[SEVERAL_WAYS] += 1
        elif step.problem is not None and self._numbers:  # it numbers rows beside those that have a number otherwise
            self.report.refused["a value that the DBMS chooses (auto)"] += 1
            self._load(sql)
        elif step.problem is not None:
            self.report.differences.append(f"{sql}\n    {step.problem}")
            click.echo(f"DIFFERENT {self.report.differences[-1]}", err=True)
        else:
            self.report.same += 1
            self.report.errors += step.error

    def _any_way(self, sql: str, step: Step) -> Step:
        """Where the server may go several ways: whether one of them gives its answer."""
        if step.outside != SEVERAL_WAYS or not only_reads(sql):
            return step
        found = step
        for found in every_way(self._beside.view, lambda: self._beside.step(sql)):
            if found.problem is None:
                break
        return found

    def _refuse_left_out(self, sql: str) -> None:
        """A statement of which a value is not modelled tells no count: MySQL's is that of changed rows."""
        with suppress(SqlError):
            library = self._beside.library
            if library is not None and (left_out := library.program(sql).left_out):
                raise Unsupported(left_out[0])

    def _choose(self, source: str, name: str, type: SqlType) -> Value:
        """The next number of a table that numbers its rows, as the server has it before the statement."""
        if source != "auto":
            raise Unsupported(f"a value that the DBMS chooses ({source})")
        if name not in self._numbers:
            told = self._ask(
                "SELECT auto_increment FROM information_schema.tables"
                f" WHERE table_schema = 'test' AND table_name = '{name}'"
            )
            if not told.rows or told.rows[0][0] is None:
                raise Unsupported("a value that the DBMS chooses (auto)")
            self._numbers[name] = int(told.rows[0][0]) - 1
        self._numbers[name] += 1
        return self._numbers[name]

    def _is_probe(self, sql: str) -> bool:
        try:
            return only_reads(sql) and probe_of(sql, self._beside.catalog, self._beside.dialect) is not None
        except SqlSemanticsError:
            return False

    def _load(self, sql: str) -> None:
        if only_reads(sql) and not re.search(r"\w\s*\(", sql):
            return
        try:
            self._beside.load()
        except (SqlSemanticsError, ValueError, AssertionError):
            self._refused |= dict.fromkeys(self._beside.catalog.tables, "a table whose rows are not read")
            return
        for name, table in self._beside.catalog.tables.items():
            dates = [place for place, column in enumerate(table.columns) if column.type.kind in TEMPORAL_KINDS]
            rows = self._beside.view.rows(name) if table.query is None else ()
            if any(isinstance(row[place], str) for row in rows for place in dates):
                shown = [one for one, other in self._beside.catalog.tables.items() if other.query is not None]
                self._refused |= dict.fromkeys((name, *shown), "a date that is none, as 0000-00-00")

    def _follow(self) -> None:
        """Read the session's settings and the schema again."""
        answer = self._ask(_SETTINGS)
        if not answer.rows or not isinstance(answer.rows[0][0], str):
            self._home = False  # what the server says comes in other characters
            return
        ((mode, collation, zone, database, commits, digits, longest, *others),) = answer.rows
        unusual = {name: value for (name, usual), value in zip(_USUAL.items(), others, strict=True) if value != usual}
        self._home = database == "test" and collation.startswith("utf8mb4_") and commits == 1
        other = None if collation == COLLATION else collation
        away = None if zone in ("SYSTEM", "UTC", "+00:00") else zone
        dialect = replace(self._dialect, sql_mode=mode, literals=other, timezone=away, quotient_digits=digits)
        dialect = replace(dialect, list_bytes=longest)
        try:
            read_schema(["CREATE TABLE x (a int)"], dialect)
        except Unsupported:
            self._home = False
        if not self._home:
            return
        listed = self._ask(
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'test' ORDER BY 2, 1"
        )
        found: dict[str, str] = {}
        self._refused = {}
        for name, kind in listed.rows or ():
            shown = self._ask(f"SHOW CREATE {'VIEW' if kind == 'VIEW' else 'TABLE'} `{name}`")
            if not shown.rows or kind not in ("BASE TABLE", "VIEW"):
                self._refused[name] = f"a {kind.lower()} that is not read"
                continue
            text = str(shown.rows[0][1])
            found[name] = re.sub(r"\ACREATE .*? VIEW", "CREATE VIEW", text).replace("`test`.", "")
        kept: dict[str, str] = {}
        for name, text in found.items():
            try:
                read_schema([*kept.values(), text], dialect, lenient=True, unread={})
            except SqlSemanticsError as error:
                self._refused[name] = getattr(error, "construct", type(error).__name__)
                continue
            kept[name] = text
        triggers = self._ask("SELECT event_object_table FROM information_schema.triggers WHERE trigger_schema = 'test'")
        for (name,) in triggers.rows or ():
            self._refused[name] = "a table with a trigger"
        library = SqlLibrary(dialect, list(kept.values()), unsettled=unsettled(unusual, dialect))
        self._beside.library, self._beside.dialect, self._beside.catalog = library, library.dialect, library.catalog
        self._load("x()")


def run(connection: Any, path: Path) -> Report:
    """One script on a database emptied before it."""
    engine = MariaDB(connection, COLLATION)
    settings = ("sql_mode = DEFAULT", f"NAMES utf8mb4 COLLATE {COLLATION}", "autocommit = 1, timestamp = 0")
    for sql in (f"SET {setting}" for setting in settings):
        engine.run(sql)
    for sql in ("DROP DATABASE IF EXISTS test", "CREATE DATABASE test", "USE test"):
        engine.run(sql)
    return Script(connection).run(statements(path.read_text(encoding="utf-8", errors="replace")))


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.argument("scripts", nargs=-1)
def main(folder: Path, scripts: Sequence[str]) -> None:
    """Measure."""
    found = [path for name in scripts or SCRIPTS for path in sorted(folder.glob(f"{name}.test"))]
    reports: dict[str, Report] = {}
    with PrivateMariaDB([f"--collation-server={COLLATION}"]) as server:
        for path in found:
            with server.connect() as connection:
                reports[path.stem] = run(connection, path)
            click.echo(f"{path.stem}: {reports[path.stem]}", err=True)
    click.echo("\n".join(shares(reports)))
    sys.exit(any(report.differences for report in reports.values()))


if __name__ == "__main__":
    main()
