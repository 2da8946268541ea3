"""Logs with transactions appended that concern none of the others, as they are about a table of their own.

Works on the lines of a log file, so that every other line stays as it is. Does not know what a log's verdict is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

TABLE = "beside_them"
SCHEMA = f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, v INT)"


def appended(lines: Sequence[str], count: int, random: Random, *, amid: bool = False) -> list[str]:
    """The log with `count` transactions more on a table of their own, of one or two sessions, where each reads what the
    one before it left. With client times they were sent after all others, or `amid` them; without they stand behind
    all others, or amid them."""
    header, entries = lines[0], [line for line in lines[1:] if json.loads(line).get("kind") != "end"]
    assert '"schema"' in header
    before, _, after = header.partition('"schema"')
    opening = after.index("[") + 1
    rest = after[opening:]
    comma = "" if rest.lstrip().startswith("]") else ","
    header = f'{before}"schema"{after[:opening]}{json.dumps(SCHEMA)}{comma}{rest}'
    told = [json.loads(line) for line in entries]
    transactions = [one for one in told if "kind" not in one]
    clock = json.loads(header).get("clock")
    levels = sorted({one["isolation"] for one in transactions if "isolation" in one})
    unnamed = bool(levels) and json.loads(header).get("isolation") is None
    times = [one["returned"] for one in transactions if one.get("returned") is not None]
    timed = bool(times) and all(one.get("invoked") is not None for one in transactions)
    commits = [one["commit"] for one in transactions if one.get("commit") is not None]
    clocks = {one.get("clock", clock) for one in transactions}
    first = min((one["invoked"] for one in transactions), default=0) if timed else 0
    moments = [max(times, default=0) + 10 * (number + 1) for number in range(count)]
    if amid and timed:
        moments = sorted(random.randint(first, max(times)) for _ in range(count))
        moments = [moment + number for number, moment in enumerate(moments)]
    sessions = [f"beside {number}" for number in range(random.randint(1, 2))]
    made: list[dict[str, Any]] = []
    for number, moment in enumerate(moments):
        made.append(_one(number, random.choice(sessions)))
        if unnamed:
            made[-1]["isolation"] = levels[0]
        if timed:
            _at(made[-1], moment, sorted(clocks, key=str)[0])
        if commits:
            made[-1]["commit"] = max(commits) + 1 + number
            made[-1]["start"] = max(commits) + 1 + number
    ends = [json.loads(line) for line in lines if json.loads(line).get("kind") == "end"]
    for end in ends:
        if "transactions" in end:
            end["transactions"] += count
    new = [json.dumps(one) for one in made]
    if amid:
        rows = sum("kind" in one for one in told)
        places = sorted(random.randint(rows, len(entries)) for _ in new)
        for number, (place, line) in enumerate(zip(places, new, strict=True)):
            entries.insert(place + number, line)
    else:
        entries += new
    return [header, *entries, *map(json.dumps, ends)]


def _one(number: int, session: str) -> dict[str, Any]:
    statements: list[dict[str, Any]] = [{"sql": f"INSERT INTO {TABLE} VALUES (1, 0)", "affected": 1}]
    if number:
        read = {"columns": ["v"], "rows": [[number - 1]]}
        statements = [
            {"sql": f"SELECT v FROM {TABLE} WHERE id = 1", "result": read},
            {"sql": f"UPDATE {TABLE} SET v = v + 1 WHERE id = 1", "affected": 1},
        ]
    return {"id": f"beside {number}", "status": "committed", "session": session, "statements": statements}


def _at(transaction: dict[str, Any], moment: int, clock: str | None) -> None:
    transaction.update(invoked=moment, returned=moment + 1)
    for statement in transaction["statements"]:
        statement.update(invoked=moment, returned=moment)
    transaction["end"] = {"invoked": moment, "returned": moment + 1}
    if clock is not None:
        transaction["clock"] = clock
