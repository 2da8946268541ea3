"""Violations of the axioms of isolation by timestamps (Cerone et al. 2015; Chronos and Aion).

Does not know how they are found.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from troubadour.model.log import TransactionId

Axiom = Literal["SESSION", "INT", "EXT", "NOCONFLICT"]

SHOWN = 20
"""Violations that are told one by one."""


class Writer(msgspec.Struct, frozen=True):
    """A transaction with its interval; a timestamp that it does not have is None."""

    transaction: TransactionId
    start: int | None
    commit: int | None


class Breach(msgspec.Struct, frozen=True):
    """One violation. `transaction` is the one whose axiom fails (of a conflict the one that committed first) from
    `start` to `commit`, `object` and `key` what it is about.

    EXT: it read `observed`, where `expected` stood by `expected_writer` (None: the initial value); `origin` says whence
    what it read is, of `observed_writer`: ``older``, ``uncommitted`` (it had begun and not committed), ``future``,
    ``aborted``, ``intermediate``, ``nothing``. INT: it had left or read `expected` itself. NOCONFLICT:
    `observed_writer` wrote the key meanwhile. SESSION: `expected_writer` is of its session, before it, and committed
    after its start; with a gap `expected` and `observed` are numbers in the session.
    """

    axiom: Axiom
    transaction: TransactionId
    object: str | None
    key: Any
    expected: Any
    observed: Any
    start: int | None
    commit: int | None
    expected_writer: Writer | None = None
    observed_writer: Writer | None = None
    origin: str | None = None


class Breaches(msgspec.Struct, frozen=True):
    """How many there are, the first of them by the commits of their transactions, and how many of each axiom."""

    count: int
    first: tuple[Breach, ...]
    by_axiom: dict[str, int]
