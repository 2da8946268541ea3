"""What an importer gives: the header and the transactions of an object log, in the log's own words.

Does not know any format, nor where the log goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.model.log import LogError

Scalar = int | str
"""A key or a value of an object log (docs/log-format.md)."""
Json = dict[str, Any]


class HistoryError(LogError):
    """A file is not of the format that it was taken for. The text is one line: file, line or event, what is wrong."""


@dataclass(frozen=True, slots=True)
class Imported:
    """One history. `header` is an object log's, without format and version; `transactions` are its lines, once.

    `told` says in words what the file calls itself (a test's name, a workload); `notes` say what the importer took
    for granted, for people.
    """

    header: Json
    transactions: Iterable[Json]
    told: str = ""
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Sessions:
    """Collects transactions that name sessions and no times: numbered within each, in the file's order.

    `objects` of the log is one table of registers, `kv`, all of which hold `initial` at first but for `rows`.
    """

    initial: Scalar | None
    rows: dict[Scalar, Scalar | None] = field(default_factory=dict)
    lines: list[Json] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, session: str, ops: list[list[Any]], status: str = "committed") -> None:
        """The session's next transaction."""
        number = self.counts.get(session, 0)
        self.counts[session] = number + 1
        name = f"{session}.{number}"
        self.lines.append({"id": name, "session": session, "sno": number, "status": status, "ops": ops})

    def imported(self, notes: Iterable[str] = ()) -> Imported:
        """As an object log."""
        start: Json = {"default": self.initial}
        if self.rows:
            start["rows"] = [[key, value] for key, value in self.rows.items()]
        header = {"objects": {"kv": "register"}, "initial": {"kv": start}}
        return Imported(header, self.lines, notes=tuple(notes))


def wrong(path: Path, place: str, text: str) -> HistoryError:
    """What is wrong at a place of a file ("line 3", "event 17", "byte 40")."""
    return HistoryError(f"{path}: {place}: {text}")


def brief(value: object) -> str:
    """A value in a message, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def scalar(value: object) -> Scalar:
    """A key or value as an object log has it: an integer or a string as it is, anything else as its text.

    `true`, 1.5 and compound values become texts, so that different ones stay different.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return text_of(value)


def text_of(value: object) -> str:
    """A canonical text of a value: equal values, equal texts."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case Mapping():
            return "{" + ", ".join(sorted(f"{text_of(key)} {text_of(one)}" for key, one in value.items())) + "}"
        case list() | tuple():
            return "[" + " ".join(map(text_of, value)) + "]"
        case _:
            return str(value)
