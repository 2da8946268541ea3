"""PostgreSQL's regular expressions, as far as Python's mean the same (PostgreSQL 9.7.3). Does not know LIKE.

A pattern is read by the rules of PostgreSQL's AREs and written anew for Python; what the two could take differently is
refused: back references, look-ahead, escapes but for the most common classes, repetitions inside repetitions. Whether
a text matches hangs on no rule of preference between matches. Where a match begins and ends does, so that what is
replaced or cut out has to be a row of single characters with one repetition at most whose number is left open: then the
longest match is the one that Python finds. Classes and letter case are modelled for ASCII texts only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.values.families.arrays import Array, ArrayFamily
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly, plainly, refused
from sql_semantics.values.types import BOOLEAN, TEXT, Kind, SqlType

_BLANKS = " \\t\\n\\r\\f\\v"
_CLASSES = {"d": "0-9", "w": "a-zA-Z0-9_", "s": _BLANKS}
_NAMED = {
    "digit": "0-9", "alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": _BLANKS,
}  # fmt: skip
_LARGEST = 255
"""The largest bound that PostgreSQL takes."""


@dataclass(slots=True)
class Regex:
    """A pattern while it is read, up to `place`. `ascii_only`: modelled for ASCII texts; `repeats`: the number of
    repetitions whose length is left open; `branching`: there are alternatives or groups that repeat; `groups`: how many
    there are; `parts` are what Python is given."""

    pattern: str
    place: int = 0
    ascii_only: bool = False
    repeats: int = 0
    branching: bool = False
    groups: int = 0
    parts: list[str] = field(default_factory=list)

    def refuse(self) -> Unsupported:
        """The refusal."""
        return Unsupported(f"the regular expression {self.pattern!r}")

    def peek(self) -> str:
        """The next character; the empty text at the end."""
        return self.pattern[self.place : self.place + 1]

    def branches(self, depth: int) -> tuple[bool, bool]:
        """Alternatives up to the end or a closing parenthesis; whether one may be empty, and whether one repeats."""
        empty, repeats = self.branch(depth)
        while self.peek() == "|":
            self.place += 1
            self.branching = True
            self.parts.append("|")
            also, again = self.branch(depth)
            empty, repeats = empty or also, repeats or again
        return empty, repeats

    def branch(self, depth: int) -> tuple[bool, bool]:
        """A row of atoms; whether it may match the empty text, and whether something in it repeats."""
        start, empty, repeats = self.place, True, False
        while self.peek() and self.peek() != "|" and not (self.peek() == ")" and depth):
            group = self.peek() == "("
            optional, inside = self.atom(depth)
            quantified = self.quantifier(inside)
            self.branching = self.branching or (group and quantified is not None)
            repeats = repeats or inside or quantified is not None
            empty = empty and (optional or bool(quantified))
        if self.place == start:
            raise self.refuse()
        return empty, repeats

    def atom(self, depth: int) -> tuple[bool, bool]:
        """One atom or anchor; whether it may match the empty text, and whether something in it repeats."""
        character = self.peek()
        self.place += 1
        match character:
            case "(":
                self.groups += 1
                if self.peek() in ("?", "*", ")"):
                    raise self.refuse()
                self.parts.append("(")
                empty, repeats = self.branches(depth + 1)
                if self.peek() != ")":
                    raise self.refuse()
                self.place += 1
                self.parts.append(")")
                return empty, repeats
            case "[":
                self.bracket()
            case ".":
                self.parts.append(".")
            case "^" | "$":
                if self.peek() in ("*", "+", "?", "{"):
                    raise self.refuse()
                self.parts.append("\\A" if character == "^" else "\\Z")
                return True, False
            case "\\":
                self.escape()
            case "*" | "+" | "?" | "{" | ")":
                raise self.refuse()
            case _:
                self.parts.append(re.escape(character))
        return False, False

    def escape(self) -> None:
        """What follows a backslash outside of brackets."""
        letter = self.peek()
        self.place += 1
        if letter.lower() in _CLASSES:
            self.ascii_only = True
            self.parts.append(f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]")
        elif letter and letter.isascii() and not letter.isalnum() and letter != "_":
            self.parts.append(re.escape(letter))
        else:
            raise self.refuse()

    def bracket(self) -> None:
        """A bracket expression, its opening bracket read."""
        negated = self.peek() == "^"
        self.place += negated
        items: list[str] = []
        while self.peek() != "]" or not items:
            items.append(self.range_())
        self.place += 1
        self.parts.append(f"[{'^' if negated else ''}{''.join(items)}]")

    def range_(self) -> str:
        """An item of a bracket expression."""
        for name, characters in _NAMED.items():
            if self.pattern.startswith(f"[:{name}:]", self.place):
                self.place += len(name) + 4
                self.ascii_only = True
                return characters
        first = self.peek()
        following = self.pattern[self.place + 1 : self.place + 3]
        if first == "\\" and following[:1] in ("d", "s", "w"):
            self.place += 2
            self.ascii_only = True
            return _CLASSES[following[0]]
        if first in ("", "[", "\\"):
            raise self.refuse()
        self.place += 1
        if following[:1] == "-" and following[1:] not in ("]", ""):
            last = following[1]
            if first == "-" or last in "[\\-" or not (first + last).isascii() or first > last:
                raise self.refuse()
            self.place += 2
            return f"{re.escape(first)}-{re.escape(last)}"
        return re.escape(first)

    def quantifier(self, inside: bool) -> bool | None:
        """What repeats the atom just read, which must not repeat something itself (`inside`): None for nothing, else
        whether it may stand for no time at all."""
        found = re.compile(r"[*+?]|\{(\d{1,3})(?:(,)(\d{0,3}))?\}").match(self.pattern, self.place)
        if found is None:
            if self.peek() == "{":
                raise self.refuse()
            return None
        self.place = found.end()
        if inside or self.peek() in ("*", "+", "?", "{"):  # repetitions in repetitions, and non-greedy ones
            raise self.refuse()
        fixed = found[1] is not None and (found[2] is None or found[1] == found[3])
        self.repeats += not fixed
        if found[1] is None:
            self.parts.append(found[0])
            return found[0] != "+"
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else None
        if low > _LARGEST or (high is not None and not low <= high <= _LARGEST):
            raise self.refuse()
        self.parts.append(found[0])
        return low == 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for Python. `definite`: where a match begins and ends, and its groups, is the same in both."""

    compiled: re.Pattern[str]
    ascii_only: bool
    definite: bool
    optional: bool

    def search(self, text: str) -> re.Match[str] | None:
        """The first match. Raises Unsupported for a text that it is not modelled for."""
        if self.ascii_only and not text.isascii():
            raise Unsupported("a regular expression with classes or without case beyond ASCII")
        return self.compiled.search(text)


@lru_cache(maxsize=1024)
def read_regex(pattern: str, ignore_case: bool) -> Pattern:
    """A pattern for Python; `optional`: it matches the empty text. Raises Unsupported."""
    read = Regex(pattern)
    if not pattern or "\0" in pattern or pattern.startswith("***") or not pattern.isascii():
        raise read.refuse()
    empty, _ = read.branches(0)
    if read.place < len(pattern):
        raise read.refuse()
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    definite = not read.branching and read.repeats <= 1
    return Pattern(re.compile("".join(read.parts), flags), read.ascii_only or ignore_case, definite, empty)


def _matcher(ignore_case: bool) -> Callable[[Call], Implementation]:
    def matches(text: str, pattern: str) -> bool:
        return read_regex(pattern, ignore_case).search(text) is not None

    return lambda call: matches


def _replace(call: Call) -> Implementation:
    def replaced(text: str, pattern: str, replacement: str, flags: str = "") -> str:
        if set(flags) - {"g", "i"}:
            raise Unsupported(f"regexp_replace() with the flags {flags!r}")
        read = read_regex(pattern, "i" in flags)
        if not read.definite or read.optional or "\\" in replacement:
            raise Unsupported(f"regexp_replace() of {pattern!r} by {replacement!r}")
        if read.search(text) is None:
            return text
        return read.compiled.sub(lambda found: replacement, text, count=0 if "g" in flags else 1)

    return replaced


def _cut_out(call: Call) -> Implementation:
    """``substring(text FROM pattern)``: what matches, or its first group; NULL where nothing does."""

    def found(text: str, pattern: str) -> str | None:
        read = read_regex(pattern, False)
        match = read.search(text)
        if match is None:
            return None
        if not read.definite:
            raise Unsupported(f"substring() by {pattern!r}")
        return match[1] if read.compiled.groups else match[0]

    return found


def _matched(call: Call) -> Implementation:
    """``regexp_match``: the first match's groups, or all of it; NULL where there is none."""

    def found(text: str, pattern: str, flags: str = "") -> Array | None:
        if set(flags) - {"i"}:
            raise Unsupported(f"regexp_match() with the flags {flags!r}")
        read = read_regex(pattern, "i" in flags)
        match = read.search(text)
        if match is None:
            return None
        if not read.definite:
            raise Unsupported(f"regexp_match() of {pattern!r}")
        return _groups(match)

    return found


def _groups(match: re.Match[str]) -> Array:
    return Array(match.groups() or (match[0],))


def all_matched(text: str, pattern: str, flags: str = "") -> Array:
    """``regexp_matches``: the groups of the first match, or with the flag g of every one."""
    if set(flags) - {"g", "i"}:
        raise Unsupported(f"regexp_matches() with the flags {flags!r}")
    read = read_regex(pattern, "i" in flags)
    if read.search(text) is None:
        return Array(())
    if not read.definite or read.optional:
        raise Unsupported(f"regexp_matches() of {pattern!r}")
    every = [_groups(match) for match in read.compiled.finditer(text)]
    return Array(tuple(every if "g" in flags else every[:1]))


def split_by_pattern(text: str, pattern: str, flags: str = "") -> Array:
    """``regexp_split_to_array``: what stands between the matches."""
    if set(flags) - {"i"}:
        raise Unsupported(f"regexp_split_to_array() with the flags {flags!r}")
    read = read_regex(pattern, "i" in flags)
    if read.search(text) is None and not read.optional:
        return Array((text,))
    if not read.definite or read.optional:
        raise Unsupported(f"a text split by {pattern!r}")
    parts, start = [], 0
    for match in read.compiled.finditer(text):
        parts.append(text[start : match.start()])
        start = match.end()
    return Array((*parts, text[start:]))


_TEXTS = SqlType(Kind.ARRAY, family=ArrayFamily(TEXT))
POSTGRES: Table = {
    "~": (Rule(exactly(TEXT, TEXT), BOOLEAN, _matcher(False)),),
    "~*": (Rule(exactly(TEXT, TEXT), BOOLEAN, _matcher(True)),),
    "regexp_replace": (
        Rule(exactly(TEXT, TEXT, TEXT), TEXT, _replace),
        Rule(exactly(TEXT, TEXT, TEXT, TEXT), TEXT, _replace),
    ),
    "regexp_match": tuple(Rule(exactly(*(TEXT,) * count), _TEXTS, _matched) for count in (2, 3)),
    "regexp_split_to_array": tuple(
        Rule(exactly(*(TEXT,) * count), _TEXTS, plainly(split_by_pattern)) for count in (2, 3)
    ),
    "substring": (
        Rule(exactly(TEXT, TEXT), TEXT, _cut_out),
        Rule(exactly(TEXT, TEXT, TEXT), refused("substring() by a pattern of SQL"), _cut_out),
    ),
}
