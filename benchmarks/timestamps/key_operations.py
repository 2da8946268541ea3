"""Twitter's, RUBiS' and TPC-C's transactions as reads and writes of registers, as checkers of key-value stores are
given them (Chronos and Aion, sections V-A and VI-B).

A row is a key; what a transaction looks up by an index are reads of the keys that it finds. Sizes and shares are those
of the workloads in `troubadour.workloads`. Does not know how they are run or judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from troubadour.workloads.objects import Objects, Operation, Shape
from troubadour.workloads.zipf import zipf

_TABLE = 1 << 40
"""Keys of one table."""


class Keys(Objects):
    """Transactions of one application, each one of some kinds by their shares."""

    shares: tuple[tuple[float, str], ...] = ()

    def __init__(self) -> None:
        super().__init__(Shape())
        self._new = 0
        self._values: dict[int, int] = {}

    def draw(self, random: Random) -> list[Operation]:
        """The next transaction."""
        (name,) = random.choices([name for _, name in self.shares], [share for share, _ in self.shares])
        kind: Callable[[Random], Iterator[Operation]] = getattr(self, name)
        return [*kind(random)]

    def fresh(self) -> int:
        """A number that no row has."""
        self._new += 1
        return 1_000_000 + self._new

    def read(self, table: int, row: int) -> Operation:
        """A read of a row."""
        return Operation("r", table * _TABLE + row)

    def write(self, table: int, row: int) -> Operation:
        """A write of a row, of a value that it never had."""
        key = table * _TABLE + row
        value = self._values[key] = self._values.get(key, 0) + 1
        return Operation("w", key, value)

    def change(self, table: int, row: int) -> Iterator[Operation]:
        """A read of a row, and a write."""
        yield self.read(table, row)
        yield self.write(table, row)


class Twitter(Keys):
    """1,000 users; popular ones are followed and read more often."""

    shares = ((0.2, "tweet"), (0.2, "follow"), (0.2, "followed"), (0.2, "timeline"), (0.2, "tweets"))
    users = 1000

    def _user(self, random: Random) -> int:
        return zipf(random, self.users, 1.0)

    def tweet(self, random: Random) -> Iterator[Operation]:
        """A tweet, which becomes its author's last."""
        yield self.write(0, self.fresh())
        yield self.write(1, random.randrange(self.users))

    def follow(self, random: Random) -> Iterator[Operation]:
        """Both directions, and the number of those followed."""
        source, target = random.randrange(self.users), self._user(random)
        yield from self.change(2, source * self.users + target)
        yield self.write(3, target * self.users + source)
        yield from self.change(4, source)

    def followed(self, random: Random) -> Iterator[Operation]:
        """The first ten that are followed."""
        user = random.randrange(self.users)
        for at in range(10):
            yield self.read(2, user * self.users + at)
            yield self.read(4, at)

    def timeline(self, random: Random) -> Iterator[Operation]:
        """The last tweet of ten that are followed."""
        for _ in range(10):
            yield self.read(1, self._user(random))

    def tweets(self, random: Random) -> Iterator[Operation]:
        """A user and the last tweet."""
        user = self._user(random)
        yield self.read(4, user)
        yield self.read(1, user)


class Rubis(Keys):
    """Auctions: 200 users, 800 items."""

    shares = ((0.2, "browse"), (0.3, "view"), (0.25, "bid"), (0.1, "buy"), (0.1, "comment"), (0.05, "register"))
    users, items = 200, 800

    def browse(self, random: Random) -> Iterator[Operation]:
        """Twenty items of a category."""
        first = random.randrange(self.items)
        for at in range(20):
            yield self.read(1, (first + at) % self.items)

    def view(self, random: Random) -> Iterator[Operation]:
        """An item, its seller and its last bid."""
        item = random.randrange(self.items)
        yield self.read(1, item)
        yield self.read(0, item % self.users)
        yield self.read(2, item)

    def bid(self, random: Random) -> Iterator[Operation]:
        """A bid, and what the item has of it."""
        item = random.randrange(self.items)
        yield self.read(0, random.randrange(self.users))
        yield from self.change(1, item)
        yield self.write(2, item)
        yield self.write(3, self.fresh())

    def buy(self, random: Random) -> Iterator[Operation]:
        """Buy now."""
        yield self.read(0, random.randrange(self.users))
        yield from self.change(1, random.randrange(self.items))
        yield self.write(4, self.fresh())

    def comment(self, random: Random) -> Iterator[Operation]:
        """A comment, which changes a user's rating."""
        yield self.read(1, random.randrange(self.items))
        yield from self.change(0, random.randrange(self.users))
        yield self.write(5, self.fresh())

    def register(self, random: Random) -> Iterator[Operation]:
        """A new user."""
        del random
        yield self.write(0, self.fresh())


class Tpcc(Keys):
    """Four warehouses of ten districts; no key is looked up by a name."""

    shares = ((0.45, "new_order"), (0.43, "payment"), (0.04, "status"), (0.04, "delivery"), (0.04, "stock_level"))
    warehouses, customers, items = 4, 300, 10_000

    def __init__(self) -> None:
        super().__init__()
        self._orders: dict[int, list[tuple[int, list[int]]]] = {}
        """Of each district its last orders, with their items."""
        self._open: dict[int, list[tuple[int, list[int]]]] = {}

    def _district(self, random: Random) -> int:
        return random.randrange(self.warehouses * 10)

    def _customer(self, random: Random, district: int) -> int:
        return district * self.customers + random.randrange(self.customers)

    def new_order(self, random: Random) -> Iterator[Operation]:
        """Five to fifteen items of a stock."""
        district, order = self._district(random), self.fresh()
        warehouse = district // 10
        lines = [random.randrange(self.items) for _ in range(random.randint(5, 15))]
        yield self.read(0, warehouse)
        yield from self.change(1, district)
        yield self.read(2, self._customer(random, district))
        yield self.write(3, order)
        yield self.write(4, order)
        for at, item in enumerate(lines):
            yield self.read(5, item)
            yield from self.change(6, warehouse * self.items + item)
            yield self.write(7, order * 16 + at)
        self._orders[district] = [*self._orders.get(district, [])[-19:], (order, lines)]
        self._open.setdefault(district, []).append((order, lines))

    def payment(self, random: Random) -> Iterator[Operation]:
        """A payment to a warehouse and a district."""
        district = self._district(random)
        yield from self.change(0, district // 10)
        yield from self.change(1, district)
        yield from self.change(2, self._customer(random, district))
        yield self.write(8, self.fresh())

    def status(self, random: Random) -> Iterator[Operation]:
        """A customer's last order."""
        district = self._district(random)
        yield self.read(2, self._customer(random, district))
        for order, lines in self._orders.get(district, [])[-1:]:
            yield self.read(3, order)
            for at in range(len(lines)):
                yield self.read(7, order * 16 + at)

    def delivery(self, random: Random) -> Iterator[Operation]:
        """The oldest open order of each district of a warehouse."""
        warehouse = random.randrange(self.warehouses)
        for district in range(warehouse * 10, warehouse * 10 + 10):
            if self._open.get(district):
                order, lines = self._open[district].pop(0)
                yield from self.change(4, order)
                yield from self.change(3, order)
                for at in range(len(lines)):
                    yield from self.change(7, order * 16 + at)
                yield from self.change(2, self._customer(random, district))

    def stock_level(self, random: Random) -> Iterator[Operation]:
        """What the last twenty orders of a district took."""
        district = self._district(random)
        yield self.read(1, district)
        taken = {item for _, lines in self._orders.get(district, []) for item in lines}
        for item in sorted(taken):
            yield self.read(6, district // 10 * self.items + item)


APPLICATIONS: dict[str, type[Keys]] = {"Twitter": Twitter, "RUBiS": Rubis, "TPC-C": Tpcc}
