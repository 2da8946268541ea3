"""Which product's rules a log's statements followed: its header's settings, and those that all of its connections set
before they mattered (sqlite.org/pragma.html).

SQLite's `foreign_keys` and `case_sensitive_like` are each connection's own, and off unless it says otherwise. Where
every statement that they decide ran under one value, the log is read with that; else under the header's, and a
connection that sets another one is not judged. Does not know what a setting means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.values.dialect import Dialect, read_product, read_version
from troubadour.model.log import Log

_PRAGMA = pattern(r"\s*PRAGMA\s+(?:main\s*\.\s*)?(\w+)\s*[=(]\s*['\"]?(\w+)['\"]?\s*\)?\s*;?\s*\Z", re.IGNORECASE)
_HARMLESS = pattern(r"\s*(?:PRAGMA|SAVEPOINT|RELEASE|ROLLBACK)\b", re.IGNORECASE)
_QUERY = pattern(r"\s*SELECT\b", re.IGNORECASE)
_MATCHES = pattern(r"\blike\b", re.IGNORECASE)
_VALUES = {
    **dict.fromkeys(("on", "true", "yes", "1"), True),
    **dict.fromkeys(("off", "false", "no", "0"), False),
}
_UTC = frozenset({"utc", "etc/utc", "gmt", "z", "+00:00", "+0:00", "00:00", "etc/gmt", "universal", "zulu"})


def dialect_of(log: Log) -> Dialect:
    """The product's rules with the log's settings."""
    settings = log.header.settings
    collation = settings.get("collation")
    own = _set_by_all(log) if PRODUCTS[log.header.dialect].running.switches_by_connection else {}
    enforced = own.get("foreign_keys", settings.get("foreign_keys"))
    digits = _number(settings.get("div_precision_increment"))
    return Dialect(
        log.header.dialect,
        product=read_product(log.header.dbms),
        version=read_version(log.header.dbms),
        collation=collation if isinstance(collation, str) else None,
        literals=str(settings["collation_connection"]) if settings.get("collation_connection") is not None else None,
        found_rows=bool(settings.get("found_rows", False)),
        foreign_keys=enforced if isinstance(enforced, bool) else None,
        like_keeps_case=own.get("case_sensitive_like", settings.get("case_sensitive_like") is True),
        timezone=_zone(settings.get("timezone")),
        sql_mode=str(settings["sql_mode"]) if settings.get("sql_mode") is not None else None,
        search_path=_path(settings.get("search_path")),
        quotient_digits=4 if digits is None else digits,
        list_bytes=_number(settings.get("group_concat_max_len")),
        folds_tables=str(settings.get("lower_case_table_names", 0)) in ("1", "2"),
    )


def _path(value: object) -> tuple[str, ...]:
    """The schemas of a search path, in order, without those that every one has."""
    names = [name.strip().strip('"') for name in str(value or "").split(",")]
    return tuple(name for name in names if name not in ("", "$user", "pg_catalog"))


def _number(value: object) -> int | None:
    return int(str(value)) if str(value).isdecimal() else None


def _zone(name: object) -> str | None:
    """The session's time zone where it is not UTC."""
    return None if name is None or str(name).strip().lower() in _UTC else str(name)


def _decides(name: str, text: str) -> bool:
    """Whether a setting may decide what a statement does."""
    if _HARMLESS.match(text):
        return False
    return not _QUERY.match(text) if name == "foreign_keys" else _MATCHES.search(text) is not None


def _set_by_all(log: Log) -> Mapping[str, bool]:
    """The settings under one value of which every statement ran that they decide. Connections that set one and ran no
    such statement have a say where no other has."""
    found: dict[str, bool] = {}
    for name in ("foreign_keys", "case_sensitive_like"):
        current: dict[str, bool | None] = {}
        under: set[bool | None] = set()
        for transaction in log.transactions:
            alone = len(transaction.statements) == 1
            for statement in transaction.statements:
                pragma = _PRAGMA.match(statement.sql)
                if pragma is not None and pragma[1].lower() == name:
                    value = _VALUES.get(pragma[2].lower())
                    sure = alone and statement.error is None and not statement.outcome_unknown
                    # within a transaction it has no effect, and what is its own connection's ends with that
                    if transaction.session is not None:
                        current[transaction.session] = value if sure else None
                elif _decides(name, statement.sql):
                    under.add(current.get(transaction.session or ""))
        values = under or set(current.values())
        if len(values) == 1 and (value := values.pop()) is not None:
            found[name] = value
    return found
