"""A PostgreSQL of a folder with its programs, for the length of a ``with`` block. Does not know what runs on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from troubadour.record.errors import RecordError
from troubadour.record.servers.embedded import RECORDING_SETTINGS
from troubadour.record.servers.guard import Guard

START_SECONDS = 120.0


class InstalledPostgres:
    """`programs` has `initdb` and `pg_ctl`. The server listens on a socket of its own; everything is gone at exit."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}  # they refuse to run as root

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = Path(tempfile.mkdtemp(prefix="troubadour-hunt-pg-"))
            guard = Guard(self._folder)
            stack.callback(guard.close)
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            if self._user:
                shutil.chown(self._folder, "nobody")
                self._folder.chmod(0o755)
            if self._user and not all(parent.stat().st_mode & 0o001 for parent in self._programs.resolve().parents):
                self._programs = _copied(self._programs, self._folder / "installed")
            self._make()
            stack.callback(self._stop)
            self._start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def dsn(self) -> str:
        """A libpq connection string."""
        return f"host={self._folder} user=postgres dbname=postgres"

    def crash(self) -> None:
        """See `EmbeddedPostgres.crash`."""
        try:
            self._stop()
            self._start()
        except subprocess.SubprocessError as error:
            raise RecordError(f"the server does not come up again: {error}") from error

    def _make(self) -> None:
        self._run("initdb", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        own = {"fsync": "off", "unix_socket_directories": str(self._folder), "listen_addresses": ""}
        with (self._folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in {**RECORDING_SETTINGS, **own}.items())

    def _start(self) -> None:
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "start")

    def _stop(self) -> None:
        if (self._folder / "data" / "postmaster.pid").exists():  # a start that was interrupted leaves a server, too
            self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / "said").open("wb") as said:
            command = [str(self._programs / program), "-D", str(self._folder / "data"), *arguments]
            subprocess.run(
                command, check=True, stdout=said, stderr=said, cwd=self._folder, timeout=START_SECONDS, **self._user
            )


def _copied(programs: Path, folder: Path) -> Path:
    """The programs where another user may run them, with the libraries that a wheel has beside them."""
    package = programs.parents[1]
    for each in (package, package.with_name(f"{package.name}.libs")):
        if each.exists():
            shutil.copytree(each, folder / each.name)
    return folder / package.name / programs.parent.name / programs.name
