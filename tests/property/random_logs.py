"""Tiny random logs for the oracle and for search (DESIGN §10): seeded, mostly of real executions, some of them spoilt.

A log is made by running random statements on a store of states under a random policy for what is read: serial,
snapshot, read committed or anything. Then observations are changed or dropped, times are given, shifted or left out.
Does not know which level a log is correct at.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind, SqlType, Value
from troubadour.execution.prepared import prepare, result_types
from troubadour.formats import read_log, write_log
from troubadour.isolation.levels import LEVELS as MODELLED
from troubadour.model.log import End, Header, InitialTable, Log, ObservedError, ObservedRows, Statement, Transaction
from troubadour.model.values import param_shape
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, v INT, w TEXT)"
TOKENS = "CREATE TABLE t (k INT PRIMARY KEY, a INT UNIQUE)"
BUMP = "CREATE PROCEDURE Bump(IN tgt INT, IN amt INT) BEGIN UPDATE accounts SET v = v + @amt WHERE id = @tgt; END;"
MOVE = (
    "CREATE PROCEDURE Move(IN src INT, IN tgt INT) BEGIN UPDATE accounts SET v = v - 1 WHERE id = @src; "
    "CALL Bump(@tgt, 1); END;"
)
SPREAD = """CREATE PROCEDURE Spread(x INT) LANGUAGE plpgsql AS $$ DECLARE r RECORD; BEGIN
  FOR r IN SELECT k, a FROM t ORDER BY k LOOP
    IF r.a > x THEN UPDATE accounts SET v = v + 1 WHERE id = r.k; ELSE UPDATE t SET a = NULL WHERE k = r.k; END IF;
  END LOOP; END $$"""
UNLESS = """CREATE PROCEDURE Unless(x INT) LANGUAGE plpgsql AS $$ DECLARE n INT; BEGIN
  SELECT v INTO n FROM accounts WHERE id = x;
  IF NOT FOUND THEN INSERT INTO accounts VALUES (x, 1, 'y'); ELSIF n > 1 THEN DELETE FROM accounts WHERE id = x;
  ELSE UPDATE accounts SET v = v + (SELECT COUNT(*) FROM t) WHERE id = x; END IF; END $$"""
ROUTINES = (BUMP, MOVE, SPREAD, UNLESS)
LEVELS = ("read-committed", "snapshot", "strict-snapshot", "serializable", "strict-serializable")
GENERAL = tuple(level.name for level in MODELLED.values() if level.dialect is None and not level.dirty)
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

_LIBRARY: list[SqlLibrary] = []


def library() -> SqlLibrary:
    """The one schema that all logs share, compiled once per process."""
    if not _LIBRARY:
        _LIBRARY.append(SqlLibrary(Dialect("postgres", collation="C"), (ACCOUNTS, TOKENS), ROUTINES))
    return _LIBRARY[0]


@dataclass
class _Draft:
    """A transaction in the making; times in ticks, ten to a commit."""

    id: str | int
    statements: list[Statement]
    ticks: list[int]
    commit: int
    status: str = "committed"
    read_only: bool = False
    times: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    seen: frozenset[int] = frozenset()


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
    theme = rng.choice((None, None, *_SHAPES, *_SHAPES))
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
        statements = [Statement("SELECT id, v, w FROM accounts")] if last else _transaction(rng, tables, theme)
        if sets and theme == "fork" and rng.random() < 0.85:
            statements = [Statement(_ADD, (place,)) if place < 3 else Statement(_EVERY)]
        if wider and not last:
            statements = [_wider(rng) if rng.random() < 0.5 else statement for statement in statements]
        if savepoints and not last:
            statements = _with_savepoints(rng, statements)
        by_set = policy in ("set", "closed", "closed, no conflict")
        if by_set and (not last or rng.random() < 0.8):
            drafts.append(_simulate_set(rng, store, policy, statements, drafts))
        else:
            drafts.append(_simulate(rng, store, "serial" if last else policy, statements, place))
    _spoil(rng, drafts)
    _give_times(rng, drafts)
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


# --- statements ---------------------------------------------------------------------------------------------------


def _statement(rng: random.Random, tables: str) -> Statement:
    key, value = rng.choice((1, 1, 2)), rng.choice((0, 1, 2, 3))
    read = [
        ("SELECT v FROM accounts WHERE id = $1", (key,)),
        ("SELECT v FROM accounts WHERE id = $1", (key,)),
        ("SELECT id, v FROM accounts WHERE v >= $1", (value,)),
        ("SELECT id, v, w FROM accounts ORDER BY id", None),
        ("SELECT v FROM accounts ORDER BY v DESC LIMIT 1", None),
        ("SELECT COUNT(*), SUM(v) FROM accounts", None),
        ("SELECT w, MAX(v) FROM accounts GROUP BY w", None),
        ("SELECT id FROM accounts WHERE w = 'x' LIMIT 1", None),
    ]
    write = [
        ("UPDATE accounts SET v = v + $1 WHERE id = $2", (rng.choice((1, 2, -1)), key)),
        ("UPDATE accounts SET v = v + $1 WHERE id = $2", (rng.choice((1, 2, -1)), key)),
        ("UPDATE accounts SET v = v + 1 WHERE v < $1", (value,)),
        ("UPDATE accounts SET v = $1 WHERE id = $2", (value, key)),
        ("UPDATE accounts SET v = $1 WHERE id = $2 RETURNING v, w", (value, key)),
        ("UPDATE accounts SET w = 'x' WHERE v = $1 RETURNING id, w", (value,)),
        ("UPDATE accounts SET v = v + 1 WHERE id = $1 RETURNING v", (key,)),
        ("INSERT INTO accounts VALUES ($1, $2, 'x')", (rng.choice((1, 3, 3, 4)), value)),
        ("DELETE FROM accounts WHERE id = $1", (key,)),
        ("DELETE FROM accounts WHERE v = $1 RETURNING id", (value,)),
        ("CALL Bump($1, $2)", (key, rng.choice((1, 2)))),
        ("CALL Move($1, $2)", (key, 3 - key)),
    ]
    if tables == "both":
        read += [
            ("SELECT a FROM t WHERE k = $1", (key,)),
            ("SELECT k FROM t WHERE a = $1", (value,)),
            ("SELECT accounts.id, t.a FROM accounts JOIN t ON t.k = accounts.id", None),
            ("SELECT accounts.id, t.k FROM accounts LEFT JOIN t ON t.a = accounts.v", None),
        ]
        write += [
            ("INSERT INTO t (k, a) VALUES ($1, $2)", (rng.choice((2, 3, 4)), value)),
            ("INSERT INTO t (k) VALUES ($1)", (rng.choice((2, 3, 4)),)),
            ("INSERT INTO t (k, a) SELECT id + 2, v FROM accounts WHERE v = $1", (value,)),
            ("UPDATE t SET a = NULL WHERE k = $1", (key,)),
            ("UPDATE t SET a = a + 1 WHERE k = $1", (key,)),
            ("DELETE FROM t WHERE a = $1 RETURNING k, a", (value,)),
        ]
    sql, params = rng.choice(read if rng.random() < 0.5 else write)
    return Statement(sql, params)


WIDER = (
    "INSERT INTO accounts VALUES ($k, $v, 'x') ON CONFLICT (id) DO UPDATE SET v = accounts.v + excluded.v",
    "INSERT INTO accounts VALUES ($k, $v, 'y') ON CONFLICT DO NOTHING",
    "INSERT INTO t (k, a) VALUES ($k, $v) ON CONFLICT (k) DO UPDATE SET a = 2 WHERE t.a IS NULL RETURNING k, a",
    "INSERT INTO t (k, a) SELECT id, v + 2 FROM accounts WHERE v = $v ON CONFLICT DO NOTHING",
    "SELECT COUNT(*) FILTER (WHERE v > $v), COUNT(DISTINCT v) FROM accounts",
    "SELECT id FROM accounts WHERE v IN (SELECT a FROM t)",
    "SELECT id, v FROM accounts WHERE EXISTS (SELECT 1 FROM t WHERE t.a = accounts.v)",
    "SELECT (SELECT MAX(a) FROM t), COUNT(*) FROM accounts WHERE v < $v",
    "SELECT v FROM accounts UNION SELECT a FROM t",
    "SELECT k FROM t EXCEPT SELECT id FROM accounts WHERE v > $v",
    "SELECT accounts.id, t.k FROM accounts FULL JOIN t ON t.k = accounts.id",
    "SELECT x.w, x.n FROM (SELECT w, SUM(v) AS n FROM accounts GROUP BY w) x WHERE x.n > $v",
    "WITH r AS (SELECT id, v FROM accounts WHERE v >= $v) SELECT COUNT(*), MAX(v) FROM r",
    "SELECT id, v, SUM(v) OVER (ORDER BY id) FROM accounts",
    "SELECT id, RANK() OVER (ORDER BY v DESC) FROM accounts ORDER BY id",
    "UPDATE accounts SET v = v + 1 WHERE id IN (SELECT k FROM t WHERE a = $v)",
    "UPDATE accounts SET v = (SELECT COUNT(*) FROM t) WHERE id = $k",
    "UPDATE accounts SET v = v + t.a FROM t WHERE t.k = accounts.id AND t.a IS NOT NULL",
    "DELETE FROM accounts WHERE v > (SELECT MAX(a) FROM t)",
    "CALL Spread($v)",
    "CALL Unless($k)",
    "DELETE FROM t USING accounts WHERE accounts.id = t.k AND accounts.v = $v",
)
"""Statements over both tables; $k is a key, $v a small number."""


def _wider(rng: random.Random) -> Statement:
    sql = rng.choice(WIDER)
    sql = sql.replace("$k", str(rng.choice((1, 2, 3)))).replace("$v", str(rng.choice((0, 1, 2))))
    try:
        library().program(sql, None)
    except Unsupported:
        return _wider(rng)
    return Statement(sql)


_FAILING = (
    "SELECT 1 / v FROM accounts WHERE id = 1",
    "UPDATE accounts SET v = 6 / (v - 1) WHERE id = 2",
    "INSERT INTO accounts VALUES (5, 1 / 0, 'x')",
    "UPDATE accounts SET v = v / (v - 2) RETURNING v",
)


def _with_savepoints(rng: random.Random, statements: list[Statement]) -> list[Statement]:
    """The statements with SAVEPOINT, ROLLBACK TO and RELEASE among them, and some that may fail."""
    found = list(statements)
    for _ in range(rng.choice((1, 1, 2))):
        found.insert(rng.randint(0, len(found)), Statement(rng.choice(_FAILING)))
    start = rng.randint(0, 1)
    found.insert(start, Statement("SAVEPOINT a"))
    if rng.random() < 0.3:
        found.insert(rng.randint(start + 1, len(found)), Statement(rng.choice(("SAVEPOINT b", "SAVEPOINT a"))))
    for _ in range(rng.choice((1, 1, 2))):
        end = rng.choice(("ROLLBACK TO a", "ROLLBACK TO a", "ROLLBACK TO SAVEPOINT a", "RELEASE a", "ROLLBACK TO b"))
        found.insert(rng.randint(start + 1, len(found)), Statement(end))
    return found


_POINT = "SELECT v FROM accounts WHERE id = $1"
_EVERY = "SELECT id, v FROM accounts"
_ADD = "UPDATE accounts SET v = v + 1 WHERE id = $1"
_SHAPES: dict[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    # Parameters by letter: o and p are the two accounts, c a small number, n a new key.
    "skew": (((_POINT, "o"), (_ADD, "p")), ((_POINT, "p"), (_ADD, "o"))),
    "lost": (
        ((_POINT, "o"), ("UPDATE accounts SET v = v * 2 + 1 WHERE id = $1", "o")),
        ((_ADD + " RETURNING v", "o"),),
    ),
    "fork": (((_ADD, "o"),), ((_ADD, "p"),), ((_POINT, "o"), (_POINT, "p")), ((_EVERY, ""),)),
    "again": (((_EVERY, ""), (_EVERY, "")), ((_ADD, "o"), (_ADD, "p")), ((_POINT, "o"), (_ADD, "p"), (_POINT, "o"))),
    "stale": (((_ADD, "o"),), ((_POINT, "o"),), ((_EVERY, ""),)),
    "phantom": (
        (("SELECT COUNT(*) FROM accounts", ""), ("INSERT INTO accounts VALUES ($1, 0, 'y')", "n")),
        ((_EVERY + " WHERE v < 2", ""), ("UPDATE accounts SET v = v + 2 WHERE id = $1", "o")),
        (("SELECT SUM(v) FROM accounts", ""), ("UPDATE accounts SET v = $1 WHERE id = $2", "co")),
    ),
}


def _transaction(rng: random.Random, tables: str, theme: str | None) -> list[Statement]:
    """Statements of one transaction: of the log's theme, or any."""
    if theme is None or rng.random() < 0.15:
        return [_statement(rng, tables) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
    o = rng.choice((1, 2))
    letters = {"o": o, "p": 3 - o, "c": rng.choice((0, 1, 2)), "n": rng.choice((3, 4))}
    shape = rng.choice(_SHAPES[theme])
    return [Statement(sql, tuple(letters[letter] for letter in given) or None) for sql, given in shape]


# --- execution ----------------------------------------------------------------------------------------------------


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


def _simulate(rng: random.Random, store: Store, policy: str, statements: list[Statement], place: int) -> _Draft:
    """Run one transaction as the next to commit."""
    newest = store.newest
    id: str | int = rng.choice((f"t{place}", place))
    count = len(statements)
    states = _states(rng, policy, newest, count)
    late = policy == "stale" and rng.random() < 0.6  # what it reads was overwritten before it asked
    ticks = [10 * (newest if late or state is None else state) + rng.randint(2, 8) for state in states]
    draft = _Draft(id, [], ticks, 10 * (newest + 1))
    view = WitnessView(store, id, newest, _Policy(rng, newest, states))
    _execute(rng, draft, view, statements, place)
    snapshot = states[0] if policy == "snapshot" else None
    return _end(rng, draft, store, view, _conflicts(store, view, snapshot))


def _simulate_set(
    rng: random.Random, store: Store, policy: str, statements: list[Statement], drafts: list[_Draft]
) -> _Draft:
    """The same for one that sees any of those before it, closed or not."""
    newest = store.newest
    place = newest + 1
    id: str | int = rng.choice((f"t{place}", place))
    draft = _Draft(id, [], [10 * newest + rng.randint(2, 8) for _ in statements], 10 * place)
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


def _execute(rng: random.Random, draft: _Draft, view: WitnessView, statements: list[Statement], place: int) -> None:
    draft.read_only = all(statement.sql.startswith("SELECT") for statement in statements)
    prepared = prepare(Transaction(draft.id, "committed", tuple(statements), place), library())
    for number, item in enumerate(prepared.statements):
        assert item.program is not None
        view.statement(number)
        if draft.status == "aborted" and not statements[number].sql.startswith("ROLLBACK TO"):
            draft.statements.append(_failed(statements[number], "25P02"))
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
            draft.statements.append(_failed(statements[number], error.sqlstate))
            continue
        except Unsupported:
            continue  # what it does hangs on a choice that is the DBMS's; it is left out
        if statements[number].sql.startswith("ROLLBACK TO"):
            draft.status = "committed"
        draft.statements.append(_observed(rng, statements[number], outcome))


def _end(rng: random.Random, draft: _Draft, store: Store, view: WitnessView, conflict: bool) -> _Draft:
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
    if store.append(view.writes) is not None:
        draft.status = "aborted"
        store.tables, store.newest = before.tables, before.newest
        store.append({})
    return draft


def _failed(statement: Statement, sqlstate: str) -> Statement:
    return msgspec.structs.replace(statement, error=ObservedError(sqlstate))


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


def _observed(rng: random.Random, statement: Statement, outcome: Outcome) -> Statement:
    if rng.random() < 0.1:
        return statement
    affected = outcome.affected if rng.random() < 0.8 else None
    if not outcome.results:
        return msgspec.structs.replace(statement, affected=affected)
    rows = tuple(_answered(rng, result) for result in outcome.results)
    return msgspec.structs.replace(statement, results=rows, several=len(rows) > 1, affected=affected)


def _answered(rng: random.Random, result: ResultSet[Value]) -> ObservedRows:
    rows = list(result.rows)
    if result.keys is None:
        rng.shuffle(rows)
    rows = rows[result.offset :][: result.limit]
    columns = tuple(f"c{n}" for n in range(len(result.types)))
    truncated = len(rows) > 1 and rng.random() < 0.05
    return ObservedRows(columns, tuple(map(_json, rows[:1] if truncated else rows)), truncated)


def _json(row: tuple[Value, ...]) -> tuple[Any, ...]:
    return tuple(str(value) if isinstance(value, Decimal) else value for value in row)


# --- faults and times ---------------------------------------------------------------------------------------------


def _spoil(rng: random.Random, drafts: list[_Draft]) -> None:
    """Now and then one observation is not what was answered."""
    if rng.random() < 0.78:
        return
    places = [
        (draft, number)
        for draft in drafts
        for number, statement in enumerate(draft.statements)
        if statement.results or statement.affected is not None
    ]
    if places:
        draft, number = rng.choice(places)
        draft.statements[number] = _mutated(rng, draft.statements[number])


def _mutated(rng: random.Random, statement: Statement) -> Statement:
    if not statement.results or (statement.affected is not None and rng.random() < 0.3):
        affected = max((statement.affected or 0) + rng.choice((1, -1)), 0)
        return msgspec.structs.replace(statement, affected=affected)
    (result, *others) = statement.results
    rows = list(result.rows)
    where = rng.randrange(len(rows)) if rows else 0
    kind = rng.random()
    if rows and kind < 0.25:
        del rows[where]
    elif rows and kind < 0.35:
        rows.append(rows[where])
    elif rows:
        row = list(rows[where])
        column = rng.randrange(len(row))
        old, kind_of = row[column], _types(statement)[column].kind
        if kind_of is Kind.TEXT:
            row[column] = "x" if old is None else "z"
        else:
            row[column] = 1 if old is None else int(old) + rng.choice((1, -1))
        rows[where] = tuple(row)
    changed = msgspec.structs.replace(result, rows=tuple(rows))
    count = len(rows) if statement.affected is not None else None
    return msgspec.structs.replace(statement, results=(changed, *others), affected=count)


def _types(statement: Statement) -> tuple[SqlType, ...]:
    program = library().program(statement.sql, param_shape(statement.params))
    types = result_types(program.statement, library().catalog)
    assert types is not None
    return types[0]


def _give_times(rng: random.Random, drafts: list[_Draft]) -> None:
    """DBMS times, client times, both or none; true ones, and in some logs one transaction's shifted."""
    dbms, client = rng.choice(((False, False), (True, False), (False, True), (False, True), (True, True), (True, True)))
    by_statement = rng.random() < 0.7
    with_end = rng.random() < 0.8
    clocks = ("c1", "c2") if rng.random() < 0.2 else ("c1",)
    for draft in drafts:
        shift = rng.randint(-15, 35) if rng.random() < 0.25 else 0
        ticks = sorted(draft.ticks)
        if dbms and draft.status != "unknown":
            draft.times["start"] = ticks[0] + shift
            if not (draft.read_only and rng.random() < 0.3) and draft.status == "committed":
                draft.times["commit"] = max(draft.commit + shift, ticks[0] + shift)
        if client and rng.random() < 0.9:
            _give_client_times(rng, draft, [tick + shift for tick in ticks], shift, by_statement, with_end)
            if len(clocks) > 1 or rng.random() < 0.5:
                draft.times["clock"] = rng.choice(clocks)


def _give_client_times(
    rng: random.Random, draft: _Draft, ticks: list[int], shift: int, by_statement: bool, with_end: bool
) -> None:
    """In tenths of a tick around the times at which things happened."""
    base = 1000
    invoked = base + 10 * ticks[0] - rng.randint(0, 20)
    draft.times["invoked"] = last = invoked
    for number, tick in enumerate(ticks[: len(draft.statements)]):
        invoked = max(last, base + 10 * tick - rng.randint(0, 15))
        returned = last = max(invoked, base + 10 * tick + rng.randint(0, 15))
        if by_statement and rng.random() < 0.9:
            statement = draft.statements[number]
            draft.statements[number] = msgspec.structs.replace(statement, invoked=invoked, returned=returned)
    commit = base + 10 * (draft.commit + shift)
    sent = max(last, commit - rng.randint(1, 15))
    answered = max(sent, commit + rng.randint(0, 60))
    known = draft.status != "unknown"
    if with_end:
        draft.times["end"] = End(invoked=sent, returned=answered if known else None)
    if known:
        draft.times["returned"] = answered


def _finished(rng: random.Random, draft: _Draft, place: int, mixed: bool) -> Transaction:
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
