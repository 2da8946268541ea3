"""A run that breaks a level made shorter: transactions, then steps, that it does not need are left out. Does not know
how the run was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from troubadour.protocols.runs.bounded import Judge
from troubadour.protocols.runs.machine import Machine, Programs
from troubadour.protocols.runs.trace import Trace, replayed


def shortened(machine: Machine, judge: Judge, trace: Trace, tick: Callable[[], object]) -> Trace:
    """A run of some of the steps whose history is still refused; `tick` ends it by raising."""
    found = _cut(judge, trace)
    for t in range(1, machine.bound.transactions + 1):
        shorter = _without(machine, judge, found, [taken.transaction == t for taken in found.steps])
        found = shorter or found
        tick()
    place = len(found.steps) - 1
    while place >= 0:
        shorter = _without(machine, judge, found, [n == place for n in range(len(found.steps))])
        found = shorter or found
        place = min(place, len(found.steps)) - 1
        tick()
    return found


def _cut(judge: Judge, trace: Trace) -> Trace:
    """Up to the first commit that is refused."""
    for length, taken in enumerate(trace.steps, 1):
        if taken.commit is not None:
            shorter = Trace(trace.programs, trace.initial, trace.steps[:length])
            if judge.refuses(shorter.programs, shorter.initial, shorter.seen):
                return shorter
    return trace


def _without(machine: Machine, judge: Judge, trace: Trace, left_out: list[bool]) -> Trace | None:
    if not any(left_out):
        return None
    steps = [(taken.event.name, taken.arguments) for taken, out in zip(trace.steps, left_out, strict=True) if not out]
    shorter = replayed(machine, trace.programs, steps)
    if shorter is None or not judge.refuses(shorter.programs, shorter.initial, shorter.seen):
        return None
    return shorter


def needed_programs(machine: Machine, trace: Trace) -> Programs:
    """The programs of the transactions that take a step, in new numbers; the others do nothing."""
    needed = list(dict.fromkeys(taken.transaction for taken in trace.steps if taken.transaction is not None))
    programs, left = trace.programs, machine.bound.transactions - len(needed)
    nothing = (False,) * machine.bound.keys
    return Programs(
        (nothing, *(programs.reads[t] for t in needed), *((nothing,) * left)),
        (programs.writes[0], *(programs.writes[t] for t in needed), *((nothing,) * left)),
        (0, *(programs.client[t] for t in needed), *((0,) * left)),
        len(needed),
    )


def smaller_programs(programs: Programs) -> Iterator[Programs]:
    """The programs without one of their reads and writes, for each of these."""
    for t in range(1, programs.active + 1):
        for key in range(len(programs.reads[t])):
            if programs.reads[t][key]:
                yield replace(programs, reads=_cleared(programs.reads, t, key))
            if programs.writes[t][key]:
                yield replace(programs, writes=_cleared(programs.writes, t, key))


def _cleared(table: tuple[tuple[bool, ...], ...], t: int, key: int) -> tuple[tuple[bool, ...], ...]:
    row = (*table[t][:key], False, *table[t][key + 1 :])
    return (*table[:t], row, *table[t + 1 :])
