"""Triggers FOR EACH ROW as routines that are run (PostgreSQL 37.1, 41.10; CREATE TRIGGER).

The routine of a trigger has the fields of OLD and NEW for parameters, and the event. What is not modelled here,
triggers FOR EACH STATEMENT among it, is left to `frontend.triggers`, which tells what such a trigger may write. Does
not know how a body is bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.refusals import read_trigger
from sql_semantics.frontend.names.rows import row_type
from sql_semantics.frontend.names.scope import Context, Parameters, Scope, ScopeTable
from sql_semantics.frontend.routines.bodies import Frame, Names, Record, expression_node
from sql_semantics.frontend.routines.headers import read_header
from sql_semantics.frontend.routines.plpgsql.body import Body, Versions, name_of
from sql_semantics.frontend.routines.skeleton import Block, Piece, tokens
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.routines import Parameter, Routine, Signature
from sql_semantics.ir.schema import Catalog, Table, Trigger
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import TEXT

_ABOUT = ("tg_name", "tg_when", "tg_level", "tg_relid", "tg_relname", "tg_table_name", "tg_table_schema", "tg_nargs",
          "tg_argv")  # fmt: skip
"""What a body may ask of its trigger beside the event, which is not modelled."""


@dataclass(frozen=True, slots=True)
class RowTrigger:
    """A trigger that may be run: its text, the `body` of what it runs and the `language` of that; `key` is what its
    routine is called."""

    text: str
    name: str
    table: str
    before: bool
    events: frozenset[str]
    columns: tuple[str, ...] | None
    condition: Piece | None
    language: str
    body: Block
    construct: str

    @property
    def key(self) -> str:
        """No routine is called so."""
        return self.construct


def row_trigger(text: str, functions: Mapping[str, Sequence[str]], dialect: Dialect) -> RowTrigger:
    """The trigger of a text; `functions`: the texts of the schema's routines, by name. Raises Unsupported for one that
    is not run."""
    trigger = read_trigger(text, dialect)
    refusal = Unsupported(trigger.construct)
    try:
        piece = tokens(text, "plpgsql")
    except SchemaError:
        raise refusal from None
    words = piece.words()
    start = words.index("TRIGGER")
    events = next(place for place in range(start, len(words)) if words[place] in _EVENTS)
    on = piece.find("ON", start=events)
    row, executes = piece.find("ROW", start=on), piece.find("EXECUTE", start=on)
    before = words[events - 1] == "BEFORE"
    plain = words[1:start] in ([], ["OR", "REPLACE"]) and (before or words[events - 1] == "AFTER")
    if not plain or row < 0 or executes < row or {"REFERENCING", "DEFERRABLE", "FROM"} & set(words[on : row + 1]):
        raise refusal
    called = words[executes + 2 :]
    called = called[2:] if called[1:2] == ["."] else called
    start_of = len(words) - len(called)
    arguments = _arguments(piece.slice(start_of + 1))
    function = name_of(piece.tokens[start_of])
    texts = functions.get(function, ())
    if len(texts) != 1 or arguments is None:
        raise refusal
    given = with_arguments(texts[0], arguments)
    if given is None:
        raise refusal
    try:
        header = read_header(given, dialect)
    except SchemaError:
        raise refusal from None
    if header.language != "plpgsql" or (header.returns or "").strip().upper() != "TRIGGER" or header.parameters:
        raise refusal
    if header.stable:
        raise refusal  # its statements read what the write reads
    happening = words[events:on]
    columns = None
    if "OF" in happening:
        of = events + happening.index("OF")
        end = next((place for place in range(of, on) if words[place] == "OR"), on)
        columns = tuple(_folded(part) for part in piece.slice(of + 1, end).split())
    when = piece.find("WHEN", start=row)
    condition = None if when < 0 else piece.slice(when + 2, executes - 1)
    name = _folded(piece.slice(start + 1, start + 2))
    if not before and name < _KEYS:
        raise refusal
    return RowTrigger(
        text, name, trigger.table, before, frozenset(trigger.events), columns, condition, header.language, header.body,
        trigger.construct,
    )  # fmt: skip


def _arguments(piece: Piece) -> tuple[str, ...] | None:
    """The texts and numbers in parentheses; None for anything else."""
    words = piece.words()
    end = len(words) - (words[-1:] == [";"])
    if words[:1] != ["("] or words[end - 1 : end] != [")"]:
        return None
    inside = piece.tokens[1 : end - 1]
    commas = all(token[0] == "COMMA" for token in inside[1::2])
    plain = all(_PLAIN_NUMBER.fullmatch(token[1]) or token[1].startswith("'") for token in inside[::2])
    if inside and not (commas and plain and len(inside) % 2):
        return None
    return tuple(token[1][1:-1].replace("''", "'") if token[1][0] == "'" else token[1] for token in inside[::2])


_PLAIN_NUMBER = pattern(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""One that is given on as it is written."""
_NAMED = pattern(r"\btg_(?:argv|nargs)\b", re.IGNORECASE)
_DOLLARS = pattern(r"\$\w*\$")
_ARGUMENT = pattern(r"\btg_argv\s*\[\s*(\d+)\s*\]|\btg_nargs\b", re.IGNORECASE)
_QUOTED = pattern(r"\bAS\s+'", re.IGNORECASE)


def with_arguments(text: str, arguments: tuple[str, ...]) -> str | None:
    """The function's text with a trigger's arguments for the items of TG_ARGV; None where that cannot be told."""
    if _ARGUMENT.search(text) is None:
        return text
    if len(_NAMED.findall(text)) > len(_ARGUMENT.findall(text)) or len(_DOLLARS.findall(text)) > 2:
        return None  # a variable of the name, or a text that has it
    found: list[str] = []
    position = 0
    for match in _ARGUMENT.finditer(text):
        before = text[: match.start()]
        if _QUOTED.search(text) is not None or before.count("'") % 2 or "--" in before or "/*" in before:
            return None
        place = None if match[1] is None else int(match[1])
        value = "NULL" if place is not None and place >= len(arguments) else ""
        if not value:
            value = str(len(arguments)) if place is None else "'" + arguments[place].replace("'", "''") + "'"
        found += [text[position : match.start()], value if place is None else f"CAST({value} AS text)"]
        position = match.end()
    return "".join([*found, text[position:]])


_KEYS = "RI_ConstraintTrigger"
"""How the triggers by which PostgreSQL enforces foreign keys are called; they take their turn by name."""
_EVENTS = frozenset({"INSERT", "UPDATE", "DELETE", "TRUNCATE"})


def _folded(piece: Piece) -> str:
    return name_of(piece.tokens[0])


def signature_of(trigger: RowTrigger, table: Table) -> Signature:
    """Of its routine: OLD's fields, NEW's fields, the event."""
    if any(column.generated is not None for column in table.columns) or any(check.first for check in table.checks):
        raise Unsupported(f"{trigger.construct}, a table with generated columns or domains")
    if trigger.before and "truncate" in trigger.events:
        raise Unsupported(trigger.construct)
    fields = [Parameter(column.name, column.type) for column in table.columns]
    results = tuple((column.name, column.type) for column in table.columns) if trigger.before else ()
    parameters = (*fields, *fields, Parameter("tg_op", TEXT))
    return Signature(trigger.key, parameters, True, results, record=trigger.before, trigger=True)


def bound_trigger(trigger: RowTrigger, routine: Routine, table: Table, catalog: Catalog, dialect: Dialect) -> Trigger:
    """The trigger with its condition bound."""
    columns = None
    if trigger.columns is not None:
        known = [column.name for column in table.columns]
        if not set(trigger.columns) <= set(known):
            raise SchemaError(f"{trigger.construct}, of a column that the table does not have")
        columns = frozenset(known.index(name) for name in trigger.columns)
    outermost = trigger.condition is not None and _OUTERMOST.fullmatch(trigger.condition.text) is not None
    given = None if outermost else trigger.condition
    condition = None if given is None else _condition(given, table, catalog, dialect)
    return Trigger(
        trigger.name, trigger.before, trigger.events, columns, condition, routine, trigger.construct, outermost
    )  # fmt: skip


_OUTERMOST = pattern(r"[\s(]*(?:pg_catalog\s*\.\s*)?pg_trigger_depth\s*\(\s*\)\s*(?:=\s*0|<\s*1)[\s)]*", re.IGNORECASE)
"""The condition that no trigger is running (PostgreSQL 9.26)."""


class WithinTriggers(Mapping[str, tuple[Trigger, ...]]):
    """The triggers, by table, that what triggers write fires."""

    def __init__(self, triggers: Mapping[str, tuple[Trigger, ...]]) -> None:
        self._triggers = triggers

    def __getitem__(self, table: str) -> tuple[Trigger, ...]:
        return tuple(trigger for trigger in self._triggers[table] if not trigger.outermost)

    def __iter__(self) -> Iterator[str]:
        return iter(self._triggers)

    def __len__(self) -> int:
        return len(self._triggers)


def _condition(piece: Piece, table: Table, catalog: Catalog, dialect: Dialect) -> Expr:
    """WHEN, over the old row and then the new one."""
    context = Context(catalog, dialect, Parameters.none())
    width, row = len(table.columns), row_type(table)

    def version(name: str, start: int) -> ScopeTable:
        columns = [(c.name, Column(start + place, c.type, c.name)) for place, c in enumerate(table.columns)]
        return ScopeTable(name, tuple(columns), row=row)

    scope = Scope([version("old", 0), version("new", width)], [], 2 * width)
    condition = Binder(context, scope, "WHEN").condition(expression_node(piece, context))
    if has_queries(condition):
        raise Unsupported("a call of a function in WHEN of a trigger")
    return condition


def trigger_body(
    context: Context, frame: Frame, signature: Signature, table: Table, events: frozenset[str]
) -> tuple[Body, Names]:
    """What its body is bound with."""
    variables = [frame.slot(parameter.name, parameter.type) for parameter in signature.parameters]
    width = len(table.columns)
    old, new = (
        Record(name, [tuple(variables[start : start + width])], True, row_type(table))
        for name, start in (("old", 0), ("new", width))
    )
    names = Names(variables={"tg_op": variables[-1]}, records={"old": old, "new": new})
    body = Body(replace(context, refused=frozenset(_ABOUT)), frame, signature, ())
    body.versions = Versions(old, new, variables[-1], "delete" in events)
    for record in (old, new):
        body.flow.take(record, record.shapes[0])
    return body, names
