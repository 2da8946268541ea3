"""What a witness lists for one transaction, as a run of it wants it. Does not know whether it is right."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from troubadour.model.log import InitialTable
from troubadour.model.witness import StatementRead, TransactionView, Witness
from troubadour.replay.witness.reads import Exceptions, Execution, FreeChoices

_NOTHING: frozenset[int] = frozenset()


def choices_of(view: TransactionView) -> FreeChoices:
    """The values chosen, by address."""
    chosen = () if isinstance(view.free, msgspec.UnsetType) else view.free
    return {(choice.statement, choice.execution, choice.ordinal): choice.value for choice in chosen}


def newest_of(view: TransactionView) -> int | None:
    """The state whose rows constraints meet; None where the witness names none."""
    return None if isinstance(view.newest, msgspec.UnsetType) else view.newest


def hidden_of(view: TransactionView) -> frozenset[int]:
    """The positions that are not seen."""
    return _NOTHING if isinstance(view.hidden, msgspec.UnsetType) else frozenset(view.hidden)


class ListedReads:
    """What a witness says of single executions."""

    __slots__ = ("_reads",)

    def __init__(self, reads: Sequence[StatementRead]) -> None:
        self._reads = {(read.statement, read.execution): (read.state, read.newest) for read in reads}

    def state(self, execution: Execution, default: int, /) -> int:
        """See `StatementReads`."""
        return self._reads[execution][0] if execution in self._reads else default

    def since(self, execution: Execution, default: int, kept: int, /) -> int:
        """See `StatementReads`."""
        del kept
        return self.state(execution, default)

    def beside(self, execution: Execution, state: int, /) -> int:
        """See `StatementReads`: where it begins is listed."""
        del execution
        return state

    def newest(self, execution: Execution, state: int, default: int | None, /) -> int | None:
        """See `StatementReads`."""
        return self._reads[execution][1] if execution in self._reads else default


def reads_of(view: TransactionView) -> tuple[StatementRead, ...]:
    """What the witness says of single executions."""
    return () if isinstance(view.statements, msgspec.UnsetType) else view.statements


def statements_of(view: TransactionView) -> ListedReads | None:
    """What single executions read; None where the witness does not say."""
    reads = reads_of(view)
    return ListedReads(reads) if reads else None


def exceptions_of(view: TransactionView) -> Exceptions | None:
    """The exceptions by execution, as a run wants them; None for none."""
    listed: dict[tuple[int, int], dict[str, int]] = {}
    for read in view.exceptions:
        listed.setdefault((read.statement, read.execution), {})[read.row] = read.state
    return listed or None


def initial_of(witness: Witness) -> tuple[InitialTable, ...]:
    """The initial rows of the tables where the log gives none."""
    return () if isinstance(witness.initial, msgspec.UnsetType) else witness.initial
