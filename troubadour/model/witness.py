"""A witness: the order and the states read that explain a log (paper Def. 3.4, Thm. 7.1).

Does not know whether it is right; `troubadour.replay` says so.

Addresses. A *state* is a number of transactions: state 0 is the initial one, state i the one after the i-th
transaction of `order`. A row read is addressed by (statement, execution, row): the 0-based index of the logged
statement, the 0-based ordinal of the SQL statement execution inside it (0 but in procedures), and the row's
identity text, ``table:t:n`` with t the id of the inserting transaction in JSON (or ``-`` for the initial state) and
n the ordinal of the row among the rows that it inserted into that table. A free choice is addressed by (statement,
execution, ordinal): only what is really chosen has an ordinal, not ``currval`` after ``nextval``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import msgspec

from troubadour.model.log import InitialTable, TransactionId


class RowRead(msgspec.Struct, frozen=True, array_like=True):
    """One row read from another state than the transaction's (row-scope levels only)."""

    statement: int
    execution: int
    row: str
    state: int


class StatementRead(msgspec.Struct, frozen=True, array_like=True):
    """What one execution of a statement reads: `state`; its keys and other constraints meet the rows of `newest`, from
    that state on (null: of `state`)."""

    statement: int
    execution: int
    state: int
    newest: int | None = None


class FreeChoice(msgspec.Struct, frozen=True, array_like=True):
    """A value that the DBMS chose: the `ordinal`-th of a statement execution, as a log writes values of its type."""

    statement: int
    execution: int
    ordinal: int
    value: Any


class TransactionView(msgspec.Struct, frozen=True):
    """What one transaction saw: `state`, but for the `exceptions`, and without what the `hidden` transactions wrote, by
    their positions before that state, ascending (at levels where what is seen need be no state). `newest`, at levels
    with a snapshot: the state, from that on, whose rows its keys and other constraints met; where it is not given, that
    is `state` too. `free` are the values that the DBMS chose for it. `statements` say the same of single executions, in
    place of `state` and `newest`: their own states at levels of statement scope, what their constraints met at those
    with one snapshot."""

    state: int
    exceptions: tuple[RowRead, ...] = ()
    newest: int | msgspec.UnsetType = msgspec.UNSET
    free: tuple[FreeChoice, ...] | msgspec.UnsetType = msgspec.UNSET
    statements: tuple[StatementRead, ...] | msgspec.UnsetType = msgspec.UNSET
    hidden: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET


class Views(Sequence[TransactionView]):
    """What transactions saw that each read one state and nothing else, by these states."""

    __slots__ = ("_states",)

    def __init__(self, states: Sequence[int]) -> None:
        self._states = states

    @property
    def states(self) -> Sequence[int]:
        """The states, in the order of the transactions."""
        return self._states

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, index: int) -> TransactionView: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TransactionView]: ...
    def __getitem__(self, index: int | slice) -> TransactionView | Sequence[TransactionView]:
        return Views(self._states[index]) if isinstance(index, slice) else TransactionView(self._states[index])


class GivenUp(msgspec.Struct, frozen=True, array_like=True):
    """A statement, by its transaction and its 0-based index, that turned out not to be modelled when it was run, and
    what of it is not."""

    transaction: TransactionId
    index: int
    construct: str


class Witness(msgspec.Struct, frozen=True):
    """`order` lists every committed transaction and those unknown ones that happened; `views[i]` belongs to
    `order[i]`. `log` is the log's digest, `isolation` the level it is a witness for (null: per transaction).
    `also` had further orders of levels with several parts; it is not written any more, and such a witness is refused.
    `initial` are the initial rows of the tables whose rows the log calls unknown. `given_up` are statements that were
    not judged, beside those of which a reader of the log sees that they are not modelled. `by` says where order and
    views come from, instead of giving them. `order` and `views` may make
    what they give: see `Chosen` and `Views`."""

    log: str
    isolation: str | None
    order: Sequence[TransactionId]
    views: Sequence[TransactionView]
    format: str = "troubadour-witness"
    version: int = 1
    also: tuple[Witness, ...] | msgspec.UnsetType = msgspec.UNSET
    initial: tuple[InitialTable, ...] | msgspec.UnsetType = msgspec.UNSET
    given_up: tuple[GivenUp, ...] | msgspec.UnsetType = msgspec.UNSET
    by: Literal["timestamps"] | msgspec.UnsetType = msgspec.UNSET
