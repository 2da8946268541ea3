"""Variances, percentiles, the commonest value, format() and quoting, places that are computed, SIMILAR TO, and conflict
targets that are expressions, on PostgreSQL beside the interpreter."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside, Step
from tests.differential.campaign import collation_of
from tests.differential.engines import Postgres

TABLE = (
    "CREATE TABLE t (g int, i int, b bigint, n numeric, m numeric(8,3), d double precision, x text, y varchar(9), "
    "z date)"
)
ROWS = """(SELECT t.*, ARRAY[i, NULL, 3] AS a, '{"a": 1, "b": [2]}'::jsonb AS j FROM t) AS t"""
OTHER = "CREATE TABLE u (k int, x varchar(9), y text)"
INDEX = "CREATE UNIQUE INDEX u_lower ON u (lower((x)::text), y)"
REFUSED = (
    "whose last digits",
    "of double",
    "equal values that are written otherwise",
    "such a pattern",
    "order of the rows",
)
"""What is left open of these by name."""


def _rows(rng: random.Random) -> list[str]:
    def one() -> str:
        value = rng.choice([rng.randint(-5, 5), rng.randint(-(10**6), 10**6)])
        scaled = f"{value}.{rng.randrange(10 ** rng.randint(1, 12))}"
        cells = [
            str(rng.randint(1, 3)), str(value), str(value * 10 ** rng.randint(0, 12)), scaled,
            f"{value % 9999}.{value % 7}",
            rng.choice([str(value / 8), "1.5", "-2"]), f"'{rng.choice(['', 'a', 'B', 'a b', 'its', 'select'])}'",
            f"'{rng.choice(['a', 'b', 'c'])}'", f"date '2020-01-01' + {value % 99999}",
        ]  # fmt: skip
        return ", ".join("NULL" if n and rng.random() < 0.1 else cell for n, cell in enumerate(cells))

    return [one() for _ in range(rng.randint(0, 9))]


def _aggregate(rng: random.Random) -> str:
    condition = rng.choice(["", "", "", " FILTER (WHERE i > 0)"])
    column = rng.choice("ibnmd")
    if rng.random() < 0.5:
        name = rng.choice(["stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"])
        return f"{name}({rng.choice(['', 'DISTINCT '])}{column}){condition}"
    order = rng.choice(["", "", " DESC", " NULLS FIRST"])
    fraction = rng.choice(["0", "0.5", "1", "0.25", "0.9", "0.333", "NULL", "1.5", "1::float8 / 4"])
    of = rng.choice([f"percentile_cont({fraction})", f"percentile_disc({fraction})", "mode()"])
    sorted_by = column if "cont" in of else rng.choice("ibnmdyxz")
    return f"{of} WITHIN GROUP (ORDER BY {sorted_by}{order}){condition}"


def _text(rng: random.Random) -> str:
    return rng.choice(["x", "y", "'a b'", "'it''s'", "'\\x'", "NULL::text", "'Select'", "'user'", "'ok_1'", "i::text"])


def _value(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        parts = rng.choices(
            ["%s", "%I", "%L", "%%", "a", " ", "%5s", "%-4s|", "%2$s", "%1$I", "%x", "%", "%0$s"], k=rng.randint(1, 4)
        )
        given = [rng.choice([_text(rng), "i", "b", "true", "n"]) for _ in range(rng.randint(0, 3))]
        return f"format({', '.join([repr(''.join(parts)), *given])})"
    if kind < 0.55:
        return f"{rng.choice(['quote_ident', 'quote_literal', 'quote_nullable'])}({_text(rng)})"
    if kind < 0.7:
        place = rng.choice(
            ["g", "g - 1", "array_length(a, 1)", "i::int", "length(x)", "(g + 1)::int", "cardinality(a)", "-g"]
        )
        return f"a[{place}]"
    if kind < 0.8:
        return f"extract({rng.choice(['decade', 'century', 'millennium', 'isoyear'])} FROM z)"
    if kind < 0.9:
        return f"{_text(rng)} SIMILAR TO " + rng.choice(
            ["'a%'", "'[a-c]+'", "'[^a]_%'", "'(a|b) ?b'", "'a.b'", "'i[a-z]{2}%'", "'%[ab]'"]
        )
    return rng.choice(["(j - 'a')::text", "(j - 'a' - 'b')::text", "(j -> 'b') - 0 = '[]'"])


def _write(rng: random.Random) -> str:
    rows = ", ".join(
        f"({rng.randint(1, 5)}, '{rng.choice('aAbB')}', '{rng.choice('xy')}')" for _ in range(rng.randint(1, 2))
    )
    target = rng.choice(["(lower(x), y)", "(lower(x::text), y)", "(y, lower(x))", "(k)", "(lower(x))", "(upper(x), y)"])
    action = rng.choice(["NOTHING", "UPDATE SET y = excluded.y || u.y"])
    return f"INSERT INTO u VALUES {rows} ON CONFLICT {target} DO {action} RETURNING k, x, y"


def _statement(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        group = rng.choice(["", " GROUP BY g"])
        return f"SELECT {', '.join(_aggregate(rng) for _ in range(rng.randint(1, 2)))} FROM t{group}"
    return _write(rng) if kind > 0.85 else f"SELECT {_value(rng)} FROM {ROWS}"


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 400), marks=pytest.mark.slow)], ids=str)
def test_as_the_server_answers(postgres: Any, seeds: range) -> None:
    collation = collation_of(postgres)
    dialect = Dialect("postgres", collation=collation, version=(postgres.info.server_version // 10_000,))
    catalog = Catalog(read_schema([TABLE, OTHER, INDEX], dialect))
    for text in (TABLE, OTHER, INDEX):
        postgres.execute(text)
    engine = Postgres(postgres, collation)
    outside: Counter[str] = Counter()
    agreed = 0
    for seed in seeds:
        rng = random.Random(seed)
        postgres.execute("TRUNCATE t, u")
        for row in _rows(rng):
            postgres.execute(f"INSERT INTO t VALUES ({row})")
        beside = Beside(engine, dialect, catalog)
        for _ in range(40):
            sql = _statement(rng)
            step = beside.step(sql)
            assert step.problem is None, f"seed {seed}: {sql}\n{step.problem}"
            agreed += step.outside is None
            if step.outside is not None:
                outside[step.outside] += 1
    assert agreed > 25 * len(seeds), outside
    assert not [why for why in outside if "function" in why and "not modelled" in why], outside


def test_format_sees_the_padding_of_char(postgres: Any) -> None:
    table = "CREATE TABLE c (v char(5))"
    postgres.execute(table)
    postgres.execute("INSERT INTO c VALUES ('ab')")
    dialect = Dialect("postgres", collation=collation_of(postgres))
    beside = Beside(Postgres(postgres, dialect.collation), dialect, Catalog(read_schema([table], dialect)))
    assert beside.engine.run("SELECT format('%s|', v) FROM c").rows == [("ab   |",)]
    assert beside.step("SELECT format('%s|', v) FROM c").outside == "format() of a CHAR value, which sees its padding"
    assert beside.step("SELECT format('%s|', v::text), quote_literal(v) FROM c") == Step()
