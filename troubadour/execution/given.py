"""What a concrete run is given beside the states that it reads. Does not know which states these are."""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.records import dataclass
from troubadour.execution.free.tagged import Key
from troubadour.execution.free.values import FreeValues
from troubadour.execution.states.history import RowHistory


@dataclass(frozen=True, slots=True)
class Given:
    """What a run is given beside its choices: whether it uses indexes; `free`, the values that the DBMS chose, and the
    item that they are for; `tags`, which of those in stored rows come from where. With `released` the rows that queries
    lock are `locked`, but for what these statements lock and blocks with exception handlers. `lately`: rows that
    nothing names may be left out where they were not there any more in the states read. `keyed`: the run tells by which
    values rows were looked for. `once`: see `PreparedTransaction.looked_up_once`."""

    use_index: bool = True
    free: tuple[FreeValues, int] | None = None
    tags: Mapping[RowHistory, Mapping[int, Key]] | None = None
    released: frozenset[int] | None = None
    lately: bool = False
    keyed: bool = False
    once: Mapping[int, Mapping[str, bool]] | None = None


PLAIN = Given()
