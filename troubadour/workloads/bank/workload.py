"""The bank's tables, their rows, and the mix of its transactions (paper §8, *Benchmarks* and RQ3: rows accessed,
blind writes, read only). Does not know the SQL of the writers; see `single_statement` and `read_then_write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import Path
from random import Random

from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass
from troubadour.record import Executor, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.bank import read_then_write, single_statement
from troubadour.workloads.texts import DialectName, Drawn, Routines, procedures_of

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"
BALANCE = "SELECT balance FROM accounts WHERE id = $1"
BALANCES = "SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id"
FEE = Decimal("2.50")
LIMIT = Decimal("40.00")
_FOLDER = Path(__file__).parent
_WRITERS = ("deposit", "withdraw", "transfer", "withdraw_overdraft")
ROUTINES = Routines({}, rows={"balance_check", "both_balances"}, out=dict.fromkeys(_WRITERS, 1))


class Variant(Enum):
    """Where the arithmetic is done: the server in an UPDATE, the client on what it read, or a stored procedure."""

    SINGLE_STATEMENT = "single-statement"
    READ_THEN_WRITE = "read-then-write"
    PROCEDURES = "procedures"


@dataclass(frozen=True, slots=True)
class Bank:
    """A `troubadour.record.Workload`.

    `read_only`, `blind_writes` (of the writing transactions) and `rows_accessed` (of the accounts, the first ones) are
    percentages from 0 to 100; the writing transactions share what is not read-only evenly. Raises ValueError.
    """

    accounts: int = 20
    variant: Variant = Variant.SINGLE_STATEMENT
    rows_accessed: float = 100.0
    blind_writes: float = 0.0
    read_only: float = 20.0
    seed: int = 0
    dialect: DialectName = "postgres"

    def __post_init__(self) -> None:
        for name in ("rows_accessed", "blind_writes", "read_only"):
            if not 0 <= getattr(self, name) <= 100:
                raise ValueError(f"{name} is a percentage, not {getattr(self, name)}")
        if self.accounts < 2:
            raise ValueError("a transfer needs two accounts")

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return (ACCOUNTS,)

    @property
    def procedures(self) -> Sequence[str]:
        """The transactions, where procedures run them."""
        return procedures_of(_FOLDER, self.dialect) if self.variant is Variant.PROCEDURES else ()

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"accounts": ("id", "balance")}

    @property
    def accessed(self) -> int:
        """How many accounts the transactions use: the percentage, rounded, but two at least."""
        return max(2, min(self.accounts, round(self.accounts * self.rows_accessed / 100)))

    def initial(self) -> list[tuple[int, Decimal]]:
        """The first rows: accounts 1 to n with balances up to 200.00, by the seed."""
        random = Random(f"{self.seed}/accounts")
        return [(account, _cents(random.randint(0, 20_000))) for account in range(1, self.accounts + 1)]

    def rows(self) -> Iterable[Rows]:
        """The one table's."""
        yield "accounts", ("id", "balance"), self.initial()

    def draw(self, random: Random) -> Logic:
        """One transaction with its arguments."""
        first, second = random.sample(range(1, self.accessed + 1), 2)
        reads = random.random() * 100 < self.read_only
        if self.variant is Variant.PROCEDURES:
            return self._procedure(random, reads, first, second)
        if reads:
            return _balance_check(random, first, second)
        blind = random.random() * 100 < self.blind_writes
        if self.variant is Variant.READ_THEN_WRITE:
            return _read_then_write(random, blind, first, second)
        return _single_statement(random, blind, first, second, self.dialect)

    def _procedure(self, random: Random, reads: bool, first: int, second: int) -> Logic:
        if reads:
            one = random.random() < 0.6
            drawn: Drawn = ("balance_check", first) if one else ("both_balances", first, second)
        else:
            show = int(random.random() * 100 >= self.blind_writes)
            amount, writer = _amount(random), random.choice(_WRITERS)
            accounts = (first, second) if writer == "transfer" else (first,)
            terms = (FEE, LIMIT) if writer == "withdraw_overdraft" else ()
            drawn = (writer, *accounts, amount, *terms, show)
        return ROUTINES.logic("procedures", self.dialect, drawn)


def _single_statement(random: Random, blind: bool, first: int, second: int, dialect: DialectName) -> Logic:
    bank = single_statement
    shape = bank.Shape.BLIND if blind else random.choice((bank.Shape.RETURNING, bank.Shape.READ_FIRST))
    if shape is bank.Shape.RETURNING and not PRODUCTS[dialect].running.update_returning:
        shape = bank.Shape.READ_FIRST
    amount = _amount(random)
    match random.randrange(4):
        case 0:
            return lambda executor: bank.deposit(executor, shape, first, amount)
        case 1:
            return lambda executor: bank.withdraw(executor, shape, first, amount)
        case 2:
            return lambda executor: bank.transfer(executor, shape, first, second, amount)
        case _:
            return lambda executor: bank.withdraw_overdraft(executor, shape, first, amount, FEE, LIMIT)


def _read_then_write(random: Random, blind: bool, first: int, second: int) -> Logic:
    bank = read_then_write
    amount = _amount(random)
    if blind:
        return lambda executor: bank.reset(executor, first, amount)
    match random.randrange(4):
        case 0:
            return lambda executor: bank.deposit(executor, first, amount)
        case 1:
            return lambda executor: bank.withdraw(executor, first, amount)
        case 2:
            return lambda executor: bank.transfer(executor, first, second, amount)
        case _:
            return lambda executor: bank.withdraw_overdraft(executor, first, amount, FEE, LIMIT)


def _balance_check(random: Random, first: int, second: int) -> Logic:
    """One balance mostly; else two, which one snapshot must hold, in two statements or in one."""

    def both(executor: Executor) -> None:
        executor.execute(BALANCE, (first,))
        executor.execute(BALANCE, (second,))

    def both_at_once(executor: Executor) -> None:
        executor.execute(BALANCES, (first, second))

    def one(executor: Executor) -> None:
        executor.execute(BALANCE, (first,))

    match random.randrange(5):
        case 0:
            return both
        case 1:
            return both_at_once
        case _:
            return one


def _amount(random: Random) -> Decimal:
    """1.00 to 60.99, every other time without cents."""
    return _cents(random.randint(1, 60) * 100 + random.choice((0, random.randrange(100))))


def _cents(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)
