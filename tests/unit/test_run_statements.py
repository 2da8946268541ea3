"""Statements against rows in memory: clauses, writes, constraints, procedures."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind
from sql_semantics.ir.queries import Select
from sql_semantics.ir.statements import Update
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, access_path
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.unit.running import Database

SCHEMA = [
    "CREATE TABLE accounts (id int PRIMARY KEY, owner varchar(10) NOT NULL,"
    " balance numeric(10,2) CHECK (balance >= 0))",
    "CREATE TABLE orders (id int, account int, amount int)",
]


def bank(dialect: str = "postgres", **settings: bool) -> Database:
    database = Database(Dialect(dialect, **settings), SCHEMA)  # type: ignore[arg-type]
    database.fill("accounts", [(1, "ann", Decimal("100.00")), (2, "bob", Decimal("300.00")), (3, "ann", None)])
    return database.fill("orders", [(10, 1, 5), (11, 1, 7), (12, 2, 5), (13, None, 1)])


def accounts(database: Database) -> list[tuple[object, ...]]:
    return [tuple(None if v is None else str(v) for v in row) for row in database.view.rows("accounts")]


def test_joins_extend_and_filter() -> None:
    sql = "SELECT a.id, o.id FROM accounts a {} JOIN orders o ON o.account = a.id {}"
    assert sorted(bank().rows(sql.format("", ""))) == [(1, 10), (1, 11), (2, 12)]
    assert (3, None) in bank().rows(sql.format("LEFT", ""))
    assert bank().rows(sql.format("LEFT", "WHERE o.id IS NULL")) == [(3, None)]
    assert bank().rows(sql.format("LEFT", "AND o.amount > 5 WHERE a.id = 1")) == [(1, 11)]


def test_hash_join_and_lookups_agree() -> None:
    database = Database(Dialect("postgres"), ["CREATE TABLE l (k int)", "CREATE TABLE r (k int, v int)"])
    database.fill("l", [(i % 7 or None,) for i in range(600)]).fill("r", [(i, i * i) for i in range(5)])
    found = database.rows("SELECT l.k, r.v FROM l JOIN r ON r.k = l.k")
    database.view = MemoryView({"l": [(1,), (None,)], "r": [(i, i * i) for i in range(5)]})
    assert len(found) == sum(1 for i in range(600) if i % 7 in (1, 2, 3, 4))
    assert database.rows("SELECT l.k, r.v FROM l JOIN r ON r.k = l.k") == [(1, 1)]


def test_groups_and_aggregates() -> None:
    rows = bank().rows("SELECT owner, COUNT(*), COUNT(balance), SUM(balance) FROM accounts GROUP BY owner")
    assert sorted(rows) == [("ann", 2, 1, Decimal("100.00")), ("bob", 1, 1, Decimal("300.00"))]
    assert bank().rows("SELECT COUNT(*), SUM(amount), MAX(id) FROM orders WHERE id = 99") == [(0, None, None)]
    assert bank().rows("SELECT owner FROM accounts WHERE id = 99 GROUP BY owner") == []
    assert bank().rows("SELECT COUNT(DISTINCT amount), AVG(amount) FROM orders") == [(3, Decimal("4.5"))]
    assert bank().rows("SELECT owner FROM accounts GROUP BY owner HAVING COUNT(*) > 1") == [("ann",)]


def test_order_keeps_keys_and_leaves_the_limit_to_the_reader() -> None:
    result = (
        bank()
        .run("SELECT id, amount FROM orders ORDER BY amount DESC, account NULLS FIRST LIMIT 2 OFFSET 1")
        .results[0]
    )
    assert [row[0] for row in result.rows] == [11, 10, 12, 13]
    assert result.keys == [(7, 1), (5, 1), (5, 2), (1, None)]
    assert (result.offset, result.limit) == (1, 2)
    assert bank().run("SELECT id FROM orders").results[0].keys is None


@pytest.mark.parametrize(("clause", "sqlstate"), [("LIMIT $1", "2201W"), ("OFFSET $1", "2201X")])
def test_negative_limits_fail(clause: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as error:
        bank().run(f"SELECT id FROM orders {clause}", [-1], (Kind.INT,))
    assert error.value.sqlstate == sqlstate


def test_update_counts_matched_rows_in_postgres_and_changed_ones_in_mysql() -> None:
    sql = "UPDATE accounts SET balance = 300 WHERE id < 3"
    for dialect, settings, affected in (("postgres", {}, 2), ("mysql", {}, 1), ("mysql", {"found_rows": True}, 2)):
        outcome = bank(dialect, **settings).run(sql)
        assert (outcome.affected, outcome.matched) == (affected, 2)


def test_update_in_mysql_reads_columns_already_assigned() -> None:
    for dialect, expected in (("postgres", (10, 11, 2)), ("mysql", (10, 11, 12))):
        database = bank(dialect)
        database.run("UPDATE orders SET account = account + 10, amount = account + 1 WHERE id = 10")
        assert database.view.rows("orders")[0] == expected


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("UPDATE accounts SET balance = balance - 200", "23514"),
        ("UPDATE accounts SET owner = NULL WHERE id = 2", "23502"),
        ("UPDATE accounts SET owner = 'abcdefghijk' WHERE id = 2", "22001"),
        ("UPDATE accounts SET balance = 99999999.999 WHERE id = 2", "22003"),
        ("INSERT INTO accounts VALUES (4, 'x', 1), (5, NULL, 1)", "23502"),
        ("INSERT INTO accounts (id, owner, balance) SELECT id, owner, balance - 200 FROM accounts", "23514"),
    ],
)
def test_a_failing_write_leaves_the_view_alone(sql: str, sqlstate: str) -> None:
    database = bank()
    before = accounts(database)
    with pytest.raises(SqlError) as error:
        database.run(sql)
    assert error.value.sqlstate == sqlstate
    assert accounts(database) == before


def test_rows_that_fail_differently_are_not_guessed() -> None:
    database = Database(Dialect("postgres"), ["CREATE TABLE t (a int NOT NULL, b int)"]).fill("t", [(1, 0), (1, None)])
    with pytest.raises(Unsupported, match="22012 and 23502"):
        database.run("UPDATE t SET a = 1 / b")


def test_returning_reads_new_rows_and_deleted_ones() -> None:
    database = bank()
    assert database.rows("UPDATE accounts SET balance = balance + 1 WHERE id = 1 RETURNING balance") == [
        (Decimal("101.00"),)
    ]
    assert database.rows("DELETE FROM accounts WHERE id = 2 RETURNING owner") == [("bob",)]
    outcome = database.run("INSERT INTO accounts VALUES (9, 'eve', 1.005) RETURNING *")
    assert outcome.results[0].rows == [(9, "eve", Decimal("1.01"))]
    assert outcome.affected == 1


def test_insert_from_a_query_needs_a_determined_limit() -> None:
    into = "INSERT INTO orders (id) SELECT id FROM accounts"
    assert bank().run(f"{into} ORDER BY id LIMIT 2").affected == 2
    assert bank().run(f"{into} LIMIT 5").affected == 3
    database = bank()
    assert database.run(f"{into} LIMIT 2").affected == 2
    assert database.view.choices == {"LIMIT with ties inside a statement"}


def test_insert_from_its_own_table_sees_only_the_old_rows() -> None:
    database = bank()
    assert database.run("INSERT INTO orders SELECT id + 100, account, amount FROM orders").affected == 4
    assert len(database.view.rows("orders")) == 8


def test_char_is_stored_stripped_and_returned_padded() -> None:
    database = Database(Dialect("postgres"), ["CREATE TABLE t (c char(4), v varchar(4))"])
    database.run("INSERT INTO t VALUES ('ab  ', 'ab')")
    assert database.view.rows("t") == [("ab", "ab")]
    assert database.rows("SELECT c FROM t WHERE c = 'ab '") == [("ab  ",)]
    assert database.rows("SELECT LENGTH(c), c || 'x' FROM t WHERE c LIKE 'ab  '") == [(2, "abx")]
    assert database.rows("SELECT MIN(c) FROM t") == [("ab  ",)]


def _where(database: Database, sql: str) -> object:
    statement = bind(sql, (Kind.INT,) if "$1" in sql else None, database.catalog, database.dialect).statement
    assert isinstance(statement, Select | Update)
    return statement.where


@pytest.mark.parametrize(
    ("where", "columns"),
    [
        ("id = 1", (0,)),
        ("$1 = id AND balance > 3", (0,)),
        ("owner = 'ann' AND id = 1 + 0 * 2", (1,)),
        ("id = NULL", (0,)),
        ("id IN (3)", (0,)),
        ("id = balance", None),
        ("id = 1 OR owner = 'ann'", None),
        ("id > 1", None),
        ("balance = 1", (2,)),
    ],
)
def test_access_path_takes_equalities_with_known_values(where: str, columns: tuple[int, ...] | None) -> None:
    database = bank()
    path = access_path(_where(database, f"SELECT id FROM accounts WHERE {where}"), database.dialect)  # type: ignore[arg-type]
    assert (None if path is None else path.columns) == columns


def test_access_path_avoids_text_of_unknown_collation() -> None:
    database = bank("mysql")
    condition = _where(database, "SELECT id FROM accounts WHERE owner = 'ann'")
    assert access_path(condition, database.dialect) is None  # type: ignore[arg-type]


def test_null_key_reads_nothing_and_view_begins_once() -> None:
    database = bank()
    assert database.rows("SELECT id FROM accounts WHERE id = $1", [None], (Kind.NULL,)) == []
    assert database.view.statements == 1


def test_free_errors_name_what_evaluation_order_leaves_open() -> None:
    database = bank()

    def free(sql: str) -> frozenset[str]:
        return free_errors(bind(sql, None, database.catalog, database.dialect).statement, database.catalog, "postgres")

    assert free("SELECT 1 / id FROM accounts WHERE 1 / id = 1") == frozenset()
    assert "22012" in free("SELECT id FROM accounts WHERE id > 0 AND 1 / id = 1")
    assert "22012" in free("SELECT a.id FROM accounts a JOIN orders o ON 1 / o.amount = a.id")


PROCEDURES = [
    """CREATE PROCEDURE transfer(src INT, dst INT, amount DECIMAL(10,2)) BEGIN
         DECLARE available DECIMAL(10,2) DEFAULT 0;
         SELECT balance INTO available FROM accounts WHERE id = src;
         IF available >= amount THEN
           UPDATE accounts SET balance = balance - amount WHERE id = src;
           UPDATE accounts SET balance = balance + amount WHERE id = dst;
         ELSE
           SELECT available;
         END IF;
         SELECT id, balance FROM accounts WHERE id = src;
       END""",
    """CREATE PROCEDURE two() BEGIN DECLARE x INT; SELECT id INTO x FROM orders WHERE account = 1; END""",
]


def procedures() -> Database:
    database = Database(Dialect("mysql"), SCHEMA, PROCEDURES)
    database.fill("accounts", [(1, "ann", Decimal("100.00")), (2, "bob", Decimal("300.00"))])
    return database.fill("orders", [(10, 1, 5), (11, 1, 7)])


def test_call_runs_branches_and_collects_result_sets() -> None:
    database = procedures()
    outcome = database.run("CALL transfer(1, 2, 10)")
    assert outcome.affected is None
    assert [r.rows for r in outcome.results] == [[(1, Decimal("90.00"))]]
    assert database.view.statements == 4
    outcome = database.run("CALL transfer(1, 2, 1000)")
    assert [r.rows for r in outcome.results] == [[(Decimal("90.00"),)], [(1, Decimal("90.00"))]]
    # No row: the variable keeps its default, and the transfer of nothing goes on.
    database.run("CALL transfer(7, 2, 0)")
    assert accounts(database) == [("1", "ann", "90.00"), ("2", "bob", "310.00")]


def test_select_into_refuses_two_rows() -> None:
    with pytest.raises(SqlError) as error:
        procedures().run("CALL two()")
    assert error.value.sqlstate == "42000"


def test_memory_view_maintains_its_indexes() -> None:
    view = MemoryView({"t": [(1, "a"), (2, "b")]})
    ((first, _),) = view.lookup("t", (0,), (1,))
    assert list(view.lookup("t", (1,), ("b",))) == [(1, (2, "b"))]
    view.update("t", first, (2, "a"))
    third = view.insert("t", (1, "c"))
    view.delete("t", 1)
    assert list(view.lookup("t", (0,), (1,))) == [(third, (1, "c"))]
    assert list(view.lookup("t", (0,), (2,))) == [(first, (2, "a"))]
    assert list(view.lookup("t", (1,), ("b",))) == []
    assert list(view.scan("t")) == [(first, (2, "a")), (third, (1, "c"))]


def test_long_chains_compile() -> None:
    conditions = " OR ".join(f"id = {n}" for n in range(300))
    total = " + ".join(["id"] * 150)
    assert bank().rows(f"SELECT {total} FROM accounts WHERE {conditions} ORDER BY id")[0] == (150,)
