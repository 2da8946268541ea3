"""A procedure's text into its skeleton: parameters, blocks, and pieces of SQL text (paper §3.1, Fig. 2).

Uses the grammar in procedures.lark. Keeps apart text that cannot be read (SchemaError) and constructs that can be read
but are not modelled (Unsupported). Does not know names, types or SQL.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.placeholders import rewrite

_LITERALS = {
    True: r"""
STRING: /'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"/s
QUOTED: /`(?:[^`]|``)*`/
HASH: /#[^\n]*/
%ignore HASH
""",
    False: r"""
STRING: /'(?:[^']|'')*'/s
QUOTED: /"(?:[^"]|"")*"/
""",
}

_STATEMENTS = frozenset(
    {
        *("WHILE", "LOOP", "REPEAT", "CASE", "LEAVE", "ITERATE", "FOR", "EXIT", "CONTINUE"),
        *("OPEN", "FETCH", "CLOSE", "SIGNAL", "RESIGNAL", "RETURN", "GET", "RAISE", "PERFORM"),
        *("PREPARE", "EXECUTE", "DEALLOCATE", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "LOCK", "UNLOCK"),
        *("WITH", "REPLACE", "CREATE", "DROP", "ALTER", "TRUNCATE", "DO"),
    }
)
_HEADERS = (
    (r"CREATE\s+OR\s+REPLACE\b", "CREATE OR REPLACE PROCEDURE"),
    (r"CREATE\s+DEFINER\b", "CREATE DEFINER"),
    (r"CREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\b", "CREATE FUNCTION"),
    (r"CREATE\s+PROCEDURE\s+IF\s+NOT\s+EXISTS\b", "CREATE PROCEDURE IF NOT EXISTS"),
    (r"CREATE\s+PROCEDURE\s+[\w$`\"]+\s*\.", "qualified procedure name"),
)
_CHARACTERISTICS = re.compile(
    r"(?:LANGUAGE SQL|NOT DETERMINISTIC|DETERMINISTIC|CONTAINS SQL|NO SQL|READS SQL DATA|MODIFIES SQL DATA"
    r"|SQL SECURITY DEFINER|SQL SECURITY INVOKER|COMMENT '(?:[^'\\]|''|\\.)*'|\s)*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """SQL text cut out of a procedure; `tokens` are (kind, text, start, end, depth of parentheses and CASE)."""

    text: str
    tokens: tuple[tuple[str, str, int, int, int], ...]

    def slice(self, first: int, last: int | None = None) -> Piece:
        """The text from token `first` up to, but not including, token `last`."""
        tokens = self.tokens[first:last]
        if not tokens:
            return Piece("", ())
        start = tokens[0][2]
        moved = tuple((kind, text, a - start, b - start, depth) for kind, text, a, b, depth in tokens)
        return Piece(self.text[start : tokens[-1][3]], moved)

    def split(self) -> list[Piece]:
        """The parts between commas outside parentheses."""
        cuts = [i for i, token in enumerate(self.tokens) if token[0] == "COMMA" and token[4] == 0]
        edges = [-1, *cuts, len(self.tokens)]
        return [self.slice(a + 1, b) for a, b in itertools.pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Sql:
    """An embedded SQL statement."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE, without the keyword."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Assign:
    """SET, without the keyword."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Branches:
    """IF: conditions with their bodies, and the ELSE body."""

    branches: tuple[tuple[Piece, tuple[Item, ...]], ...]
    otherwise: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """BEGIN ... END, a scope of its own."""

    items: tuple[Item, ...]


Item = Sql | Declare | Assign | Branches | Block


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A procedure: its name and parameters (name, type text) as written, and its body."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    body: Block


@functools.cache
def _parser(mysql: bool) -> Lark:
    grammar = resources.files(__package__).joinpath("procedures.lark").read_text(encoding="utf-8")
    return Lark(grammar + _LITERALS[mysql], parser="lalr", lexer="basic", propagate_positions=True)


def read_skeleton(text: str, dialect: str) -> Skeleton:
    """The skeleton of one CREATE PROCEDURE. Raises SchemaError, Unsupported."""
    text = rewrite(text, dialect, positional=False, named=False).text
    for pattern, construct in _HEADERS:
        if re.match(r"\s*" + pattern, text, re.IGNORECASE):
            raise Unsupported(construct)
    if re.search(r"\$\w*\$", text) or re.search(r"\bLANGUAGE\s+(?!SQL\b)\w+", text, re.IGNORECASE):
        raise Unsupported("a procedure body in another language than SQL/PSM")
    parser = _parser(dialect == "mysql")
    try:
        _refuse_statements(list(parser.lex(text)))
        tree = parser.parse(text)
    except LarkError as error:
        first = str(error).splitlines()[0]
        raise SchemaError(f"a procedure that cannot be read: {first}") from error
    return _Reader(text).skeleton(tree)


def _refuse_statements(tokens: list[Token]) -> None:
    """Name the statements that the grammar has no rule for, before it calls them unreadable."""
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        word = token.value.upper()
        if before.type == "OP" and token.type == "BEGIN":
            raise Unsupported("label of a block")
        if before.type not in ("SEMI", "BEGIN", "THEN", "ELSE"):
            continue
        if word in _STATEMENTS and token.type != "STRING":
            raise Unsupported(f"{word} in a procedure")
        if token.type == "NAME" and after is not None and after.value == ":":
            raise Unsupported("label in a procedure")


class _Reader:
    """Turns the parse tree into a skeleton; `text` is what its positions point into."""

    def __init__(self, text: str) -> None:
        self.text = text

    def skeleton(self, tree: Tree[Token]) -> Skeleton:
        children = tree.children
        trees = [child for child in children if isinstance(child, Tree)]
        name = self.span(next(child for child in trees if child.data == "name"))
        parameters: list[tuple[str, str]] = []
        for child in trees:
            if child.data == "parameter":
                parts = {str(part.data): part for part in child.children if isinstance(part, Tree)}
                mode = self.span(parts["mode"]).upper() if "mode" in parts else "IN"
                if mode != "IN":
                    raise Unsupported(f"{mode} parameter")
                parameters.append((self.span(parts["name"]), self.span(parts["type"])))
        words = " ".join(self.span(child) for child in trees if child.data == "characteristic")
        if not _CHARACTERISTICS.match(words):
            raise Unsupported(f"characteristic {words} of a procedure")
        body = trees[-1]
        block = self.block(body) if body.data == "block" else Block((Sql(self.piece(body)),))
        return Skeleton(name, tuple(parameters), block)

    def span(self, tree: Tree[Token]) -> str:
        return self.text[tree.meta.start_pos : tree.meta.end_pos]

    def block(self, tree: Tree[Token]) -> Block:
        return Block(self.items(tree))

    def items(self, tree: Tree[Token]) -> tuple[Item, ...]:
        found: list[Item] = []
        for child in tree.children:
            if isinstance(child, Tree):
                inner = next(part for part in child.children if isinstance(part, Tree))
                found.append(self.item(inner))
        return tuple(found)

    def item(self, tree: Tree[Token]) -> Item:
        if tree.data == "block":
            return self.block(tree)
        if tree.data == "sql":
            return Sql(self.piece(tree))
        if tree.data == "if_":
            return self.branches(tree)
        inner = next(part for part in tree.children if isinstance(part, Tree))
        return Declare(self.piece(inner)) if tree.data == "declare" else Assign(self.piece(inner))

    def branches(self, tree: Tree[Token]) -> Branches:
        parts = [part for part in tree.children if isinstance(part, Tree)]
        otherwise = self.items(parts.pop()) if len(parts) % 2 else ()
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return Branches(tuple((self.piece(piece), self.items(body)) for piece, body in pairs), otherwise)

    def piece(self, tree: Tree[Token]) -> Piece:
        start = tree.meta.start_pos
        tokens = tuple(
            (token.type, str(token), (token.start_pos or 0) - start, (token.end_pos or 0) - start, depth)
            for token, depth in _tokens(tree, 0)
        )
        return Piece(self.text[start : tree.meta.end_pos], tokens)


def _tokens(tree: Tree[Token], depth: int) -> Iterator[tuple[Token, int]]:
    for child in tree.children:
        if isinstance(child, Token):
            yield child, depth
        else:
            yield from _tokens(child, depth + (child.data in ("group", "case")))
