"""What has to happen in which order for a finding to come again: transactions that wrote what it looked at, and which
statements see which commits, in the explanation that its chain was read from. Does not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from troubadour.audit.account.rerun import Rerun
from troubadour.model.account import Sight
from troubadour.problem.budget import SOME


def base_of(rerun: Rerun, members: Sequence[int]) -> int:
    """The newest state that comes before all that these see and do."""
    state = min(rerun.views[position - 1].state for position in members)
    oldest = [
        made
        for position in members
        for statement, row in rerun.looked(position)
        if (made := rerun.seen_from(position, statement, row)) is not None and _later(rerun, row, made) is not None
    ]
    return min(state, min(members) - 1, *oldest) if oldest else min(state, min(members) - 1)


def _later(rerun: Rerun, row: str, made: int) -> int | None:
    versions = rerun.versions(row)
    return None if versions is None else next((state for state in versions.states if state > made), None)


def beside(rerun: Rerun, members: Sequence[int], base: int) -> list[int]:
    """The positions after a state whose writes these, or each other, looked at; few, or none."""
    found: list[int] = []
    pending = list(members)
    last = max(members)
    while pending:
        position = pending.pop()
        for row in {row for _, row in rerun.looked(position)}:
            versions = rerun.versions(row)
            for state in () if versions is None else versions.states:
                if base < state < last and state not in members and state not in found:
                    found.append(state)
                    pending.append(state)
        if len(found) > SOME:
            return []
    return sorted(found)


def sights(rerun: Rerun, positions: Sequence[int]) -> Iterator[Sight]:
    """For each statement of these, which of their commits it sees, and which it does not."""
    inside = set(positions)
    for position in positions:
        for statement, row in rerun.looked(position):
            versions = rerun.versions(row)
            if versions is None:
                continue
            made = rerun.seen_from(position, statement, row)
            if made in inside and made is not None and made != position:
                yield Sight(rerun.at(position).id, statement, rerun.at(made).id, True)
            later = _later(rerun, row, made or 0)
            if later not in inside or later is None or later == position:
                continue
            # a write without an answer waits for the other, where it does not matter to it
            answers = rerun.at(position).statements[statement].results is not None
            if answers or rerun.depends(position, {row: later}, statement):
                yield Sight(rerun.at(position).id, statement, rerun.at(later).id, False)
