"""A client's session on the simulated server, logged as it saw it. Waits for its turn before whatever it
does. Does not know whose turn is next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import SqlError
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.values.types import Value
from troubadour.formats import LogWriter
from troubadour.model.values import param_shape, read_value
from troubadour.record.errors import ServerError
from troubadour.record.runs.workload import Answer
from troubadour.record.simulated.server import Running, SimulatedServer
from troubadour.record.values import row_to_json

REFUSED = "40001"


class SimulatedSession:
    """A `troubadour.record.Session`. `turn` returns when the session may go on."""

    def __init__(self, server: SimulatedServer, name: str, writer: LogWriter, turn: Callable[[], None]) -> None:
        self._server = server
        self._name = name
        self._writer = writer
        self._turn = turn
        self._count = 0
        self._running: Running | None = None
        self._failed = False
        self._line: dict[str, Any] = {}

    def begin(self) -> None:
        """Start a transaction; its snapshot is taken by its first statement."""
        self._turn()
        self._count += 1
        self._failed = False
        self._running = None
        self._line = {
            "id": f"{self._name}-{self._count}",
            "session": self._name,
            "status": "aborted",
            "invoked": self._server.tick(),
            "statements": [],
        }

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run and log one statement. Raises ServerError."""
        self._turn()
        entry: dict[str, Any] = {"sql": sql, "invoked": self._server.tick()}
        if params:
            entry["params"] = row_to_json(params)
        self._line["statements"].append(entry)
        try:
            if self._failed:
                raise SqlError("25P02", "the transaction is aborted")
            outcome = self._run(sql, entry.get("params"))
        except SqlError as error:
            self._failed = True
            entry["returned"] = self._server.tick()
            entry["error"] = {"sqlstate": error.sqlstate, "message": error.message}
            raise ServerError(error.sqlstate, error.message, 0) from error
        entry["returned"] = self._server.tick()
        results = [_shown(result) for result in outcome.results]
        if len(results) == 1:
            (entry["result"],) = results
        elif results:
            entry["results"] = results
        if outcome.affected is not None:
            entry["affected"] = outcome.affected
        rows = _rows(outcome.results[-1]) if outcome.results else []
        return Answer(rows, outcome.affected)

    def _run(self, sql: str, params: Sequence[Any] | None) -> Outcome:
        program = self._server.library.program(sql, param_shape(params))
        arguments = tuple(
            None if (type := program.parameters.get(place)) is None else read_value(value, type)
            for place, value in enumerate(params or ())
        )
        if self._running is None:
            self._running = self._server.begin()
        else:
            self._server.statement(self._running)
        view = self._running.view
        view.aggregating = "SUM(" in sql or "COUNT(" in sql
        before = view.savepoint()
        try:
            outcome = program.run(view, arguments)
            self._server.check_keys(self._running, before)
            after = view.savepoint()
            if sql.startswith("UPDATE") and after != before and self._server.faults.now("write-twice"):
                program.run(view, arguments)
        except SqlError:
            view.rollback(before)
            raise
        return outcome

    def commit(self) -> bool:
        """COMMIT; False where a statement had failed. Raises ServerError where the server refuses."""
        self._turn()
        invoked = self._server.tick()
        running, self._running = self._running, None
        if running is None or self._failed:
            if running is not None:
                self._server.rollback(running)
            self._put("aborted", invoked)
            return False
        stamp = self._server.commit(running)
        if stamp is None:
            error = {"sqlstate": REFUSED, "message": "could not serialize access"}
            self._put("aborted", invoked, error)
            raise ServerError(REFUSED, "could not serialize access", 0)
        self._line["start"] = max(0, running.start + running.skew)
        self._line["commit"] = max(self._line["start"], stamp + running.skew)
        self._put("committed", invoked)
        return True

    def rollback(self) -> None:
        """ROLLBACK."""
        self._turn()
        invoked = self._server.tick()
        running, self._running = self._running, None
        if running is not None:
            self._server.rollback(running)
        self._put("aborted", invoked)

    def close(self) -> None:
        """There is nothing to close."""

    def _put(self, status: str, invoked: int, error: dict[str, str] | None = None) -> None:
        returned = self._server.tick()
        end: dict[str, Any] = {"invoked": invoked, "returned": returned}
        if error is not None:
            end["error"] = error
        self._writer.transaction({**self._line, "status": status, "returned": returned, "end": end})


def _rows(result: ResultSet[Value]) -> list[tuple[Value, ...]]:
    end = None if result.limit is None else result.offset + result.limit
    return list(result.rows[result.offset : end])


def _shown(result: ResultSet[Value]) -> dict[str, Any]:
    names = [f"c{number}" for number in range(1, len(result.types) + 1)]
    return {"columns": names, "rows": [row_to_json(row) for row in _rows(result)]}
