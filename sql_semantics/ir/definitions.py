"""CREATE and DROP inside a transaction, bound (paper §3.1: a database state says which tables exist).

That a table exists is a row of a table of its own, `EXISTING`, with the table's number in it. Does not know what else
a definition says: the tables of all definitions of one log are in its catalog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sql_semantics.records import dataclass

if TYPE_CHECKING:
    from sql_semantics.ir.statements import Insert

EXISTING = "\0existing tables"
"""The table of what exists; no SQL text can spell its name."""


@dataclass(frozen=True, slots=True)
class Transient:
    """A table or view that transactions create or drop. `initially`: it exists in the initial state. `refused`: what of
    it is not modelled, empty for nothing. `completed`: the statements, by their text, that follow CREATE TABLE at once
    and have their share in its definition. `followed`: one of the definitions of a table, between which rows move."""

    number: int
    initially: bool
    refused: str = ""
    completed: frozenset[str] = frozenset()
    followed: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE TABLE`` and ``CREATE VIEW``; `optional`: IF NOT EXISTS. `number` is None for one that exists in every
    state.

    `filling` is the INSERT of CREATE TABLE AS, `reads` the query's and the foreign keys' tables by name and number, of
    those that exist in some states only.
    """

    table: str
    number: int | None
    optional: bool
    filling: Insert | None = None
    reads: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DropTable:
    """``DROP TABLE`` of tables by name and number, None for one that exists in no state; `optional`: IF EXISTS. With
    `views` it is ``DROP VIEW``.

    `dependents` are, for each of them, what keeps it from being dropped without `cascade`: tables by name and number
    (None for one that exists in every state), and views.
    """

    tables: tuple[tuple[str, int | None], ...]
    optional: bool
    cascade: bool = False
    dependents: tuple[tuple[tuple[str, int | None], ...], ...] = ()
    views: bool = False


@dataclass(frozen=True, slots=True)
class ChangeIndex:
    """What changes no row and no answer: CREATE INDEX or DROP INDEX of one that is no key, and what the definition of a
    table has in it already. `table`: what has to exist, where it is known; `reads`: what else."""

    table: str | None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """Rows that a change of definitions moves: `filling` puts those of the table `source` into the table `target`, and
    those of `source` go. Either may be None: a table that comes with rows of a query or none, one that is dropped."""

    target: str | None
    source: str | None
    filling: Insert | None


@dataclass(frozen=True, slots=True)
class ChangeTables:
    """A change of definitions where each definition is a table of its own (`frontend.definitions.changes`)."""

    moves: tuple[Move, ...]


Definition = CreateTable | DropTable | ChangeIndex | ChangeTables
