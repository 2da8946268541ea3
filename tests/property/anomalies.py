"""The oracle's word on an anomaly found in a real run: the core alone, among what really happened (DESIGN §10).

A log is audited at the level that it ran at, which gives its states. The sub-log begins in the state that was there
when the first of the core began; whoever else committed until the last of the core was over is a transaction that
writes the rows that it wrote, as values; or, where a core was found in one order only, is there as it was. Does not
know how the violation was found.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.view import Row
from troubadour.execution.free import json_of
from troubadour.model.log import InitialTable, Log, Statement, Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.checker import Replay
from troubadour.replay.listed import choices_of, exceptions_of, hidden_of, newest_of, statements_of

LARGEST = 7
"""Transactions of a sub-log that the oracle is asked about."""


def sub_log(
    log: Log,
    library: SqlLibrary,
    core: Collection[TransactionId],
    witness: Witness,
    isolation: str,
    *,
    whole: bool = False,
) -> Log | None:
    """The core with those around it (`whole`: as they were), where that is small enough; `witness` explains the log at
    `isolation`."""
    replay = replayed(log, library, witness, isolation)
    by_id = {transaction.id: transaction for transaction in log.transactions}
    position = {id: place for place, id in enumerate(witness.order, 1)}
    begun = min(start for id in core if (start := by_id[id].invoked) is not None)
    over = max(end for id in core if (end := by_id[id].returned) is not None)
    around = {*core}
    base = len(witness.order)
    for id, place in position.items():
        returned, invoked = by_id[id].returned, by_id[id].invoked
        assert returned is not None and invoked is not None
        if returned >= begun:
            base = min(base, place - 1)
            if invoked <= over:
                around.add(id)
    last = max(position[id] for id in core)
    around.update(id for id, place in position.items() if base < place <= last)
    if whole:
        views = dict(zip(witness.order, witness.views, strict=True))
        base = min(base, *(lowest(views[id]) for id in around))
        around.update(id for id, place in position.items() if base < place <= last)
        core = around
    kept = [transaction for transaction in log.transactions if transaction.id in around]
    writers = {t.id: written(replay, library, position[t.id], t) for t in kept if t.id not in core}
    found = [writers.get(t.id, t) for t in kept if t.id in core or writers[t.id].statements]
    if len(found) > LARGEST:
        return None
    initial = tuple(
        InitialTable(name, None, [[json_of(value) for value in row] for row in rows_at(replay, name, base)])
        for name in library.catalog.tables
    )
    return Log(msgspec.structs.replace(log.header, initial=initial), found, "of-the-core")


def lowest(view: TransactionView) -> int:
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


def written(replay: Replay, library: SqlLibrary, place: int, transaction: Transaction) -> Transaction:
    """A transaction that writes what this one wrote, whatever it reads."""
    statements: list[Statement] = []
    mark = (lambda n: f"${n}") if library.dialect.name == "postgres" else (lambda n: "?")
    for name, table in library.catalog.tables.items():
        columns = [column.name for column in table.columns]
        key = table.keys[0].columns
        inserts: list[Statement] = []
        for versions in replay.store.tables[name].rows.values():
            if place not in versions.states:
                continue
            old, new = versions.at(place - 1), versions.at(place)
            if old is not None:
                where = " AND ".join(f"{columns[c]} = {mark(n)}" for n, c in enumerate(key, 1))
                statements.append(Statement(f"DELETE FROM {name} WHERE {where}", tuple(json_of(old[c]) for c in key)))
            if new is not None:
                marks = ", ".join(mark(n) for n in range(1, len(new) + 1))
                values = tuple(map(json_of, new))
                inserts.append(Statement(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})", values))
        statements += inserts
    return msgspec.structs.replace(transaction, statements=tuple(statements))
