"""Certificates from the timestamps that TiDB and CockroachDB tell of a transaction (Emme §5, §6).

TiDB: a version is named by its writer's `commit_ts`, and a snapshot at t has those up to t. CockroachDB: a transaction
reads and writes at one timestamp, so that these are an expected serialization order. Does not know either server: what
its clients asked it (`@@tidb_last_txn_info`, `cluster_logical_timestamp()`) is in a file, a line each.
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


def tidb_certificate(log: Log, path: Path) -> Certificate:
    """Of the lines at `path`. A pessimistic transaction of several statements whose `for_update_ts` is not its
    `start_ts` read several states, of which the last is told: it has no read state then. Raises LogError."""
    transactions = {one.id: one for one in log.transactions}
    commits: list[Commit] = []
    reads: dict[TransactionId, ReadState] = {}
    for entry in _lines(path, _Tidb, transactions):
        wrote = entry.commit_ts or None
        if wrote is not None:
            commits.append(Commit(wrote, wrote))
        at = _state(entry, transactions[entry.transaction])
        if at is not None:
            reads[entry.transaction] = ReadState(wrote, Snapshot(at + 1, at + 1, frozenset()))
    commits.sort(key=lambda one: one.place)
    if len({one.xid for one in commits}) < len(commits):
        raise LogError(f"{shown(path)}: two transactions have one commit_ts")
    return Certificate(log.header.log_id, Scheme.SNAPSHOT, log.header.dbms, tuple(commits), reads)


def _state(entry: _Tidb, transaction: Transaction) -> int | None:
    if entry.for_update_ts in (0, entry.start_ts):
        return entry.start_ts
    if len(transaction.statements) > 1:
        return None
    query = transaction.statements[0].sql.lstrip().upper().startswith("SELECT") if transaction.statements else True
    return None if query else entry.for_update_ts


def cockroach_certificate(log: Log, path: Path) -> Certificate:
    """Of the lines at `path`. Raises LogError."""
    transactions = {one.id: one for one in log.transactions}
    reads = {}
    for entry in _lines(path, _Cockroach, transactions):
        wall, _, logical = entry.timestamp.partition(".")
        stamp = int(wall) * 10**_LOGICAL + int(logical.ljust(_LOGICAL, "0"))
        reads[entry.transaction] = ReadState(timestamp=stamp)
    return Certificate(log.header.log_id, Scheme.SERIALIZATION_ORDER, log.header.dbms, (), reads)


IMPORTS = {"tidb": tidb_certificate, "cockroachdb": cockroach_certificate}


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
