"""The values that the DBMS chose, as a witness names them. Does not know which statement needs them."""

from __future__ import annotations

from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.run.writes.rows.chosen import Chosen
from sql_semantics.values.types import SqlType, Value
from troubadour.model.values import read_value
from troubadour.replay.witness.reads import BadChoice, Execution, FreeChoices


class Draws:
    """What one transaction draws from its `choices`; `made` lists it by source and name, `used` by address. Without
    choices what needs one is Unsupported."""

    __slots__ = ("_choices", "_chosen", "_ordinals", "made", "used")

    def __init__(self, choices: FreeChoices | None) -> None:
        self._choices = choices
        self._chosen = Chosen()
        self._ordinals: dict[Execution, int] = {}
        self.made: list[tuple[str, str, Value]] = []
        self.used: dict[tuple[int, int, int], Any] = {}

    def value(self, source: str, name: str, type: SqlType, place: Execution) -> Value:
        """The value that the witness names; raises BadChoice where it names none, or none of the type."""

        def choose() -> Value:
            address = self._next(place)
            if self._choices is None:
                raise Unsupported(f"a value that the DBMS chooses ({source})")
            if address not in self._choices:
                raise BadChoice(f"the witness does not say which value ({source}) the DBMS chose")
            try:
                value = read_value(self._choices[address], type)
            except ValueError as error:
                raise BadChoice(f"the value chosen is none of its type: {error}") from error
            if value is None:
                raise BadChoice(f"the value chosen ({source}) is NULL")
            self.made.append((source, name, value))
            self.used[address] = self._choices[address]
            return value

        return self._chosen.value(source, name, type, place, choose)

    def way(self, count: int, what: str, place: Execution) -> int:
        """The way that the witness names; raises BadChoice where it names none of them."""
        address = self._next(place)
        if self._choices is None:
            raise Unsupported(what)
        number = self._choices.get(address)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < count:
            raise BadChoice(f"the witness does not say which of {count} ways was taken: {what}")
        self.used[address] = number
        return number

    def failed(self) -> None:
        """A statement failed, so that what it drew is not known."""
        self._chosen.failed()

    def _next(self, place: Execution) -> tuple[int, int, int]:
        ordinal = self._ordinals.get(place, 0)
        self._ordinals[place] = ordinal + 1
        return (*place, ordinal)
