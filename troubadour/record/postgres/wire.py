"""Values as PostgreSQL sends and takes them, on their way into a log (CONTRACT §1, *Values*).

What libpq holds is read, not what the application's adapters and row factories make of it: so the log does not depend
on them, and what the application does with its parameters later does not matter. Everything is written as JSON at once,
and what repeats is written once. Does not know transactions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from uuid import UUID

from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.pq.abc import PGresult

from troubadour.record.errors import RecordError
from troubadour.record.journal import encode
from troubadour.record.values import to_json

Make = Callable[[bytes], bytes]
"""From what the server sent to JSON."""

COUNTED = frozenset({b"INSERT", b"UPDATE", b"DELETE", b"MERGE"})
"""Command tags whose row count is an observation of its own."""

_NOT_A_NUMBER = frozenset({b"NaN", b"Infinity", b"-Infinity"})


def _text(data: bytes) -> bytes:
    return encode(bytes(data).decode())


def _as_is(data: bytes) -> bytes:
    return data


def _quoted(data: bytes) -> bytes:
    return b'"%b"' % data


def _float(data: bytes) -> bytes:
    return _quoted(data) if data in _NOT_A_NUMBER else encode(float(data))


def _bool(data: bytes) -> bytes:
    return b"true" if data == b"t" else b"false"


def _timestamp(data: bytes) -> bytes:
    return b'"%b"' % data.replace(b" ", b"T", 1)


_MAKES: Mapping[int, Make] = {
    16: _bool,
    20: _as_is,
    21: _as_is,
    23: _as_is,
    26: _as_is,
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
_CASTS: Mapping[int, str] = {
    17: "bytea",
    700: "real",
    701: "double precision",
    114: "json",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "timetz",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
    1000: "boolean[]",
    1005: "smallint[]",
    1007: "integer[]",
    1009: "text[]",
    1016: "bigint[]",
    1022: "double precision[]",
    1182: "date[]",
    1231: "numeric[]",
}
"""The types that a parameter is sent with and its JSON form would not tell. Integers and texts are as literals are."""

_ARRAYS: Mapping[int, int] = {1000: 16, 1005: 21, 1007: 23, 1016: 20, 1009: 25, 1022: 701, 1182: 1082, 1231: 1700}
"""The types of the elements of arrays."""


def observed(query: bytes, result: PGresult) -> bytes:
    """The observation that an answer is, as fields of the statement: rows, affected count, both, or nothing."""
    tag, _, rest = (result.command_status or b"").partition(b" ")
    found = b""
    if result.nfields or result.status == pq.ExecStatus.TUPLES_OK:
        found = b',"result":{"columns":%b,"rows":[%b]}' % (columns(query, result), result_rows(result))
    if tag in COUNTED:
        found += b',"affected":' + rest.rpartition(b" ")[2]
    return found


_COLUMNS: dict[tuple[bytes, int], bytes] = {}


def columns(query: bytes, result: PGresult) -> bytes:
    """The columns' names, which nobody relies on: they are looked at once for a text and a number of them."""
    width = result.nfields
    found = _COLUMNS.get((query, width))
    if found is None:
        if len(_COLUMNS) > 10_000:
            _COLUMNS.clear()
        found = encode([(result.fname(j) or b"").decode() for j in range(width)])
        _COLUMNS[query, width] = found
    return found


def result_rows(result: PGresult) -> bytes:
    """The rows of an answer, without the brackets around them."""
    width = range(result.nfields)
    if width and result.fformat(0):
        return _binary_rows(result)
    makes = [_MAKES.get(result.ftype(j), _text) for j in width]
    value = result.get_value
    rows = []
    for i in range(result.ntuples):
        row = []
        for j in width:
            data = value(i, j)
            row.append(b"null" if data is None else makes[j](data))
        rows.append(b"[%b]" % b",".join(row))
    return b",".join(rows)


def _binary_rows(result: PGresult) -> bytes:
    transformer = Transformer()
    transformer.set_pgresult(result)
    rows = transformer.load_rows(0, result.ntuples, tuple)
    return b",".join(b"[%b]" % b",".join(map(_python, row)) for row in rows)


def _python(value: object) -> bytes:
    """A value of psycopg's default adapters; what has no form was not observed."""
    try:
        return encode(to_json(str(value) if isinstance(value, UUID) else value))
    except RecordError:
        return b'{"redacted":true}'


def statement(
    query: bytes, params: Sequence[bytes | None] | None, types: tuple[int, ...], formats: Sequence[int]
) -> bytes:
    """A statement as it was sent: the fields `sql` and `params`."""
    if not params:
        return _sql(query, ())
    if b"ANY" in query or b"any" in query:
        query, params, types, formats = _unfolded(query, params, types, formats)
    values = []
    for place, data in enumerate(params):
        if data is None:
            values.append(b"null")
        elif not formats[place]:
            values.append(_MAKES.get(types[place], _text)(data))
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
    return b'"sql":' + encode(with_casts(query, types))


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
