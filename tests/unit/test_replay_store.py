"""What replay tells of an older state of a table is what each row had there (paper §5.3). Knows no transactions."""

from __future__ import annotations

from random import Random

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.replay import store as stores
from troubadour.replay.commit_tests.times import Timeline, Times
from troubadour.replay.store import Store

STATES = 40


def written(random: Random) -> Store:
    """A store of few rows that are written, deleted and written again."""
    library = SqlLibrary(Dialect("postgres", collation="C"), ("CREATE TABLE n (k INT, v INT)",), ())
    store = Store(library, {"n": [(k, 0) for k in range(6)]})
    for state in range(1, STATES):
        names = random.sample([f"n:-:{k}" for k in range(6)] + [f"n:{state}:0"], random.randint(0, 3))
        rows = {name: None if random.random() < 0.3 else (int(name[-1]), state) for name in names}
        assert store.append({"n": rows} if rows else {})[0] is None
    return store


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("near", [3, 64])
def test_an_older_state_is_what_each_row_had_there(seed: int, near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "NEAR", near)
    random = Random(seed)
    table = written(random).tables["n"]
    for state in range(STATES):
        for skipped in ((), random.sample(range(1, STATES), 4)):
            expected = {name: versions.skipping(state, skipped) for name, versions in table.rows.items()}
            found = table.at(state, skipped)
            assert dict(found) == {name: row for name, row in expected.items() if row is not None}
            assert len(found) == len(dict(found))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_forgotten_only_older_states_have(seed: int) -> None:
    whole, store = written(Random(seed)).tables["n"], written(Random(seed))
    random = Random(seed)
    oldest = random.randrange(10, STATES)
    store.forget(oldest)
    table = store.tables["n"]
    assert sum(len(one.states) for one in table.rows.values()) < sum(len(one.states) for one in whole.rows.values())
    for state in range(oldest, STATES):
        for skipped in ((), random.sample(range(oldest + 1, STATES + 4), 3)):
            assert dict(table.at(state, skipped)) == dict(whole.at(state, skipped))
        for key in range(6):
            rows = [
                {name: row for name, one in held.matching((0,), (key,), state).items() if (row := one.at(state))}
                for held in (table, whole)
            ]
            assert rows[0] == rows[1]


def test_no_more_times_are_forgotten_than_there_are() -> None:
    """A witness may name states that are not there yet."""
    timeline, never = Timeline(), (1 << 63) - 1
    for rank in range(3):
        times = Times(None, None, None, None, None, rank, rank, rank, (), session="s", rank=rank)
        timeline.append(times, real_time=False, at_start=True, session=True)
    assert timeline.forget(50, never, never, never) == range(1, 4)
    assert timeline.forget(50, never, never, never) == range(4, 4)
    assert timeline.at(2).session is None
