"""What triggers that are not run may do beside the statement that fires them (PostgreSQL 37, 41.10; SQLite CREATE
TRIGGER).

The body of such a trigger is not modelled, but what it may write is told from its words. One that cannot change the
statement's own rows leaves that statement judged: an AFTER trigger, one FOR EACH STATEMENT, and a BEFORE trigger that
gives back the row that it was given. What else it may write is not judged from there on, and a statement that fails
where one is may have failed in it. With any other trigger the write itself is not judged. Does not know logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.refusals import Trigger, forbid, is_trigger, read_trigger, routine_name
from sql_semantics.frontend.reach import reach_of_body, words_of
from sql_semantics.ir.reach import NOTHING, Hidden, Reach
from sql_semantics.ir.schema import Catalog, Fired, Table
from sql_semantics.ir.schema import Trigger as RunTrigger
from sql_semantics.ir.statements import Procedure
from sql_semantics.ir.walks.effects import reach_of_trigger
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written

if TYPE_CHECKING:
    from sql_semantics.frontend.routines.triggers import RowTrigger

_EXECUTES = pattern(r"\bEXECUTE\s+(?:FUNCTION|PROCEDURE)\s+((?:public\s*\.\s*)?[\w$\"]+)\s*\(", re.IGNORECASE)
_WAITS = pattern(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?CONSTRAINT\s+TRIGGER\b|\bDEFERRABLE\b", re.IGNORECASE)
_AFTER = pattern(r"\bAFTER\s+(?:INSERT|UPDATE|DELETE|TRUNCATE)\b", re.IGNORECASE)
_BEFORE = pattern(r"\bBEFORE\s+(?:INSERT|UPDATE|DELETE|TRUNCATE)\b", re.IGNORECASE)
_EACH_ROW = pattern(r"\bFOR\s+(?:EACH\s+)?ROW\b", re.IGNORECASE)
_BODY = pattern(
    r"\bLANGUAGE\s+plpgsql\b.*?\bAS\s+(\$[\w]*\$)(.*)\1|\bAS\s+(\$[\w]*\$)(.*)\3.*\bLANGUAGE\s+plpgsql\b",
    re.IGNORECASE | re.DOTALL,
)
_INLINE = pattern(r"\bBEGIN\b(.*)\bEND\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_SINGLE = pattern(r"\bFOR\s+EACH\s+ROW\b(.*)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Routines:
    """What a schema's routines and triggers are: `refused` as of `read_procedures`, `triggers` those that are run; the
    others stand with the tables."""

    tables: dict[str, Table]
    procedures: dict[str, Procedure]
    refused: dict[str, str]
    triggers: dict[str, tuple[RunTrigger, ...]]


def read_routines(
    schema: Sequence[str],
    procedures: Sequence[str],
    tables: Mapping[str, Table],
    dialect: Dialect,
    hidden: Mapping[str, Hidden],
    unread: dict[str, str] | None = None,
    changed: Mapping[str, str] | None = None,
) -> Routines:
    """The routines, and the triggers of the tables, as many of them as can be run; `changed`: routines that are out of
    use, with the reason. Raises as `read_procedures`, and
    SchemaError for a trigger on what is no table."""
    out = changed or {}
    defined = [text for text in (*schema, *procedures) if routine_name(text, dialect) not in out]
    routines = [text for text in procedures if not is_trigger(text) and routine_name(text, dialect) not in out]
    bodies = _functions_of(defined, dialect)
    written = list(filter(is_trigger, defined))
    if not routines and not written:
        return Routines(_closed(dict(tables), {}), {}, dict(out), {})
    # what reads bodies, a parser of its own among it, is not needed elsewhere
    from sql_semantics.frontend.routines.own_triggers import own_trigger
    from sql_semantics.frontend.routines.procedures import read_procedures
    from sql_semantics.frontend.routines.triggers import row_trigger

    rules = dialect.rules.definitions
    rest: list[str] = []
    fired: list[RowTrigger] = []
    for text in written:
        try:
            if not rules.row_triggers:
                raise Unsupported("triggers")
            own = rules.trigger_bodies == "own"
            fired.append(own_trigger(text, dialect) if own else row_trigger(text, bodies, dialect))
        except Unsupported:
            rest.append(text)
    run: dict[str, tuple[RunTrigger, ...]] = {}
    inside: dict[str, str] = {}
    while True:
        marked = _add_triggers(rest, inside, bodies, tables, dialect, run, hidden)
        refused = dict(out)
        triggers: dict[str, tuple[RunTrigger, ...]] = {}
        known = read_procedures(routines, marked, dialect, refused, fired, triggers, unread)
        failed = [one for one in fired if one.key in refused]
        if not failed and (not rest or run.keys() == triggers.keys()):
            return Routines(marked, known, refused, triggers)
        # what is not run may write where triggers are run
        rest += [one.text for one in failed]
        inside |= {one.text: _named(one.construct, refused[one.key]) for one in failed}
        fired = [one for one in fired if one.key not in refused]
        run = {} if failed else triggers


def _named(trigger: str, construct: str) -> str:
    """A trigger with what of it is not modelled."""
    return construct if construct.startswith(trigger) else f"{trigger} ({construct})"


def _functions_of(texts: Iterable[str], dialect: Dialect) -> dict[str, list[str]]:
    """The texts of a schema's routines by their names."""
    bodies: dict[str, list[str]] = {}
    for text in texts:
        name = routine_name(text, dialect)
        if name is not None:
            bodies.setdefault(name, []).append(text)
    return bodies


def _add_triggers(
    texts: Iterable[str],
    inside: Mapping[str, str],
    bodies: Mapping[str, Sequence[str]],
    tables: Mapping[str, Table],
    dialect: Dialect,
    run: Mapping[str, Sequence[RunTrigger]],
    hidden: Mapping[str, Hidden],
) -> dict[str, Table]:
    """The tables with what their triggers do that are not run; `inside`: names for some of the `texts` that say what of
    a body is not modelled; `bodies` are the texts of the schema's functions, `run` the triggers that are run, `hidden`:
    what names lead to. Raises SchemaError for a trigger on what is no table."""
    found = dict(tables)
    catalog = Catalog(tables, refused=dict.fromkeys(bodies, "a function of a trigger"), hidden=hidden)
    for text in texts:
        trigger = read_trigger(text, dialect)
        trigger = replace(trigger, construct=inside.get(text, trigger.construct))
        if trigger.table not in found:
            raise SchemaError(f"a trigger on {trigger.table!r}, which is no table")
        reach = _reach(text, trigger, bodies, catalog, dialect)
        if reach is None:
            forbid(trigger.table, trigger.events, trigger.construct, found)
            continue
        table = found[trigger.table]
        waits = _WAITS.search(text) is not None
        fired = tuple(Fired(event, trigger.construct, reach, waits) for event in trigger.events)
        found[trigger.table] = replace(table, fires=(*table.fires, *fired))
    return _closed(found, {name: _reach_of_run(triggers, tables) for name, triggers in run.items()})


def _reach_of_run(triggers: Sequence[RunTrigger], tables: Mapping[str, Table]) -> Reach:
    """What the triggers of a table may change that are run."""
    reach = NOTHING
    for trigger in triggers:
        reach = reach | reach_of_trigger(trigger, trigger.routine.catalog)
    return reach


def _closed(tables: dict[str, Table], run: Mapping[str, Reach]) -> dict[str, Table]:
    """The tables with what triggers do that triggers fire."""
    changed = True
    while changed:
        changed = False
        for name, table in list(tables.items()):
            for fired in table.fires:
                reach = fired.reach
                for other in sorted(reach.tables):
                    if other not in tables or tables[other].unwritable:
                        reach = replace(reach, everything=True)
                        continue
                    reach = reach | run.get(other, NOTHING)
                    for further in tables[other].fires:
                        reach = reach | further.reach
                if reach != fired.reach:
                    changed = True
                    fires = tuple(replace(f, reach=reach) if f is fired else f for f in table.fires)
                    table = tables[name] = replace(table, fires=fires)
    for name, table in list(tables.items()):
        for fired in table.fires:
            if fired.reach.everything:
                forbid(name, (fired.event,), fired.construct, tables)
    return tables


def _reach(
    text: str, trigger: Trigger, bodies: Mapping[str, Sequence[str]], catalog: Catalog, dialect: Dialect
) -> Reach | None:
    """What a trigger may write; None where it may change the statement's own rows, write at another time than the
    statement, or that cannot be told."""
    where = dialect.rules.definitions.trigger_bodies
    if where == "unknown":
        return None
    after = _AFTER.search(text) is not None
    body = _inline(text) if where == "own" else _function(text, bodies, dialect)
    if body is None or (not after and where == "own"):
        return None
    try:
        words = words_of(body, dialect)
        reach = reach_of_body(body, catalog, dialect)
    except Unsupported:
        return None
    if reach is None or (_WAITS.search(text) and reach != NOTHING):
        return None
    each_row = _EACH_ROW.search(text) is not None
    if after or (_BEFORE.search(text) and not each_row):
        return reach
    if not _BEFORE.search(text) or not _gives_back(words, trigger.events):
        return None
    return reach


def _function(text: str, bodies: Mapping[str, Sequence[str]], dialect: Dialect) -> str | None:
    """The body of the function that a trigger calls, in PL/pgSQL; None for another, or for several of its name."""
    called = _EXECUTES.search(text)
    if called is None:
        return None
    name = folded_written(called[1].rpartition(".")[2].strip(), dialect)
    given = bodies.get(name, ())
    found = _BODY.search(given[0]) if len(given) == 1 else None
    if found is None or re.search(r"\bSET\s+[\w.]+\s*(?:=|TO)\b", given[0][: found.start(2 if found[2] else 4)]):
        return None
    return found[2] if found[2] is not None else found[4]


def _inline(text: str) -> str | None:
    found = _INLINE.search(text) or _SINGLE.search(text)
    return None if found is None else found[1]


def _gives_back(words: Sequence[str], events: Sequence[str]) -> bool:
    """Whether a BEFORE trigger gives back the row as it was given, whatever happens."""
    row = "OLD" if set(events) == {"delete"} else "NEW" if set(events) <= {"insert", "update"} else ""
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word == "RETURN" and (following != row or words[place + 2 : place + 3] != [";"]):
            return False
        if word in ("NEW", "OLD") and following in (":=", "="):
            return False
        if word in ("NEW", "OLD") and following == "." and words[place + 3 : place + 4] in ([":="], ["="]):
            before = words[place - 1] if place else ""
            if before in (";", "BEGIN", "THEN", "ELSE", "LOOP") or words[place + 3] == ":=":
                return False
        if word == "INTO" and following in ("NEW", "OLD", "STRICT"):
            return False
    return bool(row) and "RETURN" in words
