"""Orders that are found by layers of ways to place so many transactions (`search.layers`), and that none is found where
there is none. Does not know how a transaction is run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from benchmarks.histories.generate import Shape, generate
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.concurrent_logs import concurrent_log
from tests.property.hidden_orders import grouped
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.problem.problem import Problem
from troubadour.search.layers import is_read_only, place_layers
from troubadour.search.likely_order import likely_order, near_order
from troubadour.search.repair.placer import Frontier

CONTENDED = Path(__file__).parents[2] / "logs" / "contended"


def placed(
    log: Log,
    schema: SqlLibrary,
    *,
    width: int = 500,
    fronts: int = 20,
    apart: int | None = None,
    level: str = "serializable",
) -> list[str] | None:
    """The transactions in the order that is found; None where none is. `apart`: by places in the file."""
    problem = Problem(log, schema, known_rows(log, schema), isolation=level)
    begun: list[Frontier] = []

    def begin() -> Frontier:
        begun.append(Frontier(problem))
        return begun[-1]

    order = likely_order(problem, problem.judged) if apart is None else near_order(problem.judged, apart)
    if not place_layers(begin, order, width=width, fronts=fronts):
        return None
    return [problem.transaction(placement.item).id for placement in begun[-1].trace.placements]


def ran(name: str, session: str, place: int, *statements: Statement) -> Transaction:
    return Transaction(name, "committed", statements, place, session=session)


def added(more: int, affected: int = 1) -> Statement:
    return Statement("UPDATE kv SET v = v + $1 WHERE k = 1", (more,), affected=affected)


def total(value: int) -> Statement:
    return Statement("SELECT sum(v) FROM kv", results=(ObservedRows(("sum",), ((value,),)),))


def sums(*transactions: Transaction) -> tuple[Log, SqlLibrary]:
    """A log of two sessions, of which only sums tell in which turn they wrote."""
    schema = ("CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)",)
    rows = (InitialTable("kv", ("k", "v"), ((1, 0), (2, 100))),)
    header = Header(dialect="postgres", schema=schema, initial=rows, order="hint")
    return Log(header, transactions, ""), SqlLibrary(Dialect("postgres"), schema)


def test_sums_tell_the_turn_of_sessions() -> None:
    log, schema = sums(
        ran("a1", "a", 0, added(1)),
        ran("a2", "a", 1, added(2)),
        ran("a3", "a", 2, total(113)),
        ran("b1", "b", 3, total(103)),
        ran("b2", "b", 4, added(10)),
    )
    assert placed(log, schema) == ["a1", "a2", "b1", "b2", "a3"]
    # one way at a time is followed first, then more
    assert placed(log, schema, width=1) == ["a1", "a2", "b1", "b2", "a3"]


def test_no_order_of_sums_that_nothing_comes_to() -> None:
    log, schema = sums(ran("a1", "a", 0, added(1)), ran("b1", "b", 1, total(102)), ran("b2", "b", 2, added(10)))
    assert placed(log, schema) is None


def test_ways_with_too_many_that_may_come_next_are_not_followed() -> None:
    log, schema = sums(ran("a1", "a", 0, added(1)), ran("b1", "b", 1, added(2)), ran("c1", "c", 2, total(103)))
    assert placed(log, schema, fronts=3) is not None
    assert placed(log, schema, fronts=2) is None


def test_what_changed_no_row_by_its_own_count_is_placed_as_what_reads() -> None:
    nothing = Statement("DELETE FROM kv WHERE v > $1", (100,), affected=0)
    log, schema = sums(ran("a1", "a", 0, nothing), ran("b1", "b", 1, added(1)), ran("c1", "c", 2, total(101), added(0)))
    problem = Problem(log, schema, known_rows(log, schema), isolation="serializable")
    assert [is_read_only(problem, item) for item in problem.committed] == [True, False, False]
    assert placed(log, schema) == ["a1", "b1", "c1"]


def test_what_has_begun_commits_on_the_state_that_it_read() -> None:
    """Both saw the sum without the other's row: at snapshot the second one to commit read an older state."""
    other = Statement("UPDATE kv SET v = v + 7 WHERE k = 2", (), affected=1)
    log, schema = sums(ran("a1", "a", 0, total(100), added(1)), ran("b1", "b", 1, total(100), other))
    assert placed(log, schema) is None
    assert placed(log, schema, level="snapshot") == ["a1", "b1"]


def test_no_two_that_began_on_one_state_write_the_same_row() -> None:
    log, schema = sums(ran("a1", "a", 0, total(100), added(1)), ran("b1", "b", 1, total(100), added(1)))
    assert placed(log, schema, level="snapshot") is None


def test_what_was_read_tells_which_rows_are_written_later() -> None:
    """b1 must have read the state before a1, by which it changes one row and leaves the sum that is read."""
    least = Statement("UPDATE kv SET v = v + 50 WHERE v < $1", (60,), affected=1)
    grown = Statement("UPDATE kv SET v = v - 60 WHERE k = 2", (), affected=1)
    log, schema = sums(
        ran("a1", "a", 0, grown), ran("b1", "b", 1, least), ran("c1", "c", 2, total(40)), ran("c2", "c", 3, total(90))
    )
    assert placed(log, schema, level="snapshot") == ["a1", "c1", "b1", "c2"]


@pytest.mark.parametrize("seed", range(4))
def test_serial_runs_are_put_in_order(seed: int) -> None:
    log = grouped(concurrent_log(seed, serial=True, transactions=40))
    found = placed(log, library())
    assert found is not None
    assert sorted(found) == sorted(transaction.id for transaction in log.transactions)


def contended(level: str, count: int) -> Log:
    """The first committed transactions of a run of PostgreSQL on 10 rows."""
    log = read_log([CONTENDED / f"postgres-{level}-10.jsonl.gz"])
    first = tuple(one for one in log.transactions if one.status == "committed")[:count]
    return Log(msgspec.structs.replace(log.header, order="hint"), first, log.digest)


@pytest.mark.parametrize("level", ["serializable", "snapshot"])
def test_a_contended_run_of_postgresql_is_put_in_order(level: str) -> None:
    log = grouped(contended(level, 200))
    schema = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema)
    assert audit(log, schema, Options(level, timeout=600)).status is Status.CORRECT


@pytest.mark.parametrize("level", ["serializable", pytest.param("snapshot", marks=pytest.mark.slow)])
def test_a_contended_run_whose_commit_times_are_wrong_goes_by_its_sessions(level: str) -> None:
    """Each commit is told to be up to 20 places earlier or later, without changing the turns of a session."""
    log, random = contended(level, 80), Random(3)
    turns: dict[str | None, list[tuple[object, float]]] = {}
    for place, one in enumerate(log.transactions):
        turns.setdefault(one.session, []).append((one.id, place + random.uniform(-20, 20)))
    commits = {
        name: int(1000 * commit) + 100_000
        for turn in turns.values()
        for (name, _), commit in zip(turn, sorted(commit for _, commit in turn), strict=True)
    }
    told = (msgspec.structs.replace(one, commit=commits[one.id]) for one in grouped(log).transactions)
    hinted = Log(log.header, tuple(sorted(told, key=lambda one: one.commit or 0)), log.digest)
    schema = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema)
    assert audit(hinted, schema, Options(level, timeout=600)).status is Status.CORRECT


def test_a_file_that_is_nearly_in_order_is_put_right(tmp_path: Path) -> None:
    history = generate(Shape(300, 8, repeated=0.9, order="neighbours"), seed=4)
    history.write(tmp_path / "log.jsonl")
    log = read_log([tmp_path / "log.jsonl"])
    schema = SqlLibrary(Dialect("postgres"), log.header.schema)
    assert placed(log, schema, apart=1) is None
    found = placed(log, schema, apart=3)
    assert found is not None
    place = {transaction.id: place for place, transaction in enumerate(log.transactions)}
    assert max(abs(place[name] - number) for number, name in enumerate(found)) in (1, 2)


@pytest.mark.parametrize(
    "level", ["postgres:serializable", pytest.param("postgres:repeatable-read", marks=pytest.mark.slow)]
)
def test_where_nothing_is_known_to_have_committed_no_turns_are_followed(level: str) -> None:
    """Only an aborted transaction is judged, beside many of unknown outcome, none of which gives what it read."""
    many = [ran(f"u{n}", f"u{n}", n, added(1)) for n in range(7)]
    unknown = [msgspec.structs.replace(one, status="unknown") for one in many]
    aborted = msgspec.structs.replace(ran("a1", "a", 7, total(-5)), status="aborted")
    log, schema = sums(*unknown, aborted)
    assert audit(log, schema, Options(level, timeout=600)).status is not Status.CORRECT


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_near_order_lets_no_transaction_go_farther(apart: int) -> None:
    order = near_order(range(9), apart)
    before: dict[int, set[int]] = {item: set() for item in range(9)}
    for item in range(9):
        for later in order.after.get(item, ()):
            before[later] |= before[item] | {item}
    assert before == {item: set(range(item - apart + 1)) for item in range(9)}
