"""Case files: a tiny log with its expected verdicts, written the way the paper prints one (STYLE, last section).

Turns the text of a case into the log's JSON lines, and those into a `Log`. Does not know how a log is judged. The
grammar is in tests/cases/README.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sql_semantics.library import SqlLibrary
from troubadour.coverage.library import library_for
from troubadour.formats import read_log
from troubadour.model.log import Log

CASES = Path(__file__).parent / "cases"
SCHEMAS = CASES / "schemas"
ROUTINES = ("CREATE PROCEDURE", "CREATE FUNCTION")


class CaseError(Exception):
    """A case file that cannot be read; names file and line."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an audit at `level` must say; None where the case does not state it."""

    level: str
    verdict: str
    failing: str | None = None
    core: frozenset[str] | None = None
    scope: str | None = None
    prefix: int | None = None
    says: str | None = None
    because: str | None = None
    order_recorded: bool = False


@dataclass(slots=True)
class Case:
    """A case: `header` and `transactions` as the log format has them, and what to expect."""

    name: str
    expectations: list[Expectation] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)
    transactions: list[dict[str, Any]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The log, one JSON text per line, `end` included."""
        entries = [self.header, *self.transactions, {"kind": "end", "transactions": len(self.transactions)}]
        return [json.dumps(entry) for entry in entries]

    def write(self, folder: Path) -> Path:
        """Write the log into a folder; the path of the file."""
        path = folder / f"{self.name.replace('/', '-')}.jsonl"
        path.write_text("".join(line + "\n" for line in self.lines()), encoding="utf-8")
        return path

    def log(self, folder: Path) -> Log:
        """The log as the reader gives it, by way of a file in `folder`."""
        return read_log([self.write(folder)])


def opened(log: Log, isolation: str | None) -> tuple[Log, SqlLibrary]:
    """The log as an audit at a level sees it, and its library."""
    return library_for(log, isolation)


def all_cases() -> Iterator[Case]:
    """Every case file under tests/cases."""
    for path in sorted(CASES.rglob("*.case")):
        yield read_case(path.read_text(encoding="utf-8"), path.relative_to(CASES).with_suffix("").as_posix())


def read_case(text: str, name: str) -> Case:
    """The case that a text tells of. Raises CaseError."""
    case = Case(name, header={"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": []})
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            _line(case, line)
        except (ValueError, IndexError, KeyError) as error:
            raise CaseError(f"{name}:{number}: {error}: {line}") from error
    if not case.expectations:
        raise CaseError(f"{name}: no expectation")
    return case


def _line(case: Case, line: str) -> None:
    directive = re.match(r"(dialect|order|settings|schema|clock): *(.*)", line)
    if not line.strip():
        return
    if line.startswith("#"):
        if line.removeprefix("#").strip().startswith("level:"):
            case.expectations += _expectations(line.removeprefix("#"))
    elif directive:
        _directive(case, *directive.groups())
    elif line.upper().startswith("CREATE "):
        kind = "procedures" if line.upper().startswith(ROUTINES) else "schema"
        case.header.setdefault(kind, []).append(line)
    elif line.startswith("init "):
        _initial(case, line.removeprefix("init "))
    elif line[0].isspace():
        _statement(case.transactions[-1], line.strip())
    else:
        _transaction(case, line)


def _expectations(line: str) -> list[Expectation]:
    fields = {}
    for part in re.split(r"\s{2,}", line.strip()):
        key, separator, value = part.partition(":")
        if not separator or key not in {"level", "expect", "core", "scope", "prefix", "says", "because", "order"}:
            raise ValueError(f"unknown part of an expectation {part!r}")
        fields[key] = value.strip()
    verdict, _, failing = fields["expect"].partition(" at ")
    if verdict not in {"correct", "violation", "undecided"}:
        raise ValueError(f"unknown verdict {verdict!r}")
    core = fields.get("core")
    return [
        Expectation(
            level.strip(),
            verdict,
            failing or None,
            None if core is None else frozenset(core.replace(",", " ").split()),
            fields.get("scope"),
            int(fields["prefix"]) if "prefix" in fields else None,
            fields.get("says"),
            fields.get("because"),
            fields.get("order") == "recorded",
        )
        for level in fields["level"].split(",")
    ]


def _directive(case: Case, key: str, value: str) -> None:
    if key == "schema":
        for text in (SCHEMAS / value).read_text(encoding="utf-8").strip().split("\n\n"):
            kind = "procedures" if text.upper().startswith(ROUTINES) else "schema"
            case.header.setdefault(kind, []).append(" ".join(text.split()))
    else:
        case.header[key] = json.loads(value) if key == "settings" else value


def _initial(case: Case, text: str) -> None:
    match = re.match(r"(\w+)(?:\(([\w, ]+)\))?\s*(.*)", text)
    if match is None:
        raise ValueError("no table")
    table, columns, rows = match.groups()
    if rows == "unknown":
        case.header.setdefault("initial", {})[table] = rows
        return
    entry: dict[str, Any] = {"rows": _rows(rows)}
    if columns:
        entry["columns"] = [column.strip() for column in columns.split(",")]
    case.header.setdefault("initial", {})[table] = entry


def _transaction(case: Case, line: str) -> None:
    identifier, _, rest = line.partition(" ")
    entry: dict[str, Any] = {"id": identifier, "status": "committed", "statements": []}
    rest = rest.strip()
    while True:
        word, _, after = rest.partition(" ")
        if word in {"committed", "aborted", "unknown"}:
            entry["status"] = word
        elif word.startswith("@"):
            _interval(entry, word[1:], "start", "commit")
        elif word.startswith("~") and not {"invoked", "returned"} & entry.keys():
            clock, separator, interval = word[1:].rpartition(":")
            if separator:
                entry["clock"] = clock
            _interval(entry, interval, "invoked", "returned")
        elif word.startswith("sno:"):
            entry["sno"] = int(word.removeprefix("sno:"))
        elif word.startswith(("session:", "level:")):
            key, _, value = word.partition(":")
            entry["session" if key == "session" else "isolation"] = value
        else:
            break
        rest = after.strip()
    case.transactions.append(entry)
    if rest:
        _statement(entry, rest)


def _interval(entry: dict[str, Any], text: str, first: str, last: str) -> None:
    match = re.fullmatch(r"(\d*)-(\d*)", text)
    if match is None:
        raise ValueError(f"no interval: {text!r}")
    for key, value in zip((first, last), match.groups(), strict=True):
        if value:
            entry[key] = int(value)


def _statement(transaction: dict[str, Any], text: str) -> None:
    times: dict[str, Any] = {}
    if text.startswith("~"):
        word, _, text = text.partition(" ")
        _interval(times, word[1:], "invoked", "returned")
        text = text.strip()
    if text in {"COMMIT", "ROLLBACK"}:
        transaction["end"] = times
        return
    sql, separator, observed = text.partition(" -> ")
    statement: dict[str, Any] = {"sql": sql.strip(), **times}
    if separator:
        statement |= _observation(observed.strip())
    transaction["statements"].append(statement)


def _observation(text: str) -> dict[str, Any]:
    if text.startswith("error "):
        return {"error": {"sqlstate": text.removeprefix("error ")}}
    if text == "unknown":
        return {"outcome": "unknown"}
    found: dict[str, Any] = {}
    affected = re.match(r"affected (\d+)\s*", text)
    if affected:
        found["affected"] = int(affected[1])
        text = text[affected.end() :]
    sets = [_result(part.strip()) for part in text.split(" ; ")] if text else []
    if len(sets) == 1:
        found["result"] = sets[0]
    elif sets:
        found["results"] = sets
    return found


def _result(text: str) -> dict[str, Any]:
    nothing = re.fullmatch(r"no row \(([\w, ]+)\)", text)
    if nothing:
        return {"columns": [column.strip() for column in nothing[1].split(",")], "rows": []}
    rows = _rows(text)
    return {"columns": [f"c{number}" for number in range(len(rows[0]))], "rows": rows}


_VALUE = re.compile(r"\s*('(?:[^']|'')*'|-?\d+(?:\.\d+)?e-?\d+|-?\d+\.\d+|-?\d+|null|true|false|redacted)\s*([,)])")


def _rows(text: str) -> list[list[Any]]:
    rows = []
    position = 0
    while position < len(text):
        if text[position] != "(":
            raise ValueError(f"a row begins with a parenthesis, not with {text[position:]!r}")
        position += 1
        row: list[Any] = []
        while True:
            match = _VALUE.match(text, position)
            if match is None:
                raise ValueError(f"no value: {text[position:]!r}")
            row.append(_value(match[1]))
            position = match.end()
            if match[2] == ")":
                break
        rows.append(row)
        while position < len(text) and text[position].isspace():
            position += 1
    return rows


def _value(text: str) -> Any:
    if text == "redacted":
        return {"redacted": True}
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return text if "." in text and "e" not in text else json.loads(text)
