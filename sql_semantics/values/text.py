"""Comparison of text under known and unknown collations.

Equal and ordered where every usual collation agrees; `Unsupported` where the answer would hang on a collation that
is not known. Does not know the collation's own tables: only code points, ASCII case and what is common to all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value, charset_of

_SAFE = pattern(r"[0-9a-z]*\Z")
_SAFE_ANY_CASE = pattern(r"[0-9A-Za-z]*\Z")
_PRINTABLE = pattern(r"[\x20-\x7e]*\Z")

_DIGIT = pattern(r"[0-9]")
ORDERING = "ordering of text under an unknown collation"
EQUALITY = "comparison of text under an unknown collation"


class TextRule(Enum):
    """How text compares."""

    CODE_POINT = "code points"
    DETERMINISTIC = "equality by code points, order unknown"
    BINARY_PADDED = "code points, but trailing blanks may count or not"
    IGNORE_CASE = "ASCII letters compare without case, the rest is unknown"
    UNKNOWN = "nothing is known"


_CODE_POINT_COLLATIONS = frozenset({"c", "posix", "ucs_basic", "c.utf-8", "c.utf8", "binary"})


def text_rule(dialect: Dialect) -> TextRule:
    """The rule that a dialect with this `collation` follows."""
    name = (dialect.collation or "").lower()
    if name in _CODE_POINT_COLLATIONS:
        return TextRule.CODE_POINT
    collations = dialect.rules.values.collations
    if collations == "code_points":
        return TextRule.CODE_POINT if not name else TextRule.UNKNOWN
    if collations == "deterministic":
        return TextRule.DETERMINISTIC
    return _named_rule(name)


def _named_rule(name: str) -> TextRule:
    """The rule of one of MySQL's collations."""
    if name in _CODE_POINT_COLLATIONS or name == "utf8mb4_0900_bin":
        return TextRule.CODE_POINT
    if name.endswith("_bin"):
        return TextRule.BINARY_PADDED
    if name.endswith("_ci"):
        return TextRule.IGNORE_CASE
    return TextRule.UNKNOWN


def rule_of(type_: SqlType, rule: TextRule) -> TextRule:
    """How texts of a type compare: by its own collation, or else by the `rule` of the log."""
    return _named_rule(type_.collation) if type_.collation else rule


def common_rule(types: Iterable[SqlType], rule: TextRule) -> TextRule:
    """How texts of these types compare with one another: by the one collation that some of them have; nothing is known
    of that of several."""
    own = {type_.collation for type_ in types} - {""}
    if len(own) > 1:
        return TextRule.UNKNOWN
    return _named_rule(own.pop()) if own else rule


def equal_by_code_points(rule: TextRule) -> bool:
    """Whether plain Python equality, and hence a hash index, decides equality."""
    return rule in (TextRule.CODE_POINT, TextRule.DETERMINISTIC)


def _folded(text: str) -> str | None:
    """What is left without case, accents and trailing blanks; None where collations disagree on a character."""
    if _PRINTABLE.match(text):
        return text.lower().rstrip(" ")
    composed = unicodedata.normalize("NFC", text)
    bare = "".join(c for c in unicodedata.normalize("NFD", composed) if not unicodedata.combining(c))
    if len(bare) == len(composed) and _PRINTABLE.match(bare):
        return bare.lower().rstrip(" ")
    return None


def differ_for_certain(left: Sequence[object], right: Sequence[object]) -> bool:
    """Whether two keys of the same columns differ under every collation: in a value that is no text, or in a text
    whatever becomes of case, accents and trailing blanks."""
    for one, other in zip(left, right, strict=True):
        if not isinstance(one, str) or not isinstance(other, str):
            if one != other:
                return True
            continue
        first, second = _folded(one), _folded(other)
        if first is not None and second is not None and first != second:
            return True
    return False


def _equal_unknown(left: str, right: str) -> bool:
    if left == right:
        return True
    first, second = _folded(left), _folded(right)
    if first is None or second is None or first == second:
        raise Unsupported(EQUALITY)
    return False


def _equal_padded(left: str, right: str) -> bool:
    if left == right:
        return True
    if left.rstrip(" ") == right.rstrip(" "):
        raise Unsupported(EQUALITY)
    return False


def _equal_ignoring_case(left: str, right: str) -> bool:
    if left == right:
        return True
    if _PRINTABLE.match(left) and _PRINTABLE.match(right):
        if left.lower() == right.lower():
            return True
        if left.lower().rstrip(" ") != right.lower().rstrip(" "):
            return False
        raise Unsupported(EQUALITY)
    return _equal_unknown(left, right)


_EQUALITIES: dict[TextRule, Callable[[str, str], bool]] = {
    TextRule.CODE_POINT: str.__eq__,
    TextRule.DETERMINISTIC: str.__eq__,
    TextRule.BINARY_PADDED: _equal_padded,
    TextRule.IGNORE_CASE: _equal_ignoring_case,
    TextRule.UNKNOWN: _equal_unknown,
}


def text_equality(rule: TextRule) -> Callable[[str, str], bool]:
    """Equality of two non-null texts; the function raises Unsupported where it is not known."""
    return _EQUALITIES[rule]


def order_key(text: str, rule: TextRule) -> str:
    """A string that orders as `text` does among others checked by `require_orderable`."""
    return text.lower() if rule is TextRule.IGNORE_CASE else text


def require_orderable(texts: Iterable[str], rule: TextRule) -> None:
    """Raise Unsupported unless the order of these texts is known."""
    if rule is TextRule.CODE_POINT:
        return
    distinct = set(texts)
    if len(distinct) < 2:
        return
    if rule is TextRule.BINARY_PADDED:
        if any(text.endswith(" ") or not text.isprintable() for text in distinct):
            raise Unsupported(ORDERING)
        return
    if all(map(str.isascii, distinct)) and len({_DIGIT.sub("0", text) for text in distinct}) == 1:
        return  # alike but for their digits, as dates are
    safe = _SAFE_ANY_CASE if rule is TextRule.IGNORE_CASE else _SAFE
    for text in distinct:
        if not safe.match(text):
            raise Unsupported(ORDERING)


def require_groupable(texts: Iterable[str], rule: TextRule) -> None:
    """Raise Unsupported unless code points decide which of these texts are equal (GROUP BY, DISTINCT).

    Also where two of them are known to be equal: which one stands for the group is the DBMS's choice.
    """
    if equal_by_code_points(rule):
        return
    distinct = set(texts)
    if len(distinct) < 2:
        return
    if rule is TextRule.BINARY_PADDED:
        folded: set[str | None] = {text.rstrip(" ") for text in distinct}
    else:
        folded = {_folded(text) for text in distinct}
    if None in folded or len(folded) < len(distinct):
        raise Unsupported(EQUALITY)


def text_order(rule: TextRule) -> Callable[[str, str], int]:
    """Three-way comparison of two non-null texts, -1, 0 or 1; the function raises Unsupported where it is not known."""

    def compare(left: str, right: str) -> int:
        if left == right:
            return 0
        require_orderable((left, right), rule)
        first, second = order_key(left, rule), order_key(right, rule)
        return 0 if first == second else -1 if first < second else 1

    return compare


LONGEST = 1 << 26
"""Characters of a text that are modelled; PostgreSQL holds a gigabyte."""

_LONGEST_CHAR = 10_485_760
"""The n of CHAR(n), in PostgreSQL."""


def joined(left: str, right: str) -> str:
    """Two texts as one. Raises Unsupported for one that doubling has made too long."""
    if len(left) + len(right) > LONGEST:
        raise Unsupported(f"a text of more than {LONGEST:,} characters")
    return left + right


def padded_length(length: int) -> int:
    """The length to which a CHAR(n) is padded. Raises Unsupported for an n that no product takes."""
    if length > _LONGEST_CHAR:
        raise Unsupported(f"a CHAR of more than {_LONGEST_CHAR:,} characters")
    return length


_UTF8 = frozenset({"", "utf8", "utf8mb3", "utf8mb4"})
_WIDE = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""Character sets that store ASCII in other bytes, too."""


def bytes_check(type_: SqlType, dialect: Dialect) -> Callable[[Value], None] | None:
    """What raises Unsupported for a text that another character set of MySQL's may store in other bytes than UTF-8;
    None where there is none."""
    others = {charset_of(collation or "") for collation in (type_.collation or dialect.collation, dialect.literals)}
    others -= _UTF8
    if not others:
        return None
    of_ascii = others.isdisjoint(_WIDE)

    def check(text: Value) -> None:
        if isinstance(text, str) and not (of_ascii and text.isascii()):
            raise Unsupported(f"the bytes of a text in CHARACTER SET {', '.join(sorted(others))}")

    return check
