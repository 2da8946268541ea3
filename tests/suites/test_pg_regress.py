"""PostgreSQL's regression scripts: every statement agrees with the server or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.campaign import collation_of
from tests.differential.engines import Postgres
from tests.suites.files import DATA, name_of, text_of
from tests.suites.pg_regress import Report, Script
from tests.suites.psql import statements

SCRIPTS = DATA / "pg-regress"
QUICK = ("boolean", "case", "delete", "int4", "int8", "limit", "select_distinct", "select_having", "transactions")
AGREE = {"boolean": 75, "case": 32, "int4": 54, "int8": 125, "limit": 14, "select_distinct": 20, "select_having": 21}
"""At least so many statements are within the fragment (and agree)."""


def run(connection: Any, name: str) -> Report:
    """One script on a database emptied before it."""
    for text in ("ROLLBACK", "RESET ALL", "SET client_min_messages = error", "SET statement_timeout = '10s'"):
        connection.execute(text)
    engine = Postgres(connection, collation_of(connection))
    engine.clear()
    script = Script(engine, connection)
    text = text_of(SCRIPTS / f"{name}.sql.gz")
    try:
        script.setup(text)
        return script.run(statements(text))
    finally:
        connection.execute("ROLLBACK")
        connection.execute("RESET SESSION AUTHORIZATION")
        engine.clear()
        connection.execute("RESET ALL")
        connection.execute("SET client_min_messages = error")


@pytest.mark.parametrize("name", QUICK)
def test_statements_agree_or_are_refused(postgres: Any, name: str) -> None:
    report = run(postgres, name)
    assert not report.differences, "\n".join(report.differences)
    assert report.same >= AGREE.get(name, 0), f"{report}: {report.refused.most_common(20)}"


@pytest.mark.slow
def test_every_script(postgres: Any) -> None:
    total = Report()
    for path in sorted(SCRIPTS.glob("*.sql.gz")):
        total.add(run(postgres, name_of(path).removesuffix(".sql")))
    assert not total.differences, "\n".join(total.differences)
    assert total.same >= 950, f"{total}: {total.refused.most_common(60)}"


def test_a_script_is_split_as_psql_does() -> None:
    odd = "SELECT ';', $a$;$a$, \"x;\" /* ; /* ; */ */"
    text = f"SELECT 1; -- one;\n{odd};\n\\d x\nCOPY t FROM stdin;\n1\n\\.\nSELECT 2\n;"
    assert list(statements(text)) == ["SELECT 1", odd, "COPY t FROM stdin", "SELECT 2"]
