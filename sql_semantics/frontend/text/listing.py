r"""Long VALUES lists, taken apart without the parser: which cells of a column are written alike.

Parsing a list of ten thousand rows is most of an audit, and nearly all of them are written like the first. `listing`
reads the cells of a plainly written list, and gives a short statement that shows each way in which the cells of a
column are written once. That one is parsed, checked and bound like any other, and tells what the other rows mean
(`frontend.writes.listed`). What is not plain (comments, subqueries, texts with a letter before them) is left to the
parser. Does not know names, types or any meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sql_semantics.frontend.text.syntax import tokens_of
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass
from sql_semantics.values.types import Kind

LEAST = 16
"""Rows from which on a list is long."""

_BLANK = r"[ \t\r\n]*+"
_TEXTS = {True: r"'[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+'", False: r"'[^']*+(?:''[^']*+)*+'"}
_PLACE = r"\$[0-9]++|\?|%s|%\([^()'\"]*+\)s|(?<!:):[A-Za-z_]\w*+"
_HEAD = pattern(
    rf"{_BLANK}(?:INSERT|REPLACE)\b(?:[\w \t\r\n.,()]|\"[^\"]*+\"|`[^`]*+`)*?\bVALUES{_BLANK}(?=\()",
    re.IGNORECASE | re.ASCII,
)
_QUERY = pattern(r"\b(?:SELECT|VALUES|TABLE|WITH)\b", re.IGNORECASE)
_NESTED = 3
"""Parentheses within each other in a cell."""

_LONGEST_HEAD = 1 << 16
"""Characters before the list."""


def _cell(text: str) -> re.Pattern[str]:
    """A cell and what follows it: a comma, the row's end, or that and the beginning of the next row."""
    plain = rf"[\w \t\r\n.+*<>=|!~^]++|/(?!\*)|-(?!-)|::|(?<![\w&]){text}|{_PLACE}"
    inner = rf"(?:{plain}|,)*+"
    for _ in range(_NESTED - 1):
        inner = rf"(?:{plain}|,|\({inner}\))*+"
    number = r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
    return pattern(
        rf"{_BLANK}(?:({number})|({text})|({_PLACE})|((?:{plain}|\({inner}\))++)){_BLANK}"
        rf"(,|\)(?:{_BLANK},{_BLANK}\()?+)",
        re.ASCII | re.DOTALL,
    )


def _part(text: str) -> re.Pattern[str]:
    """A literal or a parameter within a cell."""
    number = r"(?<![\w.])[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.])"
    return pattern(rf"(?P<text>{text})|(?P<place>{_PLACE})|(?P<cast>::)|(?P<number>{number})", re.ASCII | re.DOTALL)


_CELL = {backslashes: _cell(text) for backslashes, text in _TEXTS.items()}
_PART = {backslashes: _part(text) for backslashes, text in _TEXTS.items()}

Key = int | str


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which cells are written: the text `before` a literal and `after` it, and what that is (``number``,
    ``text``; "" for none). `kinds`: of the parameters in it."""

    before: str
    literal: str = ""
    after: str = ""
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True)
class Cells:
    """One column of a list: for each row its form, by number, its literal's text without quotes, and its parameters.
    `shown` tells of each form the first row that has it."""

    which: Sequence[int]
    literals: Sequence[str]
    keys: Sequence[tuple[Key, ...]]
    shown: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Listing:
    """A long list. `text`: the statement with those rows alone that are `shown`; `places`: the parameters in these;
    `counted`: how many placeholders of the list have neither number nor name."""

    text: str
    forms: Sequence[Form]
    columns: Sequence[Cells]
    shown: Sequence[int]
    places: Sequence[Key]
    counted: int

    def __len__(self) -> int:
        return len(self.columns[0].which)


class _NotPlain(Exception):
    """The list is left to the parser."""


def listing(sql: str, dialect: str, kinds: Mapping[Key, Kind], *, positional: bool, named: bool) -> Listing | None:
    """The list of an INSERT; None for a short one, one that is not plain, and one whose rows are not alike.

    `kinds`: what the parameters look like; `positional` and `named` as in `placeholders.rewrite`.
    """
    head = _HEAD.match(sql, 0, _LONGEST_HEAD) if len(sql) > 3 * LEAST else None
    if head is None:
        return None
    try:
        return _Reader(dialect, kinds, positional, named).read(sql, head.end())
    except _NotPlain:
        return None


class _Reader:
    """Reads one list."""

    def __init__(self, dialect: str, kinds: Mapping[Key, Kind], positional: bool, named: bool) -> None:
        self._dialect = dialect
        self._backslashes = PRODUCTS[dialect].text.backslash_escapes
        self._kinds = kinds
        self._positional = positional
        self._named = named
        self._numbers: dict[Form, int] = {}
        self._parameters: dict[Kind, int] = {}
        self._counted = 0
        self._percents = 0

    def read(self, sql: str, start: int) -> Listing | None:
        """The list that begins there with a parenthesis."""
        which: list[int] = []
        literals: list[str] = []
        keys: list[tuple[Key, ...]] = []
        bounds: list[tuple[int, int]] = []
        number, negative, text = (self._number(Form(*form)) for form in (("", "number"), ("-", "number"), ("", "text")))
        known: dict[str, tuple[int, str]] = {}
        match = _CELL[self._backslashes].match
        place = begun = start + 1
        width = 0
        while True:
            found = match(sql, place)
            if found is None:
                return None
            digits, quoted, parameter, other, after = found.groups()
            given: tuple[Key, ...] = ()
            if digits is not None:
                form, literal = (number, digits) if digits[0] != "-" else (negative, digits[1:])
            elif quoted is not None:
                form, literal = text, self._unquoted(quoted)
            elif parameter is not None:
                given, literal = (self._key(parameter),), ""
                form = self._parameter(self._kind(given[0]))
            elif other in known:
                form, literal = known[other]
            else:
                form, literal, given = self._other(other)
                if not given:
                    known[other] = form, literal
            which.append(form)
            literals.append(literal)
            keys.append(given)
            place = found.end()
            if after == ",":
                continue
            bounds.append((begun, found.start(5)))
            width = width or len(which)
            if len(which) != width * len(bounds):
                return None
            if after == ")":
                break
            begun = place
        columns = [_cells(which[c::width], literals[c::width], keys[c::width]) for c in range(width)]
        return self._listing(sql, start, place, columns, bounds)

    def _listing(
        self, sql: str, start: int, end: int, columns: list[Cells], bounds: list[tuple[int, int]]
    ) -> Listing | None:
        shown = sorted({row for column in columns for row in column.shown.values()})
        if len(bounds) < LEAST or len(shown) > len(bounds) // 4:
            return None
        before, after = sql[:start], sql[end:]
        percents = self._percents or any(mark in part for mark in ("%s", "%(") for part in (before, after))
        if percents and sql.count("%", start, end) > self._percents:
            return None  # percent signs in quotes, of which a driver makes something else
        rows = ", ".join(f"({sql[begin:close]})" for begin, close in (bounds[row] for row in shown))
        places = [key for row in shown for column in columns for key in column.keys[row]]
        given = [key for column in columns for keys in column.keys for key in keys]
        if len(set(given)) < len(given):
            return None
        return Listing(before + rows + after, list(self._numbers), columns, shown, places, self._counted)

    def _number(self, form: Form) -> int:
        return self._numbers.setdefault(form, len(self._numbers))

    def _parameter(self, kind: Kind) -> int:
        found = self._parameters.get(kind)
        if found is None:
            found = self._parameters[kind] = self._number(Form("", kinds=(kind,)))
        return found

    def _unquoted(self, quoted: str) -> str:
        if self._backslashes and "\\" in quoted:
            (token,) = tokens_of(quoted, self._dialect)
            return token.text
        text = quoted[1:-1]
        return text.replace("''", "'") if "'" in text else text

    def _key(self, parameter: str) -> Key:
        """The parameter that a placeholder stands for."""
        style = parameter[0]
        if style == ":" or parameter[:2] == "%(":
            if not self._named:
                raise _NotPlain
            self._percents += style == "%"
            return parameter[1:] if style == ":" else parameter[2:-2]
        if not self._positional:
            raise _NotPlain
        if style == "$":
            return int(parameter[1:]) - 1
        self._percents += style == "%"
        self._counted += 1
        return self._counted - 1

    def _kind(self, key: Key) -> Kind:
        kind = self._kinds.get(key)
        if kind is None:
            raise _NotPlain
        return kind

    def _other(self, cell: str) -> tuple[int, str, tuple[Key, ...]]:
        """The form of an expression, the literal that may differ and the parameters in it."""
        if _QUERY.search(cell):
            raise _NotPlain
        cell = cell.rstrip(" \t\r\n")
        found = [part for part in _PART[self._backslashes].finditer(cell) if part.lastgroup != "cast"]
        keys = tuple(self._key(part.group()) for part in found if part.lastgroup == "place")
        if keys:
            pieces: list[str] = []
            end = 0
            for part in found:
                if part.lastgroup == "place":
                    pieces.append(cell[end : part.start()])
                    end = part.end()
            kinds = tuple(map(self._kind, keys))
            return self._number(Form("\0".join([*pieces, cell[end:]]), kinds=kinds)), "", keys
        for kind in ("text", "number"):
            literals = [part for part in found if part.lastgroup == kind]
            if len(literals) == 1:
                (part,) = literals
                literal = part.group() if kind == "number" else self._unquoted(part.group())
                return self._number(Form(cell[: part.start()], kind, cell[part.end() :])), literal, ()
            if literals:
                break
        return self._number(Form(cell)), "", ()


def _cells(which: Sequence[int], literals: Sequence[str], keys: Sequence[tuple[Key, ...]]) -> Cells:
    return Cells(which, literals, keys, {form: which.index(form) for form in dict.fromkeys(which)})
