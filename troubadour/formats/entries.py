"""The shape of each line as typed records, and how one line becomes one.

Every line is decoded twice at most: first by a typed decoder that does all the checking in C; what it refuses, or
what may repeat a key, is read again slowly, to say what is wrong or to find that nothing is. Does not know what the
lines before said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from troubadour.formats.wording import worded
from troubadour.model.log import Begin, End, ObservedError, ObservedRows, Outline, Sent, TransactionId
from troubadour.model.objects import MISSING
from troubadour.model.visible import one_line

Time = Annotated[int, msgspec.Meta(ge=MISSING + 1, le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Ordinal = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Xid = Annotated[str, msgspec.Meta(pattern="^[0-9]+$")]
TraceId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Snapshot = Annotated[str, msgspec.Meta(pattern="^[0-9]+:[0-9]+:([0-9]+(,[0-9]+)*)?$")]


class BadEntry(Exception):
    """A line that cannot be used; `statement` counts from 1. `part` is what the statements are called, where they are
    operations on objects."""

    def __init__(
        self,
        text: str,
        *,
        statement: int | None = None,
        transaction: TransactionId | None = None,
        part: str = "statement",
    ) -> None:
        super().__init__(text)
        self.text = text
        self.statement = statement
        self.transaction = transaction
        self.part = part
        self.line: int | None = None
        """Where it is not the last line that was read."""

    def within(self, transaction: TransactionId) -> BadEntry:
        """The same, of a transaction."""
        return BadEntry(self.text, statement=self.statement, transaction=transaction, part=self.part)

    @property
    def where(self) -> str:
        """The transaction and the statement, as messages name them; empty where neither is known."""
        named = [] if self.transaction is None else [f"transaction {shorten(self.transaction)}"]
        if self.statement is not None:
            named.append(f"{self.part} {self.statement}")
        return ", ".join(named)


class _Record(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """No unknown field is let by: a misspelt one would silently drop an observation."""


class RawStatement(_Record, frozen=True):
    """A statement as written."""

    sql: str
    params: tuple[Any, ...] | dict[str, Any] | None = None
    result: ObservedRows | None = None
    results: tuple[ObservedRows, ...] | None = None
    affected: Count | None = None
    error: ObservedError | None = None
    outcome: Literal["unknown"] | None = None
    invoked: Time | None = None
    returned: Time | None = None


class RawTransaction(_Record, frozen=True):
    """A ``transaction``, ``intent`` or ``checkpoint`` line as written: with `statements`, or with `ops` in a log of
    objects."""

    id: TransactionId
    status: Literal["committed", "aborted", "unknown"]
    statements: tuple[RawStatement, ...] | None = None
    ops: tuple[Any, ...] | None = None
    kind: Literal["transaction", "intent", "checkpoint"] | None = None
    session: str | int | None = None
    isolation: Name | None = None
    sno: Ordinal | None = None
    read_only: bool | None = None
    start: Time | None = None
    commit: Time | None = None
    invoked: Time | None = None
    returned: Time | None = None
    end: End | None = None
    clock: Name | None = None
    xid: Xid | None = None
    snapshot: Snapshot | None = None
    snapshot_at: Literal["begin", "statement", "imported"] | None = None
    begin: Begin | None = None
    trace_id: TraceId | None = None


class RawRows(_Record, frozen=True):
    """A ``rows`` line as written."""

    kind: Literal["rows"]
    table: Name
    rows: tuple[tuple[Any, ...], ...]
    columns: tuple[str, ...] | None = None


class RawGap(_Record, frozen=True):
    """A ``gap`` line as written."""

    kind: Literal["gap"]
    reason: Name
    since: Time | None = None
    until: Time | None = None
    transactions: Count | None = None
    clock: Name | None = None


class RawEnd(_Record, frozen=True):
    """An ``end`` line as written."""

    kind: Literal["end"]
    transactions: Count


class RawInitial(_Record, frozen=True):
    """One table of the header's ``initial``, or one object, which has a `default`."""

    rows: tuple[tuple[Any, ...], ...] | None = None
    columns: tuple[str, ...] | None = None
    default: Any = msgspec.UNSET


class RawHeader(_Record, frozen=True):
    """Line 1 as written."""

    format: Literal["troubadour-log"]
    version: Literal[1]
    dialect: Literal["postgres", "mysql", "sqlite", "duckdb"] | None = None
    schema: tuple[Name, ...] | None = None
    objects: dict[Name, Literal["register", "list", "set", "counter"]] | None = None
    dbms: str | None = None
    isolation: Name | None = None
    procedures: tuple[Name, ...] = ()
    initial: dict[Name, RawInitial | Literal["unknown"]] = {}
    order: Literal["exact", "hint"] | None = None
    settings: dict[str, Any] = {}
    clock: Name | None = None
    log_id: str | int | None = None
    segment: str | int | None = None


class _Brief(msgspec.Struct, frozen=True, gc=False):
    """What of a transaction line tells what became of which transaction."""

    id: TransactionId
    status: str


Entry = RawTransaction | RawRows | RawGap | RawEnd
R = TypeVar("R", bound=msgspec.Struct)

_KINDS: dict[str, type[RawTransaction] | type[RawRows] | type[RawGap] | type[RawEnd]] = {
    "transaction": RawTransaction,
    "intent": RawTransaction,
    "checkpoint": RawTransaction,
    "rows": RawRows,
    "gap": RawGap,
    "end": RawEnd,
}
_transactions = msgspec.json.Decoder(RawTransaction, float_hook=Decimal)
_decode_brief = msgspec.json.Decoder(_Brief).decode
_decode_outline = msgspec.json.Decoder(Outline).decode
_decode_transaction = _transactions.decode
_decode_transactions = _transactions.decode_lines
_decode_rows = msgspec.json.Decoder(RawRows, float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_REFUSALS = (ValueError, InvalidOperation, RecursionError)  # the first covers what msgspec raises


def read_transaction(line: bytes) -> Entry:
    """Any line, fastest for transactions. Raises BadEntry."""
    return _read(line, _decode_transaction)


def read_rows(line: bytes) -> Entry:
    """Any line, fastest for initial rows. Raises BadEntry."""
    return _read(line, _decode_rows)


def status_again(line: bytes) -> tuple[TransactionId, str]:
    """The id and the status of a transaction line that was read before."""
    try:
        brief = _decode_brief(line)
    except _REFUSALS:
        entry = decode_again(line)
        return entry.id, entry.status
    return brief.id, brief.status


def outline_again(line: bytes) -> Outline:
    """When a transaction ran whose line was read before, as the line tells it."""
    try:
        return _decode_outline(line)
    except _REFUSALS:
        entry = decode_again(line)
    sent = tuple(Sent(one.invoked) for one in entry.statements or ())
    return Outline(entry.status, sent, entry.isolation, entry.start, entry.commit, entry.invoked, entry.returned,
                   entry.end, entry.clock, entry.snapshot_at, entry.begin)  # fmt: skip


def id_of(line: bytes) -> TransactionId | None:
    """The id of a transaction line; None of others, and of one that only a closer look can read."""
    try:
        return _decode_brief(line).id
    except _REFUSALS:
        return None


def decode_again(line: bytes) -> RawTransaction:
    """A transaction line that was read before. Raises BadEntry where it is none any more."""
    try:
        return _decode_transaction(line)
    except _REFUSALS:
        entry = _slowly(line)
        if not isinstance(entry, RawTransaction):
            raise BadEntry("a line that is no transaction") from None
        return entry


def read_transactions(batch: list[bytes]) -> list[RawTransaction] | None:
    """Many lines at once; None if any of them is no transaction or needs a closer look."""
    text = b"\n".join(batch)
    try:
        entries = _decode_transactions(text)
    except _REFUSALS:
        return None
    # A blank line has no entry.
    return None if len(entries) != len(batch) or _may_repeat_a_key(text, entries) else entries


def _read(line: bytes, decode: Callable[[bytes], Entry]) -> Entry:
    try:
        entry = decode(line)
    except _REFUSALS:
        return _slowly(line)
    return _slowly(line) if _may_repeat_a_key(line, entry) else entry


def _may_repeat_a_key(text: bytes, entry: Entry | list[RawTransaction]) -> bool:
    """Whether `entry` has fewer keys than `text`. The decoder keeps the last of two equal keys; written out again, its
    record then has fewer quotes. (So has one that spells out defaults, as in ``"session": null``: hence *may*.)

    A quote inside a text is ``\\"`` on both sides, unless it was written as a code; those are looked for, so that they
    cannot make up for a repeated key.
    """
    if _encode(entry).count(b'"') != text.count(b'"'):
        return True
    return b"\\" in text and b"\\u0022" in text


def read_header(line: bytes) -> RawHeader:
    """Line 1. Raises BadEntry."""
    value = _loads(line)
    if isinstance(value, list) and len(value) > 1 and all(isinstance(entry, dict) for entry in value):
        raise BadEntry("the file is one JSON array; a log has one entry on each line: jq -c '.[]' FILE > LOG")
    if not isinstance(value, dict) or value.get("format") != "troubadour-log":
        raise BadEntry('not a troubadour log: line 1 must be its header, {"format": "troubadour-log", ...}')
    if value.get("version") != 1 or isinstance(value["version"], bool):
        raise BadEntry(f"version: {shorten(value.get('version'))} is no version of the log format; it is the number 1")
    header = _record(value, RawHeader)
    if header.objects is None:
        for name in ("dialect", "schema"):
            if getattr(header, name) is None:
                raise BadEntry(f"missing required field '{name}'")
    return header


def _slowly(line: bytes) -> Entry:
    value = _loads(line)
    if not isinstance(value, dict):
        raise BadEntry("not a JSON object")
    if "kind" not in value and "format" in value:
        raise BadEntry("a header that is not on line 1 (segments are given as files of their own)")
    kind = value.get("kind")
    if kind is None:
        kind = "transaction"
    if not isinstance(kind, str) or kind not in _KINDS:
        raise BadEntry(f"unknown kind {shorten(kind)}")
    return _record(value, _KINDS[kind])


def _record(value: dict[str, Any], type: type[R]) -> R:
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        message = str(error)
    transaction = value.get("id")
    if not isinstance(transaction, (str, int)) or isinstance(transaction, bool):
        transaction = None
    matched = re.fullmatch(r"(?P<what>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?", message, re.DOTALL)
    assert matched is not None
    what, path = matched["what"], matched["path"] or ""
    statement = re.match(r"\.(statements|ops)\[([0-9]+)\]", path)
    if statement is None:
        raise BadEntry(worded(what, type, path), transaction=transaction)
    part, within = ("operation", type) if statement[1] == "ops" else ("statement", RawStatement)
    text = worded(what, within, path[statement.end() :])
    raise BadEntry(text, statement=int(statement[2]) + 1, transaction=transaction, part=part)


def _loads(line: bytes) -> Any:
    """JSON with every digit kept. Raises BadEntry, also for a repeated key."""
    if line.startswith(b"\x01"):
        raise BadEntry("the recording has not ended, or was cut off here (troubadour log repair)")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        if line.startswith(_UTF_16):
            raise BadEntry("the file is UTF-16; a log is UTF-8: iconv -f UTF-16 -t UTF-8 FILE > LOG") from error
        raise BadEntry(f"not UTF-8 at byte {error.start + 1} of the line") from error
    if text.startswith("\ufeff"):
        raise BadEntry("starts with a byte order mark; remove it: sed '1s/^\\xEF\\xBB\\xBF//' FILE > LOG")
    try:
        value = json.loads(
            text, parse_float=_decimal, parse_constant=_no_constant, object_pairs_hook=_object_without_repetition
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except json.JSONDecodeError as error:
        if text.strip() in ("{", "["):
            raise BadEntry("an entry goes over several lines; each stands on one: jq -c . FILE > LOG") from error
        raise BadEntry(f"not valid JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise BadEntry("not usable JSON: nested too deeply") from error
    except UnicodeEncodeError as error:
        raise BadEntry("a lone surrogate is no character") from error
    except ValueError as error:
        raise BadEntry("an integer of too many digits") from error
    return value


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise BadEntry(f"the number {shorten(text)} is out of range") from error


def _no_constant(text: str) -> Any:
    raise BadEntry(f'{text} is not JSON; write "{text}"')


def _object_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise BadEntry(f"the key {shorten(repeated)} stands twice in one object")
    return value


def shorten(value: object) -> str:
    """A value in a message: on one line, not long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 10_000:
        return "(a very long integer)"
    text = one_line(repr(value))
    return text if len(text) <= 80 else text[:77] + "..."
