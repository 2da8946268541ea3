"""Stored routines answer, fail and write in the interpreter as on PostgreSQL and MariaDB."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from tests.differential.routine_generator import SCHEMA, RoutineGenerator
from tests.differential.routines import MariaEngine, Ours, PostgresEngine, Script, differences, read_script

PLPGSQL, PSM = read_script("plpgsql.txt"), read_script("psm.txt")


def _names(script: Script) -> list[str]:
    return [f"{number}" for number in range(len(script.cases))]


@pytest.mark.parametrize("case", PLPGSQL.cases, ids=_names(PLPGSQL))
def test_postgres(postgres: Any, case: tuple[str, tuple[str, ...]]) -> None:
    routine, calls = case
    assert differences(PostgresEngine(postgres), PLPGSQL.schema, [routine], calls) == []


@pytest.mark.parametrize("case", PSM.cases, ids=_names(PSM))
def test_mariadb(mariadb: Any, case: tuple[str, tuple[str, ...]]) -> None:
    connection, _ = mariadb
    routine, calls = case
    assert differences(MariaEngine(connection), PSM.schema, [routine], calls) == []


def _random_functions(postgres: Any, first: int, count: int, share: float, shapes: bool = False) -> None:
    engine = PostgresEngine(postgres)
    compared = 0
    for seed in range(first, first + count):
        routine = RoutineGenerator(seed, shapes).function()
        try:
            found = differences(engine, SCHEMA, [routine], ["SELECT f(1)", "SELECT f(0)", "SELECT f(NULL)"])
        except Unsupported:
            continue
        compared += 1
        assert found == [], f"seed {seed}: {routine}\n" + "\n".join(found)
    assert compared > share * count


def test_random_functions(postgres: Any) -> None:
    _random_functions(postgres, 0, 60, 0.6)


def test_records_of_several_shapes(postgres: Any) -> None:
    _random_functions(postgres, 0, 30, 0.3, shapes=True)


@pytest.mark.slow
def test_random_functions_at_length(postgres: Any) -> None:
    _random_functions(postgres, random.randrange(10**6), 3000, 0.6)
    _random_functions(postgres, random.randrange(10**6), 3000, 0.3, shapes=True)


@pytest.mark.parametrize(
    "body",
    [
        "IF a = 1 THEN SELECT 1 AS k INTO q; ELSE SELECT 2 AS w INTO q; END IF; RETURN q.k;",
        "IF a = 1 THEN SELECT 1 AS k INTO q; END IF; RETURN q.k;",
        "<<b>> BEGIN SELECT 1 AS k INTO q; IF a = 1 THEN SELECT 2 AS w INTO q; EXIT b; END IF; END b; RETURN q.k;",
        "LOOP SELECT 1 AS k INTO q; IF a = 1 THEN SELECT 2 AS w INTO q; EXIT; END IF; END LOOP; RETURN q.k;",
        "SELECT 1 AS k INTO q; FOR i IN 1..a LOOP x := q.k; SELECT 2 AS w INTO q; END LOOP; RETURN x;",
        "SELECT 1 AS k INTO q; BEGIN SELECT 2 AS w INTO q; x := 1 / a; EXCEPTION WHEN OTHERS THEN RETURN q.k; END;",
        "DECLARE q record; BEGIN SELECT 1 AS k INTO q; END; DECLARE q record; BEGIN RETURN q.k; END;",
        "FOR q IN SELECT 1 AS k LOOP x := q.k; SELECT 2 AS w INTO q; END LOOP; RETURN x;",
    ],
)
def test_a_record_of_no_certain_shape_is_refused(body: str) -> None:
    routine = (
        f"CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; q record; BEGIN {body} END $$"
    )
    with pytest.raises(Unsupported):
        Ours(Dialect("postgres", collation="C"), SCHEMA[:2], [routine]).run("SELECT f(1)")
