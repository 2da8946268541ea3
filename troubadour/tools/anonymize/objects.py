"""A log of operations on objects with other keys, values, ids, sessions and clocks: equal ones for equal ones, in the
same order, integers for integers and texts for texts.

All keys have their names from one list, and so have all values and elements. What a counter holds and is increased by
stays: no other numbers have the same sums, but multiples of the old ones, which would hide nothing. Names of objects
stay, as those of tables do. Does not know what an operation means.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from sql_semantics.records import dataclass
from troubadour.model.log import End, TransactionId
from troubadour.model.objects import LEAST_TEXT, NOTHING, READ, UNREAD, Codes, ObjectDefinition, ObjectLog, Sequences
from troubadour.tools.anonymize.words import LETTERS, counted

_NO_CODES = (NOTHING, UNREAD)
Column = NDArray[np.int64]


def without_names(log: ObjectLog) -> tuple[ObjectLog, Mapping[TransactionId, str]]:
    """The log, and what each of its transactions is called in it. It shares with `log` what is the same in both."""
    found = copy.copy(log)
    codes = found.codes = Codes()
    kinds, types = np.frombuffer(log.kinds, np.uint8), [one.type for one in log.objects]
    keys, values = np.asarray(log.keys, np.int64), np.asarray(log.values, np.int64)
    items = np.asarray(log.sequences.items, np.int64)
    subjects = np.asarray(log.subjects, np.int64)
    counts = np.array([type == "counter" for type in types], bool)[subjects] if len(subjects) else np.zeros(0, bool)
    listed = np.array([type in ("list", "set") for type in types], bool)[subjects] if len(subjects) else counts
    whole = ~counts & ~(listed & (kinds == READ)) & ~np.isin(values, _NO_CODES)
    given = [code for one in log.objects for code in _held(one)]
    rows = [key for one in log.objects for key in one.rows]
    of_keys = _Renamed(log, codes, [keys, np.array(rows, np.int64)])
    of_values = _Renamed(log, codes, [values[whole], items, np.array(given, np.int64)])
    numbers = _Numbers(log, codes)
    renamed = values.copy()
    renamed[whole] = of_values.column(values[whole])
    large = counts & (values >= LEAST_TEXT)
    renamed[large] = [numbers.of(code) for code in values[large].tolist()]
    found.keys, found.values = array("q", of_keys.column(keys).tobytes()), array("q", renamed.tobytes())
    found.sequences = Sequences()
    found.sequences.first, found.sequences.items = log.sequences.first, array("q", of_values.column(items).tobytes())
    found.objects = tuple(_definition(one, of_keys, of_values, numbers) for one in log.objects)
    return found, _names(log, found)


def _held(one: ObjectDefinition) -> list[int]:
    """The values that the keys of a register hold at first; those of a list or a set are among the sequences."""
    return [code for code in (one.default, *one.rows.values()) if one.type == "register" and code != NOTHING]


class _Renamed:
    """Codes of one list, each with another."""

    def __init__(self, log: ObjectLog, codes: Codes, parts: list[Column]) -> None:
        self._old = np.unique(np.concatenate([part.astype(np.int64) for part in parts]))
        texts = [(log.codes.value(code), code) for code in self._old[self._old >= LEAST_TEXT].tolist()]
        numbers = self._old[self._old < LEAST_TEXT].tolist()
        long = sorted((value, code) for value, code in texts if isinstance(value, int))
        below, above = [code for value, code in long if value < 0], [code for value, code in long if value > 0]
        made: dict[int, int] = {code: number for number, code in enumerate([*below, *numbers, *above], 1)}
        words = sorted((value, code) for value, code in texts if isinstance(value, str))
        for (_, code), word in zip(words, counted(len(words), LETTERS, 2), strict=True):
            made[code] = codes.code(word)
        self._new = np.array([made[code] for code in self._old.tolist()], np.int64)

    def column(self, codes: Column) -> Column:
        """The same column by the other codes."""
        return self._new[np.searchsorted(self._old, codes)] if len(codes) else codes

    def of(self, code: int) -> int:
        """One code."""
        return int(self._new[np.searchsorted(self._old, code)])


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The codes of numbers that stay."""

    log: ObjectLog
    codes: Codes

    def of(self, code: int) -> int:
        """One of more than 62 bits has another code."""
        return self.codes.code(self.log.codes.value(code)) if code >= LEAST_TEXT else code


def _definition(one: ObjectDefinition, keys: _Renamed, values: _Renamed, numbers: _Numbers) -> ObjectDefinition:
    def held(code: int) -> int:
        if one.type in ("list", "set") or code == NOTHING:
            return code  # the number of a sequence
        return numbers.of(code) if one.type == "counter" else values.of(code)

    rows = {keys.of(key): held(code) for key, code in one.rows.items()}
    return msgspec.structs.replace(one, default=held(one.default), rows=rows)


def _names(log: ObjectLog, found: ObjectLog) -> Mapping[TransactionId, str]:
    """Give the transactions, sessions and clocks of `found` their names, and leave out what is for people."""
    ids = {log.ids[place]: f"t{number}" for number, place in enumerate(log.order, 1)}
    found.ids = [ids[one] for one in log.ids]
    found.session_names = [f"s{number}" for number in range(1, len(log.session_names) + 1)]
    clocks = _clocks([log.header.clock, *log.clock_names, *(gap.clock for gap in log.header.gaps)])
    found.clock_names = [None if name is None else clocks[name] for name in log.clock_names]
    clock = log.header.clock
    found.header = msgspec.structs.replace(
        log.header,
        schema=(),
        procedures=(),
        settings={},
        log_id=None,
        segment=None,
        clock=None if clock is None else clocks[clock],
        gaps=tuple(
            msgspec.structs.replace(gap, reason="a gap", clock=None if gap.clock is None else clocks[gap.clock])
            for gap in log.header.gaps
        ),
    )
    found.more = {place: _plain(more) for place, more in log.more.items()}
    return ids


def _plain(more: Mapping[str, object]) -> dict[str, object]:
    left = {name: value for name, value in more.items() if name not in ("xid", "snapshot", "trace_id")}
    end = left.get("end")
    if isinstance(end, End) and end.error is not None:
        left["end"] = msgspec.structs.replace(end, error=msgspec.structs.replace(end.error, message=""))
    return left


def _clocks(names: Iterable[str | None]) -> Mapping[str, str]:
    known = dict.fromkeys(name for name in names if name is not None)
    return {name: f"clock-{number}" for number, name in enumerate(known, 1)}
