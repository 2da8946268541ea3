"""Ids in few bytes: what was put in is there, integers apart from texts, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from troubadour.model.ids import Chosen, Hashes, Ids, Places
from troubadour.model.log import TransactionId


def drawn(random: Random) -> list[TransactionId]:
    numbers = [random.randint(-(2**70), 2**70) for _ in range(500)] + [n << random.randint(0, 60) for n in range(2000)]
    texts = [str(number) for number in numbers[:500]] + ["", "s", "sé", "1 ", "\N{SNOWMAN}" * 40]
    found = [*dict.fromkeys(numbers), *dict.fromkeys(texts)]
    random.shuffle(found)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_places_are_those_of_a_dictionary(seed: int) -> None:
    ids = drawn(Random(seed))
    places = Places()
    assert all(places.add(id) for id in ids)
    assert not any(places.add(id) for id in ids)
    assert [places[id] for id in ids] == list(range(len(ids)))
    assert list(places) == ids
    assert len(places) == len(ids)
    strange: list[TransactionId] = [
        2**80,
        "none",
        *(str(id) for id in ids if isinstance(id, int) and str(id) not in ids),
    ]
    assert not any(id in places for id in strange)
    assert {places.get(id) for id in strange} == {None}
    with pytest.raises(KeyError):
        places["none"]


def test_a_copy_goes_its_own_way() -> None:
    ids = Ids()
    ids.append("a")
    twin = ids.copy()
    twin.append(7)
    assert (list(ids), list(twin), twin[-1], twin[:1]) == (["a"], ["a", 7], 7, ["a"])


def test_those_chosen_come_in_their_own_order() -> None:
    chosen = Chosen(["a", 1, "1"].__getitem__, [2, 1])
    assert chosen == ("1", 1)
    assert chosen != ("1", "1")
    assert chosen[1:] == (1,)


@pytest.mark.parametrize("stride", [1, 2**10, 2**20, 2**33, 2**45])
def test_hashes_are_a_set_whatever_their_distance(stride: int) -> None:
    hashes = Hashes()
    numbers = [hash(n * stride) for n in range(3000)]
    told = set()
    for number in numbers + numbers:
        assert hashes.add(number) == (number not in told)
        told.add(number)
