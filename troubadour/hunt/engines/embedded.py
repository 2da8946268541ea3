"""SQLite, DuckDB and Turso in a process beside this one, in the environment that has the version wanted.

A crash of the engine ends that process, not the hunt. Does not know what is run.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from troubadour.hunt.engines.protocol import Answer, Database, EngineDied, EngineError, Level, levels_of
from troubadour.record.drivers.detection import duckdb_state, sqlite_state
from troubadour.record.servers.guard import Guard
from troubadour.record.settings import ALL_TOLD

WORKER = Path(__file__).with_name("worker.py")
PROCESSOR = 30.0
"""Seconds of the processor that one statement is given."""
LONGEST = 300.0
"""Seconds of the clock: on a machine with much to do a statement that is no fault may take that long."""
LEVELS: Mapping[str, Mapping[str, Level]] = {
    "sqlite": levels_of(Level("serializable", "", "sqlite", "serializable")),
    "duckdb": levels_of(Level("snapshot", "", "duckdb", "snapshot")),
}
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_SQLITE_SAYS = (
    ("UNIQUE constraint", "23505"),
    ("PRIMARY KEY constraint", "23505"),
    ("NOT NULL constraint", "23502"),
    ("FOREIGN KEY constraint", "23503"),
    ("CHECK constraint", "23514"),
    ("locked", "40001"),
    ("busy", "40001"),
    ("conflict", "40001"),
    ("datatype mismatch", "22018"),
    ("too big", "54000"),
)
"""Of drivers that do not tell the name of an error."""


class Embedded:
    """`product` is a name that the worker knows; `python` the interpreter whose environment has its driver."""

    def __init__(self, name: str, product: str, python: str = sys.executable) -> None:
        self.name = name
        self.product = product
        self.python = python
        self.dialect = "duckdb" if product == "duckdb" else "sqlite"
        self.levels = LEVELS[self.dialect]
        self.undoes = self.dialect == "sqlite"
        self.crashes = True
        self.at_once = False
        self._process: subprocess.Popen[str] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="troubadour-hunt-"))
        self._guard = Guard(self._folder)
        self._number = 0
        self.dbms = ""
        try:
            self.restart()
        except BaseException:
            self.close()
            raise

    def restart(self) -> None:
        """Start the process. Raises EngineError."""
        self._end()
        with (self._folder / "stderr").open("wb") as said:
            self._process = subprocess.Popen(
                [self.python, str(WORKER), self.product],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EngineError(f"{self.name}: {self._said() or 'its process does not start'}")
        self.dbms = json.loads(line)["version"]

    def _said(self) -> str:
        lines = (self._folder / "stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request and its answer. Raises EngineDied."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            if not _ready(process):
                self.kill()
                raise EngineDied(f"no answer to {request.get('sql') or request['do']}")
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = process.wait()
            raise EngineDied(f"the process ended with status {status} {self._said()}".strip())
        found: dict[str, Any] = json.loads(line)
        return found

    def kill(self) -> None:
        """End the process at once, as a loss of power would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextmanager
    def database(self, flavour: str = "") -> Iterator[Database]:
        """A database in a file of its own."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        try:
            yield EmbeddedDatabase(self, folder / "case.db", flavour)
        except BaseException:
            with suppress(EngineDied):
                self.ask({"do": "close"})
            raise
        else:
            self.ask({"do": "close"})
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def settings(self) -> dict[str, Any]:
        """See `Engine`."""
        return dict(ALL_TOLD) if self.dialect == "duckdb" else {"foreign_keys": True, **ALL_TOLD}

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        process.kill()
        process.wait()

    def close(self) -> None:
        """End the process and remove its files."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._guard.close()


def _ready(process: subprocess.Popen[str]) -> bool:
    """Whether an answer comes before the time of the processor, or of the clock, is over."""
    assert process.stdout is not None
    before, deadline = _processor_seconds(process.pid), time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 1.0)[0]:
            return True
        if _processor_seconds(process.pid) - before > PROCESSOR:
            return False
    return False


def _processor_seconds(pid: int) -> float:
    """What a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class EmbeddedDatabase:
    """A file."""

    def __init__(self, engine: Embedded, path: Path, flavour: str) -> None:
        self._engine = engine
        self._path = path
        self._flavour = flavour
        self._open: dict[int, EmbeddedConnection] = {}

    def connection(self, number: int, level: Level) -> EmbeddedConnection:
        """See `Database`."""
        if number not in self._open:
            found = self._engine.ask({"do": "open", "path": str(self._path), "session": number})
            if "message" in found:
                raise EngineDied(found["message"])
            connection = self._open[number] = EmbeddedConnection(self._engine, self, number)
            if self._engine.product in ("sqlite", "pysqlite3"):
                for pragma in ("synchronous = OFF", f"journal_mode = {'WAL' if 'wal' in self._flavour else 'DELETE'}"):
                    connection.send(f"PRAGMA {pragma}")
            elif self._engine.product == "turso":
                connection.send("PRAGMA foreign_keys = ON")
        return self._open[number]

    def crash(self) -> None:
        """See `Database`."""
        self._engine.kill()
        self._engine.restart()
        self._open = {}

    def forget(self, number: int) -> None:
        """Of a connection that is closed."""
        self._open.pop(number, None)


class EmbeddedConnection:
    """A session of the worker. A statement is answered as it is sent."""

    def __init__(self, engine: Embedded, database: EmbeddedDatabase, number: int) -> None:
        self._engine = engine
        self._database = database
        self._number = number
        self._answer: Answer | None = None

    def send(self, sql: str) -> None:
        """See `Connection`."""
        writes = sql.lstrip().split(None, 1)[0].upper() in _WRITES
        found = self._engine.ask({"do": "run", "session": self._number, "sql": sql, "writes": writes})
        times = (found["invoked"], found["returned"])
        if "message" in found:
            state, internal = self._state(found), _is_internal(found["message"])
            self._answer = Answer(*times, error=state, message=found["message"], internal=internal)
            return
        columns = found.get("columns")
        self._answer = Answer(
            *times, None if columns is None else tuple(columns), found.get("rows"), found.get("affected")
        )

    def answer(self, seconds: float) -> Answer | None:
        """See `Connection`."""
        return self._answer

    def waits(self) -> bool:
        """Never."""
        return False

    def cancel(self) -> None:
        """Nothing is ever under way."""

    def vanish(self) -> None:
        """See `Connection`."""
        self._engine.ask({"do": "leave", "session": self._number})
        self._database.forget(self._number)

    def _state(self, found: Mapping[str, Any]) -> str:
        name, message = found["name"], found["message"]
        if self._engine.dialect == "duckdb":
            return duckdb_state(found["kinds"], message)
        if name is not None and (known := sqlite_state(name)) is not None:
            return known
        return next((state for part, state in _SQLITE_SAYS if part in message), "42000")


def _is_internal(message: str) -> bool:
    return any(
        part in message
        for part in (
            "INTERNAL Error",
            "FATAL Error",
            "database disk image is malformed",
            "assertion",
            "Internal error",
            "panic",
        )
    )
