"""Ids of a stream: known again, however old."""

from __future__ import annotations

import random

from troubadour.watch.ids import SURE, Ids, Numbers


def test_ids_are_known_again_and_a_shared_number_is_looked_into() -> None:
    asked: list[object] = []
    seen: set[int | str] = set()

    def there(id: int | str) -> bool:
        asked.append(id)
        return id in seen

    ids, rng = Ids(there, recent=8), random.Random(5)
    for _ in range(400):
        several = {rng.choice((str, int))(rng.randrange(300)) for _ in range(rng.randrange(1, 5))}
        assert ids.any_of(several) == (not seen.isdisjoint(several))
        fresh = several - seen
        ids.update(fresh)
        seen |= fresh
    assert len(ids) == len(seen) and asked


def test_numbers_of_sessions_are_known_again() -> None:
    rng = random.Random(1)
    for _ in range(50):
        numbers, seen = Numbers(), set[tuple[str, int]]()
        for _ in range(40):
            one = rng.choice("ab"), rng.randrange(20)
            assert numbers.came(*one) == (one in seen)
            if one not in seen:
                seen.add(one)
                numbers.add(*one)


def test_a_number_that_two_ids_share_is_looked_up_until_it_is_sure() -> None:
    looked: list[object] = []

    def there(id: int | str) -> bool:
        looked.append(id)
        return False

    ids = Ids(there, recent=1)
    ids.update((7,))
    assert not ids.any_of((8,)) and not looked
    assert not ids.any_of((7,)) and looked == [7]
    sure = Ids(lambda _: True, recent=1)
    sure.update((7,))
    assert all(sure.any_of((7,)) for _ in range(2 * SURE)) and not sure.any_of(("7",))
