"""What is left of a log once something was left out, and what that tells of its coverage.

Does not know what is left out, nor why.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.coverage.facts import answers_nothing, is_idle
from troubadour.model.log import Log, Observed, Statement, Transaction
from troubadour.model.verdict import Coverage, StatementRef, Unjudged

_EXAMPLE = 160
"""Characters of a statement that an example shows."""

Place = tuple[int, int]
"""A statement: its transaction's place in hint order, and its index in that."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a statement is not judged, or not in all: what is not modelled, and on which table where that is known."""

    construct: str
    table: str | None


@dataclass(frozen=True, slots=True)
class Reduced:
    """What is left of a log: `log` and `library`, modelled throughout but for what only a run shows. `gaps`: the
    statements that are not judged, or not in all; `opaque`: those whose answers hold values of types that are not
    modelled; `unknown`: columns of whose values nothing is told; `judges`: something is judged at all; `judged`:
    committed transactions of which something is; `observed`: statements of which something was observed, `sees`:
    something was of what is judged; `first`: the first statement that is not modelled itself."""

    log: Log
    library: SqlLibrary
    gaps: Mapping[Place, Gap]
    opaque: Mapping[Place, Gap]
    unknown: Mapping[tuple[str, str], str]
    judges: bool
    judged: int
    observed: int
    sees: bool
    first: StatementRef | None = None

    def spelled(self) -> SqlLibrary:
        """The library that tells values of types that are not modelled apart by how they are written."""
        return self.library.forgetting(self.unknown, spelled=True)

    def coverage(self, *, spelled: bool) -> Coverage:
        """What is judged; `spelled`: values of types that are not modelled were seen as they had been stored."""
        gaps = dict(self.gaps) if spelled else {**self.opaque, **self.gaps}
        found: dict[Gap, list[Place]] = {}
        for place in sorted(gaps):
            found.setdefault(gaps[place], []).append(place)
        unjudged = [
            Unjudged(gap.construct, gap.table, len(places), _shown(self.log, places[0]))
            for gap, places in found.items()
        ]
        unjudged.sort(key=lambda item: -item.statements)
        total = sum(len(transaction.statements) for transaction in self.log.transactions)
        return Coverage(total, total - len(gaps), self.observed, tuple(unjudged))


def is_exact(library: SqlLibrary) -> bool:
    """Whether the schema is modelled throughout, as far as it can be used."""
    tables = library.catalog.tables.values()
    return not library.unreached and not any(
        table.refusing or table.fires or any(column.type.name for column in table.columns) for table in tables
    )


def whole_log(log: Log, library: SqlLibrary) -> Reduced:
    """A log of which nothing has to be left out, all its statements bound."""
    idle = {sql for sql, program in library.texts() if is_idle(program)}
    mute = {sql for sql, program in library.texts() if answers_nothing(program)}
    judged: list[str] = []
    observed = 0
    sees = False
    for transaction in log.transactions:
        busy = [statement for statement in transaction.statements if statement.sql not in idle]
        judged += [transaction.status] if busy else []
        observed += sum(map(is_observed, transaction.statements))
        sees = (
            sees
            or ends_in_error(transaction)
            or any(is_observed(one) or (one.sql in mute and not one.outcome_unknown) for one in busy)
        )
    return Reduced(log, library, {}, {}, {}, bool(judged), judged.count("committed"), observed, sees)


def is_observed(statement: Statement) -> bool:
    """Whether the log has more of a statement's answer than that there was one."""
    counted = statement.affected is not None and not statement.implied
    return counted or statement.results is not None or statement.error is not None


def ends_in_error(transaction: Transaction) -> bool:
    """Whether the COMMIT or ROLLBACK itself was answered with an error."""
    return transaction.end is not None and transaction.end.error is not None


def all_of(log: Log) -> Coverage:
    """That all of a log is judged."""
    counted = _observed(log)
    return Coverage(counted.statements, counted.statements, counted.observed, ())


def nothing_of(log: Log, construct: str) -> Coverage:
    """That nothing of a log is judged, as its schema cannot be modelled."""
    counted, what = _observed(log), "schema or procedures"
    return Coverage(counted.statements, 0, counted.observed, (Unjudged(construct, None, counted.statements, what),))


def _observed(log: Log) -> Observed:
    if log.observed is not None:
        return log.observed
    observed = [is_observed(one) for transaction in log.transactions for one in transaction.statements]
    return Observed(len(observed), sum(observed))


def _shown(log: Log, place: Place) -> str:
    transaction = log.transactions[place[0]]
    text = " ".join(transaction.statements[place[1]].sql.split())
    text = text if len(text) <= _EXAMPLE else f"{text[: _EXAMPLE - 3]}..."
    return f"{transaction.id}, statement {place[1] + 1}: {text}"
