"""SQL text to bound IR, case by case: names, types, conversions, parameters. Expectations in a short notation.

``#2:int`` is a column, ``$0:int`` a parameter, ``@1:int`` a variable, ``5:int`` a constant; ``(op ...)`` the rest, with
``cast``/``store`` for conversions. Does not run any SQL.
"""

from __future__ import annotations

import functools

import pytest

from sql_semantics.errors import MisfitParameters, SqlError, Unsupported
from sql_semantics.frontend import Bound, ParamShape, bind, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Function,
    InList,
    IsNull,
    IsTruth,
    Like,
    Param,
    Unary,
    Variable,
)
from sql_semantics.ir.queries import Select, SetOperation
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, Update
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind

SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, n NUMERIC(12,2) NOT NULL DEFAULT 0, s VARCHAR(5), b BIGINT, f BOOLEAN)",
    "CREATE TABLE u (id INT, k SMALLINT, s TEXT, PRIMARY KEY (id, k))",
)


@functools.cache
def catalog(product: str) -> Catalog:
    return Catalog(read_schema(SCHEMA, Dialect(product)), {})


def bound(sql: str, product: str = "postgres", shape: ParamShape = None) -> Bound:
    return bind(sql, shape, catalog(product), Dialect(product))


def show(expr: Expr) -> str:
    """An expression in the notation of the module docstring."""
    match expr:
        case Const(value, kind):
            return f"{value!s}:{kind}" if not isinstance(value, str) else f"{value!r}:{kind}"
        case Column(index, kind):
            return f"#{index}:{kind}"
        case Param(key, kind):
            return f"${key}:{kind}"
        case Variable(slot, kind):
            return f"@{slot}:{kind}"
        case Unary(op, operand, kind):
            return f"({op} {show(operand)}):{kind}"
        case Binary(op, left, right, kind):
            return f"({op} {show(left)} {show(right)}):{kind}"
        case IsNull(operand, negated):
            return f"({'not-' if negated else ''}null {show(operand)})"
        case IsTruth(operand, truth, negated):
            return f"({'not-' if negated else ''}{str(truth).lower()} {show(operand)})"
        case InList(operand, items, negated):
            return f"({'not-' if negated else ''}in {show(operand)} {' '.join(map(show, items))})"
        case Like(operand, pattern, escape, negated, ignore):
            name = ("not-" if negated else "") + ("ilike" if ignore else "like")
            return f"({name} {show(operand)} {show(pattern)} {escape!r})"
        case Case(whens, otherwise, kind):
            arms = " ".join(f"{show(condition)}=>{show(result)}" for condition, result in whens)
            return f"(case {arms} {show(otherwise)}):{kind}"
        case Function(name, arguments, kind):
            return f"({name} {' '.join(map(show, arguments))}):{kind}"
        case Cast(operand, kind, assignment):
            return f"({'store' if assignment else 'cast'} {show(operand)} {kind})"


def select(sql: str, product: str = "postgres", shape: ParamShape = None) -> Select:
    statement = bound(sql, product, shape).statement
    assert isinstance(statement, Select)
    return statement


EXPRESSIONS = [
    ("postgres", "id + 1", "(+ #0:int 1:int):int"),
    ("postgres", "id + b", "(+ #0:int #3:bigint):bigint"),
    ("postgres", "id / 2", "(/ #0:int 2:int):int"),
    ("postgres", "id / 2.0", "(/ (cast #0:int numeric) 2.0:numeric):numeric"),
    ("postgres", "n * 2", "(* #1:numeric(12,2) 2:numeric):numeric"),
    ("postgres", "-n", "(- #1:numeric(12,2)):numeric(12,2)"),
    ("postgres", "-3", "-3:int"),
    ("postgres", "-2147483648", "-2147483648:int"),
    ("postgres", "-(9223372036854775808)", "-9223372036854775808:bigint"),
    ("postgres", "-2147483649", "-2147483649:bigint"),
    ("postgres", "-1.0", "-1.0:numeric"),
    ("postgres", "99999999999", "99999999999:bigint"),
    ("postgres", "1e3", "1000:numeric"),
    ("postgres", "NULL", "None:text"),
    ("postgres", "'x'", "'x':text"),
    ("postgres", "TRUE", "True:boolean"),
    ("postgres", "n > id", "(> #1:numeric(12,2) (cast #0:int numeric)):boolean"),
    ("postgres", "id = b", "(= #0:int #3:bigint):boolean"),
    ("postgres", "id = '7'", "(= #0:int 7:int):boolean"),
    ("postgres", "f = 'yes'", "(= #4:boolean True:boolean):boolean"),
    ("postgres", "id = NULL", "(= #0:int None:int):boolean"),
    ("postgres", "f IS NOT TRUE", "(not-true #4:boolean)"),
    ("postgres", "s IS NOT NULL", "(not-null #2:varchar(5))"),
    ("postgres", "NOT f", "(not #4:boolean):boolean"),
    ("postgres", "f AND id <> 1 OR f", "(or (and #4:boolean (<> #0:int 1:int):boolean):boolean #4:boolean):boolean"),
    ("postgres", "id NOT IN (1, NULL)", "(not-in #0:int 1:int None:int)"),
    ("postgres", "id IN (1, 2.5)", "(in (cast #0:int numeric) 1:numeric 2.5:numeric)"),
    ("postgres", "id BETWEEN 1 AND 2", "(and (>= #0:int 1:int):boolean (<= #0:int 2:int):boolean):boolean"),
    ("postgres", "s NOT LIKE 'a%' ESCAPE '!'", "(not-like #2:varchar(5) 'a%':text '!')"),
    ("postgres", "s ILIKE 'a'", "(ilike #2:varchar(5) 'a':text None)"),
    ("postgres", "s IS DISTINCT FROM 'x'", "(is_distinct #2:varchar(5) 'x':text):boolean"),
    ("postgres", "CASE id WHEN 1 THEN 'a' END", "(case (= #0:int 1:int):boolean=>'a':text None:text):text"),
    ("postgres", "CASE WHEN f THEN id ELSE n END",
     "(case #4:boolean=>(cast #0:int numeric) #1:numeric(12,2)):numeric"),
    ("postgres", "COALESCE(b, 0)", "(coalesce #3:bigint 0:int):bigint"),
    ("postgres", "NULLIF(id, 0)", "(case (= #0:int 0:int):boolean=>None:int #0:int):int"),
    ("postgres", "s || 'x'", "(|| #2:varchar(5) 'x':text):text"),
    ("postgres", "s || id", "(|| #2:varchar(5) (cast #0:int text)):text"),
    ("postgres", "GREATEST(id, n)", "(greatest (cast #0:int numeric) #1:numeric(12,2)):numeric"),
    ("postgres", "LENGTH(s)", "(length #2:varchar(5)):int"),
    ("postgres", "ROUND(n, 1)", "(round #1:numeric(12,2) 1:int):numeric"),
    ("postgres", "MOD(id, 2)", "(mod #0:int 2:int):int"),
    ("postgres", "n::int", "(cast #1:numeric(12,2) int)"),
    ("postgres", "'1.5'::numeric(4,1)", "(cast 1.5:numeric numeric(4,1))"),
    ("mysql", "id + 1", "(+ #0:int 1:int):bigint"),
    ("mysql", "id / 2", "(/ (cast #0:int numeric(10,0)) 2:numeric(10,0)):numeric(14,4)"),
    ("mysql", "n / 3", "(/ #1:numeric(12,2) 3:numeric(10,0)):numeric(16,6)"),
    ("mysql", "n * 1.50", "(* #1:numeric(12,2) 1.50:numeric(3,2)):numeric(15,4)"),
    ("mysql", "n + 1.555", "(+ #1:numeric(12,2) 1.555:numeric(4,3)):numeric(14,3)"),
    ("mysql", "id DIV 2", "(div #0:int 2:int):bigint"),
    ("mysql", "TRUE", "1:int"),
    ("mysql", "id = 1", "(cast (= #0:int 1:int):boolean int)"),
    ("mysql", "(id = 1) + 1", "(+ (cast (= #0:int 1:int):boolean int) 1:int):bigint"),
    ("mysql", "f", "#4:smallint"),
    ("mysql", "IF(f, 1, 2)", "(case (<> #4:smallint 0:int):boolean=>1:int 2:int):int"),
    ("mysql", "s <=> NULL", "(cast (is_not_distinct #2:varchar(5) None:text):boolean int)"),
    ("mysql", "LENGTH(s)", "(length #2:varchar(5)):int"),
    ("mysql", "n = '10.5'", "(cast (= #1:numeric(12,2) 10.5:numeric):boolean int)"),
    ("mysql", "'a\\nb'", "'a\\nb':text"),
    ("mysql", "1e3", "1000.0:double"),
]  # fmt: skip


@pytest.mark.parametrize(("product", "text", "expected"), EXPRESSIONS)
def test_expression(product: str, text: str, expected: str) -> None:
    assert show(select(f"SELECT {text} FROM t", product).outputs[0].expression) == expected


ERRORS = [
    ("postgres", "SELECT s + 1 FROM t", "42883"),
    ("postgres", "SELECT 1 FROM t WHERE s = 1", "42883"),
    ("postgres", "SELECT 1 FROM t WHERE f = 1", "42883"),
    ("postgres", "SELECT 1 FROM t WHERE id", "42804"),
    ("postgres", "SELECT CASE WHEN f THEN 1 ELSE s END FROM t", "42804"),
    ("postgres", "SELECT 1 FROM t WHERE id = 'x'", "22P02"),
    ("postgres", "SELECT 1 FROM t WHERE id = '99999999999'", "22003"),
    ("postgres", "SELECT '1' + '2'", "42725"),
    ("postgres", "SELECT x.id FROM t", "42P01"),
    ("postgres", "SELECT t.id FROM t AS x", "42P01"),
    ("postgres", "SELECT 1 FROM t, u JOIN u v ON t.id = v.id", "42P01"),
    ("postgres", "SELECT 1 FROM t, t", "42712"),
    ("postgres", 'SELECT "ID" FROM t', "42703"),
    ("postgres", "SELECT id + 1 AS x FROM t ORDER BY x + 1", "42703"),
    ("postgres", "SELECT id AS x, s AS x FROM t ORDER BY x", "42702"),
    ("postgres", "SELECT id FROM t ORDER BY 2", "42P10"),
    ("postgres", "SELECT id FROM t LIMIT id", "42P10"),
    ("postgres", "INSERT INTO u (id, k) SELECT DISTINCT '1', 2 FROM t", "42804"),
    ("postgres", "SELECT DISTINCT id FROM t ORDER BY s", "42P10"),
    ("postgres", "SELECT id, count(*) FROM t", "42803"),
    ("postgres", "SELECT k FROM u GROUP BY id", "42803"),
    ("postgres", "SELECT sum(count(*)) FROM t", "42803"),
    ("postgres", "SELECT count(*) FROM t FOR UPDATE", "0A000"),
    ("postgres", "SELECT sum(s) FROM t", "42883"),
    ("postgres", "SELECT round(n, b) FROM t", "42883"),
    ("postgres", "INSERT INTO t (id) VALUES (TRUE)", "42804"),
    ("postgres", "INSERT INTO t (id, id) VALUES (1, 2)", "42701"),
    ("postgres", "INSERT INTO t (id) VALUES (1), (1, 2)", "42601"),
    ("postgres", "INSERT INTO t (id) VALUES (id)", "42703"),
    ("postgres", "UPDATE t SET id = 1, id = 2", "42601"),
    ("postgres", "UPDATE t SET nosuch = 1", "42703"),
    ("mysql", "SELECT id FROM t, u", "23000"),
    ("mysql", "INSERT INTO u (id) VALUES (1)", "HY000"),
]


@pytest.mark.parametrize(("product", "sql", "state"), ERRORS)
def test_certain_error(product: str, sql: str, state: str) -> None:
    with pytest.raises(SqlError) as caught:
        bound(sql, product, (Kind.INT,) if "$" in sql else None)
    assert caught.value.sqlstate == state


PARAMETERS = [
    ("postgres", "SELECT 1 FROM t WHERE id = $1 AND n < $2", (Kind.INT, Kind.TEXT), {0: "int", 1: "numeric"}),
    ("postgres", "SELECT 1 FROM t WHERE id = $1", (Kind.BIGINT,), {0: "bigint"}),
    ("postgres", "SELECT 1 FROM t WHERE b = %s", (Kind.INT,), {0: "bigint"}),
    ("postgres", "SELECT 1 FROM t WHERE n = %s", (Kind.DOUBLE,), {0: "double"}),
    ("postgres", "SELECT 1 FROM t WHERE $1 IS NULL OR id = $1", (Kind.NULL,), {0: "int"}),
    ("postgres", "SELECT 1 FROM t WHERE $1 IS NULL", (Kind.INT,), {0: "int"}),
    ("postgres", "SELECT id FROM t LIMIT $1", (Kind.INT,), {0: "bigint"}),
    ("postgres", "SELECT $1::numeric(10,2), $2", (Kind.TEXT, Kind.BOOLEAN), {0: "numeric", 1: "boolean"}),
    ("postgres", "INSERT INTO t (id, s, f) VALUES (?, ?, ?)", (Kind.INT, Kind.TEXT, Kind.NULL),
     {0: "int", 1: "text", 2: "boolean"}),
    ("postgres", "SELECT id FROM t WHERE id IN (:a, :b) AND s = 'x:c' -- :d", (("a", Kind.INT), ("b", Kind.INT)),
     {"a": "int", "b": "int"}),
    ("postgres", "SELECT id::text FROM t WHERE s LIKE 'a%%' AND id %% 2 = %(x)s", (("x", Kind.INT),), {"x": "int"}),
    ("postgres", "SELECT 1 FROM t WHERE id = $2 AND b = $1", (Kind.INT, Kind.INT), {0: "bigint", 1: "int"}),
    ("mysql", "UPDATE t SET n = n + ? WHERE f = ?", (Kind.INT, Kind.BOOLEAN), {0: "int", 1: "boolean"}),
    ("mysql", "SELECT id FROM t WHERE s = '?' AND id = ? LIMIT ?, ?", (Kind.INT,) * 3,
     {0: "int", 1: "bigint", 2: "bigint"}),
]  # fmt: skip


@pytest.mark.parametrize(("product", "sql", "shape", "types"), PARAMETERS)
def test_parameter_types(product: str, sql: str, shape: ParamShape, types: dict[int | str, str]) -> None:
    assert {key: str(kind) for key, kind in bound(sql, product, shape).parameters.items()} == types


MISFITS = [
    ("postgres", "SELECT 1", (Kind.INT,), "parameter 1 has no placeholder"),
    ("postgres", "SELECT 1 FROM t WHERE id = $2", (Kind.INT, Kind.INT), "parameter 1 has no placeholder"),
    ("postgres", "SELECT $3::int", None, "placeholder for parameter 3, but no parameters are given"),
    ("mysql", "SELECT id FROM t WHERE id = ? AND n = ?", (Kind.INT,), "parameter 2, but 1 parameters are given"),
    ("postgres", "SELECT id FROM t WHERE id = %(x)s", (("y", Kind.INT),), "placeholder for parameter x"),
]


@pytest.mark.parametrize(("product", "sql", "shape", "text"), MISFITS)
def test_parameters_and_placeholders_fit(product: str, sql: str, shape: ParamShape, text: str) -> None:
    with pytest.raises(MisfitParameters, match=text):
        bound(sql, product, shape)


def test_a_name_that_is_not_used_may_be_given() -> None:
    assert bound("SELECT id FROM t WHERE id = :x", "postgres", (("x", Kind.INT), ("y", Kind.INT))).read_only


REFUSED = [
    ("postgres", "SELECT 1 FROM t WHERE s = $1", (Kind.INT,), "an integer parameter where text is expected"),
    ("postgres", "SELECT 1 FROM t WHERE id = $1", (Kind.BOOLEAN,), "a boolean parameter where int is expected"),
    ("postgres", "SELECT 1 FROM t WHERE id = $1 AND s = $1", (Kind.INT,), "a parameter used as varchar(5) and as int"),
    ("postgres", "SELECT '%s', %s", (Kind.INT,), "placeholder inside quotes"),
    (
        "postgres",
        "INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING (SELECT count(*) FROM t)",
        None,
        "a subquery on the target in RETURNING of an INSERT with a conflict clause",
    ),
    ("postgres", "SELECT o FROM t LEFT JOIN (SELECT 1 AS x) o ON TRUE", None, "whole-row reference o"),
    ("postgres", "SELECT ctid FROM t", None, "system column ctid"),
    ("postgres", "SELECT id FROM t ORDER BY (1)", None, "constant in ORDER BY"),
    ("postgres", "SELECT id FROM t WHERE id = 1 = TRUE", None, "comparison of an unparenthesised comparison"),
    ("postgres", "SELECT id, FROM t", None, "text that ends a list with a comma"),
    ("postgres", "SELECT lower(, s) FROM t", None, "text that starts a list with a comma"),
    ("postgres", "SELECT 1 AS", None, "AS without a name"),
    ("postgres", "SELECT id FROM t WHERE n > + s", None, "unary plus of varchar(5)"),
    ("mysql", "SELECT CASE NULL WHEN f THEN 1 END FROM t", None, "CASE of an untyped literal"),
    ("postgres", "INSERT INTO t SET id = 1", None, "MySQL's form of INSERT in postgres"),
    ("postgres", "SELECT nvl(id, 1) FROM t", None, "function nvl()"),
    ("mysql", "SELECT id FROM T", None, "table name T in other letter case than its definition"),
    ("mysql", "SELECT DATE '2020-01-01' + 1", None, "operator + on date and int"),
    ("mysql", "UPDATE LOW_PRIORITY t SET id = 1", None, "LOW_PRIORITY"),
    ("mysql", "DELETE QUICK FROM t", None, "DELETE QUICK"),
    ("mysql", "SELECT id FROM t USE INDEX (x)", None, "index hint in TABLE"),
    ("mysql", "INSERT INTO t (id, b) VALUES (1, id)", None, "column reference in VALUES"),
    ("oracle", "SELECT 1", None, "dialect oracle"),
]


@pytest.mark.parametrize(("product", "sql", "shape", "construct"), REFUSED)
def test_refusal_names_the_construct(product: str, sql: str, shape: ParamShape, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        bind(sql, shape, catalog("postgres" if product == "oracle" else product), Dialect(product))
    assert caught.value.construct == construct


def test_joins_offsets_and_using() -> None:
    query = select("SELECT * FROM t JOIN u USING (id) LEFT JOIN t v ON v.id = u.k")
    assert [(s.alias, s.offset, s.width, s.kind) for s in query.sources] == [
        ("t", 0, 5, "cross"), ("u", 5, 3, "inner"), ("v", 8, 5, "left"),
    ]  # fmt: skip
    assert query.sources[1].on is not None and show(query.sources[1].on) == "(= #0:int #5:int):boolean"
    assert query.sources[2].on is not None and show(query.sources[2].on) == "(= #8:int #6:smallint):boolean"
    assert [output.name for output in query.outputs] == ["id", "n", "s", "b", "f", "k", "s", "id", "n", "s", "b", "f"]


def test_a_set_operation_has_the_wider_of_two_integer_types() -> None:
    bound_query = bound("SELECT 1 AS n UNION ALL SELECT CAST(7 AS bigint)").statement
    assert isinstance(bound_query, SetOperation)
    assert bound_query.outputs[0].expression.type.kind is Kind.BIGINT


def test_a_row_of_all_columns_is_refused() -> None:
    with pytest.raises(Unsupported, match="row of all columns"):
        bound("UPDATE t SET (id, b) = ROW(v.*) FROM (VALUES (1, 2)) AS v (i, j)")


def test_grouping_moves_to_keys_and_aggregates() -> None:
    query = select(
        "SELECT b % 2 AS p, sum(n), count(DISTINCT s) + 1 FROM t GROUP BY 1 HAVING max(id) > 3 ORDER BY 2, p"
    )
    assert query.groups is not None and [show(key) for key in query.groups] == ["(% #3:bigint 2:int):bigint"]
    assert [(a.function, a.distinct, str(a.type)) for a in query.aggregates] == [
        ("sum", False, "numeric"), ("count", True, "bigint"), ("max", False, "int"),
    ]  # fmt: skip
    assert [show(output.expression) for output in query.outputs] == [
        "#0:bigint", "#1:numeric", "(+ #2:bigint 1:int):bigint",
    ]  # fmt: skip
    assert query.having is not None and show(query.having) == "(> #3:int 3:int):boolean"
    assert [key.output for key in query.order] == [1, 0]


def test_aggregates_over_all_rows_have_no_keys() -> None:
    assert select("SELECT count(*) FROM t").groups == ()
    assert select("SELECT id FROM t").groups is None


def test_grouped_primary_key_determines_its_row() -> None:
    query = select("SELECT t.s, count(*) FROM t, u GROUP BY t.id")
    assert query.groups is not None and [show(key) for key in query.groups] == ["#0:int", "#2:varchar(5)"]


ORDERS = [
    ("postgres", "id", (False, False)), ("postgres", "id DESC", (True, True)),
    ("postgres", "id NULLS FIRST", (False, True)), ("postgres", "id DESC NULLS LAST", (True, False)),
    ("mysql", "id", (False, True)), ("mysql", "id DESC", (True, False)),
]  # fmt: skip


@pytest.mark.parametrize(("product", "key", "expected"), ORDERS)
def test_null_order(product: str, key: str, expected: tuple[bool, bool]) -> None:
    order = select(f"SELECT s FROM t ORDER BY {key}", product).order[0]
    assert (order.descending, order.nulls_first) == expected and order.expression is not None


def test_insert_fills_defaults_and_stores() -> None:
    statement = bound("INSERT INTO t (s, id) VALUES ('x', 1), (DEFAULT, '2') RETURNING n").statement
    assert isinstance(statement, Insert) and statement.returning is not None
    assert [[show(value) for value in row] for row in statement.rows] == [
        ["1:int", "(store 0:int numeric(12,2))", "(store 'x':text varchar(5))", "None:bigint", "None:boolean"],
        ["2:int", "(store 0:int numeric(12,2))", "None:varchar(5)", "None:bigint", "None:boolean"],
    ]


def test_insert_select_reads_the_query_row() -> None:
    statement = bound("INSERT INTO t (id, s) SELECT k, 'x' FROM u").statement
    assert isinstance(statement, Insert) and statement.query is not None and statement.rows == ()
    assert [show(value) for value in statement.from_query][:3] == [
        "(store #0:smallint int)", "(store 0:int numeric(12,2))", "(store #1:text varchar(5))",
    ]  # fmt: skip


def test_update_and_delete() -> None:
    statement = bound("UPDATE t x SET n = n + 1, s = DEFAULT WHERE x.id = 1").statement
    assert isinstance(statement, Update) and not statement.sequential and statement.where is not None
    assert [(place, show(value)) for place, value in statement.assignments] == [
        (1, "(store (+ #1:numeric(12,2) 1:numeric):numeric numeric(12,2))"), (2, "None:varchar(5)"),
    ]  # fmt: skip
    delete = bound("DELETE FROM t WHERE f", "mysql").statement
    assert isinstance(delete, Delete) and delete.where is not None
    assert show(delete.where) == "(<> #4:smallint 0:int):boolean"
    mysql = bound("UPDATE t SET id = 1", "mysql").statement
    assert isinstance(mysql, Update) and mysql.sequential


def test_outputs_without_alias_have_postgres_names() -> None:
    assert select("SELECT s, count(*) FROM t GROUP BY s ORDER BY count").order[0].output == 1
    assert select("SELECT id::text FROM t ORDER BY id").order[0].output == 0
    with pytest.raises(Unsupported, match="GROUP BY lower"):
        select("SELECT lower(s) FROM t GROUP BY lower")


def test_limits() -> None:
    query = select("SELECT id FROM t LIMIT 5, 10", "mysql")
    assert query.limit is not None and query.offset is not None
    assert (show(query.limit), show(query.offset)) == ("10:int", "5:int")
    assert select("SELECT id FROM t LIMIT ALL").limit is None


def test_read_only() -> None:
    dialect, tables = Dialect("mysql"), read_schema(SCHEMA, Dialect("mysql"))
    procedures = read_procedures(
        [
            "CREATE PROCEDURE reads() BEGIN SELECT 1; END",
            "CREATE PROCEDURE writes() BEGIN IF 1 = 2 THEN DELETE FROM t; END IF; END",
            "CREATE PROCEDURE outer_() BEGIN CALL writes(); END",
        ],
        tables, dialect,
    )  # fmt: skip
    whole = Catalog(tables, procedures)
    answers = {
        sql: bind(sql, None, whole, dialect).read_only
        for sql in ("SELECT id FROM t FOR UPDATE", "DELETE FROM t", "CALL reads()", "CALL writes()", "CALL outer_()")
    }
    assert list(answers.values()) == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("sql", "shape"), [("SELECT 1", (Kind.INT,)), ("SELECT $3::int", (Kind.INT,)), ("SELECT ?", ())]
)
def test_parameters_that_do_not_fit_the_placeholders_are_bad_input(sql: str, shape: ParamShape) -> None:
    with pytest.raises(MisfitParameters):
        bind(sql, shape, Catalog({}), Dialect("postgres"))


@pytest.mark.parametrize("remarks", ["/* who */ ", "-- who\n", " /* a */ /* b */\n-- c\n", "/**/"])
def test_comments_before_a_statement_change_nothing(remarks: str) -> None:
    catalog = Catalog({})
    for sql in ("SAVEPOINT a", "SELECT 1", "RELEASE SAVEPOINT a"):
        plain, marked = (bind(text, None, catalog, Dialect("postgres")) for text in (sql, remarks + sql))
        assert type(plain.statement) is type(marked.statement)


@pytest.mark.parametrize(
    ("dialect", "nested"), [("postgres", True), ("duckdb", True), ("mysql", False), ("sqlite", False)]
)
def test_whether_comments_stand_within_each_other(dialect: str, nested: bool) -> None:
    for text, ends in (("SELECT /* ? /* b */ 1, ?", False), ("SELECT /* ? /* b */ ? */ 1, ?", True)):
        if ends is nested:
            statement = bind(text, (Kind.INT,), Catalog({}), Dialect(dialect)).statement
            assert isinstance(statement, Select)
            assert len(statement.outputs) == 2
        else:
            with pytest.raises((Unsupported, SqlError, MisfitParameters)):
                bind(text, (Kind.INT,), Catalog({}), Dialect(dialect))
