"""What a server does where a level allows more (paper §7 H4, *stronger level first*): tried first, transaction by
transaction.

Snapshot isolation lets a transaction read a state of long ago, and write a row as it was there over newer versions if
that changes nothing. Servers take the state at the start, and the first committer wins. What is placed under these
rules keeps the level's own, so the search begins with them and lets a transaction off where they leave it no place.
Does not know how a place is found, nor decides anything: a failure counts at the level's own rules only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from troubadour.isolation.levels import Conflict, Horizon, Level, Scope, Visible
from troubadour.problem.budget import SEVERAL, SOME
from troubadour.problem.problem import Problem

LET_OFF = SEVERAL
"""Transactions that are let off one by one; then all are."""


def tightened(level: Level) -> Level:
    """The level with a server's rules, or as it is."""
    free = level.scope is Scope.TRANSACTION and level.horizon is Horizon.ANY and level.visible is Visible.STATE
    if not free or level.conflict is not Conflict.VALUES or level.dialect is not None:
        return level
    return replace(level, horizon=Horizon.START, conflict=Conflict.VERSIONS, real_time=True, commits=True)


def serial(level: Level) -> Level:
    """The level with the newest state read, or as it is."""
    free = level.scope is Scope.TRANSACTION and not level.horizon.latest and level.visible is Visible.STATE
    return replace(level, horizon=Horizon.LATEST) if free and level.dialect is None else level


@contextmanager
def serially(problem: Problem) -> Iterator[bool]:
    """Hold all to reading the newest state in this block, which every level of one state allows; whether any are
    held to more than their own level then."""
    own = list(problem.levels)
    usable = problem.heuristics.stronger_first and not problem.order_recorded and not problem.leaves_readings_open
    tight = [serial(level) for level in own] if usable else own
    problem.levels[:] = tight
    try:
        yield tight != own
    finally:
        problem.levels[:] = own


PATIENT = 2
"""Transactions that are let off after all was tried; later ones sooner: then stale reads are to be expected."""


class Tightened:
    """The levels of a problem, made tighter and loosened again. `some`: whether any are tighter than they need be."""

    def __init__(self, problem: Problem) -> None:
        """Changes nothing yet."""
        self._problem = problem
        self._own = list(problem.levels)
        self._orders_commits = problem.orders_commits
        self._let_off: set[int] = set()
        usable = (
            len(problem.committed) > SOME
            and not problem.order_recorded
            and not problem.leaves_readings_open
            and problem.heuristics.stronger_first
        )
        self._tight = [tightened(level) for level in self._own] if usable else self._own
        self._useful = self._tight != self._own
        self.some = False

    def tighten(self) -> None:
        """Hold all to a server's rules but those that were let off, while these are few."""
        if self.some or not self._useful or len(self._let_off) >= LET_OFF:
            return
        levels = self._problem.levels
        levels[:] = self._tight
        for item in self._let_off:
            levels[item] = self._own[item]
        self._problem.orders_commits = any(level.commits for level in levels)
        self.some = True

    @property
    def patient(self) -> bool:
        """Whether everything is to be tried before a transaction is let off."""
        return len(self._let_off) < PATIENT

    def let_off(self, item: int) -> bool:
        """Hold the item to its own level; False where it is held to that already, or enough were let off."""
        if self._problem.levels[item] is self._own[item] or len(self._let_off) >= LET_OFF:
            return False
        self._let_off.add(item)
        self._problem.levels[item] = self._own[item]
        return True

    def loosen(self) -> None:
        """Hold everybody to their own levels."""
        if self.some:
            self.some = False
            self._problem.levels[:] = self._own
            self._problem.orders_commits = self._orders_commits

    @contextmanager
    def loosened(self) -> Iterator[None]:
        """Hold everybody to their own levels in this block."""
        self.loosen()
        try:
            yield
        finally:
            self.tighten()
