"""A recording process killed inside statements that write without looking like it, and one whose log is removed, cut or
renamed: what of its acknowledged commits is lost, and what a second process, which reads everything after the log was
repaired, is accused of.

A child commits one construct after the other, alone or in a transaction, tags each with its number, and says so
after each answer; its parent kills it at a random moment (``kills``), or takes the log away before it kills or ends it
(``lost``). Run as ``python -m benchmarks.recording.kills kills`` or ``lost``. Does not know how a log is written.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psycopg
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log as log_command
from troubadour.formats import read_log
from troubadour.model.log import LogError
from troubadour.record import EmbeddedPostgres, recorder
from troubadour.record.errors import RecordError

TAG = "/* n={n} */"
_TAGGED = re.compile(r"/\* n=(\d+) \*/")
INSERT = "INSERT INTO acks VALUES ({n}, 'x')"
MARK = "INSERT INTO marks VALUES ({n}, 'x')"
"""What a construct writes goes into a table of its own: what is not modelled of it leaves `acks` to be judged."""

POSTGRES = """
CREATE TABLE acks (n INT PRIMARY KEY, padding TEXT);
CREATE TABLE marks (n INT PRIMARY KEY, padding TEXT);
CREATE SEQUENCE s;
CREATE TABLE one (n INT);
CREATE TABLE chosen (n INT);
INSERT INTO chosen VALUES (0);
CREATE FUNCTION note(n INT) RETURNS INT LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO marks VALUES (n, 'x'); RETURN n; END $$;
CREATE FUNCTION mark(o one) RETURNS INT LANGUAGE sql AS $$ SELECT note(o.n) $$;
CREATE VIEW noting AS SELECT note(n) FROM chosen
"""
APART = {
    "operator": "CREATE OPERATOR ### (RIGHTARG = INT, FUNCTION = note)",
    "behind #": """
CREATE FUNCTION note_text(t TEXT, n INT) RETURNS INT LANGUAGE sql AS $$ SELECT note(n) $$;
CREATE OPERATOR # (LEFTARG = TEXT, RIGHTARG = INT, FUNCTION = note_text)
""",
    "cast": """
CREATE TYPE noted AS (n INT);
CREATE FUNCTION as_noted(n INT) RETURNS noted LANGUAGE sql AS $$ SELECT ROW(note(n))::noted $$;
CREATE CAST (INT AS noted) WITH FUNCTION as_noted(INT)
""",
}
"""What one construct of PostgreSQL's alone has in its schema: beside a cast or an operator of the user's nothing is
judged, as no text tells where it is used."""
LATER = "CREATE OR REPLACE FUNCTION later(n INT) RETURNS INT LANGUAGE sql AS $$ SELECT note(n) $$"
MARIADB = """
CREATE TABLE acks (n INT PRIMARY KEY, padding TEXT);
CREATE TABLE marks (n INT PRIMARY KEY, padding TEXT);
CREATE TABLE chosen (n INT PRIMARY KEY);
INSERT INTO chosen VALUES (0);
CREATE SEQUENCE s;
CREATE FUNCTION note(n INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO marks VALUES (n, 'x'); RETURN n; END;;
CREATE FUNCTION note_chosen() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO marks VALUES (@n, 'x'); RETURN @n; END;;
CREATE PROCEDURE put(n INT) BEGIN INSERT INTO marks VALUES (n, 'x'); END;;
CREATE VIEW noting AS SELECT note_chosen() AS n
"""
EMBEDDED = ("acks", "marks")
CONSTRUCTS: dict[str, dict[str, Sequence[str]]] = {
    "postgres": {
        "insert": [MARK],
        "function": ["SELECT note({n})"],
        "function made later": ["SELECT later({n})"],
        "function beside a catalog": ["SELECT note({n}) FROM pg_class LIMIT 1"],
        "operator": ["SELECT ### {n}"],
        "behind #": ["SELECT 'x'::text # {n}"],
        "behind #>>": ["SELECT '{{\"a\": 1}}'::json #>> '{{a}}', note({n})"],
        "cast": ["SELECT {n}::noted"],
        "attribute": ["SELECT (o).mark FROM (SELECT ROW({n})::one AS o) q"],
        "view": ["UPDATE chosen SET n = {n}", "SELECT * FROM noting"],
        "sequence": ["SELECT nextval('s')"],
        "sequence set": ["SELECT setval('s', {n} + 1)"],
        "DO": ["DO $$ BEGIN PERFORM note({n}); END $$"],
        "WITH": ["WITH i AS (" + MARK + " RETURNING n) SELECT n FROM i"],
        "EXPLAIN": ["EXPLAIN (ANALYZE) " + MARK],
        "VALUES": ["VALUES (note({n}))"],
    },
    "mariadb": {
        "insert": [MARK],
        "function": ["SELECT note({n})"],
        "SET": ["SET @x = note({n})"],
        "SET of a setting": ["SET wait_timeout = 1000 + note({n})"],
        "view": ["SET @n = {n}", "SELECT * FROM noting"],
        "sequence": ["SELECT NEXT VALUE FOR s"],
        "executed comment": ["/*!50000 " + MARK + " */"],
        "DO": ["DO note({n})"],
        "procedure": ["CALL put({n})"],
        "function beside a catalog": ["SELECT note({n}) FROM information_schema.schemata LIMIT 1"],
        "comment": ["# why\n" + MARK],
    },
    "sqlite": {
        "insert": [MARK],
        "WITH": ["WITH c AS (SELECT {n} AS n) INSERT INTO marks SELECT n, 'x' FROM c"],
        "RETURNING": [MARK + " RETURNING n"],
        "comment": ["-- why\n" + MARK],
        "update": ["UPDATE marks SET padding = 'y' WHERE n < 0", MARK],
    },
    "duckdb": {
        "insert": [MARK],
        "comment": ["/* why */ " + MARK],
        "sequence": ["SELECT nextval('s')"],
        "WITH": ["WITH c AS (SELECT {n} AS n) INSERT INTO marks SELECT n, 'x' FROM c"],
        "macro": ["SELECT drawn()"],
    },
}
"""By engine: statements of one transaction, {n} its number."""


class Engine:
    """`connect`: an unrecorded connection that commits by itself; `recorded`: a recorded one, with a log."""

    def __init__(self, name: str, place: Any) -> None:
        self.name = name
        self.place = place

    def connect(self) -> Any:
        """An unrecorded connection."""
        match self.name:
            case "postgres":
                return psycopg.connect(self.place, autocommit=True)
            case "mariadb":
                return self.place.connect()
            case "sqlite":
                return sqlite3.connect(self.place, isolation_level=None, check_same_thread=False)
            case _:
                import duckdb

                return duckdb.connect(str(self.place))

    def recorded(self, log: Path, unwritable: str = "stop") -> Any:
        """A recorded connection, under autocommit."""
        if self.name == "postgres":
            return recorder.connect(self.place, log=log, autocommit=True, unwritable=unwritable)
        return recorder.wrap(self.connect(), log=log, unwritable=unwritable)

    def made(self, construct: str | None) -> None:
        """The tables, empty, and what a construct takes; None: without anything that writes in a query."""
        connection = self.connect()
        match self.name:
            case "postgres":
                connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
                connection.execute(POSTGRES.partition(";")[0] if construct is None else POSTGRES)
                if construct in APART:
                    connection.execute(APART[construct])
            case "mariadb":
                with connection.cursor() as cursor:
                    for text in ("DROP DATABASE test", "CREATE DATABASE test", "USE test"):
                        cursor.execute(text)
                    first, *rest = MARIADB.strip().split(";;\n")
                    tables, _, routine = first.rpartition(";\nCREATE F")
                    for text in (*tables.split(";\n"), "CREATE F" + routine, *rest):
                        cursor.execute(text)
            case _:
                for table in EMBEDDED:
                    connection.execute(f"CREATE TABLE {table} (n INTEGER PRIMARY KEY, padding VARCHAR)")
                if self.name == "duckdb":
                    connection.execute("CREATE SEQUENCE s")
                    connection.execute("CREATE MACRO drawn() AS nextval('s')")
        connection.close()

    def run(self, connection: Any, sql: str) -> Any:
        """One statement, and its rows."""
        if self.name == "mariadb":
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []
        cursor = connection.execute(sql)
        return cursor.fetchall() if self.name != "postgres" or cursor.description else []


@dataclass(slots=True)
class Found:
    """What came of the runs of one engine. `lost`: acknowledged commits that the log lacks; `unseen`: rows that the
    database kept and the log does not know; `judged`: of so many `statements`; `exits`: of the audits, with the reading
    of the second process."""

    runs: int = 0
    acknowledged: int = 0
    lost: int = 0
    unseen: int = 0
    judged: int = 0
    statements: int = 0
    exits: Counter[int] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def line(self, kind: str) -> str:
        """The row of the table."""
        exits = ", ".join(f"{count} x {status}" for status, count in sorted(self.exits.items()))
        counts = f"{self.acknowledged:,} | {self.lost} | {self.unseen} | {self.judged:,} of {self.statements:,}"
        return f"| {kind} | {self.runs} | {counts} | {exits} |"


HEAD = (
    "| engine | kills | commits acknowledged | lost | unseen | statements judged | audits by exit status |\n"
    "|---|---:|---:|---:|---:|---:|---|"
)


def child(engine: Engine, log: Path, name: str, explicit: bool, said: int) -> None:
    """Commit a construct again and again until killed, and beside it a row of `acks`: in the same transaction, or
    (where a construct is alone in its own) in every other one."""
    connection = engine.recorded(log)
    if name == "function made later":
        with engine.connect() as other:
            other.execute(LATER)
    texts = [*CONSTRUCTS[engine.name][name], *([INSERT] if explicit else [])]
    for n in range(1, 1_000_000):
        own = texts if explicit or n % 2 else [INSERT]
        if len(own) > 1:
            engine.run(connection, "BEGIN")
        for text in own:
            engine.run(connection, f"{text.format(n=n)} {TAG.format(n=n)}")
        if len(own) > 1:
            engine.run(connection, "COMMIT")
        os.write(said, b"%d\n" % n)


@contextmanager
def forked(work: Callable[[int], None]) -> Iterator[tuple[int, int]]:
    """Run something in a child; gives its id, and what it says can be read from."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(readable)
        with suppress(BaseException):
            work(writable)
        os._exit(1)
    os.close(writable)
    try:
        yield pid, readable
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(readable)


def acknowledged(pid: int, readable: int, until: float) -> set[int]:
    """What the child says until it is killed, so many seconds after its first word."""
    text = b""
    while not text.endswith(b"\n"):
        piece = os.read(readable, 1 << 16)
        if not piece:
            raise RuntimeError("the child died before it committed anything")
        text += piece
    time.sleep(until)
    os.kill(pid, signal.SIGKILL)
    while piece := os.read(readable, 1 << 16):
        text += piece
    return {int(line) for line in text.split(b"\n")[:-1]}


def told(logs: Sequence[Path]) -> tuple[set[int], int, bool]:
    """The numbers of transactions that the log says may have committed; how many more its gaps count, and whether it
    has one."""
    read = read_log(logs)
    numbers = {
        int(match[1])
        for transaction in read.transactions
        if transaction.status != "aborted"
        for statement in transaction.statements
        for match in _TAGGED.finditer(statement.sql)
    }
    gaps = read.header.gaps
    return numbers, sum(gap.transactions or 0 for gap in gaps), bool(gaps)


def kill(engine: Engine, folder: Path, name: str, explicit: bool, seed: int, found: Found) -> None:
    """One kill, and what became of it."""
    log = folder / f"run-{seed}.jsonl"
    engine.made(name)
    with forked(lambda said: child(engine, log, name, explicit, said)) as (pid, readable):
        acks = acknowledged(pid, readable, random.Random(seed).uniform(0.0, 0.25))
    found.runs += 1
    found.acknowledged += len(acks)
    CliRunner().invoke(log_command, ["repair", str(log)])
    second = engine.recorded(log)
    kept = {row[0] for table in ("acks", "marks") for row in engine.run(second, f"SELECT n FROM {table}")}
    engine.run(second, "SELECT count(*) FROM acks")
    second.close()
    recorder.close()
    logs = sorted(folder.glob(f"run-{seed}*.jsonl"))
    there, _, _ = told(logs)
    found.lost += len(acks - there)
    found.unseen += len(kept - there)
    judged = CliRunner().invoke(audit, [*map(str, logs), "--timeout", "60", "--format", "json"])
    found.exits[judged.exit_code] += 1
    coverage = json.loads(judged.stdout or "{}").get("coverage") or {}
    found.judged += coverage.get("judged", 0)
    found.statements += coverage.get("statements", 0)
    if judged.exit_code not in (0, 3) or acks - there or kept - there:
        saved = Path(tempfile.mkdtemp(prefix="troubadour-kill-"))
        for path in folder.glob(f"run-{seed}*"):
            shutil.copy(path, saved)
        found.bad.append(f"{engine.name}, {name}, {explicit=}, {seed=}: {saved}\n{judged.stdout}{judged.stderr}")
        click.echo(found.bad[-1], err=True)
    for path in folder.glob(f"run-{seed}*"):
        path.unlink()


@contextmanager
def engines(names: Sequence[str]) -> Iterator[Callable[[str, Path], Engine]]:
    """What makes an engine; servers run until the end."""
    with ExitStack() as stack:
        places: dict[str, Any] = {}
        if "postgres" in names:
            places["postgres"] = stack.enter_context(EmbeddedPostgres()).dsn
        if "mariadb" in names:
            from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

            places["mariadb"] = stack.enter_context(PrivateMariaDB())

        def engine(name: str, folder: Path) -> Engine:
            for old in folder.glob("acks.db*"):
                old.unlink()
            return Engine(name, places.get(name, folder / "acks.db"))

        yield engine


@click.group()
def main() -> None:
    """Kill a recording process, or take its log away, and count what is lost."""


_ENGINE = click.option("--engine", "names", multiple=True, default=tuple(CONSTRUCTS), show_default=True)


@main.command()
@click.option("--runs", default=125, show_default=True, help="Of each engine.")
@click.option("--first", default=0, show_default=True, help="The first seed.")
@_ENGINE
def kills(runs: int, first: int, names: Sequence[str]) -> None:
    """SIGKILL at a random moment, the constructs in turns, on their own and in transactions."""
    click.echo(HEAD)
    with engines(names) as engine, tempfile.TemporaryDirectory() as place:
        for name in names:
            found = Found()
            for seed in range(first, first + runs):
                constructs = list(CONSTRUCTS[name])
                construct = constructs[seed % len(constructs)]
                kill(engine(name, Path(place)), Path(place), construct, bool(seed // len(constructs) % 2), seed, found)
            click.echo(found.line(name))


def remove(log: Path) -> None:
    """Under its name there is nothing any more."""
    log.unlink()


def cut(log: Path) -> None:
    """Nothing is left of what it had."""
    os.truncate(log, 0)


def halve(log: Path) -> None:
    """Half of what it had is left."""
    os.truncate(log, len(log.read_bytes().rstrip(b"\0")) // 2)


def rename(log: Path) -> None:
    """It has another name."""
    log.rename(log.with_name(log.name + ".1"))


def rotate(log: Path) -> None:
    """It has another name, and an empty file has its own."""
    rename(log)
    log.touch()


def copy_and_cut(log: Path) -> None:
    """A copy has what it had."""
    shutil.copy(log, log.with_name(log.name + ".1"))
    cut(log)


WAYS: dict[str, Callable[[Path], None]] = {
    "removed": remove,
    "cut to nothing": cut,
    "cut in half": halve,
    "renamed": rename,
    "rotated": rotate,
    "copied and cut": copy_and_cut,
}


def writer(engine: Engine, log: Path, unwritable: str, said: int) -> None:
    """Four threads commit until the parent ends this process, or a signal says that it is enough."""
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())

    def work(first: int) -> None:
        connection = engine.recorded(log, unwritable)
        for n in range(first, 1_000_000, 4):
            if enough.is_set():
                break
            with suppress(RecordError):
                engine.run(connection, f"{INSERT.format(n=n)} {TAG.format(n=n)}")
                os.write(said, b"%d\n" % n)
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.02)
    try:
        recorder.close()
    except RecordError:
        os._exit(3)
    os._exit(0)


def take_away(engine: Engine, folder: Path, way: str, unwritable: str, killed: bool, seed: int) -> tuple[str, str]:
    """One log taken away while it was recorded; what became of it, and details."""
    log = folder / f"run-{seed}.jsonl"
    engine.made(None)
    with forked(lambda said: writer(engine, log, unwritable, said)) as (pid, readable):
        text = os.read(readable, 1 << 16)
        time.sleep(0.2)
        WAYS[way](log)
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL if killed else signal.SIGTERM)
        while piece := os.read(readable, 1 << 16):
            text += piece
    acks = {int(line) for line in text.split(b"\n")[:-1]}
    if WAYS[way] in (rename, rotate) and not (log.exists() and log.stat().st_size):
        log.with_name(log.name + ".1").rename(log)  # where it was killed, that is what it had written
    logs = sorted(path for path in folder.glob(f"run-{seed}*.jsonl") if path.stat().st_size)
    usable = [path for path in logs if CliRunner().invoke(log_command, ["repair", str(path)]).exit_code == 0]
    unusable = len(logs) - len(usable)
    try:
        there, count, gap = told(usable) if usable else (set[int](), 0, False)
    except LogError as error:
        return "refused", str(error)
    judged = CliRunner().invoke(audit, list(map(str, usable))).exit_code if usable else 2
    missing = len(acks - there)
    detail = f"{len(acks)} acknowledged, {missing} missing, {count} in gaps, exit {judged}, {unusable} unusable"
    if judged == 1 or (missing and not gap and usable):
        return "silent", detail
    if not usable:
        return "no log", detail
    if gap:
        return ("exact" if count == missing else "counted higher" if count > missing else "counted lower"), detail
    return "nothing missing", detail


@main.command()
@click.option("--runs", default=50, show_default=True)
@click.option("--engine", "name", default="postgres", show_default=True)
def lost(runs: int, name: str) -> None:
    """The log removed, cut, renamed or rotated while four threads record: in both modes, then ended or killed."""
    results: dict[str, Counter[str]] = {}
    with engines([name]) as engine:
        for seed in range(runs):
            way = list(WAYS)[seed % len(WAYS)]
            unwritable = ("stop", "go-on")[seed // len(WAYS) % 2]
            killed = bool(seed // len(WAYS) // 2 % 2)
            with tempfile.TemporaryDirectory() as place:
                what, detail = take_away(engine(name, Path(place)), Path(place), way, unwritable, killed, seed)
            click.echo(f"{seed}: {way}, {unwritable}, {'killed' if killed else 'ended'}: {what} ({detail})", err=True)
            results.setdefault(way, Counter())[what] += 1
    click.echo("| what happened to the log | runs | what is said |\n|---|---:|---|")
    for way, counted in results.items():
        said = ", ".join(f"{count} x {what}" for what, count in counted.items())
        click.echo(f"| {way} | {counted.total()} | {said} |")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
