"""How names are compared: the one place that knows (PostgreSQL 4.1.1; MySQL 11.2.3; sqlite.org/lang_keywords.html).

PostgreSQL folds the ASCII letters of a name that stands without quotes, and cuts every name after 63 bytes. In the
others case never tells columns, aliases, variables and routines apart, of ASCII letters in SQLite and DuckDB, of all
letters in MySQL. Its tables, and their aliases, are told apart by case on most systems. Does not know of what
something is the name.
"""

from __future__ import annotations

from collections.abc import Container

from sql_semantics.values.dialect import Dialect

_ASCII = str.maketrans({letter: letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
_QUOTES = {'"': '"', "`": "`", "'": "'", "[": "]"}


def folded(name: str, dialect: Dialect, *, quoted: bool = False) -> str:
    """The name of a column, an alias, a variable, a routine, a type or an index, as it is compared; `name` is without
    its quotes."""
    rules = dialect.rules.text
    name = _cut(name, rules.longest_name)
    return name if quoted and rules.quoted_names_keep_case else lowered(name, dialect)


def folded_table(name: str, dialect: Dialect, *, quoted: bool = False) -> str:
    """The same of a table, or of what stands for one."""
    rules = dialect.rules.text
    name = _cut(name, rules.longest_name)
    keeps = rules.table_names == "as written" and not dialect.folds_tables
    return name if keeps or (quoted and rules.table_names == "folded unless quoted") else lowered(name, dialect)


def lowered(name: str, dialect: Dialect) -> str:
    """The name in small letters, as far as the product knows them: letter by letter, whatever stands beside one."""
    if name.isascii() or dialect.rules.text.letters_fold == "ascii":
        return name.translate(_ASCII)
    return "".join(letter.lower()[:1] for letter in name)


def _cut(name: str, longest: int | None) -> str:
    """The name as far as the product keeps it, in bytes; no letter is cut in two."""
    if longest is None or len(name) * 4 <= longest:
        return name
    return name.encode("utf-8", "surrogatepass")[:longest].decode("utf-8", "ignore")


def unquoted(written: str) -> str:
    """A name without its quotes."""
    first = written[:1]
    if first not in _QUOTES or len(written) < 2:
        return written
    return written[1:-1] if first == "[" else written[1:-1].replace(first * 2, first)


def is_quoted(written: str) -> bool:
    """Whether a name stands in quotes, as a text spells it."""
    return written[:1] in _QUOTES


def folded_written(written: str, dialect: Dialect) -> str:
    """`folded` of a name as a text spells it, with its quotes."""
    return folded(unquoted(written), dialect, quoted=is_quoted(written))


def folded_written_table(written: str, dialect: Dialect) -> str:
    """`folded_table` of a name as a text spells it, with its quotes."""
    return folded_table(unquoted(written), dialect, quoted=is_quoted(written))


def given_name(name: str, known: Container[str], dialect: Dialect, *, table: bool = False) -> str:
    """The name among `known` that data calls `name`, without a text around it: that one if it is there, else what it
    stands for without quotes; `name` where neither is."""
    other = folded_table(name, dialect) if table else folded(name, dialect)
    return name if name in known or other not in known else other
