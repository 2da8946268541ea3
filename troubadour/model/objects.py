"""A log of operations on objects, in columns: registers, lists, sets and counters (as in Kingsbury and Alvaro, *Elle*,
VLDB 2020).

An operation is four numbers, a transaction some more; there is no Python object for either. Does not know the file
format, nor what any level allows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from troubadour.model.log import End, Header, TransactionId

Value = int | str
"""A key or a value: an integer of any size or a text (`1` and `"1"` differ)."""

Seen = Value | None | tuple[Value, ...]
"""What a read returned, or what is written; a tuple for a list or a set, None for nothing."""

ObjectType = Literal["register", "list", "set", "counter"]

READ, WRITE, APPEND, ADD, INC = range(5)
"""Kinds of operations, in `ObjectLog.kinds`."""

KINDS = ("r", "w", "append", "add", "inc")
"""What a log calls them."""

CHANGES: Mapping[ObjectType, int] = {"register": WRITE, "list": APPEND, "set": ADD, "counter": INC}
"""The operation that changes an object of each type."""

COMMITTED, ABORTED, UNKNOWN = range(3)
"""Statuses, in `ObjectLog.statuses`."""

STATUSES = ("committed", "aborted", "unknown")

NOTHING = -(2**63)
"""Code of null: a register that has no value."""

UNREAD = -(2**63) + 1
"""Code of an answer that is not known."""

MISSING = -(2**63)
"""Stands for an absent time or number in arrays."""

LEAST_TEXT = 2**62
"""The code of the first text; integers below that, and not below minus that, are their own codes."""


class Codes:
    """Keys and values as 64-bit integers, equal ones as equal ones: an integer of less than 62 bits is itself, a text
    or a longer integer is numbered in the order in which it came."""

    __slots__ = ("_codes", "texts")

    def __init__(self) -> None:
        self.texts: list[Value] = []
        self._codes: dict[Value, int] = {}

    def code(self, value: Value) -> int:
        """The code of a key or a value."""
        if isinstance(value, int) and -LEAST_TEXT <= value < LEAST_TEXT:
            return value
        found = self._codes.get(value)
        if found is None:
            found = self._codes[value] = LEAST_TEXT + len(self.texts)
            self.texts.append(value)
        return found

    def value(self, code: int) -> Value:
        """What a code stands for."""
        return code if code < LEAST_TEXT else self.texts[code - LEAST_TEXT]


class Sequences:
    """Sequences of codes, one after another: what reads of lists and sets returned."""

    __slots__ = ("first", "items")

    def __init__(self) -> None:
        self.first = array("q", [0])
        self.items = array("q")

    def __len__(self) -> int:
        return len(self.first) - 1

    def add(self, items: Sequence[int]) -> int:
        """Take a sequence; its number."""
        self.items.extend(items)
        self.first.append(len(self.items))
        return len(self.first) - 2

    def extend(self, items: array[int], lengths: Iterable[int]) -> None:
        """Take several, one after another in `items`."""
        self.items += items
        self.first.extend(accumulate(lengths, initial=self.first.pop()))

    def at(self, number: int) -> array[int]:
        """A sequence by its number."""
        return self.items[self.first[number] : self.first[number + 1]]


class ObjectDefinition(msgspec.Struct, frozen=True):
    """An object: its keys hold values of one `type`. `default` is what a key holds that `rows` does not name; both are
    codes, as an answer to a read of it has them. `unknown`: nothing is known of what its keys hold at first."""

    name: str
    type: ObjectType
    default: int
    rows: Mapping[int, int]
    unknown: bool = False

    def initial(self, key: int) -> int:
        """The code of what a key holds at first."""
        return self.rows.get(key, self.default)


class Operation(msgspec.Struct, frozen=True):
    """One operation as a log has it; `known` is False for a read whose answer is not known."""

    kind: int
    object: int
    key: Value
    value: Seen
    known: bool = True


class ObjectLog:
    """A log whose transactions are operations on objects.

    Columns by place, in the order of the file, replaced intents left out:
    `ids`, `statuses`, `sessions` (index into `session_names`, -1 for none), `numbers` (`sno`), `starts`, `commits`,
    `invoked`, `returned`, `end_invoked`, `end_returned` (MISSING for none), `clocks` and `levels` (indices into
    `clock_names` and `level_names`, whose first is None), and `more`: the rarer fields of single transactions by place,
    as a log has them (`begin`, `read_only`, `xid`, `snapshot`, `snapshot_at`, `trace_id`, `end` where it has an error).

    Columns by operation, those of place p at `first[p]` to `first[p + 1]`:
    `kinds`, `subjects` (index into `objects`), `keys` (codes), `values` (codes; for a read of a list or a set the
    number of a sequence in `sequences`; NOTHING or UNREAD).

    `order` are the places in hint order (`troubadour.formats.order.hint_order`), `lines` where each stands in its
    file. `digest` is the SHA-256 of the log's text, which a witness names. A key belongs to its object: key 7 of `kv`
    and key 7 of `l` have nothing to do with one another.
    """

    def __init__(self) -> None:
        self.header = Header("", ())
        self.objects: tuple[ObjectDefinition, ...] = ()
        self.codes = Codes()
        self.sequences = Sequences()
        self.digest = ""
        self.ids: list[TransactionId] = []
        self.statuses = bytearray()
        self.sessions = array("q")
        self.session_names: list[str] = []
        self.numbers = array("q")
        self.starts = array("q")
        self.commits = array("q")
        self.invoked = array("q")
        self.returned = array("q")
        self.end_invoked = array("q")
        self.end_returned = array("q")
        self.clocks = array("i")
        self.clock_names: list[str | None] = [None]
        self.levels = array("i")
        self.level_names: list[str | None] = [None]
        self.more: dict[int, dict[str, object]] = {}
        self.lines = array("q")
        self.first = array("q", [0])
        self.kinds = bytearray()
        self.subjects = array("H")
        self.keys = array("q")
        self.values = array("q")
        self.order = array("q")

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, status: int) -> int:
        """How many transactions have a status."""
        return self.statuses.count(status)

    def seen(self, position: int) -> Seen:
        """What an operation read or wrote, by its position in the columns; None too where the answer is not known."""
        code = self.values[position]
        if code in (NOTHING, UNREAD):
            return None
        kind = self.objects[self.subjects[position]].type
        return self.shown(code, kind) if self.kinds[position] == READ else self.codes.value(code)

    def shown(self, code: int, kind: ObjectType) -> Seen:
        """The value of an object of a type, by its code."""
        if code == NOTHING:
            return None
        if kind in ("list", "set"):
            return tuple(map(self.codes.value, self.sequences.at(code)))
        return self.codes.value(code)

    def operation(self, position: int) -> Operation:
        """One operation, by its position in the columns."""
        key = self.codes.value(self.keys[position])
        known = self.values[position] != UNREAD
        return Operation(self.kinds[position], self.subjects[position], key, self.seen(position), known)

    def operations(self, place: int) -> Iterator[Operation]:
        """Those of a transaction, in program order."""
        return map(self.operation, range(self.first[place], self.first[place + 1]))

    def session(self, place: int) -> str | None:
        """The session of a transaction."""
        number = self.sessions[place]
        return None if number < 0 else self.session_names[number]

    def end(self, place: int) -> End | None:
        """The COMMIT or ROLLBACK itself, where the log tells of it."""
        more = self.more.get(place)
        if more is not None and isinstance(found := more.get("end"), End):
            return found
        invoked, returned = self.end_invoked[place], self.end_returned[place]
        if invoked == MISSING and returned == MISSING:
            return None
        return End(None if invoked == MISSING else invoked, None if returned == MISSING else returned)
