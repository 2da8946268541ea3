"""One test under audit: its recording, the logs that come of it, the audits of these. Does not know pytest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sql_semantics.records import dataclass
from troubadour.formats import read_log
from troubadour.gate.discover import LogFiles, NothingFound, find_logs
from troubadour.record import recorder
from troubadour.record.errors import RecordError

if TYPE_CHECKING:
    from sqlalchemy import Engine

WIDTH = 100

CONTRADICTS = "contradicts the clients' times"
"""What a note says of an execution that an audit found in another order than the clients had."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a mark asks for."""

    level: str | None = None
    timeout: float = 60
    undecided: str = "fail"
    allow_unjudged: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What the audits came to: whether the test fails by it, and why; a text without that is a warning."""

    fails: bool
    text: str = ""


class Audited:
    """A recording between `begin` and `stop`, in the folder `logs`."""

    def __init__(self, wanted: Wanted, logs: Path) -> None:
        self._wanted = wanted
        self._stopped = False
        self._unfinished: str | None = None
        self.logs = logs
        self.over = False
        """Whether the test has ended, and only its fixtures are left."""

    def begin(self) -> None:
        """Record what connects from now on. Connections that Django holds are made anew."""
        recorder.everything(self.logs / "{database}.jsonl")
        _reconnect_django()

    def pause(self) -> None:
        """Record no new connections until `begin`."""
        _reconnect_django()
        recorder.nothing()

    def stop(self) -> None:
        """Record no longer, and finish the logs, once."""
        if self._stopped:
            return
        self._stopped = True
        _reconnect_django()
        recorder.nothing()
        try:
            recorder.close()
        except RecordError as error:
            self._unfinished = str(error)

    def wrap(self, connection: Any) -> Any:
        """A DB-API connection that was made before the test, recorded from now on."""
        return recorder.wrap(connection, log=self.logs / "wrapped.jsonl")

    def listen(self, engine: Engine) -> None:
        """Record an SQLAlchemy engine that has made connections before the test: these are closed."""
        engine.dispose()

    def judge(self) -> Told:
        """Audit each log."""
        if self._unfinished is not None:
            return Told(True, f"audited, but its log could not be finished: {self._unfinished}")
        try:
            logs = find_logs([str(self.logs)])
        except NothingFound:
            return Told(True, "audited, but nothing was recorded: no connection was made during the test")
        told = [self._judge(log) for log in logs]
        failing = [one.text for one in told if one.fails]
        if failing:
            return Told(True, "\n\n".join(failing))
        return Told(False, "; ".join(one.text for one in told if one.text))

    def _judge(self, log: LogFiles) -> Told:
        options = ["--timeout", str(self._wanted.timeout)]
        if self._wanted.level is not None:
            options += ["--isolation", self._wanted.level]
        for construct in self._wanted.allow_unjudged:
            options += ["--allow-unjudged", construct]
        files = [str(file) for file in log.files]
        status, out = _audit([*options, "--format", "json", *files])
        if status in (0, 3) and _nothing_committed(files):
            return Told(False, "nothing was audited: every transaction was rolled back")
        if status == 0:
            against = [note for note in json.loads(out)["notes"] if CONTRADICTS in note]
            return Told(False, "; ".join(against))
        _, text = _audit([*options, *files]) if status in (1, 3) else (status, out)
        text = f"{text.strip()}\n\nlog: {' '.join(files)}"
        return Told(status != 3 or self._wanted.undecided != "warn", text)


def _audit(arguments: Sequence[str]) -> tuple[int, str]:
    """The command's status, and what it printed (with status 2, on standard error). A process of its own: neither the
    test's threads nor its warnings are the audit's."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", *arguments]
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment
    )
    return ended.returncode, ended.stdout or ended.stderr


_SETTINGS = re.compile(r"\s*(SELECT\s+(pg_catalog\.)?set_config\s*\(|SET\s|SHOW\s|RESET\s|BEGIN|COMMIT)", re.IGNORECASE)


def _nothing_committed(files: Sequence[str]) -> bool:
    """Whether all that committed, or may have, are settings of connections."""
    return all(
        _SETTINGS.match(statement.sql)
        for one in read_log([Path(file) for file in files]).transactions
        if one.status != "aborted"
        for statement in one.statements
    )


def _reconnect_django() -> None:
    """Let Django connect anew, where it is in use: connections that were made before are not recorded, and those of a
    test are not to be used after it."""
    database: Any = sys.modules.get("django.db")
    if database is None:
        return
    if sys.modules["django.conf"].settings.configured:
        database.connections.close_all()
