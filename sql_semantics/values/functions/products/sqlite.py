"""The functions of SQLite. Does not know those of others."""

from __future__ import annotations

from sql_semantics.values.functions import bits, conversions, numeric
from sql_semantics.values.functions.jsons import sqlite as sqlite_json
from sql_semantics.values.functions.moments import sqlite as sqlite_dates
from sql_semantics.values.functions.rule import Table, merged
from sql_semantics.values.functions.texts import sqlite as sqlite_texts
from sql_semantics.values.functions.texts import text

FUNCTIONS: Table = merged(
    numeric.SQLITE,
    text.SQLITE,
    bits.SQLITE,
    conversions.SQLITE,
    sqlite_dates.SQLITE,
    sqlite_json.SQLITE,
    sqlite_texts.SQLITE,
)
