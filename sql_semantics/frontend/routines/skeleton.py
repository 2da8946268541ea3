"""A routine's text into its skeleton: blocks, control flow, and pieces of SQL text (paper §3.1, Fig. 2).

Uses the grammars psm.lark (SQL/PSM) and plpgsql.lark, which name their rules alike. Text that cannot be read is a
SchemaError. Does not know names, types or SQL.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from importlib import resources

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from sql_semantics.errors import SchemaError
from sql_semantics.records import dataclass

_PSM_LITERALS = {
    "backquotes": r"""
STRING: /'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"/s
QUOTED: /`(?:[^`]|``)*`/
HASH: /#[^\n]*/
%ignore HASH
""",
    "standard": r"""
STRING: /'(?:[^']|'')*'/s
QUOTED: /"(?:[^"]|"")*"/
""",
}

Word = tuple[str, str, int, int, int]
"""(kind, text, start, end, depth of parentheses and CASE)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """SQL text cut out of a routine, with its tokens."""

    text: str
    tokens: tuple[Word, ...]

    def slice(self, first: int, last: int | None = None) -> Piece:
        """The text from token `first` up to, but not including, token `last`."""
        tokens = self.tokens[first:last]
        if not tokens:
            return Piece("", ())
        start, base = tokens[0][2], tokens[0][4]
        moved = tuple((kind, text, a - start, b - start, depth - base) for kind, text, a, b, depth in tokens)
        return Piece(self.text[start : tokens[-1][3]], moved)

    def split(self) -> list[Piece]:
        """The parts between commas outside parentheses."""
        cuts = [i for i, token in enumerate(self.tokens) if token[0] == "COMMA" and token[4] == 0]
        edges = [-1, *cuts, len(self.tokens)]
        return [self.slice(a + 1, b) for a, b in itertools.pairwise(edges)]

    def words(self) -> list[str]:
        """The tokens in upper case; quoted ones as they are."""
        return [text if kind in ("STRING", "QUOTED", "DOLLAR") else text.upper() for kind, text, *_ in self.tokens]

    def find(self, *words: str, start: int = 0) -> int:
        """The first token outside parentheses from `start` on that is one of these words, or -1."""
        for index, word in enumerate(self.words()):
            if index >= start and word in words and self.tokens[index][4] == 0:
                return index
        return -1


@dataclass(frozen=True, slots=True)
class Simple:
    """A statement without statements inside."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE of SQL/PSM, without the keyword."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class HandlerItem:
    """``DECLARE action HANDLER FOR conditions body`` of SQL/PSM."""

    action: str
    conditions: tuple[Piece, ...]
    body: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """IF: conditions with their bodies, and the ELSE body."""

    branches: tuple[tuple[Piece, tuple[Item, ...]], ...]
    otherwise: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The CASE statement; `otherwise` None without ELSE, `subject` None for the searched form."""

    subject: Piece | None
    branches: tuple[tuple[Piece, tuple[Item, ...]], ...]
    otherwise: tuple[Item, ...] | None


@dataclass(frozen=True, slots=True)
class Rounds:
    """A loop of `kind` loop, while_, repeat, for_ or foreach_; `head` is its condition (of UNTIL too) or what follows
    FOR or FOREACH."""

    kind: str
    label: str | None
    head: Piece | None
    body: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """BEGIN ... END, a scope of its own. PL/pgSQL: with the pieces of DECLARE, and EXCEPTION clauses."""

    items: tuple[Item, ...]
    label: str | None = None
    declarations: tuple[Piece, ...] = ()
    exceptions: tuple[tuple[Piece, tuple[Item, ...]], ...] | None = None


Item = Simple | Declare | HandlerItem | Branches | Choice | Rounds | Block


@functools.cache
def _parser(name: str) -> Lark:
    file = "plpgsql/plpgsql.lark" if name == "plpgsql" else "psm/psm.lark"
    grammar = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    if name != "plpgsql":
        grammar += _PSM_LITERALS[name]
    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=True)


def parse(text: str, grammar: str) -> Tree[Token]:
    """The parse tree; `grammar` is backquotes or standard (SQL/PSM), or plpgsql. Raises SchemaError."""
    parser = _parser(grammar)
    try:
        return parser.parse(text)
    except LarkError as error:
        first = str(error).splitlines()[0]
        raise SchemaError(f"a routine that cannot be read: {first}") from error


def tokens(text: str, grammar: str) -> Piece:
    """The whole text as one piece. Raises SchemaError."""
    parser = _parser(grammar)
    try:
        return _piece(text, list(parser.lex(text)))
    except LarkError as error:
        raise SchemaError(f"a routine that cannot be read: {str(error).splitlines()[0]}") from error


def _piece(text: str, found: Sequence[Token]) -> Piece:
    if not found:
        return Piece("", ())
    start = found[0].start_pos or 0
    depth = 0
    words: list[Word] = []
    for token in found:
        closing = token.type in ("RPAR", "END")
        if closing and depth:
            depth -= 1
        words.append((token.type, str(token), (token.start_pos or 0) - start, (token.end_pos or 0) - start, depth))
        if token.type in ("LPAR", "CASE"):
            depth += 1
    return Piece(text[start : found[-1].end_pos], tuple(words))


class Reader:
    """Turns parse trees into skeletons; `text` is what their positions point into."""

    def __init__(self, text: str) -> None:
        self.text = text

    def span(self, tree: Tree[Token]) -> str:
        """The text of a tree."""
        return self.text[tree.meta.start_pos : tree.meta.end_pos]

    def piece(self, tree: Tree[Token], skip: int = 0) -> Piece:
        """The text below a tree, without its first `skip` tokens."""
        return _piece(self.text, list(_leaves(tree))[skip:])

    def items(self, tree: Tree[Token]) -> tuple[Item, ...]:
        """The statements of a body."""
        return tuple(self.item(child) for child in tree.children if isinstance(child, Tree))

    def item(self, tree: Tree[Token]) -> Item:
        """One statement."""
        parts = [child for child in tree.children if isinstance(child, Tree)]
        label = None
        if parts and parts[0].data == "label":
            label = str(next(_leaves(parts.pop(0)))).strip("<> \t\r\n:")
        match tree.data:
            case "block":
                return self.block(tree, parts, label)
            case "simple" | "single":
                return Simple(self.piece(tree))
            case "declare":
                return Declare(self.piece(tree, 1))
            case "handler":
                action = next(str(t) for t in tree.children[1:] if isinstance(t, Token)).upper()
                conditions = tuple(self.piece(part) for part in parts[0].children if isinstance(part, Tree))
                return HandlerItem(action, conditions, (self.item(parts[1]),))
            case "if_":
                pairs, otherwise = self.pairs(parts)
                return Branches(pairs, otherwise or ())
            case "case_":
                subject = self.piece(parts.pop(0)) if _is_piece(parts[1]) else None
                pairs, otherwise = self.pairs(parts)
                return Choice(subject, pairs, otherwise)
            case "repeat":
                return Rounds("repeat", label, self.piece(parts[1]), self.items(parts[0]))
            case "while_" | "for_" | "foreach_":
                return Rounds(str(tree.data), label, self.piece(parts[0]), self.items(parts[1]))
        return Rounds("loop", label, None, self.items(parts[0]))

    def block(self, tree: Tree[Token], parts: list[Tree[Token]], label: str | None) -> Block:
        """BEGIN ... END with what stands before and after."""
        declarations: list[Piece] = []
        pending: list[Token] = []
        for child in tree.children:
            if isinstance(child, Token) and child.type == "BEGIN":
                break
            if isinstance(child, Tree):
                if child.data != "label":
                    pending += _leaves(child)
            elif child.type == "SEMI":
                declarations.append(_piece(self.text, pending))
                pending = []
            elif child.type != "DECLARE":
                pending.append(child)
        body = next(part for part in parts if part.data == "body")
        clauses = None
        for part in parts:
            if part.data == "exceptions":
                clauses, _ = self.pairs([child for child in part.children if isinstance(child, Tree)])
        return Block(self.items(body), label, tuple(declarations), clauses)

    def pairs(
        self, parts: list[Tree[Token]]
    ) -> tuple[tuple[tuple[Piece, tuple[Item, ...]], ...], tuple[Item, ...] | None]:
        """Conditions with their bodies, and the body of ELSE."""
        otherwise = self.items(parts[-1]) if len(parts) % 2 else None
        pairs = zip(parts[::2], parts[1::2], strict=False)
        return tuple((self.piece(piece), self.items(body)) for piece, body in pairs), otherwise


def _is_piece(tree: Tree[Token]) -> bool:
    return tree.data != "body"


def _leaves(tree: Tree[Token]) -> Iterator[Token]:
    for child in tree.children:
        if isinstance(child, Token):
            yield child
        else:
            yield from _leaves(child)
