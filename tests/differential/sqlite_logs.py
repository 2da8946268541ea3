"""Random histories of a real SQLite, as logs: connections that switch foreign keys on and off, change definitions as
migrations do, and read and write between. One transaction after the other; the same steps can be run again, to find the
fewest that show something. Does not know how a log is judged.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.record.drivers.detection import DRIVERS

_SQLSTATE = next(driver.sqlstate for driver in DRIVERS if driver.dialect == "sqlite")
ACTIONS = (
    "",
    " ON DELETE CASCADE",
    " ON DELETE SET NULL",
    " ON DELETE RESTRICT",
    " ON UPDATE CASCADE",
    " ON UPDATE CASCADE ON DELETE CASCADE",
    " ON UPDATE SET NULL ON DELETE SET NULL",
)
NAMES = ("author", "book", "tag", "note")


End = Literal["alone", "COMMIT", "ROLLBACK"]


@dataclass(frozen=True, slots=True)
class Step:
    """A transaction of a session: its statements, and how it ends; one that runs alone is not begun."""

    session: int
    texts: tuple[str, ...]
    end: End


@dataclass(slots=True)
class History:
    """What is run, and what is logged of it."""

    seed: int
    folder: Path
    sessions: int = 2
    chance: random.Random = field(init=False)
    connections: list[sqlite3.Connection] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    clock: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        path = self.folder / f"history{self.seed}.db"
        path.unlink(missing_ok=True)
        self.connections = [sqlite3.connect(path, isolation_level=None) for _ in range(self.sessions)]
        for connection in self.connections:
            connection.execute("PRAGMA synchronous = OFF")

    # --- what is there ------------------------------------------------------------------------------------------------

    def tables(self) -> list[str]:
        found = self.connections[0].execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in found if not name.startswith("sqlite_")]

    def columns(self, table: str) -> list[str]:
        return [row[1] for row in self.connections[0].execute(f"PRAGMA table_info({table})")]

    def references(self, table: str) -> dict[str, str]:
        """The REFERENCES of each column that has one."""
        found = {}
        for row in self.connections[0].execute(f"PRAGMA foreign_key_list({table})"):
            _, _, parent, column, to, on_update, on_delete, _ = row
            text = f" REFERENCES {parent}" + (f" ({to})" if to else "")
            text += "" if on_delete == "NO ACTION" else f" ON DELETE {on_delete}"
            found[column] = text + ("" if on_update == "NO ACTION" else f" ON UPDATE {on_update}")
        return found

    def indexes(self) -> list[str]:
        found = self.connections[0].execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        return [name for (name,) in found]

    def reference(self, parent: str) -> str:
        chance = self.chance
        later = " DEFERRABLE INITIALLY DEFERRED" if chance.random() < 0.4 else ""
        return f" REFERENCES {parent} (id){chance.choice(ACTIONS)}{later}"

    def definition(self, name: str) -> str:
        """A table that refers to others, or to itself."""
        others = [other for other in NAMES if other != name]
        parts = [f"id INTEGER PRIMARY KEY{self.chance.choice(['', ' AUTOINCREMENT'])}"]
        parts += [f"up INTEGER{self.reference(self.chance.choice([*others, name]))}", "n INTEGER", "s TEXT"]
        if self.chance.random() < 0.3:
            parts.append("UNIQUE (n)")
        return f"CREATE TABLE {name} ({', '.join(parts)})"

    # --- running ------------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def run(self, session: int, sql: str) -> tuple[dict[str, Any], bool]:
        """A statement as it is logged, and whether it failed."""
        connection = self.connections[session]
        entry: dict[str, Any] = {"sql": sql, "invoked": self.tick()}
        try:
            cursor = connection.execute(sql)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            entry["error"] = {"sqlstate": _SQLSTATE(connection, error), "message": str(error)}
            entry["returned"] = self.tick()
            return entry, True
        if cursor.description is not None:
            entry["result"] = {"columns": [column[0] for column in cursor.description], "rows": rows}
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            entry["affected"] = cursor.rowcount if cursor.description is None else len(rows)
        entry["returned"] = self.tick()
        return entry, False

    def alone(self, session: int, sql: str) -> None:
        self.take(Step(session, (sql,), "alone"))

    def transaction(self, session: int, texts: Sequence[str]) -> None:
        self.take(Step(session, tuple(texts), "COMMIT" if self.chance.random() < 0.9 else "ROLLBACK"))

    def take(self, step: Step) -> None:
        """Run it, and log it. A transaction goes on after an error where its end is to be tried; where that fails it is
        rolled back."""
        self.steps.append(step)
        connection, begun = self.connections[step.session], self.tick()
        if step.end == "alone":
            entry, failed = self.run(step.session, step.texts[0])
            self.log(step.session, "aborted" if failed else "committed", [entry], begun, self.tick())
            return
        connection.execute("BEGIN")
        entries = [self.run(step.session, sql)[0] for sql in step.texts]
        end: dict[str, Any] = {"invoked": self.tick()}
        status = "committed" if step.end == "COMMIT" else "aborted"
        try:
            connection.execute(step.end)
        except sqlite3.Error as error:
            end["error"] = {"sqlstate": _SQLSTATE(connection, error), "message": str(error)}
            connection.execute("ROLLBACK")
            status = "aborted"
        end["returned"] = self.tick()
        self.log(step.session, status, entries, begun, end["returned"], end)

    def log(
        self, session: int, status: str, entries: list[dict[str, Any]], begun: int, over: int, end: Any = None
    ) -> None:
        entry = {"id": f"t{len(self.entries)}", "session": f"s{session}", "status": status, "invoked": begun,
                 "statements": entries, "returned": over}  # fmt: skip
        self.entries.append(entry if end is None else {**entry, "end": end})

    # --- what is done -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The tables and rows that the log begins with; some rows may refer to none."""
        connection = self.connections[0]
        schema = [self.definition(name) for name in NAMES[: self.chance.choice([2, 3])]]
        for text in schema:
            connection.execute(text)
        if self.chance.random() < 0.7:
            connection.execute("PRAGMA foreign_keys = ON")
        for _ in range(12):
            try:
                connection.execute(self.write(), ())
            except sqlite3.Error:
                continue
        connection.execute("PRAGMA foreign_keys = OFF")
        initial = []
        for name in self.tables():
            rows = connection.execute(f"SELECT * FROM {name}").fetchall()
            initial.append({"table": name, "columns": self.columns(name), "rows": rows})
        self.header = {
            "format": "troubadour-log", "version": 1, "dialect": "sqlite", "dbms": f"SQLite {sqlite3.sqlite_version}",
            "schema": schema, "isolation": "sqlite", "settings": {"foreign_keys": False},
            "initial": {item["table"]: {"columns": item["columns"], "rows": item["rows"]} for item in initial},
        }  # fmt: skip

    def number(self) -> str:
        return str(self.chance.choice([1, 2, 3, 4, 5, 6, "NULL"]))

    def write(self) -> str:
        chance, tables = self.chance, self.tables()
        if not tables:
            return "SELECT 1"
        table = chance.choice(tables)
        columns = self.columns(table)
        some = [column for column in columns if column != "id"]
        below = f"id < {chance.randrange(1, 7)}"
        match chance.randrange(11):
            case 0 | 1 | 2:
                chosen = ["id", *chance.sample(some, min(len(some), 2))]
                values = [str(chance.randrange(1, 7)), *(self.number() for _ in chosen[1:])]
                rows = f"({', '.join(values)})"
                if chance.random() < 0.2:
                    rows += f", ({', '.join([str(chance.randrange(7, 9)), *(self.number() for _ in chosen[1:])])})"
                verb = chance.choice(["INSERT", "INSERT", "INSERT", "INSERT OR REPLACE"])
                return f"{verb} INTO {table} ({', '.join(chosen)}) VALUES {rows}"
            case 3 | 4 if some:
                return f"UPDATE {table} SET {chance.choice(some)} = {self.number()} WHERE {below}"
            case 5:
                where = chance.choice([below, below.replace("<", "=")])
                return f"UPDATE {table} SET id = id + {chance.choice([10, -1])} WHERE {where}"
            case 6:
                return f"DELETE FROM {table} WHERE {chance.choice([below, below.replace('<', '='), '1'])}"
            case 7 if some:
                value = f"(SELECT {chance.choice(['MAX', 'MIN', 'COUNT'])}({chance.choice(columns)}) FROM {table})"
                return f"UPDATE {table} SET {chance.choice(some)} = {value} WHERE {below}"
            case 8:
                where = f"{chance.choice(columns)} IN (SELECT {chance.choice(columns)} FROM {chance.choice(tables)})"
                return f"DELETE FROM {table} WHERE {where}"
            case 9 if some:
                column = chance.choice(some)
                given = f"SELECT id + 1, {column} FROM {table} WHERE {below}"
                return f"INSERT OR {chance.choice(['REPLACE', 'IGNORE'])} INTO {table} (id, {column}) {given}"
        return f"SELECT * FROM {table} ORDER BY id"

    def remake(self, table: str) -> list[str]:
        """As Django alters a table."""
        columns, references = self.columns(table), self.references(table)
        kept = [columns[0], *self.chance.sample(columns[1:], len(columns) - 1)]
        if len(kept) > 2 and self.chance.random() < 0.3:
            kept.pop()
        types = {"id": "integer NOT NULL PRIMARY KEY AUTOINCREMENT", "s": "varchar(9) NULL"}
        parts = [
            f'"{name}" {types.get(name, "integer NULL")}'
            + references.get(name, "").replace(f" {table} ", f' "new__{table}" ')
            for name in kept
        ]
        if self.chance.random() < 0.3:
            parts.append(f'"extra{self.chance.randrange(3)}" integer NOT NULL')
            given = [*(f'"{name}"' for name in kept), str(self.chance.randrange(5))]
        else:
            given = [f'"{name}"' for name in kept]
        names = ", ".join(part.split()[0] for part in parts)
        done = [
            f'CREATE TABLE "new__{table}" ({", ".join(parts)})',
            f'INSERT INTO "new__{table}" ({names}) SELECT {", ".join(given)} FROM "{table}"',
            f'DROP TABLE "{table}"',
            f'ALTER TABLE "new__{table}" RENAME TO "{table}"',
        ]
        if "n" in kept and self.chance.random() < 0.3:
            done.append(f'CREATE {self.chance.choice(["", "UNIQUE "])}INDEX "{table}_n" ON "{table}" ("n")')
        return done

    def change(self) -> list[str]:
        """A change of definitions."""
        chance, tables = self.chance, self.tables()
        if not tables:
            return [self.definition("author")]
        table = chance.choice(tables)
        columns = self.columns(table)
        some = [column for column in columns if column not in ("id", "up")]
        match chance.randrange(11):
            case 0 | 1 | 2 | 3:
                return self.remake(table)
            case 4:
                more = chance.choice(["", " DEFAULT 3", self.reference(chance.choice(NAMES)), " NOT NULL DEFAULT 1"])
                return [f"ALTER TABLE {table} ADD COLUMN c{chance.randrange(4)} INTEGER{more}"]
            case 5 if some:
                return [f"ALTER TABLE {table} RENAME COLUMN {chance.choice([*some, 'id'])} TO m{chance.randrange(9)}"]
            case 6 if some:
                return [f"ALTER TABLE {table} DROP COLUMN {chance.choice(some)}"]
            case 7:
                return [f"ALTER TABLE {table} RENAME TO {chance.choice(NAMES)}"]
            case 8:
                return [f"DROP TABLE {table}"]
            case 9:
                indexes = self.indexes()
                if indexes and chance.random() < 0.5:
                    return [f"DROP INDEX {chance.choice(indexes)}"]
                return [f"CREATE {chance.choice(['', 'UNIQUE '])}INDEX {table}_n ON {table} ({chance.choice(columns)})"]
        absent = [name for name in NAMES if name not in tables]
        return [self.definition(chance.choice(absent))] if absent else self.remake(table)

    def step(self) -> None:
        chance, session = self.chance, self.chance.randrange(self.sessions)
        match chance.randrange(20):
            case 0 | 1:
                self.alone(session, f"PRAGMA foreign_keys = {chance.choice(['ON', 'OFF', '1', 'false'])}")
            case 2:
                self.alone(session, chance.choice(["PRAGMA foreign_keys", "PRAGMA foreign_key_check"]))
            case 3:
                switch = chance.choice(["PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON"])
                more = [self.write() for _ in range(chance.choice([0, 0, 1, 2]))]
                self.transaction(session, [switch, *more])
            case 4 | 5 | 6:
                if chance.random() < 0.7:
                    self.alone(session, "PRAGMA foreign_keys = OFF")
                change = self.change()
                if len(change) == 1 and chance.random() < 0.5:
                    self.alone(session, change[0])
                else:
                    more = [self.write()] if chance.random() < 0.3 and not change[0].startswith("DROP") else []
                    self.transaction(session, [*more, *change, *(self.checks())])
                if chance.random() < 0.7:
                    self.alone(session, "PRAGMA foreign_keys = ON")
            case 7 | 8 | 9 | 10:
                self.transaction(session, [self.write() for _ in range(chance.choice([1, 2, 2, 3]))])
            case 11 | 12 | 13:
                for table in self.tables():
                    self.alone(session, f"SELECT * FROM {table} ORDER BY 1")
            case _:
                self.alone(session, self.write())

    def checks(self) -> list[str]:
        return ["PRAGMA foreign_key_check"] if self.chance.random() < 0.5 else []

    # --- the log ------------------------------------------------------------------------------------------------------

    def made(self, steps: int) -> History:
        """The history, run to its end; last every table is read."""
        self.begin()
        for _ in range(steps):
            self.step()
        for table in self.tables():
            self.alone(0, f"SELECT * FROM {table} ORDER BY 1")
        return self.closed()

    def again(self, header: dict[str, Any], steps: Sequence[Step]) -> History:
        """These steps, after the tables and rows of a header."""
        self.header = header
        for text in header["schema"]:
            self.connections[0].execute(text)
        for table, initial in header["initial"].items():
            marks = ", ".join("?" for _ in initial["columns"])
            self.connections[0].executemany(f"INSERT INTO {table} VALUES ({marks})", initial["rows"])
        for step in steps:
            self.take(step)
        return self.closed()

    def closed(self) -> History:
        for connection in self.connections:
            connection.close()
        (self.folder / f"history{self.seed}.db").unlink()
        return self

    def lines(self) -> list[str]:
        return [
            json.dumps(line)
            for line in (self.header, *self.entries, {"kind": "end", "transactions": len(self.entries)})
        ]

    def read(self) -> Log:
        """The log as the reader gives it."""
        path = self.folder / f"history{self.seed}.jsonl"
        path.write_text("".join(f"{line}\n" for line in self.lines()))
        log = read_log([path])
        path.unlink()
        return log


def shrunk(history: History, shows: Callable[[History], bool]) -> History:
    """A history of fewer steps, statements, rows and tables that shows the same."""
    best = history

    def accepts(header: dict[str, Any], steps: Sequence[Step]) -> bool:
        nonlocal best
        other = History(history.seed, history.folder).again(header, steps)
        found = shows(other)
        best = other if found else best
        return found

    size = len(best.steps) // 2
    while size:
        place = 0
        while place < len(best.steps):
            if not accepts(best.header, [*best.steps[:place], *best.steps[place + size :]]):
                place += size
        size //= 2
    for place in reversed(range(len(best.steps))):
        for index in reversed(range(len(best.steps[place].texts))):
            step = best.steps[place]
            texts = (*step.texts[:index], *step.texts[index + 1 :])
            if texts:
                accepts(
                    best.header, [*best.steps[:place], Step(step.session, texts, step.end), *best.steps[place + 1 :]]
                )
    for table in list(best.header["initial"]):
        for row in reversed(range(len(best.header["initial"][table]["rows"]))):
            fewer = deepcopy(best.header)
            del fewer["initial"][table]["rows"][row]
            accepts(fewer, best.steps)
        fewer = deepcopy(best.header)
        del fewer["initial"][table]
        fewer["schema"] = [text for text in fewer["schema"] if not text.startswith(f"CREATE TABLE {table} ")]
        accepts(fewer, best.steps)
    return best
