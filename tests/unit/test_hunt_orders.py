"""Every order of the statements of a few sessions: none is missing, none is there twice.

Does not run any.
"""

from __future__ import annotations

import time
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from troubadour.hunt.campaign import Hunt, Plan, Tally
from troubadour.hunt.case import BEGIN, END, STATEMENT, Case, Step
from troubadour.hunt.engines.embedded import Embedded
from troubadour.hunt.generate.cases import EVERY, make
from troubadour.hunt.generate.pieces import piece
from troubadour.hunt.generate.schemas import ColumnSpec, TableSpec
from troubadour.hunt.orders import every_order

TABLES = tuple(TableSpec(name, [ColumnSpec("k", "int", "int")]) for name in ("ta", "tb"))


def of(*scripts: tuple[str, ...]) -> Case:
    """Transactions, one a session; the statements between BEGIN and COMMIT."""
    roles = {"BEGIN": BEGIN, "COMMIT": END}
    steps = [
        Step(session, session, roles.get(text, STATEMENT), piece(text))
        for session, script in enumerate(scripts)
        for text in script
    ]
    return Case("serializable", TABLES, (), tuple(steps))


def sent(case: Case) -> tuple[int, ...]:
    return tuple(step.session for step in case.steps)


def all_orders(case: Case) -> set[tuple[int, ...]]:
    return set(permutations(sent(case)))


READ_A, READ_B = "SELECT k FROM ta", "SELECT k FROM tb"
WRITE_A, WRITE_B = "UPDATE ta SET k = 1", "UPDATE tb SET k = 1"


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ((WRITE_A,), (WRITE_A,), 2),
        ((READ_A,), (READ_A,), 1),
        ((READ_A,), (READ_B, WRITE_A), 2),
        ((READ_A,), (READ_B, WRITE_B), 1),
    ],
)
def test_what_meets_is_in_both_orders(first: tuple[str, ...], second: tuple[str, ...], number: int) -> None:
    """Without their ends."""
    assert len(list(every_order(of(first, second)))) == number


@pytest.mark.parametrize(
    "scripts",
    [
        (("BEGIN", READ_A, WRITE_A, "COMMIT"), ("BEGIN", READ_A, WRITE_A, "COMMIT")),
        (("BEGIN", READ_A, WRITE_B, "COMMIT"), ("BEGIN", READ_B, WRITE_A, "COMMIT")),
        (("BEGIN", READ_A, READ_B), ("BEGIN", WRITE_A, READ_B), ("BEGIN", READ_A)),
        (("BEGIN", WRITE_A, WRITE_B), ("BEGIN", WRITE_B, WRITE_A)),
    ],
)
def test_of_orders_that_are_alike_one_is_there(scripts: tuple[tuple[str, ...], ...]) -> None:
    """Classes by hand: orders that a swap of neighbours which are alike leads from one to another."""
    case = of(*scripts)
    found = [sent(order) for order in every_order(case)]
    assert len(found) == len(set(found))
    left, classes = all_orders(case), []
    assert set(found) <= left

    def alike(order: tuple[int, ...], place: int) -> bool:
        """Whether the two steps at a place, of different sessions, run alone in one of both orders only."""
        if order[place] == order[place + 1]:
            return False
        one, other = (order[: place + n].count(order[place + n]) for n in (0, 1))
        other -= order[place] == order[place + 1]
        steps = (scripts[order[place]][one], scripts[order[place + 1]][other])
        if "BEGIN" in steps:
            return True
        if steps == ("COMMIT", "COMMIT"):
            return False
        return not _meet(scripts, (order[place], one), (order[place + 1], other))

    while left:
        group, grown = set(), [next(iter(left))]
        while grown:
            order = grown.pop()
            if order in group:
                continue
            group.add(order)
            for place in range(len(order) - 1):
                if alike(order, place):
                    grown.append((*order[:place], order[place + 1], order[place], *order[place + 2 :]))
        classes.append(group)
        left -= group
    assert sorted(len(group & set(found)) for group in classes) == [1] * len(classes)


def _meet(scripts: tuple[tuple[str, ...], ...], *steps: tuple[int, int]) -> bool:
    """Whether one of two steps writes what the other one reads or writes; a first statement reads all, COMMIT stands
    for its transaction."""

    def touched(session: int, place: int) -> tuple[set[str], set[str]]:
        texts = [scripts[session][place]]
        if texts == ["COMMIT"]:
            texts = list(scripts[session][1:place])
            reads = {"ta", "tb"}
        else:
            reads = {"ta", "tb"} if place == 1 else {name for name in ("ta", "tb") if name in texts[0]}
        writes = {name for text in texts for name in ("ta", "tb") if text.startswith("UPDATE") and name in text}
        return reads, writes

    (reads, writes), (other_reads, other_writes) = (touched(*step) for step in steps)
    return bool(writes & (other_reads | other_writes) or other_writes & reads)


def test_a_hunt_of_two_sessions_goes_through_all(tmp_path: Path) -> None:
    assert make(1, "sqlite", "serializable", 2).flavour == EVERY

    class Enough(Exception):
        """All orders of one case were run."""

    def progress(tally: Tally) -> None:
        if tally.all_orders:
            raise Enough

    plan = Plan(("serializable",), 1, 2, tmp_path / "out")
    with closing(Embedded("sqlite", "sqlite")) as engine, closing(Hunt(engine, plan, lambda *found: None)) as hunt:
        with pytest.raises(Enough):
            hunt.until(time.monotonic() + 120, progress)
        assert hunt.tally.all_orders == 1 < hunt.tally.orders == hunt.tally.runs
        assert hunt.tally.verdicts["correct"] == hunt.tally.runs
