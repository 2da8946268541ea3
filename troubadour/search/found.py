"""How a search ended. Does not know how it went."""

from __future__ import annotations

from sql_semantics.records import dataclass, field
from troubadour.order.engine import Conflict
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.trace import Trace


@dataclass(slots=True)
class Found:
    """How a search ended. `failure` None: everything is placed. `verified` counts the committed transactions of the
    longest explained prefix of the hint order; `order` is the order in which the failure was met, its transaction
    last, `contradiction` the items that contradict each other under it, `every_order` whether all were excluded,
    `enumerated` whether the contradiction was found by looking at every state of a long order.
    `stopped` says what kept the search from deciding (then there is no failure, but one that was being `mended`).
    `conflict` is what the engine found to contradict itself, whatever the order; then there is neither."""

    trace: Trace
    verified: int
    failure: Failure | None = None
    order: list[int] = field(default_factory=list)
    contradiction: frozenset[int] | None = None
    every_order: bool = False
    enumerated: bool = False
    stopped: BaseException | None = None
    mended: Failure | None = None
    conflict: Conflict | None = None

    @property
    def is_explained(self) -> bool:
        """Whether everything is placed."""
        return self.failure is None and self.stopped is None and self.conflict is None
