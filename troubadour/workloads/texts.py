"""Texts that every workload needs: its .sql files, and calls of its routines in either dialect. Does not know what they
mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal

import psycopg

from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass, field
from troubadour.record import Executor, Logic, ServerError, UserRollback

DialectName = Literal["postgres", "mysql"]
Mode = Literal["procedures", "statements"]
"""Where a transaction's logic runs: a stored procedure, or the client statement by statement."""

Drawn = tuple[Any, ...]
"""The name of a transaction, and its arguments."""


class Scripted:
    """A workload whose schema and routines are .sql files of `folder`."""

    __slots__ = ()
    folder: ClassVar[Path]
    dialect: DialectName
    mode: Mode

    @property
    def schema(self) -> Sequence[str]:
        """The statements of schema.sql, which both dialects take."""
        return _statements((self.folder / "schema.sql").read_text(encoding="utf-8"), ";")

    @property
    def procedures(self) -> Sequence[str]:
        """The routines, where they have the logic."""
        return procedures_of(self.folder, self.dialect) if self.mode == "procedures" else ()


def procedures_of(folder: Path, dialect: DialectName) -> tuple[str, ...]:
    """The routines of a folder: plpgsql.sql with bodies in ``$$``, psm.sql with ``//`` between them."""
    if PRODUCTS[dialect].running.stored_programs == "psm":
        return _statements((folder / "psm.sql").read_text(encoding="utf-8"), "//")
    return tuple(f"{text}$$" for text in _statements((folder / "plpgsql.sql").read_text(encoding="utf-8"), "$$;"))


def _statements(text: str, mark: str) -> tuple[str, ...]:
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return tuple(part.strip() for part in text.split(mark) if part.strip())


@dataclass(frozen=True, slots=True)
class Client:
    """Where a transaction's logic runs when no procedure has it."""

    executor: Executor
    dialect: DialectName

    def rows(self, sql: str, *params: object) -> Sequence[tuple[object, ...]]:
        """The rows of a query."""
        return self.executor.execute(sql, params).rows

    def locked(self, sql: str, *params: object) -> Sequence[tuple[object, ...]]:
        """The rows of a query whose rows are written next. MariaDB's plain reads are of an older snapshot than its
        writes are, so there they are locked."""
        return self.rows(sql + " FOR UPDATE" if PRODUCTS[self.dialect].running.plain_reads_lag else sql, *params)

    def write(self, sql: str, *params: object) -> int:
        """The affected count of a write."""
        affected = self.executor.execute(sql, params).affected
        if affected is None:
            raise TypeError(f"no count came back from {sql}")
        return affected


@dataclass(frozen=True, slots=True)
class Routines:
    """The transactions of a workload, by name.

    `client` has each as a function of a `Client` and the arguments. `rows`: those which are functions that return rows
    in PostgreSQL; `out`: those which are procedures there, with so many INOUT parameters after the arguments. In
    MariaDB all are procedures. `rolled_back`: the SQLSTATEs by which a procedure says that all is to be undone.
    """

    client: Mapping[str, Callable[..., None]]
    rows: Collection[str] = ()
    out: Mapping[str, int] = field(default_factory=dict)
    rolled_back: frozenset[str] = frozenset()

    def logic(self, mode: Mode, dialect: DialectName, drawn: Drawn) -> Logic:
        """One transaction: one call, or the client's statements."""
        name, *arguments = drawn
        if mode == "statements":
            run = self.client[name]
            return lambda executor: run(Client(executor, dialect), *arguments)
        marks = [f"${number}" for number in range(1, len(arguments) + 1)]
        functions = PRODUCTS[dialect].running.procedures_are_functions
        if functions:
            marks += ["NULL"] * self.out.get(name, 0)
        given = f"{name}({', '.join(marks)})"
        text = f"SELECT * FROM {given}" if functions and name in self.rows else f"CALL {given}"

        def logic(executor: Executor) -> None:
            try:
                executor.execute(text, arguments)
            except (psycopg.Error, ServerError) as error:
                if error.sqlstate in self.rolled_back:
                    raise UserRollback(str(error)) from error
                raise

        return logic


def integer(value: object) -> int:
    """A fetched integer. Raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"an integer was expected, not {value!r}")
    return value


def number(value: object) -> Decimal:
    """A fetched exact number. Raises TypeError for anything else."""
    if not isinstance(value, Decimal):
        raise TypeError(f"an exact number was expected, not {value!r}")
    return value
