"""Routines in the log's terms: result sets of a CALL, OUT parameters, choices that forbid a violation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from sql_semantics.view import Row, RowId
from troubadour.execution.prepared import result_types

SCHEMA = ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"]


def mysql(body: str, parameters: str = "a INT") -> SqlLibrary:
    return SqlLibrary(Dialect("mysql"), SCHEMA, [f"CREATE PROCEDURE p({parameters}) BEGIN {body} END"])


def postgres(*routines: str) -> SqlLibrary:
    return SqlLibrary(Dialect("postgres"), SCHEMA, routines)


def plpgsql(body: str, head: str = "f(a int) RETURNS int", kind: str = "FUNCTION") -> SqlLibrary:
    return postgres(f"CREATE {kind} {head} LANGUAGE plpgsql AS $$ {body} $$")


def types_of(library: SqlLibrary, sql: str) -> list[list[Kind]] | None:
    found = result_types(library.program(sql).statement, library.catalog)
    return None if found is None else [[kind.kind for kind in kinds] for kinds in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("SET a = 1;", []),
        ("SELECT 1; SELECT v FROM t;", [[Kind.INT], [Kind.INT]]),
        ("IF a = 1 THEN SET a = 2; END IF; SELECT id FROM t;", [[Kind.INT]]),
        ("WHILE a > 1 DO SET a = a - 1; END WHILE;", []),
        ("WHILE a > 1 DO SET a = a - 1; END WHILE; SELECT 1;", None),
        ("IF a = 1 THEN SELECT 1; END IF;", None),
        ("IF a = 1 THEN SIGNAL SQLSTATE '45000'; END IF; SELECT 1;", None),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 2; SELECT 1; END;", None),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; CLOSE c; END;", []),
    ],
)
def test_the_result_sets_of_a_call(body: str, expected: list[list[Kind]] | None) -> None:
    assert types_of(mysql(body), "CALL p(1)") == expected


def test_a_row_of_out_parameters() -> None:
    library = plpgsql("BEGIN b := a * 2; END", "p(a int, INOUT b numeric)", "PROCEDURE")
    assert types_of(library, "CALL p(1, 2)") == [[Kind.NUMERIC]]
    (result,) = library.program("CALL p(4, 2)").run(MemoryView({}), ()).results
    assert (result.rows, result.optional) == ([(8,)], False)
    library = mysql("SET b = a, c = c + 1; SELECT 5;", "a INT, OUT b INT, INOUT c INT")
    program = library.program("CALL p(1, ?, ?)", (Kind.NULL, Kind.INT))
    first, last = program.run(MemoryView({}), (None, 7)).results
    assert (first.rows, last.rows, last.optional) == ([(5,)], [(1, 8)], True)


@pytest.mark.parametrize(("sql", "state"), [("CALL p(1, 2, @c)", "42000"), ("CALL p(1)", "42000")])
def test_what_an_out_parameter_is_given(sql: str, state: str) -> None:
    library = mysql("SET b = a;", "a INT, OUT b INT, OUT c INT")
    with pytest.raises(SqlError) as caught:
        library.program(sql)
    assert caught.value.sqlstate == state
    assert library.program("CALL p(1, @b, @c)").run(MemoryView({}), ()).results[0].rows == [(1, None)]
    with pytest.raises(Unsupported, match="user variable @c"):
        mysql("SET b = a;", "a INT, INOUT b INT").program("CALL p(1, @c)")


def test_the_order_of_a_loop_is_a_choice() -> None:
    library = plpgsql("DECLARE r RECORD; BEGIN FOR r IN SELECT v FROM t LOOP a := r.v; END LOOP; RETURN a; END")
    view = MemoryView({"t": [(2, 20), (1, 10)]})
    assert library.program("SELECT f(0)").run(view, ()).results[0].rows == [(20,)]
    assert view.choices == {"the order of the rows that a cursor or loop goes through"}
    view = MemoryView({"t": [(2, 10), (1, 10)]})
    library.program("SELECT f(0)").run(view, ())
    assert not view.choices


def test_the_row_that_into_takes_is_a_choice() -> None:
    library = plpgsql("BEGIN SELECT v INTO a FROM t WHERE id > a; RETURN a; END")
    view = MemoryView({"t": [(3, 30), (2, 20)]})
    assert library.program("SELECT f(2)").run(view, ()).results[0].rows == [(30,)] and not view.choices
    assert library.program("SELECT f(0)").run(view, ()).results[0].rows == [(20,)] and view.choices


def test_a_handler_for_everything_is_a_choice() -> None:
    library = plpgsql("BEGIN BEGIN DELETE FROM t; EXCEPTION WHEN OTHERS THEN a := 1; END; RETURN a; END")
    view = MemoryView({"t": [(1, 10)]})
    library.program("SELECT f(0)").run(view, ())
    assert view.choices
    library = plpgsql("BEGIN BEGIN DELETE FROM t; EXCEPTION WHEN unique_violation THEN a := 1; END; RETURN a; END")
    view = MemoryView({"t": [(1, 10)]})
    library.program("SELECT f(0)").run(view, ())
    assert not view.choices


REFUSED = [
    "DECLARE x REFCURSOR; BEGIN RETURN 1; END",
    "DECLARE r RECORD; BEGIN IF a = 1 THEN SELECT id INTO r FROM t; END IF; RETURN r.id; END",
    "DECLARE r RECORD; BEGIN SELECT id INTO r FROM t; SELECT v INTO r FROM t; RETURN r.id; END",
    "BEGIN IF a THEN RETURN 1; END IF; END",
    "BEGIN RETURN sqlerrm; END",
    "BEGIN GET STACKED DIAGNOSTICS a = RETURNED_SQLSTATE; END",
    "BEGIN MOVE c; END",
    "BEGIN a[1] := 2; END",
    "BEGIN RAISE EXCEPTION 'x' USING ERRCODE = a; END",
]


@pytest.mark.parametrize("body", REFUSED)
def test_refused_by_name(body: str) -> None:
    library = plpgsql(body)
    with pytest.raises(Unsupported, match="in the definition of f"):
        library.program("SELECT f(0)")


def test_an_error_that_may_happen_is_a_choice() -> None:
    body = "BEGIN BEGIN DELETE FROM t WHERE v > 1 OR 1 / v > 1; EXCEPTION WHEN division_by_zero THEN a := -a; END; "
    library = plpgsql(body + "RETURN a; END")
    for value, answer in ((0, -7), (5, 7)):
        view = MemoryView({"t": [(1, value)]})
        assert library.program("SELECT f(7)").run(view, ()).results[0].rows == [(answer,)]
        assert view.choices


def test_a_caller_may_have_the_handler_for_a_key() -> None:
    library = postgres(
        "CREATE FUNCTION g(a int) RETURNS int LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO t VALUES (a, 1); RETURN 1; END $$",
        "CREATE PROCEDURE h(a int) LANGUAGE sql AS 'INSERT INTO t VALUES (a, 1)'",
        "CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN BEGIN IF a = 1 THEN PERFORM g(a); ELSE"
        " CALL h(a - 1); END IF; EXCEPTION WHEN unique_violation THEN RETURN -1; END; RETURN 0; END $$",
    )
    view = MemoryView({"t": [(1, 1)]})
    for call, answer in (("f(1)", -1), ("f(2)", -1), ("f(3)", 0)):
        assert library.program(f"SELECT {call}").run(view, ()).results[0].rows == [(answer,)]
    assert view.rows("t") == [(1, 1), (2, 1)]


def test_a_function_that_writes_stands_alone() -> None:
    library = plpgsql("BEGIN INSERT INTO t VALUES (a, a); RETURN a; END")
    view = MemoryView({"t": []})
    library.program("SELECT f(1), f(2)").run(view, ())
    library.program("SELECT * FROM f(3)").run(view, ())
    assert view.rows("t") == [(1, 1), (2, 2), (3, 3)]
    for sql in ["SELECT f(id) FROM t", "DELETE FROM t WHERE id = f(1)", "SELECT * FROM f(1), f(2) AS g"]:
        with pytest.raises(Unsupported, match="which writes, in a query"):
            library.program(sql)


def test_recursion_and_rounds_are_bounded() -> None:
    library = plpgsql("BEGIN RETURN f(a + 1); END")
    with pytest.raises(Unsupported, match="deep"):
        library.program("SELECT f(1)").run(MemoryView({}), ())
    library = plpgsql("BEGIN IF a = 0 THEN RETURN 0; END IF; RETURN 1 + f(a - 1); END")
    assert library.program("SELECT f(30)").run(MemoryView({}), ()).results[0].rows == [(30,)]


def test_a_failed_call_keeps_what_came_before_in_mysql() -> None:
    library = mysql("INSERT INTO t VALUES (a, 1); SIGNAL SQLSTATE '45000';")
    view = MemoryView({"t": []})
    with pytest.raises(SqlError):
        library.program("CALL p(1)").run(view, ())
    assert view.rows("t") == [(1, 1)]


def test_a_failed_function_undoes_its_statement_in_mysql() -> None:
    text = (
        "CREATE FUNCTION f(a INT) RETURNS INT BEGIN INSERT INTO t VALUES (a, 1); SIGNAL SQLSTATE '45000'; RETURN 1; END"
    )
    library = SqlLibrary(Dialect("mysql"), SCHEMA, [text])
    view = MemoryView({"t": []})
    with pytest.raises(SqlError):
        library.program("SELECT f(1)").run(view, ())
    assert view.rows("t") == []


def test_an_error_that_planning_may_spare_may_happen() -> None:
    for expression, may in (("(SELECT max(v) FROM t) / a + n", True), ("1 / a + n", False), ("(SELECT 1) / a", False)):
        library = plpgsql(f"DECLARE n int; BEGIN RETURN {expression}; END")
        with pytest.raises(SqlError) as caught:
            library.program("SELECT f(0)").run(MemoryView({"t": [(1, 1)]}), ())
        assert caught.value.may is may


def test_a_function_that_writes_stands_alone_in_bodies_too() -> None:
    head = "RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    write = f"CREATE FUNCTION w(a int) {head} INSERT INTO t VALUES (a, a); RETURN a; END $$"
    for body in ("PERFORM w(id) FROM t;", "a := (SELECT w(1));", "a := (SELECT max(w(id)) FROM t);"):
        library = postgres(write, f"CREATE FUNCTION f(a int) {head} {body} RETURN a; END $$")
        with pytest.raises(Unsupported, match="which writes, in a query"):
            library.program("SELECT f(1)").run(MemoryView({"t": []}), ())
    library = postgres(write, f"CREATE FUNCTION f(a int) {head} a := w(a); PERFORM w(a + 1); RETURN a; END $$")
    view = MemoryView({"t": []})
    library.program("SELECT f(1)").run(view, ())
    assert view.rows("t") == [(1, 1), (2, 2)]


def test_an_error_that_planning_may_spare_a_statement_may_happen() -> None:
    for test, may in (("id = (SELECT max(v) FROM t) / a + n", True), ("id = (SELECT max(v) FROM t) / a", False)):
        library = plpgsql(f"DECLARE n int; BEGIN DELETE FROM t WHERE {test}; RETURN 1; END")
        with pytest.raises(SqlError) as caught:
            library.program("SELECT f(0)").run(MemoryView({"t": [(1, 1)]}), ())
        assert caught.value.may is may


class Scanned(MemoryView):
    """A view that counts how often a table is looked through."""

    __slots__ = ("scans",)

    def __init__(self, rows: list[tuple[int, int]]) -> None:
        super().__init__({"t": rows})
        self.scans = 0

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        self.scans += 1
        return super().scan(table)


@pytest.mark.parametrize(
    ("body", "kind", "scans"),
    [
        ("BEGIN RETURN a + 1; END", "STABLE", 0),
        ("BEGIN RETURN a + 1; END", "VOLATILE", 1),
    ],
)
def test_a_stable_functions_answer_is_a_key(body: str, kind: str, scans: int) -> None:
    library = postgres(f"CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql {kind} AS $$ {body} $$")
    view = Scanned([(1, 10), (2, 20), (3, 30)])
    assert library.program("UPDATE t SET v = 0 WHERE id = f(1)").run(view, ()).affected == 1
    assert sorted(view.tables["t"].values()) == [(1, 10), (2, 0), (3, 30)]
    assert library.program("SELECT v FROM t WHERE id = f(2)").run(view, ()).results[0].rows == [(30,)]
    assert library.program("DELETE FROM t WHERE f(2) = id").run(view, ()).affected == 1
    assert view.scans == 3 * scans


def test_a_stable_function_that_raises_does_so_for_rows_only() -> None:
    library = postgres("CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 1 / a; END $$")
    update = library.program("UPDATE t SET v = 0 WHERE id = f(0)")
    assert update.run(Scanned([]), ()).affected == 0
    with pytest.raises(SqlError):
        update.run(Scanned([(1, 10)]), ())
    assert library.program("DELETE FROM t WHERE v > 10 AND id = f(0)").run(Scanned([(1, 10)]), ()).affected == 0
