"""What may be written by what a schema's definitions say, where what uses them is not modelled.

A view, a routine, a type, a default, a check, a policy or a rule that is not modelled may call functions, which may
write; so whatever uses it, by reading too, may have written what its text reaches. That is told from words alone, since
there may be no tree: the names that a text has lead to the texts that define them, until nothing new comes. A text
that cannot be read, or that calls what the log does not define, reaches everything. Does not know what any of it means.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.refusals import forbid
from sql_semantics.frontend.names.schemas import in_schema, is_home
from sql_semantics.frontend.reach import Text, Word, words_with_names
from sql_semantics.ir.reach import NOTHING, Hidden, Reach
from sql_semantics.ir.schema import Catalog, Fired, Table
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import UNMODELLED_KINDS

_ROUTINES = frozenset({"FUNCTION", "PROCEDURE", "AGGREGATE", "MACRO"})
_KINDS = _ROUTINES | {"VIEW", "TABLE", "INDEX", "TRIGGER", "RULE", "POLICY", "TYPE", "DOMAIN"}
_ALL = {"insert", "update", "delete", "truncate"}
_ANYTHING = Reach(everything=True, session=True)
_NAME = pattern(r"\b(?:VIEW|TABLE|FUNCTION|PROCEDURE|AGGREGATE|TYPE|DOMAIN|ON)\s+[\"`]?([\w$]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reaches:
    """`hidden`: what names lead to; `own`: what the definitions of a table may change where rows are written to it."""

    hidden: Mapping[str, Hidden]
    own: Mapping[str, Reach]


def hidden_reaches(
    texts: Sequence[str], tables: Mapping[str, Table], dialect: Dialect, read: Mapping[str, Table]
) -> Reaches:
    """What the names of a schema lead to; `texts`: all its definitions, those that the log makes itself among them;
    `read`: tables as they were read at first."""
    partly = frozenset(name for name, table in tables.items() if _is_partly_modelled(read.get(name, table)))
    found = [_read(text, dialect) for text in dict.fromkeys(texts)]
    unread = {name: Hidden(_ANYTHING, _ANYTHING) for one in found if isinstance(one, _Unread) for name in one.names}
    definitions = [one for one in found if isinstance(one, _Definition)]
    hidden: dict[str, Hidden] = {
        name: Hidden()
        for one in definitions
        for name in one.subjects
        if one.kind in _ROUTINES | {"VIEW", "TYPE", "DOMAIN"} or name in tables
    } | unread
    catalog = Catalog(tables, hidden=hidden)
    while True:
        before = dict(hidden)
        # what a definition leads to is there for those that come after it in the same round
        closing = _Closing(catalog, dialect, partly, hidden, {})
        for one in definitions:
            closing.take(one)
        if hidden == before:
            return Reaches(hidden, closing.own)


def _is_partly_modelled(table: Table) -> bool:
    return bool(table.refused or any(column.unread for column in table.columns) or next(_unmodelled(table), ""))


def with_hidden(tables: Mapping[str, Table], own: Mapping[str, Reach], read: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with what parts of their definitions may change that are not modelled, as triggers might: a check, a
    generated column, the domain of a column. `read`: tables as they were read at first."""
    found = dict(tables)
    for name, reach in own.items():
        table = found.get(name)
        if table is None or table.refused or not (reach.writes or reach.session):
            continue
        reason = next(iter(_unmodelled(read.get(name, table))), "")
        if reason and (reach.everything or reach.session or reach.defines):
            forbid(name, ("insert", "update"), reason, found)
        elif reason:
            fired = tuple(Fired(event, reason, reach) for event in ("insert", "update"))
            found[name] = replace(table, fires=(*table.fires, *fired))
    return found


def _unmodelled(table: Table) -> Iterator[str]:
    """What of the definition of a table is not modelled that any write to it may use; a default is used by some."""
    yield from table.refusing
    for column in table.columns:
        if column.type.kind in UNMODELLED_KINDS:
            yield column.unread or column.type.name


# --- texts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition: its `kind`, the names of what it defines or belongs to, the `words` in which these lead to others,
    and the `bodies` of a routine or a trigger, None for one that cannot be read."""

    kind: str
    subjects: tuple[str, ...]
    words: tuple[Word, ...]
    bodies: tuple[tuple[Word, ...] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unread:
    """A text that has no words, with the names that it may define."""

    names: tuple[str, ...]


def _read(text: str, dialect: Dialect) -> _Definition | _Unread | None:
    try:
        words = words_with_names(text, dialect, ends=True)
    except Unsupported:
        return _Unread(tuple({name for match in _NAME.finditer(text) for name in (match[1], match[1].lower())}))
    place = next((n for n, word in enumerate(words[:9]) if word.text in _KINDS), None)
    if place is None or words[0].text not in ("CREATE", "ALTER"):
        return None
    kind = words[place].text
    if kind == "VIEW" and words[0].text == "ALTER":
        return None
    if kind in ("INDEX", "TRIGGER", "POLICY"):
        place = next((n for n, word in enumerate(words) if n > place and word.text == "ON"), place)
        name, after = _named(words, place + 1, dialect)
    elif kind == "RULE":
        return _Definition(kind, (), tuple(words[place + 1 :]))
    else:
        name, after = _named(words, place + 1, dialect)
    if name is None:
        return None
    subjects = tuple({found for found in (name.name, name.plain) if found is not None})
    rest = tuple(words[after:])
    if kind in _ROUTINES:
        return _Definition(kind, subjects, rest, tuple(_bodies(rest, kind, dialect)))
    if kind == "TRIGGER":
        starts = next((n for n, word in enumerate(rest) if word.text in ("BEGIN", "ROW")), None)
        inline = starts is not None and not any(word.text == "EXECUTE" for word in rest)
        return _Definition(kind, subjects, rest, (rest[starts + 1 :],) if inline and starts is not None else ())
    if kind == "VIEW":
        query = next((n for n, word in enumerate(rest) if word.text == "AS"), -1)
        rest = rest[query + 1 :]
    return _Definition(kind, subjects, rest)


def _named(words: Sequence[Word], place: int, dialect: Dialect) -> tuple[Word | None, int]:
    """The name at a place, as tables of its schema are called, and what stands after it."""
    while place < len(words) and words[place].text in ("IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"):
        place += 1
    schema = None
    while place + 2 < len(words) and words[place + 1].text == ".":
        schema, place = words[place].name, place + 2
    name = words[place].name if place < len(words) else None
    if name is None:
        return None, place
    away = schema is not None and dialect.home_schema is not None and not is_home(schema, dialect)
    return replace(words[place], name=in_schema(schema or "", name) if away else name), place + 1


def _bodies(words: Sequence[Word], kind: str, dialect: Dialect) -> Iterator[tuple[Word, ...] | None]:
    """The bodies of a routine: of a text in quotes its own words, or else what stands behind its parameters."""
    texts = [word.text for word in words]
    language = next((words[n + 1] for n, text in enumerate(texts[:-1]) if text == "LANGUAGE"), None)
    spoken = "" if language is None else (language.text or language.name or "").lower()
    quoted = [word for before, word in zip(texts, words[1:], strict=False) if before == "AS" and word.literal]
    if kind == "AGGREGATE":
        return
    if spoken not in ("", "sql", "plpgsql") or len(quoted) > 1 or (quoted and "SET" in texts):
        yield None
        return
    for word in quoted:
        try:
            yield tuple(words_with_names(word.name or "", dialect, ends=True))
        except Unsupported:
            yield None
    if not quoted:
        depths = accumulate({"(": 1, ")": -1}.get(text, 0) for text in texts)
        yield tuple(words[next((n + 1 for n, depth in enumerate(depths) if not depth), 0) :])


# --- what they lead to ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Closing:
    """One round: `found`, which is the catalog's `hidden`, grows by what each definition leads to;
    `partly`: the tables of which not all is modelled."""

    catalog: Catalog
    dialect: Dialect
    partly: frozenset[str]
    found: dict[str, Hidden]
    own: dict[str, Reach]

    def take(self, one: _Definition) -> None:
        """Add what a definition leads to."""
        text = Text(one.words, self.catalog, self.dialect)
        if one.kind in _ROUTINES:
            reach = text.mentioned()
            for body in one.bodies:
                reach = reach | (_ANYTHING if body is None else self._text(body).body_reach())
            self._add(one.subjects, Hidden(used=reach))
        elif one.kind == "VIEW":
            reach = text.calls() or text.mentioned()
            self._add(one.subjects, Hidden(reach, reach | self._written(self._tables(one.words))))
        elif one.kind in ("TYPE", "DOMAIN"):
            self._add(one.subjects, Hidden(used=text.calls(defining=True) or text.mentioned()))
        elif one.kind == "POLICY":
            self._add(one.subjects, Hidden(used=text.calls() or text.mentioned()))
        elif one.kind == "RULE":
            tables = self._tables(one.words)
            reach = (text.calls() or text.mentioned()) | self._written(tables)
            self._add(tables, Hidden(written=reach))
        elif one.kind == "TRIGGER":
            reach = text.calls() or text.mentioned()
            for body in one.bodies:
                reach = reach | (_ANYTHING if body is None else self._text(body).body_reach())
            self._add(one.subjects, Hidden(written=reach))
        else:
            self._take_table(one, text)

    def _take_table(self, one: _Definition, text: Text) -> None:
        calls = None if self.dialect.rules.definitions.psm_functions else text.calls(defining=True)
        reach = calls or text.mentioned()
        words = {word.text for word in one.words}
        others = self._tables(one.words) - set(one.subjects)
        for name in one.subjects:
            if name not in self.catalog.tables:
                continue
            written = reach if name in self.partly else NOTHING
            self.own[name] = self.own.get(name, NOTHING) | written
            if words & {"INHERITS", "INHERIT", "PARTITION"}:
                written = written | self._written(others)
                self._add(others, Hidden(written=self._written({name})))
            self._add((name,), Hidden(written=written))
            if self.catalog.tables[name].refused:
                self._add(others, Hidden(written=self._written({name})))  # its references may act

    def _add(self, names: Collection[str], hidden: Hidden) -> None:
        for name in names:
            if name in self.found or name in self.catalog.tables:
                self.found[name] = self.found.get(name, Hidden()) | hidden

    def _text(self, words: Sequence[Word]) -> Text:
        return Text(words, self.catalog, self.dialect)

    def _tables(self, words: Sequence[Word]) -> set[str]:
        """The tables and views that are named."""
        return set(Text(words, self.catalog, self.dialect).tables())

    def _written(self, names: Collection[str]) -> Reach:
        """What writing to any of these may change."""
        reach = NOTHING
        for name in names:
            reach = reach | Text((), self.catalog, self.dialect).on(name, _ALL)
        return reach
