"""SQLite's definitions with types that the parser knows: any words name a type there, or none at all, and the letters
of the name decide (datatype3.html §3.1, stricttables.html). Does not know what the types mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

NUMBERS_AND_TEXTS = "BIGDECIMAL"
"""What stands for a type of NUMERIC affinity under any other name than those of numbers and moments."""
ANYTHING = "VARIANT"
"""What stands for no type, which converts nothing."""
_AFFINITIES = (
    ("INTEGER", ("INT",)),
    ("TEXT", ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ("BLOB",)),
    ("REAL", ("REAL", "FLOA", "DOUB")),
)
_KNOWN = frozenset({"NUMERIC", "DECIMAL", "BOOLEAN", "BOOL", "DATE", "DATETIME", "TIMESTAMP"})
"""Types of NUMERIC affinity that are read as they stand."""
_TABLE_CONSTRAINTS = frozenset({"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"})
_COLUMN_CONSTRAINTS = _TABLE_CONSTRAINTS | {"NOT", "NULL", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS"}


def with_known_types(text: str, tokens: Sequence[Token]) -> str:
    """The text of a CREATE TABLE or an ALTER TABLE ... ADD with each column's type under a name of its affinity, and
    without its options (see `options_of`); other texts as they are. STRICT tables take the same values where they take
    any."""
    words = [_word(token) for token in tokens]
    changes: list[tuple[int, int, str]] = []
    strict = False
    if words[:1] == ["CREATE"] and "TABLE" in words[1:3] and "VIRTUAL" not in words[1:3]:
        opening = _after_name(words, words.index("TABLE") + 1)
        if words[opening : opening + 1] != ["("]:
            return text
        closing, columns = _columns(words, opening)
        options, behind = _options(words, closing + 1)
        strict = "STRICT" in options
        if options:
            changes.append((tokens[closing + 1].start, tokens[behind - 1].end + 1, " "))
    elif words[:2] == ["ALTER", "TABLE"] and "ADD" in words:
        place = words.index("ADD") + 1
        place += words[place : place + 1] == ["COLUMN"]
        columns = iter([(place, len(words))])
    else:
        return text
    for start, end in columns:
        change = _change(text, tokens, words, start, end, strict)
        if change is not None:
            changes.append(change)
    for start, end, name in sorted(changes, reverse=True):
        text = f"{text[:start]}{name}{text[end:]}"
    return text


def options_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Which of STRICT and WITHOUT ROWID stand behind the columns of a CREATE TABLE."""
    words = [_word(token) for token in tokens]
    if "TABLE" not in words[:3]:
        return frozenset()
    opening = _after_name(words, words.index("TABLE") + 1)
    return _options(words, _columns(words, opening)[0] + 1)[0]


def _options(words: Sequence[str], place: int) -> tuple[frozenset[str], int]:
    """The options that stand at `place`, and where they end."""
    found: set[str] = set()
    while True:
        if words[place : place + 1] == ["STRICT"]:
            found.add("STRICT")
            place += 1
        elif words[place : place + 2] == ["WITHOUT", "ROWID"]:
            found.add("WITHOUT ROWID")
            place += 2
        else:
            return frozenset(found), place
        if words[place : place + 1] != [","]:
            return frozenset(found), place
        place += 1


def _word(token: Token) -> str:
    """The first word of a token in capitals; a quoted name, or a text in its place, is none."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return ""
    return token.text.upper().split(" ")[0]


def _after_name(words: Sequence[str], place: int) -> int:
    """What stands behind ``[IF NOT EXISTS] [schema.]name``."""
    if words[place : place + 3] == ["IF", "NOT", "EXISTS"]:
        place += 3
    return place + (3 if words[place + 1 : place + 2] == ["."] else 1)


def _columns(words: Sequence[str], opening: int) -> tuple[int, Iterator[tuple[int, int]]]:
    """The place of the parenthesis that closes the one at `opening`, and where each definition in it begins and
    ends."""
    depth, start, found = 0, opening + 1, []
    for place in range(opening, len(words)):
        word = words[place]
        depth += (word == "(") - (word == ")")
        if (word == "," and depth == 1) or depth == 0:
            found.append((start, place))
            start = place + 1
        if depth == 0:
            return place, iter(found)
    return len(words), iter(())


def _change(
    text: str, tokens: Sequence[Token], words: Sequence[str], start: int, end: int, strict: bool
) -> tuple[int, int, str] | None:
    """What to put where for one column; None for a constraint of the table, and for a type that is known."""
    if start >= end or words[start] in _TABLE_CONSTRAINTS:
        return None
    last = start + 1
    while last < end and words[last] not in _COLUMN_CONSTRAINTS:
        last += 1
    if last == start + 1:
        behind = tokens[start].end + 1
        return behind, behind, f" {ANYTHING} "
    written = [token.text.upper() for token in tokens[start + 1 : last]]
    name = " ".join(written[: written.index("(")] if "(" in written else written)
    if strict and name == "ANY":
        known = ANYTHING
    elif name in _KNOWN:
        return None
    else:
        known = next(
            (affinity for affinity, parts in _AFFINITIES if any(part in name for part in parts)), NUMBERS_AND_TEXTS
        )
    return tokens[start + 1].start, tokens[last - 1].end + 1, known
