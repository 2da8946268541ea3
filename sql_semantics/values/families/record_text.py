"""Rows as texts: ``(1,,"a b")`` (PostgreSQL 8.16.2 and 8.16.6). Does not know the types of the columns."""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import SqlError

_BLANKS = " \t\n\r\v\f"


def read_record(text: str, width: int, may: bool) -> list[str | None]:
    """The columns of a row of so many. Raises SqlError 22P02 for what is none."""
    place = _after_blanks(text, 0)
    if text[place : place + 1] != "(":
        raise _malformed(may)
    place += 1
    columns: list[str | None] = []
    for number in range(width):
        if number:
            if text[place : place + 1] != ",":
                raise _malformed(may)  # too few columns
            place += 1
        if text[place : place + 1] in (",", ")"):
            columns.append(None)
            continue
        column, place = _column(text, place, may)
        columns.append(column)
    if text[place : place + 1] != ")" or _after_blanks(text, place + 1) != len(text):
        raise _malformed(may)  # too many columns, or more behind them
    return columns


def _column(text: str, place: int, may: bool) -> tuple[str, int]:
    """A column that is not NULL, and where it ends; quotes may begin and end anywhere in it."""
    letters: list[str] = []
    quoted = False
    while place < len(text):
        letter = text[place]
        following = text[place + 1 : place + 2]
        if not quoted and letter in ",)":
            return "".join(letters), place
        place += 1
        if letter == "\\":
            if not following:
                break
            letters.append(following)
            place += 1
        elif letter == '"' and quoted and following == '"':
            letters.append('"')
            place += 1
        elif letter == '"':
            quoted = not quoted
        else:
            letters.append(letter)
    raise _malformed(may)


def record_text(columns: Sequence[str | None]) -> str:
    """The row as PostgreSQL writes it: NULL is nothing at all, and what would be read otherwise stands in quotes."""
    return "(" + ",".join("" if column is None else _quoted(column) for column in columns) + ")"


def _quoted(column: str) -> str:
    plain = column and not any(letter in '"\\(),' or letter in _BLANKS for letter in column)
    return column if plain else '"' + column.replace("\\", "\\\\").replace('"', '""') + '"'


def _after_blanks(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _BLANKS:
        place += 1
    return place


def _malformed(may: bool) -> SqlError:
    return SqlError("22P02", "malformed record literal", may=may)
