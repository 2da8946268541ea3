"""Certificates from the timestamps that TiDB, CockroachDB and YugabyteDB tell of a transaction, and the log with them
(Emme §5, §6; Chronos and Aion §IV-C).

TiDB: a version is named by its writer's `commit_ts`, and a snapshot at t has those up to t. CockroachDB: a transaction
reads and writes at one timestamp, so that these are an expected serialization order. YugabyteDB: hybrid times of the
read and the commit, from its write-ahead log. Does not know any server: what it told is in a file, a line each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from troubadour.formats.text import shown
from troubadour.model.certificate import Certificate, Commit, ReadState, Scheme, Snapshot
from troubadour.model.log import Log, LogError, Transaction, TransactionId

_Ts = Annotated[int, msgspec.Meta(ge=0)]
_Hybrid = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,19}(\.[0-9]{1,10})?$")]
_LOGICAL = 10


class _Tidb(msgspec.Struct, frozen=True):
    """`@@tidb_last_txn_info`, asked for after the transaction ended, which has more fields; `for_update_ts` is told of
    pessimistic transactions only."""

    transaction: TransactionId
    start_ts: _Ts
    for_update_ts: _Ts = 0
    commit_ts: _Ts = 0


class _Cockroach(msgspec.Struct, frozen=True):
    """`cluster_logical_timestamp()`, asked for as the transaction's last statement: nanoseconds, a point, and a
    counter of ten digits."""

    transaction: TransactionId
    timestamp: _Hybrid


class _Yugabyte(msgspec.Struct, frozen=True):
    """The hybrid times at which a transaction read and committed, as integers; one that wrote nothing has no
    `commit_time`."""

    transaction: TransactionId
    read_time: _Ts
    commit_time: _Ts = 0


Times = dict[TransactionId, tuple[int | None, int | None]]
"""Of each transaction its `start` and its `commit`, as a log has them."""


def tidb_certificate(log: Log, path: Path) -> Certificate:
    """Of the lines at `path`. A pessimistic transaction of several statements whose `for_update_ts` is not its
    `start_ts` read several states, of which the last is told: it has no read state then. Raises LogError."""
    return _by_snapshots(log, path, tidb_times(log, path), "commit_ts")


def yugabyte_certificate(log: Log, path: Path) -> Certificate:
    """Of the lines at `path`. Raises LogError."""
    return _by_snapshots(log, path, yugabyte_times(log, path), "commit_time")


def _by_snapshots(log: Log, path: Path, times: Times, named: str) -> Certificate:
    """A snapshot at a timestamp has the versions up to it."""
    commits: list[Commit] = []
    reads: dict[TransactionId, ReadState] = {}
    for id, (at, wrote) in times.items():
        if wrote is not None:
            commits.append(Commit(wrote, wrote))
        if at is not None:
            reads[id] = ReadState(wrote, Snapshot(at + 1, at + 1, frozenset()))
    commits.sort(key=lambda one: one.place)
    if len({one.xid for one in commits}) < len(commits):
        raise LogError(f"{shown(path)}: two transactions have one {named}")
    return Certificate(log.header.log_id, Scheme.SNAPSHOT, log.header.dbms, tuple(commits), reads)


def tidb_times(log: Log, path: Path) -> Times:
    """Of the lines at `path`. Raises LogError."""
    transactions = {one.id: one for one in log.transactions}
    return {
        one.transaction: (_state(one, transactions[one.transaction]), one.commit_ts or None)
        for one in _lines(path, _Tidb, transactions)
    }


def yugabyte_times(log: Log, path: Path) -> Times:
    """Of the lines at `path`. Raises LogError."""
    found = _lines(path, _Yugabyte, {one.id: one for one in log.transactions})
    for one in found:
        if 0 < one.commit_time < one.read_time:
            raise LogError(f"{shown(path)}: transaction {one.transaction!r} committed before it read")
    return {one.transaction: (one.read_time, one.commit_time or None) for one in found}


def cockroach_times(log: Log, path: Path) -> Times:
    """Of the lines at `path`: the place of a timestamp among all, as it has more than 64 bits. Raises LogError."""
    stamps = _stamps(log, path)
    place = {stamp: number for number, stamp in enumerate(sorted(set(stamps.values())))}
    return {id: (place[stamp], place[stamp]) for id, stamp in stamps.items()}


def _state(entry: _Tidb, transaction: Transaction) -> int | None:
    if entry.for_update_ts in (0, entry.start_ts):
        return entry.start_ts
    if len(transaction.statements) > 1:
        return None
    query = transaction.statements[0].sql.lstrip().upper().startswith("SELECT") if transaction.statements else True
    return None if query else entry.for_update_ts


def cockroach_certificate(log: Log, path: Path) -> Certificate:
    """Of the lines at `path`. Raises LogError."""
    reads = {id: ReadState(timestamp=stamp) for id, stamp in _stamps(log, path).items()}
    return Certificate(log.header.log_id, Scheme.SERIALIZATION_ORDER, log.header.dbms, (), reads)


def _stamps(log: Log, path: Path) -> dict[TransactionId, int]:
    found = {}
    for entry in _lines(path, _Cockroach, {one.id: one for one in log.transactions}):
        wall, _, logical = entry.timestamp.partition(".")
        found[entry.transaction] = int(wall) * 10**_LOGICAL + int(logical.ljust(_LOGICAL, "0"))
    return found


IMPORTS = {
    "tidb": (tidb_certificate, tidb_times),
    "cockroachdb": (cockroach_certificate, cockroach_times),
    "yugabytedb": (yugabyte_certificate, yugabyte_times),
}


def stamped(text: bytes, times: Times) -> bytes:
    """The lines of a log with `start` and `commit` put at the end of each transaction that has them; nothing else is
    changed. Raises LogError where a line has one already."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines[1:], 1):
        try:
            brief = msgspec.json.decode(line, type=_Brief)
        except msgspec.MsgspecError:
            continue  # no transaction
        start, commit = times.get(brief.id, (None, None))
        if brief.kind == "intent" or (start is None and commit is None):
            continue
        if brief.start is not None or brief.commit is not None:
            raise LogError(f"transaction {brief.id!r} has timestamps already")
        fields = b"".join(
            b',"%s":%d' % (name, time) for name, time in ((b"start", start), (b"commit", commit)) if time is not None
        )
        body = line.rstrip()
        lines[at] = body.removesuffix(b"}") + fields + b"}" + line[len(body) :]
    return b"".join(lines)


class _Brief(msgspec.Struct, frozen=True):
    """Of a transaction line what tells where timestamps go."""

    id: TransactionId
    kind: str = "transaction"
    start: int | None = None
    commit: int | None = None


def _lines(path: Path, type: Any, transactions: dict[TransactionId, Transaction]) -> list[Any]:
    found: dict[TransactionId, Any] = {}
    try:
        text = path.read_bytes()
    except OSError as error:
        raise LogError(f"{shown(path)}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = msgspec.json.decode(line, type=type)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise LogError(f"{shown(path)}: line {number}: {str(error)[:200]}") from error
        if entry.transaction not in transactions:
            raise LogError(f"{shown(path)}: line {number}: the log has no transaction {entry.transaction!r}")
        if entry.transaction in found:
            raise LogError(f"{shown(path)}: line {number}: transaction {entry.transaction!r} comes twice")
        found[entry.transaction] = entry
    return [entry for entry in found.values() if transactions[entry.transaction].status != "aborted"]
