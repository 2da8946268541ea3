"""A proxy from beginning to end: what the log begins with is captured, a socket is listened on, the process that makes
the log is started, and when the proxy is told to end the log is closed. Does not know the protocols.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Any

from sql_semantics.records import dataclass
from troubadour.model.log import LogError
from troubadour.record.core.appending import AppendedFile
from troubadour.record.core.journal import STOP, Lookup
from troubadour.record.core.segments import begin_segment
from troubadour.record.core.unroll import complete
from troubadour.record.errors import RecordError, Unasked
from troubadour.record.proxy.carrier.loop import Carrier
from troubadour.record.proxy.carrier.writing import Writing
from troubadour.record.proxy.decode.making import make_log
from troubadour.record.proxy.mysql.server import is_mysql, open_mysql
from troubadour.record.proxy.origin import Origin
from troubadour.record.proxy.postgres.carried.server import open_postgres
from troubadour.record.proxy.raw import OPENED, frame

BACKLOG = 1024
"""Clients that may wait to be accepted."""


@dataclass(frozen=True, slots=True)
class Options:
    """`listen`: host and port. `certificate` and `key`: files, for clients that want TLS. `commit_order`, `unwritable`,
    `durable`: as `recorder.connect` has them."""

    listen: tuple[str, int]
    log: Path
    commit_order: str = "timestamps"
    unwritable: str = STOP
    durable: bool = False
    certificate: Path | None = None
    key: Path | None = None


def serve(dsn: str, options: Options, ready: Callable[[str, int], None]) -> None:
    """Until SIGTERM or SIGINT. `ready` is told the address once clients may connect. Raises RecordError where nothing
    can be recorded, or the log is not whole."""
    client_tls = _client_tls(options)
    opened = (
        open_mysql(dsn, offers_tls=client_tls is not None)
        if is_mysql(dsn)
        else open_postgres(dsn, options.commit_order, offers_tls=client_tls is not None)
    )
    with opened as origin:
        try:
            listening = socket.create_server(options.listen, backlog=BACKLOG, reuse_port=False)
        except (OSError, OverflowError) as error:
            raise RecordError(f"cannot listen on {options.listen[0]}:{options.listen[1]}: {error}") from error
        path, plain = begin_segment(options.log, origin.capture, durable=options.durable)
        file = AppendedFile(plain, options.durable)
        file.append(frame(OPENED, 0, monotonic_ns(), json.dumps(origin.told).encode()))
        writing = Writing(file, options.unwritable)
        carrier = Carrier(
            listening,
            origin.connect,
            origin.talk,
            writing,
            client_tls=client_tls,
            server_tls=origin.tls,
            server_name=origin.host,
        )
        maker = _start(plain, path, origin, options)
        ready(*listening.getsockname()[:2])
        try:
            carrier.run()
        finally:
            with suppress(OSError):
                writing.end()
            os.close(file.close())
            _finish(maker, plain, path, origin.lookup, options)


def _client_tls(options: Options) -> ssl.SSLContext | None:
    if options.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        raise RecordError(f"{options.certificate}: {error}") from error
    return context


def _start(plain: Path, path: Path, origin: Origin, options: Options) -> subprocess.Popen[bytes]:
    """The process that makes the log. A signal for the proxy's group is not for it."""
    running = subprocess.Popen(
        [sys.executable, "-m", "troubadour.record.proxy.decode"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    orders: dict[str, Any] = {
        "path": str(plain.absolute()), "target": str(path.absolute()), "times": origin.times, "wal": origin.wal,
        "durable": options.durable,
    }  # fmt: skip
    assert running.stdin is not None
    running.stdin.write(json.dumps(orders).encode() + b"\n")
    running.stdin.flush()
    assert running.stdout is not None
    ready = running.stdout.readline()
    running.stdout.close()
    if not ready:
        raise RecordError("the process that makes the log did not start, as was said")
    return running


def _finish(
    maker: subprocess.Popen[bytes], plain: Path, path: Path, lookup: Callable[[], Lookup | None], options: Options
) -> None:
    """The log, by the process that makes it; where that was killed, by this one."""
    assert maker.stdin is not None
    with suppress(OSError):
        maker.stdin.close()
    status = maker.wait()
    if status == 0:
        return
    for draft in path.parent.glob(f".{path.name}.{maker.pid}.*"):
        draft.unlink(missing_ok=True)
    if status > 0:
        raise RecordError(f"{path}: the log is not whole, as was said; what passed is in {plain}")
    times = lookup()
    try:
        complete(make_log(plain, path, times, durable=options.durable), path)
    except Unasked as error:
        sys.stderr.write(f"troubadour: {error}\n")
    except (OSError, LogError) as error:
        raise RecordError(f"{path}: the log cannot be made ({error}): `troubadour log repair` tries again") from error
    finally:
        if times is not None:
            times.close()
    if path != plain:
        plain.unlink(missing_ok=True)
