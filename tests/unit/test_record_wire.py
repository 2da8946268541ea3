"""Parameters and texts as psycopg sends them, on their way into a log."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

psycopg = pytest.importorskip("psycopg")

from psycopg._queries import PostgresQuery  # noqa: E402
from psycopg.adapt import Transformer  # noqa: E402

from troubadour.record.postgres import wire  # noqa: E402


def logged(sql: str, params: Any) -> tuple[str, list[Any]]:
    query = PostgresQuery(Transformer())
    query.convert(sql, params)
    fields = json.loads(b"{" + wire.statement(query.query, query.params, query.types, query.formats) + b"}")
    return fields["sql"], fields.get("params", [])


@pytest.mark.parametrize(
    ("value", "cast", "json"),
    [
        (5, "", 5),
        (-(2**40), "", -(2**40)),
        (2**70, "::numeric", str(2**70)),
        ("it's", "", "it's"),
        (True, "", True),
        (None, "", None),
        (0.1, "::double precision", 0.1),
        (float("nan"), "::double precision", "NaN"),
        (Decimal("1.50"), "::numeric", "1.50"),
        (date(2024, 2, 29), "::date", "2024-02-29"),
        (datetime(2024, 2, 29, 1, 2, 3), "::timestamp", "2024-02-29T01:02:03"),
        (datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), "::timestamptz", "2024-02-29T01:02:03+00:00"),
        (b"\x00hi", "::bytea", "\\x006869"),
        (UUID(int=1), "::uuid", "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_scalars(value: object, cast: str, json: object) -> None:
    assert logged("SELECT %s", (value,)) == (f"SELECT $1{cast}", [json])


@pytest.mark.parametrize(
    ("sql", "params", "text", "values"),
    [
        ("SELECT 1 WHERE a = ANY(%s) AND b = %s", ([1, 2], 3), "SELECT 1 WHERE a IN ($1, $2) AND b = $3", [1, 2, 3]),
        ("SELECT 1 WHERE a = any ( %(x)s::text[] )", {"x": ["a,b", 'c"d', "e\\f", "NULL", None]},
         "SELECT 1 WHERE a IN ($1, $2, $3, $4, $5)", ["a,b", 'c"d', "e\\f", "NULL", None]),
        ("SELECT 1 WHERE b = %s AND a = ANY(%s)", (3, [Decimal("1.5")]),
         "SELECT 1 WHERE b = $1 AND a IN ($2::numeric)", [3, "1.5"]),
        ("SELECT 1 WHERE a = ANY(%s)", ([],), "SELECT 1 WHERE a = ANY($1)", ["{}"]),
        ("SELECT %s, '$1 = ANY($1)'", ([1, 2],), "SELECT $1::smallint[], '$1 = ANY($1)'", ["{1,2}"]),
        ("SELECT 1 WHERE a = ANY(%(x)s) OR %(x)s IS NULL", {"x": [1]},
         "SELECT 1 WHERE a IN ($1) OR $2::smallint[] IS NULL", [1, "{1}"]),
    ],
)  # fmt: skip
def test_arrays(sql: str, params: Any, text: str, values: list[Any]) -> None:
    assert logged(sql, params) == (text, values)


def test_casts_stand_where_placeholders_do() -> None:
    sql = "SELECT %(x)s, '$1', \"$1\", %(x)s::text -- $1"
    text, values = logged(sql, {"x": Decimal(2)})
    assert (text, values) == ("SELECT $1::numeric, '$1', \"$1\", $1::text -- $1", ["2"])
