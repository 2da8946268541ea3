"""What excludes an explanation: the one type of every refutation, and the question it answers.

A refutation names the transactions that contradict the level and says whether they do so in every order that the level
allows, or only in the order that it was asked of. Does not know how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property

from sql_semantics.records import dataclass
from troubadour.model.account import Edge
from troubadour.problem.orders import is_total
from troubadour.problem.problem import Problem
from troubadour.proof.cores.core import Core, find_core
from troubadour.search.found import Found
from troubadour.search.inference.values.unreachable_rows import Unreachable
from troubadour.search.schedule.execute import Failure


@dataclass(frozen=True, slots=True)
class Refutation:
    """`transactions` (items) contradict the level: `reason` says why, in words that stand alone or behind what failed.
    `every_order`: no order that the level allows explains them; else only `orders` are excluded. `core`: the
    contradiction as it was decided a second time, where the refutation has one of its own. `says`: the explanation,
    where the refutation knows better than the failure that was met. `blamed`: the item to blame, where that is not the
    one that a search failed at. `bounded`: states too old to be read (--max-staleness) were not looked at. `unseen`:
    the row that was seen as it never was, where that is what refutes. `garbage`: what was read of a row that is in no
    version of it, where one order alone is left."""

    transactions: frozenset[int]
    reason: str
    every_order: bool
    orders: tuple[tuple[int, ...], ...] = ()
    core: Core | None = None
    says: str | None = None
    blamed: int | None = None
    bounded: bool = False
    unseen: Unreachable | None = None
    garbage: Edge | None = None


@dataclass
class Question:
    """What is to be refuted: a log of which nothing was searched yet (`found` None) or that a first look did not
    explain (`looked`), or the prefix that a search could not explain. `suspects`: items that something else than a
    search has named."""

    problem: Problem
    found: Found | None = None
    looked: bool = False
    suspects: frozenset[int] = frozenset()

    @property
    def stage(self) -> Stage:
        """What there is to refute."""
        if self.found is None:
            return Stage.LOOKED_AT if self.looked else Stage.UNSEARCHED
        return Stage.UNFAILED if self.found.failure is None else Stage.FAILED

    @property
    def failed(self) -> Found:
        """How the search ended."""
        assert self.found is not None
        return self.found

    @property
    def failure(self) -> Failure:
        """What the search met."""
        assert self.failed.failure is not None
        return self.failed.failure

    @cached_property
    def failing(self) -> int:
        """The item after the longest explained prefix."""
        return self.problem.judged[self.failed.verified]

    @cached_property
    def verified(self) -> int:
        """How many committed transactions that prefix has."""
        return self.problem.committed_among(self.failed.verified)

    @cached_property
    def is_total(self) -> bool:
        """Whether the level leaves what is judged no other order. Of aborted ones nothing remains, so wherever they
        stand, the others are as they were."""
        problem = self.problem
        return is_total(problem, [i for i in problem.judged if i == self.failing or i not in problem.aborted])

    @cached_property
    def choosing(self) -> frozenset[int]:
        """Those of the failing order for whom the DBMS had a choice that was not looked at."""
        return frozenset(i for i in (*self.failed.order, self.failing) if self.problem.chosen_otherwise(i))

    @cached_property
    def core(self) -> Core | None:
        """A minimal core of the failing order."""
        kept = self.failed.contradiction
        if self.choosing:
            kept = frozenset(self.failed.order if kept is None else kept) - self.choosing
        return find_core(self.problem, self.failed.order, kept, None)


class Stage(Enum):
    """When something is to be refuted."""

    UNSEARCHED = "the log, before anything is searched"
    LOOKED_AT = "the log, which is not explained along its hint order"
    UNFAILED = "the log, of which a search explained what it came to"
    FAILED = "the prefix that a search could not explain"


Refute = Callable[[Question], Refutation | None]
"""Answers a question with a refutation, or None where it finds none. Raises OutOfTime at the deadline only."""


@dataclass(frozen=True, slots=True)
class Refuter:
    """One way to refute. `dirty`: what it shows holds where versions that were never committed may be read, too;
    `alone`: it hangs on the transactions that it names alone, whatever the DBMS chose in others."""

    name: str
    refute: Refute
    stage: Stage = Stage.FAILED
    dirty: bool = False
    alone: bool = False
