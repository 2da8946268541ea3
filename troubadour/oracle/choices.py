"""Every assignment of states to the row reads of one transaction, one after the other.

Which rows are read depends on what was read before, so the choices are found while the transaction runs: an odometer
whose wheels appear as they are needed. Does not know what makes an assignment good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sql_semantics.errors import Unsupported
from troubadour.model.witness import FreeChoice, RowRead, StatementRead
from troubadour.replay.commit_tests.times import Timeline
from troubadour.replay.store import Store


class Choices:
    """One assignment at a time: hand it to a run as its exceptions, then `advance` to the next.

    Every version of a row that the store has is a choice, and its absence from state 0 where it was inserted later.
    Of versions that are equal, also in the time before which their commit was not sent, the newest stands for all.
    """

    def __init__(self, store: Store, timeline: Timeline) -> None:
        sent: list[object] = [None, *((times.clock, times.sent) for times in timeline.times)]
        self._options: dict[str, tuple[int, ...]] = {}
        for table in store.tables.values():
            for name, versions in table.rows.items():
                distinct: dict[object, int] = {(None, None): 0} if versions.states[0] else {}
                for state, values in zip(versions.states, versions.values, strict=True):
                    distinct[values, sent[state]] = state
                self._options[name] = tuple(sorted(distinct.values()))
        self._wheels: list[int] = []
        self._sizes: list[int] = []
        self._read: dict[tuple[int, int, str], int] = {}

    def get(self, execution: tuple[int, int], /) -> _Execution:
        """The states of the rows that this execution reads, chosen as they are asked for."""
        return _Execution(self, execution)

    def choose(self, statement: int, execution: int, row: str) -> int:
        """The state that this row read comes from: the same for one address throughout a run."""
        address = (statement, execution, row)
        chosen = self._read.get(address)
        if chosen is None:
            options = self._options[row]
            place = len(self._read)
            if place == len(self._wheels):
                self._wheels.append(0)
                self._sizes.append(len(options))
            # Newest first: it is right most often.
            chosen = self._read[address] = options[len(options) - 1 - self._wheels[place]]
        return chosen

    def assignment(self) -> tuple[RowRead, ...]:
        """The row reads of the last run."""
        return tuple(RowRead(*address, state) for address, state in self._read.items())

    def advance(self) -> bool:
        """Set up the next assignment; False where there is none. What the last run did not come to read is no
        choice of it."""
        used = len(self._read)
        self._read = {}
        del self._wheels[used:], self._sizes[used:]
        while self._wheels:
            self._wheels[-1] += 1
            if self._wheels[-1] < self._sizes[-1]:
                return True
            self._wheels.pop()
            self._sizes.pop()
        return False


class ExecutionReads:
    """One assignment at a time of what single executions read, as `Choices` for rows: the state whose rows its
    constraints meet, and with `own_states` the state that it reads. Of an execution that reads row by row the rows are
    the choice: it begins as early as it can, for a statement at one of the `oldest` states."""

    def __init__(self, newest: int, *, own_states: bool, oldest: Sequence[int] = ()) -> None:
        self._newest = newest
        self._oldest = oldest
        self._turns = self._used = 0
        self._own_states = own_states
        self._wheels: list[int] = []
        self._sizes: list[int] = []
        self._states: dict[tuple[int, int], int] = {}
        self._met: dict[tuple[int, int], int] = {}
        self._beside: dict[tuple[int, int], int] = {}

    def state(self, execution: tuple[int, int], default: int, /) -> int:
        """See `replay.view.StatementReads`."""
        if not self._own_states:
            return self._states.setdefault(execution, default)
        known = self._states.get(execution)
        if known is None:
            known = self._states[execution] = self._newest - self._turn(self._newest + 1)
        return known

    def since(self, execution: tuple[int, int], default: int, kept: int, /) -> int:
        """See `replay.view.StatementReads`."""
        del default
        earliest = max(kept, self._oldest[execution[0]], *self._states.values(), 0)
        return self._states.setdefault(execution, earliest)

    def beside(self, execution: tuple[int, int], state: int, /) -> int:
        """See `replay.view.StatementReads`."""
        if execution not in self._beside:
            self._beside[execution] = self._states[execution] = state + self._turn(self._newest - state + 1)
        return self._beside[execution]

    def newest(self, execution: tuple[int, int], state: int, default: int | None, /) -> int | None:
        """See `replay.view.StatementReads`."""
        del default
        known = self._met.get(execution)
        if known is None:
            known = self._met[execution] = state + self._turn(self._newest - state + 1)
        return known

    def _turn(self, size: int) -> int:
        """Where the next wheel stands."""
        place = self._turns
        self._turns += 1
        if place == len(self._wheels):
            self._wheels.append(0)
            self._sizes.append(size)
        self._sizes[place] = max(self._sizes[place], size)
        return self._wheels[place]

    def assignment(self) -> tuple[StatementRead, ...]:
        """What the last run's executions read, where there was a choice."""
        chosen = self._states if self._own_states else self._met
        return tuple(StatementRead(*address, self._states[address], self._met.get(address)) for address in chosen)

    def again(self) -> None:
        """The same assignment, for another run, which may come to more choices."""
        self._states, self._met, self._beside = {}, {}, {}
        self._used, self._turns = max(self._used, self._turns), 0

    def advance(self) -> bool:
        """Set up the next assignment; False where there is none."""
        self.again()
        used, self._used = self._used, 0
        del self._wheels[used:], self._sizes[used:]
        while self._wheels:
            self._wheels[-1] += 1
            if self._wheels[-1] < self._sizes[-1]:
                return True
            self._wheels.pop()
            self._sizes.pop()
        return False


class Ways(Mapping[tuple[int, int, int], int]):
    """One assignment at a time of the ways that the DBMS goes where it has several, by address: hand it to a run as its
    free choices, then `advance` to the next. How many ways there are shows when one of them is refused.

    Raises Unsupported where a value is asked for.
    """

    def __init__(self) -> None:
        self._wheels: dict[tuple[int, int, int], int] = {}
        self._asked: dict[tuple[int, int, int], int] = {}

    def get(self, address: tuple[int, int, int], default: object = None, /) -> int:
        """The way at an address."""
        del default
        return self._asked.setdefault(address, self._wheels.get(address, 0))

    def __contains__(self, address: object) -> bool:
        raise Unsupported("a value that the DBMS chooses")

    def __getitem__(self, address: tuple[int, int, int]) -> int:
        return self.get(address)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def assignment(self) -> tuple[FreeChoice, ...]:
        """The ways of the last run."""
        return tuple(FreeChoice(*address, number) for address, number in self._asked.items())

    def advance(self, *, exhausted: bool) -> bool:
        """Set up the next assignment; False where there is none. `exhausted`: the last way asked for does not exist."""
        asked = list(self._asked.items())
        self._asked = {}
        if exhausted and asked:
            asked.pop()
        if not asked:
            return False
        self._wheels = dict(asked)
        self._wheels[asked[-1][0]] += 1
        return True


class _Execution:
    """The row states of one statement execution."""

    __slots__ = ("_address", "_choices")

    def __init__(self, choices: Choices, address: tuple[int, int]) -> None:
        self._choices = choices
        self._address = address

    def get(self, row: str, default: int, /) -> int:
        """The chosen state; the default is never needed."""
        del default
        return self._choices.choose(*self._address, row)
