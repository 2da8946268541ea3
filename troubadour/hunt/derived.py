"""A right log held to what is derived of its rows, which the search of a log that it explains at once never asks: what
contradicts itself there would accuse a log that the search does not explain. Does not know how the log came about.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.execution.definitions import alterations_of, definitions_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.model.log import Log
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem

MANY = 200
"""Rows of a table beyond which a log is not looked at."""


def contradiction(log: Log, library: SqlLibrary) -> str | None:
    """What contradicts itself in what is derived of the rows of a log at its own level; None for nothing. Logs whose
    definitions change are not looked at."""
    if definitions_of(log) or alterations_of(log):
        return None
    try:
        initial, unknown = known_rows(log, library), unknown_tables(log, library)
        if any(len(rows) > MANY for rows in initial.values()):
            return None
        problem = Problem(log, library, initial, isolation=None, unknown=unknown)
        found = Rows(problem).derive() if problem.committed else None
    except (Unsupported, UnsupportedStatement):
        return None
    if found is None or found.conflict is None:
        return None
    reader = found.conflict.reader
    where = "" if reader is None else f"\n{problem.transaction(reader[0]).id}, statement {reader[1] + 1}"
    return f"rows of a right log contradict each other{where}"
