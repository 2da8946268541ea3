"""A segment as a stream of lines (UTF-8, optionally gzip, `-` is standard input).

Holds one block of text at a time. Does not know what a line says.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from troubadour.model.log import LogError
from troubadour.model.visible import one_line

BLOCK = 1 << 20
"""Bytes read, and at most decompressed, at a time."""

LONGEST_LINE = 1 << 28
"""Bytes of a line: initial rows that need more go to lines of kind `rows`."""

STDIN = "-"
_GZIP = b"\x1f\x8b"
_LARGEST_RATIO = 1032
"""What DEFLATE can do at best."""

UNPACKED = 1 << 29
"""Bytes up to which anything is unpacked."""

RATIO = 100
"""How many times its size a file may unpack to beyond that. Logs come to 10 to 50 times; what comes to more was made to
fill a memory or a disk."""

_WINDOW = zlib.MAX_WBITS | 16


class Torn(Exception):
    """The stream breaks off: compressed data that end early or are damaged, a device that fails. The text is what to
    tell."""


def shown(path: str | Path) -> str:
    """A path as messages name it, always on one line."""
    name = "<stdin>" if str(path) == STDIN else str(path)
    return one_line(name)


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """The segment's bytes as they are stored. Raises LogError where it cannot be opened."""
    if str(path) == STDIN:
        if sys.stdin is None:
            raise LogError(f"{shown(path)}: there is no standard input")
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed below; only the opening is guarded
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LogError(f"{shown(path)}: cannot be read: {reason}{_remedy(Path(path), error)}") from error
    with io.BufferedReader(file, BLOCK) as stream:
        yield stream


def _remedy(path: Path, error: Exception) -> str:
    """What to do where a file cannot be opened, if that can be told."""
    if isinstance(error, IsADirectoryError):
        return "; troubadour gate audits all logs in a folder"
    if not isinstance(error, FileNotFoundError):
        return ""
    with suppress(OSError):
        near = get_close_matches(path.name, [one.name for one in path.parent.iterdir()], 1, 0.75)
        return f"; did you mean {shown(path.with_name(near[0]))}?" if near else ""
    return ""


def stored_size(path: str | Path) -> int | None:
    """Bytes of the segment as stored; None where that cannot be told (standard input, pipes, no such file)."""
    if str(path) == STDIN:
        return None
    try:
        size = os.path.getsize(path) if os.path.isfile(path) else None
    except (OSError, ValueError):
        return None
    return size


def is_packed(first: bytes) -> bool:
    """Whether a file that begins so is compressed."""
    return first.startswith(_GZIP)


def likely_size(path: str | Path) -> int:
    """A guess at the segment's uncompressed bytes, from its size or what gzip noted at its end; 0 if unknown."""
    size = stored_size(path)
    if size is None or size < 20:
        return 0
    try:
        with Path(path).open("rb") as stream:
            if not is_packed(stream.read(len(_GZIP))):
                return size
            stream.seek(-4, os.SEEK_END)
            noted: int = struct.unpack("<I", stream.read(4))[0]
            # What is noted there is modulo 4 GiB, and anything at all where the file is damaged.
            return max(size, min(noted, size * _LARGEST_RATIO))
    except OSError:
        return 0


def blocks(stream: BinaryIO, stored: Callable[[int], None]) -> Iterator[bytes]:
    """The text in blocks, decompressed if its first bytes say so; `stored` is told how many stored bytes were read.

    Raises Torn where it cannot be read to its end.
    """
    first = _next(stream, stored)
    while 0 < len(first) < len(_GZIP):
        more = _next(stream, stored)
        if not more:
            break
        first += more
    if is_packed(first):
        yield from _inflated(first, stream, stored)
        return
    while first:
        yield first
        first = _next(stream, stored)


def _next(stream: BinaryIO, stored: Callable[[int], None]) -> bytes:
    try:
        data = stream.read1(BLOCK) if isinstance(stream, io.BufferedReader) else stream.read(BLOCK)
    except OSError as error:
        raise Torn(f"cannot be read: {error.strerror}") from error
    stored(len(data))
    return data


def _inflated(data: bytes, stream: BinaryIO, stored: Callable[[int], None]) -> Iterator[bytes]:
    inflate = zlib.decompressobj(_WINDOW)
    read, unpacked = len(data), 0
    try:
        while data:
            if inflate.eof:
                data = data.lstrip(b"\0")
                if not data:
                    data = _next(stream, stored)
                    read += len(data)
                    continue
                inflate = zlib.decompressobj(_WINDOW)
            text = inflate.decompress(data, BLOCK)
            unpacked += len(text)
            if unpacked > UNPACKED and unpacked > RATIO * read:
                raise Torn(f"it unpacks to more than {RATIO} times its size")
            if text:
                yield text
            data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            if not data:
                data = _next(stream, stored)
                read += len(data)
        while not inflate.eof:
            text = inflate.decompress(b"", BLOCK)
            if not text:
                break
            yield text
    except zlib.error as error:
        raise Torn(f"damaged gzip data ({error})") from error
    if not inflate.eof:
        raise Torn("torn: the gzip data ends early; it can be mended: troubadour log repair FILE --out LOG")


def lines(text: Iterator[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    """Complete lines without their newlines, many at a time. The flag is True for what follows the last newline.

    Raises Torn for a line that does not end in time: a device, a compressed file of nothing.
    """
    rest: list[bytes] = []
    length = 0
    for block in text:
        parts = block.split(b"\n")
        length += len(parts[0])
        if length > LONGEST_LINE:
            raise Torn(f"a line of more than {LONGEST_LINE >> 20} MiB")
        if len(parts) == 1:
            rest.append(block)
            continue
        length = len(parts[-1])
        if rest:
            rest.append(parts[0])
            parts[0] = b"".join(rest)
        last = parts.pop()
        rest = [last] if last else []
        yield parts, False
    if rest:
        yield [b"".join(rest)], True
