"""Statements that read and write no modelled table, and what kind of probe each is (PostgreSQL manual, SQL commands;
MySQL manual 15.7; sqlite.org/pragma.html; DuckDB, Configuration).

Drivers and frameworks send them to ask what they talk to. They change nothing here, and what they answer is not judged.
A setting that changes what is modelled (time zone, search path, SQL mode, level of the session) is a probe only where
it is given the value that holds anyway; else it is refused by name. Works on tokens, since the parser knows few of
these texts. Does not know what a probe answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import Token, TokenType, exp

from sql_semantics.errors import Unreadable, Unsupported
from sql_semantics.frontend.probing.settings import judge_setting
from sql_semantics.frontend.text.syntax import Node, parse_one, tokens_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.settings import keeps_meaning


@dataclass(frozen=True, slots=True)
class Probe:
    """`kind`: ``empty``, ``setting``, ``show``, ``explain``, ``notification``, ``maintenance``, ``catalog``,
    ``session``; `what` it is, for people. `alone`: it commits the transaction that it stands in."""

    kind: str
    what: str
    alone: bool = False


_FIRST_WORDS = frozenset({"LOCK"}).union(
    *(words for rules in PRODUCTS.values() for words in rules.definitions.probe_words.values())
)
_FIRST_WORD = pattern(r"\s*([A-Za-z]*)")
"""The first word, where no comment hides it."""
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "INTO", "EXECUTE", "CALL", "CREATE"})
_QUERY = pattern(r"[\s(]*(SELECT|WITH|DO)\b", re.IGNORECASE)

_HARMLESS_CALLS = frozenset(
    {
        *(
            "coalesce",
            "nullif",
            "count",
            "sum",
            "min",
            "max",
            "bool_or",
            "bool_and",
            "array_agg",
            "string_agg",
            "concat",
        ),
        *("lower", "upper", "substring", "substr", "replace", "regexp_replace", "split_part", "position", "length"),
        *(
            "array",
            "array_to_string",
            "string_to_array",
            "unnest",
            "generate_series",
            "generate_subscripts",
            "row_number",
        ),
        *("json_build_object", "jsonb_build_object", "json_agg", "jsonb_agg", "to_json", "to_jsonb", "row_to_json"),
        *("quote_ident", "quote_literal", "format", "trim", "btrim", "ltrim", "rtrim", "left", "right", "abs", "mod"),
        *("array_length", "cardinality", "array_position", "array_upper", "array_lower", "array_append", "any_value"),
        *("group_concat", "ifnull", "if", "concat_ws", "greatest", "least", "exists", "any", "all", "cast", "unhex"),
    }
)


def probe_of(text: str, catalog: Catalog, dialect: Dialect) -> Probe | None:
    """What kind of probe a text is, None for none. Raises Unsupported for one that changes what is modelled.

    A query that binds is no probe, even if it asks of the session: its answer is judged.
    """
    if _QUERY.match(text):
        return _query_probe(text, catalog, dialect)
    words = words_of(text, dialect)
    if words is None:
        return None
    if not words:
        return Probe("empty", "an empty statement")
    first = words[0].upper()
    probes = dialect.rules.definitions.probe_words
    kind = next((kind for kind, known in probes.items() if first in known), None)
    return None if kind is None else _HANDLERS.get(kind, _plain)(kind, words, catalog, dialect)


def words_of(text: str, dialect: Dialect) -> list[str] | None:
    """The words of a text that may be one of these, without a semicolon at the end; None for any other."""
    found = _FIRST_WORD.match(text)
    if found is not None and found[1] and found[1].upper() not in _FIRST_WORDS:
        return None
    try:
        tokens = _spread(tokens_of(text, dialect.name), dialect)
    except Unreadable:
        return None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return [_word(token) for token in tokens]


def _spread(tokens: list[Token], dialect: Dialect) -> list[Token]:
    """The tokens of a command, whose rest the tokenizer keeps as one text."""
    if len(tokens) >= 2 and tokens[1].token_type is TokenType.STRING and tokens[0].token_type in _COMMANDS:
        tokens = [tokens[0], *tokens_of(tokens[1].text, dialect.name), *tokens[2:]]
    return tokens


_COMMANDS = frozenset({TokenType.COMMAND, TokenType.EXECUTE, TokenType.SHOW, TokenType.LOCK, TokenType.FETCH})


def _word(token: Token) -> str:
    """The text as it is compared: a quoted name keeps its case behind a mark, so that it is no keyword."""
    return f'"{token.text}"' if token.token_type is TokenType.IDENTIFIER else token.text


def _plain(kind: str, words: Sequence[str], catalog: Catalog, dialect: Dialect) -> Probe:
    return Probe(kind, words[0].upper())


def _setting(kind: str, words: Sequence[str], catalog: Catalog, dialect: Dialect) -> Probe:
    what, alone = judge_setting(words, dialect)
    return Probe(kind, what, alone)


def _explained(kind: str, words: Sequence[str], catalog: Catalog, dialect: Dialect) -> Probe:
    upper = [word.upper() for word in words]
    if "ANALYZE" in upper and not _WRITING.isdisjoint(upper):
        raise Unsupported("EXPLAIN ANALYZE of a statement that writes")
    if "ANALYZE" in upper and not {word.lower() for word in words}.isdisjoint({*catalog.procedures, "nextval"}):
        raise Unsupported("EXPLAIN ANALYZE of a statement that calls a routine")
    return Probe(kind, upper[0])


def _maintained(kind: str, words: Sequence[str], catalog: Catalog, dialect: Dialect) -> Probe:
    upper = [word.upper() for word in words]
    rules = dialect.rules.definitions
    if rules.analyze_runs_statements and upper[0] == "ANALYZE" and upper[1:2] not in (["TABLE"], ["TABLES"], ["LOCAL"]):
        raise Unsupported("ANALYZE of a statement")
    if upper[0] == "FLUSH" and "TABLES" in upper and "LOCK" in upper:
        raise Unsupported("FLUSH TABLES WITH READ LOCK")
    return Probe(kind, upper[0], alone=rules.maintenance_commits and upper[0] != "CHECKSUM")


_HANDLERS: Mapping[str, Callable[[str, Sequence[str], Catalog, Dialect], Probe]] = {
    "setting": _setting,
    "explain": _explained,
    "maintenance": _maintained,
}


# --- queries ------------------------------------------------------------------------------------------------------


def _query_probe(text: str, catalog: Catalog, dialect: Dialect) -> Probe | None:
    """A query of the system's catalog, or one without tables that asks of the session."""
    lower = text.lower()
    rules = dialect.rules.definitions
    names = rules.session_functions | rules.tried_functions
    mentions = any(name in lower for name in names) or "@@" in text
    system = any(f"{schema}." in lower or f'{schema}"' in lower for schema in rules.system_schemas)
    system = system or re.search(r"\b(pg_|sqlite_|pragma_|duckdb_)\w", lower) is not None
    if not (mentions or system):
        return None
    try:
        tree = parse_one(text, dialect.name, spelling=False)  # whatever else a call means to the product, it is asked
    except Unsupported:
        return None
    if not isinstance(tree, exp.Query) or tree.find(exp.Into, exp.DML, exp.Lock) is not None:
        return None
    common = {item.alias for item in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if table.name not in common or table.args.get("db")]
    if tables and not all(_is_system(table, catalog, dialect) for table in tables):
        return None
    called = [name for node in tree.find_all(exp.Func) if (name := _function_name(node)) is not None]
    allowed = names | _HARMLESS_CALLS
    if tables:
        risky = {"set_config", "nextval", "setval", "pg_export_snapshot"}
        if any(name in catalog.procedures or name in risky or name.startswith(("lo_", "dblink")) for name in called):
            return None
        return Probe("catalog", "a query of the system catalog")
    asked = [name for name in called if name in names]
    variables = list(tree.find_all(exp.SessionParameter))
    if not (asked or variables) or any(name not in allowed or name in catalog.procedures for name in called):
        return None
    _check_settings(tree, dialect)
    if any(name in rules.tried_functions for name in called) and tree.find(exp.Column, exp.Placeholder):
        return None
    return Probe("session", f"{asked[0]}()" if asked else "@@")


def _check_settings(tree: Node, dialect: Dialect) -> None:
    """Raises Unsupported for a set_config() of what is modelled to another value than holds anyway, as far as the text
    tells; see `settings_given`."""
    for name, value in settings_given(tree):
        given = value.this if isinstance(value, exp.Literal) else None
        if given is not None and not keeps_meaning(name, str(given), dialect):
            raise Unsupported(f"set_config() of {name}")


def settings_given(tree: Node) -> list[tuple[str, Node]]:
    """The names and the values of the set_config() calls of a query. Raises Unsupported for a computed name."""
    found: list[tuple[str, Node]] = []
    for call in tree.find_all(exp.Anonymous):
        if str(call.name or call.this).lower() != "set_config":
            continue
        if len(call.expressions) != 3 or not isinstance(call.expressions[0], exp.Literal):
            raise Unsupported("set_config() of a computed name")
        found.append((str(call.expressions[0].this), call.expressions[1]))
    return found


def _is_system(table: exp.Table, catalog: Catalog, dialect: Dialect) -> bool:
    rules = dialect.rules.definitions
    schema, name = table.db.lower(), table.name.lower()
    if isinstance(table.this, exp.Func):
        called = _function_name(table.this)
        return called is not None and (called in _HARMLESS_CALLS or re.match(rules.system_tables, called) is not None)
    if schema:
        known = schema in rules.system_schemas
        return known or (schema == "main" and re.match(rules.system_tables, name) is not None)
    return name not in catalog.tables and re.match(rules.system_tables, name) is not None


_OPERATORS = (exp.Binary, exp.Unary, exp.Case, exp.If, exp.Cast, exp.Subquery, exp.Array, exp.Interval)


def _function_name(node: Node) -> str | None:
    """A call's name in lower case; None for what is no call."""
    if isinstance(node, exp.Anonymous):
        return str(node.name or node.this).lower()
    if isinstance(node, _OPERATORS) or not isinstance(node, exp.Func):
        return None
    return _ALSO.get(type(node), node.sql_name().lower())


_ALSO: Mapping[type[Node], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentVersion: "version",
    exp.CurrentDatabase: "current_database",
    exp.CurrentSchema: "current_schema",
    exp.ParseJSON: "json",
}
