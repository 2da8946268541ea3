"""Statements that a session has prepared, and the portals that it has bound: what their texts, parameters and columns
are. Does not know when they are executed.
"""

from __future__ import annotations

import secrets

from sql_semantics.records import dataclass
from troubadour.record.core.tape import Transcript
from troubadour.record.postgres import wire
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.postgres.answers import Answer, Reading
from troubadour.record.proxy.postgres.execution import plain
from troubadour.record.proxy.postgres.protocol import messages
from troubadour.record.proxy.postgres.protocol.messages import Column
from troubadour.record.proxy.postgres.protocol.values import BROKEN, text_of
from troubadour.record.proxy.postgres.statements.texts import pieces
from troubadour.record.statements.secrets import masked

_UNTOLD = f"untold-{secrets.token_hex(8)}"
"""Stands for a parameter that cannot be read until the fields are made."""


@dataclass(slots=True)
class Prepared:
    """A statement as Parse made it, None if it is empty; `columns`: None where they are not known, or there are
    none."""

    piece: Piece | None
    types: tuple[int, ...]
    columns: tuple[Column, ...] | None = None


@dataclass(slots=True)
class Portal:
    """A statement with its parameters, `bound` at that time. `answer`: what came so far, where it is executed in parts;
    `place`: where the transaction has it."""

    prepared: Prepared
    bind: messages.Bind
    bound: int
    answer: Answer
    place: tuple[Transcript, int] | None = None


class Portals:
    """Those of one session, and its prepared statements. Raises ValueError for what it does not have."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._statements: dict[bytes, Prepared] = {}
        self._portals: dict[bytes, Portal] = {}

    def read(self, parse: messages.Parse) -> Prepared:
        """The statement that Parse has, which may not be prepared."""
        found = pieces(self._reading.text(parse.text))
        if len(found) > 1:
            raise ValueError("several statements in one that is prepared")
        return Prepared(found[0] if found else None, parse.types)

    def prepare(self, parse: messages.Parse) -> None:
        """The server has prepared it."""
        self._statements[parse.name] = self.read(parse)

    def statement(self, name: bytes) -> Prepared:
        """The statement of a name."""
        found = self._statements.get(name)
        if found is None:
            raise ValueError("a statement that was not prepared")
        return found

    def bind(self, bind: messages.Bind, time: int) -> None:
        """The server has bound a portal."""
        prepared = self.statement(bind.statement)
        self._portals[bind.portal] = Portal(prepared, bind, time, Answer(_formatted(prepared.columns, bind)))

    def portal(self, name: bytes) -> Portal:
        """The portal of a name."""
        found = self._portals.get(name)
        if found is None:
            raise ValueError("a portal that was not bound")
        return found

    def has_statement(self, name: bytes) -> bool:
        """Whether a statement of the name is prepared."""
        return name in self._statements

    def has_portal(self, name: bytes) -> bool:
        """Whether a portal of the name is bound."""
        return name in self._portals

    def clear(self) -> None:
        """No transaction is open: the portals are gone."""
        self._portals.clear()

    def describe(self, kind: bytes, name: bytes, columns: tuple[Column, ...] | None) -> None:
        """The server has told the columns of a statement, or of a portal."""
        if kind == b"S":
            if name in self._statements:
                self._statements[name].columns = columns
            return
        portal = self._portals.get(name)
        if portal is None:
            return  # a cursor, which statements fetch of
        portal.answer.columns = columns
        if portal.prepared.columns is None and columns is not None:
            portal.prepared.columns = tuple(column._replace(format=0) for column in columns)

    def fields(self, prepared: Prepared, bind: messages.Bind | None, sql: str | None = None) -> bytes:
        """A statement with its parameters, as the log has it; `sql`: another text in its place."""
        piece = prepared.piece
        if piece is None:
            raise ValueError("an empty statement was executed")
        sql = piece.sql if sql is None else sql
        if bind is None or not bind.values or piece.secret:
            return plain(masked(sql) if piece.secret else sql)
        count = len(bind.values)
        types = prepared.types + (0,) * (count - len(prepared.types))
        formats = each(bind.formats, count)
        texts = [self._text(*one) for one in zip(types, formats, bind.values, strict=True)]
        known = tuple(0 if text == _UNTOLD.encode() else type for type, text in zip(types, texts, strict=True))
        found = wire.statement(sql.encode(), texts, known, [0] * count)
        return found.replace(f'"{_UNTOLD}"'.encode(), wire.REDACTED)

    def _text(self, type: int, format: int, value: bytes | None) -> bytes | None:
        if value is None:
            return None
        try:
            text = text_of(type, value, self._reading.labels) if format else self._reading.text(value)
        except BROKEN:
            text = None
        return (_UNTOLD if text is None else text).encode()


def each(codes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The format of each of so many values."""
    if len(codes) == count:
        return codes
    return (codes[0] if codes else 0,) * count


def _formatted(columns: tuple[Column, ...] | None, bind: messages.Bind) -> tuple[Column, ...] | None:
    """The columns of a statement in the formats that Bind asks for."""
    if columns is None:
        return None
    formats = each(bind.results, len(columns))
    return tuple(column._replace(format=format) for column, format in zip(columns, formats, strict=True))
