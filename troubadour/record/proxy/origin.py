"""A server as a proxy needs it, whichever product it is. Does not know how it was found."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sql_semantics.records import dataclass
from troubadour.record.core.journal import Lookup
from troubadour.record.core.segments import Captured
from troubadour.record.postgres.log import CommitTimes
from troubadour.record.proxy.carrier.talk import Talk


@dataclass(frozen=True, slots=True)
class Origin:
    """`capture`: what the log begins with; `connect`: makes a connection for a client; `told`: what decoders need to
    know, as JSON has it; `times`: a connection string by which commit times are looked up, None where they are not;
    `wal`: it is their order in the write-ahead log instead, which is followed from the beginning; `host`: the server's
    name, for TLS; `tls`: where it wants that."""

    capture: Callable[[], Captured]
    connect: Callable[[], socket.socket]
    talk: Callable[[], Talk]
    told: dict[str, Any]
    times: str | None = None
    wal: bool = False
    host: str | None = None
    tls: ssl.SSLContext | None = None

    def lookup(self) -> Lookup | None:
        """What looks commit times up afterwards."""
        return None if self.times is None or self.wal else CommitTimes(self.times)


def connected(host: str, port: int) -> socket.socket:
    """A socket to a server, which may not be connected yet; `host`: a path, for a socket of the machine's. Raises
    OSError."""
    if host.startswith("/"):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(10)
        sock.connect(host)
        return sock
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    sock.setblocking(False)
    with suppress(BlockingIOError):
        sock.connect(address)
    return sock
