"""The log of what passed the proxy: the records of its sessions, as lines (`core.unroll`). The same frames always make
the same lines, so what a killed process had made need not be kept.

Does not know what asks for it, nor whether the proxy still runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from troubadour.model.log import LogError
from troubadour.record.core.frames import lines_before
from troubadour.record.core.journal import GAP, RESUMED, Lookup
from troubadour.record.core.unroll import Unrolled, unroll
from troubadour.record.proxy import raw
from troubadour.record.proxy.decode.session import Session
from troubadour.record.proxy.mysql.session import Session as MysqlSession
from troubadour.record.proxy.postgres.session import Session as PostgresSession
from troubadour.record.proxy.postgres.statements.defined import Defined
from troubadour.record.proxy.raw import Damage, Frame, frames


def holds_frames(path: Path) -> bool:
    """Whether a file is a log under way that a proxy writes, or left behind."""
    with path.open("rb") as source:
        for _ in lines_before(source):
            pass
        return source.read(1) == bytes([raw.MARK])


def make_log(
    path: Path,
    target: Path,
    lookup: Lookup | None = None,
    wait: Callable[[], bool] = lambda: False,
    *,
    durable: bool = False,
) -> Unrolled:
    """Write the log of the segment `path`, to which a proxy may still be writing, to `target`, which may be the same.
    `wait`: as `raw.frames`. Raises as `core.unroll.unroll` does."""
    with path.open("rb") as source:
        header: dict[str, Any] = {}
        for line in lines_before(source):
            header = header or _header(line)
        begin = source.tell()

        def read(length: int, place: int) -> bytes:
            return os.pread(source.fileno(), length, place)

        source.seek(0)
        made = records(frames(read, begin, wait), header)
        return unroll(source, target, lookup, durable=durable, records=made)


def _header(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise LogError(f"the first line is no header: {error}") from error
    return found


def records(passed: Iterable[Frame | Damage], header: Mapping[str, Any]) -> Iterator[Any]:
    """The records of what passed, in an order in which lines can be made of them."""
    segment = header.get("segment", "first")
    prefix = "" if segment == "first" else f"{segment}."
    sessions: dict[int, Session] = {}
    make = _Maker(header)
    latest = 0
    damaged = False
    for one in passed:
        if isinstance(one, Damage):
            yield from _missing(sessions, "a part of the recording is damaged", latest)
            damaged = True
            continue
        kind, number, latest, data = one
        if kind == raw.OPENED:
            if number == 0:
                make.known(json.loads(data))
            else:
                sessions[number] = make(f"{prefix}c{number}", json.loads(data))
            continue
        if kind == raw.UNWRITTEN:
            yield from _missing(sessions, data.decode(), latest)
            continue
        if kind == raw.RESUMED:
            yield (RESUMED, latest, None)
            continue
        found = sessions.get(number)
        if found is None:
            if number and not damaged:
                raise LogError(f"connection {number} was never opened")
            continue
        if kind == raw.CLIENT:
            found.sent(latest, data)
        elif kind == raw.SERVER:
            found.got(latest, data)
        elif kind == raw.ASKED:
            found.sent(latest, data, own=True)
        elif kind == raw.CLOSED:
            found.closed(latest)
            del sessions[number]
        if found.records:
            yield from found.records
            found.records.clear()
    for session in sessions.values():
        session.closed(None)
        yield from session.records


def _missing(sessions: dict[int, Session], reason: str, since: int) -> Iterator[Any]:
    """Something is missing of every session, and of those that are not known: these are not followed any more."""
    for session in sessions.values():
        session.lose(reason, since)
        yield from session.records
    sessions.clear()
    yield (GAP, since, reason)


class _Maker:
    """Makes sessions of the product that a header names."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._level = header.get("isolation")
        self._begun = header.get("settings", {})
        self._defined = Defined(header.get("schema", ()), header.get("procedures", ()))
        self._labels: frozenset[int] = frozenset()
        self._mysql = header.get("dialect") == "mysql"
        self._database = ""

    def known(self, told: Mapping[str, Any]) -> None:
        """What the proxy found out as it began."""
        self._labels = frozenset(told.get("labels", ()))
        self._database = told.get("database", "")

    def __call__(self, name: str, told: Mapping[str, Any]) -> Session:
        if self._mysql:
            return MysqlSession(name, self._level, self._begun, told, self._database)
        return PostgresSession(name, self._level, self._begun, told.get("parameters", {}), self._labels, self._defined)
