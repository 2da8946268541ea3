"""Random transactions on objects: registers, lists, sets or counters under keys.

The parameters are those of Chronos' Table I (sessions aside) and of Elle's section 7.5, where a key is given up after
so many writes. Values of registers, lists and sets are unique for their key. Does not know how they are run.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

from sql_semantics.records import dataclass
from troubadour.workloads.zipf import zipf

Type = Literal["register", "list", "set", "counter"]
Distribution = Literal["uniform", "zipf", "hotspot"]
TABLES: dict[Type, str] = {"register": "kv", "list": "l", "set": "s", "counter": "c"}
"""What the table of each type is called in the logs made here."""
WRITES: dict[Type, str] = {"register": "w", "list": "append", "set": "add", "counter": "inc"}
HOT_KEYS, HOT_SHARE = 0.2, 0.8
ZIPF_EXPONENT = 1.0


@dataclass(frozen=True, slots=True)
class Operation:
    """`kind` as in an object log: r, w, append, add, inc; `value` is what is written, None for a read."""

    kind: str
    key: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`operations`: the least and the most of a transaction. `reads`: their share, 0 to 1. `keys`: in use at once;
    `writes_per_key`: after so many another key takes the place of one (None: never)."""

    type: Type = "register"
    keys: int = 1000
    operations: tuple[int, int] = (15, 15)
    reads: float = 0.5
    distribution: Distribution = "uniform"
    writes_per_key: int | None = None

    def __post_init__(self) -> None:
        least, most = self.operations
        if not 1 <= least <= most:
            raise ValueError(f"operations of a transaction: {least} to {most}")
        if self.keys < 1 or not 0 <= self.reads <= 1:
            raise ValueError("keys are one at least, the share of reads is from 0 to 1")


class Objects:
    """Draws transactions of a shape. One object serves all sessions, one call at a time."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._slots = list(range(shape.keys))
        self._next_key = shape.keys
        self._written: dict[int, int] = {}
        self._place: Callable[[Random], int] = {
            "uniform": lambda random: random.randrange(shape.keys),
            "zipf": lambda random: zipf(random, shape.keys, ZIPF_EXPONENT) - 1,
            "hotspot": self._hotspot,
        }[shape.distribution]

    def draw(self, random: Random) -> list[Operation]:
        """The next transaction."""
        least, most = self.shape.operations
        count = least if least == most else random.randint(least, most)
        return [self._operation(random) for _ in range(count)]

    def _operation(self, random: Random) -> Operation:
        place = self._place(random)
        key = self._slots[place]
        if random.random() < self.shape.reads:
            return Operation("r", key)
        number = self._written.get(key, 0) + 1
        self._written[key] = number
        if number == self.shape.writes_per_key:
            self._slots[place] = self._next_key
            self._next_key += 1
        value = random.randint(-3, 3) or 1 if self.shape.type == "counter" else number
        return Operation(WRITES[self.shape.type], key, value)

    def _hotspot(self, random: Random) -> int:
        keys = self.shape.keys
        hot = max(1, round(keys * HOT_KEYS))
        if random.random() < HOT_SHARE or hot == keys:
            return random.randrange(hot)
        return random.randrange(hot, keys)
