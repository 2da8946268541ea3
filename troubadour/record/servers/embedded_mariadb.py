"""A MariaDB of one's own for the length of a ``with`` block, where the server is installed.

One data directory in a temporary folder, a Unix socket, no network; strict mode and everything else as by default.
Does not know what runs on it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from troubadour.record.servers.guard import Guard

START_SECONDS = 180.0
COLLATION = "utf8mb4_bin"


def missing() -> str | None:
    """Why no MariaDB can be started here, or None."""
    for program in ("mariadb-install-db", "mariadbd"):
        if shutil.which(program, path=_PATH) is None:
            return f"{program} is not installed"
    try:
        import pymysql  # noqa: F401
    except ImportError:
        return "PyMySQL is not installed"
    return None


_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


class PrivateMariaDB:
    """A context manager; `connect()` gives an autocommitting PyMySQL connection to a fresh database ``test``."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        """`options` of the server, after those set here."""
        self._options = options
        self._folder: Path | None = None
        self._guard: Guard | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="troubadour-mariadb-"))
        try:
            self._guard = Guard(self._folder)
            self._start(self._folder)
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self, folder: Path) -> None:
        (folder / "tmp").mkdir()
        install = shutil.which("mariadb-install-db", path=_PATH) or "mariadb-install-db"
        installed = subprocess.run(
            [install, *_common(folder), "--auth-root-authentication-method=normal", "--skip-test-db", *_user()],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=START_SECONDS,
        )
        if installed.returncode:
            said = f"{installed.stdout}{installed.stderr}"
            raise RuntimeError(f"MariaDB's own tables were not made ({installed.returncode}): {said[-2000:]}")
        self._serve(folder)
        with self.connect(None) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE test")

    def crash(self) -> None:
        """Kill the server and start it again on its data, as after a loss of power of its process. Every connection
        breaks. Raises RuntimeError if it does not come up."""
        assert self._folder is not None and self._process is not None
        self._process.kill()
        self._process.wait()
        self._serve(self._folder)

    def _serve(self, folder: Path) -> None:
        server = shutil.which("mariadbd", path=_PATH) or "mariadbd"
        options = [
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
            "--skip-networking",
            "--character-set-server=utf8mb4",
            f"--collation-server={COLLATION}",
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=16M",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-flush-method=nosync",
            *self._options,
        ]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen([server, *_common(folder), *options, *_user()], stdout=log, stderr=log)
        self._wait(folder)

    def _wait(self, folder: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while "ready for connections" not in (said := (folder / "log").read_text(errors="replace")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"MariaDB did not start: {said[-2000:]}")
            time.sleep(0.05)

    @property
    def dsn(self) -> str:
        """Of the database ``test``, for `mysql.connect`."""
        assert self._folder is not None
        return f"mysql://root@localhost/test?unix_socket={self._folder / 'socket'}"

    def connect(self, database: str | None = "test") -> Any:
        """A new connection; strings are compared by code points, all else as by default."""
        import pymysql

        assert self._folder is not None
        return pymysql.connect(
            unix_socket=str(self._folder / "socket"),
            user="root",
            database=database,
            charset="utf8mb4",
            collation=COLLATION,
            autocommit=True,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._guard is not None:
            self._guard.close()


def _user() -> list[str]:
    """The server refuses to run as root unless told to."""
    return ["--user=root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


def _common(folder: Path) -> list[str]:
    """Options of every start. A server deletes the temporary tables that it finds in its folder for them when it comes
    up, those of another that runs beside it too: each has a folder of its own."""
    return ["--no-defaults", f"--datadir={folder / 'data'}", f"--tmpdir={folder / 'tmp'}"]
