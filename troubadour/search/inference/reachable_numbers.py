"""Which numbers a row can ever have had, where transactions only add to it (paper §8.1, RQ1; CONTRACT §2 *scope*).

A version is the initial one, or was set, and then some transactions added to it, each at most once: so its number is a
sum of what some of them add, whatever the order and whatever was lost. An observation that is no such sum, nor the sum
of two of them, has no explanation in any order at any level that reads what was committed. Does not know orders;
numbers that are changed otherwise may be any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import TableColumn
from sql_semantics.terms import TRUE, Cases, Guard, Leaf, Scalar, Term, atom, conj, items_of, unknown
from sql_semantics.terms.numbers import is_number, leaf_key, scale_of
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import Guarded, RowHistory, Version, WriteMap, alternatives_of
from troubadour.execution.views.abstract import Summaries
from troubadour.execution.views.guarded import Alternatives
from troubadour.execution.views.open_states import OpenStates
from troubadour.search.inference.sums import Options, Sums, may_add_up, sums_of
from troubadour.search.problem.orders import must_precede
from troubadour.search.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder
from troubadour.search.symbolic.observations import may_write

ROUNDS = 4
"""Times that writers are looked at for rows that others insert."""

MOST = 5_000
"""Transactions of a log up to which all of them are asked what they may add."""

LISTED = 64
"""Values of a column that are told apart."""

WAYS = 256
"""Ways that an equation of conditional terms may be meant."""

Address = tuple[str, object, int]


@dataclass
class Reach:
    """What one column of one row may have been: `values` that were set, and what each item may have added since;
    `open`: anything else, too."""

    scale: int
    values: dict[Hashable, Leaf] = field(default_factory=dict)
    added: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    set_by: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    open: bool = False

    @cached_property
    def sums(self) -> Sums:
        """What may have been added to a value that was set."""
        return sums_of(self.changes)

    @property
    def changes(self) -> list[Options]:
        """What each item may have added."""
        return [tuple(sorted(options)) for options in self.added.values()]

    @cached_property
    def bases(self) -> list[int]:
        """The numbers that were set, as integers."""
        return [scaled(value, self.scale) for value in self.values.values() if is_number(value)]

    def has(self, value: int) -> bool:
        """Whether a version may have this number."""
        return self.open or any(value - base in self.sums for base in self.bases)


def scaled(value: Any, scale: int) -> int:
    """A number as the integer that a term of this scale stands for."""
    return int(Decimal(value).scaleb(scale))


class Reaches(Summaries):
    """The columns of all rows; a reader finds a number of which only its `Reach` is known."""

    def __init__(
        self,
        columns: dict[RowHistory, list[Reach]],
        types: Mapping[str, Sequence[TableColumn]],
        deleted: Collection[RowHistory],
    ) -> None:
        """`deleted`: rows that some transaction may delete."""
        self.columns = columns
        self._deleted = deleted
        self._types = types
        self.read: dict[Hashable, tuple[RowHistory, int]] = {}

    def add(self, row: RowHistory, version: Version) -> None:
        """What a reader writes itself says nothing of what it read."""

    def any_of(self, row: RowHistory, name: Hashable) -> Alternatives:
        """See `Summaries`."""
        reaches = self.columns.get(row)
        if reaches is None:
            return []
        values = tuple(self._value(row, place, reach, name) for place, reach in enumerate(reaches))
        always = row.author is None and row not in self._deleted
        return [(TRUE if always else atom(("present", name, row.address)), values)]

    def _value(self, row: RowHistory, place: int, reach: Reach, name: Hashable) -> Scalar:
        column = self._types[row.table][place]
        key = (name, row.address, place)
        if reach.open:
            return unknown_value(("open", *key), column.type, column.not_null)
        leaves = list(reach.values.values())
        if reach.added:
            self.read["sum", key] = (row, place)
            number = unknown(("sum", key), column.type.kind, reach.scale)
            leaves = [number, *(leaf for leaf in leaves if leaf is None)]
        if len(leaves) == 1:
            return leaves[0]
        return Cases(tuple((atom(("is", key, number)), leaf) for number, leaf in enumerate(leaves)))


class ReachableNumbers(AbstractEncoder):
    """What rows may have been beside one item, and whether it can have seen that."""

    def __init__(self, problem: Problem, item: int, others: Sequence[int]) -> None:
        """Raises Unsupported where what the others may write is not known."""
        super().__init__(Trace(problem), item)
        # a row may come to hold what no version here says; its key stays
        self.trace.states.find_by_keys_only(only=True)
        self._item = item
        self._rows: dict[Address, RowHistory] = {}
        self._reaches: dict[RowHistory, list[Reach]] = {}
        self._deleted: set[RowHistory] = set()
        self._alike: dict[object, list[tuple[RowHistory, Version]]] = {}
        self.writers: dict[RowHistory, set[int]] = defaultdict(set)
        types = {name: table.schema.columns for name, table in self.trace.states.tables.items()}
        for name, table in self.trace.states.tables.items():
            for row in table.rows:
                self._rows[name, row.author, row.ordinal] = row
                for version in row.versions:
                    self._write(None, row, version)
        for number in range(ROUNDS):
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
        self._found = Reaches(self._reaches, types, self._deleted)
        self._summaries = self._found
        for row in self._reaches:
            # so that an index finds it by whatever it may hold
            self.trace.states.place({row: Guarded(tuple(self._found.any_of(row, "index")))})
        self.trace.states.find_by_keys_only(only=False)
        self.guard = self._observed()

    def _forget_writes(self) -> None:
        """Those who wrote before others had inserted or deleted rows are asked again; what they add counts once."""
        for reaches in self._reaches.values():
            for reach in reaches:
                reach.added.clear()

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
                present = tuple((guard, values) for guard, values in alternatives_of(version) if values is not None)
                self.trace.states.place({known: Guarded(present)})
                self._alike.clear()
            self.writers[known].add(other)
            self._write(other, known, version)

    def _writes_of(self, other: int) -> WriteMap:
        states, identifier = self.trace.states, self.problem.transaction(other).id
        use_index = self.problem.heuristics.index
        view = OpenStates(states, identifier, other, 0, states.length, row_scope=False, use_index=use_index)
        view.known_keys = {}
        for statement in self.problem.prepared(other).statements:
            view.enter_statement(statement.index)
            if may_write(statement):
                self.answers.outcome(other, statement, view)
        return view.writes()

    def _write(self, item: int | None, row: RowHistory, version: Version) -> None:
        schema = self.trace.states.tables[row.table].schema
        keys = {column for key in schema.keys for column in key.columns}
        reaches = self._reaches.setdefault(row, [Reach(column.type.scale or 0) for column in schema.columns])
        for _, values in alternatives_of(version):
            if values is None and row not in self._deleted:
                self._deleted.add(row)
                # the others need not meet it, either
                self.trace.states.place({row: Guarded(((atom(("deleted", row.address)), None),))})
                self._alike.clear()
            for place, value in enumerate(values or ()):
                for guard, leaf in items_of(value):
                    if leaf is None and _needs(guard, ("null", "open", row.address, place)):
                        # NULL comes of NULL
                        continue
                    self._take(item, row, (place, reaches[place]), leaf)
                if place in keys and (reaches[place].open or reaches[place].added or len(reaches[place].values) > 1):
                    raise Unsupported("keys that change")

    def _take(self, item: int | None, row: RowHistory, at: tuple[int, Reach], leaf: Leaf) -> None:
        place, reach = at
        if not isinstance(leaf, Term):
            reach.values.setdefault(leaf_key(leaf), leaf)
            if is_number(leaf) and scale_of(leaf) <= reach.scale and item is not None:
                reach.set_by[item].add(scaled(leaf, reach.scale))
            # floats and numbers of more digits are not told apart as integers
            odd = isinstance(leaf, float) or (is_number(leaf) and scale_of(leaf) > reach.scale)
            reach.open = reach.open or odd or len(reach.values) > LISTED
            return
        base, added = _shift(leaf)
        own = base is not None and base.args[0] == ("value", "open", row.address, place)
        if item is None or not own or added is None or scale_of(added) > reach.scale:
            reach.open = True
        else:
            reach.added[item].add(scaled(added, reach.scale))

    def _observed(self) -> Guard:
        """What the item's observations say of what it read."""
        self.encoded_item = self._run(self._item, 0, self.trace.states.length, None)
        return conj(*self.encoded_item.guards)

    def is_impossible(self) -> bool:
        """Whether nothing that rows may have been explains the item."""
        return self.excludes(self.guard)

    def members(self) -> frozenset[int]:
        """The item, and all that may have written what it looked at."""
        looked = self.encoded_item.view.looked_at
        return frozenset({self._item}).union(*(self.writers[row] for row in looked if row in self.writers))

    def adds(self) -> bool:
        """Whether something is added to a row that the item looked at."""
        looked = self.encoded_item.view.looked_at
        return any(reach.added for row in looked for reach in self._reaches.get(row, ()))

    def excludes(self, guard: Guard) -> bool:
        """Whether no numbers that rows may have had make a guard true."""
        match guard.kind:
            case "false":
                return True
            case "and":
                return any(self.excludes(part) for part in guard.args)
            case "or":
                return all(self.excludes(part) for part in guard.args)
            case "cmp" if guard.args[0] == "=":
                return self._unequal(guard.args[1], guard.args[2])
        return False

    def _unequal(self, left: Leaf, right: Leaf) -> bool:
        cases = linear(left, right)
        return cases is not None and not any(self._may_come_to(*case) for case in cases)

    def _may_come_to(self, terms: Sequence[tuple[Term, int]], target: Decimal) -> bool:
        if not terms:
            return not target
        known = [reach for reach in (self.reach_of(term) for term, _ in terms) if reach is not None]
        signs, scales = {sign for _, sign in terms}, {reach.scale for reach in known}
        if len(known) < len(terms) or len(terms) > 2 or len(signs) > 1 or len(scales) > 1:
            return True
        (scale,), (sign,) = scales, signs
        if target.scaleb(scale) % 1:
            return False
        wanted = scaled(target * sign, scale)
        if len(known) == 1:
            return known[0].has(wanted)
        first, second = known
        return any(
            may_add_up(first.sums, second.sums, wanted - one - other) for one in first.bases for other in second.bases
        )

    def reach_of(self, term: Term) -> Reach | None:
        """What is known of a number that was read."""
        place = self.place_of(term)
        return None if place is None else self._reaches[place[0]][place[1]]

    def place_of(self, term: Term) -> tuple[RowHistory, int] | None:
        """The row and the column of a number that was read."""
        return self._found.read.get(term.args[0]) if term.op == "var" else None


def others_of(problem: Problem, item: int) -> list[int]:
    """All whose writes an item may have seen in some order."""
    return [
        other
        for other, status in enumerate(problem.statuses)
        if other != item and status != "aborted" and not must_precede(problem, item, other)
    ]


def is_no_sum(problem: Problem, item: int) -> ReachableNumbers | None:
    """What shows that an item saw numbers that no versions have, in any order; None where that is not shown. Raises
    OutOfTime."""
    if problem.discovery.unknown or len(problem.statuses) > MOST or any(level.dirty for level in problem.levels):
        return None
    if item not in problem.numbers:
        shown: ReachableNumbers | None = None
        with suppress(Unsupported):
            shown = ReachableNumbers(problem, item, others_of(problem, item))
        problem.numbers[item] = shown if shown is not None and shown.is_impossible() else None
    found: ReachableNumbers | None = problem.numbers[item]
    return found


Linear = tuple[list[tuple[Term, int]], Decimal]
"""Unknowns with their signs, and the number that they come to."""


def linear(left: Leaf, right: Leaf) -> list[Linear] | None:
    """All ways in which left = right may be meant; None where one of them is not so simple, or they are many."""
    found: list[Linear] = []
    pending: list[tuple[list[tuple[Leaf, int]], list[tuple[Term, int]], Decimal]] = [
        ([(left, 1), (right, -1)], [], Decimal(0))
    ]
    while pending:
        open_leaves, terms, constant = pending.pop()
        if not open_leaves:
            found.append((terms, constant))
            continue
        leaf, sign = open_leaves.pop()
        if not isinstance(leaf, Term):
            if not is_number(leaf):
                return None
            pending.append((open_leaves, terms, constant - sign * Decimal(leaf)))  # type: ignore[arg-type]
            continue
        match leaf.op:
            case "var":
                pending.append((open_leaves, [*terms, (leaf, sign)], constant))
            case "add":
                more = [(leaf.args[0], sign), (leaf.args[1], sign)]
                pending.append(([*open_leaves, *more], terms, constant))
            case "sub":
                more = [(leaf.args[0], sign), (leaf.args[1], -sign)]
                pending.append(([*open_leaves, *more], terms, constant))
            case "neg":
                pending.append(([*open_leaves, (leaf.args[0], -sign)], terms, constant))
            case "ite":
                pending += [([*open_leaves, (branch, sign)], list(terms), constant) for branch in leaf.args[1:]]
            case _:
                return None
        if len(pending) + len(found) > WAYS:
            return None
    return found


def _needs(guard: Guard, key: Hashable) -> bool:
    """Whether a guard holds only where an atom does."""
    if guard.kind == "atom":
        return bool(guard.args[0] == key)
    return guard.kind == "and" and any(_needs(part, key) for part in guard.args)


def _shift(term: Term) -> tuple[Term | None, Decimal | None]:
    """The one unknown that a term adds a number to, and that number."""
    cases = linear(term, 0)
    if cases is None or len(cases) != 1 or len(cases[0][0]) != 1 or cases[0][0][0][1] != 1:
        return None, None
    return cases[0][0][0][0], -cases[0][1]
