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
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, Protocol

BLOCK = 1 << 18
_GZIP = b"\x1f\x8b"
_WINDOW = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of a segment; `torn`: the last one has no newline, and none will come."""

    segment: int
    lines: list[bytes]
    torn: bool = False


class Source(Protocol):
    """What lines are taken from. `name` is for messages."""

    name: str

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

    def __init__(self, segment: int) -> None:
        self.segment = segment
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
                yield Batch(self.segment, head.split(b"\n"))

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
            yield Batch(self.segment, [rest], torn=True)


class Growing:
    """A file that grows. Where another one takes its place, or it becomes shorter, what was there is read to its end,
    and the new one is another segment."""

    def __init__(self, path: str, segments: Iterator[int], offset: int = 0, segment: int | None = None) -> None:
        """`offset`: bytes that were read before. Raises OSError."""
        self.name = path
        self._segments = segments
        self._file = _opened(path)
        self._lines = Lines(next(segments) if segment is None else segment)
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

    def read(self) -> Iterator[Batch]:
        """The lines that are there now."""
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            # cut: what is there now begins anew
            yield from self._renew()
        while block := self._file.read(BLOCK):
            for batch in self._lines.take(block):
                self.taken += sum(map(len, batch.lines)) + len(batch.lines)
                yield batch
        with contextlib.suppress(OSError):
            there, own = os.stat(self.name), os.fstat(self._file.fileno())
            if (there.st_ino, there.st_dev) != (own.st_ino, own.st_dev):
                yield from self._renew()

    def _renew(self) -> Iterator[Batch]:
        yield from self._lines.rest()
        self._file.close()
        self._file = _opened(self.name)
        self._lines = Lines(next(self._segments))
        self.taken = 0

    def rest(self) -> Iterator[Batch]:
        """A last line without a newline."""
        yield from self.read()
        yield from self._lines.rest()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


def _opened(path: str) -> BinaryIO:
    return Path(path).open("rb", buffering=0)


class Piped:
    """Standard input, until it is closed."""

    name = "<stdin>"

    def __init__(self, descriptor: int, segment: int) -> None:
        self._descriptor = descriptor
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
    is there. A request whose lines were taken is answered with 200."""

    def __init__(self, port: int, segment: int) -> None:
        """Raises OSError where the port cannot be had."""
        waiting: queue.Queue[list[bytes]] = queue.Queue(maxsize=1000)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                waiting.put(self.rfile.read(length).split(b"\n"))
                self._answer()

            def do_GET(self) -> None:
                self._answer()

            def _answer(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self._waiting, self._segment = waiting, segment
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_address[1])
        self.name = f"port {self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Another request may always come."""
        return False

    def read(self) -> Iterator[Batch]:
        """The lines of the requests so far."""
        while True:
            try:
                lines = self._waiting.get_nowait()
            except queue.Empty:
                return
            yield Batch(self._segment, [line for line in lines if line.strip()])

    def rest(self) -> Iterator[Batch]:
        """The same."""
        yield from self.read()

    def close(self) -> None:
        """No request is taken any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
