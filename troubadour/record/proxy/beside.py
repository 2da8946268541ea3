"""A proxy that an application starts by one line and ends with itself: a process beside it, on a port of the machine's
own, and the connection string that leads there. Does not know what is recorded.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from psycopg import Error
from psycopg.conninfo import make_conninfo

from sql_semantics.records import dataclass
from troubadour.record.core.journal import STOP
from troubadour.record.errors import RecordError
from troubadour.record.proxy.mysql.server import is_mysql

HOST = "127.0.0.1"
_PLACES = frozenset({"host", "port", "hostaddr", "unix_socket", "sslmode", "ssl"})
"""Parameters of a connection string that say where the server is, and how to get there."""


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[str]
    owner: int
    """The process that started it: one that was forked from it leaves it alone."""


_RUNNING: list[_Running] = []
_LOCK = threading.Lock()


def start(
    dsn: str, log: str | Path, *, commit_order: str = "timestamps", unwritable: str = STOP, durable: bool = False
) -> str:
    """Start a proxy in front of the server that `dsn` names, with its log at `log`; the other arguments are those of
    `recorder.connect`. Gives a connection string in the form of `dsn`, by which clients reach it. Raises RecordError
    where nothing can be recorded."""
    orders = {
        "dsn": dsn, "log": str(Path(log).absolute()), "commit_order": commit_order, "unwritable": unwritable,
        "durable": durable,
    }  # fmt: skip
    running = subprocess.Popen(
        [sys.executable, "-m", "troubadour.record.proxy"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert running.stdin is not None
    assert running.stdout is not None
    with suppress(BrokenPipeError):
        running.stdin.write(json.dumps(orders) + "\n")
        running.stdin.flush()
    said = running.stdout.readline()
    running.stdout.close()
    told = json.loads(said) if said else {"error": "the proxy did not start"}
    if "error" in told:
        with suppress(BrokenPipeError):
            running.stdin.close()
        running.wait()
        raise RecordError(told["error"])
    with _LOCK:
        _RUNNING.append(_Running(running, os.getpid()))
    return leading_to(dsn, int(told["port"]))


def leading_to(dsn: str, port: int) -> str:
    """The same database, user and options, by that port of this machine, without TLS. Raises RecordError."""
    if "://" not in dsn:
        try:
            return make_conninfo(dsn, host=HOST, hostaddr=None, port=port, sslmode="disable")
        except Error as error:
            raise RecordError(f"the connection string cannot be read: {error}") from error
    parts = urlsplit(dsn)
    given = parse_qsl(parts.query)
    kept = [(name, value) for name, value in given if name not in _PLACES]
    if not is_mysql(dsn):
        kept.append(("sslmode", "disable"))
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user}{at}{HOST}:{port}", parts.path, urlencode(kept, quote_via=quote), ""))


def end_all() -> None:
    """End the proxies of this process, whose clients have closed their connections, and wait for their logs. Raises
    RecordError if one is not whole."""
    with _LOCK:
        mine = [one for one in _RUNNING if one.owner == os.getpid()]
        _RUNNING.clear()
    statuses = []
    for one in mine:
        assert one.process.stdin is not None
        with suppress(BrokenPipeError):
            one.process.stdin.close()
        statuses.append(one.process.wait())
    if any(statuses):
        raise RecordError("the log of a proxy is not whole, as standard error says")


def _end_at_exit() -> None:
    try:
        end_all()
    except RecordError as error:
        sys.stderr.write(f"troubadour: {error}\n")


atexit.register(_end_at_exit)
