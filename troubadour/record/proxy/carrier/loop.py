"""The loop that moves bytes: each connection of a client has one to the server, and what one side sends goes to the
other as far as that takes it. A side that does not take what it is sent is not read for on the other. What passes is
written down first, with the time at which it came.

Does not know what the bytes mean: a `Talk` says what is to be written, and where something of the proxy's own goes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, monotonic_ns

from troubadour.record.proxy.carrier.talk import PIECE, Step, Talk
from troubadour.record.proxy.carrier.writing import Writing
from troubadour.record.proxy.raw import ASKED, CLIENT, CLOSED, OPENED, SERVER, frame

GRACE = 5.0
"""Seconds for which the loop, once it is to end, waits for answers that the server owes."""
_IN, _OUT = select.EPOLLIN, select.EPOLLOUT
_WAITS = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Side:
    """One socket of a link. `pending`: what is to be sent on it."""

    __slots__ = (
        "closing",
        "connecting",
        "fd",
        "is_client",
        "link",
        "open",
        "pending",
        "reads",
        "shaking",
        "sock",
        "watched",
    )

    def __init__(self, sock: socket.socket, link: Link, *, is_client: bool) -> None:
        sock.setblocking(False)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.fd = sock.fileno()
        self.link = link
        self.is_client = is_client
        self.pending = bytearray()
        self.open = True
        self.reads = True
        """Whether what comes is wanted now."""
        self.closing = False
        """Whether nothing is to be sent any more once `pending` is."""
        self.connecting = False
        self.shaking = False
        """Whether TLS is being agreed on."""
        self.watched = 0


class Link:
    """One client's connection, and the one to the server that belongs to it."""

    __slots__ = ("client", "missing", "number", "opened", "recorded", "server", "talk")

    def __init__(self, number: int, talk: Talk) -> None:
        self.number = number
        self.talk = talk
        self.client: Side
        self.server: Side | None = None
        self.opened = False
        self.recorded = False
        self.missing = False
        """Whether something passed that is not written."""


class Carrier:
    """`connect`: makes a connection to the server, which may not be there yet when it returns; `talk`: what follows a
    new connection. `client_tls`, `server_tls`: for TLS, where a `Talk` asks for it."""

    def __init__(
        self,
        listening: socket.socket,
        connect: Callable[[], socket.socket],
        talk: Callable[[], Talk],
        writing: Writing,
        *,
        client_tls: ssl.SSLContext | None = None,
        server_tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
    ) -> None:
        self._listening = listening
        self._connect = connect
        self._talk = talk
        self._writing = writing
        self._client_tls, self._server_tls, self._server_name = client_tls, server_tls, server_name
        self._poll = select.epoll()
        self._sides: dict[int, Side] = {}
        self._links: dict[int, Link] = {}
        self._number = 0
        self._delayed: list[tuple[Link, Step]] = []
        self._ending = False
        self._told: set[str] = set()

    def run(self) -> None:
        """Until SIGTERM or SIGINT, and then as long as the server owes answers, `GRACE` at most."""
        self._listening.setblocking(False)
        with _signals() as signalled:
            self._poll.register(self._listening.fileno(), _IN)
            self._poll.register(signalled, _IN)
            deadline = 0.0
            while not self._ending or (self._links and monotonic() < deadline and self._is_owed()):
                for fd, events in self._poll.poll(0.02 if self._delayed or self._ending else None):
                    if fd == signalled:
                        if not self._ending:
                            self._ending, deadline = True, monotonic() + GRACE
                            self._poll.unregister(self._listening.fileno())
                            for side in self._sides.values():
                                self._watch(side)
                        os.read(signalled, 100)
                    elif fd == self._listening.fileno():
                        self._accept()
                    else:
                        self._event(fd, events)
                self._try_delayed()
        self.close()

    def close(self) -> None:
        """Close every connection."""
        for link in list(self._links.values()):
            self._close(link)
        self._poll.close()
        self._listening.close()

    def _is_owed(self) -> bool:
        return any(link.opened and link.talk.busy for link in self._links.values())

    # -- connections

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return
            self._number += 1
            link = self._links[self._number] = Link(self._number, self._talk())
            link.client = self._side(sock, link, is_client=True)
            self._do(link, link.talk.arrived())

    def _side(self, sock: socket.socket, link: Link, *, is_client: bool) -> Side:
        side = Side(sock, link, is_client=is_client)
        self._sides[side.fd] = side
        side.watched = _IN
        self._poll.register(side.fd, _IN)
        return side

    def _watch(self, side: Side) -> None:
        """Have epoll look for what is wanted of a side now."""
        if not side.open:
            return
        reads = side.reads and not side.connecting and not (self._ending and side.is_client)
        wanted = (_IN if reads or side.shaking else 0) | (_OUT if side.pending or side.connecting else 0)
        if wanted != side.watched:
            side.watched = wanted
            self._poll.modify(side.fd, wanted)

    def _shut(self, side: Side) -> None:
        if side.open:
            side.open = False
            with suppress(OSError):
                self._poll.unregister(side.fd)
            del self._sides[side.fd]
            with suppress(OSError):
                side.sock.close()

    def _close(self, link: Link) -> None:
        """Both sides, at once."""
        self._shut(link.client)
        if link.server is not None:
            self._shut(link.server)
        if self._links.pop(link.number, None) is not None and link.recorded:
            self._writing.append(frame(CLOSED, link.number, monotonic_ns(), b""))

    def _event(self, fd: int, events: int) -> None:
        side = self._sides.get(fd)
        if side is None:
            return
        if side.shaking:
            self._shake(side)
            return
        if events & _OUT:
            if side.connecting and not self._connected(side):
                return
            self._flush(side)
        if side.open and events & ~_OUT and not side.connecting:
            self._read(side)

    def _connected(self, side: Side) -> bool:
        side.connecting = False
        if side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._close(side.link)
            return False
        self._do(side.link, side.link.talk.greeted())
        return side.open

    # -- bytes

    def _read(self, side: Side) -> None:
        link = side.link
        while True:
            try:
                data = side.sock.recv(link.talk.piece if side.is_client and not link.opened else PIECE)
            except _WAITS:
                return
            except OSError:
                data = b""
            if not data:
                self._no_more(side)
                return
            now = monotonic_ns()
            if not link.opened:
                talk = link.talk
                self._do(link, talk.first_sent(data) if side.is_client else talk.first_got(data))
            elif side.is_client:
                self._from_client(link, data, now)
            else:
                self._from_server(link, data, now)
            # what TLS has read already no epoll tells of
            if not side.open or not side.reads or not isinstance(side.sock, ssl.SSLSocket) or not side.sock.pending():
                return

    def _from_client(self, link: Link, data: bytes, now: int) -> None:
        server = link.server
        if server is None or not server.open:
            return
        if link.recorded:
            question = link.talk.sent(data)
            written = frame(CLIENT, link.number, now, data)
            if question:
                written = frame(ASKED, link.number, now, question) + written
                data = question + data
            if not self._write(link, written):
                return
        self._send(server, data, link.client)

    def _from_server(self, link: Link, data: bytes, now: int) -> None:
        if link.recorded:
            if not self._write(link, frame(SERVER, link.number, now, data)):
                return
            data = link.talk.got(data)
        if data and link.client.open:
            self._send(link.client, data, link.server)

    def _write(self, link: Link, frames: bytes) -> bool:
        """Whether what is in the frames may be passed on."""
        if link.missing:
            return True
        if not self._writing.append(frames):
            self._close(link)
            return False
        link.missing = not self._writing.is_whole
        return True

    def _send(self, side: Side, data: bytes, source: Side | None) -> None:
        """Send as much as the side takes; while it does not take all, `source` is not read."""
        if not side.pending and not side.connecting and not side.shaking:
            try:
                sent = side.sock.send(data)
            except _WAITS:
                sent = 0
            except OSError:
                self._gone(side)
                return
            if sent == len(data):
                return
            data = data[sent:]
        side.pending += data
        self._watch(side)
        if source is not None and source.open and source.reads:
            source.reads = False
            self._watch(source)

    def _flush(self, side: Side) -> None:
        pending = side.pending
        while pending:
            try:
                with memoryview(pending)[:PIECE] as piece:
                    sent = side.sock.send(piece)
            except _WAITS:
                break
            except OSError:
                self._gone(side)
                return
            del pending[:sent]
        if not pending:
            other = side.link.server if side.is_client else side.link.client
            if other is not None and other.open and not other.reads and not other.closing:
                other.reads = True
                self._watch(other)
            if side.closing:
                self._finish(side)
        self._watch(side)

    def _gone(self, side: Side) -> None:
        """Nothing can be sent to a side any more."""
        side.pending.clear()
        self._no_more(side)

    def _no_more(self, side: Side) -> None:
        """A side sends no more, or is gone."""
        link = side.link
        server = link.server
        if side.is_client:
            self._shut(side)
            if server is None or not server.open or not link.opened:
                self._close(link)
            else:
                # what the server still answers is recorded, though it reaches no client
                server.closing = True
                server.reads = True
                if not server.pending:
                    self._finish(server)
                self._watch(server)
            return
        if link.opened and link.recorded and link.client.open:
            rest = link.talk.ended()
            if rest:
                self._send(link.client, rest, None)
        self._shut(side)
        if link.client.open and link.client.pending:
            link.client.closing = True
            link.client.reads = False
            self._watch(link.client)
        else:
            self._close(link)

    def _finish(self, side: Side) -> None:
        """All that was to be sent is sent."""
        if side.is_client:
            self._close(side.link)
            return
        if isinstance(side.sock, ssl.SSLSocket):  # which cannot end one direction alone
            self._close(side.link)
            return
        with suppress(OSError):
            side.sock.shutdown(socket.SHUT_WR)

    # -- the beginning of a connection

    def _do(self, link: Link, step: Step) -> None:
        if step.cancels is not None:
            self._cancel(link, step)
            return
        if step.connect and not self._to_server(link):
            return
        if step.to_client and link.client.open:
            self._send(link.client, step.to_client, None)
        if step.secure_client and link.client.open:
            self._secure(link.client)
        if step.secure_server and link.server is not None:
            if step.plain_to_server:
                self._send(link.server, step.plain_to_server, None)
            self._secure(link.server)
        if step.to_server and link.server is not None and link.server.open:
            self._send(link.server, step.to_server, link.client)
        if step.opened is not None:
            self._open(link, step)
        if step.close:
            self._close(link)

    def _to_server(self, link: Link) -> bool:
        try:
            sock = self._connect()
        except OSError as error:
            self._say(f"cannot connect to the server: {error.strerror or error}")
            self._close(link)
            return False
        link.server = self._side(sock, link, is_client=False)
        link.server.connecting = True
        self._watch(link.server)
        return True

    def _open(self, link: Link, step: Step) -> None:
        link.opened = True
        if step.unrecorded:
            self._say(f"a connection is passed on and not recorded: {step.unrecorded}")
        else:
            self._writing.resume(lambda: any(other.missing for other in self._links.values()))
            link.recorded = True
            now = monotonic_ns()
            written = frame(OPENED, link.number, now, json.dumps(step.opened).encode())
            if step.ask:
                written += frame(ASKED, link.number, now, step.ask)
            if not self._write(link, written):
                return
            if step.ask and link.server is not None:
                self._send(link.server, step.ask, link.client)
        if step.rest:
            self._from_server(link, step.rest, monotonic_ns())

    def _cancel(self, link: Link, step: Step) -> None:
        """A client wants a statement stopped: not before a question of the proxy's own on that connection is over."""
        if any(other.opened and other.talk.asking and _is_called(other.talk, step) for other in self._links.values()):
            self._delayed.append((link, step))
            return
        step.cancels = None
        if self._to_server(link):
            link.opened = True
            assert link.server is not None
            self._send(link.server, step.to_server, None)

    def _try_delayed(self) -> None:
        delayed, self._delayed = self._delayed, []
        for link, step in delayed:
            if link.client.open:
                self._cancel(link, step)

    def _say(self, text: str) -> None:
        """On standard error, once."""
        if text not in self._told:
            self._told.add(text)
            sys.stderr.write(f"troubadour: {text}\n")

    # -- TLS

    def _secure(self, side: Side) -> None:
        context = self._client_tls if side.is_client else self._server_tls
        assert context is not None
        self._poll.unregister(side.fd)
        del self._sides[side.fd]
        side.sock = context.wrap_socket(
            side.sock,
            server_side=side.is_client,
            do_handshake_on_connect=False,
            server_hostname=None if side.is_client else self._server_name,
        )
        side.fd = side.sock.fileno()
        side.shaking = True
        self._sides[side.fd] = side
        side.watched = _IN
        self._poll.register(side.fd, _IN)
        self._shake(side)

    def _shake(self, side: Side) -> None:
        assert isinstance(side.sock, ssl.SSLSocket)
        try:
            side.sock.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self._poll.modify(side.fd, _IN | _OUT)
            side.watched = _IN | _OUT
            return
        except OSError as error:
            self._say(f"TLS cannot be agreed on: {error}")
            self._close(side.link)
            return
        side.shaking = False
        self._flush(side)
        if side.open:
            self._read(side)


def _is_called(talk: Talk, step: Step) -> bool:
    return getattr(talk, "process", None) == step.cancels


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor that can be read once SIGTERM or SIGINT has come."""
    readable, writable = os.pipe2(os.O_NONBLOCK)
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    woken = signal.set_wakeup_fd(writable)
    try:
        yield readable
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(readable)
        os.close(writable)
