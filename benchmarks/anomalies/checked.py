"""Whether a chain follows from its log, by replay: edge by edge, and as a circle where it is one.

Chains of explanations go to `replay.chain`. Those without one are about single values, keys and numbers: they are
looked up in the log. Does not know how chains are found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum

import msgspec

from sql_semantics.library import SqlLibrary
from troubadour.audit.account.pieces import taken_apart
from troubadour.model.account import Account, Edge
from troubadour.model.log import Log, Transaction
from troubadour.replay.chain import check_chain

_LINES = ("aborted-read", "intermediate-read")
"""Anomalies that one edge is, without a circle."""


class Checked(Enum):
    """What a program says of a chain."""

    CIRCLE = "circle, each edge replayed"
    EDGES = "each edge replayed"
    VALUES = "values looked up in the log"
    NONE = "no chain"
    WRONG = "WRONG"


def checked(log: Log, library: SqlLibrary, account: Account) -> tuple[Checked, list[str]]:
    """How a chain was checked, and what is wrong with it."""
    if account.explained is not None:
        explained = account.explained
        prefix = Log(log.header, log.transactions[: explained.transactions], log.digest)
        if explained.apart:
            pieces = taken_apart(prefix)
            assert pieces is not None
            prefix = pieces.log
        # an edge between statements leads from one transaction to the next, the circle is one of transactions
        whole = account.anomaly not in _LINES and not explained.apart
        parts: Sequence[tuple[Edge, ...]] = [explained.edges] if whole else [(edge,) for edge in explained.edges]
        wrong = [
            text for part in parts for text in check_chain(prefix, explained.witness, library, explained.level, part)
        ]
        if not whole and account.anomaly not in _LINES and not _is_circle(account.chain):
            wrong.append("the edges are no circle")
        return (Checked.WRONG if wrong else Checked.CIRCLE if whole else Checked.EDGES), wrong
    if not account.chain:
        return Checked.NONE, []
    wrong = [text for edge in account.chain for text in _looked_up(log, edge)]
    return (Checked.WRONG if wrong else Checked.VALUES), wrong


def _is_circle(chain: Sequence[Edge]) -> bool:
    following = [*chain[1:], *chain[:1]]
    return all(edge.later == other.earlier for edge, other in zip(chain, following, strict=True))


def _looked_up(log: Log, edge: Edge) -> Iterator[str]:
    """What the log does not say of an edge that is about a value, a key or a number."""
    by_id = {one.id: one for one in log.transactions}
    writer, reader = by_id[edge.earlier], by_id[edge.later]
    if edge.writer_status is not None and writer.status != edge.writer_status:
        yield f"{edge.earlier} is {writer.status}"
    seen = edge.seen
    if edge.kind == "wr" and seen is not None and edge.statement is not None:
        if not _answered(reader, edge.statement, seen):
            yield f"{edge.later}'s statement {edge.statement + 1} did not answer {seen}"
        if not _sent(writer, seen.strip("'")):
            yield f"{edge.earlier} sent nothing with {seen}"
    if edge.kind == "sequence" and seen is not None and edge.statement is not None:
        if not _answered(reader, edge.statement, seen):
            yield f"{edge.later}'s statement {edge.statement + 1} did not answer {seen}"
        if not any(_answered(writer, number, seen) for number in range(len(writer.statements))):
            yield f"{edge.earlier} was not given {seen}"
    if edge.kind == "internal":
        yield from _contradicted(reader, edge)
    if edge.kind == "ww" and edge.key is not None:
        values = [part.partition("=")[2] for part in edge.key.partition("(")[2].rstrip(")").split(", ")]
        for one in (writer, reader):
            if edge.earlier != edge.later and not all(_sent(one, value.strip("'")) for value in values):
                yield f"{one.id} sent nothing with {edge.key}"


def _contradicted(transaction: Transaction, edge: Edge) -> Iterator[str]:
    """What the log does not say of two statements of one transaction that tell different things of a row."""
    assert edge.seen is not None and edge.written is not None and edge.statement is not None
    one, other = (dict(part.split("=", 1) for part in _parts(text)) for text in (edge.written, edge.seen))
    if one == other:
        yield f"both are {edge.seen}"
    for value in other.values():
        if not _answered(transaction, edge.statement, value):
            yield f"statement {edge.statement + 1} did not answer {value}"
    earlier = transaction.statements[: edge.statement]
    changes = [n for n, statement in enumerate(earlier) if not statement.sql.lstrip().upper().startswith("SELECT")]
    if "left" in edge.text and not changes:
        yield f"nothing was written before statement {edge.statement + 1}"
    if "left" not in edge.text and any(
        not any(_answered(transaction, n, value) for n in range(edge.statement)) for value in one.values()
    ):
        yield f"no statement before answered {edge.written}"


def _parts(text: str) -> list[str]:
    return [] if text == "no row" else text.split(", ")


def _answered(transaction: Transaction, statement: int, value: str) -> bool:
    results = transaction.statements[statement].results or ()
    texts = [str(item) for result in results for row in result.rows or () for item in row]
    return value.strip("'") in texts


def _sent(transaction: Transaction, value: str) -> bool:
    """Whether a transaction's statements have a value in their texts or parameters."""
    return any(
        value in statement.sql or value in json.dumps(msgspec.to_builtins(statement.params), default=str)
        for statement in transaction.statements
    )
