"""PostgreSQL's to_number() (its manual, 9.8): a number read from a text by the pattern of to_char().

A pattern walks along the text: each digit of it takes at most one digit, any other text skips one character. Does not
know locales, nor texts beyond ASCII, of which PostgreSQL skips single bytes.
"""

from __future__ import annotations

from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly
from sql_semantics.values.functions.texts.figures import Pattern, read_figures
from sql_semantics.values.types import NUMERIC, TEXT

_DATA = "0123456789.,+-"
"""What an ornament of the pattern does not skip."""


class _Reader:
    """One text read by a pattern. `sign` and `digits` are what was taken; `at` is where it stands."""

    def __init__(self, pattern: Pattern, text: str) -> None:
        self.pattern, self.text = pattern, text
        self.at = 0
        self.sign, self.digits = "", ""
        self.before = self.behind = 0
        self.point = False

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]

    def read(self) -> None:
        """The whole pattern, as far as the text goes."""
        for part, is_word in self.pattern.parts:
            if self.at >= len(self.text):
                return
            if not is_word:
                self.at += 1
            elif part in ("9", "0", "."):
                self._digit(part)
                self.at += 1
            else:
                self._other(part)

    def _other(self, word: str) -> None:
        """Commas, signs and endings."""
        here = self._here()
        if word == ",":
            self.at += not self.pattern.bare and here == ","
        elif word in ("MI", "PL", "SG"):
            if here and here in {"MI": "-", "PL": "+", "SG": "+-"}[word]:
                self.sign = here
                self.at += 1
            else:
                self._skip(1)
        elif word in ("TH", "th") and not self.pattern.point:
            self._skip(2)

    def _skip(self, count: int) -> None:
        for _ in range(count):
            here = self._here()
            if not here or here in _DATA:
                return
            self.at += 1

    def _digit(self, word: str) -> None:
        """9, 0 and the point: a sign before the number, a digit or the point, a sign behind it."""
        self.at += self._here() == " "
        if not self.sign and word != "." and self.before + self.behind == 0:
            self._leading_sign()
        here = self._here()
        if not here:
            return
        taken = False
        if here.isdigit():
            if self.point and self.behind == self.pattern.behind:
                return
            self.digits += here
            self.behind += self.point
            self.before += not self.point
            taken = True
        elif here == "." and self.pattern.point and not self.point:
            self.digits += "."
            self.point = taken = True
        if not self.sign and self.before + self.behind > 0:
            self._trailing_sign(taken)

    def _leading_sign(self) -> None:
        here = self._here()
        if here == "-" or (here == "<" and self.pattern.brackets):
            self.sign = "-"
        elif here == "+":
            self.sign = "+"
        else:
            return
        self.at += 1

    def _trailing_sign(self, taken: bool) -> None:
        pattern = self.pattern
        if pattern.sign is not None:
            following = self.text[self.at + 1 : self.at + 2]
            if taken and following and following in "+-":
                self.sign = following
                self.at += 1
        elif not taken and (pattern.plus or pattern.minus) and self._here() in ("+", "-"):
            self.sign = self._here()


def read_number(text: str, written: str) -> Decimal | None:
    """The number; None for a pattern without anything in it. Raises SqlError for what is no number, or has more digits
    before the point than the pattern."""
    if not written:
        return None
    pattern = read_figures(written)
    if pattern.scientific:
        raise Unsupported("a pattern of a number with EEEE in to_number()")
    if not text.isascii():
        raise Unsupported("to_number() of a text with letters beyond ASCII")
    reader = _Reader(pattern, text)
    reader.read()
    digits = reader.digits.removesuffix(".")
    if not digits.strip("."):
        raise SqlError("22P02", "to_number() of a text without digits")
    value = Decimal(digits)
    if int(value) >= 10**pattern.before:
        raise SqlError("22003", "to_number() of more digits than the pattern has")
    return -value if reader.sign == "-" and value else value


def _read(call: Call) -> Implementation:
    return read_number


POSTGRES: Table = {
    "to_number": (Rule(exactly(TEXT, TEXT), NUMERIC, _read, errors=("42601", "22P02", "22003"), stable=True),),
}
