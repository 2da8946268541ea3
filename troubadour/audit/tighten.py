"""What a server does where a level allows more (paper §7 H4, *stronger level first*): tried first, transaction by
transaction.

Snapshot isolation lets a transaction read a state of long ago, and write a row as it was there over newer versions if
that changes nothing. Servers take the state at the start, and the first committer wins. What is placed under these
rules keeps the level's own, so the search begins with them and lets a transaction off where they leave it no place.
Does not know how a place is found, nor decides anything: a failure counts at the level's own rules only.
"""

from __future__ import annotations

from dataclasses import replace

from troubadour.audit.problem import Problem
from troubadour.isolation.levels import Conflict, Horizon, Level, Scope, Visible

FEW = 60
"""Transactions up to which the level's own rules are enough."""

LET_OFF = 16
"""Transactions that are let off one by one; then all are."""


def tightened(level: Level) -> Level:
    """The level with a server's rules, or as it is."""
    free = level.scope is Scope.TRANSACTION and level.horizon is Horizon.ANY and level.visible is Visible.STATE
    if not free or level.conflict is not Conflict.VALUES or level.dialect is not None:
        return level
    return replace(level, horizon=Horizon.START, conflict=Conflict.VERSIONS, real_time=True, commits=True)


class Tightened:
    """The levels of a problem made tighter, until they are loosened again. `some`: whether any are."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._own = list(problem.levels)
        self._orders_commits = problem.orders_commits
        self._left = LET_OFF
        usable = (
            len(problem.committed) > FEW
            and not problem.order_recorded
            and not problem.leaves_readings_open
            and problem.heuristics.stronger_first
        )
        problem.levels[:] = [tightened(level) if usable else level for level in problem.levels]
        problem.orders_commits = any(level.commits for level in problem.levels)
        self.some = any(level is not own for level, own in zip(problem.levels, self._own, strict=True))

    def let_off(self, item: int) -> bool:
        """Hold the item to its own level; False where it is held to that already, or enough were let off."""
        if self._problem.levels[item] is self._own[item] or not self._left:
            return False
        self._left -= 1
        self._problem.levels[item] = self._own[item]
        return True

    def loosen(self) -> None:
        """Hold everybody to their own levels."""
        self.some = False
        self._problem.levels[:] = self._own
        self._problem.orders_commits = self._orders_commits
