"""Writing a log, line by line as a recorder learns it, or a whole one.

What is written is read back at once, line by line: a recorder that would write nonsense fails where it does so. Does
not know where the transactions come from.
"""

from __future__ import annotations

import gzip
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import msgspec

from troubadour.formats.convert import transaction_of
from troubadour.formats.entries import BadEntry, RawTransaction, read_header, read_rows, read_transaction
from troubadour.formats.objects.initial import ObjectInitial
from troubadour.formats.objects.read import ObjectLogReader
from troubadour.formats.segments import InitialRows
from troubadour.model.log import Begin, End, Header, ObservedError, ObservedRows, Statement, Transaction
from troubadour.model.objects import KINDS, MISSING, STATUSES, UNREAD, ObjectLog
from troubadour.model.values import Redacted

Json = Mapping[str, Any]
ROWS_PER_LINE = 1000


class LogWriter:
    """An append-only writer of one segment; gzip if the name ends in ``.gz``. May be used by several threads.

    `header` is the header without `format` and `version`. An intent is flushed to the operating system before
    `intent` returns, and so is every line with `flush`: it survives the death of the process. An existing file is
    overwritten. Raises ValueError for what is no proper entry, with nothing written of it; OSError as files do.
    """

    def __init__(self, path: str | Path, header: Json, *, flush: bool = False) -> None:
        line = _line({"format": "troubadour-log", "version": 1, **header})
        try:
            read = read_header(line)
            self._objects = None if read.objects is None else ObjectLogReader(read)
            self._initial: InitialRows | ObjectInitial
            if self._objects is None:
                self._initial = InitialRows()
                self._initial.add_header(read)
            else:
                self._initial = self._objects.initial(read)
        except BadEntry as error:
            raise ValueError(f"header: {error.text}") from error
        # what clients saw is for the user alone; a file that is there already keeps its rights
        self._file: BinaryIO = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._gzip: gzip.GzipFile | None = None
        if str(path).endswith(".gz"):
            # No name and no time: equal logs are equal files.
            self._gzip = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, mtime=0)
        self._flush = flush
        self._lock = threading.Lock()
        self._transactions = 0
        self._started = False
        self._closed = False
        self._write(line, flush)

    def rows(self, table: str, columns: Sequence[str] | None, rows: Iterable[Sequence[Any]]) -> None:
        """Initial rows, before any transaction."""
        entry: dict[str, Any] = {"kind": "rows", "table": table}
        if columns is not None:
            entry["columns"] = list(columns)
        waiting: list[Sequence[Any]] = []
        for row in rows:
            waiting.append(row)
            if len(waiting) == ROWS_PER_LINE:
                self._rows({**entry, "rows": waiting})
                waiting = []
        if waiting:
            self._rows({**entry, "rows": waiting})

    def gap(self, gap: Json) -> None:
        """Transactions are missing; `kind` is added."""
        line = _line({"kind": "gap", **gap})
        try:
            read_rows(line)
        except BadEntry as error:
            raise ValueError(error.text) from error
        self._write(line, self._flush, started=True)

    def intent(self, transaction: Json) -> None:
        """A transaction whose COMMIT is about to be sent; `kind` and `status` are added."""
        self._transaction({**transaction, "kind": "intent", "status": "unknown"}, flush=True)

    def transaction(self, transaction: Json) -> None:
        """A finished transaction."""
        self._transaction(transaction, flush=self._flush)

    def close(self, *, end: bool = True) -> None:
        """Finish the segment, with an `end` line unless told otherwise; closing again does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if end:
                    self._put(_line({"kind": "end", "transactions": self._transactions}), flush=False)
            finally:
                try:
                    if self._gzip is not None:
                        self._gzip.close()
                finally:
                    self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(end=error is None)

    def _transaction(self, entry: Json, flush: bool) -> None:
        line = _line(entry)
        if self._objects is not None and self._objects.usual([line]) is not None:
            # nearly always
            self._write(line, flush, transactions=1, started=True)
            return
        try:
            raw = read_transaction(line)
            if not isinstance(raw, RawTransaction):
                raise ValueError(f"kind {entry.get('kind')!r} is no transaction")
            if self._objects is None:
                transaction_of(raw, 0, None, {})
            else:
                self._objects.check(raw)
        except BadEntry as error:
            where = f"transaction {entry.get('id')!r}" + (
                f", {error.part} {error.statement}" if error.statement else ""
            )
            raise ValueError(f"{where}: {error.text}") from error
        self._write(line, flush, transactions=0 if raw.kind == "intent" else 1, started=True)

    def _rows(self, entry: Json) -> None:
        line = _line(entry)
        try:
            raw = cast(Any, read_rows(line))
            if isinstance(self._initial, ObjectInitial):
                self._initial.add_line(raw)
            else:
                InitialRows().add_line(raw)
        except BadEntry as error:
            raise ValueError(error.text) from error
        self._write(line, self._flush)

    def _write(self, line: bytes, flush: bool, transactions: int = 0, started: bool = False) -> None:
        with self._lock:
            if self._closed:
                raise ValueError("the log is closed")
            if started:
                self._started = True
            elif self._started:
                raise ValueError("initial rows come before the first transaction")
            self._put(line, flush)
            self._transactions += transactions

    def _put(self, line: bytes, flush: bool) -> None:
        if self._gzip is not None:
            self._gzip.write(line + b"\n")
            if flush:
                self._gzip.flush()
        else:
            self._file.write(line + b"\n")
        if flush:
            self._file.flush()


def write_log(path: str | Path, header: Header, transactions: Iterable[Transaction]) -> None:
    """Write a whole log as one segment. Raises ValueError and OSError as `LogWriter`."""
    with LogWriter(path, header_json(header)) as writer:
        for table in header.initial:
            writer.rows(table.table, table.columns, table.rows)
        for transaction in transactions:
            writer.transaction(transaction_json(transaction))
        for gap in header.gaps:
            writer.gap(_given(gap, ("reason", "since", "until", "transactions", "clock")))


def write_objects(path: str | Path, log: ObjectLog) -> None:
    """Write a log of operations on objects as one segment: its transactions in hint order. Raises ValueError and
    OSError as `LogWriter`."""
    with LogWriter(path, objects_header_json(log)) as writer:
        for definition in log.objects:
            rows = [(log.codes.value(key), log.shown(code, definition.type)) for key, code in definition.rows.items()]
            writer.rows(definition.name, None, rows)
        for place in log.order:
            writer.transaction(objects_json(log, place))
        for gap in log.header.gaps:
            writer.gap(_given(gap, ("reason", "since", "until", "transactions", "clock")))


def objects_header_json(log: ObjectLog) -> dict[str, Any]:
    """The header of a log of operations on objects as the file has it, with the defaults of the objects but not
    their other initial values (they become `rows` lines)."""
    entry = header_json(log.header)
    if not log.header.dialect:
        del entry["dialect"]
    if not log.header.schema:
        del entry["schema"]
    entry["objects"] = {definition.name: definition.type for definition in log.objects}
    entry["initial"] = {
        one.name: "unknown" if one.unknown else {"default": log.shown(one.default, one.type)} for one in log.objects
    }
    return entry


def objects_json(log: ObjectLog, place: int) -> dict[str, Any]:
    """A transaction of operations on objects as its line in the file."""
    entry: dict[str, Any] = {"id": log.ids[place], "status": STATUSES[log.statuses[place]]}
    session = log.session(place)
    if session is not None:
        entry["session"] = session
    level = log.level_names[log.levels[place]]
    if level is not None:
        entry["isolation"] = level
    clock = log.clock_names[log.clocks[place]]
    if clock is not None and clock != log.header.clock:
        entry["clock"] = clock
    numbers = {
        "sno": log.numbers, "start": log.starts, "commit": log.commits, "invoked": log.invoked, "returned": log.returned
    }  # fmt: skip
    for name, column in numbers.items():
        if column[place] != MISSING:
            entry[name] = column[place]
    entry["ops"] = list(map(partial(_operation_json, log), range(log.first[place], log.first[place + 1])))
    end = log.end(place)
    if end is not None:
        entry["end"] = _end_json(end)
    for name, value in log.more.get(place, {}).items():
        if name == "begin":
            entry["begin"] = _given(cast(Begin, value), ("invoked", "returned", "snapshot"))
        elif name != "end":
            entry[name] = value
    return entry


def _operation_json(log: ObjectLog, position: int) -> list[Any]:
    told = [KINDS[log.kinds[position]], log.objects[log.subjects[position]].name, log.codes.value(log.keys[position])]
    return told if log.values[position] == UNREAD else [*told, log.seen(position)]


def header_json(header: Header) -> dict[str, Any]:
    """A header as the file has it, but for the initial rows that are known (they become `rows` lines)."""
    entry = _given(header, ("dialect", "dbms", "isolation", "order", "clock", "log_id", "segment"))
    entry["schema"] = header.schema
    if header.procedures:
        entry["procedures"] = header.procedures
    if header.settings:
        entry["settings"] = header.settings
    if header.initial_unknown:
        entry["initial"] = dict.fromkeys(header.initial_unknown, "unknown")
    return entry


def transaction_json(transaction: Transaction) -> dict[str, Any]:
    """A transaction as its line in the file."""
    names = ("id", "status", "session", "isolation", "read_only", "start", "commit", "invoked", "returned")
    entry = _given(transaction, (*names, "clock", "xid", "snapshot", "snapshot_at", "sno", "trace_id"))
    entry["statements"] = [_statement_json(statement) for statement in transaction.statements]
    if transaction.begin is not None:
        entry["begin"] = _given(transaction.begin, ("invoked", "returned", "snapshot"))
    if transaction.end is not None:
        entry["end"] = _end_json(transaction.end)
    return entry


def _statement_json(statement: Statement) -> dict[str, Any]:
    entry = _given(statement, ("sql", "params", "affected", "invoked", "returned"))
    if statement.results is not None:
        results = [_rows_json(rows) for rows in statement.results]
        if statement.several:
            entry["results"] = results
        else:
            (entry["result"],) = results
    if statement.error is not None:
        entry["error"] = _error_json(statement.error)
    if statement.outcome_unknown:
        entry["outcome"] = "unknown"
    return entry


def _rows_json(result: ObservedRows) -> dict[str, Any]:
    entry: dict[str, Any] = {"columns": result.columns, "rows": result.rows}
    if result.truncated:
        entry["truncated"] = True
    return entry


def _error_json(error: ObservedError) -> dict[str, Any]:
    return {"sqlstate": error.sqlstate, "message": error.message} if error.message else {"sqlstate": error.sqlstate}


def _end_json(end: End) -> dict[str, Any]:
    entry = _given(end, ("invoked", "returned"))
    if end.error is not None:
        entry["error"] = _error_json(end.error)
    return entry


def _given(record: msgspec.Struct, names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(record, name)) is not None}


def _redacted(value: object) -> Any:
    if isinstance(value, Redacted):
        return {"redacted": True}
    raise TypeError(f"{value!r} is no JSON value")


_encode = msgspec.json.Encoder(enc_hook=_redacted, decimal_format="number").encode


def _line(entry: Json) -> bytes:
    """Raises ValueError for what JSON cannot say."""
    try:
        line = _encode(entry)
    except (TypeError, UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not writable: {error}") from error
    if b"null" in line and _has_nan(entry):
        raise ValueError('not writable: a float that is no number; write "NaN", "Infinity" or "-Infinity"')
    return line


def _has_nan(value: object) -> bool:
    """The encoder writes such floats as null, which would be another observation."""
    if isinstance(value, (float, Decimal)):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_nan, value))
