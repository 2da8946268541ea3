"""Where MySQL and MariaDB differ and the log says which it was."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect, read_product

SCHEMA = ["CREATE TABLE t (a INT, CHECK (a > 0))"]
BODY = "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '23000' SELECT 1; INSERT INTO t VALUES (0); END"


@pytest.mark.parametrize(
    ("dbms", "product"),
    [("MySQL 8.0.36", "mysql"), ("MariaDB 10.11.6", "mariadb"), ("5.5.5-10.11.6-MariaDB", "mariadb"), (None, None)],
)
def test_the_header_tells(dbms: str | None, product: str | None) -> None:
    assert read_product(dbms) == product


def test_a_failing_check() -> None:
    for product, state in (("mysql", "HY000"), ("mariadb", "23000")):
        library = SqlLibrary(Dialect("mysql", product=product), SCHEMA)  # type: ignore[arg-type]
        with pytest.raises(SqlError) as caught:
            library.program("INSERT INTO t VALUES (0)").run(MemoryView({}), ())
        assert caught.value.sqlstate == state


def test_a_handler_for_it() -> None:
    mariadb = SqlLibrary(Dialect("mysql", product="mariadb"), SCHEMA, [BODY])
    assert mariadb.program("CALL p()").run(MemoryView({}), ()).results[0].rows == [(1,)]
    mysql = SqlLibrary(Dialect("mysql", product="mysql"), SCHEMA, [BODY])
    with pytest.raises(SqlError):
        mysql.program("CALL p()").run(MemoryView({}), ())
