"""Where statements read views of their own, what the engine refutes has, by the oracle, no witness, and its chain holds.

Small logs, with client times and without: of a simulated server whose answers are spoilt, and random ones.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.key_value_logs import SCHEMA
from tests.property.random_logs import write
from tests.property.test_profiles_agreement import library, log_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log, write_log
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.oracle import BudgetExceeded, explain
from troubadour.proof.order_chain import checked_chain
from troubadour.search.engine.engine import contradiction_of, first_refuted, may_contradict
from troubadour.search.engine.evidence import evidence_of
from troubadour.search.problem.problem import Problem

PROFILES = ("postgres:read-committed", "mysql:read-committed", "mysql:repeatable-read")
FAST, SLOW = range(60), range(1000, 3000)
BUDGET = 200_000


def kv_library(dialect: str) -> SqlLibrary:
    return SqlLibrary(Dialect(dialect, collation="C" if dialect == "postgres" else "utf8mb4_bin"), (SCHEMA,))


class _Server:
    """Sessions in turn on rows that hold the newest values; a writer holds its rows until its commit."""

    def __init__(self, rng: random.Random, level: str, rows: int) -> None:
        self.rng, self.level = rng, level
        self.rows = dict.fromkeys(range(rows), 0)
        self.versions: dict[int, list[int]] = {key: [0] for key in self.rows}
        self.holder: dict[int, int] = {}
        self.now = 0
        self.last = 0

    def tick(self) -> int:
        self.now += self.rng.randint(1, 3)
        return self.now


def register_log(seed: int, level: str, *, transactions: int = 5, rows: int = 2, spoilt: int = 1) -> Log:
    """Transactions of one to three reads and writes of rows by key, overlapping, as the level's product would answer;
    then so many answers or times are changed."""
    rng = random.Random(f"{level} registers {seed}")
    server = _Server(rng, level, rows)
    mark = "$1" if level.startswith("postgres") else "%s"
    second = "$2" if level.startswith("postgres") else "%s"
    counts = seed % 3 == 2
    sessions: list[dict[str, object]] = []
    found: list[Transaction] = []
    begun = 0
    while begun < transactions or sessions:
        if begun < transactions and (len(sessions) < 2 or rng.random() < 0.2):
            begun += 1
            sessions.append(
                {"n": begun, "own": {}, "done": [], "left": rng.randint(1, 3), "snapshot": None, "at": server.tick()}
            )
        session = rng.choice(sessions)
        own: dict[int, int] = session["own"]  # type: ignore[assignment]
        done: list[Statement] = session["done"]  # type: ignore[assignment]
        left: int = session["left"]  # type: ignore[assignment]
        number: int = session["n"]  # type: ignore[assignment]
        sent = server.tick()
        if not left:
            # the commit shows some time between its sending and its answer
            server.rows.update(own)
            server.holder = {key: who for key, who in server.holder.items() if who != number}
            answered = server.tick()
            found.append(
                Transaction(
                    f"t{number}", "committed", tuple(done), len(found) + 1, session=f"s{number}",
                    invoked=session["at"], returned=answered, end=End(sent, answered), clock="c",
                )  # type: ignore[arg-type]
            )
            sessions.remove(session)
            continue
        session["left"] = left - 1
        key = rng.randrange(rows)
        if rng.random() < 0.5:
            if level == "mysql:repeatable-read" and session["snapshot"] is None:
                session["snapshot"] = dict(server.rows)
            seen = session["snapshot"] or server.rows
            value = own.get(key, seen[key])  # type: ignore[index]
            done.append(_read(key, value, mark, sent, server.tick()))
        elif server.holder.get(key, number) == number:
            server.holder[key] = number
            server.last += 1
            own[key] = own.get(key, server.rows[key]) + 1 if counts else server.last
            server.versions[key].append(own[key])
            text = "v + 1" if counts else mark
            done.append(
                Statement(
                    f"UPDATE kv SET v = {text} WHERE k = {mark if counts else second}",
                    (key,) if counts else (own[key], key), affected=1, invoked=sent, returned=server.tick(),
                )
            )
    for _ in range(spoilt):
        _spoil(rng, found, server, mark)
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


def _spoil(rng: random.Random, found: list[Transaction], server: _Server, mark: str) -> None:
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
    statements[number] = _read(key, value, mark, old.invoked, old.returned)
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
