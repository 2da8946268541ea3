"""SmallBank (Alomari, Cahill, Fekete and Röhm, ICDE 2008): each customer has a savings and a checking account, found
by name; its six transactions have a write skew under snapshot isolation. Does not know who runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

from sql_semantics.records import dataclass
from troubadour.record import Draws, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.smallbank.client import ROUTINES
from troubadour.workloads.texts import DialectName, Drawn, Mode, Scripted


@dataclass(frozen=True, slots=True)
class SmallBank(Scripted):
    """A `troubadour.record.Workload`. `hot` of the customers, the first ones, are used in `hot_share` percent of the
    draws."""

    folder = Path(__file__).parent
    dialect: DialectName = "postgres"
    mode: Mode = "procedures"
    customers: int = 1000
    hot: int = 20
    hot_share: float = 50.0
    seed: int = 0

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return {"accounts": ("custid", "name"), "savings": ("custid", "bal"), "checking": ("custid", "bal")}

    def rows(self) -> Iterable[Rows]:
        """Customers with up to 500.00 in either account."""
        random = Random(f"{self.seed}/smallbank")
        customers = range(1, self.customers + 1)
        yield "accounts", ("custid", "name"), [(customer, _name(customer)) for customer in customers]
        for table in ("savings", "checking"):
            balances = [(customer, Decimal(random.randint(0, 50_000)).scaleb(-2)) for customer in customers]
            yield table, ("custid", "bal"), balances

    def draw(self, random: Draws) -> Logic:
        """One of the six: 15 percent each, SendPayment 25."""
        name, other = map(_name, self._two(random))
        amount = Decimal(random.randint(100, 10_000)).scaleb(-2)
        kind = random.random() * 100
        if kind < 15:
            drawn: Drawn = ("amalgamate", name, other)
        elif kind < 30:
            drawn = ("balance", name)
        elif kind < 45:
            drawn = ("deposit_checking", name, amount)
        elif kind < 70:
            drawn = ("send_payment", name, other, amount)
        elif kind < 85:
            drawn = ("transact_savings", name, amount - 50)
        else:
            drawn = ("write_check", name, amount)
        return ROUTINES.logic(self.mode, self.dialect, drawn)

    def _two(self, random: Random) -> list[int]:
        hot = min(self.hot, self.customers)
        few = random.random() * 100 < self.hot_share and hot >= 2
        return random.sample(range(1, (hot if few else self.customers) + 1), 2)


def _name(customer: int) -> str:
    return f"{customer:064d}"
