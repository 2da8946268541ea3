"""A run of a protocol: its steps from an initial state, and the history that its clients saw. Does not know how the
run was found.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.records import dataclass
from troubadour.protocols.runs.history import History, HistoryTransaction
from troubadour.protocols.runs.machine import Machine, Programs, State, Taken


@dataclass(frozen=True, slots=True)
class Seen:
    """The clients' side of a run so far: for each transaction issued those that had returned, the commits in their
    order, what has returned."""

    after: tuple[tuple[int, frozenset[int]], ...] = ()
    commits: tuple[tuple[int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]], ...] = ()
    returned: frozenset[int] = frozenset()

    def then(self, taken: Taken) -> Seen:
        """After one more step."""
        t = taken.transaction
        if t is None:
            return self
        after, commits, returned = self.after, self.commits, self.returned
        if taken.event.issues and all(one != t for one, _ in after):
            after = (*after, (t, returned))
        # a client has one answer; that a transaction commits once is an obligation of its own
        if taken.commit is not None and all(one != t for one, _, _ in commits):
            reads, writes = taken.commit.reads, taken.commit.writes
            commits = (*commits, (t, tuple(sorted(reads.items())), tuple(sorted(writes.items()))))
        if taken.event.returns:
            returned = returned | {t}
        return Seen(after, commits, returned)

    def key(self, *, times: bool) -> object:
        """What tells two runs to one state apart: what was committed, and where times count who preceded whom."""
        return frozenset(self.commits), frozenset(self.after) if times else None


@dataclass(frozen=True, slots=True)
class Trace:
    """A run: programs, the initial state and the steps taken."""

    programs: Programs
    initial: State
    steps: tuple[Taken, ...]

    @property
    def seen(self) -> Seen:
        """The clients' side."""
        found = Seen()
        for taken in self.steps:
            found = found.then(taken)
        return found


def history_of(machine: Machine, programs: Programs, initial: State, seen: Seen) -> History:
    """What the clients saw."""
    after = dict(seen.after)
    clients = clients_of(programs, seen)
    transactions = tuple(
        HistoryTransaction(t, dict(reads), dict(writes), after.get(t, frozenset()), clients[t])
        for t, reads, writes in seen.commits
    )
    return History(transactions, initial_values(machine, programs, initial))


def clients_of(programs: Programs, seen: Seen) -> dict[int, int]:
    """By committed transaction its client. A client has one transaction at a time: where a protocol lets it begin
    another one meanwhile, that is one of a further client."""
    after = dict(seen.after)
    committed = {t for t, _, _ in seen.commits}
    sessions: dict[int, list[list[int]]] = {}
    for t in [*(one for one, _ in seen.after if one in committed), *sorted(committed - after.keys())]:
        own = sessions.setdefault(programs.client[t], [])
        session = next((one for one in own if one[-1] in after.get(t, ())), None)
        if session is None:
            own.append([t])
        else:
            session.append(t)
    count = 1 + max(programs.client)
    numbered: dict[int, int] = {}
    for client, own in sessions.items():
        for place, session in enumerate(own):
            numbered.update(dict.fromkeys(session, client + place * count))
    return numbered


def initial_values(machine: Machine, programs: Programs, initial: State) -> dict[int, int]:
    """Every key's initial value: what ``versions`` says, else what the first writer wrote."""
    found = {}
    for key in range(machine.bound.keys):
        newest = machine.newest(initial, programs, key)
        found[key] = machine.written(0, key) if newest is None else newest
    return found


def replayed(machine: Machine, programs: Programs, steps: Sequence[tuple[str, tuple[int, ...]]]) -> Trace | None:
    """The run that takes these steps; None where one of them is not possible."""
    state = initial = machine.initial(programs)
    if state is None or initial is None:
        return None
    taken = []
    for name, arguments in steps:
        step = machine.step(name, arguments, state, programs)
        if step is None:
            return None
        taken.append(step)
        state = step.state
    return Trace(programs, initial, tuple(taken))
