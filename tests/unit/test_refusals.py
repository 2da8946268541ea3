"""What is not modelled of a definition is named by the statements that use it, and by no other."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.refusals import created_name, read_trigger, routine_name
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect

KV = "CREATE TABLE kv (k INT PRIMARY KEY, v INT)"
ODD = "CREATE FUNCTION odd(a INT) RETURNS INT LANGUAGE plpython3u AS $$ return a % 2 $$"


def refusal(library: SqlLibrary, sql: str) -> str | None:
    """What is not modelled of a statement."""
    try:
        library.program(sql)
    except Unsupported as error:
        return error.construct
    return None


def postgres(schema: list[str], procedures: list[str] | None = None) -> SqlLibrary:
    return SqlLibrary(Dialect("postgres"), [KV, *schema], procedures or [])


@pytest.mark.parametrize(
    ("definition", "used", "unused"),
    [
        ("CREATE TABLE t (a INET)", "SELECT 1 FROM t WHERE a = '1'", "SELECT a FROM t"),
        ("CREATE TABLE t (a INET, b INT REFERENCES kv (k))", "SELECT max(a) FROM t", "DELETE FROM kv"),
        ("CREATE TABLE t (a INET)", "SELECT DISTINCT a FROM t", "SELECT 1 FROM t WHERE a IS NULL"),
        ("CREATE TABLE t (a INET)", "SELECT b FROM (SELECT a AS b FROM t) s ORDER BY b", "SELECT * FROM t"),
        (
            "CREATE TABLE t (a INET)",
            "SELECT b FROM (SELECT a AS b FROM t) s ORDER BY 1",
            "INSERT INTO t VALUES ('{}')",
        ),
        ("CREATE TABLE t (a INET)", "SELECT a FROM t UNION SELECT a FROM t", "UPDATE t SET a = NULL"),
        ("CREATE TABLE t (a INET)", "SELECT a FROM t GROUP BY a", "SELECT count(*) FROM t"),
        ("CREATE TABLE t (a INET)", "SELECT 1 FROM t x JOIN t y USING (a)", "SELECT 1 FROM t x JOIN t y ON true"),
        (
            "CREATE TABLE t (a INET)",
            "SELECT 1 WHERE '1' IN (SELECT a FROM t)",
            "SELECT 1 WHERE EXISTS (SELECT a FROM t)",
        ),
        ("CREATE TABLE t (a INET)", "SELECT length((SELECT a FROM t))", "DELETE FROM t"),
        ("CREATE TABLE t (a INET)", "UPDATE kv SET v = (SELECT a FROM t)", "UPDATE t SET a = t.a"),
        ("CREATE TABLE t (a INET)", "UPDATE t SET a = a || '{}'", "INSERT INTO t SELECT a FROM t"),
        ("CREATE TABLE t (a INET, b JSON)", "UPDATE t SET a = b", "UPDATE t SET b = '{}'"),
        ("CREATE TABLE t (a INT DEFAULT odd(1), b INT)", "INSERT INTO t (b) VALUES (1)", "SELECT b FROM t"),
        ("CREATE TABLE t (a INT DEFAULT odd(1), b INT)", "UPDATE t SET a = DEFAULT", "INSERT INTO t VALUES (1, 2)"),
        (
            "CREATE TABLE t (b INT, a INT GENERATED ALWAYS AS (odd(b)) STORED)",
            "SELECT 1 FROM t WHERE a = 1",
            "SELECT b FROM t",
        ),
        ("CREATE TABLE t (a INT) INHERITS (kv)", "SELECT v FROM kv", "SELECT 1"),
        ("CREATE RULE r AS ON INSERT TO kv DO INSTEAD NOTHING", "SELECT v FROM kv", "SELECT 1"),
        ("CREATE MATERIALIZED VIEW m AS SELECT k FROM kv", "SELECT k FROM m", "SELECT k FROM kv"),
        ("CREATE TABLE t (a INT); ".strip("; "), "SELECT odd(a) FROM t", "SELECT a FROM t"),
        ("CREATE INDEX i ON kv USING gin (v)", "", "SELECT v FROM kv"),
        ("CREATE TRIGGER x AFTER UPDATE OF v ON kv EXECUTE FUNCTION f()", "UPDATE kv SET v = 1", "DELETE FROM kv"),
        ("CREATE TRIGGER x AFTER UPDATE ON kv EXECUTE FUNCTION f()", "SELECT up()", "SELECT down()"),
    ],
)
def test_only_what_uses_it_is_refused(definition: str, used: str, unused: str) -> None:
    body = "RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN {} END $$"
    routines = [ODD]
    if "up()" in used:
        routines += [
            f"CREATE FUNCTION up() {body.format('UPDATE kv SET v = 2;')}",
            f"CREATE FUNCTION down() {body.format('DELETE FROM kv;')}",
        ]
    library = postgres([definition], routines)
    assert not used or refusal(library, used) is not None
    assert refusal(library, unused) is None


def test_overloads_are_refused_and_nothing_else_is() -> None:
    one = "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'"
    two = "CREATE OR REPLACE FUNCTION f(a TEXT) RETURNS INT LANGUAGE sql AS 'SELECT 2'"
    three = "CREATE FUNCTION g() RETURNS INT LANGUAGE sql AS 'SELECT 3'"
    library = postgres([], [one, two, three])
    assert refusal(library, "SELECT f(1)") == "overloaded routine f, in the definition of f"
    assert refusal(library, "SELECT g()") is None


def test_mysql_recursion_is_refused_with_its_callers() -> None:
    library = SqlLibrary(
        Dialect("mysql"),
        [KV],
        [
            "CREATE PROCEDURE p() BEGIN CALL q(); END",
            "CREATE PROCEDURE q() BEGIN CALL q(); END",
            "CREATE PROCEDURE r() BEGIN SELECT 1; END",
        ],
    )
    assert (refusal(library, "CALL p()") or "").startswith("recursive procedure q")
    assert (refusal(library, "CALL q()") or "").startswith("recursive procedure q")
    assert refusal(library, "CALL r()") is None


@pytest.mark.parametrize(
    ("schema", "procedures", "statement"),
    [
        (["CREATE TABLE t (a INT,)"], [], "SELECT a FROM t"),
        ([], ["CREATE FUNCTION f() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN RETURN 1 $$"], "SELECT f()"),
        ([], ["CREATE FUNCTION f() RETURNS INT LANGUAGE sql AS 'SELECT 1 FROM nowhere'"], "SELECT f()"),
        (["CREATE VIEW w AS SELECT a FROM nowhere"], [], "SELECT a FROM w"),
    ],
)
def test_what_cannot_be_read_is_refused_where_it_is_used(
    schema: list[str], procedures: list[str], statement: str
) -> None:
    library = postgres(schema, procedures)
    assert refusal(library, "SELECT * FROM kv") is None
    assert refusal(library, statement) is not None


def test_a_trigger_on_no_table_is_bad_input() -> None:
    with pytest.raises(SchemaError):
        postgres(["CREATE TRIGGER x AFTER UPDATE ON nowhere EXECUTE FUNCTION f()"])


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
        "CREATE OPERATOR + (LEFTARG = int, RIGHTARG = int, FUNCTION = f)",
    ],
)
def test_what_reaches_anywhere_is_refused_at_once(definition: str) -> None:
    with pytest.raises(Unsupported):
        postgres([definition])


def test_a_literal_of_a_query_into_a_column_of_which_nothing_is_known() -> None:
    library = postgres([]).forgetting({("kv", "v"): "something"})
    assert refusal(library, "INSERT INTO kv SELECT 1, 'a'") is not None
    assert refusal(library, "INSERT INTO kv VALUES (1, 'a')") is None


def test_names_behind_schemas() -> None:
    dialect = Dialect("postgres")
    trigger = read_trigger("CREATE TRIGGER x AFTER INSERT ON app.t FOR EACH ROW EXECUTE FUNCTION app.f()", dialect)
    assert trigger.table == "app.t"
    assert read_trigger("CREATE TRIGGER x AFTER DELETE ON public.t EXECUTE FUNCTION f()", dialect).table == "t"
    assert created_name('CREATE TABLE app."T x" (a int)', dialect) == "app.T x"
    assert routine_name("CREATE FUNCTION app.f() RETURNS trigger", dialect) == "f"
