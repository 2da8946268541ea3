"""The CREATE and DROP statements of a log (paper §3.1), and those that are refused.

The library reads them before anything is run. Does not know what they define.
"""

from __future__ import annotations

from sql_semantics.frontend import defines_table
from sql_semantics.ir.definitions import DropTable
from troubadour.execution.prepared import PreparedTransaction, UnsupportedStatement
from troubadour.model.log import Log


def definitions_of(log: Log) -> tuple[str, ...]:
    """Every statement that may create or drop a table, in hint order, for `SqlLibrary`."""
    if log.header.dialect == "mysql":
        return ()
    return tuple(
        statement.sql
        for transaction in log.transactions
        for statement in transaction.statements
        if defines_table(statement.sql)
    )


def refuse_drops(transaction: PreparedTransaction) -> None:
    """Raise UnsupportedStatement for a DROP TABLE, which at a level of snapshots removes rows that its transaction
    need not see: no write conflict, but the model would find one."""
    for statement in transaction.statements:
        if statement.program is not None and isinstance(statement.program.statement, DropTable):
            construct = "DROP TABLE in a transaction that reads a snapshot"
            raise UnsupportedStatement(construct, transaction.transaction.id, statement.index)
