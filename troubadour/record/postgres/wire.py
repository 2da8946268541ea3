"""Values as PostgreSQL sends and takes them, on their way into a log.

What libpq holds is read, not what the application's adapters and row factories make of it: so the log does not depend
on them, and what the application does with its parameters later does not matter. While an application runs, answers are
only taken out of libpq (`Taker`); JSON is made later. Does not know transactions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import psycopg
from psycopg import postgres, pq
from psycopg.adapt import AdaptersMap, PyFormat, Transformer
from psycopg.pq.abc import PGresult
from psycopg.types.string import TextLoader

from troubadour.record.core.journal import Journal, encode
from troubadour.record.core.tape import made
from troubadour.record.errors import RecordError
from troubadour.record.statements.secrets import administers, masked
from troubadour.record.values import to_json

Make = Callable[[str], bytes]
"""From the text that the server sent to JSON."""

_COUNTED = frozenset({b"INSERT", b"UPDATE", b"DELETE", b"MERGE"})
"""Command tags whose row count is an observation of its own."""

_ABORTED = ("23", "40", "25P02", "P0")
_NOT_KNOWN = "40003"

REDACTED = b'{"redacted":true}'
_NOT_A_NUMBER = frozenset({"NaN", "Infinity", "-Infinity"})


def _quoted(text: str) -> bytes:
    return b'"%b"' % text.encode()


def _text(text: str) -> bytes:
    return encode(text)


def _float(text: str) -> bytes:
    return _quoted(text) if text in _NOT_A_NUMBER else encode(float(text))


def _bool(text: str) -> bytes:
    return b"true" if text == "t" else b"false"


def _timestamp(text: str) -> bytes:
    return _quoted(text.replace(" ", "T", 1))


MAKES: Mapping[int, Make] = {
    16: _bool,
    20: str.encode,
    21: str.encode,
    23: str.encode,
    26: str.encode,
    700: _float,
    701: _float,
    1082: _quoted,
    1083: _quoted,
    1114: _timestamp,
    1184: _timestamp,
    1700: _quoted,
    2950: _quoted,
}
"""By the type's oid; all others are texts."""

_INTEGERS = frozenset({20, 21, 23, 26})
_TOLD = frozenset({0, 16, 18, 19, 20, 21, 23, 25, 26, 705, 1042, 1043})
_CASTS: Mapping[int, str] = {
    oid: name + suffix
    for known in postgres.types
    for oid, name, suffix in ((known.oid, known.regtype, ""), (known.array_oid, known.regtype, "[]"))
    if oid not in _TOLD
} | {1114: "timestamp", 1184: "timestamptz", 1083: "time", 1266: "timetz"}
"""The types that a parameter is sent with and its JSON form would not tell. Integers and texts are as literals are."""

_ARRAYS: Mapping[int, int] = {1000: 16, 1005: 21, 1007: 23, 1016: 20, 1009: 25, 1022: 701, 1182: 1082, 1231: 1700}
"""The types of the elements of arrays."""


class _Texts:
    """Of a Transformer that gives every value as the text that the server sent."""

    connection = None
    adapters = AdaptersMap()


_Texts.adapters.register_loader(0, TextLoader)


class Taker:
    """Takes statements and answers of one connection as they are, for its journal: a `tape.Raw`. Statements are
    `tape.made` ones, or (text's number, parameters, types, formats, invoked, returned, answer), where the answer is
    libpq's or JSON."""

    __slots__ = ("_journal", "_transformer")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._transformer: Any = Transformer(_Texts())

    def __call__(self, statements: Sequence[Any]) -> list[Any]:
        """What a journal can hold."""
        taken: list[Any] = []
        for statement in statements:
            if len(statement) == 4:
                taken.extend(made([statement]))
                continue
            number, params, types, formats, invoked, returned, answer = statement
            if not isinstance(answer, bytes):
                # most writing statements have no columns: that is all there is to them
                answer = (
                    self.answer(number, answer) if answer.nfields else (answer.command_status, (), _no_rows(answer))
                )
            taken.append((number, params, types, formats and bytes(formats), invoked, returned, answer))
        return taken

    def answer(self, number: int, result: PGresult) -> tuple[bytes | None, tuple[int, ...], list[Any]] | bytes:
        """The command tag, the columns' types, and the rows, as texts; JSON where the server sent them in binary."""
        tag, width = result.command_status, result.nfields
        self._journal.columns(number, width, partial(names, result))
        oids = tuple([result.ftype(place) for place in range(width)])
        if result.fformat(0):
            return _observation(tag, encode(names(result)), result_rows(result))
        return tag, oids, _texts(self._transformer, result)


def _no_rows(result: PGresult) -> list[Any] | None:
    """Rows without columns, of which a SELECT may have some."""
    return [()] * result.ntuples if result.status == pq.ExecStatus.TUPLES_OK else None


def _texts(transformer: Any, result: PGresult) -> list[Any]:
    transformer.set_pgresult(result)
    found: list[Any] = transformer.load_rows(0, result.ntuples, tuple)
    transformer.set_pgresult(None)  # or it would keep them
    return found


def names(result: PGresult) -> list[str]:
    """The columns' names."""
    return [(result.fname(place) or b"").decode() for place in range(result.nfields)]


def result_rows(result: PGresult) -> list[bytes]:
    """The rows of an answer, each as JSON."""
    if not (result.nfields and result.fformat(0)):
        oids = [result.ftype(place) for place in range(result.nfields)]
        return json_rows(oids, _texts(Transformer(_Texts()), result))
    transformer = Transformer()
    transformer.set_pgresult(result)
    rows = transformer.load_rows(0, result.ntuples, tuple)
    return [b"[%b]" % b",".join(map(_python, row)) for row in rows]


def observation(tag: bytes | None, columns: bytes, oids: Sequence[int], rows: Sequence[Any] | None) -> bytes:
    """The observation that an answer is, as fields of the statement: rows, affected count, both, or nothing."""
    return _observation(tag, columns, None if rows is None else json_rows(oids, rows))


def _observation(tag: bytes | None, columns: bytes, rows: list[bytes] | None) -> bytes:
    return (b"" if rows is None else result(columns, rows)) + counted(tag or b"")


def result(columns: bytes, rows: Sequence[bytes], *, truncated: bool = False) -> bytes:
    """A set of rows, each JSON, as a field that begins with a comma; `truncated`: there may be more of them."""
    end = b',"truncated":true' if truncated else b""
    return b',"result":{"columns":%b,"rows":[%b]%b}' % (columns, b",".join(rows), end)


def counted(tag: bytes) -> bytes:
    """How many rows a statement affected by its tag, as a field that begins with a comma; nothing where that is no
    observation."""
    word, _, rest = tag.partition(b" ")
    return b',"affected":' + rest.rpartition(b" ")[2] if word in _COUNTED else b""


def says_aborted(state: str) -> bool:
    """Whether an SQLSTATE in answer to COMMIT says that it was rolled back; after any other that is not known."""
    return state.startswith(_ABORTED) and state != _NOT_KNOWN


def json_rows(oids: Sequence[int], rows: Sequence[Any]) -> list[bytes]:
    """Rows of texts, each as JSON."""
    makes = [MAKES.get(oid, _text) for oid in oids]
    return [
        b"[%b]" % b",".join(b"null" if value is None else make(value) for make, value in zip(makes, row, strict=True))
        for row in rows
    ]


def _python(value: object) -> bytes:
    """A value of psycopg's default adapters; what JSON does not have as the text that PostgreSQL has for it."""
    try:
        return encode(to_json(str(value) if isinstance(value, UUID) else value))
    except RecordError:
        pass
    try:
        text = Transformer().get_dumper(value, PyFormat.TEXT).dump(value)
        return b"null" if text is None else encode(bytes(text).decode())
    except (psycopg.Error, UnicodeDecodeError):
        return REDACTED


def statement(
    query: bytes, params: Sequence[bytes | None] | None, types: tuple[int, ...], formats: Sequence[int]
) -> bytes:
    """A statement as it was sent, passwords masked: the fields `sql` and `params`."""
    if not params:
        return _sql(query, ())
    if administers(query.decode()):
        return b'%b,"params":[%b]' % (_sql(query, ()), b",".join([REDACTED] * len(params)))
    if b"ANY" in query or b"any" in query:
        query, params, types, formats = _unfolded(query, params, types, formats)
    values = []
    for place, data in enumerate(params):
        if data is None:
            values.append(b"null")
        elif not formats[place]:
            values.append(MAKES.get(types[place], _text)(bytes(data).decode()))
        elif types[place] in _INTEGERS:
            values.append(b"%d" % int.from_bytes(data, "big", signed=True))
        else:
            values.append(_binary(data, types[place]))
    return b'%b,"params":[%b]' % (_sql(query, types), b",".join(values))


_ANY = re.compile(
    rb"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"
        |(?P<any>=\s*ANY\s*\(\s*\$(?P<number>[0-9]+)(?:\s*::\s*\w+\s*\[\s*\])?\s*\))|\$(?P<other>[0-9]+)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def _unfolded(
    query: bytes, params: Sequence[bytes | None], types: tuple[int, ...], formats: Sequence[int]
) -> tuple[bytes, Sequence[bytes | None], tuple[int, ...], Sequence[int]]:
    """``x = ANY($1)`` with an array of scalars as ``x IN ($1, $2)``, which says the same; arrays elsewhere stay."""
    found: list[tuple[bytes | None, int, int]] = []
    places: dict[int, int] = {}

    def put(match: re.Match[bytes]) -> bytes:
        if match["any"] is None and match["other"] is None:
            return match.group()
        number = int(match["number"] or match["other"]) - 1
        elements = None
        if match["any"] is not None and (types[number] in _ARRAYS or not types[number]) and not formats[number]:
            elements = _elements(bytes(params[number] or b""))
        if not elements:
            if number not in places:
                places[number] = len(found) + 1
                found.append((params[number], types[number], formats[number]))
            new = b"$%d" % places[number]
            old = b"$" + (match["number"] or match["other"])
            return match.group().replace(old, new, 1)
        first = len(found) + 1
        found.extend((element, _ARRAYS.get(types[number], 0), 0) for element in elements)
        return b"IN (%b)" % b", ".join(b"$%d" % place for place in range(first, len(found) + 1))

    text = _ANY.sub(put, query)
    return text, [one[0] for one in found], tuple(one[1] for one in found), [one[2] for one in found]


def _elements(data: bytes) -> list[bytes | None] | None:
    """The elements of an array in text form, if it is flat and has some; NULL is one."""
    if not data.startswith(b"{") or not data.endswith(b"}") or b"{" in data[1:]:
        return None
    found: list[bytes | None] = []
    for match in re.finditer(rb'"((?:[^"\\]|\\.)*)"|([^,"]+)', data[1:-1]):
        if match[1] is not None:
            found.append(re.sub(rb"\\(.)", rb"\1", match[1]))
        else:
            found.append(None if match[2].upper() == b"NULL" else match[2])
    return found


def _binary(data: bytes, type: int) -> bytes:
    if type == 16:
        return b"true" if data == b"\x01" else b"false"
    if type == 17:
        return b'"\\\\x%b"' % data.hex().encode()
    return _python(Transformer().get_loader(type, pq.Format.BINARY).load(data))


@lru_cache(maxsize=10_000)
def _sql(query: bytes, types: tuple[int, ...]) -> bytes:
    return b'"sql":' + encode(masked(with_casts(query, types)))


_PLACES = re.compile(
    rb"""--[^\n]*|/\*.*?\*/|\$(?:[A-Za-z_]\w*)?\$|\b[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|"(?:[^"]|"")*"
        |(?P<place>\$(?P<number>[0-9]+))(?P<cast>\s*::)?""",
    re.VERBOSE | re.DOTALL,
)


def with_casts(query: bytes, types: tuple[int, ...]) -> str:
    """The text with a cast behind each placeholder whose type its value in the log would not tell."""
    if _CASTS.keys().isdisjoint(types):
        return query.decode()

    def cast(match: re.Match[bytes]) -> bytes:
        if match["place"] is None or match["cast"] is not None:
            return match.group()
        name = _CASTS.get(types[int(match["number"]) - 1])
        return match.group() if name is None else match.group() + b"::" + name.encode()

    return _PLACES.sub(cast, query).decode()
