"""TPC-C's first rows and mix (TPC-C 5.11, clauses 2 and 4.3.3; paper §8), at any scale. Clocks are numbers that rise,
so that equal seeds draw equal transactions. Does not know the transactions' logic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

from sql_semantics.records import dataclass
from troubadour.record import Draws, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.texts import DialectName, Drawn, Mode, Scripted
from troubadour.workloads.tpcc.client import ROUTINES

_SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
_C_LAST, _C_ID, _OL_I_ID = 123, 421, 5127
"""The constants C of NURand (2.1.6)."""
MISSING = 999_999
"""An item that does not exist: one new order in a hundred ends with it, and is rolled back (2.4.1.4)."""

TABLES: Mapping[str, Sequence[str]] = {
    "warehouse": ("w_id", "w_name", "w_tax", "w_ytd"),
    "district": ("d_w_id", "d_id", "d_name", "d_tax", "d_ytd", "d_next_o_id"),
    "customer": (
        *("c_w_id", "c_d_id", "c_id", "c_first", "c_middle", "c_last", "c_credit", "c_discount", "c_balance"),
        *("c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data"),
    ),
    "history": ("h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"),
    "item": ("i_id", "i_name", "i_price", "i_data"),
    "stock": (
        *("s_w_id", "s_i_id", "s_quantity", *(f"s_dist_{n:02}" for n in range(1, 11))),
        *("s_ytd", "s_order_cnt", "s_remote_cnt", "s_data"),
    ),
    "orders": ("o_w_id", "o_d_id", "o_id", "o_c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local"),
    "new_order": ("no_w_id", "no_d_id", "no_o_id"),
    "order_line": (
        *("ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_delivery_d"),
        *("ol_quantity", "ol_amount", "ol_dist_info"),
    ),
}


@dataclass(frozen=True, slots=True)
class Tpcc(Scripted):
    """A `troubadour.record.Workload`. `districts` (at most 10) of each warehouse, `customers` of each district, which
    have one order each to begin with, of which the last three in ten are not delivered. Raises ValueError.
    """

    folder = Path(__file__).parent
    dialect: DialectName = "postgres"
    mode: Mode = "procedures"
    warehouses: int = 1
    districts: int = 10
    customers: int = 30
    items: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.districts <= 10:
            raise ValueError("a warehouse has 1 to 10 districts")
        if not 1 <= self.warehouses <= 9999 or not 1 <= self.items < MISSING:
            raise ValueError("there are 1 to 9,999 warehouses, and 1 to 999,998 items")

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return TABLES

    def rows(self) -> Iterable[Rows]:
        """Clause 4.3.3, scaled."""
        random = Random(f"{self.seed}/tpcc")
        found: dict[str, list[tuple[object, ...]]] = {table: [] for table in TABLES}
        for item in range(1, self.items + 1):
            price = Decimal(random.randint(100, 10_000)).scaleb(-2)
            found["item"].append((item, f"item{item}", price, _data(random, f"data{item}")))
        for w in range(1, self.warehouses + 1):
            ytd = Decimal(10 * self.customers * self.districts)
            found["warehouse"].append((w, f"W{w}", _rate(random, 2000), ytd))
            for item in range(1, self.items + 1):
                infos = [f"{w}.{item}.{n}.{random.randint(0, 99):02}".ljust(24, "x") for n in range(1, 11)]
                stocked = random.randint(10, 100)
                found["stock"].append((w, item, stocked, *infos, Decimal(0), 0, 0, _data(random, f"stock{item}")))
            for d in range(1, self.districts + 1):
                self._district(random, found, w, d)
        for table, rows in found.items():
            yield table, TABLES[table], rows

    def _district(self, random: Random, found: dict[str, list[tuple[object, ...]]], w: int, d: int) -> None:
        ten = Decimal("10.00")
        rate, ytd = _rate(random, 2000), ten * self.customers
        found["district"].append((w, d, f"D{w}.{d}", rate, ytd, self.customers + 1))
        for c in range(1, self.customers + 1):
            credit = "BC" if random.random() < 0.1 else "GC"
            first, last = f"F{random.randint(0, 99):02}", last_name((c - 1) % self._names)
            discount = _rate(random, 5000)
            data = f"since {c}"
            found["customer"].append((w, d, c, first, "OE", last, credit, discount, -ten, ten, 1, 0, data))
            found["history"].append((c, d, w, d, w, 0, ten, "first"))
        buyers = random.sample(range(1, self.customers + 1), self.customers)
        for order, buyer in enumerate(buyers, 1):
            delivered = order <= self.customers * 7 // 10
            lines = random.randint(5, 15)
            carrier = random.randint(1, 10) if delivered else None
            found["orders"].append((w, d, order, buyer, 0, carrier, lines, 1))
            if not delivered:
                found["new_order"].append((w, d, order))
            for line in range(1, lines + 1):
                item, amount = random.randint(1, self.items), Decimal(0 if delivered else random.randint(1, 999_999))
                info = f"{w}.{item}.{d}".ljust(24, "x")
                moment = 0 if delivered else None
                found["order_line"].append((w, d, order, line, item, w, moment, 5, amount.scaleb(-2), info))

    @property
    def _names(self) -> int:
        """How many last names there are: three customers to each, as in the specification."""
        return max(1, min(1000, self.customers // 3))

    def draw(self, random: Draws) -> Logic:
        """One transaction: NewOrder 45, Payment 43, OrderStatus 4, Delivery 4, StockLevel 4 in a hundred."""
        w, d = random.randint(1, self.warehouses), random.randint(1, self.districts)
        kind = random.random() * 100
        drawn: Drawn
        if kind < 45:
            drawn = ("new_order_tx", w, d, self._customer(random), self._lines(random, w), random.fresh())
        elif kind < 88:
            remote = random.random() < 0.15 and self.warehouses > 1
            c_w = self._other(random, w) if remote else w
            c_d = random.randint(1, self.districts) if remote else d
            amount = Decimal(random.randint(100, 500_000)).scaleb(-2)
            drawn = ("payment_tx", w, d, c_w, c_d, *self._customer_or_name(random), amount, random.fresh())
        elif kind < 92:
            drawn = ("order_status_tx", w, d, *self._customer_or_name(random))
        elif kind < 96:
            drawn = ("delivery_tx", w, random.randint(1, 10), random.fresh())
        else:
            drawn = ("stock_level_tx", w, d, random.randint(10, 20))
        return ROUTINES.logic(self.mode, self.dialect, drawn)

    def _lines(self, random: Random, w: int) -> str:
        """5 to 15 lines of twelve digits: item, supplying warehouse, quantity."""
        lines = []
        for _ in range(random.randint(5, 15)):
            item = _nurand(random, 8191, _OL_I_ID, 1, self.items)
            supply = self._other(random, w) if self.warehouses > 1 and random.random() < 0.01 else w
            lines.append(f"{item:06}{supply:04}{random.randint(1, 10):02}")
        if random.random() < 0.01:
            lines[-1] = f"{MISSING:06}{w:04}01"
        return "".join(lines)

    def _customer(self, random: Random) -> int:
        return _nurand(random, 1023, _C_ID, 1, self.customers)

    def _customer_or_name(self, random: Random) -> tuple[int | None, str | None]:
        """Six in ten by last name."""
        if random.random() < 0.6:
            return None, last_name(_nurand(random, 255, _C_LAST, 0, self._names - 1))
        return self._customer(random), None

    def _other(self, random: Random, w: int) -> int:
        other = random.randint(1, self.warehouses - 1)
        return other + (other >= w)


def last_name(number: int) -> str:
    """Three syllables, one for each digit (4.3.2.3)."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:03}")


def _nurand(random: Random, a: int, c: int, least: int, most: int) -> int:
    """NURand (2.1.6): some numbers are drawn more often than others."""
    return ((random.randint(0, a) | random.randint(least, most)) + c) % (most - least + 1) + least


def _rate(random: Random, most: int) -> Decimal:
    return Decimal(random.randint(0, most)).scaleb(-4)


def _data(random: Random, text: str) -> str:
    """One in ten is original."""
    return f"{text} ORIGINAL" if random.random() < 0.1 else text
