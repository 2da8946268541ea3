"""The oracle's word on an anomaly found in a real run: the core alone, among what really happened.

A log is audited at the level that it ran at, which gives its states. The sub-log begins in the state that was there
when the first of the core began; any other that committed until the last of the core was over is a transaction that
writes the rows that it wrote, as values; or, where a core was found in one order only, may be there as it was. Does not
know how the violation was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.view import Row
from troubadour.execution.free.values import json_of
from troubadour.execution.rewritten import Change, writing_only
from troubadour.model.log import InitialTable, Log, Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.checker import Replay
from troubadour.replay.witness.listed import choices_of, exceptions_of, hidden_of, newest_of, statements_of

LARGEST = 10
"""Transactions of a sub-log that the oracle is asked about."""


def sub_log(
    log: Log,
    library: SqlLibrary,
    core: Collection[TransactionId],
    witness: Witness,
    isolation: str,
    *,
    beside: Collection[TransactionId] = (),
    since: TransactionId | None = None,
) -> Log | None:
    """The core with those around it, of which some, `beside`, are as they were, where that is small enough; `witness`
    explains the log at `isolation`. `since`: only those count as around it that this one overlapped, or that stand
    behind the first of the core."""
    replay = replayed(log, library, witness, isolation)
    position = {id: place for place, id in enumerate(witness.order, 1)}
    base, within = _within(log, core, witness, core if since is None else (since,))
    if beside:
        views = dict(zip(witness.order, witness.views, strict=True))
        base = min(base, *(_lowest(views[id]) for id in beside))
        within |= {id for id, place in position.items() if base < place <= max(position[id] for id in core)}
    as_logged = {*core, *beside}
    kept = [transaction for transaction in log.transactions if transaction.id in within]
    writers = {
        t.id: writing_only(t, library, changes_of(replay, library, position[t.id]))
        for t in kept
        if t.id not in as_logged
    }
    found = [writers.get(t.id, t) for t in kept if t.id in as_logged or writers[t.id].statements]
    if len(found) > LARGEST:
        return None
    initial = tuple(
        InitialTable(name, None, [[json_of(value) for value in row] for row in rows_at(replay, name, base)])
        for name in library.catalog.tables
    )
    return Log(msgspec.structs.replace(log.header, initial=initial), found, "of-the-core")


def around(log: Log, core: Collection[TransactionId], witness: Witness) -> list[TransactionId]:
    """The committed ones that the core overlapped, those first that stand nearest before its end."""
    _, within = _within(log, core, witness, core)
    committed = {transaction.id for transaction in log.transactions if transaction.status == "committed"}
    return [id for id in reversed(witness.order) if id in within and id in committed and id not in core]


def _within(
    log: Log, core: Collection[TransactionId], witness: Witness, overlapping: Collection[TransactionId]
) -> tuple[int, set[TransactionId]]:
    """How many of the order are before the core and all that the `overlapping` of it overlapped, and these."""
    by_id = {transaction.id: transaction for transaction in log.transactions}
    position = {id: place for place, id in enumerate(witness.order, 1)}
    begun = min(start for id in overlapping if (start := by_id[id].invoked) is not None)
    over = max(end for id in core if (end := _answered(by_id[id])) is not None)
    within = {*core}
    base = min(position[id] for id in core) - 1
    for id, place in position.items():
        returned, sent_at = by_id[id].returned, sent(by_id[id])
        assert returned is not None and sent_at is not None
        if returned >= begun:
            base = min(base, place - 1)
            if sent_at <= over:
                # one whose commit was sent after all answers was seen by none of the core
                within.add(id)
    last = max(position[id] for id in core)
    within.update(id for id, place in position.items() if base < place <= last)
    return base, within


def _answered(transaction: Transaction) -> int | None:
    """When the last statement was answered."""
    answers = [statement.returned for statement in transaction.statements if statement.returned is not None]
    return max(answers, default=transaction.returned)


def sent(transaction: Transaction) -> int | None:
    """No earlier than that was its commit sent."""
    end = transaction.end
    return end.invoked if end is not None and end.invoked is not None else transaction.invoked


def _lowest(view: TransactionView) -> int:
    """The oldest state that a transaction reads."""
    reads = () if isinstance(view.statements, msgspec.UnsetType) else view.statements
    return min([view.state, *(read.state for read in reads), *(read.state for read in view.exceptions)])


def replayed(log: Log, library: SqlLibrary, witness: Witness, isolation: str) -> Replay:
    """All states of the log, as the witness has them."""
    replay = Replay(log, library)
    by_id = {transaction.id: transaction for transaction in log.transactions}
    for id, view in zip(witness.order, witness.views, strict=True):
        refusal = replay.append(by_id[id], view.state, exceptions_of(view), isolation, newest_of(view),
                                choices_of(view), statements_of(view), hidden_of(view))  # fmt: skip
        assert refusal is None, refusal
    return replay


def rows_at(replay: Replay, table: str, state: int) -> list[Row]:
    """The rows of a table in a state."""
    stored = replay.store.tables[table].rows.values()
    return [row for versions in stored if (row := versions.at(state)) is not None]


def changes_of(replay: Replay, library: SqlLibrary, place: int) -> Iterator[Change]:
    """What the transaction at a place of the order made of each row."""
    for name in library.catalog.tables:
        for versions in replay.store.tables[name].rows.values():
            if place in versions.states:
                yield name, versions.at(place - 1), versions.at(place)
