"""Tiny random logs for the oracle and for search: seeded, mostly of real executions, some of them spoilt.

A log is made by running random statements on a store of states under a random policy for what is read: serial,
snapshot, read committed or anything. Then observations are changed or dropped, times are given, shifted or left out.
Does not know which level a log is correct at.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.types import Value
from tests.property.drafts import Draft, failed, give_times, observed, spoil
from tests.property.random_statements import (
    ACCOUNTS,
    ADD,
    EVERY,
    ROUTINES,
    SHAPES,
    TOKENS,
    library,
    some_statements,
    some_wider,
    with_savepoints,
)
from tests.property.states import is_a_state
from troubadour.execution.prepared import prepare
from troubadour.formats import read_log, write_log
from troubadour.isolation.levels import LEVELS as MODELLED
from troubadour.model.log import Header, InitialTable, Log, Statement, Transaction
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

LEVELS = ("read-committed", "snapshot", "strict-snapshot", "serializable", "strict-serializable")
GENERAL = tuple(
    level.name for level in MODELLED.values() if level.dialect is None and not level.dirty and not level.ordered
)
"""Every level that is no product's and is modelled whole."""

_OWN_LEVEL = {
    "set": "read-atomic",
    "closed": "causal",
    "closed, no conflict": "parallel-snapshot",
    "serial": "serializable",
    "snapshot": "snapshot",
    "read-committed": "read-committed",
    "stale": "snapshot",
    "any": "snapshot",
}


def random_log(
    seed: int, *, wider: bool = False, savepoints: bool = False, sets: bool = False, mixed: bool = False
) -> Log:
    """A log of 2 to 5 transactions, as it is read back from its file; the same for the same seed. `wider`: with
    statements that have no native symbolic rule; `savepoints`: with savepoints, and statements that fail; `sets`: what
    is read need be no state; `mixed`: each transaction has a level of its own."""
    kind = "wider" if wider else "savepoint" if savepoints else "set" if sets else "mixed" if mixed else "random"
    rng = random.Random(f"{kind} log {seed}")
    policy = rng.choice(("serial", "snapshot", "stale", "stale", "stale", "read-committed", "read-committed", "any"))
    if sets or (mixed and rng.random() < 0.5):
        policy = rng.choice(("set", "closed", "closed", "closed, no conflict", "closed, no conflict", "snapshot"))
    names = ("accounts", "accounts", "both") if rng.random() < 0.8 else ("both",)
    tables = "both" if wider else rng.choice(names)
    theme = rng.choice((None, None, *SHAPES, *SHAPES))
    if sets:
        # only forks tell sets from states
        theme = rng.choice((None, "skew", "lost", *["fork"] * 5))
    initial: dict[str, list[tuple[Value, ...]]] = {
        "accounts": [
            (n, rng.choice((0, 1, 2)), rng.choice(("x", "y", None))) for n in range(1, rng.choice((2, 3, 3, 3, 3, 3)))
        ],
        "t": [(n, n if rng.random() < 0.6 else None) for n in range(1, rng.choice((1, 2, 3)))]
        if tables == "both"
        else [],
    }
    store = Store(library(), initial)
    drafts = []
    count = 5 if sets else rng.choice((2, 3, 4, 4, 5, 5, 5))
    for place in range(1, count + 1):
        # A last look at everything tells what was lost.
        last = place == count > 2 and rng.random() < 0.75
        statements = [Statement("SELECT id, v, w FROM accounts")] if last else some_statements(rng, tables, theme)
        if sets and theme == "fork" and rng.random() < 0.85:
            statements = [Statement(ADD, (place,)) if place < 3 else Statement(EVERY)]
        if wider and not last:
            statements = [some_wider(rng) if rng.random() < 0.5 else statement for statement in statements]
        if savepoints and not last:
            statements = with_savepoints(rng, statements)
        by_set = policy in ("set", "closed", "closed, no conflict")
        if by_set and (not last or rng.random() < 0.8):
            drafts.append(_simulate_set(rng, store, policy, statements, drafts))
        else:
            drafts.append(_simulate(rng, store, "serial" if last else policy, statements, place))
    spoil(rng, drafts)
    give_times(rng, drafts)
    if rng.random() < 0.25:
        rng.shuffle(drafts)
    header = Header(
        dialect="postgres",
        schema=(ACCOUNTS, TOKENS),
        isolation=_OWN_LEVEL[policy],
        procedures=ROUTINES,
        initial=tuple(InitialTable(name, None, rows) for name, rows in initial.items() if rows),
        order="exact" if rng.random() < 0.15 else "hint",
        settings={"collation": "C"},
    )
    transactions = [_finished(rng, draft, place, mixed) for place, draft in enumerate(drafts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_log(path, header, transactions)
        return read_log([path])


def write(log: Log) -> str:
    """The log's text, so that a failure can be kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_log(path, log.header, sorted(log.transactions, key=lambda transaction: transaction.place))
        return path.read_text(encoding="utf-8")


def _finished(rng: random.Random, draft: Draft, place: int, mixed: bool) -> Transaction:
    session = rng.choice((None, "a", "b"))
    isolation = rng.choice(GENERAL if mixed else LEVELS) if mixed or rng.random() < 0.08 else None
    return Transaction(
        draft.id,
        draft.status,
        tuple(draft.statements),
        place,
        session=draft.session or session,
        isolation=isolation,
        **draft.times,
    )


class _EachFrom:
    """Row states of one execution: all from one state, or each from any."""

    def __init__(self, rng: random.Random, newest: int, state: int | None) -> None:
        self._rng, self._newest, self._state = rng, newest, state
        self._chosen: dict[str, int] = {}

    def get(self, row: str, default: int, /) -> int:
        del default
        if self._state is not None:
            return self._state
        return self._chosen.setdefault(row, self._rng.randint(0, self._newest))


class _Policy:
    """What each execution reads."""

    def __init__(self, rng: random.Random, newest: int, states: list[int | None]) -> None:
        self._rng, self._newest, self._states = rng, newest, states

    def get(self, execution: tuple[int, int], /) -> _EachFrom:
        return _EachFrom(self._rng, self._newest, self._states[execution[0]])


def _simulate(rng: random.Random, store: Store, policy: str, statements: list[Statement], place: int) -> Draft:
    """Run one transaction as the next to commit."""
    newest = store.newest
    id: str | int = rng.choice((f"t{place}", place))
    count = len(statements)
    states = _states(rng, policy, newest, count)
    late = policy == "stale" and rng.random() < 0.6  # what it reads was overwritten before it asked
    ticks = [10 * (newest if late or state is None else state) + rng.randint(2, 8) for state in states]
    draft = Draft(id, [], ticks, 10 * (newest + 1))
    view = WitnessView(store, id, newest, _Policy(rng, newest, states))
    _execute(rng, draft, view, statements, place)
    snapshot = states[0] if policy == "snapshot" else None
    return _end(rng, draft, store, view, _conflicts(store, view, snapshot))


def _simulate_set(
    rng: random.Random, store: Store, policy: str, statements: list[Statement], drafts: list[Draft]
) -> Draft:
    """The same for one that sees any of those before it, closed or not."""
    newest = store.newest
    place = newest + 1
    id: str | int = rng.choice((f"t{place}", place))
    draft = Draft(id, [], [10 * newest + rng.randint(2, 8) for _ in statements], 10 * place)
    draft.session = rng.choice((None, "a", "b"))
    seen = {position for position in range(1, place) if rng.random() < 0.5}
    if policy != "set":
        if rng.random() < 0.9 and draft.session is not None:
            seen |= {n for n, other in enumerate(drafts, 1) if other.session == draft.session}
        seen = seen.union(*(drafts[position - 1].seen for position in seen))
    draft.seen = frozenset(seen)
    hidden = frozenset(range(1, place)) - seen
    view = WitnessView(store, id, newest, hidden=hidden)
    _execute(rng, draft, view, statements, place)
    conflict = policy == "closed, no conflict" and any(
        versions is not None and hidden.intersection(versions.states)
        for table, rows in view.writes.items()
        for versions in (store.tables[table].rows.get(name) for name in rows)
    )
    return _end(rng, draft, store, view, conflict)


def _execute(rng: random.Random, draft: Draft, view: WitnessView, statements: list[Statement], place: int) -> None:
    draft.read_only = all(statement.sql.startswith("SELECT") for statement in statements)
    prepared = prepare(Transaction(draft.id, "committed", tuple(statements), place), library())
    for number, item in enumerate(prepared.statements):
        assert item.program is not None
        view.statement(number)
        if draft.status == "aborted" and not statements[number].sql.startswith("ROLLBACK TO"):
            draft.statements.append(failed(statements[number], "25P02"))
            continue
        mark = view.savepoint()
        try:
            outcome = item.program.run(view, item.arguments)
        except SqlError as error:
            view.rollback(mark)
            draft.status = "aborted"
            if not any(statement.sql.startswith("ROLLBACK TO") for statement in statements):
                draft.statements.append(statements[number])
                break
            draft.statements.append(failed(statements[number], error.sqlstate))
            continue
        except Unsupported:
            continue  # what it does hangs on a choice that is the DBMS's; it is left out
        if statements[number].sql.startswith("ROLLBACK TO"):
            draft.status = "committed"
        draft.statements.append(observed(rng, statements[number], outcome))


def _end(rng: random.Random, draft: Draft, store: Store, view: WitnessView, conflict: bool) -> Draft:
    """Let it commit where a DBMS would."""
    fate = rng.random()
    unknown = fate < 0.08
    if draft.status == "aborted" or fate > 0.93 or conflict:
        draft.status = "unknown" if unknown else "aborted"
        view.writes = {}
    elif unknown:
        draft.status = "unknown"
        if rng.random() < 0.4:
            view.writes = {}
    before = store.copy()
    if not is_a_state(store, view.writes):
        draft.status = "aborted"
        store.tables, store.newest = before.tables, before.newest
        store.append({})
    return draft


def _states(rng: random.Random, policy: str, newest: int, count: int) -> list[int | None]:
    """The state that each statement reads, ascending; None for each row from any."""
    if policy == "serial" or newest == 0:
        return [newest for _ in range(count)]
    if policy in ("snapshot", "stale"):
        state = rng.choice((newest, newest - 1, newest - 1, rng.randint(0, newest)))
        return [state for _ in range(count)]
    if policy == "read-committed":
        ascending: list[int | None] = []
        ascending += sorted(rng.choice((newest, newest - 1, rng.randint(0, newest))) for _ in range(count))
        return ascending
    return [None if rng.random() < 0.3 else rng.randint(0, newest) for _ in range(count)]


def _conflicts(store: Store, view: WitnessView, snapshot: int | None) -> bool:
    """First committer wins."""
    if snapshot is None:
        return False
    for table, rows in view.writes.items():
        for name in rows:
            versions = store.tables[table].rows.get(name)
            if versions is not None and versions.states[-1] > snapshot:
                return True
    return False
