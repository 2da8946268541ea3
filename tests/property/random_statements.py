"""The statements of tiny random logs, and the one schema that they are about.

They are drawn singly or by a theme of the literature's anomalies, with what has no symbolic rule of its own, or with
savepoints. Does not know what they read.
"""

from __future__ import annotations

import random

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import Statement

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, v INT, w TEXT)"
TOKENS = "CREATE TABLE t (k INT PRIMARY KEY, a INT UNIQUE)"
BUMP = "CREATE PROCEDURE Bump(IN tgt INT, IN amt INT) BEGIN UPDATE accounts SET v = v + @amt WHERE id = @tgt; END;"
MOVE = (
    "CREATE PROCEDURE Move(IN src INT, IN tgt INT) BEGIN UPDATE accounts SET v = v - 1 WHERE id = @src; "
    "CALL Bump(@tgt, 1); END;"
)
SPREAD = """CREATE PROCEDURE Spread(x INT) LANGUAGE plpgsql AS $$ DECLARE r RECORD; BEGIN
  FOR r IN SELECT k, a FROM t ORDER BY k LOOP
    IF r.a > x THEN UPDATE accounts SET v = v + 1 WHERE id = r.k; ELSE UPDATE t SET a = NULL WHERE k = r.k; END IF;
  END LOOP; END $$"""
UNLESS = """CREATE PROCEDURE Unless(x INT) LANGUAGE plpgsql AS $$ DECLARE n INT; BEGIN
  SELECT v INTO n FROM accounts WHERE id = x;
  IF NOT FOUND THEN INSERT INTO accounts VALUES (x, 1, 'y'); ELSIF n > 1 THEN DELETE FROM accounts WHERE id = x;
  ELSE UPDATE accounts SET v = v + (SELECT COUNT(*) FROM t) WHERE id = x; END IF; END $$"""
ROUTINES = (BUMP, MOVE, SPREAD, UNLESS)

_LIBRARY: list[SqlLibrary] = []


def library() -> SqlLibrary:
    """The one schema that all logs share, compiled once per process."""
    if not _LIBRARY:
        _LIBRARY.append(SqlLibrary(Dialect("postgres", collation="C"), (ACCOUNTS, TOKENS), ROUTINES))
    return _LIBRARY[0]


def _statement(rng: random.Random, tables: str) -> Statement:
    key, value = rng.choice((1, 1, 2)), rng.choice((0, 1, 2, 3))
    read = [
        ("SELECT v FROM accounts WHERE id = $1", (key,)),
        ("SELECT v FROM accounts WHERE id = $1", (key,)),
        ("SELECT id, v FROM accounts WHERE v >= $1", (value,)),
        ("SELECT id, v, w FROM accounts ORDER BY id", None),
        ("SELECT v FROM accounts ORDER BY v DESC LIMIT 1", None),
        ("SELECT COUNT(*), SUM(v) FROM accounts", None),
        ("SELECT w, MAX(v) FROM accounts GROUP BY w", None),
        ("SELECT id FROM accounts WHERE w = 'x' LIMIT 1", None),
    ]
    write = [
        ("UPDATE accounts SET v = v + $1 WHERE id = $2", (rng.choice((1, 2, -1)), key)),
        ("UPDATE accounts SET v = v + $1 WHERE id = $2", (rng.choice((1, 2, -1)), key)),
        ("UPDATE accounts SET v = v + 1 WHERE v < $1", (value,)),
        ("UPDATE accounts SET v = $1 WHERE id = $2", (value, key)),
        ("UPDATE accounts SET v = $1 WHERE id = $2 RETURNING v, w", (value, key)),
        ("UPDATE accounts SET w = 'x' WHERE v = $1 RETURNING id, w", (value,)),
        ("UPDATE accounts SET v = v + 1 WHERE id = $1 RETURNING v", (key,)),
        ("INSERT INTO accounts VALUES ($1, $2, 'x')", (rng.choice((1, 3, 3, 4)), value)),
        ("DELETE FROM accounts WHERE id = $1", (key,)),
        ("DELETE FROM accounts WHERE v = $1 RETURNING id", (value,)),
        ("CALL Bump($1, $2)", (key, rng.choice((1, 2)))),
        ("CALL Move($1, $2)", (key, 3 - key)),
    ]
    if tables == "both":
        read += [
            ("SELECT a FROM t WHERE k = $1", (key,)),
            ("SELECT k FROM t WHERE a = $1", (value,)),
            ("SELECT accounts.id, t.a FROM accounts JOIN t ON t.k = accounts.id", None),
            ("SELECT accounts.id, t.k FROM accounts LEFT JOIN t ON t.a = accounts.v", None),
        ]
        write += [
            ("INSERT INTO t (k, a) VALUES ($1, $2)", (rng.choice((2, 3, 4)), value)),
            ("INSERT INTO t (k) VALUES ($1)", (rng.choice((2, 3, 4)),)),
            ("INSERT INTO t (k, a) SELECT id + 2, v FROM accounts WHERE v = $1", (value,)),
            ("UPDATE t SET a = NULL WHERE k = $1", (key,)),
            ("UPDATE t SET a = a + 1 WHERE k = $1", (key,)),
            ("DELETE FROM t WHERE a = $1 RETURNING k, a", (value,)),
        ]
    sql, params = rng.choice(read if rng.random() < 0.5 else write)
    return Statement(sql, params)


WIDER = (
    "INSERT INTO accounts VALUES ($k, $v, 'x') ON CONFLICT (id) DO UPDATE SET v = accounts.v + excluded.v",
    "INSERT INTO accounts VALUES ($k, $v, 'y') ON CONFLICT DO NOTHING",
    "INSERT INTO t (k, a) VALUES ($k, $v) ON CONFLICT (k) DO UPDATE SET a = 2 WHERE t.a IS NULL RETURNING k, a",
    "INSERT INTO t (k, a) SELECT id, v + 2 FROM accounts WHERE v = $v ON CONFLICT DO NOTHING",
    "SELECT COUNT(*) FILTER (WHERE v > $v), COUNT(DISTINCT v) FROM accounts",
    "SELECT id FROM accounts WHERE v IN (SELECT a FROM t)",
    "SELECT id, v FROM accounts WHERE EXISTS (SELECT 1 FROM t WHERE t.a = accounts.v)",
    "SELECT (SELECT MAX(a) FROM t), COUNT(*) FROM accounts WHERE v < $v",
    "SELECT v FROM accounts UNION SELECT a FROM t",
    "SELECT k FROM t EXCEPT SELECT id FROM accounts WHERE v > $v",
    "SELECT accounts.id, t.k FROM accounts FULL JOIN t ON t.k = accounts.id",
    "SELECT x.w, x.n FROM (SELECT w, SUM(v) AS n FROM accounts GROUP BY w) x WHERE x.n > $v",
    "WITH r AS (SELECT id, v FROM accounts WHERE v >= $v) SELECT COUNT(*), MAX(v) FROM r",
    "SELECT id, v, SUM(v) OVER (ORDER BY id) FROM accounts",
    "SELECT id, RANK() OVER (ORDER BY v DESC) FROM accounts ORDER BY id",
    "UPDATE accounts SET v = v + 1 WHERE id IN (SELECT k FROM t WHERE a = $v)",
    "UPDATE accounts SET v = (SELECT COUNT(*) FROM t) WHERE id = $k",
    "UPDATE accounts SET v = v + t.a FROM t WHERE t.k = accounts.id AND t.a IS NOT NULL",
    "DELETE FROM accounts WHERE v > (SELECT MAX(a) FROM t)",
    "CALL Spread($v)",
    "CALL Unless($k)",
    "DELETE FROM t USING accounts WHERE accounts.id = t.k AND accounts.v = $v",
)
"""Statements over both tables; $k is a key, $v a small number."""


def some_wider(rng: random.Random) -> Statement:
    sql = rng.choice(WIDER)
    sql = sql.replace("$k", str(rng.choice((1, 2, 3)))).replace("$v", str(rng.choice((0, 1, 2))))
    try:
        library().program(sql, None)
    except Unsupported:
        return some_wider(rng)
    return Statement(sql)


_FAILING = (
    "SELECT 1 / v FROM accounts WHERE id = 1",
    "UPDATE accounts SET v = 6 / (v - 1) WHERE id = 2",
    "INSERT INTO accounts VALUES (5, 1 / 0, 'x')",
    "UPDATE accounts SET v = v / (v - 2) RETURNING v",
)


def with_savepoints(rng: random.Random, statements: list[Statement]) -> list[Statement]:
    """The statements with SAVEPOINT, ROLLBACK TO and RELEASE among them, and some that may fail."""
    found = list(statements)
    for _ in range(rng.choice((1, 1, 2))):
        found.insert(rng.randint(0, len(found)), Statement(rng.choice(_FAILING)))
    start = rng.randint(0, 1)
    found.insert(start, Statement("SAVEPOINT a"))
    if rng.random() < 0.3:
        found.insert(rng.randint(start + 1, len(found)), Statement(rng.choice(("SAVEPOINT b", "SAVEPOINT a"))))
    for _ in range(rng.choice((1, 1, 2))):
        end = rng.choice(("ROLLBACK TO a", "ROLLBACK TO a", "ROLLBACK TO SAVEPOINT a", "RELEASE a", "ROLLBACK TO b"))
        found.insert(rng.randint(start + 1, len(found)), Statement(end))
    return found


_POINT = "SELECT v FROM accounts WHERE id = $1"
EVERY = "SELECT id, v FROM accounts"
ADD = "UPDATE accounts SET v = v + 1 WHERE id = $1"
SHAPES: dict[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    # Parameters by letter: o and p are the two accounts, c a small number, n a new key.
    "skew": (((_POINT, "o"), (ADD, "p")), ((_POINT, "p"), (ADD, "o"))),
    "lost": (
        ((_POINT, "o"), ("UPDATE accounts SET v = v * 2 + 1 WHERE id = $1", "o")),
        ((ADD + " RETURNING v", "o"),),
    ),
    "fork": (((ADD, "o"),), ((ADD, "p"),), ((_POINT, "o"), (_POINT, "p")), ((EVERY, ""),)),
    "again": (((EVERY, ""), (EVERY, "")), ((ADD, "o"), (ADD, "p")), ((_POINT, "o"), (ADD, "p"), (_POINT, "o"))),
    "stale": (((ADD, "o"),), ((_POINT, "o"),), ((EVERY, ""),)),
    "phantom": (
        (("SELECT COUNT(*) FROM accounts", ""), ("INSERT INTO accounts VALUES ($1, 0, 'y')", "n")),
        ((EVERY + " WHERE v < 2", ""), ("UPDATE accounts SET v = v + 2 WHERE id = $1", "o")),
        (("SELECT SUM(v) FROM accounts", ""), ("UPDATE accounts SET v = $1 WHERE id = $2", "co")),
    ),
}


def some_statements(rng: random.Random, tables: str, theme: str | None) -> list[Statement]:
    """Statements of one transaction: of the log's theme, or any."""
    if theme is None or rng.random() < 0.15:
        return [_statement(rng, tables) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
    o = rng.choice((1, 2))
    letters = {"o": o, "p": 3 - o, "c": rng.choice((0, 1, 2)), "n": rng.choice((3, 4))}
    shape = rng.choice(SHAPES[theme])
    return [Statement(sql, tuple(letters[letter] for letter in given) or None) for sql, given in shape]
