"""Reading a log of operations on objects into columns.

Lines of the usual shape are decoded many at once by an exact grammar, whose columns are cut out without looking at any
operation by itself; a line that it refuses, or that may repeat a key, is read by the general way, which says what is
wrong or finds that nothing is. Both check every byte. Does not know what an operation means.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import chain
from operator import sub
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from troubadour.formats.convert import check_times
from troubadour.formats.entries import BadEntry, RawHeader, RawTransaction, shorten
from troubadour.formats.objects.initial import ObjectInitial, is_value
from troubadour.formats.order import LONG, Times, hint_order
from troubadour.model.log import Header, LogError, TransactionId
from troubadour.model.objects import (
    ABORTED,
    CHANGES,
    KINDS,
    LEAST_TEXT,
    MISSING,
    NOTHING,
    READ,
    STATUSES,
    UNREAD,
    Codes,
    ObjectLog,
    ObjectType,
)

_AT_ONCE = 1 << 15
"""Bytes of text that are decoded at once: their objects stay in the processor's cache."""

_KIND = {name: number for number, name in enumerate(KINDS)}
_STATUS = {name: number for number, name in enumerate(STATUSES)}
_CHANGED_BY = {KINDS[change]: kind for kind, change in CHANGES.items()}
_SHOWN: dict[ObjectType, tuple[type, ...]] = {
    "register": (int, str, type(None)), "list": (list,), "set": (list,), "counter": (int,)
}  # fmt: skip
_GIVEN: dict[ObjectType, tuple[type, ...]] = {
    "register": (int, str), "list": (int, str), "set": (int, str), "counter": (int,)
}  # fmt: skip
_READS = bytes(kind == READ for kind in range(256))
"""Of each kind of operation whether it is a read."""

_MORE = ("begin", "read_only", "xid", "snapshot", "snapshot_at", "trace_id")

Operation = TypeVar("Operation")
_Small = Annotated[int, msgspec.Meta(ge=-LEAST_TEXT, lt=LEAST_TEXT)]
_Moment = Annotated[int, msgspec.Meta(ge=MISSING + 1, le=2**63 - 1)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _End(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """An end without an error."""

    invoked: _Moment = MISSING
    returned: _Moment = MISSING


class _Line(msgspec.Struct, Generic[Operation], gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A transaction line of the usual shape."""

    id: TransactionId
    status: Literal["committed", "aborted", "unknown"]
    ops: list[Operation]
    session: str | int | None = None
    sno: _Number = MISSING
    start: _Moment = MISSING
    commit: _Moment = MISSING
    invoked: _Moment = MISSING
    returned: _Moment = MISSING
    end: _End | None = None
    isolation: str | None = None
    clock: str | None = None


UsualLine = _Line[Any]
"""A transaction line of the usual shape; a time that it does not have is MISSING."""


class _Usual(NamedTuple):
    """Lines, and the columns of all their operations; `shown` are the answers to reads of lists and sets, `items` what
    is in them."""

    entries: list[_Line[Any]]
    operations: list[list[Any]]
    kinds: bytes
    subjects: array[int]
    keys: list[Any]
    values: list[Any]
    shown: list[list[Any]]
    items: list[Any]


_encode = msgspec.json.Encoder().encode


class ObjectLogReader:
    """The transactions read so far."""

    def __init__(self, header: RawHeader) -> None:
        assert header.objects is not None
        self.log = ObjectLog()
        self._names = {name: number for number, name in enumerate(header.objects)}
        self.types: list[ObjectType] = list(header.objects.values())
        """Of each object."""
        self._initial: ObjectInitial | None = None
        self._places: dict[TransactionId, int] = {}
        self._segments: list[tuple[int, str]] = []
        """First place and name of each segment."""
        self._sessions: dict[str | int | None, int] = {None: -1}
        """Numbers by what lines call them, texts and integers alike."""
        self._clocks: dict[str | None, int] = {None: 0}
        self._levels: dict[str | None, int] = {None: 0}
        self._intents: dict[TransactionId, int] = {}
        self._dropped: set[int] = set()
        names = Literal[tuple(header.objects)] if header.objects else Literal[""]
        types = set(self.types)
        self._one_type = self.types[0] if len(types) == 1 else None
        # types that hang on the header: mypy knows none that are made as the program runs
        kinds = Literal[KINDS if self._one_type is None else ("r", KINDS[CHANGES[self._one_type]])]  # type: ignore[valid-type]
        integers: Any = _Small
        values: Any = _Small if types == {"counter"} else _Small | str
        if types & {"list", "set"}:
            integers, values = integers | list[_Small], values | list[_Small | str]
        if "register" in types:
            integers, values = integers | None, values | None
        exact: Any = tuple[kinds, names, _Small, integers]  # type: ignore[valid-type]
        wide: Any = tuple[kinds, names, _Small | str, values]  # type: ignore[valid-type]
        self._numbers_only: Callable[[bytes], list[_Line[Any]]] = msgspec.json.Decoder(_Line[exact]).decode_lines
        self._any_values: Callable[[bytes], list[_Line[Any]]] = msgspec.json.Decoder(_Line[wide]).decode_lines
        pairs = {(READ, number) for number in range(len(self.types))}
        self._allowed = pairs | {(CHANGES[kind], number) for number, kind in enumerate(self.types)}
        self._shapes = {(READ, number, one) for number, kind in enumerate(self.types) for one in _SHOWN[kind]}
        self._shapes |= {(CHANGES[kind], number, one) for number, kind in enumerate(self.types) for one in _GIVEN[kind]}
        """What values may be in lines of the usual shape."""
        self._collections = {number for number, kind in enumerate(self.types) if kind in ("list", "set")}
        self._counters = {number for number, kind in enumerate(self.types) if kind == "counter"}

    def begin(self, name: str) -> None:
        """Another segment begins, which messages call by this name."""
        self._segments.append((len(self.log.ids), name))

    def initial(self, header: RawHeader) -> ObjectInitial:
        """The initial values of a segment, as its header gives them. Raises BadEntry."""
        return ObjectInitial(header)

    def add_initial(self, initial: ObjectInitial) -> None:
        """A segment's initial values: they stand in one, or identically in several. Raises BadEntry."""
        if self._initial is None or self._initial.says_nothing():
            self._initial = initial
        elif not initial.says_nothing() and initial != self._initial:
            raise BadEntry("the initial values differ from those of an earlier segment")

    def several(self, batch: list[bytes]) -> int:
        """How many lines to take at once."""
        return max(1, len(batch) * _AT_ONCE // (1 + sum(map(len, batch))))

    def add_all(self, batch: list[bytes], number: int, header_clock: str | None) -> int | None:
        """Take many lines, the first of which has this number; how many are no intents, or None, with nothing taken,
        where any needs a closer look."""
        text = b"\n".join(batch)
        if b"\\" in text:
            return None
        taken = self._take(self._numbers_only, text, len(batch), number, header_clock)
        return taken or self._take(self._any_values, text, len(batch), number, header_clock)

    def add_log(self, other: ObjectLog, number: int) -> bool:
        """Take the transactions of lines that another reader of this log has taken, one a line, with the codes and
        sequences of this one; False, with nothing taken, where an id came before."""
        log, places = self.log, self._places
        if not places.keys().isdisjoint(other.ids):
            return False
        places.update(zip(other.ids, range(len(log.ids), len(log.ids) + len(other.ids)), strict=True))
        sessions = [*map(self._session, other.session_names), -1]
        clocks = [_numbered(self._clocks, log.clock_names, name) for name in other.clock_names]
        levels = [_numbered(self._levels, log.level_names, name) for name in other.level_names]
        other.sessions = array("q", map(sessions.__getitem__, other.sessions))
        other.clocks = array("i", map(clocks.__getitem__, other.clocks))
        other.levels = array("i", map(levels.__getitem__, other.levels))
        other.lines = array("q", range(number, number + len(other.ids)))
        for name in (*COLUMNS, "kinds", "subjects", "keys", "values"):
            column = getattr(log, name)
            column += getattr(other, name)
        before = log.first[-1]
        log.first.extend([before + position for position in other.first[1:]])
        log.sequences.extend(other.sequences.items, map(sub, other.sequences.first[1:], other.sequences.first))
        return True

    def add(self, raw: RawTransaction, line: bytes, number: int, header_clock: str | None) -> None:
        """Take a transaction line or an intent. Raises BadEntry."""
        del line
        log = self.log
        try:
            operations = self._checked(raw)
        except BadEntry as error:
            raise error.within(raw.id) from error
        place = len(log.ids)
        if not self._settle(raw, place):
            return
        for kind, subject, key, value in operations:
            log.kinds.append(kind)
            log.subjects.append(subject)
            log.keys.append(key)
            log.values.append(log.sequences.add(value) if isinstance(value, list) else value)
        log.first.append(len(log.kinds))
        log.ids.append(raw.id)
        log.statuses.append(_STATUS[raw.status])
        log.sessions.append(self._session(raw.session))
        for column, given in (
            (log.numbers, raw.sno),
            (log.starts, raw.start),
            (log.commits, raw.commit),
            (log.invoked, raw.begin.invoked if raw.invoked is None and raw.begin is not None else raw.invoked),
            (log.returned, raw.returned),
            (log.end_invoked, None if raw.end is None else raw.end.invoked),
            (log.end_returned, None if raw.end is None else raw.end.returned),
        ):
            column.append(MISSING if given is None else given)
        log.clocks.append(_numbered(self._clocks, log.clock_names, raw.clock or header_clock))
        log.levels.append(_numbered(self._levels, log.level_names, raw.isolation))
        log.lines.append(number)
        more: dict[str, object] = {name: found for name in _MORE if (found := getattr(raw, name)) is not None}
        if raw.end is not None and raw.end.error is not None:
            more["end"] = raw.end
        if more:
            log.more[place] = more

    def check(self, raw: RawTransaction) -> None:
        """Look at a transaction line by itself, and take nothing. Raises BadEntry."""
        try:
            self._checked(raw)
        except BadEntry as error:
            raise error.within(raw.id) from error
        self.log.codes = Codes()

    def _checked(self, raw: RawTransaction) -> list[tuple[int, int, int, int | list[int]]]:
        if raw.statements is not None:
            raise BadEntry("statements, in a log of operations on objects")
        if raw.ops is None:
            raise BadEntry("missing required field 'ops'")
        check_times(raw)
        return self._operations(raw.ops)

    def finish(self, header: Header, digest: str) -> ObjectLog:
        """The log. Raises LogError where two transactions of a session have one number."""
        self._check_numbers()
        log = self.log
        if self._dropped:
            log = self.log = kept(log, [place for place in range(len(log.ids)) if place not in self._dropped])
        log.header, log.digest = header, digest
        initial = self._initial
        assert initial is not None
        log.objects = initial.definitions(log.codes, log.sequences)
        log.order = hint_order(times_of(log), range(len(log.ids)))
        return log

    def usual(self, batch: list[bytes]) -> list[UsualLine] | None:
        """Lines of the usual shape, of which nothing is taken; None where any needs a closer look."""
        text = b"\n".join(batch)
        if b"\\" in text:
            return None
        for decode in (self._numbers_only, self._any_values):
            found = self._usual(decode, text, len(batch))
            if found is not None:
                for entry, several in zip(found.entries, found.operations, strict=True):
                    entry.ops = several
                return found.entries if _fit(found.entries) else None
        return None

    def _usual(self, decode: Callable[[bytes], list[_Line[Any]]], text: bytes, lines: int) -> _Usual | None:
        """Lines that a grammar decodes, their operations apart; None where it does not, or any needs a closer look.
        Every read has an answer then, that of a list or a set not null."""
        entries = _decoded(decode, text, lines)
        if entries is None:
            return None
        operations = [entry.ops for entry in entries]
        cells = list(chain.from_iterable(chain.from_iterable(operations)))
        for entry in entries:
            entry.ops = []
        keys, values = cells[2::4], cells[3::4]
        kinds = bytes(map(_KIND.__getitem__, cells[::4]))
        subjects = self._subjects(cells[1::4])
        if not self._fits(kinds, subjects, values):
            return None
        shown = [value for value in values if type(value) is list] if self._collections else []
        items = [*chain.from_iterable(shown)]
        # a kind, an object and a text have two quotes each; see `_may_repeat_a_key` of `troubadour.formats.entries`
        texts = 0 if decode is self._numbers_only else sum(map(_count_texts, (keys, values, items)))
        if _encode(entries).count(b'"') + len(cells) + 2 * texts != text.count(b'"'):
            return None
        return _Usual(entries, operations, kinds, subjects, keys, values, shown, items)

    def _fits(self, kinds: bytes, subjects: array[int], values: list[Any]) -> bool:
        """Whether what a grammar decoded are operations that the objects have, with values that these hold."""
        if self._one_type is None:
            return self._shapes.issuperset(zip(kinds, subjects, map(type, values), strict=True))
        if self._one_type == "counter":
            return True
        if self._one_type == "register":
            return None not in values or not any(
                kind for kind, value in zip(kinds, values, strict=True) if value is None
            )
        return bytes([type(value) is list for value in values]) == kinds.translate(_READS)

    def _subjects(self, names: list[Any]) -> array[int]:
        """The numbers of objects by their names."""
        if len(self._names) == 1:
            return array("H", bytes(2 * len(names)))
        return array("H", map(self._names.__getitem__, names))

    def _take(
        self,
        decode: Callable[[bytes], list[_Line[Any]]],
        text: bytes,
        lines: int,
        number: int,
        header_clock: str | None,
    ) -> int | None:
        """Take lines of the usual shape; None, with nothing taken, where any needs a closer look."""
        found = self._usual(decode, text, lines)
        if found is None or not self._take_entries(found.entries, found.operations, number, header_clock):
            return None
        self.log.kinds += found.kinds
        self.log.subjects += found.subjects
        self._take_values(found.keys, found.values, found.shown, found.items)
        return lines

    def add_usual(self, entries: list[UsualLine], number: int, header_clock: str | None) -> bool:
        """Take lines that `usual` gave, the first of which has this number; False, with nothing taken, where any needs
        a closer look."""
        operations = [entry.ops for entry in entries]
        if not self._take_entries(entries, operations, number, header_clock):
            return False
        cells = list(chain.from_iterable(chain.from_iterable(operations)))
        values = cells[3::4]
        shown = [value for value in values if type(value) is list] if self._collections else []
        self.log.kinds += bytes(map(_KIND.__getitem__, cells[::4]))
        self.log.subjects += array("H", map(self._names.__getitem__, cells[1::4]))
        self._take_values(cells[2::4], values, shown, [*chain.from_iterable(shown)])
        return True

    def _take_values(self, keys: list[Any], values: list[Any], shown: list[list[Any]], items: list[Any]) -> None:
        """The keys and values of operations; `shown` are the answers to reads of lists and sets, `items` what is in
        them."""
        log = self.log
        log.keys += self._coded(keys)
        if shown:
            numbers = iter(range(len(log.sequences), len(log.sequences) + len(shown)))
            log.sequences.extend(self._coded(items), map(len, shown))
            values = [next(numbers) if type(value) is list else value for value in values]
        log.values += self._coded(values)

    def _coded(self, values: list[Any]) -> array[int]:
        """The codes of integers of less than 62 bits, texts and nulls."""
        try:
            return array("q", values)
        except TypeError:
            pass
        values = [NOTHING if value is None else value for value in values]
        try:
            return array("q", values)
        except TypeError:
            code = self.log.codes.code
            return array("q", [value if value is NOTHING else code(value) for value in values])

    def _take_entries(
        self, entries: list[_Line[Any]], operations: list[Any], number: int, header_clock: str | None
    ) -> bool:
        """What lines tell of their transactions; False, with nothing taken, where any needs a closer look."""
        log, places = self.log, self._places
        ids = [entry.id for entry in entries]
        if len(set(ids)) != len(ids) or not places.keys().isdisjoint(ids):
            return False
        if not _fit(entries):
            return False
        place = len(log.ids)
        places.update(zip(ids, range(place, place + len(ids)), strict=True))
        log.ids += ids
        log.statuses += bytes([_STATUS[entry.status] for entry in entries])
        sessions = [entry.session for entry in entries]
        for session in dict.fromkeys(sessions):
            self._session(session)
        log.sessions.extend(map(self._sessions.__getitem__, sessions))
        log.numbers.extend([entry.sno for entry in entries])
        log.starts.extend([entry.start for entry in entries])
        log.commits.extend([entry.commit for entry in entries])
        log.invoked.extend([entry.invoked for entry in entries])
        log.returned.extend([entry.returned for entry in entries])
        log.end_invoked.extend([MISSING if entry.end is None else entry.end.invoked for entry in entries])
        log.end_returned.extend([MISSING if entry.end is None else entry.end.returned for entry in entries])
        clocks, levels = self._clocks, self._levels
        named = [entry.clock or header_clock for entry in entries]
        for clock in dict.fromkeys(named):
            _numbered(clocks, log.clock_names, clock)
        log.clocks.extend(map(clocks.__getitem__, named))
        held = [entry.isolation for entry in entries]
        for level in dict.fromkeys(held):
            _numbered(levels, log.level_names, level)
        log.levels.extend(map(levels.__getitem__, held))
        log.lines.extend(range(number, number + len(entries)))
        position = log.first[-1]
        for several in operations:
            position += len(several)
            log.first.append(position)
        return True

    def _operations(self, given: tuple[Any, ...]) -> list[tuple[int, int, int, int | list[int]]]:
        """Kind, object, key and value (codes; a list for a read of a list or a set) of each. Raises BadEntry."""
        found = []
        for number, operation in enumerate(given, 1):
            try:
                found.append(self._operation(operation))
            except BadEntry as error:
                raise BadEntry(error.text, statement=number, part="operation") from error
        return found

    def _operation(self, given: Any) -> tuple[int, int, int, int | list[int]]:
        if not isinstance(given, list | tuple) or not 3 <= len(given) <= 4:
            raise BadEntry(f"{shorten(given)} is no operation: [kind, object, key, value], a read also without value")
        named, name, key = given[:3]
        kind = _KIND.get(named) if isinstance(named, str) else None
        if kind is None:
            raise BadEntry(f"unknown operation {shorten(named)} (known are {', '.join(KINDS)})")
        subject = self._names.get(name) if isinstance(name, str) else None
        if subject is None:
            raise BadEntry(f"unknown object {shorten(name)}: the header does not name it")
        if (kind, subject) not in self._allowed:
            raise BadEntry(f"{named!r} is for a {_CHANGED_BY[named]}, but {shorten(name)} is a {self.types[subject]}")
        code = self.log.codes.code
        if not is_value(key):
            raise BadEntry(f"{shorten(key)} is no key: keys are integers and texts")
        if len(given) == 3:
            if kind != READ:
                raise BadEntry(f"{named!r} without a value")
            return kind, subject, code(key), UNREAD
        value = given[3]
        collection, counter = subject in self._collections, subject in self._counters
        if _misfit(kind == READ, collection, counter, value) or isinstance(value, bool):
            raise BadEntry(self._wrong_shape(kind, subject, value))
        if kind == READ and collection:
            return kind, subject, code(key), [code(item) for item in value or ()]
        return kind, subject, code(key), NOTHING if value is None else code(value)

    def _wrong_shape(self, kind: int, subject: int, value: object) -> str:
        type_ = self.types[subject]
        if kind == READ:
            shape = {"counter": "an integer", "register": "an integer, a text or null"}.get(type_)
            return f"{shorten(value)} is no answer to a read of a {type_}: {shape or 'a list of integers and texts'}"
        return f"{shorten(value)} is no value to {KINDS[kind]!r} to a {type_}: " + (
            "an integer" if type_ == "counter" else "an integer or a text"
        )

    def _settle(self, raw: RawTransaction, place: int) -> bool:
        """Whether to take a line: a transaction line replaces its intent, an earlier segment's one is not replaced by
        an intent that comes late. Raises BadEntry for a repeated id."""
        earlier = self._places.get(raw.id)
        if earlier is None:
            if raw.kind == "intent":
                self._intents[raw.id] = place
        elif raw.kind != "intent" and raw.id in self._intents:
            self._dropped.add(self._intents.pop(raw.id))
        elif raw.kind == "intent" and raw.id not in self._intents and earlier < self._segments[-1][0]:
            return False
        else:
            what = "an intent after" if raw.kind == "intent" else "a repeated id:"
            raise BadEntry(f"{what} {self._position(earlier)} with the same id", transaction=raw.id)
        self._places[raw.id] = place
        return True

    def _position(self, place: int) -> str:
        name = next(name for first, name in reversed(self._segments) if first <= place)
        return f"{name}:{self.log.lines[place]}"

    def _session(self, given: str | int | None) -> int:
        number = self._sessions.get(given)
        if number is not None:
            return number
        if not isinstance(given, str):
            number = self._sessions[given] = self._session(str(given))
            return number
        number = self._sessions[given] = len(self.log.session_names)
        self.log.session_names.append(given)
        return number

    def numbers_ascend(self) -> bool:
        """Whether each session has its numbers in ascending order, so that none comes twice."""
        if len(self.log.ids) >= LONG:
            from troubadour.formats.long_order import ascend_in_file

            return ascend_in_file(self.log.sessions, self.log.numbers)
        last: dict[int, int] = {}
        for session, number in zip(self.log.sessions, self.log.numbers, strict=True):
            if number != MISSING and session >= 0:
                if last.get(session, -1) >= number:
                    return False
                last[session] = number
        return True

    def _check_numbers(self) -> None:
        log = self.log
        if log.numbers.count(MISSING) == len(log.numbers) or self.numbers_ascend():
            return
        seen: dict[int, set[int]] = {}
        for place, (session, number) in enumerate(zip(log.sessions, log.numbers, strict=True)):
            if session < 0 or number == MISSING or place in self._dropped:
                continue
            numbers = seen.setdefault(session, set())
            if number in numbers:
                other = next(at for at in range(place) if log.sessions[at] == session and log.numbers[at] == number)
                raise LogError(
                    f"{self._position(place)}: transaction {shorten(log.ids[place])}: a repeated sno: "
                    f"{shorten(log.ids[other])} is number {number} of session {log.session(place)} too"
                )
            numbers.add(number)


def kept(log: ObjectLog, places: list[int]) -> ObjectLog:
    """The log with some of its transactions only, in the order given; what is not by place is shared."""
    found = ObjectLog()
    found.header, found.objects, found.codes, found.sequences = log.header, log.objects, log.codes, log.sequences
    found.digest, found.session_names = log.digest, log.session_names
    found.clock_names, found.level_names = log.clock_names, log.level_names
    for name in COLUMNS:
        column, target = getattr(log, name), getattr(found, name)
        target.extend([column[place] for place in places])
    for place in places:
        begin, end = log.first[place], log.first[place + 1]
        found.kinds += log.kinds[begin:end]
        found.subjects += log.subjects[begin:end]
        found.keys += log.keys[begin:end]
        found.values += log.values[begin:end]
        found.first.append(len(found.kinds))
    found.more = {number: log.more[place] for number, place in enumerate(places) if place in log.more}
    return found


COLUMNS = (
    "ids", "statuses", "sessions", "numbers", "starts", "commits", "invoked", "returned", "end_invoked",
    "end_returned", "clocks", "levels", "lines",
)  # fmt: skip
"""The columns by place, but for those of the operations."""


def _count_texts(values: list[Any]) -> int:
    return list(map(type, values)).count(str)


def _decoded(decode: Callable[[bytes], list[_Line[Any]]], text: bytes, lines: int) -> list[_Line[Any]] | None:
    try:
        entries = decode(text)
    except (ValueError, RecursionError):
        return None
    # a blank line has no entry
    return entries if len(entries) == lines else None


def _fit(entries: list[_Line[Any]]) -> bool:
    """Whether times ascend in each line, and no name is empty."""
    for entry in entries:
        if (entry.commit < entry.start and entry.commit != MISSING) or (
            entry.returned < entry.invoked and entry.returned != MISSING
        ):
            return False
        end = entry.end
        if end is not None and end.returned < end.invoked and end.returned != MISSING:
            return False
        if entry.isolation == "" or entry.clock == "":
            return False
    return True


def _misfit(reads: bool, collection: bool, counter: bool, value: Any) -> bool:
    """Whether a value has another shape than an operation of a known kind on a known object gives it."""
    if reads and collection:
        return value is not None and not (isinstance(value, list | tuple) and all(map(is_value, value)))
    if counter:
        return not isinstance(value, int)
    return not (isinstance(value, int | str) or (value is None and reads))


def _numbered(numbers: dict[str | None, int], names: list[str | None], name: str | None) -> int:
    number = numbers.get(name)
    if number is None:
        number = numbers[name] = len(names)
        names.append(name)
    return number


def times_of(log: ObjectLog) -> Times:
    """What the hint order is made of; see `troubadour.formats.store.Store.append`."""
    if len(log.ids) >= LONG:
        # numpy, which short logs start without
        from troubadour.formats.long_order import told_times

        returned, sent, numbers = told_times(log)
        return Times(log.commits, returned, sent, array("q", log.clocks), log.sessions, numbers)
    returned, sent = array("q", log.returned), array("q")
    for place, (status, commit, invoked, end) in enumerate(
        zip(log.statuses, log.commits, log.invoked, log.end_invoked, strict=True)
    ):
        if status == ABORTED:
            returned[place] = invoked
            sent.append(invoked)
        elif commit == MISSING and end != MISSING:
            sent.append(end)
        else:
            sent.append(invoked if invoked != MISSING else returned[place])
    numbers = log.numbers
    if -1 in log.sessions:
        numbers = array("q", numbers)
        for place, session in enumerate(log.sessions):
            if session < 0:
                numbers[place] = MISSING
    return Times(log.commits, returned, sent, array("q", log.clocks), log.sessions, numbers)
