"""Runs of a simulated server whose commits become visible in another order than their timestamps say.

Sessions take turns at random. A commit takes its timestamp when it starts and becomes visible some turns later, so of
overlapping commits the hint order is often wrong, as on real servers. What is served is right: snapshot isolation with
first committer wins, or one serial order. Does not know how an order is searched.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from sql_semantics.errors import SqlError
from sql_semantics.outcome import Outcome
from tests.property.random_statements import ACCOUNTS, library
from tests.property.states import is_a_state
from troubadour.execution.prepared import prepare
from troubadour.formats import read_log, write_log
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

ROWS = 5
SESSIONS = 6


class _Everywhere:
    """Every row from one state."""

    def __init__(self, state: int) -> None:
        self._state = state

    def get(self, row: str, default: int, /) -> int:
        del row, default
        return self._state


class _Always:
    def __init__(self, state: int) -> None:
        self._state = state

    def get(self, execution: tuple[int, int], /) -> _Everywhere:
        del execution
        return _Everywhere(self._state)


@dataclass
class _Session:
    """One client; `stage` counts the turns of its transaction."""

    name: str
    id: str = ""
    statements: list[Statement] = field(default_factory=list)
    done: list[Statement] = field(default_factory=list)
    view: WitnessView | None = None
    snapshot: int = 0
    invoked: int = 0
    sent: int = 0
    stamp: int = 0
    waits: int = 0


def concurrent_log(seed: int, *, serial: bool, transactions: int) -> Log:
    """A run of about so many committed transactions; client times and commit timestamps are always true."""
    rng = random.Random(f"concurrent {serial} {seed}")
    initial = {"accounts": [(n, 0, "x") for n in range(1, ROWS + 1)], "t": []}
    store = Store(library(), initial)
    sessions = [_Session(f"s{n}") for n in range(SESSIONS)]
    finished: list[Transaction] = []
    clock = 0
    while len(finished) < transactions:
        clock += 10
        session = rng.choice(sessions)
        if session.view is None:
            _begin(rng, session, store, clock)
        elif len(session.done) < len(session.statements):
            if not serial:
                if not session.done:
                    session.snapshot = store.newest
                    session.view = WitnessView(store, session.id, store.newest, _Always(store.newest))
                _step(session, clock)
            else:
                session.done.append(session.statements[len(session.done)])
        elif not session.sent:
            if any(_touch(session, other) for other in sessions) and not serial:
                session.view = None
                continue
            session.sent, session.stamp, session.waits = clock, clock + 1, rng.choice((0, 0, 1, 2, 3))
        elif session.waits > 0:
            session.waits -= 1
        else:
            _finish(rng, session, store, clock, finished, serial)
    header = Header(
        dialect="postgres",
        schema=(ACCOUNTS,),
        isolation="serializable" if serial else "snapshot",
        initial=(InitialTable("accounts", None, initial["accounts"]),),
        settings={"collation": "C"},
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_log(path, header, finished)
        return read_log([path])


def _begin(rng: random.Random, session: _Session, store: Store, clock: int) -> None:
    session.id = f"{session.name}-{clock}"
    session.statements = [_statement(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    session.done, session.sent, session.invoked = [], 0, clock
    session.view = WitnessView(store, session.id, store.newest, _Always(store.newest))


def _statement(rng: random.Random) -> Statement:
    key, other = rng.randint(1, ROWS), rng.randint(1, ROWS)
    choice = (
        ("SELECT v FROM accounts WHERE id = $1", (key,)),
        ("SELECT SUM(v), COUNT(*) FROM accounts", None),
        ("SELECT id, v FROM accounts WHERE v > $1", (rng.randint(0, 9),)),
        ("UPDATE accounts SET v = v + $1 WHERE id = $2", (rng.randint(1, 3), key)),
        ("UPDATE accounts SET v = v + 1 WHERE id = $1 RETURNING v", (key,)),
        ("UPDATE accounts SET v = 7 - v WHERE id IN ($1, $2)", (key, other)),
        ("DELETE FROM accounts WHERE id = $1", (key,)),
        ("INSERT INTO accounts VALUES ($1, $2, 'y')", (key, other)),
        ("INSERT INTO accounts VALUES ($1, $2, 'y')", (key, other)),
    )
    sql, params = rng.choice(choice)
    return Statement(sql, params)


def _step(session: _Session, clock: int) -> None:
    """One statement on the session's snapshot; an error gives the transaction up."""
    number = len(session.done)
    view = session.view
    assert view is not None
    prepared = prepare(Transaction(session.id, "committed", tuple(session.statements), 0), library())
    item = prepared.statements[number]
    assert item.program is not None
    view.statement(number)
    try:
        outcome = item.program.run(view, item.arguments)
    except SqlError:
        session.view = None
        return
    session.done.append(_answered(session.statements[number], outcome, clock))


def _answered(statement: Statement, outcome: Outcome, clock: int) -> Statement:
    results = None
    if outcome.results:
        result = outcome.results[0]
        names = tuple(f"c{n}" for n in range(len(result.types)))
        rows = tuple(tuple(str(v) if v.__class__.__name__ == "Decimal" else v for v in row) for row in result.rows)
        results = (ObservedRows(names, rows),)
    return msgspec.structs.replace(
        statement, results=results, affected=outcome.affected, invoked=clock - 2, returned=clock + 2
    )


def _touch(session: _Session, other: _Session) -> bool:
    """Whether another commit under way writes what this one writes, or inserts into the same table."""
    if other is session or not other.sent or other.view is None or session.view is None:
        return False
    return any(
        _written(session, table) & _written(other, table) or (_inserts(session) and _inserts(other))
        for table in session.view.writes
    )


def _written(session: _Session, table: str) -> set[str]:
    assert session.view is not None
    return set(session.view.writes.get(table, {}))


def _inserts(session: _Session) -> bool:
    return any(statement.sql.startswith("INSERT") for statement in session.statements)


def _finish(
    rng: random.Random, session: _Session, store: Store, clock: int, finished: list[Transaction], serial: bool
) -> None:
    """The commit becomes visible; in a serial run all statements run only now."""
    view = session.view
    assert view is not None
    begun = session.invoked
    if serial:
        session.done = []
        view = session.view = WitnessView(store, session.id, store.newest, _Always(store.newest))
        while session.view is not None and len(session.done) < len(session.statements):
            _step(session, clock)
        # answers came when they came: only the transaction's own times are told
        session.done = [msgspec.structs.replace(item, invoked=None, returned=None) for item in session.done]
    elif _overwrites(session, store):
        session.view = None
    if session.view is None:
        return
    session.view = None
    before = store.copy()
    if not is_a_state(store, view.writes):
        store.tables, store.newest = before.tables, before.newest
        return
    finished.append(
        Transaction(
            session.id,
            "committed",
            tuple(session.done),
            len(finished),
            session=session.name,
            commit=session.stamp,
            invoked=begun - 5,
            returned=clock + 5,
            end=None if serial else End(invoked=session.sent, returned=clock + 4),
        )
    )


def _overwrites(session: _Session, store: Store) -> bool:
    """First committer wins."""
    assert session.view is not None
    for table, rows in session.view.writes.items():
        for name in rows:
            versions = store.tables[table].rows.get(name)
            if versions is not None and versions.states[-1] > session.snapshot:
                return True
    return False
