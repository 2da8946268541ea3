"""Random statements beyond what the native guarded compiler knows: subqueries, set operations, windows, upserts, joins
inside writes. Knows the tables of `guarded_cases`, and no expected result."""

from __future__ import annotations

from collections.abc import Callable

from tests.property.guarded_cases import TABLES, Cases

T = [f"t.{column}" for column in TABLES["t"]]
U = [f"u.{column}" for column in TABLES["u"]]


def wider_sql(cases: Cases) -> str:
    """A random statement of one of these kinds, in the dialect's spelling."""
    pick = cases.random.choice
    kinds: list[Callable[[Cases], str]] = [_subquery, _subquery, _set_operation, _derived, _join, _window, _write]
    kinds += [_upsert, _upsert, _write, _write]
    return pick(kinds)(cases)


def _number(cases: Cases) -> str:
    return str(cases.random.choice((0, 1, 2, 3, 5)))


def _inner(cases: Cases, column: str = "c") -> str:
    """A one-column query over u, perhaps correlated with t."""
    where = cases.random.choice(("", " WHERE u.tid = t.id", " WHERE u.c > 2", f" WHERE u.id <> {_number(cases)}"))
    return f"SELECT u.{column} FROM u{where}"


def _predicate(cases: Cases) -> str:
    pick = cases.random.choice
    outer = pick(("t.id", "t.a", "t.b", "t.a + 1"))
    negated = pick(("", "NOT "))
    match cases.random.randrange(5):
        case 0:
            return f"{outer} {negated}IN ({_inner(cases, pick(('id', 'tid', 'c')))})"
        case 1:
            return f"{negated}EXISTS ({_inner(cases)})"
        case 2:
            return f"{outer} {pick(('=', '<', '>='))} (SELECT {pick(('MAX', 'MIN', 'SUM'))}(u.c) FROM u)"
        case 3:
            return f"{outer} {pick(('>', '<=', '<>'))} {pick(('ALL', 'ANY'))} ({_inner(cases)})"
    return f"(SELECT COUNT(*) FROM u WHERE u.tid = t.id) {pick(('=', '>'))} {pick(('0', '1'))}"


def _subquery(cases: Cases) -> str:
    pick = cases.random.choice
    where = f" WHERE {_predicate(cases)}" if cases.random.random() < 0.8 else ""
    if cases.random.random() < 0.3:
        where += (" AND " if where else " WHERE ") + cases.condition(T, 1)
    outputs = pick(("t.id", "t.id, t.a", "COUNT(*)", "MAX(t.b)"))
    if cases.random.random() < 0.3 and "(" not in outputs:
        outputs += ", (SELECT SUM(u.c) FROM u WHERE u.tid = t.id)"
    order = " ORDER BY t.id" if "(" not in outputs and cases.random.random() < 0.3 else ""
    return f"SELECT {outputs} FROM t{where}{order}"


def _set_operation(cases: Cases) -> str:
    pick = cases.random.choice
    left, right = f"SELECT {pick(('id', 'a', 'b'))} FROM t", f"SELECT {pick(('id', 'tid', 'c'))} FROM u"
    order = pick(("", "", " ORDER BY 1", " ORDER BY 1 LIMIT 2"))
    return f"{left} {pick(('UNION', 'INTERSECT', 'EXCEPT'))} {pick(('', 'ALL '))}{right}{order}"


def _derived(cases: Cases) -> str:
    pick = cases.random.choice
    query = pick(
        (
            "SELECT a, COUNT(*) AS n FROM t GROUP BY a",
            "SELECT tid AS a, SUM(c) AS n FROM u GROUP BY tid",
            "SELECT a, b AS n FROM t WHERE b > 1",
            "SELECT id AS a, c AS n FROM u UNION ALL SELECT id, b FROM t",
        )
    )
    match cases.random.randrange(3):
        case 0:
            return f"SELECT x.a, x.n FROM ({query}) x WHERE x.n > {pick(('0', '1', '2'))}"
        case 1:
            return f"WITH x AS ({query}) SELECT t.id, x.n FROM t JOIN x ON x.a = t.a"
    return f"WITH x AS ({query}) SELECT COUNT(*), (SELECT MAX(x.n) FROM x) FROM x WHERE x.a IS NOT NULL"


def _join(cases: Cases) -> str:
    pick = cases.random.choice
    on = pick(("t.id = u.tid", "u.id = t.a", "u.id = t.id AND u.c > t.b"))
    outputs = pick(("t.id, u.id", "u.c, t.a", "COUNT(*)", "COUNT(t.id), SUM(u.c)"))
    sides = ("RIGHT", "LEFT") if cases.dialect.name == "mysql" else ("RIGHT", "FULL", "FULL")
    on = on.split(" AND ")[0] if cases.random.random() < 0.7 else on
    where = pick(("", "", " WHERE u.c > 1", " WHERE t.id IS NULL"))
    return f"SELECT {outputs} FROM t {pick(sides)} JOIN u ON {on}{where}"


def _window(cases: Cases) -> str:
    pick = cases.random.choice
    over = pick(("ORDER BY id", "PARTITION BY a ORDER BY id", "PARTITION BY b % 2"))
    function = pick(("COUNT(*)", "SUM(b)", "MAX(a)"))
    if "ORDER" in over:
        function = pick((function, "ROW_NUMBER()", "RANK()", "LAG(b)"))
    if cases.dialect.name == "postgres" and cases.random.random() < 0.4:
        return pick(
            (
                "SELECT DISTINCT ON (a) a, id FROM t ORDER BY a, id",
                "SELECT id FROM t ORDER BY b FETCH FIRST 2 ROWS WITH TIES",
                "SELECT COUNT(*) FILTER (WHERE a > 1), COUNT(DISTINCT b) FROM t",
                "SELECT bool_and(a > 1), count(*) FROM t GROUP BY b",
            )
        )
    return f"SELECT id, {function} OVER ({over}) FROM t{pick(('', ' WHERE a > 0'))}"


def _upsert(cases: Cases) -> str:
    pick = cases.random.choice
    rows = ", ".join(
        f"({pick(('1', '2', '3', '7'))}, {_number(cases)}, {pick(('1', '2', '60'))})" for _ in range(pick((1, 1, 2)))
    )
    source = f"VALUES {rows}" if cases.random.random() < 0.8 else "SELECT id + 1, tid, c FROM u"
    if cases.dialect.name == "mysql":
        if cases.random.random() < 0.3:
            return f"{pick(('REPLACE INTO', 'INSERT IGNORE INTO'))} u (id, tid, c) {source}"
        change = pick(("b = b + 1", "b = VALUES(b)", "a = a + VALUES(a), b = 2"))
        return f"INSERT INTO t (id, a, b) {source} ON DUPLICATE KEY UPDATE {change}"
    change = pick(("b = t.b + 1", "b = excluded.b", "a = t.a + excluded.a, b = 2", "id = 9"))
    where = pick(("", "", " WHERE t.b < 3"))
    action = pick(("DO NOTHING", f"(id) DO UPDATE SET {change}{where}", f"(id) DO UPDATE SET {change}"))
    return f"INSERT INTO t (id, a, b) {source} ON CONFLICT {action}{pick(('', ' RETURNING id, b'))}"


def _write(cases: Cases) -> str:
    pick = cases.random.choice
    mysql = cases.dialect.name == "mysql"
    kind = cases.random.randrange(6)
    if kind == 0:
        value = pick(("(SELECT MAX(c) FROM u)", "(SELECT MIN(c) FROM u WHERE u.tid = t.id)", "b + 1"))
        return f"UPDATE t SET b = {value} WHERE {_predicate(cases)}"
    if kind == 1:
        return f"DELETE FROM t WHERE {_predicate(cases)}"
    if kind == 2:
        on = pick(("u.tid = t.id", "u.id = t.id", "u.id = t.a"))
        change = pick(("b = u.c", "b = t.b + 1", "a = u.id"))
        if mysql:
            return f"UPDATE t JOIN u ON {on} SET t.{change}"
        return f"UPDATE t SET {change} FROM u WHERE {on}"
    if kind == 3:
        on = pick(("u.tid = t.id", "u.id = t.id"))
        return f"DELETE t FROM t JOIN u ON {on}" if mysql else f"DELETE FROM t USING u WHERE {on}"
    if kind == 4 and mysql:
        return pick(("UPDATE t SET b = b + 1 ORDER BY id LIMIT 2", "DELETE FROM t ORDER BY id DESC LIMIT 1"))
    query = pick(("SELECT id + 20, a, 1 FROM t", f"SELECT t.id + 30, t.a, 2 FROM t WHERE {_predicate(cases)}"))
    return f"INSERT INTO u (id, tid, c) {query}"
