"""A reader that is moved in place leaves everything as if all had been placed as they stand then, also what those
behind it read. Does not test which reader is to be moved."""

from __future__ import annotations

from random import Random

from tests.property.random_statements import ACCOUNTS, library
from troubadour.execution.initial.rows import initial_state
from troubadour.isolation.timeline import Timeline
from troubadour.model.log import Header, Log, ObservedRows, Statement, Transaction
from troubadour.problem.problem import Problem
from troubadour.search.repair.moves import read_only
from troubadour.search.schedule.trace import Trace

KEYS = (1, 2, 3)


def placed(seed: int) -> Trace:
    """Writers of a few rows among readers of them, some of which read what was there a while ago."""
    random = Random(seed)
    inserts = tuple(Statement(f"INSERT INTO accounts VALUES ({key}, 0, 'x')", affected=1) for key in KEYS)
    transactions = [Transaction("first", "committed", inserts, 0)]
    seen = {key: [0] for key in KEYS}
    for number in range(1, 30):
        key = random.choice(KEYS)
        if random.random() < 0.4:
            seen[key].append(seen[key][-1] + 1)
            statement = Statement(f"UPDATE accounts SET v = v + 1 WHERE id = {key}", affected=1)
        elif random.random() < 0.2:
            rows = tuple((seen[key][-1],) for key in KEYS)
            statement = Statement("SELECT v FROM accounts ORDER BY id", results=(ObservedRows(("v",), rows),))
        else:
            value = random.choice(seen[key][-3:])
            rows = ((value,),)
            statement = Statement(f"SELECT v FROM accounts WHERE id = {key}", results=(ObservedRows(("v",), rows),))
        session = random.choice("abc")
        transactions.append(Transaction(f"t{number}", "committed", (statement,), number, session=session))
    log = Log(Header("postgres", (ACCOUNTS,), settings={"collation": "C"}), transactions, f"moved {seed}")
    trace = Trace(Problem(log, library(), initial_state(log, library()), isolation="snapshot"))
    for item in range(len(transactions)):
        trace.place(item)
    assert len(trace) > len(transactions) // 2
    return trace


def what_is_read(trace: Trace) -> dict[int, object]:
    """By item, all rows as they are in the state that it reads."""
    rows = [row for table in trace.states.tables.values() for row in table.rows]
    found: dict[int, object] = {}
    for placement in trace.placements:
        assert placement.choices is not None
        found[placement.item] = {row.address: row.at(placement.choices.state) for row in rows}
    return found


def test_all_is_as_if_it_had_been_placed_so() -> None:
    assert sum(compare_moves(placed(seed)) for seed in range(20))


def compare_moves(trace: Trace) -> int:
    """Move every reader that can be; how many of those behind one read a state that it was moved past."""
    behind = 0
    for position in [position for position in range(1, len(trace) + 1) if not trace.states.written_at(position)]:
        moved = trace.placements[position - 1]
        place = moved.since
        if place >= position - 1:
            continue
        later = [other.choices.state for other in trace.placements[position:] if other.choices is not None]
        behind += sum(place < state < position for state in later)
        before, order = what_is_read(trace), [placement.item for placement in trace.placements]
        read_only._move(trace, position, place)
        after = what_is_read(trace)
        # the moved one reads an older state, in which what it looked at is the same
        assert {**before, moved.item: after[moved.item]} == after
        order.insert(place, order.pop(position - 1))
        assert [placement.item for placement in trace.placements] == order
        assert_is_as_placed(trace)
    return behind


def assert_is_as_placed(trace: Trace) -> None:
    """Times, changes and present rows are those of what stands where."""
    problem, timeline = trace.problem, Timeline()
    for placement, idle in zip(trace.placements, trace.timeline.idle, strict=True):
        timeline.append(problem.times[placement.item], idle=idle)
    assert trace.timeline.times == timeline.times
    for times in timeline.times:
        assert trace.timeline.begun_after(times, commits=True) == timeline.begun_after(times, commits=True)
        assert trace.timeline.foreseen(times) == timeline.foreseen(times)
        assert trace.timeline.session_positions(times) == timeline.session_positions(times)
        assert trace.timeline.session_floor(times) == timeline.session_floor(times)
    positions = range(1, len(trace) + 1)
    for name, table in trace.states.tables.items():
        written = [p for p in positions if any(row.table == name for row in trace.states.written_at(p))]
        assert table.changes == written
        for state in (*positions, 0):
            rows = {row: version for row in table.rows if (version := row.at(state)) is not None}
            assert dict(trace.states.rows_at(name, state) or ()) == rows
