"""Statements that change no row and leave the meaning of others alone: locks of tables, the level of a transaction, and
the probes that are no queries (PostgreSQL manual, SQL commands; MySQL manual 15.7.6).

What waits or fails because of them does so with errors that may always happen. Read from tokens, since the
parser knows few of them. Does not know which one waits for which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.schemas import in_schema, is_home
from sql_semantics.frontend.probes import Probe, probe_of, words_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import NoEffect
from sql_semantics.values.dialect import Dialect

AT_ONCE = "SET CONSTRAINTS IMMEDIATE"
"""What has no effect where nothing is written after it, and has found all references to hold."""
_MODES = frozenset({"ACCESS", "ROW", "SHARE", "UPDATE", "EXCLUSIVE"})


def bind_no_effect(text: str, catalog: Catalog, dialect: Dialect) -> NoEffect | None:
    """The statement, or None for a text that is none of these. Raises Unsupported for a setting, a mode or a table of
    which that is not known."""
    words = words_of(text, dialect)
    if words is None:
        return None
    rules = dialect.rules.definitions
    upper = [word.upper() for word in words]
    if upper[:1] == ["LOCK"] and rules.lock_table:
        return NoEffect(_lock(words[1:], catalog, dialect))
    if upper[:1] == ["SET"] and rules.set_transaction != "none":
        scoped = 2 if upper[1:2] == ["SESSION"] and rules.set_transaction == "next" else 1
        if upper[scoped : scoped + 1] == ["TRANSACTION"]:
            if rules.set_transaction == "next":
                # an error, or the next transaction's; for the session, that of all to come
                raise Unsupported("SET TRANSACTION in a transaction" if scoped == 1 else "SET SESSION TRANSACTION")
            return NoEffect(_transaction(upper[2:], dialect), "setting")
    if upper[:2] == ["SET", "CONSTRAINTS"] and rules.set_constraints:
        # only foreign keys are modelled as deferrable
        if any(fired.waits for table in catalog.tables.values() for fired in table.fires):
            raise Unsupported("SET CONSTRAINTS where triggers wait for it")
        if not any(table.foreign_keys for table in catalog.tables.values()):
            return NoEffect("SET CONSTRAINTS", "setting")
        if upper[-1] == "IMMEDIATE":
            return NoEffect(AT_ONCE, "setting")
        raise Unsupported("SET CONSTRAINTS where there are foreign keys")
    probe = probe_of(text, catalog, dialect)
    return None if probe is None else without_effect(probe)


def without_effect(probe: Probe) -> NoEffect:
    """A probe as a statement: what it answers is not judged."""
    return NoEffect(probe.what, probe.kind, opaque=True, alone=probe.alone)


def _transaction(words: Sequence[str], dialect: Dialect) -> str:
    """``SET TRANSACTION``: the level is the log's matter; READ WRITE is what a transaction is."""
    rest = " ".join(words).replace(",", " ")
    levels = r"ISOLATION\s+LEVEL\s+(READ\s+UNCOMMITTED|READ\s+COMMITTED|REPEATABLE\s+READ|SERIALIZABLE)"
    if not re.fullmatch(rf"\s*(({levels}|READ\s+WRITE|(NOT\s+)?DEFERRABLE)\s*)+", rest):
        raise Unsupported("SET TRANSACTION other than a level or READ WRITE")
    return "SET TRANSACTION"


def _locked(words: Sequence[str], place: int) -> str:
    """The name at a place, folded unless quoted; empty for none."""
    word = words[place] if place < len(words) else ""
    return word.strip('"') if word[:1] == '"' else word.lower()


def _lock(words: Sequence[str], catalog: Catalog, dialect: Dialect) -> str:
    """``LOCK [TABLE] [ONLY] name [, ...] [IN ... MODE] [NOWAIT]``."""
    upper = [word.upper() for word in words]
    place = 1 if upper[:1] == ["TABLE"] else 0
    names: list[str] = []
    while place < len(words):
        place += upper[place] == "ONLY"
        names.append(_locked(words, place))
        if words[place + 1 : place + 2] == ["."]:
            schema, place = names[-1], place + 2
            names[-1] = _locked(words, place) if is_home(schema, dialect) else in_schema(schema, _locked(words, place))
        place += 1
        if upper[place : place + 1] != [","]:
            break
        place += 1
    rest = upper[place:]
    if rest[-1:] == ["NOWAIT"]:
        rest = rest[:-1]
    mode = rest[1:-1] if rest[:1] == ["IN"] and rest[-1:] == ["MODE"] else rest
    if not names or any(name not in catalog.tables for name in names) or not set(mode) <= _MODES:
        raise Unsupported("LOCK of something else than known tables")
    return "LOCK TABLE"
