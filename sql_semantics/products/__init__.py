"""Products as data: what most of them answer (`base`), and a file for each with what it answers otherwise.

The questions are `rules`. Does not know statements. A fifth product is one more file, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.products.duckdb import DUCKDB
from sql_semantics.products.mysql import MYSQL
from sql_semantics.products.postgres import POSTGRES
from sql_semantics.products.rules import Rules
from sql_semantics.products.sqlite import SQLITE

__all__ = ["PRODUCTS", "Rules"]

PRODUCTS: Mapping[str, Rules] = {rules.name: rules for rules in (POSTGRES, MYSQL, SQLITE, DUCKDB)}
"""By the names that logs call dialects."""
