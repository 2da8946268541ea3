"""A ledger whose every entry has a number of its own, so that it can be told which transactions a server kept: entries
and running totals, written together. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.records import dataclass
from troubadour.record import Draws, Executor, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.texts import DialectName

LAST_LOOK = (
    "SELECT id, account, amount FROM entries ORDER BY id",
    "SELECT account, total, entries FROM totals ORDER BY account",
)
"""What a session reads after a run: all there is."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A `troubadour.record.Workload` on accounts 1 to `accounts`."""

    dialect: DialectName = "postgres"
    accounts: int = 10

    @property
    def schema(self) -> Sequence[str]:
        """Entries, and totals of them."""
        return (
            "CREATE TABLE entries (id BIGINT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL)",
            "CREATE TABLE totals (account INT PRIMARY KEY, total BIGINT NOT NULL, entries INT NOT NULL)",
        )

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return {"entries": ("id", "account", "amount"), "totals": ("account", "total", "entries")}

    def rows(self) -> Iterable[Rows]:
        """Totals of nothing."""
        yield "totals", self.tables["totals"], [(account, 0, 0) for account in range(1, self.accounts + 1)]

    def draw(self, random: Draws) -> Logic:
        """Mostly an entry with its total, sometimes a look at a total and at its entries."""
        account, amount = random.randint(1, self.accounts), random.randint(1, 99)
        if random.random() < 0.2:
            return lambda executor: _look(executor, account)
        entry = random.fresh()
        return lambda executor: _enter(executor, entry, account, amount)


def _look(executor: Executor, account: int) -> None:
    executor.execute("SELECT total, entries FROM totals WHERE account = $1", (account,))
    executor.execute("SELECT COUNT(*), SUM(amount) FROM entries WHERE account = $1", (account,))


def _enter(executor: Executor, entry: int, account: int, amount: int) -> None:
    executor.execute("INSERT INTO entries (id, account, amount) VALUES ($1, $2, $3)", (entry, account, amount))
    executor.execute(
        "UPDATE totals SET total = total + $1, entries = entries + 1 WHERE account = $2", (amount, account)
    )
