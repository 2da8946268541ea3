"""The course of a witness: after how many commits each transaction takes its snapshot and sends each of its statements.

Does not know a server.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.view import Row
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.prepared import PreparedStatement, prepare, tables_touched
from troubadour.facts.rows.programs import WholeQuery
from troubadour.model.log import Log, Statement, Transaction
from troubadour.model.schedule import Sent
from troubadour.model.witness import TransactionView, Witness
from troubadour.report.reproduction import sent_of

SNAPSHOTS = frozenset({"postgres:repeatable-read", "postgres:serializable", "mysql:repeatable-read"})
"""Levels at which a transaction's plain reads are of one snapshot."""

GIVEN_UP = ("08", "40", "55", "57", "HY")
"""Beginnings of the SQLSTATEs of what a server may always answer: deadlocks, time limits, lost connections."""

_ACTS = re.compile(
    r"(?!\s*SELECT\b)|.*\b(FOR\s+(NO\s+KEY\s+|KEY\s+)?(UPDATE|SHARE)|LOCK\s+IN\s+SHARE\s+MODE)\b", re.I | re.S
)
"""Statements that write or lock rows, as their texts show."""

_SKIPS = re.compile(r"\bSKIP\s+LOCKED\b", re.I)


class NotDriven(Exception):
    """The witness says what a client cannot bring about."""


@dataclass(slots=True)
class Part:
    """What one transaction does: it takes its snapshot after so many commits (None: it has none), sends each of its
    `steps` after as many as `after` says, and ends as the `place`-th. `since`: how early each step may be sent at most;
    `apart`: those that read rows of several moments; `chosen`: the server chose values of it."""

    transaction: Transaction
    level: str
    place: int
    snapshot: int | None
    steps: Sequence[Sent]
    after: list[int]
    since: Sequence[int]
    apart: frozenset[int]
    chosen: bool = False

    def earlier(self, number: int, changes: Sequence[bool]) -> bool:
        """Send a step, and what comes before it, before the last commit that changed something (`changes`: by place);
        False where it may not be."""
        sooner = self.after[number]
        while sooner > self.since[number] and not changes[sooner - 1]:
            sooner -= 1
        if sooner <= self.since[number]:
            return False
        sooner -= 1
        self.after[: number + 1] = [min(after, sooner) for after in self.after[: number + 1]]
        return True

    def opened_later(self, changes: Sequence[bool]) -> bool:
        """Take the snapshot after the next commit that changed something; False where there is none before its end."""
        if self.snapshot is None:
            return False
        later = next((place for place in range(self.snapshot + 1, self.place) if changes[place]), None)
        if later is None:
            return False
        self.snapshot = later
        return True

    def passes_over(self) -> bool:
        """Whether some step leaves out rows that others lock."""
        return any(_SKIPS.search(step.sql) for step in self.steps)

    def may_have_waited(self, changes: Sequence[bool]) -> bool:
        """Whether some step that is no plain query read a state before the last: it may have waited there for a lock,
        and met a row as that was later."""
        return self.snapshot is None and any(
            _ACTS.match(step.sql) and any(changes[since : self.place - 1])
            for step, since in zip(self.steps, self.since, strict=True)
        )


States = Sequence[Mapping[str, Sequence[Row]]]
"""The rows of each table, after each number of ends."""


def course_of(
    log: Log, witness: Witness, library: SqlLibrary, states: States | None = None, *, in_time: bool = False
) -> list[Part]:
    """In the order of the ends, each snapshot taken and query sent as late as its answers stay the same (`states`),
    each statement that writes or locks as late as that order leaves it, or (`in_time`) after those ends that its
    client's times have before its answer. Raises NotDriven, and Unsupported for a statement that has no form with its
    values in it."""
    transactions = {one.id: one for one in log.transactions}
    ends = [_ended(transactions[identifier]) for identifier in witness.order] if in_time else None
    return [
        _part(log, transactions[identifier], place, view, library, ends, states)
        for place, (identifier, view) in enumerate(zip(witness.order, witness.views, strict=True), 1)
    ]


def _ended(transaction: Transaction) -> int | None:
    """When its end was answered."""
    end = transaction.end
    return transaction.returned if end is None or end.returned is None else end.returned


def _part(
    log: Log,
    transaction: Transaction,
    place: int,
    view: TransactionView,
    library: SqlLibrary,
    ends: Sequence[int | None] | None,
    states: States | None,
) -> Part:
    level = transaction.isolation or log.header.isolation or ""
    snapshot = view.state if level in SNAPSHOTS else None
    sent = list(_sent(transaction))
    prepared = prepare(transaction, library).statements
    if snapshot is not None and states is not None:
        if level.startswith("postgres"):
            snapshot = _last_alike(prepared, states, snapshot, place)
        else:
            snapshot = _latest(prepared, states, snapshot, place - 1)
    read = [place - 1 if snapshot is not None else _read(view, number) for number, _ in sent]
    # an error tells of rows that may have gone since
    since = [snapshot or 0 if one.error is not None else read[n] for n, (_, one) in enumerate(sent)]
    after = [place - 1 for _ in sent]
    for n in range(len(sent) - 1, -1, -1):
        if snapshot is None and not _ACTS.match(sent[n][1].sql):
            # a plain query reads the state that it is sent in
            number = sent[n][0]
            before = prepared[: number + 1]
            after[n] = read[n] if states is None else _latest(before, states, read[n], place - 1, asked=number)
        elif ends is not None:
            after[n] = max(since[n], _answered_before(ends[: place - 1], sent[n][1].returned))
        after[n] = min(after[n : n + 2])
    if transaction.status == "aborted" and (snapshot is None or level.startswith("postgres")):
        # nothing of it matters to others, nor theirs to it
        since = [one if snapshot is None else snapshot for one in since]
        after = list(accumulate(since, max))
    steps = [sent_of(str(transaction.id), one, library) for _, one in sent]
    apart = frozenset(n for n, (number, _) in enumerate(sent) if len(_moments(view, number)) > 1)
    chosen = not isinstance(view.free, msgspec.UnsetType)
    return Part(transaction, level, place, snapshot, steps, after, since, apart, chosen)


def _latest(
    prepared: Sequence[PreparedStatement], states: States, first: int, last: int, *, asked: int | None = None
) -> int:
    """The last of the states, from the `first` on, in which statements answer and write as in the first, as far as that
    is easily told; those before the one that is `asked` matter only for what they wrote."""
    wrote: set[str] = set()
    looking: list[tuple[PreparedStatement, frozenset[str], bool]] = []
    for one in prepared:
        if one.program is None:
            return first
        tables = tables_touched(one.program, one.program.catalog)
        plain = one.program.read_only and wrote.isdisjoint(tables) and one.statement.error is None
        if asked is None or one.index == asked:
            looking.append((one, tables, plain))
        wrote |= set() if one.program.read_only else tables
    for later in range(first + 1, last + 1):
        for one, tables, plain in looking:
            if all(states[later][name] == states[later - 1][name] for name in tables):
                continue
            if not plain or WholeQuery(one, tables, None).refutes(states[later]):
                return later - 1
    return last


def _last_alike(prepared: Sequence[PreparedStatement], states: States, first: int, place: int) -> int:
    """The last of the states before the `place`, from the `first` on, on which statements answer and write alike."""
    wanted = _changes(states[place - 1], states[place])
    for state in range(place - 1, first, -1):
        view = MemoryView(states[state])
        try:
            given = [(one, one.program.run(view, one.arguments)) for one in prepared if one.program is not None]
        except (SqlError, Unsupported):
            continue
        alike = not view.choices and all(mismatch(one.observation, outcome) is None for one, outcome in given)
        if alike and _changes(states[state], {table: view.rows(table) for table in states[state]}) == wanted:
            return state
    return first


def _changes(before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> Mapping[str, object]:
    """By table the rows that went and those that came."""
    found: dict[str, object] = {}
    for table, rows in after.items():
        old, new = Counter(before.get(table, ())), Counter(rows)
        if old != new:
            found[table] = old - new, new - old
    return found


def _answered_before(ends: Sequence[int | None], returned: int | None) -> int:
    """After how many ends the last stands that was answered before a statement was."""
    if returned is None:
        return len(ends)
    return next((n for n in range(len(ends), 0, -1) if (end := ends[n - 1]) is not None and end <= returned), 0)


def _sent(transaction: Transaction) -> Iterator[tuple[int, Statement]]:
    """Its statements up to one that the server gave up, or of which nothing came back."""
    for number, one in enumerate(transaction.statements):
        if one.outcome_unknown or (one.error is not None and one.error.sqlstate.startswith(GIVEN_UP)):
            return
        yield number, one


def _read(view: TransactionView, number: int) -> int:
    """After how many commits a statement that reads a state of its own read it."""
    listed = () if isinstance(view.statements, msgspec.UnsetType) else view.statements
    own = [read for read in listed if read.statement == number]
    if any(read.execution for read in own):
        raise NotDriven("statements within a statement")
    return own[0].state if own else view.state


def _moments(view: TransactionView, number: int) -> set[int]:
    """The states from which a statement read rows apart."""
    return {read.state for read in view.exceptions if read.statement == number}
