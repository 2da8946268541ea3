"""Histories of Jepsen, as Elle, Knossos and elle-cli read them: operations invoked and completed, in EDN or JSON.

``{:type :invoke, :f :txn, :value [[:append 4 2] [:r 5 nil]], :process 2, :index 1, :time 17}`` and its completion:
`:ok` is a committed transaction, `:fail` an aborted one, `:info` and an invocation without completion one of unknown
outcome, whose reads are not observed. A process is a session; times are those of the file, or its order. What the
operations of a workload mean is `workloads`' business (Kingsbury and Alvaro 2020, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sql_semantics.records import dataclass
from troubadour.formats.histories.edn import EdnError, forms
from troubadour.formats.histories.imported import Imported, Json, brief, wrong
from troubadour.formats.histories.workloads import Operation, Refused, workload_of

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Span:
    """An operation from its invocation to its completion, if it has one; numbers are places in the file, from 0."""

    number: int
    invocation: Event
    completion: Event | None
    ended: int | None


def read(path: Path) -> Imported:
    """Raises HistoryError and OSError."""
    events = list(_events(path))
    spans = list(_spans(path, events))
    timed = _has_times(events)
    operations = []
    for span in spans:
        try:
            operations.append(_operation(span))
        except Refused as error:
            raise wrong(path, f"event {span.number}", str(error)) from error
    try:
        workload = workload_of(operations)
        lines = [
            _line(span, workload.ops(operation), operation.status, events if timed else None)
            for span, operation in zip(spans, operations, strict=True)
        ]
    except Refused as error:
        place = f"event {error.number}" if error.number is not None else "history"
        raise wrong(path, place, str(error)) from error
    notes = list(workload.notes)
    if not timed:
        notes.append("times are places in the file: not every operation has a :time, or they run backwards")
    clock = "time" if timed else "index"
    return Imported({**workload.header, "clock": clock}, lines, f"workload {workload.name}", tuple(notes))


def _events(path: Path) -> Iterator[Event]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise wrong(path, f"byte {error.start}", "neither EDN nor JSON: no UTF-8") from error
    found = _json(path, text) if _looks_like_json(text) else _edn(path, text)
    for number, event in enumerate(found):
        if not isinstance(event, Mapping) or "type" not in event:
            raise wrong(path, f"event {number}", f"no operation with a :type: {brief(event)}")
        yield event


def _looks_like_json(text: str) -> bool:
    head = text.lstrip()[:400]
    return '"type"' in head and ":type" not in head


def _json(path: Path, text: str) -> Iterator[Any]:
    try:
        if text.lstrip()[:1] == "[":
            yield from msgspec.json.decode(text)
            return
    except msgspec.DecodeError as error:
        raise wrong(path, "JSON", str(error)) from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise wrong(path, f"line {number}", str(error)) from error


def _edn(path: Path, text: str) -> Iterator[Any]:
    try:
        yield from forms(text)
    except EdnError as error:
        raise wrong(path, f"line {error.line}", error.text) from error


def _spans(path: Path, events: list[Event]) -> Iterator[_Span]:
    """In the order of the invocations. What a nemesis does is no operation of a client."""
    open_: dict[object, int] = {}
    completed: dict[int, int] = {}
    invoked: list[int] = []
    for number, event in enumerate(events):
        process, kind = event.get("process"), event["type"]
        if isinstance(process, str) and not process.lstrip("-").isdigit():
            continue
        if isinstance(process, (list, tuple, Mapping)):
            raise wrong(path, f"event {number}", f"process {brief(process)}: it is a number or a name")
        if kind == "invoke":
            if process in open_:
                raise wrong(path, f"event {number}", f"process {process} has event {open_[process]} open already")
            open_[process] = number
            invoked.append(number)
        elif kind in ("ok", "fail", "info"):
            begun = open_.pop(process, None)
            if begun is None:
                raise wrong(path, f"event {number}", f"a completion of process {process} without its invocation")
            if events[begun].get("f") != event.get("f"):
                text = f"completes {event.get('f')}, but process {process} had invoked {events[begun].get('f')}"
                raise wrong(path, f"event {number}", text)
            completed[begun] = number
        else:
            raise wrong(path, f"event {number}", f"type {brief(kind)}: it is invoke, ok, fail or info")
    for number in invoked:
        ended = completed.get(number)
        yield _Span(number, events[number], None if ended is None else events[ended], ended)


def _operation(span: _Span) -> Operation:
    """What happened, with the values of the completion where a client was told them."""
    kind = span.completion["type"] if span.completion is not None else "info"
    status = {"ok": "committed", "fail": "aborted", "info": "unknown"}[kind]
    function = span.invocation.get("f")
    asked = span.invocation.get("value")
    answered = None
    if span.completion is not None and kind == "ok":
        if "value" not in span.completion and function in (None, "txn", "read"):
            raise Refused("an :ok read without its :value")
        answered = span.completion.get("value", asked)
    return Operation(span.number, None if function is None else str(function), status, asked, answered, kind == "ok")


def _has_times(events: list[Event]) -> bool:
    """Whether every client's event has one, and they follow the file's order."""
    last = None
    for event in events:
        time = event.get("time")
        if not isinstance(time, int) or isinstance(time, bool) or (last is not None and time < last):
            return False
        last = time
    return last is not None


def _line(span: _Span, ops: list[list[Any]], status: str, timed: list[Event] | None) -> Json:
    """Times in microseconds, rounded down, which keeps what came strictly before; or places in the file."""

    def moment(number: int) -> int:
        return number if timed is None else int(timed[number]["time"]) // 1000

    line: Json = {"id": span.number, "session": str(span.invocation.get("process")), "status": status, "ops": ops}
    line["invoked"] = moment(span.number)
    if span.ended is not None and status != "unknown":
        line["returned"] = moment(span.ended)
    return line
