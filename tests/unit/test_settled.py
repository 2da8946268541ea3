"""Ids that are kept on disk: whether one came twice, in which order they came, and going on with the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from troubadour.formats.streaming.settled import Settled
from troubadour.model.log import TransactionId


def settled(ids: list[TransactionId], size: int = 1000) -> Settled:
    """Ids that came many at a time, each third of a transaction that is not judged."""
    found = Settled()
    for start in range(0, len(ids), size):
        some = ids[start : start + size]
        found.add([id for place, id in enumerate(some) if place % 3], some[::3])
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 5_000, 300_000])
def test_ids_that_are_all_different(count: int) -> None:
    ids: list[TransactionId] = [f"t{number}" if number % 2 else number * 64 for number in range(count)]
    random.Random(1).shuffle(ids)
    assert not settled(ids).may_repeat()


@pytest.mark.parametrize("count", [2, 5_000, 300_000])
@pytest.mark.parametrize("kind", [int, str])
def test_an_id_that_comes_twice(count: int, kind: type[int | str]) -> None:
    ids: list[TransactionId] = [kind(number) for number in range(count - 1)]
    place = random.Random(count).randrange(count - 1)
    for again in (0, place):
        assert settled([*ids, ids[again]]).may_repeat()


def test_one_and_its_text_are_two() -> None:
    assert not settled([1, "1", 2, "2"]).may_repeat()


def test_integers_that_ascend_are_different() -> None:
    found = Settled()
    found.add([-5, 3], [])
    found.add([4, 1 << 70], [])
    assert not found.may_repeat()
    found.add([4], [])
    assert found.may_repeat()


def test_the_judged_come_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    ids: list[TransactionId] = [f"é{number}" if number % 7 else number for number in range(1000)]
    first = Settled(path)
    first.add(ids[:400], ["other"])
    first.add([], ["another"])
    size = first.size
    first.add(["forgotten"], [])
    first.flush()
    found = Settled(path, size)
    found.add(ids[400:], [])
    judged = found.judged()
    assert len(judged) == len(ids)
    assert list(judged) == ids
    assert judged[::-1] == ids[::-1]
    assert judged[-1] == ids[-1]
    assert not found.may_repeat()
    with pytest.raises(ValueError, match="shorter than it was"):
        Settled(path, 1 << 20)
