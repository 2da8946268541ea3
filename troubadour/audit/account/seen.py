"""Which transaction wrote a value that was seen: committed, rolled back, of unknown outcome, or none (*Elle*, §4.3).

Goes by the values of rows, as no explanation says which version was read. Of numbers that were given twice, or that
nothing adds up to, the refuters of `troubadour.proof` are asked again, for what they are about. Does not know which
states a level allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sql_semantics.ir.queries import Aggregate
from sql_semantics.ir.walks.traverse import fields_of
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.audit.account.rerun import Rerun
from troubadour.audit.told.explain import name
from troubadour.execution.initial.rows import known_rows
from troubadour.model.account import Difference, Edge
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.problem.budget import MANY, Budget
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.sequences import survey
from troubadour.proof.wording import value_text
from troubadour.search.inference.values.reachable_numbers import is_no_sum


@dataclass(frozen=True, slots=True)
class _Writer:
    """A transaction that wrote a value, and the row by its key."""

    transaction: Transaction
    key: str


def told_by_values(
    before: Rerun, log: Log, transaction: Transaction, difference: Difference
) -> tuple[str, tuple[Edge, ...]]:
    """The anomaly that an answer is which no state gives, and what wrote the values in it that do not fit."""
    statement = before.prepared(transaction).statements[difference.statement]
    computed = statement.program is None or _has_aggregate(statement.program.statement)
    strange = _strange(difference)
    if computed or not strange or len(difference.missing) != len(difference.extra):
        return "wrong-answer", ()
    chain = []
    name_ = "garbage-read"
    writers = _writers(before, log)
    for value in strange:
        found = writers.get(value, [])
        if found and all(one.transaction.status == "aborted" for one in found):
            name_ = "aborted-read"
        chain += [_edge(one, transaction, difference.statement, value) for one in found[:1]]
    if name_ == "garbage-read" and chain:
        return "wrong-answer", tuple(chain)
    return name_, tuple(chain)


def told_by_later(
    before: Rerun, later: Sequence[Transaction], transaction: Transaction, difference: Difference
) -> tuple[Edge, Edge] | None:
    """The circle of an answer with a value that one of those wrote which began when the reader was over, `later`."""
    strange = _strange(difference)
    for one in later[:MANY]:
        for value, writer in _alone(before, one):
            if value in strange and one.status == "committed":
                text = f"{name(transaction.id)} comes before {name(one.id)}: it was over before that began"
                timed = Edge("real-time", transaction.id, one.id, text)
                return _edge(writer, transaction, difference.statement, value), timed
    return None


def _strange(difference: Difference) -> list[str]:
    """Values observed that are not in any row expected."""
    seen = Counter(value for row in difference.extra for value in _values(row))
    given = Counter(value for row in difference.missing for value in _values(row))
    return list(seen - given)


def _values(row: str) -> list[str]:
    return row[1:-1].split(", ")


def _writers(before: Rerun, log: Log) -> dict[str, list[_Writer]]:
    """By the text of a value, the transactions that wrote it in a column that is no key."""
    found: dict[str, list[_Writer]] = {}
    for position in range(1, len(before) + 1):
        for row in before.rows_written(position):
            versions = before.versions(row)
            values = None if versions is None else versions.at(position)
            for value in values or ():
                found.setdefault(value_text(value), []).append(
                    _Writer(before.at(position), before.key_text(row, values))
                )
    aborted = [one for one in log.transactions if one.status == "aborted"]
    for one in aborted[:MANY]:
        for text, writer in _alone(before, one):
            found.setdefault(text, []).append(writer)
    return found


def _alone(before: Rerun, one: Transaction) -> Iterator[tuple[str, _Writer]]:
    """What a transaction writes by itself, by the text of each value."""
    for table, rows in before.run_alone(one).items():
        for values in rows:
            for value in values:
                yield value_text(value), _Writer(one, before.key_of(table, values))


def _edge(writer: _Writer, reader: Transaction, statement: int, value: str) -> Edge:
    status = writer.transaction.status
    fate = {"aborted": ", which was rolled back", "unknown": ", whose outcome is not known"}.get(status, "")
    text = (
        f"{name(reader.id)}'s statement {statement + 1} read {value}, which {name(writer.transaction.id)} wrote to "
        f"{writer.key}{fate}"
    )
    return Edge("wr", writer.transaction.id, reader.id, text, statement=statement, key=writer.key, seen=value,
                writer=writer.transaction.id, writer_status=status, written=value)  # fmt: skip


def _has_aggregate(node: object) -> bool:
    return any(isinstance(one, Aggregate) for one in _nodes(node))


def _nodes(node: object) -> Iterator[object]:
    yield node
    for child in fields_of(node):
        yield from _nodes(child)


def drawn_twice(log: Log, library: SqlLibrary, level: str) -> Edge | None:
    """A number that a sequence gave to two statements; None where none did."""
    problem = Problem(log, library, known_rows(log, library), isolation=level)
    repeated = survey(problem)
    if repeated is None:
        return None
    first, second = repeated.first, repeated.second
    one, other = (problem.transaction(number.item).id for number in (first, second))
    value = value_text(first.value)
    text = (
        f"sequence {first.name} gave {value} to {name(one)}'s statement {first.statement + 1} and to {name(other)}'s "
        f"statement {second.statement + 1}"
    )
    return Edge("sequence", one, other, text, statement=second.statement, key=first.name, seen=value)


def counts_wrong(log: Log, library: SqlLibrary, level: str, identifier: TransactionId, budget: Budget) -> bool:
    """Whether a transaction saw a number of a row to which others add, and no choice of what was added comes to it."""
    problem = Problem(log, library, known_rows(log, library), isolation=level, budget=budget)
    item = next((item for item in range(len(problem.statuses)) if problem.transaction(item).id == identifier), None)
    if item is None:
        return False
    try:
        shown = is_no_sum(problem, item)
    except OutOfTime:
        return False
    return shown is not None and shown.adds()
