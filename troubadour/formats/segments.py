"""Headers and initial rows of one or several segments, made into one header.

Segments are parts of one log: what two of them say must not contradict. Does not know the transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sql_semantics.values.unsettled import OTHERS
from troubadour.formats.convert import scalar
from troubadour.formats.entries import BadEntry, RawHeader, RawInitial, RawRows, shorten
from troubadour.model.log import Header, InitialTable


class InitialRows:
    """The initial rows of one segment, header and `rows` lines together."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, tuple[str, ...] | None], list[tuple[Any, ...]]] = {}
        self._unknown: dict[str, None] = {}

    def add_header(self, header: RawHeader) -> None:
        """The header's `initial`. Raises BadEntry."""
        for table, given in header.initial.items():
            if isinstance(given, RawInitial):
                if given.default is not msgspec.UNSET:
                    raise BadEntry(f"initial: {shorten(table)} is no object, and has no default")
                if given.rows is None:
                    raise BadEntry(f"initial: {shorten(table)}: missing required field 'rows'")
                self._add(table, given.columns, given.rows)
            else:
                self._unknown[table] = None

    def add_line(self, line: RawRows) -> None:
        """A `rows` line. Raises BadEntry."""
        if line.table in self._unknown:
            raise BadEntry(f"rows of table {shorten(line.table)}, whose initial rows the header calls unknown")
        self._add(line.table, line.columns, line.rows)

    def _add(self, table: str, columns: tuple[str, ...] | None, rows: Sequence[tuple[Any, ...]]) -> None:
        if columns is not None and len(set(columns)) != len(columns):
            raise BadEntry(f"initial rows of {shorten(table)}: a column is named twice")
        known = self._rows.setdefault((table, columns), [])
        first = rows or known
        width = len(columns) if columns is not None else len(known[0] if known else first[0]) if first else 0
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise BadEntry(f"initial rows of {shorten(table)}: row {number} has {len(row)} values, not {width}")
            try:
                for value in row:
                    scalar(value)
            except BadEntry as error:
                raise BadEntry(f"initial rows of {shorten(table)}: row {number}: {error.text}") from error
        known.extend(rows)

    def tables(self) -> tuple[tuple[InitialTable, ...], tuple[str, ...]]:
        """What was given, table by table, and the tables whose rows are unknown."""
        given = tuple(InitialTable(table, columns, tuple(rows)) for (table, columns), rows in self._rows.items())
        return given, tuple(self._unknown)


_MUST_AGREE = ("objects", "dialect", "schema", "procedures", "isolation", "order")


class Segments:
    """The segments of one log, in the order given."""

    def __init__(self) -> None:
        self._headers: list[RawHeader] = []
        self._initial: tuple[tuple[InitialTable, ...], tuple[str, ...]] | None = None

    def add_header(self, header: RawHeader) -> None:
        """A further segment's header. Raises BadEntry where it contradicts an earlier one: `dialect`, `schema`,
        `procedures`, `isolation`, `order` and `settings` are the same in all, `log_id` where two give one, and no two
        give the same `segment`."""
        for earlier in self._headers:
            if header.log_id is not None and earlier.log_id is not None and header.log_id != earlier.log_id:
                raise BadEntry(
                    f"log_id {shorten(header.log_id)} is not that of an earlier segment, {shorten(earlier.log_id)}"
                )
            if header.segment is not None and _same(header.segment, earlier.segment):
                raise BadEntry(f"segment {shorten(header.segment)} was given already")
        if self._headers:
            for name in _MUST_AGREE:
                if getattr(header, name) != getattr(self._headers[0], name):
                    raise BadEntry(f"{name} differs from that of the first segment")
            if _named(header) != _named(self._headers[0]):
                raise BadEntry("settings differs from that of the first segment")
        self._headers.append(header)

    def add_initial(self, initial: InitialRows) -> None:
        """A segment's initial rows: they stand in one segment, or in several with the same text. Raises BadEntry."""
        tables = initial.tables()
        if tables == ((), ()):
            return
        if self._initial is None:
            self._initial = tables
        elif not _identical(self._initial, tables):
            raise BadEntry("the initial rows differ from those of an earlier segment")

    def header(self) -> Header:
        """One header for all: `dbms` and `log_id` are the first given, `clock` and `segment` those that all share."""
        first = self._headers[0]
        given, unknown = self._initial or ((), ())
        log_ids = [header.log_id for header in self._headers if header.log_id is not None]
        return Header(
            dialect=first.dialect or "",
            schema=first.schema or (),
            dbms=next((header.dbms for header in self._headers if header.dbms is not None), None),
            isolation=first.isolation,
            procedures=first.procedures,
            initial=given,
            initial_unknown=unknown,
            order=first.order or "hint",
            settings=first.settings if all(OTHERS in one.settings for one in self._headers) else _named(first),
            clock=first.clock if len({header.clock for header in self._headers}) == 1 else None,
            log_id=str(log_ids[0]) if log_ids else None,
            segment=first.segment if len(self._headers) == 1 else None,
        )


def _named(header: RawHeader) -> dict[str, Any]:
    """The settings that a header tells by their names."""
    return {name: value for name, value in header.settings.items() if name != OTHERS}


def _same(left: str | int | None, right: str | int | None) -> bool:
    return type(left) is type(right) and left == right


def _identical(left: object, right: object) -> bool:
    """Equal also in the types of their values (True is not 1)."""
    return left == right and msgspec.json.encode(left) == msgspec.json.encode(right)
