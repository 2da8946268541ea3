"""Small logs of values of every shape, arrays, rows, enums, bytes, JSON and texts: random statements run one after the
other, some of them on an older state, and now and then an answer of another row in place of the right one. Every text
of theirs has `MARK` in it. Does not know at which level a log is correct."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from sql_semantics.errors import SqlError
from tests.property.states import is_a_state
from troubadour.coverage.library import library_of
from troubadour.execution.prepared import prepare
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

MARK = "zq"
_WORDS = ("zq", "zqa", "zq b", "zqB", "a zq", "zq5", "{zq}", 'zq"', "é zq", "it zq")
_POSTGRES = (
    "CREATE TYPE mood AS ENUM ('zqsad', 'zqok', 'azq')",
    "CREATE TYPE place AS (street text, no int)",
    "CREATE TABLE t (id int PRIMARY KEY, w text DEFAULT 'zqnone', c char(9), m mood, a text[], j jsonb, b bytea, "
    " p place, ms mood[])",
)
_SQLITE = ("CREATE TABLE t (id INTEGER PRIMARY KEY, w TEXT, a, b BLOB, j TEXT, d DATE)",)
_MYSQL = ("CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(40), c CHAR(9), UNIQUE KEY (w))",)
_SELECTS = {
    "postgres": (
        "SELECT * FROM t",
        "SELECT w, m FROM t WHERE w = {w}",
        "SELECT id FROM t WHERE m >= {m}",
        "SELECT a, j FROM t",
        "SELECT id FROM t WHERE {w} = ANY (a)",
        "SELECT id FROM t WHERE a @> ARRAY[{w}]",
        "SELECT id FROM t WHERE a = {a}",
        "SELECT j -> 'zqk' FROM t",
        "SELECT j ->> 'zqk' FROM t WHERE id < 3",
        "SELECT j ->> 'zqo' FROM t",
        "SELECT (j ->> 'zqn')::int FROM t",
        "SELECT id FROM t WHERE j @> {j}",
        "SELECT id FROM t WHERE j ? 'zqk'",
        "SELECT id FROM t WHERE j = {j}",
        "SELECT id FROM t WHERE b = {b}",
        "SELECT b FROM t WHERE b < {b}",
        "SELECT (p).street, p FROM t",
        "SELECT id FROM t WHERE c = {c}",
        "SELECT c, ms FROM t WHERE ms = '{{zqok}}'",
        "SELECT jsonb_typeof(j), array_length(a, 1) FROM t",
        "SELECT min(w), max(m) FROM t",
        "SELECT array_agg(w ORDER BY id) FROM t",
        "SELECT DISTINCT w FROM t",
        "SELECT w FROM t ORDER BY w",
        "SELECT to_jsonb(w) FROM t",
        "SELECT id FROM t ORDER BY b",
        "SELECT m::text FROM t",
        "SELECT jsonb_build_object('zqx', w, 'zqy', id) FROM t",
        "SELECT id FROM t WHERE p = {p}::place",
    ),
    "sqlite": (
        "SELECT * FROM t",
        "SELECT w FROM t WHERE w = {w}",
        "SELECT id FROM t WHERE a = {w}",
        "SELECT a FROM t",
        "SELECT json_extract(j, '$.zqk') FROM t",
        "SELECT j ->> 'zqk' FROM t",
        "SELECT j -> '$.zqo' FROM t",
        "SELECT id FROM t WHERE b = {b}",
        "SELECT d FROM t",
        "SELECT w FROM t ORDER BY w",
    ),
    "mysql": (
        "SELECT * FROM t",
        "SELECT id FROM t WHERE w = {w}",
        "SELECT c FROM t WHERE id = 1",
        "SELECT w FROM t WHERE c = {c}",
    ),
}
_WRITES = {
    "postgres": (
        "UPDATE t SET w = {w} WHERE id = {id}",
        "UPDATE t SET a = array_append(a, {w}) WHERE id = {id}",
        "UPDATE t SET a = {a}, b = {b} WHERE id = {id}",
        "UPDATE t SET j = j || {j} WHERE id = {id}",
        "UPDATE t SET j = j - 'zqk'::text WHERE id = {id}",
        "UPDATE t SET p = {p}, m = {m} WHERE id = {id}",
        "UPDATE t SET c = {c} WHERE w = {w}",
        "INSERT INTO t (id, j, ms) VALUES ({id}, {j}, '{{zqok,azq}}')",
        "INSERT INTO t VALUES ({id}, {w}, {c}, {m}, {a}, {j}, {b}, {p})",
        "DELETE FROM t WHERE id = {id}",
        "UPDATE t SET a = array_remove(a, {w})",
        "UPDATE t SET m = 'azq' WHERE m = {m} RETURNING id, m",
    ),
    "sqlite": (
        "UPDATE t SET w = {w} WHERE id = {id}",
        "UPDATE t SET a = {w} WHERE id = {id}",
        "UPDATE t SET a = {id}",
        "UPDATE t SET b = {b} WHERE id = {id}",
        "UPDATE t SET j = json_set(j, '$.zqk', {w}) WHERE id = {id}",
        "INSERT INTO t VALUES ({id}, {w}, {w}, {b}, {j}, {w})",
        "DELETE FROM t WHERE id = {id}",
    ),
    "mysql": (
        "UPDATE t SET w = {w} WHERE id = {id}",
        "UPDATE t SET c = {c} WHERE w = {w}",
        "INSERT INTO t VALUES ({id}, {w}, {c})",
        "DELETE FROM t WHERE w = {w}",
    ),
}
_ORDERS = re.compile(r"ORDER BY w|min\(w\)")
SCHEMAS = {"postgres": _POSTGRES, "sqlite": _SQLITE, "mysql": _MYSQL}


def shaped_log(seed: int, dialect: str, folder: Path) -> Log:
    """A log of 3 to 9 transactions of one or two statements; the same for the same seed."""
    rng = random.Random(f"{dialect} {seed}")
    collations = {"postgres": ("C", "en_US.utf8"), "mysql": ("utf8mb4_bin", "utf8mb4_general_ci")}
    settings = {"collation": rng.choice(collations[dialect])} if dialect in collations else {}
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": dialect,
        "isolation": "strict-serializable",
        "schema": SCHEMAS[dialect],
        "settings": settings,
        "clock": f"{MARK}-clock",
    }
    path = folder / "shaped.jsonl"
    path.write_text(json.dumps(header) + "\n")
    ordered = settings.get("collation") != "en_US.utf8"
    library = library_of(read_log([path]))
    store = Store(library, {"t": []})
    lines = [header]
    last = rng.randint(4, 9)
    for place in range(1, last + 1):
        writes = place < 3 or (place < last and rng.random() < 0.5)
        usable = [text for text in _SELECTS[dialect] if ordered or not _ORDERS.search(text)]
        texts = [rng.choice(_WRITES[dialect] if writes else usable) for _ in range(rng.choice((1, 1, 2)))]
        if place < 3:
            texts = [next(text for text in _WRITES[dialect] if "INSERT INTO t VALUES" in text)]
        if place == last:
            texts = ["SELECT * FROM t"]
        statements = [_statement(rng, dialect, text, place) for text in texts]
        stale = store.newest > 2 and not writes and rng.random() < 0.6
        at = rng.randrange(1, store.newest) if stale else store.newest
        view = WitnessView(store, place, store.newest, hidden=frozenset(range(at + 1, store.newest + 1)))
        entry: dict[str, Any] = {"id": f"{MARK}{place}", "status": "committed"}
        entry["statements"] = _run(rng, view, statements, library, place)
        if any("error" in statement for statement in entry["statements"]):
            entry["status"] = "aborted"
            view.writes = {}
        before = store.copy()
        if not is_a_state(store, view.writes):
            entry["status"] = "aborted"
            store.tables, store.newest = before.tables, before.newest
            store.append({})
        entry |= {"session": f"{MARK}{rng.choice('ab')}", "invoked": 10 * place, "returned": 10 * place + 5}
        lines.append(entry)
    if rng.random() < 0.7:
        _spoil(rng, lines[1:])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_log([path])


def _run(rng: random.Random, view: WitnessView, given: list[Any], library: Any, place: int) -> list[dict[str, Any]]:
    from troubadour.model.log import Statement, Transaction

    done = []
    transaction = Transaction(place, "committed", tuple(Statement(sql, params) for sql, params in given), place)
    for number, item in enumerate(prepare(transaction, library).statements):
        assert item.program is not None
        view.statement(number)
        entry: dict[str, Any] = {"sql": item.statement.sql}
        if item.statement.params is not None:
            entry["params"] = item.statement.params
        done.append(entry)
        mark = view.savepoint()
        try:
            outcome = item.program.run(view, item.arguments)
        except SqlError as error:
            view.rollback(mark)
            entry["error"] = {"sqlstate": error.sqlstate, "message": f"{MARK} failed"}
            break
        if outcome.results:
            (shown,) = outcome.results
            entry["result"] = {
                "columns": [f"{MARK}{n}" for n in range(len(shown.types))],
                "rows": [[_json(value) for value in row] for row in shown.rows],
            }
        elif rng.random() < 0.8:
            entry["affected"] = outcome.affected
    return done


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return value if value is None or isinstance(value, int | float | str | bool) else str(value)


def _statement(rng: random.Random, dialect: str, template: str, place: int) -> tuple[str, tuple[Any, ...] | None]:
    """A template filled in, by literals or by parameters."""
    values = {
        "w": rng.choice(_WORDS), "c": rng.choice(("zq", "zqa", "zqb")), "m": rng.choice(("zqsad", "zqok", "azq")),
        "a": rng.choice(("{zqa}", '{zq,"zq b"}', "{}", "{NULL,zq}")), "b": b"zq" + bytes([rng.randrange(3)]),
        "j": _document(rng), "p": rng.choice(("(zqa,1)", '("zq b",2)', "(,3)")), "id": rng.choice((place, 1, 2)),
    }  # fmt: skip
    marks = {"postgres": "%s", "sqlite": "?", "mysql": "%s"}
    params: list[Any] = []
    bind = rng.random() < 0.5

    def written(name: str) -> str:
        value = values[name]
        if bind:
            params.append(_json(value))
            return marks[dialect]
        if isinstance(value, int):
            return str(value)
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'" if dialect == "postgres" else f"x'{value.hex()}'"
        return "'" + str(value).replace("'", "''") + "'"

    pieces = template.replace("{{", "\0").replace("}}", "\1").split("{")
    text = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        text += written(name) + rest
    return text.replace("\0", "{").replace("\1", "}"), tuple(params) if params else None


def _document(rng: random.Random) -> str:
    found: dict[str, Any] = {}
    for key in rng.sample(("zqk", "zqo", "zqn", "zqlong key"), rng.randint(1, 3)):
        found[key] = {
            "zqk": rng.choice(_WORDS), "zqo": {"zqi": [1, rng.choice(_WORDS), None]}, "zqn": rng.randint(1, 9),
            "zqlong key": rng.choice((True, None, "zq")),
        }[key]  # fmt: skip
    return json.dumps(found, ensure_ascii=rng.random() < 0.5)


def _spoil(rng: random.Random, lines: list[Any]) -> None:
    """One answer has another of the same column in place of it."""
    shown: dict[str, list[Any]] = {}
    for line in lines:
        for statement in line["statements"]:
            if statement.get("result", {}).get("rows"):
                shown.setdefault(statement["sql"], []).extend(statement["result"]["rows"])
    if not shown:
        return
    rows = rng.choice(list(shown.values()))
    row = rng.choice(rows)
    column = rng.randrange(len(row))
    row[column] = rng.choice([other[column] for other in rows if other[column] != row[column]] or [row[column]])
