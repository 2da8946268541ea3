"""format(), and texts as names and literals of SQL (PostgreSQL 9.4.1). Does not know how values become texts."""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, plainly
from sql_semantics.values.types import TEXT, Kind

_PLAIN_NAME = pattern(r"[a-z_][a-z0-9_]*")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _names(
    """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast
    char character check coalesce collate collation column concurrently constraint create cross current_catalog
    current_date current_role current_schema current_time current_timestamp current_user dec decimal default deferrable
    desc distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest group
    grouping having ilike in initially inner inout int integer intersect interval into is isnull join json json_array
    json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
    lateral leading least left like limit localtime localtimestamp merge_action national natural nchar none normalize
    not notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision
    primary real references returning right row select session_user setof similar smallint some substring symmetric
    system_user table tablesample then time timestamp to trailing treat trim true union unique user using values varchar
    variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
    xmlparse xmlpi xmlroot xmlserialize xmltable
    """
)
"""Words that are quoted as names (18: pg_get_keywords() but those of category U)."""
_OLDER = frozenset(word for word in _KEYWORDS if not word.startswith(("json", "merge_action", "system_user")))
"""Those among them that every version quotes."""
_PART = pattern(r"%(?:(%)|(?:([0-9]+)\$)?(-*)([0-9]*)([sIL])|.|\Z)", 16)
_WIDEST = 10_000


def quoted_name(text: str) -> str:
    """A text as a name, in quotes where they are needed. Raises Unsupported where versions differ."""
    if _PLAIN_NAME.fullmatch(text) and text not in _KEYWORDS:
        return text
    if text in _KEYWORDS and text not in _OLDER:
        raise Unsupported(f"the name {text}, a keyword of some versions")
    return '"' + text.replace('"', '""') + '"'


def quoted_literal(text: str) -> str:
    """A text as a literal."""
    inside = text.replace("'", "''")
    if "\\" in inside:
        return "E'" + inside.replace("\\", "\\\\") + "'"
    return f"'{inside}'"


def _format(call: Call) -> Implementation:
    def shown(form: str, value: str | None) -> str:
        if form == "s":
            return value or ""
        if form == "L":
            return "NULL" if value is None else quoted_literal(value)
        if value is None:
            raise call.fail("22004", "null values cannot be formatted as an SQL identifier")
        return quoted_name(value)

    def apply(text: str | None, *values: str | None) -> str | None:
        if text is None:
            return None
        found: list[str] = []
        position = taken = 0
        for part in _PART.finditer(text):
            found.append(text[position : part.start()])
            position = part.end()
            percent, place, minus, width, form = part.groups()
            if percent:
                found.append("%")
                continue
            if form is None or (place is not None and int(place) == 0):
                if "*" in part.group():
                    raise Unsupported("format() with a width that is an argument")
                raise call.fail("22023", "unrecognized format() type specifier")
            taken = taken + 1 if place is None else int(place)
            if taken > len(values):
                raise call.fail("22023", "too few arguments for format()")
            wide = int(width or 0)
            if wide > _WIDEST:
                raise Unsupported("format() with such a width")
            one = shown(form, values[taken - 1])
            found.append(one.ljust(wide) if minus else one.rjust(wide))
        return "".join([*found, text[position:]])

    return apply


_TEXT = any_of([Kind.TEXT], TEXT)
POSTGRES: Table = {
    "format": (
        Rule((_TEXT,), TEXT, _format, errors=("22023", "22004"), strict=False),
        Rule((_TEXT, _TEXT), TEXT, _format, variadic=True, errors=("22023", "22004"), strict=False),
    ),
    "quote_ident": (Rule((_TEXT,), TEXT, plainly(quoted_name)),),
    "quote_literal": (Rule((_TEXT,), TEXT, plainly(quoted_literal)),),
    "quote_nullable": (
        Rule((_TEXT,), TEXT, plainly(lambda text: "NULL" if text is None else quoted_literal(text)), strict=False),
    ),
}
