"""The functions of DuckDB. Does not know those of others."""

from __future__ import annotations

from sql_semantics.values.functions import bits, numeric
from sql_semantics.values.functions.moments import duckdb as duckdb_dates
from sql_semantics.values.functions.moments import temporal
from sql_semantics.values.functions.rule import Table, merged
from sql_semantics.values.functions.texts import text

FUNCTIONS: Table = merged(
    numeric.DUCKDB,
    text.DUCKDB,
    temporal.DUCKDB,
    bits.DUCKDB,
    duckdb_dates.DUCKDB,
)
