"""Values that the DBMS chose, tied to what was observed.

A value's address is (statement, execution, ordinal) within its transaction. While it is not known it is a guess, and
carries its address wherever it is copied (`tagged`); where an answer differs from the observation in such values only,
`bindings` tells what they were. A guess never makes a violation: whoever concludes from a failure asks `any_guess`.
Does not know orders or levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Free
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Insert
from sql_semantics.ir.walks.traverse import has_subquery
from sql_semantics.library import Program
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.records import dataclass, field, replace
from sql_semantics.run.writes.rows.chosen import Chosen, Place
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.families.composites import Composite
from sql_semantics.values.families.enums import Label
from sql_semantics.values.families.jsonb import Jsonb
from sql_semantics.values.opaque import Opaque
from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType, Value
from sql_semantics.view import Row
from troubadour.execution.free.moments import guessed_moment
from troubadour.execution.free.tagged import Address, Key, is_taggable, key_of, plain, tagged
from troubadour.execution.observations.observation import ObservedRow, ParsedObservation, ParsedRows
from troubadour.execution.states.history import RowHistory
from troubadour.model.values import REDACTED

DISTINCT = frozenset({"nextval"})
"""Sources whose values never come twice (PostgreSQL, DuckDB; InnoDB may reuse numbers after a restart)."""

DRAWN = frozenset({"nextval", "auto", "rowid", "random", "uuid"})
"""Sources that give a new value each time."""

_TRIES = 4
"""Values that are tried for one address, going by what others read."""

_NUMBERING = frozenset({"nextval", "auto", "rowid"})


@dataclass(slots=True)
class FreeValues:
    """What the search takes the free values to be.

    `first(name)` is the lowest number that a sequence may give next to the initial rows; `moment(item)` is about when
    an item ran; `numbered`: where SQLite's tables have the number of a row, which is one more than the highest there
    is, and may come again; `given_back`: the items whose numbers come again, as SQLite's AUTOINCREMENT is rolled back
    with them; `reserved` are values that somebody is known to have got. What is learned of an item that is placed
    already waits in `pending`. `cells` tells which columns of stored rows hold a free value, `certain` which values
    were observed whatever was read, `countable` by item those whose ordinal counts every value asked for there;
    `choices` in which items the run went one of several ways that the DBMS might have gone (`View.arbitrary`).
    `idle`: the numberings that no answer hangs on, worked out when it is asked for.
    """

    first: Callable[[str], int]
    moment: Callable[[int], datetime]
    numbered: Mapping[str, int] = field(default_factory=dict)
    given_back: frozenset[int] = frozenset()
    reserved: Mapping[str, frozenset[Value]] = field(default_factory=dict)
    pending: dict[Key, Value] = field(default_factory=dict)
    cells: dict[RowHistory, dict[int, Key]] = field(default_factory=dict)
    certain: set[Key] = field(default_factory=set)
    countable: dict[int, set[Key]] = field(default_factory=dict)
    choices: dict[int, str] = field(default_factory=dict)
    idle: Callable[[], frozenset[str]] | None = None
    _settled: set[int] = field(default_factory=set)
    _known: dict[Key, Value] = field(default_factory=dict)
    _tried: dict[Key, set[Value]] = field(default_factory=dict)
    _holders: dict[str, dict[Value, Key]] = field(default_factory=dict)
    _names: dict[Key, str] = field(default_factory=dict)
    _newest: dict[str, int] = field(default_factory=dict)

    def twin(self) -> FreeValues:
        """The same values for another search, in which nothing is placed yet; what it learns changes these not."""
        return replace(
            self,
            pending={},
            cells={},
            certain=set(self.certain),
            countable={item: set(keys) for item, keys in self.countable.items()},
            choices=dict(self.choices),
            _settled=set(),
            _known=dict(self._known),
            _tried={key: set(values) for key, values in self._tried.items()},
            _holders={name: dict(held) for name, held in self._holders.items()},
            _names=dict(self._names),
            _newest=dict(self._newest),
        )

    def any_guess(self) -> Key | None:
        """A value that some item chose and that was not observed, and on which some answer may hang; None where there
        is none."""
        for key in self._known:
            if key not in self.certain and (self.idle is None or self._names.get(key) not in self.idle()):
                return key
        return None

    def told(self, item: int) -> dict[Address, Value]:
        """The values that the item was told where nothing but them was asked for, so that they can be counted."""
        return {key[1]: self._known[key] for key in self.countable.get(item, ()) if key in self.certain}

    def value(
        self, key: Key, source: str, name: str, type: SqlType, highest: Callable[[], int | None] | None = None
    ) -> Value:
        """What is known of the value, else a guess, which is kept; one that hangs on the `highest` number that the run
        finds is made anew."""
        if source == "auto" and highest is not None and key not in self._known and name not in self._newest:
            # counting goes on from numbers that were given by hand
            self._newest[name] = max(self.first(name) - 1, highest() or 0)
        if source == "rowid" and highest is not None and key not in self.certain and key not in self._tried:
            number = highest()
            if number is not None:
                self._known[key] = number + 1
                return number + 1
        if key not in self._known:
            self._names[key] = name if source in _NUMBERING and key[0] not in self.given_back else ""
            self._set(key, self._guess(key[0], source, name, type))
        return self._known[key]

    def _guess(self, item: int, source: str, name: str, type: SqlType) -> Value:
        if source in _NUMBERING:
            number = self._newest.get(name, self.first(name) - 1) + 1
            taken, held = self.reserved.get(name, frozenset()), self._holders.get(name, {})
            while number in taken or number in held:
                number += 1
            self._newest[name] = number
            return number
        if type.kind in INTEGER_KINDS:
            return max(self._newest.values(), default=0)
        if source == "uuid":
            identifier = UUID(int=len(self._known))
            return str(identifier) if type.kind is Kind.TEXT else identifier
        if type.kind is Kind.DOUBLE:
            return 0.5
        found = guessed_moment(self.moment(item), type, name)
        if found is not None:
            return found
        raise Unsupported(f"a value that the DBMS chooses ({source}) of type {type}")

    def _set(self, key: Key, value: Value) -> None:
        self._known[key] = value
        name = self._names.get(key, "")
        if name:
            self._holders.setdefault(name, {})[value] = key

    def settle(self, item: int) -> None:
        """The item is placed: its values stay until `apply`."""
        self._settled.add(item)

    def learn(self, item: int, found: Mapping[Key, Value]) -> bool:
        """Take over what the observations of an item say; whether its own values changed. What concerns others has to
        wait."""
        changed = False
        for key, value in found.items():
            if key in self.certain or key not in self._known or not self._is_new(key, value):
                continue
            other = self._holder(key, value)
            if other is not None and other in self.certain:
                continue
            if key[0] == item and item not in self._settled and other is None:
                self._bind(key, value)
                changed = True
            else:
                # the newest states are tried first, and are right most often
                self.pending.setdefault(key, value)
        return changed

    def apply(self) -> set[int]:
        """Take over what waits; the items whose values changed. What nobody has told of yet comes before a change of
        mind, of which there is one at a time."""
        new = [(key, value) for key, value in self.pending.items() if self._is_new(key, value)]
        fresh = [(key, value) for key, value in new if key not in self._tried]
        self.pending = {}
        changed: set[int] = set()
        for key, value in fresh or new[:1]:
            other = self._holder(key, value)
            if other is not None and (other in self.certain or (other in self._tried and fresh)):
                continue
            if other is not None:
                # what it held was a guess; it makes another one
                del self._known[other], self._holders[self._names[key]][value]
                changed.add(other[0])
            self._bind(key, value)
            changed.add(key[0])
        self._settled -= changed
        return changed

    def _is_new(self, key: Key, value: Value) -> bool:
        """Whether the value was not taken for this one before; after a few others it is not tried any more."""
        tried = self._tried.get(key, ())
        return self._known.get(key) != value and value not in tried and len(tried) < _TRIES

    def _holder(self, key: Key, value: Value) -> Key | None:
        """Who else holds the value in the same sequence."""
        other = self._holders.get(self._names.get(key, ""), {}).get(value)
        return None if other == key else other

    def _bind(self, key: Key, value: Value) -> None:
        held = self._holders.get(self._names.get(key, ""), {})
        if key in self._known and held.get(self._known[key]) == key:
            del held[self._known[key]]
        self._set(key, value)
        self._tried.setdefault(key, set()).add(value)


class Drawn:
    """The free values of one run of an item; `made` tells, by address, source, sequence and value. `remembered` are the
    places at which others than newly drawn ones were asked for."""

    __slots__ = ("_chosen", "_item", "_numbers", "_ordinals", "_values", "made", "remembered")

    def __init__(self, values: FreeValues, item: int) -> None:
        self._values = values
        self._item = item
        self._chosen = Chosen()
        self._ordinals: dict[Place, int] = {}
        self._numbers: dict[tuple[Place, str], int] = {}
        self.made: dict[Address, tuple[str, str, Value]] = {}
        self.remembered: set[Place] = set()

    def value(
        self,
        source: str,
        name: str,
        type: SqlType,
        place: Place,
        highest: Callable[[], int | None] | None = None,
    ) -> Value:
        """The value of a `Free` expression at a place; `highest` as of `FreeValues.value`."""
        if source not in DRAWN:
            self.remembered.add(place)

        def beside() -> int | None:
            """Of rows that one statement inserts, those before are there already."""
            found = None if highest is None else highest()
            return None if found is None else max(found, self._numbers.get((place, name), found))

        def choose() -> Value:
            ordinal = self.ordinal(place)
            key = (self._item, (*place, ordinal), (source, name, type))
            value = self._values.value(key, source, name, type, None if highest is None else beside)
            if source == "rowid" and isinstance(value, int):
                self._numbers[place, name] = max(value, self._numbers.get((place, name), value))
            self.made[key[1]] = (source, name, value)
            return tagged(value, key)

        return self._chosen.value(source, name, type, place, choose)

    def ordinal(self, place: Place) -> int:
        """The next ordinal there, for a choice that is no value."""
        ordinal = self._ordinals.get(place, 0)
        self._ordinals[place] = ordinal + 1
        return ordinal

    def tell(self, keys: Iterable[Key]) -> None:
        """The observations show these values, whatever was read."""
        told = set(keys)
        self._values.certain |= told
        countable = {key for key in told if key[1][:2] not in self.remembered}
        self._values.countable.setdefault(self._item, set()).update(countable)

    def failed(self) -> None:
        """A statement failed."""
        self._chosen.failed()

    def arbitrary(self, what: str) -> None:
        """The run went one of several ways."""
        self._values.choices[self._item] = what


def bindings(program: Program, parsed: ParsedObservation, outcome: Outcome) -> dict[Key, Value]:
    """What free values were, going by an observation that the outcome does not explain; empty where it does not
    tell."""
    found: dict[Key, Value] = {}
    results = parsed.results
    if results is None or len(results) != len(outcome.results):
        return found
    for observed, expected in zip(results, outcome.results, strict=True):
        if observed.rows is None:
            continue
        if len(observed.rows) < len(expected.rows) and (expected.subset or expected.limit is not None):
            found |= _of_some_rows(observed.rows, expected)
        elif len(observed.rows) == len(expected.rows):
            of_rows = _of_rows(observed, expected)
            if not of_rows and _hangs_on_no_read(program):
                # nothing but free values can differ, though they stand inside expressions, too
                of_rows = _shown(zip(expected.rows, observed.rows, strict=True))
            found |= of_rows
    return found


def _hangs_on_no_read(program: Program) -> bool:
    """Whether the answer is the same on every state, but for free values: INSERT ... VALUES, SELECT without tables."""
    match program.statement:
        case Insert(query=None, conflict=None) | Select(sources=(), where=None, having=None):
            return not program.calls and not has_subquery(program.statement)
    return False


def told_whatever_was_read(program: Program, parsed: ParsedObservation, outcome: Outcome) -> Iterator[Key]:
    """The free values that an explained observation shows and that hang on no read."""
    if not _hangs_on_no_read(program):
        return
    if parsed.results is None or any(REDACTED in row for rows in parsed.results for row in rows.rows or ()):
        return
    for result in outcome.results:
        for row in result.rows:
            yield from (key for value in row if (key := key_of(value)) is not None)


def _of_rows(observed: ParsedRows, expected: ResultSet[Value]) -> dict[Key, Value]:
    rows = list(observed.rows or ())
    if expected.keys is not None and not any(key_of(value) for key in expected.keys for value in key):
        pairs = zip(expected.rows, rows, strict=True)
        return _shown((row, partner) for row, partner in pairs if _agree(row, partner))
    return _shown(_matched(expected.rows, rows, _agree))


def _of_some_rows(observed: Sequence[ObservedRow], expected: ResultSet[Value]) -> dict[Key, Value]:
    """The same where only some of the rows are shown, by LIMIT or SKIP LOCKED: what is shown and not expected is taken
    for the first row that differs from it in free values only."""
    matched = _matched(observed, expected.rows, lambda seen, row: _agree(row, seen))
    return _shown((row, seen) for seen, row in matched)


def _matched(
    ones: Sequence[tuple[Any, ...]],
    others: Sequence[tuple[Any, ...]],
    agree: Callable[[tuple[Any, ...], tuple[Any, ...]], bool],
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Rows that have no equal, each with the first that is left and agrees; empty where one has none."""
    left = list(others)
    single = []
    for row in ones:
        if row in left:
            left.remove(row)
        else:
            single.append(row)
    pairs = []
    for row in single:
        partner = next((other for other in left if agree(row, other)), None)
        if partner is None:
            return []
        left.remove(partner)
        pairs.append((row, partner))
    return pairs


def _shown(pairs: Iterable[tuple[Row, ObservedRow]]) -> dict[Key, Value]:
    """The free values that stand alone in rows, as they were observed."""
    found: dict[Key, Value] = {}
    for row, partner in pairs:
        for value, seen in zip(row, partner, strict=True):
            key = key_of(value)
            if key is not None and seen is not REDACTED and seen is not None and is_taggable(seen):
                found[key] = seen  # type: ignore[assignment]
    return found


def _agree(row: tuple[Value, ...], observed: ObservedRow) -> bool:
    """Whether they differ in free values only."""
    return all(
        key_of(value) is not None or seen is REDACTED or value == seen
        for value, seen in zip(row, observed, strict=True)
    )


def first_number(name: str, catalog: Catalog, initial: Mapping[str, Sequence[Row | None]]) -> int:
    """A number above all that the initial rows have in the column which a sequence (or a table) numbers."""
    highest = 0
    for table in catalog.tables.values():
        for place, column in enumerate(table.columns):
            match column.default:
                case Free("nextval" | "auto" | "rowid", of) if of == name:
                    numbers = [row[place] for row in initial.get(table.name, ()) if row is not None]
                    highest = max([highest, *(value for value in numbers if isinstance(value, int))])
    return highest + 1


def numbered_tables(catalog: Catalog) -> dict[str, int]:
    """Where tables that number their rows have the number (SQLite, AUTO_INCREMENT)."""
    found: dict[str, int] = {}
    for table in catalog.tables.values():
        for place, column in enumerate(table.columns):
            if isinstance(column.default, Free) and column.default.source in ("rowid", "auto"):
                found[table.name] = place
    return found


def json_of(value: Value) -> Any:
    """A chosen value as a log writes values."""
    match value:
        case bool() | None:
            return value
        case int() | float() | str():
            return plain(value)
        case Decimal() | UUID():
            return str(value)
        case date() | time():
            return value.isoformat()
        case Opaque() | Label() | Array() | Composite() | Jsonb():
            return str(value)
    raise Unsupported(f"a chosen value of type {type(value).__name__}")
