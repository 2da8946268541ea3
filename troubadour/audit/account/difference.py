"""A statement's answer against the one that a state gives, row by row; and the holder of a key that was let in twice or
refused.

Does not know which states a level allows: the claim of a violation names those that were tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import ResultSet
from sql_semantics.run.memory import MemoryView
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.audit.account.rerun import Rerun
from troubadour.audit.told.explain import name
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.observation import ObservedValue, ParsedRows
from troubadour.execution.prepared import prepare
from troubadour.model.account import Difference, Edge
from troubadour.model.log import Log, Transaction
from troubadour.model.values import Redacted
from troubadour.model.verdict import Claim
from troubadour.proof.wording import value_text


def difference_at(log: Log, library: SqlLibrary, claim: Claim) -> Difference | None:
    """How the answer observed differs from that of the nearest of the claim's states; None where it is no answer with
    rows, or where what it should be hangs on more than rows."""
    transaction = next(one for one in log.transactions if one.id == claim.transaction)
    statement = prepare(transaction, library).statements[claim.statement]
    observed = statement.observation.results
    if not observed or any(one.rows is None for one in observed):
        return None
    best: tuple[int, Difference] | None = None
    for number, state in enumerate(claim.states):
        ran = answer_on(transaction, library, state, claim.statement + 1)
        if ran is None or len(ran[0]) != len(observed):
            continue
        missing, extra, common = _compare(observed, ran[0])
        against = (
            "the newest state before it"
            if number == 0
            else f"the state {number} commit{'' if number == 1 else 's'} before that"
        )
        found = Difference(transaction.id, claim.statement, against, missing, extra, common)
        size = max(len(missing), len(extra))
        if not size:
            continue  # that state was not to be read, whatever it gives
        if best is None or size < best[0]:
            best = size, found
    return None if best is None else best[1]


def _compare(
    observed: Sequence[ParsedRows], answered: Sequence[ResultSet[Value]]
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    seen: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for one, other in zip(observed, answered, strict=True):
        seen.update(rows_observed(one))
        given.update(rows_answered(other))
    missing, extra = given - seen, seen - given
    return tuple(missing.elements()), tuple(extra.elements()), (seen & given).total()


def holder_of(before: Rerun, transaction: Transaction) -> Edge | None:
    """Which transaction holds a key that another one writes, too; None where none does."""
    rows = before.rows_at(len(before))
    for table in rows:
        if not before.keys(table):
            continue
        others = {name_: [] if name_ == table else some for name_, some in rows.items()}
        for values in before.run_alone(transaction, others).get(table, []):
            found = before.holder(table, values)
            if found is not None:
                return _both(before, transaction, *found)
    return None


def _both(before: Rerun, transaction: Transaction, row: str, values: Row, made: int) -> Edge:
    key = before.key_text(row, values)
    if not made:
        text = f"{key} is an initial row; {name(transaction.id)} wrote that key, too"
        return Edge("ww", transaction.id, transaction.id, text, table=row.partition(":")[0], row=row, key=key)
    other = before.at(made)
    text = f"{name(other.id)} wrote {key} and committed it; {name(transaction.id)} wrote that key, too"
    return Edge("ww", other.id, transaction.id, text, table=row.partition(":")[0], row=row, key=key,
                writer=other.id, writer_status=other.status)  # fmt: skip


def answer_on(
    transaction: Transaction, library: SqlLibrary, state: Mapping[str, Sequence[Row]], statements: int
) -> tuple[Sequence[ResultSet[Value]], MemoryView] | None:
    """What the last of a transaction's first statements answers where they run on a state, and what they leave; None
    where they cannot be run so."""
    view = MemoryView({table: list(rows) for table, rows in state.items()})
    results: Sequence[ResultSet[Value]] = ()
    try:
        for one in prepare(transaction, library).statements[:statements]:
            if one.judged.fate is Fate.RUN and one.program is not None:
                view.begin()
                results = one.program.run(view, one.arguments).results
    except (SqlError, Unsupported):
        return None
    return results, view


_WIDE = 120


def rows_observed(answer: ParsedRows) -> list[str]:
    """The rows that a client saw."""
    return [_row(row) for row in answer.rows or ()]


def rows_answered(answer: ResultSet[Value]) -> list[str]:
    """The rows that a run gave, as far as its LIMIT lets them out."""
    last = None if answer.limit is None else answer.offset + answer.limit
    return [_row(row) for row in answer.rows[answer.offset : last]]


def _row(row: Sequence[ObservedValue]) -> str:
    text = ", ".join("?" if isinstance(value, Redacted) else value_text(value) for value in row)
    return f"({text})" if len(text) <= _WIDE else f"({text[: _WIDE - 3]}...)"
