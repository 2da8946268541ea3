"""The outside of CREATE PROCEDURE and CREATE FUNCTION: name, parameters, result, language, body text (paper Fig. 2).

SQL/PSM texts are parsed whole; of PostgreSQL's the header is read from tokens, in any order of its clauses, and the
body goes to the reader of its language. Sources: PostgreSQL manual, CREATE FUNCTION and CREATE PROCEDURE; MySQL manual
15.1.17. Does not know types.
"""

from __future__ import annotations

import re
from itertools import pairwise

from lark import Tree

from sql_semantics.errors import SchemaError, Unreadable, Unsupported
from sql_semantics.frontend.routines.skeleton import Block, Item, Piece, Reader, Simple, parse, tokens
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written, unquoted

_PSM_CHARACTERISTIC = (
    r"LANGUAGE\s+SQL|NOT\s+DETERMINISTIC|DETERMINISTIC|CONTAINS\s+SQL|NO\s+SQL|READS\s+SQL\s+DATA"
    r"|MODIFIES\s+SQL\s+DATA|SQL\s+SECURITY\s+(?:DEFINER|INVOKER)|COMMENT\s+'(?:[^'\\]|''|\\.)*'"
)
_PSM_CHARACTERISTICS = pattern(rf"(?:(?:{_PSM_CHARACTERISTIC})\s*)*\Z", re.IGNORECASE)
_PSM_RETURNS = pattern(rf"\s*RETURNS\s+(.*?)\s*((?:\b(?:{_PSM_CHARACTERISTIC})\s*)*)\Z", re.IGNORECASE | re.DOTALL)
_DEFINER = pattern(r"(\s*CREATE\s+(?:OR\s+REPLACE\s+)?)(DEFINER\s*=\s*\S+?(?:\s*@\s*\S+)?)(\s+)", re.IGNORECASE)
_REPLACE = pattern(r"(\s*CREATE\s+)(OR\s+REPLACE)(\s)", re.IGNORECASE)
_PG_WORDS = pattern(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:PROCEDURE|FUNCTION)\s", re.IGNORECASE)
_TWO_WORD_TYPES = {
    "DOUBLE": ("PRECISION",),
    "CHARACTER": ("VARYING", "("),
    "CHAR": ("VARYING", "("),
    "NATIONAL": ("CHARACTER", "CHAR"),
    "TIMESTAMP": ("WITH", "WITHOUT", "("),
    "TIME": ("WITH", "WITHOUT", "("),
    "BIT": ("VARYING", "("),
}


@dataclass(frozen=True, slots=True)
class WrittenParameter:
    """A parameter as written, its `name` folded; "" for none."""

    name: str
    type: str
    mode: str = "in"
    default: Piece | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """`language` is psm, plpgsql or sql; the body of sql is a block of its statements. `returns` is the text of the
    result type, `table` the columns of RETURNS TABLE."""

    name: str
    function: bool
    language: str
    parameters: tuple[WrittenParameter, ...]
    body: Block
    returns: str | None = None
    table: tuple[WrittenParameter, ...] | None = None
    rows: bool = False
    strict: bool = False
    stable: bool = False
    replace: bool = False
    text: str = ""


def _plain(text: str, dialect: str) -> str:
    """The text without block comments, and ``$1`` as a quoted name, which the parser takes for no quote of a text."""
    found = rewrite(text, dialect, positional=False, named=False)
    return re.sub(r" :(bound_\d+) ", lambda match: f'"${int(found.keys[match.group(1)]) + 1}"', found.text)


def read_header(text: str, dialect: Dialect) -> Header:
    """The routine that a CREATE statement makes. Raises SchemaError, Unsupported."""
    rules = dialect.rules.definitions
    text = _plain(text, dialect.name)
    if re.match(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?AGGREGATE\b", text, re.IGNORECASE):
        raise Unsupported("CREATE AGGREGATE")
    if rules.routine_languages and _PG_WORDS.match(text) and not _is_psm(text):
        return _with_language(text, dialect)
    return _psm(text, dialect)


# --- SQL/PSM ----------------------------------------------------------------------------------------------------


def _is_psm(text: str) -> bool:
    """Whether a body in the paper's form follows the parameters directly."""
    piece = tokens(text, "plpgsql")
    words = piece.words()
    close = next((i for i, token in enumerate(piece.tokens) if token[0] == "RPAR" and token[4] == 0), len(words))
    following = words[close + 1 : close + 3]
    return not following or (following[0] in ("BEGIN", "SELECT", "INSERT", "UPDATE", "DELETE", "CALL", "IF") and (
        following[1:] != ["ATOMIC"]
    ))  # fmt: skip


def _psm(text: str, dialect: Dialect) -> Header:
    replace = bool(_REPLACE.match(text))
    if replace and not dialect.rules.definitions.or_replace_psm:
        raise Unsupported("CREATE OR REPLACE of a routine without a language")
    for one in (_REPLACE, _DEFINER):
        text = one.sub(lambda m: m.group(1) + " " * len(m.group(2)) + m.group(3), text, count=1)
    if re.match(r"\s*CREATE\s+(?:PROCEDURE|FUNCTION)\s+IF\s+NOT\s+EXISTS\b", text, re.IGNORECASE):
        raise Unsupported("CREATE PROCEDURE IF NOT EXISTS")
    if re.match(r"\s*CREATE\s+(?:PROCEDURE|FUNCTION)\s+[\w$`\"]+\s*\.", text, re.IGNORECASE):
        raise Unsupported("qualified procedure name")
    if re.search(r"\$\w*\$", text) or re.search(r"\bLANGUAGE\s+(?!SQL\b)\w+", text, re.IGNORECASE):
        raise Unsupported("a procedure body in another language than SQL/PSM")
    if re.search(r"\)\s[^();]*\bAS\s+'", text, re.IGNORECASE):
        raise Unsupported("AS in a procedure")
    tree = parse(text, dialect.rules.definitions.psm_spelling)
    reader = Reader(text)
    trees = [child for child in tree.children if isinstance(child, Tree)]
    function = any(str(child).upper() == "FUNCTION" for child in tree.children[:2])
    name = folded_written(reader.span(trees[0]), dialect)
    parameters = []
    for child in trees:
        if child.data == "parameter":
            parts = {str(part.data): part for part in child.children if isinstance(part, Tree)}
            mode = reader.span(parts["mode"]).lower() if "mode" in parts else "in"
            if function and "mode" in parts and mode != "in":
                raise Unsupported(f"{mode.upper()} parameter of a function")
            written = folded_written(reader.span(parts["name"]).removeprefix("@"), dialect)
            parameters.append(WrittenParameter(written, reader.span(parts["type"]), mode))
    words = " ".join(reader.span(child) for child in trees if child.data == "words")
    returns = None
    if function:
        match = _PSM_RETURNS.match(words)
        if match is None:
            raise SchemaError(f"function {name!r} without RETURNS")
        returns, words = match.group(1), match.group(2)
    if not _PSM_CHARACTERISTICS.match(words):
        raise Unsupported(f"characteristic {words} of a procedure")
    item = reader.item(trees[-1])
    body = item if isinstance(item, Block) else Block((item,))
    return Header(name, function, "psm", tuple(parameters), body, returns, replace=replace, text=text)


# --- PostgreSQL -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Clauses:
    """What has been read of the clauses after the parameters."""

    language: str | None = None
    body: str | None = None
    returns: str | None = None
    table: tuple[WrittenParameter, ...] | None = None
    rows: bool = False
    strict: bool = False
    stable: bool = False
    statements: tuple[Item, ...] | None = None


def _with_language(text: str, dialect: Dialect) -> Header:
    piece = tokens(text, "plpgsql")
    words = piece.words()
    place = 1
    replace = words[1:3] == ["OR", "REPLACE"]
    place += 2 * replace
    function = words[place] == "FUNCTION"
    name = piece.tokens[place + 1][1]
    place += 2
    if words[place] == ".":
        if folded_written(name, dialect) != "public":
            raise Unsupported("qualified procedure name")
        name = piece.tokens[place + 1][1]
        place += 2
    if words[place : place + 1] != ["("]:
        raise SchemaError(f"CREATE {'FUNCTION' if function else 'PROCEDURE'} {name} without parameters")
    close = _closing(piece, place)
    parameters = _parameters(piece.slice(place + 1, close), dialect)
    clauses = _clauses(piece, close + 1, dialect)
    if clauses.statements is not None:
        if clauses.language not in (None, "sql"):
            raise SchemaError(f"a body of statements in language {clauses.language}")
        language, body = "sql", Block(clauses.statements)
    elif clauses.body is None or clauses.language is None:
        raise SchemaError(f"routine {name} without {'a body' if clauses.body is None else 'LANGUAGE'}")
    else:
        language = clauses.language
        text = _plain(clauses.body, dialect.name)
        body = _body(text, language)
    return Header(
        folded_written(name, dialect), function, language, parameters, body, clauses.returns,
        clauses.table, clauses.rows, clauses.strict, clauses.stable, replace, text,
    )  # fmt: skip


def _body(text: str, language: str) -> Block:
    if language == "plpgsql":
        if re.match(r"\s*#", text):
            raise Unsupported("a compiler option of PL/pgSQL")
        tree = parse(text, "plpgsql")
        found = Reader(text).item(next(child for child in tree.children if isinstance(child, Tree)))
        if not isinstance(found, Block):
            raise AssertionError("a body that is no block")
        return found
    if language == "sql":
        return Block(_statements(tokens(text, "plpgsql")))
    raise Unsupported(f"a procedure body in language {language}")


def _statements(piece: Piece) -> tuple[Item, ...]:
    """The statements between semicolons."""
    cuts = [i for i, token in enumerate(piece.tokens) if token[0] == "SEMI"]
    edges = [-1, *cuts, len(piece.tokens)]
    parts = [piece.slice(a + 1, b) for a, b in pairwise(edges)]
    return tuple(Simple(part) for part in parts if part.tokens)


def _closing(piece: Piece, opening: int) -> int:
    """The index of the parenthesis that closes the one at `opening`."""
    depth = piece.tokens[opening][4]
    for index in range(opening + 1, len(piece.tokens)):
        if piece.tokens[index][0] == "RPAR" and piece.tokens[index][4] == depth:
            return index
    raise SchemaError("a parenthesis that is not closed")


def _parameters(piece: Piece, dialect: Dialect) -> tuple[WrittenParameter, ...]:
    if not piece.tokens:
        return ()
    return tuple(_parameter(part, dialect) for part in piece.split())


def _parameter(piece: Piece, dialect: Dialect) -> WrittenParameter:
    mode = "in"
    words = piece.words()
    if words and words[0] in ("IN", "OUT", "INOUT", "VARIADIC"):
        mode = words[0].lower()
        if mode == "variadic":
            raise Unsupported("VARIADIC parameter")
        piece, words = piece.slice(1), words[1:]
    default = None
    cut = piece.find("DEFAULT", "=", ":=")
    if cut >= 0:
        default = piece.slice(cut + 1)
        piece, words = piece.slice(0, cut), words[:cut]
    if not words:
        raise SchemaError("a parameter without a type")
    named = len(words) > 1 and words[1] not in ("(", ".", "[", "%")
    if named and words[1] in _TWO_WORD_TYPES.get(words[0], ()):
        named = False
    if not named:
        return WrittenParameter("", piece.text, mode, default)
    return WrittenParameter(folded_written(piece.tokens[0][1], dialect), piece.slice(1).text, mode, default)


_CLAUSE_STARTS = frozenset(
    {
        *("LANGUAGE", "AS", "IMMUTABLE", "STABLE", "VOLATILE", "STRICT", "CALLED", "RETURNS", "SECURITY", "EXTERNAL"),
        *("PARALLEL", "COST", "ROWS", "SET", "LEAKPROOF", "NOT", "RETURN", "BEGIN", "WINDOW", "TRANSFORM", "SUPPORT"),
    }
)


_UNFINISHED = (["RETURNS"], ["LANGUAGE"], ["NOT"], ["AS"], ["BEGIN"])


def _clauses(piece: Piece, place: int, dialect: Dialect) -> _Clauses:
    found = _Clauses()
    words = piece.words()
    if words[-1:] in _UNFINISHED or words[-2:] in (["RETURNS", "SETOF"], ["RETURNS", "TABLE"]):
        raise Unreadable(f"{words[-1]} without what belongs to it in CREATE FUNCTION or CREATE PROCEDURE")
    while place < len(words):
        word = words[place]
        match word:
            case ";":
                place += 1
            case "RETURNS" if words[place + 1 : place + 5] == ["NULL", "ON", "NULL", "INPUT"]:
                found.strict, place = True, place + 5
            case "RETURNS" if words[place + 1] == "TABLE":
                close = _closing(piece, place + 2)
                found.table, found.rows = _parameters(piece.slice(place + 3, close), dialect), True
                place = close + 1
            case "RETURNS":
                place += 1
                if words[place] == "SETOF":
                    found.rows, place = True, place + 1
                end = place + 1
                while end < len(words) and words[end] not in _CLAUSE_STARTS:
                    end += 1
                found.returns, place = piece.slice(place, end).text, end
            case "LANGUAGE":
                found.language = unquoted(piece.tokens[place + 1][1].strip("'")).lower()
                place += 2
            case "IMMUTABLE" | "STABLE":
                found.stable, place = True, place + 1
            case "VOLATILE" | "LEAKPROOF":
                place += 1
            case "NOT" if words[place + 1] == "LEAKPROOF":
                place += 2
            case "STRICT":
                found.strict, place = True, place + 1
            case "CALLED":
                place += 4
            case "SECURITY" | "PARALLEL" | "COST" | "ROWS":
                place += 2
            case "AS":
                found.body, place = _string(piece.tokens[place + 1][1]), place + 2
            case "RETURN":
                end = piece.find(";", start=place)
                end = len(words) if end < 0 else end
                found.statements, place = (Simple(piece.slice(place, end)),), end
            case "BEGIN" if words[place + 1] == "ATOMIC":
                found.statements, place = _statements(piece.slice(place + 2, _last_end(words))), len(words)
            case _:
                raise Unsupported(f"{word} in CREATE FUNCTION or CREATE PROCEDURE")
    return found


def _last_end(words: list[str]) -> int:
    for index in range(len(words) - 1, -1, -1):
        if words[index] == "END":
            return index
    raise SchemaError("BEGIN ATOMIC without END")


def _string(token: str) -> str:
    """The text of a string literal."""
    if token.startswith("$"):
        tag = token[: token.index("$", 1) + 1]
        return token[len(tag) : -len(tag)]
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    raise Unsupported("a routine body that is no plain string")
