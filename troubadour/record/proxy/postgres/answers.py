"""What a PostgreSQL server answered, as observations of a log: rows in text or binary, counts, errors. The writer is
that of the other recorders (`record.postgres.wire`). Does not know requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from troubadour.record.core.journal import encode
from troubadour.record.postgres import wire
from troubadour.record.proxy.bodies import BROKEN
from troubadour.record.proxy.postgres.protocol.messages import Column, data_row
from troubadour.record.proxy.postgres.protocol.values import text_of

MOST = 1 << 26
"""Of a statement so many bytes of rows are kept at most; of one with more the rows are not known."""

_DATES = frozenset({1082, 1114, 1184, 1266})
_INTERVAL = 1186
_BYTEA = 17
_STYLES = {"DateStyle": "ISO", "IntervalStyle": "postgres"}
"""Settings by which a server writes values, each with the style that a log has."""
_CODECS: Mapping[str, str] = {
    "UTF8": "utf-8", "SQL_ASCII": "ascii", "LATIN1": "iso8859-1", "LATIN2": "iso8859-2", "LATIN9": "iso8859-15",
    "WIN1250": "cp1250", "WIN1251": "cp1251", "WIN1252": "cp1252", "KOI8R": "koi8-r", "EUC_JP": "euc_jp",
    "SJIS": "shift_jis", "GBK": "gbk", "BIG5": "big5", "EUC_KR": "euc_kr",
}  # fmt: skip
"""Python's names of encodings."""


class Reading:
    """How values of a session are read: its encoding, and the types whose texts are not as the log has them.

    `labels`: oids of enums."""

    def __init__(self, labels: frozenset[int] = frozenset()) -> None:
        self.codec: str | None = "utf-8"
        """None where the encoding is not known."""
        self.labels = labels
        self._usual = dict.fromkeys(_STYLES, True)

    def parameter(self, name: str, value: str) -> None:
        """The server says how it writes."""
        if name == "client_encoding":
            self.codec = _CODECS.get(value)
        elif name in _STYLES:
            # a style of dates may be followed by the order of day and month
            self._usual[name] = value.split(",")[0] == _STYLES[name]

    def text(self, data: bytes) -> str:
        """A text of the session. Raises ValueError where its encoding is not known, or other."""
        if self.codec is None:
            raise ValueError("an unknown encoding")
        return data.decode(self.codec)

    def value(self, type: int, format: int, data: bytes | None) -> bytes:
        """A value as JSON."""
        if data is None:
            return b"null"
        try:
            text = text_of(type, data, self.labels) if format else self.text(data)
        except BROKEN:
            return wire.REDACTED
        if text is None or (not format and not self._readable(type, text)):
            return wire.REDACTED
        make = wire.MAKES.get(type)
        return encode(text) if make is None else make(text)

    def _readable(self, type: int, text: str) -> bool:
        """Whether the text of a value is what the log would have."""
        if type in _DATES:
            return self._usual["DateStyle"]
        if type == _INTERVAL:
            return self._usual["IntervalStyle"]
        return type != _BYTEA or text.startswith("\\x")

    def rows(self, columns: Sequence[Column], bodies: Sequence[bytes]) -> list[bytes]:
        """Rows as JSON. Raises one of `BROKEN` where they are not of these columns."""
        value = self.value
        kinds = [(column.type, column.format) for column in columns]
        return [
            b"[%b]"
            % b",".join([value(type, format, data) for (type, format), data in zip(kinds, data_row(body), strict=True)])
            for body in bodies
        ]


class Answer:
    """The rows of one statement, as they come: bodies of DataRow."""

    __slots__ = ("columns", "rows", "size", "strange")

    def __init__(self, columns: tuple[Column, ...] | None = None) -> None:
        self.columns = columns
        """None where they are not known."""
        self.rows: list[bytes] = []
        self.size = 0
        self.strange = False
        """Whether what came cannot be told as one set of rows."""

    def add(self, body: bytes | None) -> None:
        """One more row."""
        if body is None or self.size > MOST:
            self.strange, self.rows = True, []
            return
        self.size += len(body) + 50
        self.rows.append(body)

    def described(self, columns: tuple[Column, ...]) -> None:
        """Rows of these columns follow."""
        if self.columns is not None:
            self.strange = True  # a rule answers one statement by several sets
        self.columns = columns

    def observation(self, reading: Reading, tag: bytes, *, truncated: bool = False) -> bytes:
        """As fields of a statement that begin with a comma."""
        found = b""
        if self.columns is not None and not self.strange:
            with suppress(*BROKEN):
                found = wire.result(names_of(self.columns), reading.rows(self.columns, self.rows), truncated=truncated)
        return found if self.strange else found + wire.counted(tag)


def names_of(columns: Sequence[Column]) -> bytes:
    """The names of columns, as JSON."""
    return encode([column.name for column in columns])


def error_json(fields: Mapping[str, str], secret: bool = False) -> dict[str, str]:
    """An ErrorResponse as the log writes it; a `secret` statement's message may tell a password."""
    state = fields.get("C", "XX000")
    return {"sqlstate": state} if secret else {"sqlstate": state, "message": fields.get("M", "").split("\n", 1)[0]}
