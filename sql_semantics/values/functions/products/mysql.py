"""The functions that MySQL and MariaDB have in common. Does not know those of others."""

from __future__ import annotations

from sql_semantics.values.functions import bits, conversions, numeric
from sql_semantics.values.functions.moments import mysql as mysql_dates
from sql_semantics.values.functions.moments import temporal
from sql_semantics.values.functions.rule import Table, merged
from sql_semantics.values.functions.texts import addresses, text
from sql_semantics.values.functions.texts import mysql as mysql_more

FUNCTIONS: Table = merged(
    numeric.MYSQL,
    text.MYSQL,
    temporal.MYSQL,
    bits.MYSQL,
    conversions.MYSQL,
    mysql_more.MYSQL,
    addresses.MYSQL,
    mysql_dates.MYSQL,
)
