"""What a text that is not modelled may have written: told from its words, as there may be no tree.

The first word says what kind of statement it is, the words after it which tables it names, and every name before a
parenthesis must be one of the product's own functions. What is not told so is taken to reach everything. Does not know
what the statement answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import TokenType

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.schemas import in_schema, is_home, looked_up
from sql_semantics.frontend.text.builtins import is_builtin
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import tokens_of
from sql_semantics.ir.reach import ANYTHING, NOTHING, UNHIDDEN, Reach
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.walks.effects import reach_of_trigger, sets_others
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded, folded_table


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM", "("})
_IDLE = frozenset(
    {
        *("SHOW", "DESCRIBE", "DESC", "HELP", "COMMENT", "GRANT", "REVOKE", "REINDEX", "VACUUM", "CLUSTER", "ANALYZE"),
        *("ANALYSE", "CHECKPOINT", "LISTEN", "UNLISTEN", "NOTIFY", "LOCK", "UNLOCK", "DEALLOCATE", "KILL", "FLUSH"),
        *("CLOSE", "FETCH", "MOVE", "PREPARE", "CHECK", "OPTIMIZE", "SUMMARIZE", "SECURITY"),
    }
)
"""Statements that change no row and no definition. A cursor's or a prepared statement's text is judged where it
stands."""
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "COPY"})
_OTHER_UPDATES = frozenset({"FOR", "DO", "ON", "KEY", "THEN"})
"""What stands before UPDATE, or DELETE, where it begins no statement: FOR NO KEY UPDATE, DO UPDATE, ON DELETE."""
_WHOLE_SCHEMA = frozenset(
    {"FUNCTION", "PROCEDURE", "TRIGGER", "RULE", "POLICY", "OPERATOR", "CAST", "AGGREGATE", "EVENT"}
)
_ROUTINES = frozenset({"FUNCTION", "PROCEDURE", "ROUTINE"})
_NAMED = frozenset({"INTO", "AS", "WITH", "RECURSIVE", "TABLE", "REFERENCES", "JOIN", "ON", "UPDATE", "COPY", "OVER"})
"""A name after one of these, before a parenthesis, is no function."""
_KEYWORDS = _names(
    """
    system bernoulli all and any array as asc between both by case check coalesce collate concat conflict cross cube
    current desc distinct do else end escape except exists extract filter first for foreign from full grouping group
    having if ilike in index inner insert intersect interval into is isnull join key lateral left like limit
    materialized natural not notnull null nulls offset on only or order ordinality outer over overlaps partition
    position primary range recursive references returning right rollup row rows select set sets similar some
    substring table then ties to treat trim union unique unnest update using values when where window with within
    without xmltable char varchar character varying bpchar nvarchar text decimal numeric dec float double real bit
    varbit time timestamp timestamptz timetz interval datetime year binary varbinary blob tinyint smallint mediumint
    int integer bigint enum vector geometry geography struct map list
    """
)
"""Words that stand before a parenthesis and are no functions of the user's."""
_MEANING = _names(
    """
    search_path timezone time_zone datestyle intervalstyle extra_float_digits bytea_output
    standard_conforming_strings backslash_quote default_transaction_isolation transaction_isolation
    default_transaction_read_only transaction_read_only default_transaction_deferrable transaction_deferrable
    session_replication_role row_security role session_authorization client_encoding xmlbinary xmloption array_nulls
    transform_null_equals lc_messages lc_monetary lc_numeric lc_time default_text_search_config
    check_function_bodies escape_string_warning quote_all_identifiers lo_compat_privileges
    restrict_nonsystem_relation_kind
    """
)
"""PostgreSQL's settings that decide what a statement means; others decide how it is run, or are the user's own."""
_SETVAL = frozenset({"setval"})


@dataclass(frozen=True, slots=True)
class Word:
    """A token: its `text` in capitals, empty for a quoted name, and the name that it is, as one of a table and as one
    of anything else (`plain`); these are None for what can be none."""

    text: str
    name: str | None
    literal: bool = False
    plain: str | None = None


def reach_of(text: str, catalog: Catalog, dialect: Dialect) -> Reach:
    """What a statement of the log may have changed, whatever it means."""
    if dialect.rules.running.hash_comments and ("/*!" in text or "/*M!" in text):
        return ANYTHING  # a comment that is executed, which has no words here
    try:
        words = words_with_names(text, dialect)
    except Unsupported:
        return ANYTHING
    if not words:
        return NOTHING
    found = Text(words, catalog, dialect)
    return replace(found.reach(), named=found.tables())


def words_of(text: str, dialect: Dialect) -> list[str]:
    """The words of a text in capitals, ends of statements among them; empty ones for quoted names and literals. Raises
    Unsupported."""
    return [word.text for word in words_with_names(text, dialect, ends=True)]


def names_in(text: str, dialect: Dialect) -> frozenset[str]:
    """The names that a text mentions, keywords among them, folded as names of tables are. Raises Unsupported."""
    words = words_with_names(text, dialect)
    return frozenset(word.name for word in words if word.name is not None and not word.literal)


_DEFINING = frozenset({"CREATE", "ALTER", "DROP", "SET", "RESET", "COPY", "CALL", "DO", "LOCK", "COMMIT", "ROLLBACK"})
_BEGINNING = frozenset({"", ";", "BEGIN", "THEN", "ELSE", "LOOP"})


def reach_of_body(text: str, catalog: Catalog, dialect: Dialect) -> Reach | None:
    """What the statements of a routine's body may change; None where that cannot be told."""
    reach = Text(words_with_names(text, dialect, ends=True), catalog, dialect).body_reach()
    return None if reach.everything or reach.session or reach.defines else reach


_COMMANDS = frozenset({TokenType.COMMAND, TokenType.RENAME})


def words_with_names(text: str, dialect: Dialect, *, ends: bool = False) -> list[Word]:
    """The words of a text with the names that they may be; `ends`: the ends of statements among them. Raises
    Unsupported."""
    if re.search(r"\$[0-9]", text):  # $1,$2 is a dollar quote to the tokenizer
        text = rewrite(text, dialect.name, positional=False, named=False).text
    tokens = tokens_of(text, dialect.name)
    found: list[Word] = []
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.STRING and place and tokens[place - 1].token_type in _COMMANDS:
            # the tokenizer keeps a command's rest as one text
            found += words_with_names(token.text, dialect, ends=ends)
        elif token.token_type is TokenType.IDENTIFIER:
            found.append(_named("", token.text, dialect, quoted=True))
        elif token.token_type in _LITERALS:
            found.append(Word("", token.text, literal=True))
        elif ends or token.token_type is not TokenType.SEMICOLON:
            plain = re.fullmatch(r"[^\W\d][\w$]*", token.text) is not None
            upper = token.text.upper()
            found.append(_named(upper, token.text, dialect, quoted=False) if plain else Word(upper, None))
    return found


def _named(text: str, name: str, dialect: Dialect, *, quoted: bool) -> Word:
    return Word(text, folded_table(name, dialect, quoted=quoted), plain=folded(name, dialect, quoted=quoted))


_LITERALS = frozenset(kind for kind in TokenType if kind.name.endswith("STRING") or kind is TokenType.NUMBER)


_OPENING = _names(
    """
    DEFAULT SELECT AND OR NOT WHERE WHEN THEN ELSE CASE IN LIKE BETWEEN RETURN SET HAVING BY DISTINCT FROM JOIN LATERAL
    USING IS
    """
)
"""Words of a definition after which an expression may begin; behind others a name before a parenthesis is a type, a
table, a key or a method."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text by its words, over a catalog, and what it may change."""

    words: Sequence[Word]
    catalog: Catalog
    dialect: Dialect

    def reach(self) -> Reach:
        """What the statement may change."""
        first = self._text(0)
        if first == "EXPLAIN" and not {"ANALYZE", "ANALYSE"} & {word.text for word in self.words[1:4]}:
            return NOTHING
        if first in _IDLE:
            splits = self.dialect.rules.definitions.maintenance_commits and first not in (
                "SHOW",
                "DESCRIBE",
                "DESC",
                "HELP",
                "KILL",
            )
            return Reach(ends=splits, harmless=True)
        if first in ("SET", "RESET", "DISCARD", "USE", "PRAGMA"):
            return self._setting(first)
        if first in ("CREATE", "ALTER", "DROP", "RENAME", "REFRESH", "ATTACH", "DETACH"):
            return self._definition(first)
        if first == "CALL":
            return self._call()
        if first not in _QUERIES | _WRITING | {"EXPLAIN", "DECLARE"}:
            return ANYTHING
        called = self.calls()
        if called is not None:
            return called
        found = self.mentioned()
        writes = list(self.writes())
        if not writes and "INTO" in {word.text for word in self.words}:
            return found | Reach(defines=True, session=True)
        for reach in writes:
            found = found | reach
        return found

    def body_reach(self) -> Reach:
        """The same of the statements of a routine's body."""
        words = [word.text for word in self.words]
        for before, word in zip(["", *words], words, strict=False):
            if word in ("EXECUTE", "DBLINK") or (word in _DEFINING and before in _BEGINNING):
                return Reach(everything=True, session=True)
        called = self.calls()
        if called is not None:
            return called
        found = self.mentioned()
        for one in self.writes():
            found = found | one
        return found

    def mentioned(self) -> Reach:
        """What the names lead to that it has: views, routines, types, tables with policies."""
        found = NOTHING
        hidden = self.catalog.hidden
        for table in self.tables() if hidden else ():
            found = found | hidden.get(table, UNHIDDEN).used
        for word in self.words if hidden else ():
            for name in {word.name, word.plain} if not word.literal else ():
                if name is not None and name in hidden:
                    found = found | hidden[name].used
        return found

    def _text(self, place: int) -> str:
        return self.words[place].text if place < len(self.words) else ""

    def calls(self, *, defining: bool = False) -> Reach | None:
        """What functions may change that are called and of which no text is known; None for nothing. `defining`: the
        text is a definition, in which types and keys look like calls."""
        for place in range(1, len(self.words)):
            word = self.words[place - 1]
            if self._text(place) != "(" or word.plain is None:
                continue
            name = word.plain
            before = self._text(place - 2) if place > 1 else ""
            if name in _SETVAL:
                return Reach(everything=True)
            if name == "set_config":
                given = self.words[place + 1] if place + 1 < len(self.words) else None
                if given is None or not given.literal or _means(given.name or ""):
                    return Reach(session=True)
                continue
            if name in self.catalog.hidden:
                continue
            known = name in self.catalog.procedures or name in self.catalog.refused
            if not known and (name in _KEYWORDS or before in _NAMED or word.name in self.catalog.tables):
                continue
            if defining and before and before not in _OPENING and self.words[place - 2].name is not None:
                continue
            if known or not (self.dialect.rules.definitions.registered_functions or is_builtin(name, self.dialect)):
                return Reach(everything=True, session=True)
        return None

    def writes(self) -> Iterator[Reach]:
        """What each INSERT, UPDATE, DELETE, ... of the text changes."""
        for place, word in enumerate(self.words):
            before = self._text(place - 1) if place else ""
            if word.text not in _WRITING or self._text(place + 1) == "(" or before == ".":
                continue
            if word.text in ("UPDATE", "DELETE") and before in _OTHER_UPDATES:
                continue
            if word.text == "REPLACE" and before == "OR":
                continue
            yield self._write(place, word.text)

    def _write(self, place: int, verb: str) -> Reach:
        """What one INSERT, UPDATE, DELETE, ... that begins at a place changes itself."""
        place += 1
        while self._text(place) in ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "QUICK", "OR", "REPLACE",
                                     "ABORT", "FAIL", "ROLLBACK", "INTO", "FROM", "ONLY", "TABLE"):  # fmt: skip
            place += 1
        target, after = self._table(place)
        if target is None:
            return Reach(everything=True)
        if verb in ("INSERT", "REPLACE"):
            return self.on(target, {"insert"} | ({"update", "delete"} if self._may_replace() else set()))
        if verb == "UPDATE":
            columns = self._assigned(after)
            if columns is not None:
                return self.on(target, {"update"}, columns)
            return self._all_named("update")
        if verb == "DELETE":
            plain = self._text(after) in ("", "WHERE", "RETURNING", ")", "AS") or self.words[after].name is not None
            joined = any(word.text in ("JOIN", "USING") for word in self.words) or self._text(after) == ","
            return self.on(target, {"delete"}) if plain and not joined else self._all_named("delete")
        if verb == "MERGE":
            return self.on(target, {"insert", "update", "delete"})
        if verb == "COPY":
            writes = any(word.text in ("FROM", "STDIN") for word in self.words[after:])
            return self.on(target, {"insert"}) if writes else NOTHING
        found = self._all_named("truncate")
        return replace(found, everything=True) if "RESTART" in {word.text for word in self.words} else found

    def _may_replace(self) -> bool:
        return bool({"CONFLICT", "DUPLICATE", "REPLACE"} & {word.text for word in self.words})

    def _table(self, place: int) -> tuple[str | None, int]:
        """The table that is named at a place, and what stands after it; None for none of the log's."""
        word = self.words[place] if place < len(self.words) else None
        if word is not None and self._text(place + 1) == "." and place + 2 < len(self.words):
            whole = self._in_schema(place)
            if whole in self.catalog.tables and self._text(place + 3) != ".":
                return whole, place + 3
            if word.name is not None and is_home(word.name, self.dialect):
                place += 2
                word = self.words[place]
        if word is None or word.literal or word.name is None or self._text(place + 1) == ".":
            return None, place + 1
        name = looked_up(word.name, self.dialect, self.catalog.tables)
        return name if name in self.catalog.tables else None, place + 1

    def _in_schema(self, place: int) -> str:
        """The name of a table of another schema, whose qualifier stands at a place."""
        return in_schema(self.words[place].name or "", self.words[place + 2].name or "")

    def tables(self) -> frozenset[str]:
        """The tables and views that are named anywhere."""
        plain = (
            looked_up(word.name, self.dialect, self.catalog.tables)
            for word in self.words
            if word.name is not None and not word.literal
        )
        qualified = (self._in_schema(n) for n in range(len(self.words) - 2) if self._text(n + 1) == ".")
        return frozenset(name for name in (*plain, *qualified) if name in self.catalog.tables)

    def _all_named(self, action: str) -> Reach:
        """Every table that is named anywhere may be the one."""
        found = Reach()
        for name in sorted(self.tables()):
            found = found | self.on(name, {action})
        return found if found.writes else Reach(everything=True)

    def on(self, name: str, actions: set[str], columns: frozenset[str] | None = None) -> Reach:
        """The rows of one table, or of some of its columns only, and whatever hangs on them."""
        table = self.catalog.tables[name]
        if table.query is not None and name not in self.catalog.hidden:
            return Reach(everything=True)
        refused = table.refused or any(action in actions for action, _ in table.unwritable)
        rows = self._led_to(name, actions, columns)
        fired = NOTHING
        for written in rows | {name}:
            fired = fired | self.catalog.hidden.get(written, UNHIDDEN).written
            for one in self.catalog.tables[written].fires:
                fired = fired | one.reach
            for trigger in self.catalog.triggers.get(written, ()):
                fired = fired | reach_of_trigger(trigger, self.catalog)
        if columns is None or refused or sets_others(name, self.catalog):
            return Reach(rows=rows | {name}, harmless=True) | fired
        computed = {column.name for column in table.columns if column.generated is not None}
        return Reach(rows, frozenset((name, column) for column in columns | computed), harmless=True) | fired

    def _led_to(self, name: str, actions: set[str], columns: frozenset[str] | None) -> frozenset[str]:
        """The tables that the actions of foreign keys lead to from a write to a table, to some columns or to all."""
        found: set[str] = set()
        own = self.catalog.tables[name].name  # references name tables as they are kept, whatever a scope calls them
        open_ = [own] if actions - {"insert"} else []
        while open_:
            parent = open_.pop()
            for child, key in self.catalog.references_to(parent):
                acts = key.acts
                if parent == own and columns is not None and not self.catalog.tables[parent].refused:
                    keys = {self.catalog.tables[parent].columns[place].name for place in key.parent_columns}
                    acts = acts and bool(keys & columns)
                if acts and child.name not in found:
                    found.add(child.name)
                    open_.append(child.name)
            hanging = {table.name for table in self.catalog.tables.values() if parent in table.leans_on} - found
            found |= hanging
            open_ += hanging
        return frozenset(found)

    def _assigned(self, place: int) -> frozenset[str] | None:
        """The columns of ``SET a = ..., b = ...`` after the name of one table; None where they cannot be told."""
        while place < len(self.words) and self._text(place) != "SET":
            if self._text(place) not in ("AS", "") and self.words[place].name is None:
                return None
            if self._text(place) in ("JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "NATURAL", "STRAIGHT_JOIN"):
                return None
            place += 1
        found: set[str] = set()
        depth = 0
        expects = True
        for word, following in zip(self.words[place + 1 :], [*self.words[place + 2 :], Word("", None)], strict=False):
            if expects:
                if word.plain is None or following.text not in ("=", ":=", "."):
                    return None
                if following.text != ".":
                    found.add(word.plain)
                    expects = False
                continue
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word.text, 0)
            if depth < 0 or (not depth and word.text in ("WHERE", "FROM", "RETURNING", "ORDER", "LIMIT")):
                break
            expects = not depth and word.text == ","
        return frozenset(found) if found else None

    def _call(self) -> Reach:
        name = self.words[1].plain if len(self.words) > 1 else None
        if name is None or name not in self.catalog.hidden:
            return replace(ANYTHING, defines=False)
        ends = Reach(ends=self.dialect.rules.definitions.calls_may_end)
        return (self.calls() or self.mentioned()) | ends

    def _setting(self, first: str) -> Reach:
        names = [word.plain.lower() for word in self.words[1:4] if word.plain and word.text not in ("SESSION", "LOCAL")]
        if first == "PRAGMA":
            marks = {word.text for word in self.words}
            reads = "=" not in marks and ("(" not in marks or (names[:1] and names[0] in _READ_PRAGMAS))
            return NOTHING if reads else Reach(session=True)
        if self.dialect.rules.definitions.set_names_a_setting and first in ("SET", "RESET") and names:
            dotted = len(self.words) > 2 and "." in {word.text for word in self.words[2:5]}
            name = f"{names[0]}.{names[-1]}" if dotted else names[0]
            if name not in ("transaction", "time", "session", "constraints", "names", "schema", "all", "xml"):
                return Reach(session=_means(name), harmless=True)
        elif first == "SET":  # MySQL's values are expressions
            return (self.calls() or self.mentioned()) | Reach(session=True)
        if first == "DISCARD" and self._text(1) in ("PLANS", "SEQUENCES"):
            return NOTHING
        return Reach(session=True)

    def _definition(self, first: str) -> Reach:
        kinds = {word.text for word in self.words[1:6]}
        splits = self.dialect.rules.definitions.definitions_commit
        if kinds & _ROUTINES and not self._concerns_others():
            return Reach(defines=True, ends=splits)  # it is not run, and what it was is out of use
        if kinds & _WHOLE_SCHEMA or (first != "CREATE" and "SEQUENCE" in kinds):
            return Reach(everything=True, defines=True, ends=splits)
        found = Reach(rows=self.tables(), defines=True, ends=splits)
        if "VIEW" in kinds and not {"MATERIALIZED", "REFRESH"} & {first, *kinds}:
            return found
        return found | (self.calls(defining=True) or self.mentioned())

    def _concerns_others(self) -> bool:
        """Whether a definition of a routine may be about one of the product's own, or take others along."""
        names = {word.plain for word in self.words if word.plain is not None and not word.literal}
        place = next(n for n, word in enumerate(self.words) if word.text in _ROUTINES)
        while self._text(place + 2) == ".":
            place += 2
        name = self.words[place + 1].plain if place + 1 < len(self.words) else None
        return "cascade" in names or name is None or is_builtin(name, self.dialect)


_READ_PRAGMAS = _names(
    """
    table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list database_list
    collation_list function_list compile_options integrity_check quick_check user_version schema_version page_count
    page_size
    """
)


def _means(name: str) -> bool:
    """Whether a setting of PostgreSQL's decides what a statement means."""
    return name.lower() in _MEANING or name.lower().startswith("plpgsql.")
