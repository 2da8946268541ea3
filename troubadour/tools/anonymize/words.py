"""Other words in place of the texts and byte strings of a log: equal ones for equal ones, in the same order, and alike
to a product's collation as the old ones are.

A text becomes a word of letters, of the same width for all, with the trailing blanks that it had. Where a collation
takes several texts for one, so it does their words, which differ in case; where it does not tell how a text compares,
the word has a character behind it of which it does not tell that either. With `documents` a JSON text, or a path into
one, has words in place of its keys and strings; with `numbers` what may be read as a number or a truth value stays.
Does not know SQL types, nor where in a log a text stands.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.values.families.jsonb import read_jsonb, string_text
from sql_semantics.values.text import TextRule

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PLAIN_LETTERS = "bcdghjklmpqsvwxz"
"""Letters of which no number, no truth value and no null is written, nor one's beginning."""
_NUMBER = re.compile(
    r"\s*(?:[+-]?\s*\.?[0-9].*|[+-]?(?:nan|inf|infinity)\s*|(?:t|f|y|n|tr|tru|true|fa|fal|fals|false|ye|yes|no|on|of|off"
    r"|null)\s*)",
    re.IGNORECASE | re.DOTALL,
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STEP = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^."\[\]]+))|(\[[^\]]*\])', re.DOTALL)
_SAFE = re.compile(r"[0-9a-z]*")
_SAFE_ANY_CASE = re.compile(r"[0-9A-Za-z]*")
_UNSAFE, _UNFOLDED = "-", "ß"
_BY_CLASS = frozenset({TextRule.IGNORE_CASE, TextRule.UNKNOWN})


@dataclass(slots=True)
class Needs:
    """What statements make of texts beyond comparing them for equality: `numbers`, why those that are numbers have to
    stay, empty for nothing; `documents`: texts of JSON are looked into; `ordered`: texts are ordered, `sorted_json`:
    values of jsonb are; `kept`: words that stay, as functions answer them."""

    numbers: str = ""
    documents: bool = False
    ordered: bool = False
    sorted_json: bool = False
    kept: set[str] = field(default_factory=set)


class Words:
    """First `meet` every text, then `settle`, then ask for the words. `canonical`: the product writes jsonb in one
    way, so that a text may be what it wrote."""

    def __init__(self, rule: TextRule, needs: Needs, *, canonical: bool) -> None:
        self._rule, self._needs, self._canonical = rule, needs, canonical
        self._met: set[str] = set()
        self._octets: set[bytes] = set()
        self._words: dict[str, str] = {}
        self._bytes: dict[bytes, bytes] = {}
        self._documents: dict[str, str] = {}
        self._met_documents: set[str] = set()

    def meet(self, text: str) -> None:
        """A text of the log."""
        self._met.add(text)

    def meet_document(self, text: str) -> None:
        """The keys and strings of a JSON text; a text that is none is one as any."""
        if not _is_json(text):
            self._met.add(text)
            return
        self._met.update(map(_string, _STRING.findall(text)))
        self._met_documents.add(text)

    def meet_bytes(self, value: bytes) -> None:
        """A byte string of the log."""
        self._octets.add(value)

    def settle(self, room: int | None) -> None:
        """Choose the words, for columns of `room` characters at least (None: any). Raises Unsupported where none are
        faithful, or short enough."""
        leaves: set[str] = set()
        open_ = list(self._met)
        seen = set(open_)
        while open_:
            text = open_.pop()
            parts = self._parts(text)
            if parts is None:
                if not self._stays(text):
                    leaves.add(text)
                continue
            new = [part for part in parts if part not in seen]
            seen.update(new)
            open_ += new
        blanks = max((len(text) - len(text.rstrip(" ")) for text in leaves), default=0)
        self._choose(leaves, None if room is None else room - blanks)
        if self._needs.ordered and self._needs.numbers:
            ordered = sorted(self._met)
            made = list(map(self.text, ordered))
            if made != sorted(made):
                raise Unsupported(
                    f"an order of texts of which some are numbers that have to stay ({self._needs.numbers})"
                )
        if self._needs.sorted_json:  # by their keys first, of which the shorter ones come first
            for text in self._met_documents:
                written = _canonical(text) or ""
                if _STRING.sub(self._literal, written) != self.document(written):
                    raise Unsupported("an order of jsonb values whose keys would be in another order")
        self._bytes = dict(
            zip(sorted(self._octets), map(str.encode, counted(len(self._octets), LETTERS, 2)), strict=True)
        )

    def text(self, text: str) -> str:
        """The word for a text that was met."""
        found = self._words.get(text)
        if found is not None:
            return found
        if self._needs.documents:
            if _is_path(text):
                return "$" + _STEP.sub(self._step, text[1:])
            if _is_document(text):
                return self.document(text)
        assert self._stays(text), text
        return text

    def document(self, text: str) -> str:
        """The JSON text with other keys and strings, otherwise as it was written; one as the product writes jsonb is
        so again."""
        found = self._documents.get(text)
        if found is None:
            if not _is_json(text):
                return self.text(text)
            found = _STRING.sub(self._literal, text)
            if self._canonical and _canonical(text) == text:
                found = _canonical(found) or found
            self._documents[text] = found
        return found

    def bytes(self, value: bytes) -> bytes:
        """What stands for a byte string that was met."""
        return self._bytes[value]

    def _literal(self, match: re.Match[str]) -> str:
        return string_text(self.text(_string(match.group())))

    def _step(self, match: re.Match[str]) -> str:
        quoted, plain, place = match.groups()
        if place is not None:
            return str(place)
        key = self.text(_string(f'"{quoted}"') if quoted is not None else plain)
        return f".{key}" if plain is not None and key.isalnum() else f".{string_text(key)}"

    def _parts(self, text: str) -> list[str] | None:
        """The texts that a text is made of; None for one that is a whole."""
        if not self._needs.documents:
            return None
        if _is_path(text):
            steps = [match.groups() for match in _STEP.finditer(text)]
            return [
                _string(f'"{quoted}"') if quoted is not None else plain
                for quoted, plain, place in steps
                if place is None
            ]
        return list(map(_string, _STRING.findall(text))) if _is_document(text) else None

    def _stays(self, text: str) -> bool:
        return text in self._needs.kept or (bool(self._needs.numbers) and _NUMBER.fullmatch(text) is not None)

    def _choose(self, texts: Iterable[str], room: int | None) -> None:
        """A word for each; texts that may be equal to the collation differ in the case of their letters alone."""
        classes: dict[str, set[str]] = {}
        for text in texts:
            stem = text.rstrip(" ")
            classes.setdefault(self._class(stem), set()).add(stem)
        most = max(map(len, classes.values()), default=1)
        letters = PLAIN_LETTERS if self._needs.numbers else LETTERS
        width = max(2, (most - 1).bit_length())
        keys = sorted(classes)
        stems: dict[str, str] = {}
        for key, word in zip(keys, counted(len(keys), letters, width), strict=True):
            for number, stem in enumerate(sorted(classes[key])):
                varied = "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate(word))
                stems[stem] = varied + self._behind(stem)
        longest = max(map(len, stems.values()), default=0)
        if room is not None and longest > room:
            raise Unsupported(f"varchar({room}), too short for {len(stems)} different texts")
        for text in texts:
            stem = text.rstrip(" ")
            self._words[text] = stems[stem] + text[len(stem) :]

    def _class(self, stem: str) -> str:
        if self._rule not in _BY_CLASS:
            return stem
        folded = _folded(stem)
        return stem if folded is None else folded

    def _behind(self, stem: str) -> str:
        """What keeps a product's collation from telling more of a word than it told of the text."""
        if self._rule in _BY_CLASS and _folded(stem) is None:
            return _UNFOLDED
        if self._rule is TextRule.CODE_POINT or not self._needs.ordered:
            return ""
        if self._rule is TextRule.BINARY_PADDED:
            return "" if stem.isprintable() else "\x7f"
        safe = _SAFE_ANY_CASE if self._rule is TextRule.IGNORE_CASE else _SAFE
        return "" if safe.fullmatch(stem) else _UNSAFE


def counted(count: int, letters: str, width: int) -> Iterable[str]:
    """So many words in order, all of the same width."""
    while len(letters) ** width < count:
        width += 1
    for number in range(count):
        word = ""
        for _ in range(width):
            number, place = divmod(number, len(letters))
            word = letters[place] + word
        yield word


def _folded(text: str) -> str | None:
    """A text without case and accents; None where collations disagree on that."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    if not bare.isascii() or len(bare) != len(unicodedata.normalize("NFC", text)) or not bare.isprintable():
        return None
    return bare.lower()


def _string(literal: str) -> str:
    found = json.loads(literal, strict=False)
    assert isinstance(found, str)
    return found


def _is_path(text: str) -> bool:
    return text[:1] == "$" and re.fullmatch(_STEP.pattern.join(("(?:", ")*")), text[1:], re.DOTALL) is not None


def _is_document(text: str) -> bool:
    """Whether a text is JSON that has strings, or could have."""
    return text.lstrip()[:1] in ("{", "[", '"') and _is_json(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _canonical(text: str) -> str | None:
    """The text as PostgreSQL writes that value of jsonb; None for none."""
    try:
        return read_jsonb(text, False).text
    except (SqlError, Unsupported):
        return None
