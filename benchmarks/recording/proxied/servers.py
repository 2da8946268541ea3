"""Servers and proxies of the benchmarks' own. Does not know what runs on them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

BINARIES = Path("/usr/lib/postgresql/15/bin")
_SETTINGS = """
listen_addresses = '127.0.0.1'
track_commit_timestamp = on
max_connections = 600
log_destination = csvlog
logging_collector = on
log_filename = 'statements.log'
log_directory = '{folder}/log'
unix_socket_directories = '{folder}'
"""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server of a cluster in `folder`, at a port of the machine and a socket in that folder."""

    folder: Path
    port: int

    @property
    def dsn(self) -> str:
        """Of the database ``shop``, by the socket."""
        return f"host={self.folder} port={self.port} user=postgres dbname=shop"

    def logged(self) -> list[dict[str, str]]:
        """The lines of the server's own log: `pid`, `message`, `query` (of an error)."""
        names = {3: "pid", 11: "severity", 13: "message", 14: "detail", 19: "query"}
        with (self.folder / "log" / "statements.csv").open(encoding="utf-8", newline="") as file:
            return [{name: line[place] for place, name in names.items()} for line in csv.reader(file)]

    def control(self, *arguments: str) -> None:
        """pg_ctl."""
        command = [str(BINARIES / "pg_ctl"), "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "out")]
        subprocess.run(_as_its_user([*command, *arguments]), check=True, capture_output=True, cwd=self.folder)


def _as_its_user(command: Sequence[str]) -> list[str]:
    if os.geteuid():
        return list(command)
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]


@contextmanager
def postgres(settings: str, port: int = 5719) -> Iterator[Postgres]:
    """A fresh server with a database ``shop``."""
    folder = Path(tempfile.mkdtemp(prefix="troubadour-proxied-"))
    if not os.geteuid():
        shutil.chown(folder, "postgres", "postgres")
    found = Postgres(folder, port)
    try:
        init = [str(BINARIES / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N"]
        subprocess.run(_as_its_user(init), check=True, capture_output=True, cwd=folder)
        with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(_SETTINGS.format(folder=folder) + f"port = {port}\n{settings}\n")
        found.control("start")
        created = [str(BINARIES / "createdb"), "-h", str(folder), "-p", str(port), "-U", "postgres", "shop"]
        subprocess.run(created, check=True)
        yield found
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            found.control("-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


class MariaDB(PrivateMariaDB):
    """A MariaDB with a database ``shop``, a general log, and a port beside its socket."""

    port = 5721

    def __init__(self) -> None:
        super().__init__(
            (
                "--skip-networking=0",
                "--bind-address=127.0.0.1",
                f"--port={self.port}",
                "--general-log",
                "--log-output=TABLE",
            )
        )

    @property
    def dsn(self) -> str:
        """Of the database ``shop``, by the socket."""
        return super().dsn.replace("/test?", "/shop?")

    def logged(self) -> list[tuple[int, str, str]]:
        """The general log: connection, command, argument."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT thread_id, command_type, argument FROM mysql.general_log")
            return [(int(one), str(command), str(text)) for one, command, text in cursor.fetchall()]


@dataclass(slots=True)
class Proxy:
    """A proxy that runs."""

    process: subprocess.Popen[str]
    port: int

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its status."""
        self.process.send_signal(number)
        return self.process.wait()


@contextmanager
def proxy(dsn: str, log: Path, *options: str) -> Iterator[Proxy]:
    """A proxy in front of a server, ended at the end if it was not before."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "record", "proxy"]
    command += ["--listen", "127.0.0.1:0", "--server", dsn, "--log", str(log), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        match = re.search(r":(\d+)$", said.strip())
        if match is None:
            raise RuntimeError(f"the proxy said {said!r}")
        try:
            yield Proxy(running, int(match[1]))
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)
                running.wait()
