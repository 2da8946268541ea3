"""Settings that connections had before a log began, as its header tells them: which may change what statements answer,
and which statements hang on them (PostgreSQL manual 19, MariaDB, Server System Variables, sqlite.org/pragma.html,
DuckDB, Configuration).

What is no product's default and not modelled leaves what hangs on it unjudged, under its name. Does not know how
settings are changed within a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.settings import is_indifferent, keeps_meaning

_TOLD = {
    "postgres": pattern(
        r"(role|session_authorization|is_superuser|(default_)?transaction_(isolation|deferrable)|transaction_read_only|seed"
        r"|search_path|timezone)\Z"
    ),
    "mysql": pattern(
        r"((transaction|tx)_\w+|autocommit|last_gtid|external_user|proxy_user|hostname|in_transaction|\w+_count|timestamp"
        r"|rand_seed\d|last_insert_id|insert_id|identity|character_set_(database|filesystem|server|system|collations)"
        r"|collation_(database|server)|time_zone|character_sets_dir|datadir|version\w*)\Z"
    ),
    "sqlite": pattern(r"\Z.\A"),
    "duckdb": pattern(r"(schema|search_path|timezone)\Z"),
}
"""What a log tells otherwise, or of each transaction by itself."""

OTHERS = "others"
"""The setting by which a recorder says that all that a log does not name are its product's defaults."""

TOLD = frozenset(
    {
        "collation",
        "collation_connection",
        "timezone",
        "sql_mode",
        "found_rows",
        "foreign_keys",
        "search_path",
        "lower_case_table_names",
        "div_precision_increment",
    }
)
"""Settings that logs have by these names, and an answer may depend on."""

OWN = TOLD | {OTHERS, "case_sensitive_like"}
"""Settings of a log that are modelled, or are none of its product's."""

_HANG = {
    "postgres": {
        "transform_null_equals": r"(=|<>|!=)\s*(\(|null\b|:|%|\$|\?)|\bnull\s*=",
        "lc_numeric": r"to_char|to_number",
        "lc_monetary": r"\bmoney\b|to_char",
        "lc_time": r"to_char|to_date|to_timestamp",
        "default_text_search_config": r"tsvector|tsquery|\bts_|@@",
        "xmlbinary": r"xml",
        "backslash_quote": r"\\",
        "standard_conforming_strings": r"\\",
        "gin_fuzzy_search_limit": r"@@|@>|<@|&&|\?",
        "default_transaction_read_only": r"(?!\s*select\b)",
    },
    "mysql": {
        "sql_select_limit": r"select|table|values|with",
        "group_concat_max_len": r"group_concat|json_\w*agg",
        "old_passwords": r"password",
        "max_sort_length": r"order|group|distinct|union|min|max|over",
        "lc_time_names": r"date_format|dayname|monthname|str_to_date",
        "default_week_format": r"week",
        "sql_auto_is_null": r"\bis\s+null",
        "sql_safe_updates": r"update|delete",
        "foreign_key_checks": r"insert|update|delete|replace|truncate|load|alter|drop|create|call|select\s+\w+\s*\(",
        "check_constraint_checks": r"insert|update|replace|load|call|select\s+\w+\s*\(",
        "unique_checks": r"insert|update|replace|load|call|select\s+\w+\s*\(",
        "auto_increment_increment": r"insert|replace|load|call|last_insert_id|select\s+\w+\s*\(",
        "auto_increment_offset": r"insert|replace|load|call|last_insert_id|select\s+\w+\s*\(",
        "max_recursive_iterations": r"recursive",
    },
    "sqlite": {
        "ignore_check_constraints": r"insert|update|replace",
        "reverse_unordered_selects": r"limit|group_concat|\bselect\b.*\bselect\b|over",
        "defer_foreign_keys": r"insert|update|delete|replace",
        "query_only": r"insert|update|delete|replace|create|drop|alter",
    },
    "duckdb": {
        "default_null_order": r"order|over|sort|grade|rank|first|last",
        "null_order": r"order|over|sort|grade|rank|first|last",
        "default_order": r"order|over|sort|grade|rank|first|last",
        "integer_division": r"/",
        "default_collation": r"",
        "scalar_subquery_error_on_multiple_rows": r"select\b.*\bselect",
        "order_by_non_integer_literal": r"order",
    },
}
"""What hangs on a setting: the words of a text that it may decide about; settings that are not here may decide about
any."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A setting that is other than what is modelled, `shown` as it is set, and the texts that hang on it."""

    shown: str
    decides: re.Pattern[str]


def unsettled(settings: Mapping[str, object], dialect: Dialect) -> tuple[Unsettled, ...]:
    """Those of a log's settings that may change what statements answer, and are not modelled."""
    found: list[Unsettled] = []
    for name, value in sorted(settings.items()):
        told = "on" if value is True else "off" if value is False else str(value)
        if name.lower() in OWN or _TOLD[dialect.name].match(name.lower()) or keeps_meaning(name, told, dialect):
            continue
        words = _HANG[dialect.name].get(name.lower(), "")
        if name == "functions":  # the application's own, in place of the product's
            words = rf"\b({'|'.join(map(re.escape, told.split(',')))})\b"
        shown = told if len(told) <= _SHOWN else f"{told[: _SHOWN - 3]}..."
        found.append(Unsettled(f"the setting {name} = {shown}", re.compile(words, re.IGNORECASE | re.DOTALL)))
    return tuple(found)


_SHOWN = 40
"""Characters of a value that is told."""


def matters(name: str, product: str) -> bool:
    """Whether a setting that is no default is worth telling of in a log; `product` as a dialect's name."""
    return not is_indifferent(name, product) and _TOLD[product].match(name.lower()) is None
