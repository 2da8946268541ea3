"""A case run on a database, one statement at a time, and the log of what its sessions saw.

A session that waits for another is passed over: its further steps are sent once it has its answer. Does not know how a
case was made, nor what is right.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.hunt.case import ALONE, BEGIN, CANCEL, END, KILL, STATEMENT, VANISH, Case, Step
from troubadour.hunt.engines.protocol import Answer, Connection, Database, Engine, EngineDied, EngineError, Level
from troubadour.hunt.generate.definitions import is_routine
from troubadour.hunt.generate.schemas import TableSpec, sql_literal
from troubadour.record.statements.texts import end_of_failed

GLANCE = 0.002
"""Seconds after which a statement without an answer may be waiting: the engine is asked."""
LONGEST = 300.0
"""Seconds that one statement is given."""


class NotMade(Exception):
    """The engine refuses a definition of the case."""


@dataclass(slots=True)
class Ran:
    """What came of it: the lines of the log, the steps in the order in which they were sent, messages in which the
    engine blames itself, and why it died, if it did."""

    header: dict[str, Any]
    lines: list[dict[str, Any]] = field(default_factory=list)
    sent: list[Step] = field(default_factory=list)
    internal: list[str] = field(default_factory=list)
    died: str | None = None
    waited: int = 0

    @property
    def statements(self) -> int:
        """How many statements the log has."""
        return sum(len(line["statements"]) for line in self.lines)

    def write(self, path: Path) -> None:
        """The log as a file."""
        end = {"kind": "end", "transactions": len(self.lines)}
        path.write_text("".join(json.dumps(line) + "\n" for line in (self.header, *self.lines, end)), encoding="utf-8")


@dataclass(slots=True)
class Session:
    """A connection, what it still has to send, and the log's line of the transaction that it is in."""

    number: int
    connection: Connection
    backlog: deque[Step] = field(default_factory=deque)
    running: Step | None = None
    line: dict[str, Any] | None = None
    over: int | None = None
    """The transaction whose other steps are left out."""
    since: float = 0.0


class Running:
    """One case under way."""

    def __init__(self, engine: Engine, database: Database, case: Case, level: Level) -> None:
        self.engine, self.database, self.case, self.level = engine, database, case, level
        self.ran = Ran(self._begun())
        self.sessions = {n: Session(n, database.connection(n, level)) for n in case.sessions}

    # --- what the log begins with -------------------------------------------------------------------------------------

    def _begun(self) -> dict[str, Any]:
        setup = self.database.connection(0, self.level)
        texts = [*(table.ddl() for table in self.case.tables), *self.case.extra]
        for sql in texts:
            answer = ask(setup, sql)
            if answer.error is not None:
                raise NotMade(f"{sql}: {answer.message}")
        for table in self.case.tables:
            fill(setup, table, self.engine.dialect)
        initial = {}
        for table in self.case.tables:
            columns = table.filled()
            found = ask(setup, f"SELECT {', '.join(columns)} FROM {table.name}")
            if found.rows is None:
                raise NotMade(f"{table.name} cannot be read: {found.message}")
            initial[table.name] = {"columns": columns, "rows": [list(row) for row in found.rows]}
        return {
            "format": "troubadour-log", "version": 1, "dialect": self.engine.dialect, "dbms": self.engine.dbms,
            "isolation": self.level.profile, "schema": [text for text in texts if not is_routine(text)],
            "procedures": [text for text in texts if is_routine(text)], "initial": initial,
            "settings": self.engine.settings(),
        }  # fmt: skip

    # --- sending ------------------------------------------------------------------------------------------------------

    def run(self) -> Ran:
        """Every step sent and answered."""
        try:
            for step in self.case.steps:
                self._look()
                if step.role in (KILL, VANISH, CANCEL):
                    self._disturb(step)
                    continue
                session = self.sessions[step.session]
                session.backlog.append(step)
                self._advance(session)
            while any(session.running or session.backlog for session in self.sessions.values()):
                self._look()
                for session in self.sessions.values():
                    self._advance(session)
        except EngineDied as died:
            self.ran.died = str(died)
            self._cut(*self.sessions.values())
        return self.ran

    def run_free(self) -> Ran:
        """Each session by itself, as fast as it is answered: which statement comes first only the clocks tell."""
        with ThreadPoolExecutor(len(self.sessions)) as threads:
            ended = [threads.submit(self._alone, session) for session in self.sessions.values()]
        self.ran.died = next((str(died) for each in ended if (died := each.result()) is not None), None)
        if self.ran.died is not None:
            self._cut(*self.sessions.values())
        return self.ran

    def _alone(self, session: Session) -> EngineDied | None:
        try:
            for step in self.case.steps:
                if step.session == session.number and step.transaction != session.over:
                    self._send(session, step)
                    while not self._take(session, 1.0):
                        continue
        except EngineDied as died:
            return died
        return None

    def _disturb(self, step: Step) -> None:
        """What is no statement."""
        self.ran.sent.append(step)
        session = self.sessions[step.session]
        if step.role == KILL:
            self._cut(*self.sessions.values())
            self.database.crash()
            for other in self.sessions.values():
                other.connection = self.database.connection(other.number, self.level)
        elif step.role == VANISH:
            self._cut(session)
            session.connection.vanish()
            session.connection = self.database.connection(session.number, self.level)
        elif session.running is not None:
            session.connection.cancel()
            self._take(session, GLANCE)

    def _look(self) -> None:
        """Take the answers that have come."""
        for session in self.sessions.values():
            if session.running is not None:
                self._take(session, GLANCE / 4)

    def _advance(self, session: Session) -> None:
        """Send what a session has to send, until it waits or has nothing more."""
        while session.running is None and session.backlog:
            step = session.backlog.popleft()
            if step.transaction == session.over:
                continue
            self._send(session, step)
            while not self._take(session, GLANCE):
                if session.connection.waits():
                    self.ran.waited += 1
                    return

    def _send(self, session: Session, step: Step) -> None:
        self.ran.sent.append(step)
        session.running, session.since = step, time.monotonic()
        if session.line is None:
            session.line = {
                "id": f"t{step.transaction}", "session": f"s{step.session}", "status": "committed",
                "invoked": time.monotonic_ns() // 1000, "statements": [],
            }  # fmt: skip
        session.connection.send(str(step.text))

    def _take(self, session: Session, seconds: float) -> bool:
        """The answer of what runs there, if it has come. Raises EngineDied where it never comes."""
        answer = session.connection.answer(seconds)
        if answer is None:
            if time.monotonic() - session.since > LONGEST:
                raise EngineDied(f"no answer within {LONGEST:.0f} s to {session.running and session.running.text}")
            return False
        step, session.running = session.running, None
        assert step is not None
        if answer.internal:
            self.ran.internal.append(answer.message)
        self._log(session, step, answer)
        return True

    # --- the log ------------------------------------------------------------------------------------------------------

    def _log(self, session: Session, step: Step, answer: Answer) -> None:
        line = session.line
        assert line is not None
        if step.role == BEGIN:
            if answer.error is not None:
                session.line, session.over = None, step.transaction
            return
        if step.role == END:
            self._end(session, step, answer)
            return
        line["statements"].append(entry(str(step.text), answer))
        if answer.lost:
            raise EngineDied(answer.message)
        if step.role == ALONE:
            word = str(step.text).split(None, 1)[0].upper()
            end = "committed" if answer.error is None else end_of_failed(word, self.engine.dialect)
            self._finish(session, end, answer.returned)
        elif answer.error is not None and self._ends(answer.error):
            session.over = step.transaction
            self._finish_by(session, "ROLLBACK")

    def _ends(self, state: str) -> bool:
        return not self.engine.undoes or state.startswith("40") or state == "HY000"

    def _end(self, session: Session, step: Step, answer: Answer) -> None:
        line = session.line
        assert line is not None
        committed = str(step.text) == "COMMIT"
        line["end"] = {"invoked": answer.invoked, "returned": answer.returned}
        if answer.lost:
            line["status"] = "unknown" if committed else "aborted"
            raise EngineDied(answer.message)
        if answer.error is not None:
            line["end"]["error"] = {"sqlstate": answer.error, "message": answer.message}
            ask(session.connection, "ROLLBACK")
        self._finish(session, "committed" if committed and answer.error is None else "aborted", answer.returned)

    def _finish_by(self, session: Session, text: str) -> None:
        answer = ask(session.connection, text)
        assert session.line is not None
        session.line["end"] = {"invoked": answer.invoked, "returned": answer.returned}
        self._finish(session, "aborted", answer.returned)

    def _finish(self, session: Session, status: str, returned: int) -> None:
        line, session.line = session.line, None
        assert line is not None
        line |= {"status": status, "returned": returned}
        if line["statements"]:
            self.ran.lines.append(line)

    def _cut(self, *sessions: Session) -> None:
        """What was under way when connections ended: a COMMIT without an answer may have happened."""
        for session in sessions:
            line, step = session.line, session.running
            session.line = session.running = None
            if line is None:
                continue
            session.over = int(line["id"][1:])
            if step is not None and step.role in (STATEMENT, ALONE):
                line["statements"].append({"sql": str(step.text), "outcome": "unknown"})
            unknown = step is not None and (step.role == ALONE or str(step.text) == "COMMIT")
            line["status"] = "unknown" if unknown or line["status"] == "unknown" else "aborted"
            if line["statements"]:
                self.ran.lines.append(line)


def run(engine: Engine, case: Case, finished: bool = True) -> Ran:
    """Run a case on a fresh database of an engine. At its end every table is read once more, by a transaction of its
    own. Raises NotMade, EngineError."""
    level = engine.levels[case.level]
    ran: Ran | None = None
    try:
        with engine.database(case.flavour) as database:
            running = Running(engine, database, case, level)
            ran = running.run_free() if engine.at_once and "free" in case.flavour else running.run()
            if ran.died is None and finished:
                _read_all(running)
    except EngineDied as died:
        if ran is None:
            raise EngineError(f"{engine.name} died as a database was made: {died}") from died
        ran.died = ran.died or str(died)
    return ran


def _read_all(running: Running) -> None:
    connection = running.database.connection(min(running.sessions, default=0), running.level)
    for number, table in enumerate(running.case.tables):
        columns = [column.name for column in table.columns]
        sql = f"SELECT {', '.join(columns)} FROM {table.name}"
        answer = ask(connection, sql)
        if answer.internal:
            running.ran.internal.append(answer.message)
        statement = entry(sql, answer)
        line = {"id": f"end{number}", "session": "end", "invoked": answer.invoked, "statements": [statement]}
        line["status"] = "committed" if answer.error is None else "aborted"
        running.ran.lines.append({**line, "returned": answer.returned})


def entry(sql: str, answer: Answer) -> dict[str, Any]:
    """A statement as the log has it."""
    return {"sql": sql, "invoked": answer.invoked, "returned": answer.returned, **observed(answer)}


def observed(answer: Answer) -> dict[str, Any]:
    """What was seen of a statement."""
    if answer.lost:
        return {"outcome": "unknown"}
    if answer.error is not None:
        return {"error": {"sqlstate": answer.error, "message": answer.message[:400]}}
    found: dict[str, Any] = {}
    if answer.rows is not None:
        found["result"] = {"columns": list(answer.columns or ()), "rows": [list(row) for row in answer.rows]}
    if answer.affected is not None and answer.affected >= 0:
        found["affected"] = answer.affected
    return found


def ask(connection: Connection, sql: str) -> Answer:
    """One statement sent and answered. Raises EngineDied."""
    connection.send(sql)
    answer = connection.answer(LONGEST)
    if answer is None or answer.lost:
        raise EngineDied(f"no answer to {sql}")
    return answer


def fill(connection: Connection, table: TableSpec, dialect: str) -> None:
    """Insert the rows of a table; those that a constraint forbids are left out."""
    head = f"INSERT INTO {table.name} ({', '.join(table.filled())}) VALUES "
    rows = [f"({', '.join(sql_literal(value, dialect) for value in row)})" for row in table.rows]
    if rows and ask(connection, head + ", ".join(rows)).error is not None:
        for row in rows:
            ask(connection, head + row)


def script(sent: Sequence[Step]) -> str:
    """The steps as a script for people."""
    return "".join(f"s{step.session}: {step.text};\n" for step in sent)
