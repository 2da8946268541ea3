"""Text that is safe to look at: what would steer a terminal, reorder a line or hide in it is written out.

A log is the input of a stranger, and so are its names, values, statements and messages; all that is shown to people
passes here. Does not know where a text goes.
"""

from __future__ import annotations

import unicodedata

from sql_semantics.patterns import pattern

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, marks of direction and of width nothing, surrogates, what has no meaning, separators of lines."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAYOUT = "\n\t"
_STYLE = pattern("(\x1b\\[[0-9;]*m)")


def visible(text: str, *, keep: str = _LAYOUT) -> str:
    """A text without hidden characters but those to `keep`, each written as JSON writes it (``\\u001b``): within a
    JSON document, where they stand in strings only, this changes nothing of what it says."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) not in _HIDDEN else _written(c) for c in text
    )


def one_line(text: str) -> str:
    """A text on one line, without hidden characters."""
    return visible(text, keep="")


def visible_styled(text: str) -> str:
    """The same of a text that was given colours, which stay: what it was made of has to have passed before."""
    return "".join(part if _STYLE.fullmatch(part) else visible(part) for part in _STYLE.split(text))


def _written(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 1 << 16:
        return f"\\u{code:04x}"
    code -= 1 << 16
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
