"""Seeded random runs of a protocol. Does not know what a level asks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from troubadour.protocols.runs.machine import Bound, Machine, Programs, State, Taken
from troubadour.protocols.runs.trace import Trace
from troubadour.protocols.terms import ModelError

MOST_STEPS = 400
"""Steps after which a run is ended."""
DRAWS = 20
"""How often a run is drawn anew in which nothing commits."""
SELDOM = 0.05
"""How likely, beside the others, a step is by an event that is seldom taken in a run: every third one is, by lot."""


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


def read_programs(text: str, bound: Bound) -> Programs:
    """Programs as text, one for each transaction: ``w1 w2 @1; r1 r2 @2`` are a writer of two keys for client 1 and a
    reader for client 2. Raises ModelError where that is none or more than the bound has."""
    reads, writes, clients = [(False,) * bound.keys], [(True,) * bound.keys], [0]
    for part in text.split(";"):
        read, write, client = [False] * bound.keys, [False] * bound.keys, 0
        for word in part.split():
            number = int(word[1:]) if word[1:].isdigit() else 0
            if word[0] not in "rw@" or not 1 <= number <= (bound.clients if word[0] == "@" else bound.keys):
                raise ModelError(
                    f"programs: {word!r} is none of r1, w1, @1 to {bound.keys} keys, {bound.clients} clients"
                )
            if word[0] == "@":
                client = number - 1
            else:
                (read if word[0] == "r" else write)[number - 1] = True
        reads.append(tuple(read))
        writes.append(tuple(write))
        clients.append(client)
    count = len(clients) - 1
    if count > bound.transactions:
        raise ModelError(f"programs: {count} transactions, and the bound has {bound.transactions}")
    left = bound.transactions - count
    nothing = [(False,) * bound.keys] * left
    return Programs(tuple(reads + nothing), tuple(writes + nothing), tuple(clients + [0] * left), count)


def bound_of(text: str, bound: Bound) -> Bound:
    """The bound with as many transactions as the programs are, and as many keys and clients as they name."""
    words = text.replace(";", " ").split()

    def most(kinds: str, least: int) -> int:
        return max([least, *(int(word[1:]) for word in words if word[0] in kinds and word[1:].isdigit())])

    return replace(
        bound, transactions=len(text.split(";")), keys=most("rw", bound.keys), clients=most("@", bound.clients)
    )


def run_that_commits(machine: Machine, seed: int) -> Trace | None:
    """A run drawn anew, a few times, where nothing commits in it: its log would tell nothing."""
    source = random.Random(seed)
    for _ in range(DRAWS):
        trace = _drawn(machine, source, None, int)
        if trace is None or any(taken.commit is not None for taken in trace.steps):
            break
    return trace


def run(
    machine: Machine, seed: int, programs: Programs | None = None, tick: Callable[[], object] = int
) -> Trace | None:
    """One run until nothing is possible any more; None where no initial state was found.

    Programs that are given begin in their order at each client; random ones in any. `tick` is called at every step and
    ends it by raising.
    """
    return _drawn(machine, random.Random(seed), programs, tick)


def _drawn(
    machine: Machine, source: random.Random, programs: Programs | None, tick: Callable[[], object]
) -> Trace | None:
    ordered = programs is not None
    if programs is None:
        programs = random_programs(source, machine)
    initial = machine.initial(programs)
    if initial is None:
        return None
    state, steps = initial, []
    # a client that goes on alone for a while makes the others late
    again = source.choice((0.0, 0.5, 0.9))
    # an event that is seldom taken, as an abort, lets the others go further
    weights = {one.name: SELDOM if source.random() < 1 / 3 else 1.0 for one in machine.model.events}
    client: int | None = None
    for _ in range(MOST_STEPS):
        tick()
        possible = list(machine.steps(state, programs))
        if ordered:
            possible = [taken for taken in possible if _is_next(machine, programs, state, taken)]
        if not possible:
            break
        same = [taken for taken in possible if _client(machine, programs, taken) == client]
        pool = same if same and source.random() < again else possible
        (taken,) = source.choices(pool, [weights[one.event.name] for one in pool])
        client = _client(machine, programs, taken)
        steps.append(taken)
        state = taken.state
    return Trace(programs, initial, tuple(steps))


def _client(machine: Machine, programs: Programs, taken: Taken) -> int | None:
    """The client of a step's transaction; where the protocol asks for no clients, the transaction stands for it."""
    t = taken.transaction
    return t if t is None or not machine.model.uses_clients else programs.client[t]


def _is_next(machine: Machine, programs: Programs, state: State, taken: Taken) -> bool:
    """Whether no earlier transaction of the client is left to begin."""
    t = taken.transaction
    if t is None or machine.value(state, "issued", t):
        return True
    client = programs.client
    return all(machine.value(state, "issued", u) for u in range(1, t) if client[u] == client[t])
