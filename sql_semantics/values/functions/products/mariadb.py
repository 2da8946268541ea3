"""The functions of MariaDB. Does not know those of others, but for what it shares with MySQL."""

from __future__ import annotations

from sql_semantics.values.functions.jsons import mariadb, mariadb_writing
from sql_semantics.values.functions.products import mysql
from sql_semantics.values.functions.rule import Table, merged
from sql_semantics.values.functions.texts import mysql as texts

FUNCTIONS: Table = merged(mysql.FUNCTIONS, texts.MARIADB, mariadb.MARIADB, mariadb_writing.MARIADB)
