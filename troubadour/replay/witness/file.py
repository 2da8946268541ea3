"""Witnesses on disk: one JSON object, gzip where the name ends in ``.gz``.

Does not know whether a witness is right.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from troubadour.formats.text import Torn, blocks, likely_size
from troubadour.model.witness import Witness

FORMAT = "troubadour-witness"
VERSION = 1

LONGEST = 1 << 30
"""Bytes of the longest witness that is read."""

SMALL, PER_BYTE = 1 << 26, 64
"""Bytes that the witness of any log may have, and more for each byte of the log."""

_BATCH = 4096
"""Transactions that are written at once."""


class WitnessError(Exception):
    """A witness file that cannot be used (exit status 2); the text is one line and names the file."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a witness, all of them required but `initial`, `also`, `given_up` and `by`."""

    format: str
    version: int
    log: str
    isolation: str | None
    order: tuple[str | int, ...]
    views: tuple[dict[str, msgspec.Raw], ...]
    initial: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    also: tuple[_Strict, ...] | msgspec.UnsetType = msgspec.UNSET
    given_up: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    by: Literal["timestamps"] | msgspec.UnsetType = msgspec.UNSET


def read_witness(path: str | Path, *, longest: int = LONGEST) -> Witness:
    """Read a witness of at most so many bytes, unpacked. Raises WitnessError for a file that is not there or is not a
    witness of this version."""
    name = str(path)
    text = _text(path, longest)
    try:
        fields = msgspec.json.decode(text, type=_Strict)
        for part in (fields, *(() if isinstance(fields.also, msgspec.UnsetType) else fields.also)):
            _check_fields(name, part)
        witness = msgspec.json.decode(text, type=Witness)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WitnessError(f"{name}: not a witness: {error}") from error
    return _whole(witness)


def longest_for(logs: Sequence[str | Path]) -> int:
    """How many bytes the witness of these segments may have: what a search writes is a part of that."""
    sizes = [likely_size(log) for log in logs]
    return min(LONGEST, SMALL + PER_BYTE * sum(sizes)) if all(sizes) else LONGEST


def _text(path: str | Path, longest: int) -> bytes:
    found: list[bytes] = []
    length = 0
    try:
        with Path(path).open("rb") as stream:
            for block in blocks(stream, lambda count: None):
                length += len(block)
                if length > longest:
                    raise WitnessError(f"{path}: more than {longest >> 20:,} MiB, which no witness of this log has")
                found.append(block)
    except (OSError, Torn) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise WitnessError(f"{path}: {reason}") from error
    return b"".join(found)


def _whole(witness: Witness) -> Witness:
    """With tuples, as a search makes it."""
    also = witness.also if isinstance(witness.also, msgspec.UnsetType) else tuple(map(_whole, witness.also))
    return msgspec.structs.replace(witness, order=tuple(witness.order), views=tuple(witness.views), also=also)


def _check_fields(name: str, fields: _Strict) -> None:
    if fields.format != FORMAT or fields.version != VERSION:
        raise WitnessError(f"{name}: not a witness of format {FORMAT}, version {VERSION}")
    for view in fields.views:
        unknown = view.keys() - {"state", "exceptions", "newest", "free", "statements", "hidden"}
        if unknown:
            raise WitnessError(f"{name}: a view has the unknown field {min(unknown)!r}")
    if len(fields.order) != len(fields.views):
        raise WitnessError(f"{name}: {len(fields.order)} transactions in the order, but {len(fields.views)} views")


def write_witness(path: str | Path, witness: Witness) -> None:
    """Write a witness, whole or not at all. Raises WitnessError where the file cannot be written."""
    name = str(path)
    beside = Path(name + ".partial")
    # No time stamp: the same witness gives the same file.
    packed = zlib.compressobj(wbits=31) if name.endswith(".gz") else None
    try:
        with beside.open("wb") as file:
            for text in _texts(witness):
                file.write(text if packed is None else packed.compress(text))
            file.write(b"\n" if packed is None else packed.compress(b"\n") + packed.flush())
        beside.replace(path)
    except OSError as error:
        raise WitnessError(f"{name}: {error.strerror or error}") from error


def _texts(witness: Witness) -> Iterator[bytes]:
    """The JSON object, piece by piece: order and views are made as they are written."""
    bare = msgspec.structs.replace(witness, order=(), views=(), also=msgspec.UNSET)
    head, between, tail = msgspec.json.encode(bare).partition(b'"order":[],"views":[]')
    assert between
    yield head + b'"order":['
    yield from _items(witness.order)
    yield b'],"views":['
    yield from _items(witness.views)
    if isinstance(witness.also, msgspec.UnsetType):
        yield b"]" + tail
        return
    before, version, after = tail.partition(b'"version":%d' % witness.version)
    yield b"]" + before + version + b',"also":['
    for number, part in enumerate(witness.also):
        yield b"," if number else b""
        yield from _texts(part)
    yield b"]" + after


def _items(items: Sequence[Any]) -> Iterator[bytes]:
    for start in range(0, len(items), _BATCH):
        yield (b"," if start else b"") + msgspec.json.encode(list(items[start : start + _BATCH]))[1:-1]
