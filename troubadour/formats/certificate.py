"""A certificate on disk: a database's own account of a run, beside its log (Emme, EuroSys '24, §5).

JSON Lines, plain or gzip: a header, ``commit`` lines (an id, a place in the order of commits, the rows changed),
``read`` lines (the state that a transaction read), and an ``end`` line that counts both. Does not know whether the
account is true.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import msgspec

from troubadour.formats.store import Spill
from troubadour.formats.text import shown
from troubadour.model.certificate import (
    LARGEST_TIMESTAMP,
    Certificate,
    Commit,
    ReadState,
    RowChange,
    Scheme,
    Snapshot,
    Timestamps,
)
from troubadour.model.log import LogError, TransactionId

_Digits = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,20}$")]
_SnapshotText = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,20}:[0-9]{1,20}:([0-9]{1,20}(,[0-9]{1,20})*)?$")]
_Row = dict[str, Any] | None


class _Record(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A misspelt field would silently drop what it says."""


class _Header(_Record, frozen=True):
    format: Literal["troubadour-certificate"]
    version: Literal[1]
    log_id: str | None
    scheme: Literal["snapshot", "serialization-order"]
    dbms: str | None = None


class _Commit(_Record, frozen=True, tag_field="kind", tag="commit"):
    xid: _Digits
    place: int
    changes: tuple[tuple[str, Literal["insert", "update", "delete", "truncate"], _Row, _Row], ...] | None = None


class _Read(_Record, frozen=True, tag_field="kind", tag="read"):
    transaction: TransactionId
    snapshot: _SnapshotText | None = None
    timestamp: int | None = None
    xid: _Digits | None = None


class _End(_Record, frozen=True, tag_field="kind", tag="end"):
    commits: int
    reads: int


class _Changes(Sequence[RowChange]):
    """What a commit line of a spill tells, decoded when it is asked for: all of them together may be large."""

    __slots__ = ("_count", "_number", "_spill")

    def __init__(self, spill: Spill, number: int, count: int) -> None:
        self._spill, self._number, self._count = spill, number, count

    def __len__(self) -> int:
        return self._count

    def _read(self) -> list[RowChange]:
        return [
            RowChange(*change)
            for change in msgspec.json.decode(self._spill.read(self._number), type=_Commit).changes or ()
        ]

    def __iter__(self) -> Iterator[RowChange]:
        return iter(self._read())

    @overload
    def __getitem__(self, index: int) -> RowChange: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RowChange]: ...
    def __getitem__(self, index: int | slice) -> RowChange | Sequence[RowChange]:
        return self._read()[index]


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate; the rows that commits changed stay in a temporary file. Raises LogError, one line that names
    file and line, where it cannot be used."""
    spill = Spill()
    spilled = 0
    snapshots: dict[str, Snapshot] = {}
    commits: list[Commit] = []
    reads: dict[TransactionId, ReadState] = {}
    timestamps = Timestamps()
    header: _Header | None = None
    ended = False
    seen: set[int] = set()
    for number, line in _lines(path):

        def refuse(text: str, number: int = number) -> LogError:
            return LogError(f"{shown(path)}: line {number}: {text}")

        try:
            if header is None:
                header = msgspec.json.decode(line, type=_Header)
                continue
            entry = msgspec.json.decode(line, type=_Commit | _Read | _End)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise refuse(str(error)[:200]) from error
        if ended:
            raise refuse("something follows the end")
        match entry:
            case _Commit():
                xid = int(entry.xid)
                if xid in seen:
                    raise refuse(f"transaction id {xid} commits twice")
                seen.add(xid)
                changes = None
                if entry.changes is not None:
                    changes = _Changes(spill, spilled, len(entry.changes))
                    spill.append(line)
                    spilled += 1
                commits.append(Commit(xid, entry.place, changes))
            case _Read():
                if header.scheme == "snapshot":
                    new = entry.transaction not in reads
                    reads[entry.transaction] = _snapshot(entry, snapshots, refuse)
                else:
                    new = timestamps.add(entry.transaction, _timestamp(entry, refuse), _xid(entry))
                if not new:
                    raise refuse(f"transaction {entry.transaction!r} reads twice")
            case _End():
                ended = True
                if (entry.commits, entry.reads) != (len(commits), len(reads) + len(timestamps)):
                    raise refuse(f"it counts {entry.commits} commits and {entry.reads} reads, but there are others")
    if header is None:
        raise LogError(f"{shown(path)}: the certificate is empty")
    if not ended:
        raise LogError(f"{shown(path)}: torn: the end line is missing")
    spill.flush()
    scheme = Scheme(header.scheme)
    told: Mapping[TransactionId, ReadState] = reads if scheme is Scheme.SNAPSHOT else timestamps
    return Certificate(header.log_id, scheme, header.dbms, tuple(commits), told)


def _snapshot(entry: _Read, known: dict[str, Snapshot], refuse: Any) -> ReadState:
    """The read state; equal snapshots are one object."""
    if entry.snapshot is None:
        raise refuse("a read of this scheme has a snapshot")
    found = known.get(entry.snapshot)
    if found is not None:
        return ReadState(_xid(entry), snapshot=found)
    lowest, highest, running = entry.snapshot.split(":")
    snapshot = Snapshot(int(lowest), int(highest), frozenset(map(int, filter(None, running.split(",")))))
    if snapshot.lowest > snapshot.highest or any(
        not snapshot.lowest <= one < snapshot.highest for one in snapshot.running
    ):
        raise refuse(f"snapshot {entry.snapshot} contradicts itself")
    known[entry.snapshot] = snapshot
    return ReadState(_xid(entry), snapshot=snapshot)


def _timestamp(entry: _Read, refuse: Any) -> int:
    if entry.timestamp is None:
        raise refuse("a read of this scheme has a timestamp")
    if not 0 <= entry.timestamp <= LARGEST_TIMESTAMP:
        raise refuse("a timestamp is at least 0, and has 125 bits at most")
    return entry.timestamp


def _xid(entry: _Read) -> int | None:
    return None if entry.xid is None else int(entry.xid)


def write_certificate(path: Path, certificate: Certificate) -> None:
    """Write a certificate, packed where the name ends in ``.gz``. Raises OSError."""
    lines: list[dict[str, Any]] = [
        {
            "format": "troubadour-certificate",
            "version": 1,
            "log_id": certificate.log_id,
            "scheme": certificate.scheme.value,
            "dbms": certificate.dbms,
        }
    ]
    for commit in certificate.commits:
        told: dict[str, Any] = {"kind": "commit", "xid": str(commit.xid), "place": commit.place}
        if commit.changes is not None:
            told["changes"] = [[one.table, one.kind, one.old, one.new] for one in commit.changes]
        lines.append(told)
    for identifier, read in certificate.reads.items():
        state: dict[str, Any] = {"kind": "read", "transaction": identifier}
        if read.snapshot is not None:
            state["snapshot"] = read.snapshot.text
        if read.timestamp is not None:
            state["timestamp"] = read.timestamp
        if read.xid is not None:
            state["xid"] = str(read.xid)
        lines.append(state)
    lines.append({"kind": "end", "commits": len(certificate.commits), "reads": len(certificate.reads)})
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def check_columns(certificate: Certificate, columns: Mapping[str, frozenset[str]]) -> None:
    """That the schema has the columns that the changes name (tables that it lacks are not the log's). Raises
    LogError."""
    for commit in certificate.commits:
        for change in commit.changes or ():
            known = columns.get(change.table)
            for row in (change.old, change.new):
                strange = None if known is None or row is None else next((c for c in row if c not in known), None)
                if strange is not None:
                    raise LogError(
                        f"certificate: transaction id {commit.xid}: {change.table} has no column {strange!r}"
                    )


def _lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    try:
        with Path(path).open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else Path(path).open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    raise LogError(f"{shown(path)}: line {number}: torn: the last line does not end")
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise LogError(f"{shown(path)}: cannot be read: {error}") from error
