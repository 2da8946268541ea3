"""A certificate beside a log: the order of versions and what each transaction read, as the server tells (Emme §5).

Commits and the rows that they changed come from the write-ahead log, read states are the snapshots that transactions
were asked for. The log stays what clients saw. Does not know whether the two agree.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from troubadour.formats import read_log
from troubadour.model.log import LogError
from troubadour.record.errors import RecordError
from troubadour.record.postgres.pgoutput import UNCHANGED, Change, Decoder
from troubadour.record.postgres.wal import WalOrder

_BOOLEAN = 16
_WHOLE = frozenset({20, 21, 23, 26})
_FLOATS = frozenset({700, 701})
_WORDS = frozenset({"NaN", "Infinity", "-Infinity"})
_MESSAGES = (
    "SELECT data FROM pg_logical_slot_get_binary_changes($1, NULL, NULL, 'proto_version', '1', 'publication_names', $2)"
)
_EPOCH = 1 << 32


class Certified(WalOrder):
    """A `journal.Lookup` as `WalOrder` is, that keeps what transactions changed, and writes the certificate of the log
    at `log` to `path` when there is nothing more to ask. Raises RecordError."""

    def __init__(self, dsn: str, log: Path, path: Path) -> None:
        self._log, self._path = log, path
        self._decoder = Decoder()
        self._spool: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the certificate
        try:
            super().__init__(dsn)
        except BaseException:
            self._spool.close()
            raise

    def _begin(self) -> None:
        super()._begin()
        row = self._connection.execute(b"SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
        assert row is not None
        self._base: int = int(str(row[0]))

    def _full(self, xid: int) -> int:
        """A transaction's whole id: the write-ahead log has its lower 32 bits."""
        near = self._base - self._base % _EPOCH + xid
        return near + _EPOCH if near + _EPOCH // 2 < self._base else near

    def _read(self) -> None:
        for (data,) in self._connection.execute(_MESSAGES.encode(), (self._name, self._name)):
            assert isinstance(data, bytes)
            ended = self._decoder.take(data)
            if ended is None:
                continue
            self._places[ended.xid] = ended.place
            entry = {"kind": "commit", "xid": str(self._full(ended.xid)), "place": ended.place}
            self._spool.write(msgspec.json.encode({**entry, "changes": [_entry(one) for one in ended.changes]}) + b"\n")

    def _close(self) -> None:
        if not self._connection.closed:
            self._read()
        super()._close()
        self._write()
        self._spool.close()

    def _write(self) -> None:
        try:
            log = read_log([self._log])
        except LogError as error:
            raise RecordError(f"{self._path}: no certificate, as the log cannot be read: {error}") from error
        header = {"format": "troubadour-certificate", "version": 1, "log_id": log.header.log_id, "scheme": "snapshot"}
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with draft.open("wb") as file:
            file.write(msgspec.json.encode({**header, "dbms": log.header.dbms}) + b"\n")
            commits = 0
            self._spool.seek(0)
            for line in self._spool:
                file.write(line)
                commits += 1
            reads = 0
            for entry in _reads(log.transactions):
                file.write(msgspec.json.encode(entry) + b"\n")
                reads += 1
            file.write(msgspec.json.encode({"kind": "end", "commits": commits, "reads": reads}) + b"\n")
        draft.replace(self._path)


def _reads(transactions: Any) -> Iterator[dict[str, Any]]:
    for transaction in transactions:
        if transaction.snapshot is not None:
            entry = {"kind": "read", "transaction": transaction.id, "snapshot": transaction.snapshot}
            yield entry if transaction.xid is None else {**entry, "xid": transaction.xid}


def _entry(change: Change) -> list[Any]:
    columns = change.relation.columns
    # of a row's identity alone the other columns are not told
    partial = change.old is not None and any(
        value is None and not identity for value, (_, _, identity) in zip(change.old, columns, strict=True)
    )
    old = None if change.old is None else _values(change, change.old, only_identity=partial)
    new = None if change.new is None else _values(change, change.new, only_identity=False)
    return [change.relation.name, change.kind, old, new]


def _values(change: Change, row: tuple[object, ...], *, only_identity: bool) -> dict[str, Any]:
    return {
        name: _value(oid, value)
        for (name, oid, identity), value in zip(change.relation.columns, row, strict=True)
        if value is not UNCHANGED and (identity or not only_identity)
    }


def _value(oid: int, text: object) -> Any:
    """A value as a log writes it."""
    if text is None:
        return None
    if oid == _BOOLEAN:
        return text == "t"
    if oid in _FLOATS and str(text) not in _WORDS:
        return float(str(text))
    return int(str(text)) if oid in _WHOLE else text
