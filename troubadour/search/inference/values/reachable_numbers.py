"""Which numbers rows can ever have had, and whether what a transaction saw is among them (paper §8.1, RQ1).

Transactions are run on rows that may hold anything, so that what each one writes says what it sets, adds or copies
(`reaches`). What others saw is not looked at. Does not know orders; numbers that are changed otherwise may be any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from decimal import Decimal

from sql_semantics.errors import Unsupported
from sql_semantics.terms import Guard, Leaf, Term, atom, conj, items_of
from sql_semantics.terms.numbers import is_number, leaf_key, scale_of
from troubadour.execution.states.history import Guarded, RowHistory, Version, WriteMap, alternatives_of
from troubadour.execution.views.open_states import OpenStates
from troubadour.facts.sql.observations import may_write
from troubadour.problem.budget import FEWEST, SOME, THOUSANDS
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.search.inference.values.reaches import Column, Reach, Reaches, scaled
from troubadour.search.inference.values.seen_numbers import SeenNumbers, linear
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder

NONE_YET = -1
"""Stands for the item whose observations are looked at, before one is."""

Address = tuple[str, object, int]


class ReachableNumbers(AbstractEncoder):
    """What rows may have been that some transactions write."""

    def __init__(self, problem: Problem, others: Sequence[int], opened: Collection[int] = ()) -> None:
        """`opened`: those of the others that may write anything to the rows that they write. Raises Unsupported where
        what the others may write is not known."""
        super().__init__(Trace(problem), NONE_YET)
        # a row may come to hold what no version here says; its key stays
        self.trace.states.find_by_keys_only(only=True)
        self._opened = opened
        self._rows: dict[Address, RowHistory] = {}
        self._by_address: dict[str, RowHistory] = {}
        self.reaches: dict[RowHistory, list[Reach]] = {}
        self._deleted: set[RowHistory] = set()
        self._alike: dict[object, list[tuple[RowHistory, Version]]] = {}
        self.writers: dict[RowHistory, set[int]] = defaultdict(set)
        types = {name: table.schema.columns for name, table in self.trace.states.tables.items()}
        for name, table in self.trace.states.tables.items():
            for row in table.rows:
                self._rows[name, row.author, row.ordinal] = self._by_address[row.address] = row
                for version in row.versions:
                    self._write(None, row, version)
        for number in range(FEWEST):
            before = len(self._rows), len(self._deleted)
            if number:
                self._forget_writes()
            for other in others:
                self.problem.budget.left()
                self._add_writes(other)
            if (len(self._rows), len(self._deleted)) == before:
                break
        else:
            raise Unsupported("transactions that write ever more rows")
        self.found = Reaches(self.reaches, types, self._deleted)
        self._summaries = self.found
        for row in self.reaches:
            # so that an index finds it by whatever it may hold
            self.trace.states.place({row: Guarded(tuple(self.found.outline(row, "index")))})
        self.trace.states.find_by_keys_only(only=False)

    def seen_by(self, item: int) -> SeenNumbers:
        """What one of all transactions observed of such rows. Raises Unsupported."""
        self._only_last = item
        encoded = self._run(item, 0, self.trace.states.length, None)
        return SeenNumbers(self, item, conj(*encoded.guards), frozenset(encoded.view.looked_at))

    def _forget_writes(self) -> None:
        """Those that wrote before others had inserted or deleted rows are asked again; what they add counts once."""
        for reaches in self.reaches.values():
            for reach in reaches:
                reach.added.clear()
                reach.copied.clear()

    def _add_writes(self, other: int) -> None:
        """What another one may write; those that send the same, and are answered alike as to whether they wrote, do the
        same to rows that were there before."""
        sent = tuple(
            (s.sql, repr(s.params), s.affected, s.error is None, s.outcome_unknown)
            for s in self.problem.transaction(other).statements
        )
        alike = self._alike.get(sent)
        if alike is None:
            alike = list(self._writes_of(other).items())
            if all(row.positions for row, _ in alike):
                self._alike[sent] = alike
        for row, version in alike:
            known = self._rows.setdefault((row.table, row.author, row.ordinal), row)
            if not known.positions:
                self._by_address[known.address] = known
                present = tuple((guard, values) for guard, values in alternatives_of(version) if values is not None)
                self.trace.states.place({known: Guarded(present)})
                self._alike.clear()
            self.writers[known].add(other)
            self._write(other, known, version)

    def _writes_of(self, other: int) -> WriteMap:
        states, identifier = self.trace.states, self.problem.transaction(other).id
        use_index = self.problem.heuristics.index
        apart = self.problem.levels[other].own_states
        view = OpenStates(states, identifier, other, 0, states.length, row_scope=apart, use_index=use_index)
        view.known_keys = {}
        for statement in self.problem.prepared(other).statements:
            view.enter_statement(statement.index)
            if may_write(statement):
                self.answers.outcome(other, statement, view)
        return view.writes()

    def _write(self, item: int | None, row: RowHistory, version: Version) -> None:
        schema = self.trace.states.tables[row.table].schema
        keys = {column for key in schema.keys for column in key.columns}
        reaches = self.reaches.setdefault(row, [Reach(column.type) for column in schema.columns])
        if item in self._opened:
            self._delete(row)
            for place, reach in enumerate(reaches):
                reach.open = reach.open or place not in keys
        for _, values in alternatives_of(version):
            if values is None:
                self._delete(row)
            for place, value in enumerate(values or ()):
                for guard, leaf in items_of(value):
                    if leaf is None and _needs(guard, ("null", "open", row.address, place)):
                        # NULL comes of NULL
                        continue
                    self._take(item, row, (place, reaches[place]), leaf)
                if place in keys and not reaches[place].is_fixed:
                    raise Unsupported("keys that change")

    def _delete(self, row: RowHistory) -> None:
        """A row may be deleted: the others need not meet it, either."""
        if row not in self._deleted:
            self._deleted.add(row)
            self.trace.states.place({row: Guarded(((atom(("deleted", row.address)), None),))})
            self._alike.clear()

    def _take(self, item: int | None, row: RowHistory, at: tuple[int, Reach], leaf: Leaf) -> None:
        place, reach = at
        if not isinstance(leaf, Term):
            reach.values.setdefault(leaf_key(leaf), leaf)
            if is_number(leaf) and scale_of(leaf) <= reach.scale and item is not None:
                reach.set_by[item].add(scaled(leaf, reach.scale))
            # floats and numbers of more digits are not told apart as integers
            odd = isinstance(leaf, float) or (is_number(leaf) and scale_of(leaf) > reach.scale)
            reach.open = reach.open or odd or len(reach.values) > SOME
            return
        base, added = _shift(leaf)
        origin = None if base is None else self._column_of(base)
        if item is None or origin is None or added is None or scale_of(added) > reach.scale:
            reach.open = True
        elif origin == (row, place):
            reach.added[item].add(scaled(added, reach.scale))
        else:
            reach.copied[origin][item].add(scaled(added, reach.scale))

    def _column_of(self, term: Term) -> Column | None:
        """Where a transaction read an unknown that may be anything."""
        match term.args[0]:
            case ("value", "open", str(address), int(place), *_) if address in self._by_address:
                return self._by_address[address], place
        return None


def others_of(problem: Problem, item: int) -> list[int]:
    """All whose writes an item may have seen in some order."""
    return [
        other
        for other, status in enumerate(problem.statuses)
        if other != item and status != "aborted" and not must_precede(problem, item, other)
    ]


def is_no_sum(problem: Problem, item: int) -> SeenNumbers | None:
    """What shows that an item saw numbers that no versions have, in any order; None where that is not shown. Raises
    OutOfTime."""
    if not _applies(problem):
        return None
    if item not in problem.numbers:
        problem.numbers[item] = _refuted(numbers_of_all(problem), item) or _beside_others(problem, item)
    shown: SeenNumbers | None = problem.numbers[item]
    return shown


def _applies(problem: Problem) -> bool:
    """Whether all that is read was committed, or stood in known initial rows, by not too many."""
    dirty = any(level.dirty for level in problem.levels)
    return not problem.discovery.unknown and len(problem.statuses) <= THOUSANDS and not dirty


def numbers_of_all(problem: Problem) -> ReachableNumbers | None:
    """What rows may have been, whatever wrote them, found once; None where that is not known. Raises OutOfTime."""
    if not _applies(problem):
        return None
    if None not in problem.numbers:
        problem.numbers[None] = None
        everyone = [item for item, status in enumerate(problem.statuses) if status != "aborted"]
        with suppress(Unsupported):
            problem.numbers[None] = ReachableNumbers(problem, everyone)
    found: ReachableNumbers | None = problem.numbers[None]
    return found


def _beside_others(problem: Problem, item: int) -> SeenNumbers | None:
    """What refutes an item beside those that it may have seen, where these write less than all."""
    others = others_of(problem, item)
    fewer = len(others) + 1 < sum(status != "aborted" for status in problem.statuses)
    if not fewer and not any(map(may_write, problem.prepared(item).statements)):
        return None
    numbers = None
    with suppress(Unsupported):
        numbers = ReachableNumbers(problem, others)
    return _refuted(numbers, item)


def _refuted(numbers: ReachableNumbers | None, item: int) -> SeenNumbers | None:
    if numbers is not None:
        with suppress(Unsupported):
            seen = numbers.seen_by(item)
            return seen if seen.is_impossible() else None
    return None


def _needs(guard: Guard, key: tuple[Hashable, ...]) -> bool:
    """Whether a guard holds only where an atom does whose key begins so."""
    if guard.kind == "atom":
        named = guard.args[0]
        return isinstance(named, tuple) and named[: len(key)] == key
    return guard.kind == "and" and any(_needs(part, key) for part in guard.args)


def _shift(term: Term) -> tuple[Term | None, Decimal | None]:
    """The one unknown that a term adds a number to, and that number."""
    cases = linear(term, 0)
    if cases is None or len(cases) != 1 or len(cases[0][0]) != 1 or cases[0][0][0][1] != 1:
        return None, None
    return cases[0][0][0][0], -cases[0][1]
