"""Short hands for tests of replay: small logs over one table, what replay says of a witness. Knows no expectation."""

from __future__ import annotations

from typing import Any

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import (
    Header,
    InitialTable,
    JsonValue,
    Log,
    ObservedRows,
    Statement,
    Transaction,
)
from troubadour.model.witness import RowRead, TransactionView, Witness
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, v INT NOT NULL, w INT UNIQUE)"
ADD_1, ADD_2 = ("UPDATE accounts SET v = v + 1 WHERE id = 1", "UPDATE accounts SET v = v + 1 WHERE id = 2")
ROW_1 = "accounts:-:0"


def read(key: int, value: JsonValue, *, returned: int | None = None) -> Statement:
    rows = () if value is None else ((value,),)
    return Statement(
        f"SELECT v FROM accounts WHERE id = {key}", results=(ObservedRows(("v",), rows),), returned=returned
    )


def transaction(id: str, *statements: Statement | str, **fields: Any) -> Transaction:
    made = tuple(Statement(s) if isinstance(s, str) else s for s in statements)
    return Transaction(id, fields.pop("status", "committed"), made, 0, **fields)


def log_of(*transactions: Transaction, dialect: str = "postgres", **fields: Any) -> Log:
    initial = (InitialTable("accounts", None, [(1, 10, None), (2, 20, None)]),)
    header = Header(dialect=dialect, schema=(ACCOUNTS,), initial=initial, **fields)
    return Log(header, transactions, "digest")


def judged(
    log: Log, level: str | None, *views: tuple[str, int] | tuple[str, int, tuple[RowRead, ...]], recorded: bool = False
) -> Refusal | None:
    order = tuple(view[0] for view in views)
    seen = tuple(TransactionView(view[1], view[2] if len(view) == 3 else ()) for view in views)
    library = SqlLibrary(Dialect(log.header.dialect, collation="C"), log.header.schema)
    witness = Witness("digest", level, order, seen)
    return check(log, witness, library, isolation=level, order_recorded=recorded)


def condition(*arguments: Any, **options: Any) -> tuple[str, Any] | None:
    refusal = judged(*arguments, **options)
    return None if refusal is None else (refusal.condition, refusal.transaction)
