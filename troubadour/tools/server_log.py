"""What PostgreSQL's own log tells of transactions (csvlog with `log_statement = 'all'`, or pgaudit's lines in it), as a
log of ours: statements, parameters as text, errors, the order in which sessions ended them. Does not know the answers.

What is lost: rows and counts (so an audit has little to check but errors), all times (transactions are in the order in
which they ended), and what `log_statement` leaves out: BEGIN and COMMIT by other means than statements.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.model.log import LogError

FIELDS = (
    "log_time", "user_name", "database_name", "process_id", "connection_from", "session_id", "session_line_num",
    "command_tag", "session_start_time", "virtual_transaction_id", "transaction_id", "error_severity",
    "sql_state_code", "message", "detail", "hint", "internal_query", "internal_query_pos", "context", "query",
    "query_pos", "location", "application_name", "backend_type", "leader_pid", "query_id",
)  # fmt: skip
_STATEMENT = re.compile(r"(?:duration: [\d.]+ ms  )?(?:statement|execute [^:]*): (.*)", re.DOTALL)
_DURATION = re.compile(r"duration: [\d.]+ ms\Z")
_PARAMETERS = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')")
_ENDS = re.compile(r"\s*(COMMIT|END|ROLLBACK|ABORT)\b(?!\s+(?:WORK\s+|TRANSACTION\s+)?TO\b)", re.IGNORECASE)
_BEGINS = re.compile(r"\s*(BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_LEVEL = re.compile(r"ISOLATION\s+LEVEL\s+(READ\s+(?:UN)?COMMITTED|REPEATABLE\s+READ|SERIALIZABLE)", re.IGNORECASE)
_LEVELS = {
    "READ COMMITTED": "postgres:read-committed",
    "READ UNCOMMITTED": "postgres:read-committed",
    "REPEATABLE READ": "postgres:repeatable-read",
    "SERIALIZABLE": "postgres:serializable",
}


@dataclass(slots=True)
class _Session:
    count: int = 0
    open: dict[str, Any] | None = None
    """The transaction that BEGIN began."""
    last: dict[str, Any] | None = None
    """The statement that an error would be of."""
    failed: bool = False
    alone: dict[str, Any] | None = None
    """The transaction of one statement that is not over yet."""
    done: list[dict[str, Any]] = field(default_factory=list)


def transactions(paths: list[Path], database: str | None = None) -> Iterator[dict[str, Any]]:
    """Transaction lines, in the order in which they ended. A transaction that is open at the end of the files is
    unknown. Raises LogError for what is no csvlog."""
    sessions: dict[str, _Session] = {}
    for path in paths:
        for entry in _entries(path):
            if database is not None and entry["database_name"] != database:
                continue
            session = sessions.setdefault(entry["session_id"], _Session())
            _take(session, entry)
            yield from session.done
            session.done.clear()
    for session in sessions.values():
        if session.alone is not None and session.alone["status"] == "committed":
            session.alone["status"] = "unknown"  # an error may have come after the end of the file
            if session.last is not None:
                session.last["outcome"] = "unknown"
        _finish_alone(session)
        if session.open is not None:
            session.open["status"] = "aborted" if session.failed else "unknown"
            session.done.append(session.open)
        yield from session.done


def _entries(path: Path) -> Iterator[Mapping[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if len(row) < 23 or len(row) > len(FIELDS):
                    raise LogError(f"{path}:{number}: {len(row)} columns: this is no csvlog of PostgreSQL")
                yield dict(zip(FIELDS, row, strict=False))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LogError(f"{path}: {error}") from error


def _take(session: _Session, entry: Mapping[str, str]) -> None:
    message, severity = entry["message"], entry["error_severity"]
    if severity in ("ERROR", "FATAL", "PANIC"):
        _error(session, entry)
        return
    if severity != "LOG":
        return
    if message.startswith("disconnection: "):
        _finish_alone(session)
        return
    audited = _audited(message)
    match = _STATEMENT.match(message) if audited is None else None
    if audited is None and match is None:
        return
    _finish_alone(session)
    sql = audited if audited is not None else match[1] if match is not None else ""
    if _BEGINS.match(sql):
        _begin(session, entry, sql)
    elif _ENDS.match(sql):
        _end(session, sql)
    else:
        _statement(session, entry, sql)


def _audited(message: str) -> str | None:
    """The statement of a line of pgaudit's: ``AUDIT: SESSION,1,1,READ,SELECT,,,select 1,<none>``."""
    if not message.startswith("AUDIT: "):
        return None
    row = next(csv.reader([message.removeprefix("AUDIT: ")]), [])
    if len(row) < 8:
        raise LogError(f"a line of pgaudit's has {len(row)} fields")
    return row[7]


def _begin(session: _Session, entry: Mapping[str, str], sql: str) -> None:
    if session.open is not None:
        return  # PostgreSQL warns, and goes on with the one that is open
    session.open = _fresh(session, entry)
    level = _LEVEL.search(sql)
    if level is not None:
        session.open["isolation"] = _LEVELS[" ".join(level[1].upper().split())]
    session.failed = False
    session.last = None


def _end(session: _Session, sql: str) -> None:
    if session.open is None:
        return
    rolled_back = session.failed or sql.lstrip()[:1].upper() in "RA"
    session.open["status"] = "aborted" if rolled_back else "committed"
    session.alone, session.open, session.last = session.open, None, None


def _statement(session: _Session, entry: Mapping[str, str], sql: str) -> None:
    statement: dict[str, Any] = {"sql": sql.rstrip().rstrip(";")}
    given = _PARAMETERS.findall(entry["detail"]) if "parameters: " in entry["detail"].lower() else []
    if given:
        statement["params"] = [None if text == "NULL" else text[1:-1].replace("''", "'") for _, text in given]
    session.last = statement
    if session.open is not None:
        session.open["statements"].append(statement)
        return
    session.alone = _fresh(session, entry)
    session.alone["status"] = "committed"
    session.alone["statements"].append(statement)


def _error(session: _Session, entry: Mapping[str, str]) -> None:
    if entry["error_severity"] != "ERROR":
        _gone(session)
        return
    error = {"sqlstate": entry["sql_state_code"], "message": entry["message"]}
    if session.open is None and session.alone is not None and session.last is None:
        # in answer to COMMIT
        session.alone["status"] = "aborted"
        session.alone["end"] = {"error": error}
        return
    if session.last is not None and "error" not in session.last:
        session.last["error"] = error
        if session.open is None and session.alone is not None:
            session.alone["status"] = "aborted"
        else:
            session.failed = True


def _gone(session: _Session) -> None:
    """The connection was ended by the server."""
    if session.last is not None:
        session.last["outcome"] = "unknown"
    if session.alone is not None:
        session.alone["status"] = "unknown"
        _finish_alone(session)
    if session.open is not None:
        session.open["status"] = "aborted"
        session.done.append(session.open)
        session.open = None


def _fresh(session: _Session, entry: Mapping[str, str]) -> dict[str, Any]:
    session.count += 1
    name = entry["session_id"]
    return {"id": f"{name}-{session.count}", "session": name, "status": "unknown", "statements": []}


def _finish_alone(session: _Session) -> None:
    if session.alone is not None:
        if session.alone["statements"]:
            session.done.append(session.alone)
        session.alone = None
