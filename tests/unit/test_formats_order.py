"""The hint order: small logs written as one line per transaction, and the rule checked on random ones."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from troubadour.formats import LogWriter, read_log
from troubadour.formats.order import Times, hint_order
from troubadour.model.objects import MISSING


def order(tmp_path: Path, *transactions: str) -> str:
    """``"a@5 3-9"``: id a, commit 5, invoked 3, returned 9; a leading ``?`` unknown, ``!`` aborted; ``k:3-9`` clock k;
    ``3-`` never answered; ``e7`` the end was invoked at 7."""
    path = tmp_path / "log.jsonl"
    with LogWriter(path, {"dialect": "postgres", "schema": []}) as writer:
        for words in transactions:
            name, *times = words.split()
            status = {"?": "unknown", "!": "aborted"}.get(name[0], "committed")
            name, _, commit = name.lstrip("?!").partition("@")
            entry: dict[str, object] = {"id": name, "status": status, "statements": []}
            if commit:
                entry["commit"] = int(commit)
            for word in times:
                if word.startswith("e"):
                    entry["end"] = {"invoked": int(word[1:])}
                    continue
                clock, colon, span = word.rpartition(":")
                if colon:
                    entry["clock"] = clock
                invoked, _, returned = span.partition("-")
                if invoked:
                    entry["invoked"] = int(invoked)
                if returned:
                    entry["returned"] = int(returned)
            writer.transaction(entry)
    return "".join(str(transaction.id) for transaction in read_log([path]).transactions)


@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        (["a", "b", "c"], "abc"),  # by place
        (["a 1-9", "b 2-3", "c 1-5"], "bca"),  # by returned
        (["a -9", "b -3", "c -9"], "bac"),
        (["a@3 1-2", "b@1 8-9", "c@2"], "bca"),  # by commit, whatever the clients say
        (["a@3", "b@-5", "c@3"], "bac"),
        (["a@3 1-9", "b@3 1-5", "c@3 1-7"], "bca"),  # ties by returned
        (["a@3 x:1-9", "b@3 y:1-5", "c@3 x:1-7"], "cba"),  # ... of one clock: x's two places are x's
        (["a@3 1-9", "b@3", "c@3 1-7"], "cba"),
        # a reader without commit
        (["a@1 0-10", "b@2 20-30", "r 12-15"], "arb"),
        (["r 12-15", "a@1 0-10", "b@2 20-30"], "arb"),
        (["a@1 0-10", "b@2 20-30", "r 32-35"], "abr"),
        (["a@1 0-10", "b@2 20-30", "r 0-35"], "rab"),
        (["a@1 0-10", "b@2 20-30", "r 10-15"], "rab"),  # equal times are concurrent
        (["b@1 20-30", "a@2 0-10", "r 12-15"], "bar"),  # the spine contradicts the client: after what had returned
        (["a@1 0-10", "s 12-19", "r 12-15", "b@2 20-30"], "arsb"),
        (["a@1 0-10", "r x:12-15", "b@2 20-30"], "arb"),  # another clock: where it stands in the file
        (["r x:12-15", "a@1 0-10", "b@2 20-30"], "rab"),
        (["b@2", "r", "a@1"], "abr"),
        # unknown and aborted ones
        (["a 0-10", "b 20-30", "?u 5-"], "uab"),
        (["a 0-10", "b 20-30", "?u 5- e15"], "aub"),
        (["a 0-10", "b 20-30", "?u 5- e40"], "abu"),
        (["a@1 0-10", "b@2 20-30", "!u 11-12"], "aub"),
        (["a@1 0-10", "b@2 20-30", "?u 11- e31"], "abu"),
        (["a x:0-90", "b y:5-6", "c x:0-10", "d y:1-2"], "cdab"),  # clocks are not compared
    ],
)
def test_order(tmp_path: Path, transactions: list[str], expected: str) -> None:
    assert order(tmp_path, *transactions) == expected


@pytest.mark.parametrize("seed", range(150))
def test_the_rule_on_random_times(seed: int) -> None:
    """After all that had returned before; before all that came later, where the spine does not forbid it."""
    choose = random.Random(seed)
    n = choose.randrange(1, 25)
    times = Times(*(array("q") for _ in range(6)))
    sequential = choose.random() < 0.5
    for _ in range(n):
        sent = choose.randrange(30)
        returned = sent + choose.randrange(8)
        # With commits inside their intervals the spine never contradicts the clients.
        commit = choose.randint(sent * 100, returned * 100) if sequential else choose.randrange(10)
        times.commit.append(commit if choose.random() < 0.6 else MISSING)
        times.returned.append(returned)
        times.sent.append(sent)
        times.clock.append(choose.randrange(2))
    alive = sorted(choose.sample(range(n), choose.randint(1, n)))
    order = hint_order(times, alive)
    if len(alive) == n:
        assert order == at_once(times)
    assert sorted(order) == alive
    at = {index: position for position, index in enumerate(order)}
    spine = [i for i in alive if times.commit[i] != MISSING]
    assert sorted(spine, key=lambda i: (times.commit[i], at[i])) == sorted(spine, key=at.__getitem__)
    if not spine:
        return
    for index in set(alive) - set(spine):
        mates = [i for i in spine if times.clock[i] == times.clock[index]]
        for mate in mates:
            if times.returned[mate] < times.sent[index]:
                assert at[mate] < at[index]
            elif sequential and times.sent[mate] > times.returned[index]:
                assert at[index] < at[mate]
        for other in set(alive) - set(spine):
            if mates and times.clock[other] == times.clock[index] and times.returned[other] < times.sent[index]:
                assert at[other] < at[index]


def at_once(times: Times) -> array[int]:
    """The order of all transactions, as that of a long log is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("troubadour.formats.order.LONG", 0)
        return hint_order(times, range(len(times.commit)))


@pytest.mark.parametrize("seed", range(300))
def test_long_logs_are_ordered_as_short_ones(seed: int) -> None:
    choose = random.Random(seed)
    n = choose.randrange(1, 30)

    def times_of(known: float, most: int) -> array[int]:
        return array("q", [choose.randrange(most) if choose.random() < known else MISSING for _ in range(n)])

    times = Times(
        times_of(choose.choice([0, 0.5, 0.9]), choose.choice([4, 30])),
        times_of(choose.choice([0, 0.8, 1]), 20),
        times_of(choose.choice([0, 0.8, 1]), 20),
        array("q", [choose.randrange(2) for _ in range(n)]),
        array("q", [choose.randrange(-1, 3) for _ in range(n)]),
        times_of(choose.choice([0, 0.5, 1]), 10),
    )
    assert hint_order(times, range(n)) == at_once(times)
