"""What follows from the decisions of one path. Does not know what is decided, nor a solver.

Unit propagation: a guard taken to be true or false makes its parts so where that follows, until nothing more does. It
finds most contradictions, not all: a path that is not found out to be impossible is run for nothing, never wrongly.

All that is known of atoms is that some are thresholds: a key with a method `threshold`, giving a subject and a rank,
is true wherever an atom of the same subject and a higher rank is.
"""

from __future__ import annotations

from collections.abc import Hashable

from sql_semantics.terms import Guard


class Contradiction(Exception):
    """The path is impossible."""


class Knowledge:
    """Truth values of guards along one path; copied where paths part."""

    __slots__ = ("_bounds", "_clauses", "_known", "_open")

    def __init__(self) -> None:
        self._known: dict[Guard, bool] = {}
        self._open: set[Guard] = set()
        self._clauses: list[tuple[tuple[Guard, ...], bool]] = []
        self._bounds: dict[Hashable, tuple[int | None, int | None]] = {}

    def copy(self) -> Knowledge:
        """The same knowledge, to go on from."""
        other = Knowledge()
        other._known = self._known.copy()
        other._open = self._open.copy()
        other._clauses = self._clauses.copy()
        other._bounds = self._bounds.copy()
        return other

    def truth(self, guard: Guard) -> bool | None:
        """Whether the guard is known to be true or false; None where it is open."""
        known, undecided = self._known, self._open
        found = known.get(guard)
        if found is not None or guard in undecided:
            return found
        stack = [guard]
        while stack:
            node = stack[-1]
            if node in known or node in undecided:
                stack.pop()
                continue
            if node.kind in ("and", "or", "not"):
                pending = [part for part in node.args if part not in known and part not in undecided]
                if pending:
                    stack.extend(pending)
                    continue
            stack.pop()
            value = self._value(node)
            if value is None:
                undecided.add(node)
            else:
                known[node] = value
        return known.get(guard)

    def _value(self, node: Guard) -> bool | None:
        """The truth of a node whose parts have been looked at."""
        match node.kind:
            case "true":
                return True
            case "false":
                return False
            case "not":
                inner = self._known.get(node.args[0])
                return None if inner is None else not inner
            case "and" | "or":
                deciding = node.kind == "or"
                values = [self._known.get(part) for part in node.args]
                if deciding in values:
                    return deciding
                return None if None in values else not deciding
            case "atom":
                return self._by_rank(node)
        return None

    def _by_rank(self, node: Guard) -> bool | None:
        threshold = getattr(node.args[0], "threshold", None)
        if threshold is None:
            return None
        subject, rank = threshold()
        reached, missed = self._bounds.get(subject, (None, None))
        if reached is not None and rank <= reached:
            return True
        return False if missed is not None and rank >= missed else None

    def assume(self, guard: Guard, value: bool = True) -> None:
        """Take a guard to be true (or false), and what follows from that. Raises Contradiction."""
        self._settle([(guard, value)])
        while True:
            following: list[tuple[Guard, bool]] = []
            remaining: list[tuple[tuple[Guard, ...], bool]] = []
            for parts, wanted in self._clauses:
                unit = self._unit(parts, wanted)
                if unit is None:
                    remaining.append((parts, wanted))
                elif unit:
                    following.append((unit[0], wanted))
            self._clauses = remaining
            if not following:
                return
            self._settle(following)

    def _unit(self, parts: tuple[Guard, ...], wanted: bool) -> tuple[Guard, ...] | None:
        """Of a clause "one of the parts is `wanted`": () where one is, the only part left, None where more are."""
        left: list[Guard] = []
        known, undecided = self._known, self._open
        for part in parts:
            truth = known.get(part)
            if truth is None and part not in undecided:
                truth = self.truth(part)
            if truth is wanted:
                return ()
            if truth is None:
                left.append(part)
        if not left:
            raise Contradiction
        return (left[0],) if len(left) == 1 else None

    def _settle(self, pending: list[tuple[Guard, bool]]) -> None:
        while pending:
            guard, value = pending.pop()
            truth = self.truth(guard)
            if truth is not None:
                if truth is not value:
                    raise Contradiction
                continue
            self._known[guard] = value
            self._open.clear()
            match guard.kind:
                case "not":
                    pending.append((guard.args[0], not value))
                case "and" | "or":
                    if value is (guard.kind == "and"):
                        pending.extend((part, value) for part in guard.args)
                    else:
                        self._clauses.append((guard.args, value))
                case "atom":
                    self._rank(guard, value)

    def _rank(self, guard: Guard, value: bool) -> None:
        threshold = getattr(guard.args[0], "threshold", None)
        if threshold is None:
            return
        subject, rank = threshold()
        reached, missed = self._bounds.get(subject, (None, None))
        if value:
            reached = rank if reached is None else max(reached, rank)
        else:
            missed = rank if missed is None else min(missed, rank)
        self._bounds[subject] = (reached, missed)
