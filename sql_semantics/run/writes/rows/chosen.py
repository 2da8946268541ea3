"""What a session remembers of the values that the DBMS chose for it (`frontend.expressions.free`).

``currval`` is the last ``nextval``, ``now()`` is one value per transaction: such ties are kept here, so that only what
is really free is chosen. Does not know what chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.values.types import SqlType, Value

Place = tuple[int, int]
"""A logged statement and the execution inside it."""


class Chosen:
    """The last values of one transaction. What was drawn before it began is free when first asked for."""

    __slots__ = ("_drawing", "_inserted", "_last", "_times")

    def __init__(self) -> None:
        self._last: dict[str, Value] = {}
        self._times: dict[tuple[str, tuple[int, ...], SqlType], Value] = {}
        self._inserted: Value = None
        self._drawing: tuple[Place, Value] | None = None

    def value(self, source: str, name: str, type: SqlType, place: Place, choose: Callable[[], Value]) -> Value:
        """The value of a `Free` expression evaluated at `place`; `choose` gives a new one."""
        match source:
            case "nextval":
                value = self._last[name] = self._last[""] = choose()
                return value
            case "currval" | "lastval":
                if name not in self._last:
                    self._last[name] = choose()
                return self._last[name]
            case "auto":
                value = choose()
                if self._drawing is None or self._drawing[0] != place:
                    self._settle(place)
                    self._drawing = (place, value)
                return value
            case "last_insert_id":
                self._settle(place)
                if self._inserted is None:
                    self._inserted = choose()
                return self._inserted
            case "now" | "statement_time" | "execution_time":
                moment = place if source == "execution_time" else (-1 if source == "now" else place[0],)
                key = (name, moment, type)
                if key not in self._times:
                    self._times[key] = choose()
                return self._times[key]
        return choose()

    def _settle(self, place: Place) -> None:
        """LAST_INSERT_ID() is the first number of the last INSERT that is over."""
        if self._drawing is not None and self._drawing[0] != place:
            self._inserted = self._drawing[1]
            self._drawing = None

    def failed(self) -> None:
        """A statement failed: what it drew before that is not known."""
        self._last.clear()
        self._inserted = self._drawing = None


def last_rowid(places: str, inserted: tuple[str, Sequence[Value]] | None) -> Value:
    """SQLite's last_insert_rowid() after a row was inserted: the value at the place that its table has for the number
    of a row (``table=place``, a line each); None where that is not known, or was an earlier transaction's."""
    if inserted is None:
        return None
    table, values = inserted
    for line in places.split("\n"):
        name, _, place = line.rpartition("=")
        if name == table:
            return values[int(place)]
    return None
