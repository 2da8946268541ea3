"""Answers about rows that contradict each other in every order: the shortest prefix, the few that matter, and in words.

What was derived is derived again from nothing, from the answers of the core alone, where every other transaction may
have left anything in the rows that it may have written. Does not know how anything is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sql_semantics.values.types import Value
from troubadour.execution.free.values import json_of
from troubadour.order.history import shortest_prefix
from troubadour.order.rows.balance import Unbalanced
from troubadour.order.rows.propagation import RowConflict, RowContradiction, Rows
from troubadour.order.rows.states import Vague, Version
from troubadour.problem.budget import BRIEFLY, OutOfUnits
from troubadour.problem.problem import Heuristics, Problem
from troubadour.proof.cores.core import Core


def refuted_rows(problem: Problem, found: RowContradiction, explained: int) -> tuple[int, Core, str] | None:
    """How many of the first committed transactions a contradiction of answers about rows refutes, with any of the later
    ones, the few that matter, and why; None where it is not confirmed. The first `explained` that committed are known
    to be. Raises OutOfTime."""
    facts = found.facts

    def refute(prefix: int) -> RowConflict | None:
        return _again(facts, found.conflict, prefix, None)

    count, conflict = _first(problem, found.conflict, refute, explained)
    kept, minimal = _smaller(problem, facts, conflict, count)
    # decided a second time: nothing is left of what was worked out before
    off = Heuristics(index=False, window=None, concretize=False, stronger_first=False)
    again = _again(Rows(problem.with_heuristics(off)), conflict, count, kept)
    if again is None:
        return None
    text = _told(problem, conflict if len(conflict.versions) >= len(again.versions) else again)
    return count, Core(tuple(sorted(kept)), minimal=minimal, confirmed=True), text


def _again(facts: Rows, conflict: RowConflict, prefix: int, kept: Collection[int] | None) -> RowConflict | None:
    """A conflict of the first transactions alone, or of those kept, of the same kind as one that was found."""
    if conflict.unbalanced is not None:
        return facts.imbalance(prefix, kept)
    derived = facts.derive(prefix, kept)
    return None if derived is None else derived.conflict


def _first(
    problem: Problem, whole: RowConflict, refute: Callable[[int], RowConflict | None], explained: int
) -> tuple[int, RowConflict]:
    """The shortest prefix that is refuted: mostly it ends with the transaction whose answer cannot be."""
    place = {item: count for count, item in enumerate(problem.committed, start=1)}

    def ends(conflict: RowConflict) -> int | None:
        if conflict.unbalanced is not None and conflict.unbalanced.changed:
            return place.get(conflict.unbalanced.changed[conflict.unbalanced.came])
        return None if conflict.reader is None else place.get(conflict.reader[0])

    return shortest_prefix(len(problem.committed), whole, refute, ends, explained)


def _smaller(problem: Problem, facts: Rows, conflict: RowConflict, count: int) -> tuple[Sequence[int], bool]:
    """The transactions of a prefix whose answers contradict each other, as few as the effort allows, and whether none
    of them can be left out."""
    kept: Sequence[int] = problem.committed[:count]

    def fails(items: Sequence[int]) -> bool:
        return _again(facts, conflict, count, items) is not None

    try:
        with problem.budget.step("core of rows") as tally, problem.budget.within(effort=BRIEFLY):
            kept = _near(facts, conflict, kept, fails)
            if conflict.unbalanced is not None:
                return kept, False  # of a writer left out each version may have come
            size = max(1, len(kept) // 2)
            while True:
                smaller = _without_some(kept, size, fails)
                if smaller is not None:
                    kept = smaller
                    tally.helped += 1
                    size = max(1, min(size, len(kept) // 2))
                elif size == 1:
                    # others may have left anything here, which is more than they can have: two may be one too many
                    return kept, len(kept) == 1
                else:
                    size = max(1, size // 2)
    except OutOfUnits:
        problem.budget.left()
    return kept, False


def _near(
    facts: Rows, conflict: RowConflict, kept: Sequence[int], fails: Callable[[Sequence[int]], bool]
) -> Sequence[int]:
    """Those that looked at the rows of a conflict, if they contradict each other by themselves."""
    places = set(conflict.rows)
    near: list[int] = []
    for item in kept:
        looked = any(
            table == step.part.table and place not in facts.programs.passed(step)
            for step in facts.programs.of(item).steps
            for table, place in places
            if step.places is None or place in step.places
        )
        if looked or (conflict.reader is not None and conflict.reader[0] == item):
            near.append(item)
    return near if len(near) < len(kept) and fails(near) else kept


def _without_some(kept: Sequence[int], size: int, fails: Callable[[Sequence[int]], bool]) -> Sequence[int] | None:
    """The items without some of them in a row that are not needed, of so many; None where all are."""
    found: Sequence[int] = kept
    place = 0
    while place < len(found):
        rest = [*found[:place], *found[place + size :]]
        if rest and fails(rest):
            found = rest
        else:
            place += size
    return None if len(found) == len(kept) else found


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return _row(value)
    return str(json_of(value)) if not isinstance(value, str) else repr(value)  # type: ignore[arg-type]


def _row(values: Sequence[object]) -> str:
    return f"({', '.join(map(_value, values))})"


def _place(problem: Problem, place: tuple[str, tuple[Value, ...]]) -> str:
    """A row by its key: ``accounts(id=2)``."""
    table, key = place
    schema = problem.library.catalog.tables[table]
    columns = next((one.columns for one in schema.keys if len(one.columns) == len(key)), ())
    names = [schema.columns[column].name for column in columns]
    return f"{table}({', '.join(f'{name}={_value(value)}' for name, value in zip(names, key, strict=False))})"


def _told(problem: Problem, conflict: RowConflict) -> str:
    """A contradiction in a sentence."""

    def name(item: int) -> str:
        return repr(problem.transaction(item).id)

    more = f" and {len(conflict.rows) - 3} more" if len(conflict.rows) > 3 else ""
    rows = ", ".join(_place(problem, place) for place in conflict.rows[:3]) + more
    if conflict.unbalanced is not None:
        return f"{rows}: {_unbalanced(conflict.unbalanced, name)}"
    if conflict.reader is None:
        return f"{rows}: in no order of the transactions that write it does each one get its own answers"
    item, statement = conflict.reader
    place = f"{name(item)}, statement {statement + 1}"
    if conflict.circle:
        return f"{place}: by what it shows of {rows}, transactions would be before one another in a circle"
    left = _left(conflict, name)
    excess = conflict.excess
    if not conflict.rows:
        return f"{place}: {conflict.says or 'on the rows as they were then, in whatever order, it has another answer'}"
    if excess is None:
        alone = f"no version of {rows} gives its answer"
        return f"{place}: {left or (alone if len(conflict.rows) == 1 else f'{rows} were so at no one moment')}"
    if excess.kind is None:
        return f"{place}: no versions of {rows} add up to its answer"
    kind = _row(excess.kind) if isinstance(excess.kind, tuple) else str(excess.kind)
    wanted = int(excess.wanted)
    if excess.what != "row":
        able = f"{int(excess.found)} rows {'at most' if excess.most else 'at least'}"
        of_group = f" of group {kind}" if isinstance(excess.kind, tuple) and excess.kind else ""
        return f"{place}: its answer counts {wanted} rows{of_group}, but {able} of {rows} meet its condition then"
    if excess.most:
        times = "" if wanted == 1 else f" {wanted} times"
        able = "no row" if not excess.found else f"{int(excess.found)} rows at most"
        return f"{place}: it shows {kind}{times}, but {able} can be so then" + (f": {left}" if left else "")
    missing = "does not show it" if not wanted else f"shows {wanted} only"
    shown = problem.prepared(item).statements[statement].observation.results
    seen = "" if not shown or not shown[0].rows or len(shown[0].rows) > 1 else f" but {_row(shown[0].rows[0])}"
    return f"{place}: {left or f'{rows} is {kind} then, whatever the order'}, and its answer {missing}{seen}"


def _unbalanced(found: Unbalanced, name: Callable[[int], str]) -> str:
    """Versions that do not add up, in words behind the name of their row."""

    def told(version: Version) -> str:
        return "no row" if version is None else _row(version) if isinstance(version, tuple) else "any version"

    if found.both:
        one, other = map(told, found.both)
        which = f"{one} and {other} were each" if one != other else f"{one} was twice"
        return f"by what each writer of it met and left, {which} the last version"
    first = ", ".join(map(name, found.changed[:3])) + (" ..." if len(found.changed) > 3 else "")
    times = "once" if found.came == 1 else f"{found.came} times"
    came = f"came to be so {times} at most" if found.came else "was never so"
    return f"{len(found.changed)} transactions ({first}) changed it from {told(found.version)}, but it {came}"


def _left(conflict: RowConflict, name: Callable[[int], str]) -> str:
    """Which transaction left what in a row that was read."""
    if not conflict.versions or len(conflict.versions) > 3:
        return ""
    parts: list[str] = []
    for writer, version in conflict.versions:
        if isinstance(version, Vague):
            return ""
        what = "no row" if version is None else _row(version)
        parts.append(f"the last writer {name(writer)} left {what}" if writer is not None else f"it is {what}")
    return " or ".join(parts)
