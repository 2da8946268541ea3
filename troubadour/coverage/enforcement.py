"""Whether SQLite kept foreign keys where a transaction of a log ran (sqlite.org/foreignkeys, 2; pragma foreign_keys).

It is a setting of each connection, which a connection changes between its transactions: inside one the pragma does
nothing. So each transaction ran under one value, that of the last pragma before it, or else the log's own setting.
A statement that is a transaction of its own is one without an `end`, in a log that tells the ends of others. Where all
that is not certain the value is *unknown*. Does not know what foreign keys do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat

import msgspec

from sql_semantics.frontend import beginning
from sql_semantics.ir.schema import References
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import Log, Statement, Transaction

_MENTIONS = pattern(r"foreign_keys", re.IGNORECASE)
_PRAGMA = pattern(
    r"PRAGMA\s+(?:\"?\w+\"?\s*\.\s*)?\"?foreign_keys\"?\s*"
    r"(?:(?:=\s*(?P<set>['\"]?\w+['\"]?)|\(\s*(?P<called>['\"]?\w+['\"]?)\s*\))\s*)?;?\s*\Z",
    re.IGNORECASE,
)
_OTHER = pattern(r"PRAGMA\s+(?:\"?\w+\"?\s*\.\s*)?\"?defer_foreign_keys\b", re.IGNORECASE)
_KEPT: References = "kept"
_IGNORED: References = "ignored"
_VALUES: Mapping[str, References] = {
    **dict.fromkeys(("on", "true", "yes", "1"), _KEPT),
    **dict.fromkeys(("off", "false", "no", "0"), _IGNORED),
}
_READS = pattern(r"(?:SELECT|VALUES|PRAGMA|EXPLAIN|SAVEPOINT|RELEASE|ROLLBACK)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Enforcement:
    """`dialect`: the product's rules as this log has them; `told`: what held in each transaction, by its place in hint
    order, where that is not the same for all that it matters to."""

    dialect: Dialect
    told: Mapping[int, References]

    def of(self, log: Log) -> Log:
        """The log with what its transactions ran under."""
        if not self.told:
            return log
        return log.with_transactions(
            [_told(one, self.told.get(place, "kept")) for place, one in enumerate(log.transactions)]
        )


def enforcement(log: Log, dialect: Dialect) -> Enforcement:
    """What foreign keys were in each transaction of a log; the `dialect` is the log's, by its header."""
    if not PRODUCTS[log.header.dialect].running.switches_by_connection or log.header.initial_unknown or not _asks(log):
        return Enforcement(dialect, {})
    ran = dict(_ran_under(log))
    under = {ran[place] for place, one in enumerate(log.transactions) if any(map(_matters, one.statements))}
    if not under:
        return Enforcement(replace(dialect, sets_foreign_keys=True), {})
    own = replace(dialect, foreign_keys=under != {"ignored"}, sets_foreign_keys=True)
    told = {place: references for place, references in ran.items() if references != "kept"}
    return Enforcement(own, told if len(under) > 1 or under == {"unknown"} else {})


def _asks(log: Log) -> bool:
    """Whether a statement names the setting."""
    return any(map(names_setting, log.texts))


def names_setting(text: str) -> bool:
    """Whether a text names what tells whether foreign keys are kept."""
    return _MENTIONS.search(text) is not None


def _matters(statement: Statement) -> bool:
    """Whether foreign keys may have a say in what a statement does."""
    return _READS.match(beginning(statement.sql)) is None


def _told(transaction: Transaction, references: References) -> Transaction:
    if references == "kept":
        return transaction
    statements = tuple(msgspec.structs.replace(one, references=references) for one in transaction.statements)
    return msgspec.structs.replace(transaction, statements=statements)


def _ran_under(log: Log) -> Iterator[tuple[int, References]]:
    """What held in each transaction, by its place."""
    own = log.header.settings.get("foreign_keys")
    initial: References = ("kept" if own else "ignored") if isinstance(own, bool) else "unknown"
    tells_ends = all(
        one.end is not None or len(one.statements) < 2 or one.status != "committed" for one in log.transactions
    )
    sessions: dict[str | None, list[int]] = {}
    for place, transaction in enumerate(log.transactions):
        sessions.setdefault(transaction.session, []).append(place)
    for session, places in sessions.items():
        transactions = [log.transactions[place] for place in places]
        found: Iterable[References] = repeat(initial)
        if any(_MENTIONS.search(statement.sql) for one in transactions for statement in one.statements):
            ordered = session is not None and all(a.place < b.place for a, b in pairwise(transactions))
            found = _in_order(transactions, initial, tells_ends) if ordered else repeat("unknown")
        yield from zip(places, found, strict=False)


def _in_order(transactions: Sequence[Transaction], initial: References, tells_ends: bool) -> Iterable[References]:
    """What held in each transaction of one connection; of all unknown where what it was told contradicts that.
    `tells_ends`: whether a statement without an end was none of a transaction that was begun."""
    current = initial
    found: list[References] = []
    for transaction in transactions:
        found.append(current)
        failed = transaction.status != "committed" or any(one.error is not None for one in transaction.statements)
        inside = len(transaction.statements) > 1 or transaction.end is not None
        for statement in transaction.statements:
            text = beginning(statement.sql)
            if not _MENTIONS.search(text) or _OTHER.match(text):
                continue
            pragma = _PRAGMA.match(text)
            if pragma is None:
                current = "unknown" if re.search(r"\bPRAGMA\b", text, re.IGNORECASE) else current
                continue
            given = pragma["set"] or pragma["called"]
            if given is None:
                seen = _seen(statement)
                if seen is not None and current not in (seen, "unknown"):
                    return repeat("unknown")
                current = found[-1] = seen or current
                continue
            wanted = _VALUES.get(given.strip("\"'").lower(), "unknown")
            # inside it does nothing, unless an error had ended the transaction
            if wanted != current and (failed or statement.outcome_unknown or not (inside or tells_ends)):
                current = "unknown"
            elif not inside:
                current = wanted
    return found


def _seen(statement: Statement) -> References | None:
    """The value that a connection was told."""
    rows = [row for result in statement.results or () for row in result.rows]
    return _KEPT if rows == [(1,)] else _IGNORED if rows == [(0,)] else None
