"""What the interpreter asks of a database (paper §3.2 READ and READ-FREE).

Reads are inverted: statements are run against a view, and the view decides from which state each row comes, that
own writes come first, and what is recorded of a read. Nothing here knows isolation levels or state identifiers.

Row identity is a `RowId`, opaque to the interpreter, the same on every replay; it is not the primary key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

from sql_semantics.terms import Guard, Scalar
from sql_semantics.values.types import SqlType, Value

RowId = Any
"""A row's identity: hashable, the view's own."""
Row = tuple[Value, ...]
Mark = Any
"""A place among the view's writes: the view's own."""
Acting = Literal["reads", "locks", "mixed", "evaluates", "acts", "inserts"]
"""What a statement execution does to the rows that it looks at: a query reads them, locks them, or locks parts of them;
a query in an expression of a routine evaluates them, a write acts on them, INSERT ... SELECT inserts. Whether the last
one locks them hangs on the isolation level."""
GuardedRow = tuple[RowId, Guard, tuple[Scalar, ...]]
"""A row that exists exactly where its guard is true (within the path condition it was read under)."""


class View(Protocol):
    """A database whose rows are concrete.

    `savepoints` are the transaction's named ones, oldest first; the view only keeps the list. `rechecks`: a row that a
    statement writes or locks may be a newer one than it reads, see `current`. `locks`: none may be newer, so that the
    view is told of those that a query locks, by `current`, and the parent of a new reference is one that is read.
    `apart`: each row may be of a state of its own, so that those that a query locks may have been others when it
    sorted them.
    """

    savepoints: list[tuple[str, Mark]]
    rechecks: bool
    locks: bool
    apart: bool

    def begin(self, acting: Acting = "reads") -> None:
        """A statement execution begins (inner statements of procedures too): at some isolation levels each one
        reads anew. Called once per execution, before its first read or write."""

    def suspend(self) -> Mark:
        """The execution under way calls a function, in which others may begin; for `resume`."""

    def resume(self, mark: Mark) -> None:
        """The function is over: what is read from now on, until the next `begin`, its caller reads."""

    def aside(self) -> View:
        """What the subqueries of the UPDATE under way read: the view itself, unless they read a snapshot beside the
        rows that it writes (InnoDB at READ COMMITTED, ha_innobase::store_lock)."""

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """A row that the execution has found with these values, as it is met when it is written or locked; None where
        it is gone. The values themselves, the same object, where `rechecks` is False or the row is no newer. Without
        `locks` the execution may have stopped before it came to the row, or passed it over: None where it cannot have
        met it."""

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row of the table, own writes included, in a fixed order. The result must not change while the
        statement writes: implementations return a list or a snapshot."""

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """At least every row whose `columns` equal `key` (no NULLs in `key`); may return more, so callers filter
        again."""

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """At least every row whose `columns` equal `key` (every row for no columns), as a constraint meets it: own
        writes, and of other rows the newest committed version, also where reads are of an older snapshot. Where reads
        are no snapshot, or of the newest one, it answers as `lookup` does."""

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """The rows of the table that this transaction wrote, as they are now."""

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `rivals`, of the rows as `current` has them: those that the execution will write over."""

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row, whole."""

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row under a fresh identity."""

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """The value that the DBMS chose here (see `ir.expressions.Free`); not undone by `rollback`."""

    def savepoint(self) -> Mark:
        """The writes so far, to come back to. Costs no more than the writes so far; there is nothing to release."""

    def attempting(self, step: int) -> None:
        """A block begins (1) or ends (-1) that `rollback` may undo while its statement goes on: what was locked in it
        is free again then."""

    def rollback(self, mark: Mark) -> None:
        """Undo every write since `mark` was made; what was read stays recorded. The mark stays valid, later ones do
        not. Identities of rows inserted since may be given again."""

    def choose(self, count: int, what: str) -> int:
        """Which of `count` different ways the DBMS went, from 0 (`what` says of what kind). The ways are listed alike
        in every run on the same rows."""

    def arbitrary(self, what: str) -> None:
        """The run goes on with one of several answers that the DBMS might have given as well (`what` says which), so
        that its outcome is possible, but another one cannot be excluded."""


class GuardedView(Protocol):
    """A database whose rows may exist in some states only and whose values may be symbolic.

    Every write happens where its guard is true and nowhere else. Guards passed in already contain the path
    condition. `savepoints` as in `View`; set and used on certain paths only.
    """

    savepoints: list[tuple[str, Mark]]

    def begin(self, path: Guard) -> int:
        """A statement execution begins, under this path condition; its number, for `resume`."""

    def resume(self, execution: int) -> None:
        """What is read from now on, until the next `begin`, is read by an execution that began before."""

    def scan(self, table: str) -> Iterable[GuardedRow]:
        """Every row that may exist."""

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[GuardedRow]:
        """At least every row that may exist and may have these concrete values in `columns`."""

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[GuardedRow]:
        """As `lookup` (`scan` for no columns), of the rows that a constraint meets: see `View`."""

    def update(self, table: str, row: RowId, guard: Guard, values: tuple[Scalar, ...]) -> None:
        """Where `guard`: replace the row, whole."""

    def delete(self, table: str, row: RowId, guard: Guard) -> None:
        """Where `guard`: remove the row."""

    def insert(self, table: str, guard: Guard, values: tuple[Scalar, ...]) -> RowId:
        """Where `guard`: add a row under a fresh identity."""

    def free(self, source: str, name: str, type: SqlType, ordinal: int) -> Scalar:
        """As of `View`, the `ordinal`-th of this statement execution on its path. Raises Unsupported for a type of
        which nothing is known."""

    def option(self, ordinal: int, number: int) -> Guard:
        """Where the DBMS went the way `number`, if none of those before it, at the `ordinal`-th choice of this
        statement execution on its path (counted together with free values)."""

    def savepoint(self) -> Mark:
        """The writes so far, to come back to."""

    def rollback(self, mark: Mark, guard: Guard) -> None:
        """Where `guard`: undo every write since `mark` was made."""

    def checkpoint(self) -> Mark:
        """The writes and the executions begun so far, to come back to by `abandon`."""

    def abandon(self, mark: Mark) -> None:
        """Forget every write and every execution begun since `mark` was made: they were only tried."""
