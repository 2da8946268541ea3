"""RUBiS, an auction site, with the mix of the paper (§8; that of Cobra and Viper): RegisterUser 10, RegisterItem 15,
StoreBuyNow 15, StoreComment 20, RandomBrowse 40, which returns about twenty rows. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

from sql_semantics.records import dataclass
from troubadour.record import Draws, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.rubis.client import ROUTINES
from troubadour.workloads.texts import DialectName, Drawn, Mode, Scripted
from troubadour.workloads.zipf import zipf

REGIONS = 62
CATEGORIES = 20
_NAMES = ("Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal")


@dataclass(frozen=True, slots=True)
class Rubis(Scripted):
    """A `troubadour.record.Workload` of `users` and `items` to begin with, half as many comments as items."""

    folder = Path(__file__).parent
    dialect: DialectName = "postgres"
    mode: Mode = "procedures"
    users: int = 1000
    items: int = 4000
    seed: int = 0

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return {
            "regions": ("id", "name"),
            "users": (
                *("id", "first_name", "last_name", "nickname", "password", "email"),
                *("balance", "created", "region"),
            ),
            "ratings": ("user_id", "rating"),
            "items": (
                *("id", "name", "description", "initial_price", "quantity", "reserve_price", "buy_now"),
                *("nb_of_bids", "max_bid", "seller", "category"),
            ),
            "comments": ("id", "from_user", "to_user", "item", "rating", "comment"),
            "buy_now": ("id", "buyer", "item", "qty"),
        }

    def rows(self) -> Iterable[Rows]:
        """Everything but purchases."""
        random = Random(f"{self.seed}/rubis")
        tables = self.tables
        yield "regions", tables["regions"], [(region, f"region{region}") for region in range(REGIONS)]
        yield "users", tables["users"], [self._user(user) for user in range(1, self.users + 1)]
        yield "ratings", tables["ratings"], [(user, user % 5) for user in range(1, self.users + 1)]
        items = []
        for item in range(1, self.items + 1):
            price = _price(random)
            items.append(
                (
                    *(item, f"item{item}", f"sold by {random.choice(_NAMES)}", price, random.randint(10, 99)),
                    *(price + random.randint(10, 19), price, 0, Decimal(10), _one(random, self.users)),
                    random.randint(1, CATEGORIES),
                )
            )
        yield "items", tables["items"], items
        yield (
            "comments",
            tables["comments"],
            [
                (n, _one(random, self.users), _one(random, self.users), _one(random, self.items), n % 5, "fine")
                for n in range(1, self.items // 2 + 1)
            ],
        )

    def _user(self, user: int) -> tuple[object, ...]:
        first, last = _NAMES[user % len(_NAMES)], _NAMES[user // 8 % len(_NAMES)]
        balance = user * Decimal("2241215.1241")
        return (
            user,
            first,
            last,
            f"nick{user}",
            f"password{user}",
            f"nick{user}@rubis.com",
            balance,
            user,
            user % REGIONS,
        )

    def draw(self, random: Draws) -> Logic:
        """One transaction of the mix. One new user in twenty wants a nickname that is taken."""
        kind = random.random() * 100
        user, item = _one(random, self.users), _one(random, self.items)
        if kind < 10:
            new = self.users + random.fresh()
            nick = f"nick{user if random.random() < 0.05 else new}"
            names = random.choice(_NAMES), random.choice(_NAMES)
            drawn: Drawn = (
                *("register_user", new, *names, nick),
                *(f"region{random.randrange(REGIONS)}", new),
            )
        elif kind < 25:
            new = self.items + random.fresh()
            drawn = (
                *("register_item", new, user, f"item{new}", _price(random), random.randint(10, 99)),
                *(random.randint(10, 19), random.randint(1, CATEGORIES)),
            )
        elif kind < 40:
            drawn = ("store_buy_now", random.fresh(), user, zipf(random, self.items, 0.5), random.randint(1, 4))
        elif kind < 60:
            other = zipf(random, self.users, 0.5)
            drawn = (
                "store_comment",
                self.items + random.fresh(),
                user,
                other,
                item,
                f"thanks, {random.choice(_NAMES)}",
            )
        else:
            items = [_one(random, self.items) for _ in range(5)]
            ratings = [zipf(random, self.users, 0.5) for _ in range(3)]
            drawn = ("random_browse", random.randint(1, CATEGORIES), item, *items, *ratings)
        return ROUTINES.logic(self.mode, self.dialect, drawn)


def _one(random: Random, count: int) -> int:
    return random.randint(1, count)


def _price(random: Random) -> Decimal:
    return Decimal(random.randint(1000, 1999)).scaleb(-2)
