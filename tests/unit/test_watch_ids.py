"""Ids of a stream: known again, however old."""

from __future__ import annotations

import random

from troubadour.watch.ids import Ids


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
    # numbers shared by two ids: -1 and -2 hash alike
    other = Ids(lambda id: id == -1, recent=1)
    other.update((-1,))
    assert other.any_of((-1,)) and not other.any_of((-2,))
