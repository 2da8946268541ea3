"""Where lines come from: files that grow, are cut or replaced, standard input, and requests on a port of this machine.

Each source gives whole lines by *segment*: what a header begins. Does not know what a line says.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, Protocol

from sql_semantics.records import dataclass, replace

BLOCK = 1 << 18
_GZIP = b"\x1f\x8b"
_WINDOW = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of a segment; `torn`: the last one has no newline, and none will come. `after`: the segment that the file
    had before, which goes on where this one has no header."""

    segment: int
    lines: list[bytes]
    torn: bool = False
    after: int | None = None


class Source(Protocol):
    """What lines are taken from. `name` is for messages."""

    name: str

    @property
    def segment(self) -> int:
        """The number of what is read now."""

    def read(self) -> Iterator[Batch]:
        """The lines that are there now."""

    def rest(self) -> Iterator[Batch]:
        """What is left when nothing more is waited for."""

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""

    def close(self) -> None:
        """Let go of it."""


class Lines:
    """Whole lines out of blocks of bytes, which may be gzip; `segment` is the number of what is read now."""

    def __init__(self, segment: int, after: int | None = None) -> None:
        self.segment = segment
        self.after = after
        self._rest = b""
        self._begun = False
        self._inflate: zlib._Decompress | None = None

    def take(self, block: bytes) -> Iterator[Batch]:
        """Raises ValueError where compressed bytes are damaged."""
        if not self._begun and len(self._rest + block) >= len(_GZIP):
            self._begun = True
            if (self._rest + block).startswith(_GZIP):
                block, self._rest = self._rest + block, b""
                self._inflate = zlib.decompressobj(_WINDOW)
        for text in self._inflated(block):
            head, newline, tail = (self._rest + text).rpartition(b"\n")
            self._rest = tail
            if newline:
                yield Batch(self.segment, head.split(b"\n"), after=self.after)

    def _inflated(self, block: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield block
            return
        while block:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(_WINDOW)
            try:
                yield self._inflate.decompress(block)
            except zlib.error as error:
                raise ValueError(f"damaged gzip data ({error})") from error
            block = self._inflate.unused_data

    def rest(self) -> Iterator[Batch]:
        """A last line without a newline."""
        if self._rest:
            rest, self._rest = self._rest, b""
            yield Batch(self.segment, [rest], torn=True, after=self.after)


class Gone(Exception):
    """What was read before of a file is not there any more."""


class Growing:
    """A file that grows. Where another one takes its place, or it becomes shorter, what was there is read to its end,
    and the new one is another segment; it is waited for until it has something."""

    def __init__(
        self,
        path: str,
        segments: Iterator[int],
        offset: int = 0,
        segment: int | None = None,
        inode: int | None = None,
        after: int | None = None,
    ) -> None:
        """`offset`: bytes of whole lines (unpacked, of a gzip file) that were read before, of the file with this
        `inode`, which may have another name by now; `after`: the segment that it had before. Raises OSError, Gone."""
        self.name = path
        self._segments = segments
        self._file = _opened(path if inode is None else _found(path, inode))
        self._lines = Lines(next(segments) if segment is None else segment, after)
        self._skip = 0
        if offset and self._file.read(len(_GZIP)) == _GZIP:
            self._skip = offset
            offset = 0
        self._file.seek(offset)
        self.taken = offset
        """Bytes of which every whole line was given."""

    @property
    def ended(self) -> bool:
        """A file may always grow."""
        return False

    @property
    def segment(self) -> int:
        """The number of what is read now."""
        return self._lines.segment

    @property
    def after(self) -> int | None:
        """The segment that the file had before."""
        return self._lines.after

    @property
    def inode(self) -> int:
        """Which file it is, whatever its name."""
        return os.fstat(self._file.fileno()).st_ino

    def read(self) -> Iterator[Batch]:
        """The lines that are there now."""
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            # cut: what is there now begins anew
            yield from self._renew()
        yield from self._there()
        with contextlib.suppress(OSError):
            there, own = os.stat(self.name), os.fstat(self._file.fileno())
            if (there.st_ino, there.st_dev) != (own.st_ino, own.st_dev) and there.st_size:
                # what was written before the new one had its first byte
                yield from self._there()
                yield from self._renew()

    def _there(self) -> Iterator[Batch]:
        while block := self._file.read(BLOCK):
            for batch in self._lines.take(block):
                size = sum(map(len, batch.lines)) + len(batch.lines)
                self.taken += size
                if self._skip < size:
                    yield self._beyond(batch)
                self._skip = max(0, self._skip - size)

    def _beyond(self, batch: Batch) -> Batch:
        """The lines of a batch that were not read before."""
        if not self._skip:
            return batch
        lines, left = batch.lines, self._skip
        at = 0
        while left > 0:
            left -= len(lines[at]) + 1
            at += 1
        return replace(batch, lines=lines[at:])

    def _renew(self) -> Iterator[Batch]:
        yield from self._lines.rest()
        self._file.close()
        self._file = _opened(self.name)
        self._lines = Lines(next(self._segments), self._lines.segment)
        self.taken = self._skip = 0

    def rest(self) -> Iterator[Batch]:
        """A last line without a newline."""
        yield from self.read()
        yield from self._lines.rest()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


def _opened(path: str) -> BinaryIO:
    return Path(path).open("rb", buffering=0)


def _found(path: str, inode: int) -> str:
    """The name of a file that may have been renamed since. Raises Gone, OSError."""
    if os.stat(path).st_ino == inode:
        return path
    for entry in os.scandir(Path(path).parent):
        if entry.inode() == inode and entry.is_file():
            return entry.path
    raise Gone(f"{path}: another file is there now, and the one that was followed is gone")


class Piped:
    """Standard input, until it is closed."""

    name = "<stdin>"

    def __init__(self, descriptor: int, segment: int) -> None:
        self._descriptor = descriptor
        self.segment = segment
        self._lines = Lines(segment)
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether it was closed."""
        return self._ended

    def read(self) -> Iterator[Batch]:
        """The lines that are there now."""
        while not self._ended and select.select([self._descriptor], [], [], 0)[0]:
            block = os.read(self._descriptor, BLOCK)
            self._ended = not block
            yield from self._lines.take(block)

    def rest(self) -> Iterator[Batch]:
        """A last line without a newline."""
        yield from self._lines.rest()

    def close(self) -> None:
        """Nothing is held."""


class Posted:
    """Lines that are sent by POST to a port of this machine, in any path: the first has the header; GET tells that it
    is there. A request is answered with 200 when its lines were taken."""

    def __init__(self, port: int, segment: int) -> None:
        """Raises OSError where the port cannot be had."""
        waiting: queue.Queue[_Request] = queue.Queue(maxsize=1000)

        class Handler(_Handler):
            def do_POST(self) -> None:
                try:
                    request = _Request(self.body().split(b"\n"))
                except ValueError as error:
                    self.answer(400, str(error))
                    return
                waiting.put(request)
                request.taken.wait()
                self.answer(200)

            def do_GET(self) -> None:
                self.answer(200)

        self._waiting, self.segment = waiting, segment
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = False
        self.port = int(self._server.server_address[1])
        self.name = f"port {self.port}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Another request may always come."""
        return False

    def _serve(self) -> None:
        """Until it is shut down and every request that was begun is answered."""
        self._server.serve_forever(0.05)
        self._server.server_close()

    def read(self) -> Iterator[Batch]:
        """The lines of the requests so far."""
        while True:
            try:
                request = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                yield Batch(self.segment, [line for line in request.lines if line.strip()])
            finally:
                request.taken.set()

    def rest(self) -> Iterator[Batch]:
        """Take no other request; the lines of those that were begun."""
        self._server.shutdown()
        while self._thread.is_alive():
            yield from self.read()
            self._thread.join(0.02)
        yield from self.read()

    def close(self) -> None:
        """No request is taken any more."""
        for _ in self.rest():
            pass


class _Request:
    """Lines that were sent, and whether they were taken."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.taken = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    """One request for each connection, whose client has ten seconds for each part of it."""

    protocol_version = "HTTP/1.1"
    timeout = 10

    def body(self) -> bytes:
        """What was sent. Raises ValueError where that is not as it says."""
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            sent = b"".join(self._chunks())
        else:
            length = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(length)
            if len(sent) < length:
                raise ValueError("the body is shorter than its length says")
        if (self.headers.get("Content-Encoding") or "").lower() == "gzip":
            try:
                return zlib.decompress(sent, _WINDOW)
            except zlib.error as error:
                raise ValueError(f"damaged gzip data ({error})") from error
        return sent

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(100).partition(b";")[0], 16):
            chunk = self.rfile.read(size)
            if len(chunk) < size or self.rfile.readline(3).strip():
                raise ValueError("a chunk is not as long as it says")
            yield chunk
        while self.rfile.readline(1 << 16).strip():
            pass

    def answer(self, status: int, text: str = "", kind: str = "text/plain") -> None:
        """Answer, and close."""
        told = text.encode()
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(told)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""
        del format, args


class Metrics:
    """What `told` answers, as text for Prometheus, by GET /metrics on a port of this machine."""

    def __init__(self, port: int, told: Callable[[], str]) -> None:
        """Raises OSError where the port cannot be had."""

        class Handler(_Handler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] == "/metrics":
                    self.answer(200, told(), "text/plain; version=0.0.4")
                else:
                    self.answer(404)

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Tell no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
