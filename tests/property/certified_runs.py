"""Random runs of a server that keeps snapshots, with the log and the true certificate of each, and lies about them.

A table with a primary key and one without, whose rows are inserted, changed, moved to another key and deleted by
sessions that overlap: first updater wins, ids and snapshots are PostgreSQL's. Does not know how certificates are
judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

KEYS = range(1, 7)
SCHEMA = ["CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)", "CREATE TABLE notes (n INT NOT NULL)"]


@dataclass
class Run:
    """A log's transactions, a certificate's commits (by id: place and changes) and reads (by transaction: snapshot and
    id)."""

    log: list[dict[str, Any]] = field(default_factory=list)
    commits: dict[int, tuple[int, list[list[Any]]]] = field(default_factory=dict)
    reads: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Log and certificate as files."""
        header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "snapshot"}
        rows = {"kv": {"rows": [[key, key * 10] for key in KEYS if key % 2]}, "notes": {"rows": [[1], [1]]}}
        log, certificate = folder / "run.jsonl", folder / "run.cert.jsonl"
        _lines(log, [{**header, "log_id": "run", "schema": SCHEMA, "initial": rows}, *self.log])
        told: list[dict[str, Any]] = [{"format": "troubadour-certificate", "version": 1, "log_id": "run"}]
        told[0]["scheme"] = "snapshot"
        for xid, (place, changes) in sorted(self.commits.items(), key=lambda one: one[1][0]):
            told.append({"kind": "commit", "xid": str(xid), "place": place, "changes": changes})
        for name, (snapshot, own) in self.reads.items():
            entry = {"kind": "read", "transaction": name, "snapshot": snapshot}
            told.append(entry if own is None else {**entry, "xid": str(own)})
        told.append({"kind": "end", "commits": len(self.commits), "reads": len(self.reads)})
        _lines(certificate, told)
        return log, certificate


def _lines(path: Path, entries: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")


class _Session:
    """A transaction under way: what it sees, what it did."""

    def __init__(self, name: str, xid: int | None, snapshot: str, rows: dict[int, int], notes: list[int], base: int):
        self.name, self.xid, self.snapshot = name, xid, snapshot
        self.rows, self.notes, self.base = rows, notes, base
        self.touched: set[int] = set()
        self.statements: list[dict[str, Any]] = []
        self.changes: list[list[Any]] = []


class Server:
    """Runs transactions at snapshot isolation. `told`: the log has ids and snapshots, too."""

    def __init__(self, random: Random, *, told: bool) -> None:
        self._random, self._told = random, told
        self._rows = {key: key * 10 for key in KEYS if key % 2}
        self._notes = [1, 1]
        self._written: dict[int, int] = {}
        """When each key was last written."""
        self._open: list[_Session] = []
        self._next, self._completed, self._place, self._value = 700, 699, 1000, 100
        self.run = Run()

    def go(self, transactions: int) -> Run:
        """Run so many transactions."""
        begun = 0
        while begun < transactions or self._open:
            if begun < transactions and (not self._open or (len(self._open) < 3 and self._random.random() < 0.4)):
                begun += 1
                self._begin(f"t{begun}")
                continue
            session = self._random.choice(self._open)
            if session.statements and self._random.random() < 0.4:
                self._end(session)
            else:
                self._step(session)
        return self.run

    def _begin(self, name: str) -> None:
        writes = self._random.random() < 0.8
        early = writes and self._random.random() < 0.3  # it has its id before its snapshot, as after LOCK TABLE
        own = None
        if early:
            own, self._next = self._next, self._next + 1
        active = [one.xid for one in self._open if one.xid is not None]
        highest = self._completed + 1
        running = sorted(xid for xid in active if xid < highest)
        lowest = min([highest, *running, *([own] if own is not None and own < highest else [])])
        snapshot = f"{lowest}:{highest}:{','.join(map(str, running))}"
        if writes and own is None:
            own, self._next = self._next, self._next + 1
        self._open.append(_Session(name, own, snapshot, self._rows.copy(), self._notes.copy(), self._place))

    def _step(self, session: _Session) -> None:
        random, rows = self._random, session.rows
        free = {key for key in KEYS if key not in rows and self._may_write(session, key)}
        mine = {key for key in rows if self._may_write(session, key)}
        self._value += 1
        value = self._value
        kind = random.choice(("read", "insert", "update", "delete", "move", "note", "unnote", "twice"))
        if session.xid is None or kind == "read":
            found = [[key, rows[key]] for key in sorted(rows)]
            self._say(session, "SELECT k, v FROM kv ORDER BY k", result={"columns": ["k", "v"], "rows": found})
        elif kind == "insert" and free:
            key = random.choice(sorted(free))
            self._say(session, f"INSERT INTO kv VALUES ({key}, {value})", 1)
            session.changes.append(["kv", "insert", None, {"k": key, "v": value}])
            rows[key] = value
            session.touched.add(key)
        elif kind in ("update", "twice") and mine:
            key = random.choice(sorted(mine))
            for number in (value, value + 1000)[: 1 + (kind == "twice")]:
                self._say(session, f"UPDATE kv SET v = {number} WHERE k = {key}", 1)
                session.changes.append(["kv", "update", None, {"k": key, "v": number}])
                rows[key] = number
            session.touched.add(key)
        elif kind == "delete" and mine:
            key = random.choice(sorted(mine))
            self._say(session, f"DELETE FROM kv WHERE k = {key}", 1)
            session.changes.append(["kv", "delete", {"k": key}, None])
            del rows[key]
            session.touched.add(key)
        elif kind == "move" and mine and free:
            key, other = random.choice(sorted(mine)), random.choice(sorted(free))
            self._say(session, f"UPDATE kv SET k = {other} WHERE k = {key}", 1)
            session.changes.append(["kv", "update", {"k": key}, {"k": other, "v": rows[key]}])
            rows[other] = rows.pop(key)
            session.touched |= {key, other}
        elif kind == "note":
            self._say(session, f"INSERT INTO notes VALUES ({value})", 1)
            session.changes.append(["notes", "insert", None, {"n": value}])
            session.notes.append(value)

    def _may_write(self, session: _Session, key: int) -> bool:
        """First updater wins: no other session has it, nobody wrote it since the snapshot."""
        others = any(key in one.touched for one in self._open if one is not session)
        return not others and (key in session.touched or self._written.get(key, 0) <= session.base)

    def _say(self, session: _Session, sql: str, affected: int | None = None, **fields: Any) -> None:
        answer = fields if affected is None else {"affected": affected, **fields}
        session.statements.append({"sql": sql, **answer})

    def _end(self, session: _Session) -> None:
        self._open.remove(session)
        entry: dict[str, Any] = {"id": session.name, "status": "committed", "statements": session.statements}
        if self._told:
            entry["snapshot"] = session.snapshot
            if session.xid is not None:
                entry["xid"] = str(session.xid)
        self.run.log.append(entry)
        self.run.reads[session.name] = session.snapshot, session.xid
        if session.xid is None:
            return
        self._completed = max(self._completed, session.xid)
        self._place += 8
        self.run.commits[session.xid] = self._place, session.changes
        for key in session.touched:
            self._rows.pop(key, None)
            if key in session.rows:
                self._rows[key] = session.rows[key]
            self._written[key] = self._place
        before = len([note for note in session.notes if note <= 1])
        self._notes += session.notes[before:]


# --- lies -------------------------------------------------------------------------------------------------------------

Lie = Callable[[Run, Random], Run | None]
"""A certificate that contradicts its log or itself; None where this run leaves no room for it."""


def _changed(run: Run, xid: int, changes: list[list[Any]]) -> Run:
    return replace(run, commits={**run.commits, xid: (run.commits[xid][0], changes)})


def _last(changes: list[list[Any]]) -> Iterator[int]:
    """The changes whose row no later change of the same commit touches: what is left of it is theirs."""
    for number, (table, _, old, new) in enumerate(changes):
        keys = {row["k"] for row in (old, new) if row is not None and "k" in row}
        later = {row["k"] for change in changes[number + 1 :] for row in change[2:] if row is not None and "k" in row}
        if table == "notes" or not keys & later:
            yield number


def _left(changes: list[list[Any]]) -> list[str]:
    """What is left of a commit: rows that came and went in it are not."""
    left: dict[object, Any] = {}
    came: set[int] = set()
    for number, (_, kind, old, new) in enumerate(changes):
        for row in (old, new):
            if row is not None:
                key = row.get("k", -number)
                if row is new and (kind == "insert" or old):
                    came.add(key)
                left[key] = new if row is new else None
    return sorted(f"{key} {row}" for key, row in left.items() if row is not None or key not in came)


def _one(run: Run, random: Random, kinds: str = "insert update delete") -> tuple[int, int] | None:
    """The id of a commit, and the number of one of its changes that is the last of its row."""
    found = [
        (xid, number)
        for xid, (_, changes) in run.commits.items()
        for number in _last(changes)
        if changes[number][1] in kinds.split()
    ]
    return random.choice(found) if found else None


def lost(run: Run, random: Random) -> Run | None:
    """A change is missing, unless the row is as it was without it."""
    found = _one(run, random)
    if found is None:
        return None
    xid, number = found
    changes = run.commits[xid][1]
    if changes[number][1] == "delete" and any(one[1] == "insert" or one[2] for one in changes[:number]):
        return None  # the row may have come in this transaction
    return _changed(run, xid, [*changes[:number], *changes[number + 1 :]])


def another_value(run: Run, random: Random) -> Run | None:
    """A row was left with another value."""
    found = _one(run, random, "insert update")
    if found is None:
        return None
    xid, number = found
    table, kind, old, new = run.commits[xid][1][number]
    column = "v" if table == "kv" else "n"
    changes = run.commits[xid][1].copy()
    changes[number] = [table, kind, old, {**new, column: new[column] + 5000}]
    return _changed(run, xid, changes)


def another_kind(run: Run, random: Random) -> Run | None:
    """An insert of a row that was there, an update or deletion of one that was not, a deletion of one that stays."""
    found = _one(run, random)
    if found is None:
        return None
    xid, number = found
    table, kind, old, new = run.commits[xid][1][number]
    if table == "notes":
        return None
    told = {
        "insert": ["update", None, new],
        "update": ["delete", {"k": new["k"]}, None] if new else [],
        "delete": ["update", None, {"k": old["k"], "v": 77}] if old else [],
    }[kind]
    changes = run.commits[xid][1].copy()
    changes[number] = [table, *told]
    return _changed(run, xid, changes)


def another_key(run: Run, random: Random) -> Run | None:
    """A change of another row."""
    found = _one(run, random)
    if found is None:
        return None
    xid, number = found
    table, kind, old, new = run.commits[xid][1][number]
    if table == "notes":
        return None
    changes = run.commits[xid][1].copy()
    there = new or old
    elsewhere = {**there, "k": there["k"] + 50}
    changes[number] = [table, kind, elsewhere if new is None else old, None if new is None else elsewhere]
    return _changed(run, xid, changes)


def old_key_untold(run: Run, random: Random) -> Run | None:
    """A row that moved to another key is said to have had this key before."""
    moved = [
        (xid, number)
        for xid, (_, changes) in run.commits.items()
        for number in _last(changes)
        if changes[number][1] == "update" and changes[number][2]
    ]
    if not moved:
        return None
    xid, number = random.choice(moved)
    changes = run.commits[xid][1].copy()
    changes[number] = [changes[number][0], "update", None, changes[number][3]]
    return _changed(run, xid, changes)


def invented(run: Run, random: Random) -> Run | None:
    """A change of a row that the transaction did not touch."""
    if not run.commits:
        return None
    xid = random.choice(sorted(run.commits))
    row = {"k": 99, "v": 1}
    changes = [["kv", "insert", None, row], ["kv", "delete", row, None], ["notes", "insert", None, {"n": 7}]]
    return _changed(run, xid, [*run.commits[xid][1], random.choice(changes)])


def told_twice(run: Run, random: Random) -> Run | None:
    """An insert or a deletion comes twice."""
    found = _one(run, random, "insert delete")
    if found is None:
        return None
    xid, number = found
    changes = run.commits[xid][1]
    return _changed(run, xid, [*changes, changes[number]])


def exchanged(run: Run, random: Random) -> Run | None:
    """Two commits have each other's changes."""
    if len(run.commits) < 2:
        return None
    one, other = random.sample(sorted(run.commits), 2)
    (place, changes), (elsewhere, others) = run.commits[one], run.commits[other]
    if _left(changes) == _left(others):
        return None
    return replace(run, commits={**run.commits, one: (place, others), other: (elsewhere, changes)})


def records_swapped(run: Run, random: Random) -> Run | None:
    """The records of two writers of one row stand in the other order."""
    written = {
        xid: {row["k"] for change in changes for row in change[2:] if row is not None and "k" in row}
        for xid, (_, changes) in run.commits.items()
    }
    pairs = [(a, b) for a in written for b in written if a < b and written[a] & written[b]]
    if not pairs:
        return None
    one, other = random.choice(pairs)
    (place, changes), (elsewhere, others) = run.commits[one], run.commits[other]
    return replace(run, commits={**run.commits, one: (elsewhere, changes), other: (place, others)})


def sees_itself(run: Run, random: Random) -> Run | None:
    """A snapshot contains its own commit."""
    own = [name for name, (_, xid) in run.reads.items() if xid is not None]
    if not own:
        return None
    name = random.choice(own)
    xid = run.reads[name][1]
    assert xid is not None
    above = xid + random.randint(1, 9)
    lowest = random.choice((above, xid)) if above == xid + 1 else above
    return replace(run, reads={**run.reads, name: (f"{lowest}:{above}:", xid)})


def sees_the_future(run: Run, random: Random) -> Run | None:
    """A snapshot has a commit whose record comes after that of the transaction that read it."""
    pairs = [
        (name, own, xid)
        for name, (_, own) in run.reads.items()
        if own is not None
        for xid in run.commits
        if own < xid and run.commits[xid][0] > run.commits[own][0]
    ]
    if not pairs:
        return None
    name, own, xid = random.choice(pairs)
    return replace(run, reads={**run.reads, name: (f"{own}:{xid + 1}:{own}", own)})


def id_of_another(run: Run, random: Random) -> Run | None:
    """Two transactions have each other's ids."""
    own = [name for name, (_, xid) in run.reads.items() if xid is not None]
    if len(own) < 2:
        return None
    one, other = random.sample(own, 2)
    (snapshot, xid), (another, xid_of_other) = run.reads[one], run.reads[other]
    assert xid is not None
    assert xid_of_other is not None
    if _left(run.commits[xid][1]) == _left(run.commits[xid_of_other][1]):
        return None
    return replace(run, reads={**run.reads, one: (snapshot, xid_of_other), other: (another, xid)})


LIES: tuple[Lie, ...] = (
    lost,
    another_value,
    another_kind,
    another_key,
    old_key_untold,
    invented,
    told_twice,
    exchanged,
    records_swapped,
    sees_itself,
    sees_the_future,
    id_of_another,
)
