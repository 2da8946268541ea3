"""Digests and writings of bytes, and words with capitals (PostgreSQL 9.4, 9.5). Does not know character sets."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly, plainly
from sql_semantics.values.types import BYTES, TEXT

_BLANKS = " \t\r\n"
_HEX = pattern(rf"(?:[{_BLANKS}]*[0-9a-fA-F]{{2}})*[{_BLANKS}]*")
_WITHOUT_BLANKS = str.maketrans("", "", _BLANKS)
_LINE = 76


def _encoded(call: Call) -> Implementation:
    def apply(value: bytes, form: str) -> str:
        form = form.lower()
        if form == "hex":
            return value.hex()
        if form != "base64":
            raise Unsupported(f"encode() as {form}")
        text = base64.b64encode(value).decode()
        lines = "\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))
        full = text and len(text) % _LINE == 0 and not text.endswith("=")
        return f"{lines}\n" if full else lines  # a line ends once its last three bytes are written

    return apply


def _decoded(call: Call) -> Implementation:
    def apply(text: str, form: str) -> bytes:
        form = form.lower()
        try:
            if form == "hex" and _HEX.fullmatch(text):
                return bytes.fromhex(text.translate(_WITHOUT_BLANKS))
            if form == "base64":
                return base64.b64decode(text.translate(_WITHOUT_BLANKS), validate=True)
        except (binascii.Error, ValueError):  # letters beyond ASCII
            pass
        raise Unsupported(f"decode() as {form} of such a text")

    return apply


def _capitals(text: str) -> str:
    if not text.isascii():
        raise Unsupported("initcap() of a text beyond ASCII")
    return re.sub(r"[A-Za-z0-9]+", lambda word: word.group().capitalize(), text)


def _digest(name: str) -> Callable[[bytes], bytes]:
    return lambda value: hashlib.new(name, value).digest()


POSTGRES: Table = {
    "encode": (Rule(exactly(BYTES, TEXT), TEXT, _encoded),),
    "decode": (Rule(exactly(TEXT, TEXT), BYTES, _decoded),),
    "initcap": (Rule(exactly(TEXT), TEXT, plainly(_capitals)),),
    **{
        name: (Rule(exactly(BYTES), BYTES, plainly(_digest(name))),)
        for name in ("sha224", "sha256", "sha384", "sha512")
    },
}
