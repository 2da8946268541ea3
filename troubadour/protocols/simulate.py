"""Seeded random runs of a protocol. Does not know what a level asks."""

from __future__ import annotations

import random

from troubadour.protocols.machine import Machine, Programs
from troubadour.protocols.trace import Trace

MOST_STEPS = 400
"""Steps after which a run is ended."""


def random_programs(random: random.Random, machine: Machine) -> Programs:
    """Programs of all of the bound's transactions: each reads or writes something."""
    bound = machine.bound
    reads, writes = [(False,) * bound.keys], [(True,) * bound.keys]
    for _ in range(bound.transactions):
        while True:
            kind = random.choice("rwb")
            read = tuple(kind != "w" and random.random() < 0.6 for _ in range(bound.keys))
            write = tuple(kind != "r" and random.random() < 0.6 for _ in range(bound.keys))
            if any(read) or any(write):
                break
        reads.append(read)
        writes.append(write)
    client = (0, *(random.randrange(bound.clients) for _ in range(bound.transactions)))
    return Programs(tuple(reads), tuple(writes), client, bound.transactions)


def run(machine: Machine, seed: int) -> Trace | None:
    """One run until nothing is possible any more; None where no initial state was found."""
    source = random.Random(seed)
    programs = random_programs(source, machine)
    initial = machine.initial(programs)
    if initial is None:
        return None
    state, steps = initial, []
    for _ in range(MOST_STEPS):
        possible = list(machine.steps(state, programs))
        if not possible:
            break
        taken = source.choice(possible)
        steps.append(taken)
        state = taken.state
    return Trace(programs, initial, tuple(steps))
