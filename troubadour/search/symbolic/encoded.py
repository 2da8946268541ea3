"""One transaction placed symbolically, and several readings of it made one (one run per distinct footprint).

Does not know which of them are asserted.
"""

from __future__ import annotations

from sql_semantics.records import dataclass, field
from sql_semantics.terms import FALSE, TRUE, Guard, atom, conj, disj, neg
from troubadour.execution.states.history import RowHistory, SymbolicRow, WriteMap, alternatives_of
from troubadour.execution.views.guarded import GuardedStates, ReadId, Sees
from troubadour.isolation.encoding import chains
from troubadour.search.symbolic.versions import fewest


@dataclass(slots=True)
class Encoded:
    """A transaction placed symbolically: `views` are its runs (a second one where answers may not depend on late
    commits), `literal` its assumption (None: left open), `low` and `high` its horizon."""

    item: int
    position: int
    literal: int | None
    low: int
    high: int
    view: GuardedStates
    writes: WriteMap
    guards: list[Guard] = field(default_factory=list)


def merge(item: int, cases: list[tuple[int, Encoded, Guard]]) -> None:
    """Make the first case stand for all: which one it is hangs on the states that the transaction sees."""
    read = ReadId(item)
    first = cases[0][1]
    rows: dict[object, RowHistory] = {}
    alternatives: dict[RowHistory, list[tuple[Guard, SymbolicRow | None]]] = {}
    inserted: list[tuple[RowHistory, Guard]] = []
    holds: list[Guard] = []
    newer: Guard = FALSE
    for since, encoded, guard in cases:
        sees = TRUE if since == cases[-1][0] else atom(Sees(read, since))
        chosen = conj(sees, neg(newer))
        newer = sees
        holds.append(conj(chosen, guard))
        for row, version in encoded.writes.items():
            name = row if row.positions else (row.table, row.ordinal)
            known = rows.setdefault(name, row)
            alternatives.setdefault(known, []).extend(
                (conj(chosen, written), values) for written, values in alternatives_of(version)
            )
        for row, written in encoded.view.inserted:
            inserted.append((rows.get((row.table, row.ordinal), row), conj(chosen, written)))
    met: dict[ReadId, set[int]] = {}
    for _, encoded, _ in cases:
        for other, positions in encoded.view.sees.items():
            if other != read:
                met.setdefault(other, set()).update(positions)
    first.view.sees = {read: {since for since, _, _ in cases[:-1]}, **met}
    for _, encoded, _ in cases[1:]:
        for address, count in encoded.view.options.items():
            first.view.options[address] = max(count, first.view.options.get(address, 0))
    first.view.inserted = inserted
    first.writes = {row: fewest(versions) for row, versions in alternatives.items()}
    first.guards = [disj(*holds), *chains(first.view.sees)]
