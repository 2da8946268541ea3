"""The paper's RQ1 (§8.1): how long a violation takes that only symbolic reads can show, as the log grows.

A log of k transactions under read committed: k-1 procedure calls `Transfer(1, 2, 10)` of which nothing is seen, and one
read of account 2. From 300.00, each transfer may add 10 to any value that the account had before, so 400.00 can be from
k = 11 on, and 66.00 never. Run as ``python -m benchmarks.rq1``. Knows nothing of how the audit decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import process_time

import click
import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Verdict

POSSIBLE, IMPOSSIBLE = "400.00", "66.00"


@dataclass(frozen=True, slots=True)
class Shape:
    """What may be different about the log. `names`: of the table, its key and its number; `amounts` are transferred in
    turn; `sums`: the last transaction reads the sum of both accounts."""

    dialect: str = "mysql"
    not_null: bool = False
    times: bool = False
    names: tuple[str, str, str] = ("accounts", "acc_id", "balance")
    amounts: tuple[str, ...] = ("10",)
    sums: bool = False

    def schema(self) -> str:
        """The table."""
        table, key, number = self.names
        null = " NOT NULL" if self.not_null else ""
        return f"CREATE TABLE {table} ({key} INT PRIMARY KEY, {number} DECIMAL(12,2){null})"

    def procedures(self) -> tuple[str, ...]:
        """The paper's, or what they are in PL/pgSQL."""
        table, key, number = self.names
        if self.dialect == "postgres":
            update = f"UPDATE {table} SET {number} = {number}"
            body = f"BEGIN {update} + amt WHERE {key} = tgt; {update} - amt WHERE {key} = src; END"
            head = "CREATE PROCEDURE Transfer (src INT, tgt INT, amt DECIMAL(12,2)) LANGUAGE plpgsql"
            return (f"{head} AS $$ {body} $$",)
        return (
            "CREATE PROCEDURE Deposit (IN tgt INT, IN amt DECIMAL(12,2)) "
            f"BEGIN UPDATE {table} SET {number} = {number} + @amt WHERE {key} = @tgt; END;",
            "CREATE PROCEDURE Transfer (IN src INT, IN tgt INT, IN amt DECIMAL(12,2)) BEGIN CALL Deposit(@tgt, @amt); "
            f"UPDATE {table} SET {number} = {number} - @amt WHERE {key} = @src; END;",
        )

    def read(self) -> str:
        """The last transaction's only statement."""
        table, key, number = self.names
        return f"SELECT SUM({number}) FROM {table}" if self.sums else f"SELECT {number} FROM {table} WHERE {key} = 2"


def rq1_log(size: int, balance: str, shape: Shape | None = None) -> Log:
    """The log of `size` transactions whose last one sees `balance`; without a shape the paper's."""
    shape = shape or Shape()

    def transaction(number: int, statement: Statement) -> Transaction:
        if not shape.times:
            return Transaction(number, "committed", (statement,), number, commit=number)
        at = 100 * number
        timed = msgspec.structs.replace(statement, invoked=at + 10, returned=at + 20)
        end = End(invoked=at + 30, returned=at + 50)
        return Transaction(number, "committed", (timed,), number, commit=number, invoked=at, returned=at + 50, end=end)

    transactions = [
        transaction(number, Statement(f"CALL Transfer(1, 2, {shape.amounts[number % len(shape.amounts)]})"))
        for number in range(1, size)
    ]
    seen = Statement(shape.read(), results=(ObservedRows(("balance",), ((balance,),)),))
    transactions.append(transaction(size, seen))
    initial = (InitialTable(shape.names[0], None, [(1, "100.00"), (2, "300.00")]),)
    header = Header(
        shape.dialect, (shape.schema(),), isolation="read-committed", procedures=shape.procedures(), initial=initial
    )
    return Log(header, transactions, f"rq1 {size} {balance}")


def verdict_of(size: int, balance: str, timeout: float | None = None, shape: Shape | None = None) -> Verdict:
    """The audit's verdict; it holds the seconds that it took."""
    shape = shape or Shape()
    log = rq1_log(size, balance, shape)
    library = SqlLibrary(Dialect(shape.dialect), log.header.schema, log.header.procedures)
    return audit(log, library, Options(timeout=timeout))


def measure(size: int, balance: str, rounds: int, timeout: float, shape: Shape) -> tuple[Verdict, float]:
    """The verdict, and the median of the processor time."""
    spent: list[float] = []
    for _ in range(rounds):
        begun = process_time()
        verdict = verdict_of(size, balance, timeout, shape)
        spent.append(process_time() - begun)
    return verdict, median(spent)


SHAPES = {
    "as in the paper": (Shape(), POSSIBLE, IMPOSSIBLE),
    "not nullable": (Shape(not_null=True), POSSIBLE, IMPOSSIBLE),
    "with times": (Shape(times=True), POSSIBLE, IMPOSSIBLE),
    "PostgreSQL": (Shape(dialect="postgres"), POSSIBLE, IMPOSSIBLE),
    "no common divisor": (Shape(amounts=("7.31", "11.07", "13.13")), "327.75", "301.00"),
    "by count": (Shape(amounts=("30.00", "50.00")), "410.00", "340.00"),
    "sum of two rows": (Shape(sums=True), "430.00", "405.00"),
}


@click.command()
@click.option("--sizes", default=(30, 60, 120, 240), multiple=True, show_default=True, help="Transactions.")
@click.option("--rounds", default=3, show_default=True, help="Audits of each log; the median is printed.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds for one audit.")
def main(sizes: Sequence[int], rounds: int, timeout: float) -> None:
    """Print the processor time that an audit takes, for a balance that can be and for one that cannot."""
    click.echo(f"{'log':18} transactions     possible   impossible   verdicts")
    measure(sizes[0], IMPOSSIBLE, 1, timeout, Shape())  # warm-up
    for name, (shape, right, wrong) in SHAPES.items():
        for size in sizes:
            possible, short = measure(size, right, rounds, timeout, shape)
            impossible, long = measure(size, wrong, rounds, timeout, shape)
            statuses = f"{possible.status.value}, {impossible.status.value}"
            click.echo(f"{name:18} {size:12} {short:10.3f} s {long:10.3f} s   {statuses}")
    peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
    click.echo(f"peak memory {peak} MiB")


if __name__ == "__main__":
    main()
