"""What numbers make a guard true whose parts stand in it time and again (`search.inference.values.seen_numbers`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from sql_semantics.terms import FALSE, Guard, atom, conj, disj, neg
from troubadour.execution.states.history import RowHistory
from troubadour.search.inference.values.reaches import Reaches
from troubadour.search.inference.values.seen_numbers import SeenNumbers

DEPTH = 60
"""Its paths are two to this power."""


@dataclass
class NoRows:
    """Numbers of no rows."""

    found: Reaches = field(default_factory=lambda: Reaches({}, {}, ()))
    writers: dict[RowHistory, set[int]] = field(default_factory=dict)


def shared(last: Guard) -> Guard:
    """A guard of few parts and very many paths."""
    guard = last
    for level in range(DEPTH):
        free = atom(("free", level))
        guard = disj(conj(guard, free), conj(guard, neg(free), atom(("more", level))))
    return guard


def seen(guard: Guard) -> SeenNumbers:
    """What an item saw that met no rows."""
    return SeenNumbers(NoRows(), 0, guard, frozenset())


def test_a_guard_of_many_paths_is_looked_at_part_by_part() -> None:
    assert shared(FALSE) is FALSE
    assert not seen(shared(atom("open"))).is_impossible()
    assert seen(shared(atom("open"))).members() == {0}
