"""PostgreSQL's to_char() of whole and exact numbers (its manual, 9.8). Does not know moments, nor locales.

A pattern is read once into its `Pattern`; what hangs on the server's locale (D, G, L), Roman numbers, and doubles,
whose digits are cut another way, are refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly
from sql_semantics.values.numbers.number import EXACT, decimal_text, round_scale
from sql_semantics.values.types import FLOAT_KINDS, NUMERIC, TEXT, Kind

_WORDS = ("EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "E", "G", "L", "S", "V")
_KNOWN = frozenset({"0", "9", ".", ",", "FM", "MI", "PL", "PR", "SG", "TH", "th", "S", "EEEE"})
_ERROR = "42601"
_END = "\0"
"""What stands where the digits are used up: the text ends there, whatever follows in the pattern."""


@dataclass(slots=True)
class Pattern:
    """What a pattern asks for: its `parts` are words (True) and texts (False). `before` and `behind` count the digits
    around the point, `zero` is the digit that the first 0 stands for, `last_zero` the last one, `sign` where S stands.
    """

    parts: list[tuple[str, bool]]
    before: int = 0
    behind: int = 0
    zero: int | None = None
    last_zero: int = 0
    point: bool = False
    bare: bool = False
    sign: str | None = None
    sign_at: int = 0
    plus: bool = False
    minus: bool = False
    brackets: bool = False
    scientific: bool = False


def _refuse(pattern: Pattern, problem: bool) -> None:
    if problem:
        raise SqlError(_ERROR, "a pattern of to_char() that contradicts itself")


def _take(found: Pattern, word: str) -> None:
    """What a word of the pattern adds. Raises SqlError where PostgreSQL does."""
    _refuse(found, found.scientific)
    if word in ("9", "0"):
        if word == "0" and found.brackets:
            raise Unsupported("to_char() of a number with 0 behind PR")  # an error in newer versions
        _refuse(found, found.brackets)
        if word == "0" and found.zero is None and not found.point:
            found.zero = found.before
        if found.point:
            found.behind += 1
        else:
            found.before += 1
        if word == "0":
            found.last_zero = found.before + found.behind
    elif word == ".":
        _refuse(found, found.point)
        found.point = True
    elif word == "FM":
        found.bare = True
    elif word == "S":
        _refuse(found, found.sign is not None or found.plus or found.minus or found.brackets)
        found.sign, found.sign_at = ("behind" if found.point else "before"), found.before
    elif word in ("MI", "PL", "SG"):
        _refuse(found, found.sign is not None)
        found.minus = found.minus or word != "PL"
        found.plus = found.plus or word != "MI"
    elif word == "PR":
        _refuse(found, found.sign is not None or found.plus or found.minus)
        found.brackets = True
    elif word == "EEEE":
        words = {part for part, is_word in found.parts if is_word}
        _refuse(found, bool(words & {"FM", "S", "MI", "PL", "SG", "PR"}))
        found.scientific = True


@lru_cache(maxsize=256)
def read_figures(text: str) -> Pattern:
    """The pattern. Raises Unsupported for words that are not modelled, SqlError where PostgreSQL refuses it."""
    found, place = Pattern([]), 0
    while place < len(text):
        word = next((w for w in _WORDS if text.startswith((w, w.lower()), place)), None)
        if text[place] in "09.,":
            word = text[place]
        if word is not None:
            word = "th" if text.startswith("th", place) else word
            if word not in _KNOWN:
                raise Unsupported(f"a pattern of a number with {word}")
            _take(found, word)
            found.parts.append((word, True))
            place += len(word)
        elif text[place] == '"':
            place = _quoted(found, text, place + 1)
        else:
            place += text.startswith('\\"', place)
            found.parts.append((text[place], False))
            place += 1
    return found


def _quoted(found: Pattern, text: str, place: int) -> int:
    while place < len(text):
        if text[place] == '"':
            return place + 1
        place += text[place] == "\\" and place + 1 < len(text)
        found.parts.append((text[place], False))
        place += 1
    return place


class _Writer:
    """One number written by a pattern. `digits` has its point; `blanks` places before it are empty."""

    def __init__(self, pattern: Pattern, digits: str, negative: bool, blanks: int) -> None:
        self.pattern = pattern
        self.digits, self.at = digits, 0
        self.negative, self.blanks = negative, blanks
        self.out: list[str] = []
        self.current, self.inside = 0, False
        self.brackets = pattern.brackets and (negative or not pattern.bare or pattern.plus or pattern.minus)
        self.sign = pattern.sign
        if pattern.plus or pattern.minus:
            self.signed = pattern.minus
        else:
            self.signed = not negative and pattern.bare and self.sign is None
            if self.sign == "before" and pattern.before == pattern.sign_at:
                self.sign = "behind"
        self.last = self._last_relevant() if pattern.bare and pattern.point else None
        self.count = pattern.behind + pattern.before - 1
        if not self.signed and not blanks:
            self.count += 1

    def _last_relevant(self) -> int | None:
        """Where the last digit behind the point stands that is no zero, or that a 0 of the pattern keeps."""
        point = self.digits.find(".")
        if point < 0:
            return None
        last = len(self.digits.rstrip("0")) - 1
        if self.pattern.last_zero > self.blanks:
            last = max(last, min(len(self.digits) - 1, self.pattern.last_zero - self.blanks))
        return max(last, point)

    def _leading_zero(self) -> bool:
        """Whether the digit at hand is the zero before a point, which 9 does not write."""
        return self.pattern.zero is None and self.at == 0 and self.digits[:1] == "0" and self.pattern.behind != 0

    def _ends_at_point(self) -> bool:
        return self.last is not None and self.digits[self.last] == "."

    def _sign(self) -> None:
        pattern = self.pattern
        begins = self.current >= self.blanks or (pattern.zero is not None and pattern.zero == self.current)
        if self.signed or not begins or (self._leading_zero() and not self._ends_at_point()):
            return
        if self.sign is not None:
            if self.sign == "before":
                self.out.append("-" if self.negative else "+")
                self.signed = True
            return
        if self.brackets:
            self.out.append("<" if self.negative else " ")
        elif self.negative:
            self.out.append("-")
        elif not pattern.bare:
            self.out.append(" ")
        self.signed = True

    def digit(self, word: str) -> None:
        """9, 0 and the point."""
        pattern = self.pattern
        self.inside = False
        self._sign()
        zero = pattern.zero is not None and pattern.zero <= self.current
        if self.current < self.blanks and not zero:
            self.out.append("" if pattern.bare else " ")
        elif self.current < self.blanks:
            self.out.append("0")
            self.inside = True
        else:
            self._digit(word)
            self.at += self.at < len(self.digits)
        end = self.count + bool(self.blanks) + pattern.point
        if self.last is not None and self.last == self.at:
            end = self.current
        if self.current + 1 == end:
            if self.signed and self.brackets:
                self.out.append(">" if self.negative else " ")
            elif self.sign == "behind":
                self.out.append("-" if self.negative else "+")
        self.current += 1

    def _digit(self, word: str) -> None:
        here = self.digits[self.at : self.at + 1]
        if here == ".":
            self.out.append(".")
        elif self.last is not None and self.at > self.last and word != "0":
            return
        elif self._leading_zero():
            if not self.pattern.bare:
                self.out.append(" ")
            elif self._ends_at_point():
                self.out.append("0")
        else:
            self.out.append(here or _END)
            self.inside = True

    def other(self, word: str) -> None:
        """Commas, signs and endings."""
        bare = self.pattern.bare
        if word == ",":
            self.out.append("," if self.inside else "" if bare else " ")
        elif word == "MI":
            self.out.append("-" if self.negative else "" if bare else " ")
        elif word == "PL":
            self.out.append("+" if not self.negative else "" if bare else " ")
        elif word == "SG":
            self.out.append("-" if self.negative else "+")
        elif word in ("TH", "th") and not (self.negative or self.pattern.point or self.digits.startswith("#")):
            self.out.append(_ending(self.digits) if word == "th" else _ending(self.digits).upper())


def _ending(digits: str) -> str:
    if not digits[-1:].isdigit():
        raise SqlError("22P02", "to_char() of no digits with TH")
    if digits[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")


def _scientific(value: Decimal, digits: int, as_double: bool) -> str:
    """A number by its first digit that is not zero, and an exponent."""
    if as_double:
        return f"{float(value): .{digits}e}"
    size = value.adjusted() if value else 0
    shown = round_scale(EXACT.scaleb(value, -size), digits)  # 9.6 without digits is 10
    if abs(size) > 99:
        raise Unsupported("to_char() of a number with an exponent of three digits")
    text = f"{decimal_text(shown)}e{'-' if size < 0 else '+'}{abs(size):02d}"
    return text if text.startswith("-") else f" {text}"


def written_number(value: Decimal, text: str, as_double: bool) -> str:
    """A number as the pattern writes it; `as_double`: an exponent is made by way of a double."""
    if not text:
        return ""
    pattern = read_figures(text)
    if pattern.scientific:
        return _scientific(value, pattern.behind, as_double)
    before = pattern.before
    shown = decimal_text(round_scale(value, pattern.behind))
    negative = shown.startswith("-")
    digits = shown.lstrip("-")
    length = len(digits.partition(".")[0])
    if length > before:
        digits = "#" * before + "." + "#" * pattern.behind
    writer = _Writer(pattern, digits, negative, max(before - length, 0))
    for part, is_word in pattern.parts:
        if not is_word:
            writer.out.append(part)
        elif part in ("9", "0", "."):
            writer.digit(part)
        else:
            writer.other(part)
    return "".join(writer.out).partition(_END)[0]


def _written(call: Call) -> Implementation:
    as_double = call.arguments[0].kind in (Kind.SMALLINT, Kind.INT)
    return lambda value, text: written_number(Decimal(value), text, as_double)


def _double(call: Call) -> Implementation:
    raise Unsupported("to_char() of a double")


POSTGRES: Table = {
    "to_char": (
        Rule((any_of(FLOAT_KINDS), *exactly(TEXT)), TEXT, _double, stable=True),
        Rule((any_of([Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC], NUMERIC), *exactly(TEXT)), TEXT, _written,
             errors=(_ERROR, "22P02"), stable=True),
    ),
}  # fmt: skip
