"""What ties together which others the transactions see, as formulas (Cerone et al. 2015, TRANSVIS and SESSION).

A transaction that stands open passes nothing on: that only admits more. Does not know what any wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sql_semantics.terms import FALSE, TRUE, Guard, atom, disj, neg
from troubadour.execution.views.guarded import ReadId, Sees
from troubadour.isolation.levels import Visible
from troubadour.search.schedule.visible_sets import sees_a_set
from troubadour.search.symbolic.encoded import Encoded

if TYPE_CHECKING:
    from troubadour.search.symbolic.encoder import Encoder


def closed(encoder: Encoder, encoded: Encoded) -> Iterator[Guard]:
    """The conditions on which others a transaction, about to be placed, sees where that need be no state."""
    problem, trace = encoder.problem, encoder.trace
    level, view = problem.levels[encoded.item], encoded.view
    if level.session:
        for position in trace.timeline.session_positions(problem.times[encoded.item]):
            yield view.sees_position(position)
    if level.visible is not Visible.CLOSED:
        return
    wanted = {position for positions in view.sees.values() for position in positions}
    for position in range(len(trace), 0, -1):
        if position not in wanted:
            continue
        for older in range(1, position):
            passed = _sees(encoder, position, older)
            if passed is not FALSE:
                yield disj(neg(view.sees_position(position)), neg(passed), view.sees_position(older))
                wanted.add(older)


def _sees(encoder: Encoder, position: int, older: int) -> Guard:
    """Whether the transaction at `position` sees the one at `older`."""
    problem, placement = encoder.problem, encoder.trace.placements[position - 1]
    level = problem.levels[placement.item]
    encoded = encoder.encoded.get(position)
    if encoded is None:
        needs = placement.needs
        assert needs is not None
        seen = older <= needs.floor or older in needs.others
        return TRUE if seen or (level.session and encoder.trace.follows_in_session(older, position)) else FALSE
    if encoded.literal is None or level.own_states:
        return FALSE
    if older <= encoded.low:
        return TRUE
    positions = encoded.view.sees.get(ReadId(placement.item), set())
    if sees_a_set(problem, placement.item):
        return encoded.view.sees_position(older) if older in positions else FALSE
    threshold = min((one for one in positions if one >= older), default=None)
    return FALSE if threshold is None else atom(Sees(ReadId(placement.item), threshold))
