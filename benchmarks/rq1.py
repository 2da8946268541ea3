"""The paper's RQ1 (§8.1): how long a violation takes that only symbolic reads can show, as the log grows.

A log of k transactions under read committed: k-1 procedure calls `Transfer(1, 2, 10)` of which nothing is seen, and one
read of account 2. From 300.00, each transfer may add 10 to any value that the account had before, so 400.00 can be from
k = 11 on, and 66.00 never. Run as ``python -m benchmarks.rq1``. Knows nothing of how the audit decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import click

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Verdict

SCHEMA = ("CREATE TABLE accounts (acc_id INT PRIMARY KEY, balance DECIMAL(12,2) NOT NULL)",)
PROCEDURES = (
    "CREATE PROCEDURE Deposit (IN tgt INT, IN amt DECIMAL(12,2)) "
    "BEGIN UPDATE accounts SET balance = balance + @amt WHERE acc_id = @tgt; END;",
    "CREATE PROCEDURE Transfer (IN src INT, IN tgt INT, IN amt DECIMAL(12,2)) BEGIN CALL Deposit(@tgt, @amt); "
    "UPDATE accounts SET balance = balance - @amt WHERE acc_id = @src; END;",
)
READ = "SELECT balance FROM accounts WHERE acc_id = 2"
POSSIBLE, IMPOSSIBLE = "400.00", "66.00"


def rq1_log(size: int, balance: str) -> Log:
    """The log of `size` transactions whose last one sees `balance`."""
    return rq1_variant(size, balance, "mysql")


def rq1_variant(size: int, balance: str, dialect: str, *, nullable: bool = False, times: bool = True) -> Log:
    """The same in another dialect, with a balance that may be NULL, or without commit times."""

    def commit(number: int) -> int | None:
        return number if times else None

    transactions = [
        Transaction(number, "committed", (Statement("CALL Transfer(1, 2, 10)"),), number, commit=commit(number))
        for number in range(1, size)
    ]
    seen = Statement(READ, results=(ObservedRows(("balance",), ((balance,),)),))
    transactions.append(Transaction(size, "committed", (seen,), size, commit=commit(size)))
    initial = (InitialTable("accounts", None, [(1, "100.00"), (2, "300.00")]),)
    schema = tuple(text.replace(" NOT NULL", "") for text in SCHEMA) if nullable else SCHEMA
    header = Header(dialect, schema, isolation="read-committed", procedures=PROCEDURES, initial=initial)
    return Log(header, transactions, f"rq1 {size} {balance}")


def verdict_of(size: int, balance: str, timeout: float | None = None) -> Verdict:
    """The audit's verdict; it holds the seconds that it took."""
    log = rq1_log(size, balance)
    library = SqlLibrary(Dialect("mysql"), log.header.schema, log.header.procedures)
    return audit(log, library, Options(timeout=timeout))


def measure(size: int, balance: str, rounds: int, timeout: float) -> tuple[Verdict, float]:
    """The verdict, and the median of its seconds."""
    verdicts = [verdict_of(size, balance, timeout) for _ in range(rounds)]
    return verdicts[0], median(verdict.seconds for verdict in verdicts)


@click.command()
@click.option("--sizes", default=(10, 20, 30, 40, 50, 60), multiple=True, show_default=True, help="Transactions.")
@click.option("--rounds", default=3, show_default=True, help="Audits of each log; the median is printed.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds for one audit.")
def main(sizes: Sequence[int], rounds: int, timeout: float) -> None:
    """Print the seconds that an audit takes, for a balance that can be and for one that cannot."""
    click.echo(f"transactions {POSSIBLE:>15} {IMPOSSIBLE:>15}   verdicts")
    measure(sizes[0], IMPOSSIBLE, 1, timeout)  # warm-up
    for size in sizes:
        possible, short = measure(size, POSSIBLE, rounds, timeout)
        impossible, long = measure(size, IMPOSSIBLE, rounds, timeout)
        statuses = f"{possible.status.value}, {impossible.status.value}"
        click.echo(f"{size:12} {short:13.3f} s {long:13.3f} s   {statuses}")


if __name__ == "__main__":
    main()
