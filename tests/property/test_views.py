"""Where statements read views of their own, what the engine refutes has no witness by the oracle, and its chain holds.

Small logs, with client times and without: of a simulated server whose answers are spoilt, and random ones.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.key_value_logs import SCHEMA
from tests.property.random_logs import write
from tests.property.test_profiles_agreement import library, log_of
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.formats import read_log, write_log
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.oracle import BudgetExceeded, explain
from troubadour.order.engine import Alone, contradiction_of, first_refuted, may_contradict
from troubadour.order.evidence import evidence_of
from troubadour.problem.problem import Problem
from troubadour.proof.chains.order_chain import checked_chain

PROFILES = ("postgres:read-committed", "mysql:read-committed", "mysql:repeatable-read")
FAST, SLOW = range(15), range(1000, 3000)
BUDGET = 200_000


def kv_library(dialect: str) -> SqlLibrary:
    return SqlLibrary(Dialect(dialect, collation="C" if dialect == "postgres" else "utf8mb4_bin"), (SCHEMA,))


@dataclass
class _Session:
    """A client's transaction on its way."""

    number: int
    begun: int
    left: int
    own: dict[int, int] = field(default_factory=dict)
    done: list[Statement] = field(default_factory=list)
    snapshot: dict[int, int] | None = None


class _Server:
    """Rows that hold the newest values; a writer holds its rows until its commit."""

    def __init__(self, rng: random.Random, level: str, rows: int, *, counts: bool) -> None:
        self.rng, self.level, self.counts = rng, level, counts
        self.first, self.second = ("$1", "$2") if level.startswith("postgres") else ("%s", "%s")
        self.rows = dict.fromkeys(range(rows), 0)
        self.versions: dict[int, list[int]] = {key: [0] for key in self.rows}
        self.found: list[Transaction] = []
        self._holder: dict[int, int] = {}
        self._now = 0
        self._last = 0

    def tick(self) -> int:
        """The time by the one clock."""
        self._now += self.rng.randint(1, 3)
        return self._now

    def commit(self, session: _Session) -> None:
        """The commit shows some time between its sending and its answer."""
        sent = self.tick()
        self.rows.update(session.own)
        self._holder = {key: number for key, number in self._holder.items() if number != session.number}
        transaction = Transaction(
            f"t{session.number}",
            "committed",
            tuple(session.done),
            len(self.found) + 1,
            session=f"s{session.number}",
            invoked=session.begun,
            returned=self.tick(),
            clock="c",
        )
        end = End(sent, transaction.returned)
        self.found.append(msgspec.structs.replace(transaction, end=end))

    def read(self, session: _Session, key: int) -> None:
        """A row, as the level lets it be seen."""
        if self.level == "mysql:repeatable-read" and session.snapshot is None:
            session.snapshot = dict(self.rows)
        sent, seen = self.tick(), session.snapshot or self.rows
        session.done.append(_read(key, session.own.get(key, seen[key]), self.first, sent, self.tick()))

    def write(self, session: _Session, key: int) -> None:
        """A row that nobody else holds."""
        if self._holder.setdefault(key, session.number) != session.number:
            return
        self._last += 1
        sent = self.tick()
        value = session.own.get(key, self.rows[key]) + 1 if self.counts else self._last
        session.own[key] = value
        self.versions[key].append(value)
        text, params = f"UPDATE kv SET v = {self.first} WHERE k = {self.second}", (value, key)
        if self.counts:
            text, params = f"UPDATE kv SET v = v + 1 WHERE k = {self.first}", (key,)  # type: ignore[assignment]
        session.done.append(Statement(text, params, affected=1, invoked=sent, returned=self.tick()))


def register_log(seed: int, level: str, *, transactions: int = 5, rows: int = 2, spoilt: int = 1) -> Log:
    """Transactions of one to three reads and writes of rows by key, overlapping, as the level's product would answer;
    then so many answers are changed."""
    rng = random.Random(f"{level} registers {seed}")
    server = _Server(rng, level, rows, counts=seed % 3 == 2)
    sessions: list[_Session] = []
    begun = 0
    while begun < transactions or sessions:
        if begun < transactions and (len(sessions) < 2 or rng.random() < 0.2):
            begun += 1
            sessions.append(_Session(begun, server.tick(), rng.randint(1, 3)))
        session = rng.choice(sessions)
        if not session.left:
            server.commit(session)
            sessions.remove(session)
            continue
        session.left -= 1
        (server.read if rng.random() < 0.5 else server.write)(session, rng.randrange(rows))
    found = server.found
    for _ in range(spoilt):
        _spoil(rng, found, server)
    header = Header(
        dialect=level.partition(":")[0],
        schema=(SCHEMA,),
        initial=(InitialTable("kv", None, tuple((key, 0) for key in range(rows))),),
    )
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.jsonl", header, found)
        return read_log([Path(folder) / "log.jsonl"])


def _read(key: int, value: int, mark: str, sent: int | None, answered: int | None) -> Statement:
    text = f"SELECT v FROM kv WHERE k = {mark}"
    return Statement(text, (key,), results=(ObservedRows(("v",), ((value,),)),), invoked=sent, returned=answered)


def _spoil(rng: random.Random, found: list[Transaction], server: _Server) -> None:
    """A read has another version of its row, or a transaction is missing."""
    reads = [
        (place, number)
        for place, transaction in enumerate(found)
        for number, statement in enumerate(transaction.statements)
        if statement.results is not None
    ]
    if not reads or rng.random() < 0.2:
        del found[rng.randrange(len(found))]
        return
    place, number = rng.choice(reads)
    statements = list(found[place].statements)
    old = statements[number]
    assert isinstance(old.params, tuple)
    key = old.params[0]
    assert isinstance(key, int)
    value = rng.choice(server.versions[key])
    statements[number] = _read(key, value, server.first, old.invoked, old.returned)
    found[place] = msgspec.structs.replace(found[place], statements=tuple(statements))


def compare(log: Log, schema: SqlLibrary, level: str) -> bool:
    """Whether a log is refuted; its chain is held by the checker then, and the oracle finds no explanation."""
    problem = Problem(log, schema, known_rows(log, schema), isolation=level)
    if not may_contradict(problem):
        return False
    found = contradiction_of(problem)
    if found is None:
        return False
    count, found = first_refuted(problem, found)
    evidence = None
    if not isinstance(found, Alone):
        evidence = evidence_of(found.known, found.impossible)
        assert evidence is not None, write(log)
        assert checked_chain(problem, evidence, count) is not None, f"{evidence}\n{write(log)}"
    try:
        answer = explain(log, schema, level, budget=BUDGET)
    except BudgetExceeded:
        return False
    committed = sum(problem.statuses[item] == "committed" for item in problem.judged[: answer.verified_prefix])
    assert committed < count, f"at {level}: {evidence}, but {answer}\n{write(log)}"
    return True


def _registers(seed: int, level: str) -> tuple[Log, SqlLibrary]:
    log = register_log(seed, level, transactions=4 + seed % 2, rows=1 + seed % 3)
    return log, kv_library(level.partition(":")[0])


def _random(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    dialect = level.partition(":")[0]
    log = log_of(seed, dialect)
    return None if log is None else (log, library(dialect))


Maker = Callable[[int, str], tuple[Log, SqlLibrary] | None]


def refuted(make: Maker, level: str, seeds: range) -> int:
    """How many logs are refuted."""
    logs = [made for seed in seeds if (made := make(seed, level)) is not None]
    return sum(compare(*made, level) for made in logs)


@pytest.mark.parametrize("level", PROFILES)
@pytest.mark.parametrize("make", [_registers, _random])
def test_what_views_refute_has_no_witness(make: Maker, level: str) -> None:
    found = refuted(make, level, FAST)
    assert make is not _registers or found > len(FAST) // 10


@pytest.mark.slow
@pytest.mark.parametrize("level", PROFILES)
@pytest.mark.parametrize("make", [_registers, _random])
@pytest.mark.parametrize("start", range(SLOW.start, SLOW.stop, 500))
def test_what_views_refute_has_no_witness_in_many(start: int, make: Maker, level: str) -> None:
    refuted(make, level, range(start, start + 500))


@pytest.mark.parametrize("level", PROFILES)
def test_a_server_that_keeps_its_promise_is_never_refuted(level: str) -> None:
    dialect = level.partition(":")[0]
    for seed in range(8):
        log = register_log(seed, level, transactions=60, rows=5, spoilt=0)
        problem = Problem(log, kv_library(dialect), known_rows(log, kv_library(dialect)), isolation=level)
        assert contradiction_of(problem) is None, write(log)


def test_profiles_whose_statements_read_views_are_all_tried() -> None:
    assert {name for name, one in LEVELS.items() if one.dialect is not None and one.own_states} == {*PROFILES}


def test_a_row_that_was_inserted_and_deleted_again_was_never_left() -> None:
    insert = Statement("INSERT INTO kv VALUES ($1, 1)", (9,), affected=1)
    delete = Statement("DELETE FROM kv WHERE k = $1", (9,), affected=1)
    log = register_log(0, "postgres:read-committed", transactions=1)
    changed = msgspec.structs.replace(log.transactions[0], statements=(insert, delete))
    log = Log(log.header, [changed], log.digest)
    schema = kv_library("postgres")
    problem = Problem(log, schema, known_rows(log, schema), isolation="postgres:read-committed")
    account = accounts_for(problem, problem.levels[0]).of(0)
    assert not account.wild and not any(written.certain for written in account.wrote.values())
