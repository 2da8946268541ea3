"""Statements and answers of a DB-API driver on their way into a log. Does not know transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from troubadour.record.core.tape import NOTHING, fields
from troubadour.record.drivers.detection import Driver, plain
from troubadour.record.errors import NotRecorded
from troubadour.record.statements.secrets import administers, masked

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "MERGE")
"""First words of statements whose row count is an observation."""


class Answered:
    """What a statement gave: result sets (columns, rows as the application gets them, rows as they came), row count."""

    def __init__(self) -> None:
        self.results: list[tuple[Any, list[Any], list[Sequence[Any]]]] = []
        self.rowcount = -1
        self.lastrowid: Any = None
        self.counts = False
        """Whether the one result set is a count of rows, as DuckDB gives it."""

    def fields(self, word: str, value: Callable[[Any], Any]) -> bytes:
        """The observation; `value` makes JSON of a fetched value."""
        sets = [
            {"columns": [column[0] for column in description], "rows": [list(map(value, row)) for row in rows]}
            for description, _, rows in self.results
        ]
        found: dict[str, Any] = {}
        if word == "CALL":
            if sets:
                found["results"] = sets
        elif self.counts:
            if self.rowcount >= 0:
                found["affected"] = self.rowcount
        else:
            if sets:
                found["result"] = sets[0]
            if word in WRITES and self.rowcount >= 0 and (word != "WITH" or not sets):
                found["affected"] = self.rowcount
        return b"," + fields(found) if found else NOTHING


_PLACES = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|::|(?P<place>\?\d*|%s|%\((?P<percent>\w+)\)s|[:$@](?P<name>\w+))""",
    re.VERBOSE | re.DOTALL,
)


def statement_fields(sql: str, params: Any, driver: Driver) -> bytes:
    """The fields `sql` and `params`. Raises NotRecorded for a parameter without form."""
    sql = plain(sql)
    if administers(sql):
        given = len(params) if isinstance(params, (Mapping, Sequence)) and not isinstance(params, str) else 0
        return fields({"sql": masked(sql), **({"params": [{"redacted": True}] * given} if given else {})})
    if params is None or (not params and not isinstance(params, (str, int, float))):
        return fields({"sql": sql.replace("%%", "%") if params is not None and driver.style == "%s" else sql})
    if not isinstance(params, (Mapping, Sequence)) or isinstance(params, (str, bytes)):
        params = (params,)
    named = isinstance(params, Mapping)
    kept: Any = {} if named else []
    ordinal = 0

    def place(match: re.Match[str]) -> str:
        nonlocal ordinal
        token = match["place"]
        if token is None or (named and match["name"] is None and match["percent"] is None):
            return match.group()
        if named:
            key: Any = match["name"] or match["percent"]
            if key not in params:
                return match.group()
            marker = token if match["percent"] or token[0] == ":" else f":{key}"
        elif token in ("?", "%s") and token == driver.style:
            key, marker = ordinal, token
            ordinal += 1
        elif token[0] == "$" and token[1:].isdigit():
            raise NotRecorded("numbered placeholders are not recorded here: use ?")
        elif token[0] == "?":
            raise NotRecorded("numbered placeholders are not recorded: use ?")
        else:
            return match.group()
        if not named and key >= len(params):
            return match.group()
        around, value = driver.placed(params[key])
        if "{}" not in around:
            return around
        if named:
            kept[key] = value
        else:
            kept.append(value)
        return around.format(marker)

    text = _PLACES.sub(place, sql)
    return fields(
        {"sql": text, "params": kept} if kept else {"sql": text.replace("%%", "%") if driver.style == "%s" else text}
    )
