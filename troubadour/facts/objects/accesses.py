"""What a log's transactions do to each cell, in columns: the ground that the facts of every type of object stand on.

A *cell* is a key of an object. What a transaction does to one cell is a *visit*: its operations there, in program
order. A read before the visit's first change is *outer*: it tells of a version that another transaction left (or that
was there at first); a read after it is *inner*. Does not know values, types or levels.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from sql_semantics.records import dataclass
from troubadour.model.objects import ABORTED, COMMITTED, READ, UNREAD, ObjectLog

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = np.int64(2**40)
"""The rank of a transaction that did not commit: beyond that of any that did."""


def column(values: array[int]) -> Ints:
    """A column of a log, not copied."""
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def spans(starts: Ints, lengths: Ints) -> Ints:
    """The numbers of ranges, one range after another."""
    some = np.flatnonzero(lengths)
    starts, lengths = starts[some], lengths[some]
    ends = np.cumsum(lengths)
    found = np.ones(int(ends[-1]) if len(ends) else 0, np.int64)
    if len(found):
        # each is one above the number before it, but where a range begins
        found[0] = starts[0]
        found[ends[:-1]] = starts[1:] - starts[:-1] - lengths[:-1] + 1
        np.cumsum(found, out=found)
    return found


def heads(*columns: Ints) -> Flags:
    """Where a run of equal rows begins: the first row, and each that differs from the one before it in some column."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in columns])
    return found


def ranks(log: ObjectLog) -> Ints:
    """The rank of each committed transaction in the hint order, from 1; NEVER for others."""
    order = column(log.order)
    committed = np.frombuffer(log.statuses, np.uint8)[order] == COMMITTED if len(log) else np.zeros(0, np.bool_)
    found = np.full(len(log), NEVER)
    found[order[committed]] = np.arange(1, int(committed.sum()) + 1)
    return found


@dataclass(frozen=True, slots=True)
class Accesses:
    """The operations of the transactions that did not abort, by cell, then transaction, then program order.

    By operation: `op` its position in the log's columns, `txn` the place of its transaction, `cell`, `value` (a code),
    `is_read`, `visit` its number, `last` the index of the change of its visit before it (-1: it is outer). By visit:
    `begin` the index of its first operation, with the number of operations at the end; `visit_txn`, `visit_cell`. By
    cell: `subject`, `key`. `known`: reads whose answers are known. Sizes are those of the log.
    """

    log: ObjectLog
    op: Ints
    txn: Ints
    cell: Ints
    value: Ints
    is_read: Flags
    known: Flags
    visit: Ints
    last: Ints
    begin: Ints
    visit_txn: Ints
    visit_cell: Ints
    subject: Ints
    key: Ints

    def of_type(self, *kinds: str) -> Flags:
        """By cell: whether its object is of one of some types."""
        types = np.array([one.type in kinds for one in self.log.objects], np.bool_)
        return types[self.subject]

    def initial(self, cells: Ints) -> Ints:
        """The codes of what cells hold at first."""
        found = np.empty(len(cells), np.int64)
        subject, key = self.subject[cells], self.key[cells]
        for number, definition in enumerate(self.log.objects):
            here = np.flatnonzero(subject == number)
            found[here] = definition.default
            if definition.rows:
                for at in here[np.isin(key[here], np.array([*definition.rows], np.int64))].tolist():
                    found[at] = definition.rows[int(key[at])]
        return found

    def last_change(self) -> Ints:
        """By visit: the index of its last change, -1 for a visit that only reads."""
        changes = np.flatnonzero(~self.is_read)
        found = np.full(len(self.visit_txn), -1, np.int64)
        found[self.visit[changes]] = changes
        return found


def accesses_of(log: ObjectLog) -> Accesses:
    """The operations of a log by cell and transaction."""
    first = column(log.first)
    kinds = np.frombuffer(log.kinds, np.uint8) if len(log.kinds) else np.zeros(0, np.uint8)
    values, keys = column(log.values), column(log.keys)
    subjects = np.frombuffer(log.subjects, np.uint16) if len(log.subjects) else np.zeros(0, np.uint16)
    owner = np.repeat(np.arange(len(log)), first[1:] - first[:-1])
    statuses = np.frombuffer(log.statuses, np.uint8) if len(log) else np.zeros(0, np.uint8)
    chosen = np.flatnonzero(statuses[owner] != ABORTED)
    cell, subject, key = _cells(subjects[chosen].astype(np.int64), keys[chosen])
    # operations of a transaction stand together already: sorted by cell, stably, they are sorted by all three
    order = np.argsort(cell, kind="stable")
    op, cell = chosen[order], cell[order]
    txn = owner[op]
    is_read = kinds[op] == READ
    value = values[op]
    begins = heads(cell, txn)
    visit = np.cumsum(begins) - 1
    begin = np.flatnonzero(begins)
    here = np.arange(len(op))
    last = np.full(len(op), -1, np.int64)
    if len(op):
        last[1:] = np.maximum.accumulate(np.where(is_read, -1, here))[:-1]
        last[last < begin[visit]] = -1
    return Accesses(
        log=log,
        op=op,
        txn=txn,
        cell=cell,
        value=value,
        is_read=is_read,
        known=is_read & (value != UNREAD),
        visit=visit,
        last=last,
        begin=np.append(begin, len(op)),
        visit_txn=txn[begin],
        visit_cell=cell[begin],
        subject=subject,
        key=key,
    )


def _cells(subjects: Ints, keys: Ints) -> tuple[Ints, Ints, Ints]:
    """The cell of each operation, and of each cell its object and its key."""
    if not len(keys):
        return keys, keys, keys
    least, greatest = int(keys.min()), int(keys.max())
    if greatest - least <= 4 * len(keys) + 1000:
        names, numbered = None, keys - least
        width = greatest - least + 1
    else:
        names, numbered = np.unique(keys, return_inverse=True)
        width = len(names)
    both = subjects * width + numbered
    there = np.zeros(int(both.max()) + 1, np.bool_)
    there[both] = True
    pairs = np.flatnonzero(there)
    dense = np.cumsum(there) - 1
    subject, key = np.divmod(pairs, width)
    return dense[both], subject, key + least if names is None else names[key]
