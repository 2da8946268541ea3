"""Stored procedures: slots, scopes, what is refused and what cannot be read. Does not run any of them."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.programs import Raise
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Delete, If, Procedure, SelectInto, SetVariable, Update
from sql_semantics.values.dialect import Dialect
from tests.unit.test_frontend_binding import show

SCHEMA = ["CREATE TABLE accounts (acc_id INT PRIMARY KEY, balance DECIMAL(12,2) NOT NULL)"]

DEPOSIT = """
CREATE PROCEDURE Deposit (IN tgt INT,
    IN amt DECIMAL(12,2))
BEGIN
    UPDATE accounts
    SET balance = balance + @amt
    WHERE acc_id = @tgt;
END;
"""
TRANSFER = """
CREATE PROCEDURE Transfer (IN src INT, IN tgt INT,
    IN amt DECIMAL(12,2))
BEGIN
    CALL Deposit(@tgt, @amt);
    UPDATE accounts SET balance = balance - @amt
    WHERE acc_id = @src;
END;
"""


def read(*texts: str, product: str = "mysql") -> dict[str, Procedure]:
    dialect = Dialect(product)
    return read_procedures(texts, read_schema(SCHEMA, dialect), dialect)


def body(text: str, parameters: str = "a INT", product: str = "mysql") -> Procedure:
    return read(f"CREATE PROCEDURE p({parameters}) BEGIN {text} END", product=product)["p"]


@pytest.mark.parametrize("product", ["mysql", "postgres"])
@pytest.mark.parametrize("order", [(DEPOSIT, TRANSFER), (TRANSFER, DEPOSIT)])
def test_figure_2_word_for_word(product: str, order: tuple[str, str]) -> None:
    procedures = read(*order, product=product)
    deposit, transfer = procedures["deposit"], procedures["transfer"]
    assert transfer.parameters == ("src", "tgt", "amt")
    assert [str(kind) for kind in transfer.frame_types] == ["int", "int", "numeric(12,2)"]
    call, update = transfer.body
    assert isinstance(call, Call) and call.procedure == "deposit"
    assert [show(argument) for argument in call.arguments] == ["@1:int", "@2:numeric(12,2)"]
    assert isinstance(update, Update) and update.where is not None
    assert show(update.where) == "(= #0:int @0:int):boolean"
    inner = deposit.body[0]
    assert isinstance(inner, Update) and "@1:numeric(12,2)" in show(inner.assignments[0][1])


def test_call_converts_its_arguments() -> None:
    dialect = Dialect("mysql")
    catalog = Catalog(read_schema(SCHEMA, dialect), read(DEPOSIT))
    statement = bind("CALL deposit('1', 10)", None, catalog, dialect).statement
    assert isinstance(statement, Call)
    assert [show(argument) for argument in statement.arguments] == ["1:int", "(store 10:int numeric(12,2))"]
    with pytest.raises(SqlError) as caught:
        bind("CALL Deposit(1)", None, catalog, dialect)
    assert caught.value.sqlstate == "42000"


def test_inner_blocks_shadow() -> None:
    procedure = body("DECLARE x INT DEFAULT 1; BEGIN DECLARE x BIGINT; SET x = a; END; SET x = 2;")
    assert [str(kind) for kind in procedure.frame_types] == ["int", "int", "bigint"]
    assert [s.slot for s in procedure.body if isinstance(s, SetVariable)] == [1, 2, 1]


def test_declare_several_and_set_several() -> None:
    procedure = body("DECLARE x, y DECIMAL(5,1) DEFAULT 0; SET x = a + 1, y := CASE WHEN a > 1 THEN 2 ELSE 3 END;")
    assert [s.slot for s in procedure.body if isinstance(s, SetVariable)] == [1, 2, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT balance INTO x FROM accounts WHERE acc_id = a FOR UPDATE;",
        "SELECT balance FROM accounts WHERE acc_id = a INTO x FOR UPDATE;",
        "SELECT balance FROM accounts WHERE acc_id = a FOR UPDATE INTO @x;",
    ],
)
def test_into_stands_in_any_place(text: str) -> None:
    statement = body(f"DECLARE x DECIMAL(10,2); {text}").body[0]
    assert isinstance(statement, SelectInto) and statement.slots == (1,) and statement.query.locking
    assert show(statement.query.outputs[0].expression) == "(store #1:numeric(12,2) numeric(10,2))"


def test_into_orders_by_the_unconverted_value() -> None:
    statement = body("DECLARE x INT; SELECT balance INTO x FROM accounts ORDER BY balance LIMIT 1;").body[0]
    assert isinstance(statement, SelectInto)
    key = statement.query.order[0]
    assert key.output is None and key.expression is not None and show(key.expression) == "#1:numeric(12,2)"


def test_a_name_that_is_both_is_the_variable() -> None:
    statement = body("DELETE FROM accounts WHERE acc_id = balance;", "balance INT").body[0]
    assert isinstance(statement, Delete) and statement.where is not None
    assert show(statement.where) == "(= #0:int @0:int):boolean"
    qualified = body("DELETE FROM accounts WHERE acc_id = accounts.balance;", "balance INT").body[0]
    assert isinstance(qualified, Delete) and qualified.where is not None and "#1" in show(qualified.where)


def test_if_with_branches_and_result_sets() -> None:
    procedure = read(
        "CREATE PROCEDURE q() SELECT 1",
        "CREATE PROCEDURE p(a INT) BEGIN IF a > 1 THEN SELECT ';' /* ; */; ELSEIF IF(a, 1, 0) THEN BEGIN END;"
        " -- ; END\n ELSE CALL q(); SELECT 2; END IF; END",
    )["p"]
    statement = procedure.body[0]
    assert isinstance(statement, If)
    assert [len(inner) for _, inner in statement.branches] == [1, 0]
    assert [type(inner) for inner in statement.otherwise] == [Call, Select]


def test_characteristics_have_no_effect() -> None:
    procedure = read("CREATE PROCEDURE p() MODIFIES SQL DATA COMMENT 'x' BEGIN SELECT 1; END")["p"]
    assert len(procedure.body) == 1


UNSUPPORTED = [
    ("DECLARE EXIT HANDLER FOR SQLWARNING SELECT 1;", "HANDLER FOR SQLWARNING"),
    ("DECLARE UNDO HANDLER FOR SQLEXCEPTION SELECT 1;", "UNDO HANDLER"),
    ("DECLARE EXIT HANDLER FOR 99 SELECT 1;", "error number 99 in a handler"),
    ("DECLARE c CURSOR (k INT) FOR SELECT 1;", "a cursor with parameters"),
    ("SIGNAL SQLSTATE '01000';", "SIGNAL of a warning"),
    ("RESIGNAL;", "RESIGNAL outside a handler"),
    ("CASE 'x' WHEN 'x' THEN SELECT 1; END CASE;", "CASE of a literal"),
    ("COMMIT;", "COMMIT in a procedure"),
    ("GET DIAGNOSTICS @n = NUMBER;", "GET in a procedure"),
    ("SET @x = 1;", "user variable @x"),
    ("SET a = @x;", "user variable @x"),
    ("SET @@x = 1;", "system variable @@x"),
    ("SET autocommit = 0;", "SET autocommit"),
    ("SELECT 1 INTO @x;", "user variable @x"),
    ("CALL nosuch();", "procedure nosuch, which the log does not define"),
    ("CALL p(1);", "recursive procedure p"),
    ("DECLARE d YEAR;", "type YEAR"),
    ("PREPARE s FROM 'SELECT 1';", "PREPARE in a procedure"),
]


@pytest.mark.parametrize(("text", "construct"), UNSUPPORTED)
def test_readable_but_not_modelled(text: str, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        body(text)
    assert caught.value.construct == construct


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [("SELECT foo FROM accounts;", "42S22"), ("SELECT 1, 2 INTO a;", "21000"), ("SET a = nosuch;", "42S22")],
)
def test_what_always_fails_fails_when_it_runs(text: str, sqlstate: str) -> None:
    (statement,) = body(text).body
    assert isinstance(statement, Raise) and statement.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("CREATE PROCEDURE a.p() BEGIN END", "qualified procedure name"),
        ("CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN END $$",
         "a procedure body in another language than SQL/PSM"),
        ("CREATE PROCEDURE p() BEGIN /*!50000 SELECT 1; */ END", "executable comment /*! */"),
        ("CREATE PROCEDURE p() SOMETHING BEGIN END", "characteristic SOMETHING of a procedure"),
        ("CREATE PROCEDURE IF NOT EXISTS p() BEGIN END", "CREATE PROCEDURE IF NOT EXISTS"),
        ("CREATE FUNCTION f(OUT x INT) RETURNS INT RETURN 1", "OUT parameter of a function"),
    ],
)  # fmt: skip
def test_headers_that_are_not_modelled(text: str, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        read(text)
    assert caught.value.construct == construct


def test_headers() -> None:
    procedures = read(
        "CREATE OR REPLACE DEFINER=`x`@`localhost` PROCEDURE p(IN a INT, OUT b INT, INOUT c INT) BEGIN SET b = a; END",
        "CREATE FUNCTION f(a INT) RETURNS DECIMAL(5,2) NOT DETERMINISTIC READS SQL DATA RETURN a",
    )
    routine = procedures["p"].routine
    assert routine is not None and [item.mode for item in routine.signature.parameters] == ["in", "out", "inout"]
    assert procedures["p"].answers == (1, 2)
    function = procedures["f"].routine
    assert function is not None and [str(kind) for _, kind in function.signature.results] == ["numeric(5,2)"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "SELECT 1",
        "CREATE PROCEDURE p() BEGIN SELECT 1 END",
        "CREATE PROCEDURE p() BEGIN LEAVE l; END",
        "CREATE PROCEDURE p() l: BEGIN ITERATE l; END l",
        "CREATE PROCEDURE p() BEGIN FETCH c INTO x; END",
        "CREATE PROCEDURE p() BEGIN RETURN 1; END",
        "CREATE FUNCTION f() RETURNS INT BEGIN END",
        "CREATE FUNCTION f() RETURN 1",
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR nosuch SELECT 1; END",
        "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE x INT; END",
        "CREATE PROCEDURE p() BEGIN SELECT 1;",
        "CREATE PROCEDURE p( BEGIN END",
        "CREATE PROCEDURE p() BEGIN IF 1 = 1 THEN SELECT 1; END; END",
        "CREATE PROCEDURE p() BEGIN SELECT 'x; END",
        "CREATE PROCEDURE p(a INT, a INT) BEGIN END",
        "CREATE PROCEDURE p() BEGIN DECLARE x INT; DECLARE x INT; END",
        "CREATE PROCEDURE p() BEGIN SELECT 1; DECLARE x INT; END",
        "CREATE PROCEDURE p() BEGIN SET x; END",
    ],
)
def test_text_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SchemaError):
        read(text)


def test_twice_and_unknown_table() -> None:
    with pytest.raises(SchemaError):
        read(DEPOSIT, DEPOSIT)
    with pytest.raises(UnknownTable):
        body("DELETE FROM nosuch;")
