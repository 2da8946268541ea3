"""A log that is a violation, as settings are looked for that may explain it. Knows no setting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property

from sql_semantics.frontend import beginning
from sql_semantics.library import SqlLibrary
from sql_semantics.values.types import Kind
from troubadour.model.log import JsonValue, Log, Statement, Transaction, TransactionId
from troubadour.model.verdict import Verdict

_QUERY = re.compile(
    r"(SELECT|WITH|VALUES|TABLE|FROM|SHOW|EXPLAIN|\()(?!.*\b(INSERT|DELETE|MERGE|(?<!FOR\s)(?<!KEY\s)UPDATE)\b)",
    re.IGNORECASE | re.DOTALL,
)


class Accused:
    """A log with the violations that it was said to be."""

    def __init__(self, log: Log, library: SqlLibrary, accusations: Sequence[Verdict]) -> None:
        self.log = log
        self.library = library
        self.tables = [table for table in library.catalog.tables.values() if table.query is None]
        self._accusations = accusations
        self._accused: set[tuple[type, TransactionId]] | None = set()
        for verdict in accusations:
            named = [] if verdict.failing_transaction is None else [verdict.failing_transaction]
            if verdict.core is None:
                self._accused = None
                break
            self._accused |= {(type(one), one) for one in (*named, *verdict.core)}

    def is_accused(self, transaction: Transaction) -> bool:
        """Whether it may be one of those that contradict each other."""
        return self._accused is None or (type(transaction.id), transaction.id) in self._accused

    def says(self, words: str) -> bool:
        """Whether a transaction that is accused has such words in a text, or a definition of the schema has."""
        pattern = re.compile(words, re.IGNORECASE)
        texts = (s.sql for t in self.log.transactions if self.is_accused(t) for s in t.statements)
        return any(map(pattern.search, texts)) or any(map(pattern.search, self.library.definitions))

    def in_sessions(self, words: str) -> bool:
        """Whether several connections have such words in texts."""
        pattern = re.compile(words, re.IGNORECASE)
        using = {t.session for t in self.log.transactions if any(pattern.search(s.sql) for s in t.statements)}
        return len(using) > 1

    def is_claimed(self, statement: Statement) -> bool:
        """Whether what is said is of this statement alone."""
        return any(one == statement for one in self._claimed)

    @cached_property
    def refuses_a_write(self) -> bool:
        """Whether it may be that a statement is accused for what it changed, or because it changed anything."""
        return len(self._claimed) < len(self._accusations) or not all(map(is_query, self._claimed))

    @cached_property
    def _claimed(self) -> list[Statement]:
        claims = {(type(c.transaction), c.transaction): c for c in (one.claim for one in self._accusations) if c}
        named = ((claims.get((type(t.id), t.id)), t) for t in self.log.transactions)
        return [t.statements[claim.statement] for claim, t in named if claim is not None]

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of all columns, in small letters."""
        return frozenset(column.name.lower() for table in self.tables for column in table.columns)

    @cached_property
    def text_columns(self) -> str:
        """A regular expression for the names of columns with texts."""
        names = {c.name for table in self.tables for c in table.columns if c.type.kind is Kind.TEXT}
        return "|".join(map(re.escape, sorted(names))) or r"\Z.\A"

    @cached_property
    def longest_text(self) -> int:
        """Bytes of the longest text that was there first or was answered."""
        rows = (row for entry in self.log.header.initial for row in entry.rows)
        texts = (value for some in (rows, self._answers()) for row in some for value in row if isinstance(value, str))
        return max((len(text.encode()) for text in texts), default=0)

    @cached_property
    def most_digits(self) -> int:
        """How many digits the longest number with a fraction shows that was answered."""
        return max((digits_of(value) for row in self._answers() for value in row), default=0)

    def _answers(self) -> Iterator[tuple[JsonValue, ...]]:
        return (row for transaction in self.log.transactions for one in transaction.statements for row in rows_of(one))


def is_query(statement: Statement) -> bool:
    """Whether a statement's own words change nothing."""
    return _QUERY.match(beginning(statement.sql)) is not None


_CHOOSES = re.compile(r"\b(WHERE|SELECT|FROM|USING)\b", re.IGNORECASE)


def choosing(statement: Statement) -> str:
    """The part of a text that decides what rows are read or written."""
    if is_query(statement):
        return statement.sql
    begins = _CHOOSES.search(statement.sql)
    return "" if begins is None else statement.sql[begins.start() :]


def rows_of(statement: Statement) -> list[tuple[JsonValue, ...]]:
    """The rows that were answered."""
    return [tuple(row) for result in statement.results or () for row in result.rows]


def digits_of(value: JsonValue) -> int:
    """How many digits a number shows that has a fraction; 0 for another value."""
    if not isinstance(value, float | Decimal):
        return 0
    shown = (Decimal(repr(value)) if isinstance(value, float) else value).normalize().as_tuple()
    return len(shown.digits) if isinstance(shown.exponent, int) and shown.exponent < 0 else 0
