"""Every path of a deterministic program through decisions on guards.

The program is run again from its start for each path, told what was decided so far; where it asks something new, the
first possible answer is taken and the others are put aside. The decisions form a tree, from which the condition of any
set of paths is read off. Does not know what the program does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Generic, TypeVar

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.paths.knowledge import Contradiction, Knowledge
from sql_semantics.records import dataclass, field
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, Term, choose, conj, disj, items_of, neg

PATH_LIMIT = 256
"""Paths of one statement that are looked at."""

T = TypeVar("T")


class Looked(Exception):
    """The program looked into a value that was only meant to be copied; `tag` names where it came from."""

    def __init__(self, tag: Hashable) -> None:
        super().__init__(repr(tag))
        self.tag = tag


@dataclass(slots=True)
class _Node:
    """One decision: exclusive options, of which one holds; per option the node or the number of the path behind it."""

    options: tuple[Guard, ...]
    behind: list[_Node | int | None]


@dataclass(slots=True)
class Paths(Generic[T]):
    """The paths taken, what each gave, and where it is taken. `entry` holds on all of them."""

    entry: Guard
    ends: list[T] = field(default_factory=list)
    nodes: list[_Node] = field(default_factory=list)

    def where(self, chosen: Collection[int], ignored: Collection[int] = ()) -> Guard:
        """Where one of the `chosen` paths is taken, within `entry`; any answer will do where one of the `ignored`
        is."""
        if len(self.ends) == len(chosen) + len(ignored):
            return TRUE if chosen else FALSE
        found: dict[int, Guard | None] = {}
        for node in reversed(self.nodes):
            parts: list[tuple[Guard, Guard]] = []
            for option, behind in zip(node.options, node.behind, strict=True):
                if isinstance(behind, _Node):
                    inner = found[id(behind)]
                elif behind is None or behind in ignored:
                    inner = None
                else:
                    inner = TRUE if behind in chosen else FALSE
                if inner is not None:
                    parts.append((option, inner))
            found[id(node)] = _either(parts)
        first = found[id(self.nodes[0])] if self.nodes else None
        return FALSE if first is None else first

    def choose(self, values: Sequence[tuple[int, Scalar]], ignored: Collection[int] = ()) -> Scalar:
        """The scalar that is, on each of these paths, that path's."""
        merged: dict[Hashable, tuple[list[int], Scalar]] = {}
        for path, value in values:
            merged.setdefault(scalar_key(value), ([], value))[0].append(path)
        if len(merged) == 1:
            return next(iter(merged.values()))[1]
        elsewhere = set(range(len(self.ends))).difference(path for path, _ in values).union(ignored)
        return choose((self.where(paths, elsewhere), value) for paths, value in merged.values())


def _either(parts: list[tuple[Guard, Guard]]) -> Guard | None:
    """Where an option holds together with what is asked behind it; None where no option is possible."""
    if not parts:
        return None
    by_inner: dict[Guard, list[Guard]] = {}
    for option, inner in parts:
        by_inner.setdefault(inner, []).append(option)
    if len(by_inner) == 1:
        return next(iter(by_inner))
    if TRUE in by_inner and len(by_inner) == 2:
        # (or g (and (not g) x)) = (or g x)
        return disj(*by_inner.pop(TRUE), *by_inner)
    return disj(*(conj(disj(*options), inner) for inner, options in by_inner.items()))


def scalar_key(value: Scalar) -> Hashable:
    """What makes two scalars one: cases and terms by identity, values by type and value."""
    return id(value) if isinstance(value, Cases | Term) else (value.__class__, value)


class Explorer:
    """Runs a program along every path. `what` names it in refusals."""

    def __init__(self, entry: Guard, what: str) -> None:
        self.what = what
        self.entry = entry
        self.copied = False
        """Whether values were handed out on this path that are only meant to be copied."""
        self.unknown = False
        """Whether values without cases were handed out on this path."""
        self._looked: set[Hashable] = set()
        self._nothing_copied = False
        self._knowledge = Knowledge()
        self._nodes: list[_Node] = []
        self._prefix: tuple[int, ...] = ()
        self._made: list[int] = []
        self._at: tuple[_Node, int] | None = None
        self._waiting: list[tuple[int, ...]] = []
        self._after: list[Knowledge] = []
        """What was known after each decision of the path that was run last: the next path begins with some of them."""
        self._start: Knowledge | None = Knowledge()
        try:
            self._start.assume(entry)
        except Contradiction:
            self._start = None

    # --- what the program asks ------------------------------------------------------------------------------------

    def holds(self, guard: Guard) -> bool:
        """Whether the guard is true on this path: decided now where it is open."""
        truth = self._knowledge.truth(guard)
        return self._decide((guard, neg(guard))) == 0 if truth is None else truth

    def leaf(self, scalar: Scalar) -> Scalar:
        """The case that the scalar is on this path: decided now where it is open."""
        options = self.possible(scalar)
        if not options:
            raise Contradiction
        if len(options) == 1:
            return options[0][1]
        return options[self._decide(tuple(guard for guard, _ in options))][1]

    def possible(self, scalar: Scalar) -> list[tuple[Guard, Scalar]]:
        """The cases of a scalar that this path leaves; none where the row that it stands in does not exist."""
        options: list[tuple[Guard, Scalar]] = []
        for guard, leaf in items_of(scalar):
            truth = self._knowledge.truth(guard)
            if truth:
                return [(guard, leaf)]
            if truth is None:
                options.append((guard, leaf))
        return options

    def may_copy(self, tag: Hashable) -> bool:
        """Whether a value from there may be handed out as an opaque one, because no path looked into it so far."""
        return not self._nothing_copied and tag not in self._looked

    def _decide(self, options: tuple[Guard, ...]) -> int:
        depth = len(self._made)
        if depth < len(self._prefix):
            choice = self._prefix[depth]
            if self._at is None:
                node = self._nodes[0]
            else:
                behind = self._at[0].behind[self._at[1]]
                if not isinstance(behind, _Node):
                    raise Unsupported(f"{self.what}, which does not run the same way twice")
                node = behind
            if node.options != options:
                raise Unsupported(f"{self.what}, which does not run the same way twice")
        else:
            choice = 0
            node = _Node(options, [None] * len(options))
            self._nodes.append(node)
            if self._at is not None:
                self._at[0].behind[self._at[1]] = node
            made = tuple(self._made)
            self._waiting.extend((*made, other) for other in range(len(options) - 1, 0, -1))
        self._at = (node, choice)
        self._made.append(choice)
        if depth < len(self._after):
            self._knowledge = self._after[depth]
            return choice
        self._knowledge = self._knowledge.copy()
        for place, option in enumerate(options):
            self._knowledge.assume(option, place == choice)
        self._after.append(self._knowledge)
        return choice

    # --- the runs ---------------------------------------------------------------------------------------------------

    def explore(self, program: Callable[[], T]) -> Paths[T]:
        """Run the program along every path that is not found to be impossible. Raises Unsupported beyond the bound."""
        while True:
            try:
                return self._all(program)
            except Looked as looked:
                self._looked.add(looked.tag)

    def _all(self, program: Callable[[], T]) -> Paths[T]:
        paths: Paths[T] = Paths(self.entry, nodes=[])
        self._nodes = paths.nodes
        if self._start is None:
            return paths
        self._waiting, self._after = [()], []
        runs = 0
        while self._waiting:
            runs += 1
            if runs > PATH_LIMIT:
                raise Unsupported(f"too many cases in {self.what}")
            self._restart(self._waiting.pop(), self._start)
            try:
                end = program()
            except Contradiction:
                continue
            except TypeError:
                # something that takes plain values only was given one that is meant to be copied
                if not self._handed_out():
                    raise
                return self._all(program)
            if self._at is not None:
                self._at[0].behind[self._at[1]] = len(paths.ends)
            paths.ends.append(end)
        return paths

    def _restart(self, prefix: tuple[int, ...], knowledge: Knowledge) -> None:
        # the path that was run last made the same decisions but for the last of these
        del self._after[max(0, len(prefix) - 1) :]
        self._prefix, self._knowledge = prefix, knowledge
        self._made, self._at = [], None
        self.copied = self.unknown = False

    def _handed_out(self) -> bool:
        """Whether the path that failed had values that are not plain: it is then run without. Raises Unsupported where
        that cannot be."""
        if self.copied and not self._nothing_copied:
            self._nothing_copied = True
            return True
        if self.unknown:
            raise Unsupported(f"an unknown value in {self.what}")
        return False
