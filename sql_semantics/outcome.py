"""What a statement answers (paper §3.1, read result *r*). Does not know what a client observed.

A `ResultSet` keeps everything of which the DBMS is free: rows come before LIMIT is applied, with their sort keys, so
that what compares can allow every choice that ties leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from sql_semantics.errors import SqlError
from sql_semantics.records import dataclass
from sql_semantics.terms import Guard, Scalar
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import RowId

V = TypeVar("V")

Arranged = Callable[[Sequence[tuple[Any, ...]]], bool]
"""Whether these rows may be an answer in this order, one after another."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A row of a table that was locked for a row of the answer: one of `rows`, which are alike. `keys`: see
    `ir.queries.RowLock`; `values` as it was read."""

    table: str
    rows: tuple[RowId, ...]
    values: tuple[Value, ...]
    keys: tuple[int, ...] | None


@dataclass(slots=True)
class ResultSet(Generic[V]):
    """Rows returned. With `keys` the rows stand in ORDER BY order and `keys[i]` belongs to `rows[i]` (rows with equal
    keys are tied; keys are comparable for equality only). `offset` and `limit` (None: no limit) still have to be
    applied to `rows`. `subset`: any of the rows may be missing (SKIP LOCKED). `optional`: it need not have been shown
    (the values of MySQL's OUT parameters reach a client as a last result set only through a prepared statement).
    `rounded`: values among them are `Rounded`. `locked[i]`: what was locked for `rows[i]` if that was answered or
    passed over by OFFSET; None where nothing was, or the view was told (`View.current`).
    """

    types: tuple[SqlType, ...]
    rows: list[tuple[V, ...]]
    keys: list[tuple[Value, ...]] | None = None
    offset: int = 0
    limit: int | None = None
    subset: bool = False
    optional: bool = False
    rounded: bool = False
    locked: list[tuple[Locked, ...]] | None = None


@dataclass(slots=True)
class Outcome:
    """A statement's concrete answer.

    `results` has one entry for a SELECT or a RETURNING, any number for a CALL, none otherwise. `affected` is the row
    count the DBMS would report for a write, None for other statements; `matched` is the number of rows that the
    WHERE clause of an UPDATE matched (MySQL reports changed rows by default and matched ones with found-rows set;
    elsewhere both are equal).
    """

    results: list[ResultSet[Value]]
    affected: int | None = None
    matched: int | None = None


@dataclass(slots=True)
class GuardedResult:
    """Guarded rows: row i is returned where `guards[i]` is true. Keys, offset, limit and flags as in `ResultSet`;
    with keys the rows stand in order, and keys are concrete. `present` is the condition under which the result set
    exists at all (a SELECT inside IF). `arranged`: the rows stand in no order here, since the value of a sort key is
    open; the answer's rows can have stood in its order only where this holds of them, and LIMIT took any of the rows.
    """

    types: tuple[SqlType, ...]
    rows: list[tuple[Scalar, ...]]
    guards: list[Guard]
    present: Guard
    keys: list[tuple[Value, ...]] | None = None
    offset: int = 0
    limit: int | None = None
    subset: bool = False
    optional: bool = False
    arranged: Arranged | None = None


@dataclass(slots=True)
class GuardedOutcome:
    """A statement's symbolic answer. `errors` lists under which guard which error is raised; where such a guard is
    true, nothing else in the outcome means anything."""

    results: list[GuardedResult]
    affected: Scalar | None
    matched: Scalar | None
    errors: list[tuple[Guard, SqlError]]
