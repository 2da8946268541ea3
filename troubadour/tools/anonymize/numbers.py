"""Other numbers and UUIDs in place of those that a log only compares: ids, mostly (`domains` says which these are).

Does not know statements; the anonymizer brings it every value with its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from sql_semantics.ir.schema import Catalog
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType
from troubadour.model.values import REDACTED
from troubadour.tools.anonymize.domains import Place, renamed
from troubadour.tools.anonymize.flow import column
from troubadour.tools.anonymize.programs import ProgramFlow


class Numbers:
    """First `meet` every value of the log, then `replace` it; `kept` says which columns stay, and why."""

    def __init__(self, catalog: Catalog, initial_unknown: bool) -> None:
        self._catalog = catalog
        self.flow = ProgramFlow(catalog)
        if initial_unknown:
            self.keep("initial rows that are not known")
        self._met: dict[Place, set[int]] = {}
        self._maps: dict[Place, Mapping[int, int]] | None = None

    def keep(self, reason: str) -> None:
        """All values stay."""
        self.flow.unknown = self.flow.unknown or reason

    def meet(self, place: Place, value: Any, type: SqlType | None) -> None:
        """A value of the log, and where it stands."""
        if type is None or not _is_id(type):
            return
        domains = self.flow.domains
        if type.kind in INTEGER_KINDS:
            domains.narrow(place, INTEGER_RANGE[type.kind])
        if value is None or value is REDACTED:
            return
        number = _number(value, type)
        if number is None:
            domains.keep(place, f"the value {value}")
        else:
            self._met.setdefault(place, set()).add(number)

    def replace(self, place: Place, value: Any, type: SqlType | None) -> Any:
        """What stands in its place."""
        if value is None or value is REDACTED or type is None or not _is_id(type):
            return value
        found = self._replacements().get(self.flow.domains.root(place))
        if found is None:
            return value
        number = _number(value, type)
        assert number is not None
        return str(UUID(int=found[number])) if type.kind is Kind.UUID else found[number]

    def kept(self) -> Iterator[tuple[str, str]]:
        """The columns of numbers and UUIDs whose values stay, with the reason."""
        maps = self._replacements()
        for table in self._catalog.tables.values():
            for index, item in enumerate(table.columns if " (definition " not in table.name else ()):
                place = column(table.name, index)
                if _is_id(item.type) and table.query is None and self.flow.domains.root(place) not in maps:
                    domain = self.flow.domains.of(place)
                    reason = self.flow.unknown or domain.kept or "no others would fit"
                    yield f"{table.name}.{item.name}", reason

    def _replacements(self) -> dict[Place, Mapping[int, int]]:
        if self._maps is None:
            self._maps = {}
            domains = self.flow.domains
            together: dict[Place, set[int]] = {}
            for place, values in self._met.items():
                together.setdefault(domains.root(place), set()).update(values)
            for table in self._catalog.tables.values():
                for index in range(len(table.columns)):
                    together.setdefault(domains.root(column(table.name, index)), set())
            for root, values in together.items():
                domain = domains.of(root)
                if not domain.kept and not self.flow.unknown:
                    found = renamed(values, domain)
                    if found is not None:
                        self._maps[root] = found
        return self._maps


def _is_id(type: SqlType) -> bool:
    return type.kind in INTEGER_KINDS or type.kind is Kind.UUID


def _number(value: Any, type: SqlType) -> int | None:
    """A value as a number in the order of its type; None for one in a form of its own."""
    try:
        if type.kind is Kind.UUID:
            return UUID(value).int
        return None if isinstance(value, bool) else int(value)
    except (ValueError, AttributeError, TypeError):
        return None
