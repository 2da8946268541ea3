"""The faults, each a change of a recorded log as a faulty product would have written it.

A fault need not show: a commit that nothing reads again may be lost unseen. Does not know which of them an audit finds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from benchmarks.faults.raw import Line, RawLog, reads_of, writes_of


class NoPlace(Exception):
    """This log has no place for the fault."""


def _one_of(random: Random, places: list[Line]) -> Line:
    if not places:
        raise NoPlace
    return random.choice(places)


def _key(statement: Line) -> str:
    return json.dumps([statement["sql"], statement.get("params")])


def value_swapped(log: RawLog, random: Random) -> None:
    """Two rows of one answer change their values; in an answer of one row it is that of another answer."""
    several = [s for t in log.committed for s in reads_of(t) if len({r[-1] for r in s["result"]["rows"]}) > 1]
    statement = _one_of(random, several)
    rows = statement["result"]["rows"]
    first = random.randrange(len(rows))
    others = [place for place, row in enumerate(rows) if row[-1] != rows[first][-1]]
    second = random.choice(others)
    rows[first][-1], rows[second][-1] = rows[second][-1], rows[first][-1]


def row_dropped(log: RawLog, random: Random) -> None:
    """An answer lacks a row."""
    statement = _one_of(random, [s for t in log.committed for s in reads_of(t) if len(s["result"]["rows"]) > 1])
    statement["result"]["rows"].pop(random.randrange(len(statement["result"]["rows"])))


def read_stale(log: RawLog, random: Random) -> None:
    """An answer is one that the same query had before."""
    _answer_of_another_read(log.committed, random)


def _answer_of_another_read(transactions: Iterable[Line], random: Random) -> None:
    """An answer becomes another one that the same query had in the transactions that come first."""
    met: dict[str, list[Line]] = {}
    places: list[tuple[Line, list[Line]]] = []
    for transaction in transactions:
        for statement in reads_of(transaction):
            known = met.setdefault(_key(statement), [])
            other = [one for one in known if one["rows"] != statement["result"]["rows"]]
            if other:
                places.append((statement, other))
            known.append(statement["result"])
    if not places:
        raise NoPlace
    statement, other = random.choice(places)
    statement["result"] = {**statement["result"], "rows": random.choice(other)["rows"]}


def transaction_removed(log: RawLog, random: Random) -> None:
    """A transaction that wrote is not in the log."""
    log.transactions.remove(_one_of(random, [t for t in log.committed if any(writes_of(t))]))


def count_changed(log: RawLog, random: Random) -> None:
    """A count of changed rows is one off."""
    statement = _one_of(random, [s for t in log.committed for s in writes_of(t) if "result" not in s])
    statement["affected"] += random.choice((-1, 1))


def commit_delayed(log: RawLog, random: Random) -> None:
    """A commit is sent when some thirty later ones were answered; the client's next transaction is another client's."""
    writers = [t for t in log.committed if any(writes_of(t)) and t.get("end")]
    delayed = _one_of(random, writers)
    after = sorted(t["returned"] for t in log.committed if t["returned"] > delayed["returned"])
    if not after:
        raise NoPlace
    late = after[min(len(after) - 1, random.randint(5, 30))]
    taken = delayed["end"]["returned"] - delayed["end"]["invoked"]
    delayed["end"].update(invoked=late + 1, returned=late + 1 + taken)
    delayed["returned"] = late + 1 + taken
    delayed["session"] = f"{delayed.get('session', '')}-delayed"
    if "commit" in delayed:
        delayed["commit"] = max(t["commit"] for t in log.committed if t["returned"] <= late and "commit" in t) + 1


def commit_undone(log: RawLog, random: Random) -> None:
    """What a transaction wrote is seen though it was rolled back."""
    undone = _one_of(random, [t for t in log.committed if any(writes_of(t))])
    undone["status"] = "aborted"
    undone.pop("commit", None)


def commit_lost(log: RawLog, random: Random) -> None:
    """What a committed transaction wrote is nowhere seen by others: each read of its value has the one before it. For
    registers only."""
    writers = [t for t in log.committed if any("v = $1" in s["sql"] or "v = %s" in s["sql"] for s in writes_of(t))]
    lost = _one_of(random, writers)
    previous = _previous_values(log)
    gone = {(s["params"][1], s["params"][0]) for s in writes_of(lost)}
    for transaction in log.transactions:
        if transaction is lost:
            continue
        for statement in reads_of(transaction):
            by_key = len(statement["result"]["rows"][0]) == 1
            for row in statement["result"]["rows"]:
                key = statement["params"][0] if by_key else row[0]
                while (key, row[-1]) in gone and (key, row[-1]) in previous:
                    row[-1] = previous[key, row[-1]]


def _previous_values(log: RawLog) -> dict[tuple[int, int], int]:
    """Of each key and value the one that it replaced, by commit."""
    newest: dict[int, int] = {}
    found: dict[tuple[int, int], int] = {}
    for transaction in sorted(log.committed, key=lambda t: (t.get("commit", 0), t["returned"])):
        for statement in writes_of(transaction):
            value, key = statement["params"]
            found[key, value] = newest.get(key, 0)
            newest[key] = value
    return found


def row_invented(log: RawLog, random: Random) -> None:
    """An answer shows a row that another answer to the same text shows, and that it did not."""
    shown: dict[str, list[list[Any]]] = {}
    answers = [s for t in log.committed for s in reads_of(t) if len(s["result"]["rows"][0]) > 1]
    for statement in answers:
        shown.setdefault(statement["sql"], []).extend(statement["result"]["rows"])
    places = [s for s in answers if any(row not in s["result"]["rows"] for row in shown[s["sql"]])]
    statement = _one_of(random, places)
    rows = statement["result"]["rows"]
    others = [row for row in shown[statement["sql"]] if row not in rows]
    rows.insert(random.randint(0, len(rows)), list(random.choice(others)))


def number_off(log: RawLog, random: Random) -> None:
    """A number in an answer is one off."""
    places = [
        (row, column)
        for t in log.committed
        for s in reads_of(t)
        for row in s["result"]["rows"]
        for column, value in enumerate(row)
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    if not places:
        raise NoPlace
    row, column = random.choice(places)
    row[column] += random.choice((-1, 1))


def read_early(log: RawLog, random: Random) -> None:
    """An answer is one that the same query had later."""
    _answer_of_another_read(reversed(log.committed), random)


def write_removed(log: RawLog, random: Random) -> None:
    """A transaction that wrote several times lacks one of these statements: what it did was lost, or never said."""
    places = [t for t in log.committed if len(list(writes_of(t))) > 1]
    transaction = _one_of(random, places)
    gone = random.choice(list(writes_of(transaction)))
    transaction["statements"] = [one for one in transaction["statements"] if one is not gone]


KINDS: Mapping[str, Callable[[RawLog, Random], None]] = {
    kind.__name__.replace("_", "-"): kind
    for kind in (
        value_swapped,
        row_dropped,
        read_stale,
        transaction_removed,
        count_changed,
        commit_delayed,
        commit_undone,
        commit_lost,
        row_invented,
        number_off,
        read_early,
        write_removed,
    )
}

ANYWHERE = tuple(kind for kind in KINDS if kind != "commit-lost")
"""Those that every log has a place for: all but that of registers alone."""


def with_fault(log: RawLog, kind: str, random: Random) -> RawLog:
    """A copy with one fault. Raises NoPlace."""
    changed = log.copy()
    KINDS[kind](changed, random)
    return changed
