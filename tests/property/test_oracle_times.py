"""Replay's running maxima against the definitions, all pairs at a time."""

from __future__ import annotations

from random import Random

import pytest

from troubadour.replay.commit_tests.times import Timeline, Times


def random_times(rng: Random) -> Times:
    def maybe() -> int | None:
        return rng.randint(0, 12) if rng.random() < 0.6 else None

    got = tuple(maybe() for _ in range(rng.randint(0, 2)))
    clock = rng.choice(("c", "c", "d", None))
    return Times(clock, maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), got, opened=maybe())


def before(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


def is_in(b: Times, a: Times) -> bool:
    if b.commit is not None and a.start is not None:
        return b.commit < a.start
    return b.clock == a.clock and before(b.answered, a.asked)


def is_out(b: Times, a: Times) -> bool:
    if b.commit is not None and a.start is not None:
        return b.commit > a.start
    if is_in(b, a):
        return False
    return b.clock == a.clock and before(a.opened, b.sent)


def precedes(b: Times, a: Times) -> bool:
    return before(b.commit, a.start) or (b.clock == a.clock and before(b.returned, a.invoked))


@pytest.mark.parametrize("seed", range(150))
def test_running_maxima_find_what_all_pairs_find(seed: int) -> None:
    rng = Random(seed)
    order = [random_times(rng) for _ in range(7)]
    strict = [rng.choice(((False, False), (True, False), (True, True))) for _ in order]
    timeline = Timeline()
    for place, new in enumerate(order):
        placed = order[:place]
        expected = any(
            (strict[n][0] and precedes(new, a)) or (strict[n][1] and is_in(new, a)) for n, a in enumerate(placed)
        )
        assert (timeline.overtaken(new) is not None) == expected
        for state in range(place + 1):
            inside, after = placed[:state], placed[state:]
            assert (timeline.misses(new, state) is not None) == any(is_in(b, new) for b in after)
            assert (timeline.foresees(new, state) is not None) == any(is_out(b, new) for b in inside)
            for got in (*new.got, 5):
                found = timeline.sent_after(new, got, state)
                assert found == [n for n, b in enumerate(inside, 1) if b.clock == new.clock and before(got, b.sent)]
        timeline.append(new, *strict[place])
