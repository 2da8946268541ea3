"""Which file a process writes: the log itself if it is the first, else a segment beside it.

The first segment has the initial state, captured before anybody could write to the log. Does not know any DBMS, nor
when a log is done.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from sql_semantics.records import dataclass
from troubadour.formats.write import ROWS_PER_LINE
from troubadour.record.core.appending import PRIVATE, folder_to_disk, to_disk
from troubadour.record.core.journal import GO_ON, STOP, Journal, Lookup, clock_name, encode, shared
from troubadour.record.core.losing import beside
from troubadour.record.errors import RecordError

Row = Sequence[Any] | msgspec.Raw
"""A row's values, or JSON of them."""
Rows = Sequence[tuple[str, Sequence[str], Iterable[Row]]]
"""Tables with their columns and rows."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What a log begins with: the header (`dialect`, `schema`, ...) and the initial rows."""

    header: Mapping[str, Any]
    rows: Rows = ()


def log_of(log: str | Path, database: str) -> Path:
    """Where the log of a database goes: ``{database}`` in the path stands for its name."""
    return Path(str(log).replace("{database}", re.sub(r"[^\w.-]", "_", database)))


def open_journal(
    path: Path,
    capture: Callable[[], Captured],
    lookup: Lookup | None = None,
    unwritable: str = STOP,
    durable: bool = False,
) -> Journal:
    """A journal for the log at `path`. The first process to come captures the initial state and writes `path` itself;
    further ones write segments beside it, ``run.3f2a.jsonl`` for ``run.jsonl``. Raises RecordError."""
    if unwritable not in (STOP, GO_ON):
        raise RecordError(f"unwritable={unwritable!r} is none of {STOP!r}, {GO_ON!r}")
    try:
        return _opened(path, capture, lookup, unwritable, durable)
    except OSError as error:
        raise RecordError(f"{path}: the log cannot be begun: {error.strerror or error}") from error


def _opened(
    path: Path, capture: Callable[[], Captured], lookup: Lookup | None, unwritable: str, durable: bool
) -> Journal:
    segment, prefix, tables = _begun(path, capture, durable)
    return Journal(segment, prefix, lookup, unwritable, durable, tables)


def begin_segment(path: Path, capture: Callable[[], Captured], *, durable: bool = False) -> tuple[Path, Path]:
    """Make the file that a process writes for the log at `path`, as `open_journal` does. Gives its name, and that of
    the plain file that is written until it is packed. Raises RecordError."""
    try:
        segment, _, _ = _begun(path, capture, durable)
    except OSError as error:
        raise RecordError(f"{path}: the log cannot be begun: {error.strerror or error}") from error
    return segment, segment.with_suffix("") if segment.suffix == ".gz" else segment


def _begun(path: Path, capture: Callable[[], Captured], durable: bool) -> tuple[Path, str, Mapping[str, Sequence[str]]]:
    """The name of the segment, what its sessions' names begin with, and the tables that it has initial rows of, with
    their columns."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if not plain.exists() and not path.exists():
        captured = capture()
        if create(plain, captured, durable):
            return path, "", {table: columns for table, columns, _ in captured.rows}
    header = read_header(path if path.exists() else plain)
    while True:
        token = secrets.token_hex(2)
        segment = beside(path, token)
        begun = segment.with_suffix("") if segment.suffix == ".gz" else segment
        captured = Captured({**header, "segment": token, "clock": clock_name()})
        if not segment.exists() and create(begun, captured, durable):
            return segment, f"{token}.", {}


def begin_anew(path: Path, captured: Captured, lookup: Lookup | None = None) -> Journal:
    """A journal for a log at `path` that begins with `captured`, whatever is there; what this process connects to with
    that path is recorded in it. Raises RecordError and OSError."""

    def begin(path: Path) -> Journal:
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        plain.unlink(missing_ok=True)
        create(plain, captured)
        begun.append(Journal(path, "", lookup, tables={table: columns for table, columns, _ in captured.rows}))
        return begun[0]

    begun: list[Journal] = []
    journal = shared(path, begin)
    if journal not in begun:
        raise RecordError(f"{path} is being recorded already")
    return journal


def create(path: Path, captured: Captured, durable: bool = False) -> bool:
    """Make the file with header and initial rows, all at once, and have it on the disk if it is to be `durable`. False
    if it is there already."""
    header = {
        "format": "troubadour-log", "version": 1, "clock": clock_name(), "log_id": secrets.token_hex(8),
        "segment": "first", "order": "hint", **captured.header,
    }  # fmt: skip
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(2)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
            _begin(file, header, captured.rows)
            if durable:
                to_disk(file)
        os.link(draft, path)
        if durable:
            folder_to_disk(path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _begin(file: BinaryIO, header: Mapping[str, Any], tables: Rows) -> None:
    file.write(encode(header) + b"\n")
    for table, columns, rows in tables:
        waiting: list[Row] = []
        for row in rows:
            waiting.append(row)
            if len(waiting) == ROWS_PER_LINE:
                file.write(_rows(table, columns, waiting))
                waiting = []
        if waiting:
            file.write(_rows(table, columns, waiting))


def read_header(path: Path) -> dict[str, Any]:
    """The header of an existing log, without its initial rows. Raises RecordError."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            header = json.loads(file.readline())
        if header.pop("format") != "troubadour-log" or header.pop("version") != 1:
            raise ValueError("another format")
    except (ValueError, KeyError, AttributeError, EOFError) as error:
        raise RecordError(f"{path} exists and is no log: {error}") from error
    header.pop("initial", None)
    return dict(header)


def _rows(table: str, columns: Sequence[str], rows: Sequence[Row]) -> bytes:
    return encode({"kind": "rows", "table": table, "columns": columns, "rows": rows}) + b"\n"
