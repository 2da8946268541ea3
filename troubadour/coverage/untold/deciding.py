"""Settings of which it is not modelled what they do: the statements that may hang on them, and what these would answer
(PostgreSQL manual 19, MariaDB, Server System Variables, sqlite.org/pragma.html, DuckDB, Configuration).

Does not know what the statements answer otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from troubadour.coverage.untold.accused import Accused, choosing, digits_of, is_query, rows_of
from troubadour.coverage.untold.modelled import LIKE
from troubadour.model.log import JsonValue, Statement
from troubadour.model.witness import GivenUp

_COMMENT = pattern(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERAL = pattern(r"'(?:[^']|'')*'")
_WORD = pattern(r"[\w$]+")
_NAME = r"((?:[\"`]?[\w$]+[\"`]?\.)*[\"`]?[\w$]+[\"`]?)"
_DEFINITION = pattern(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+){0,3}?(TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|DOMAIN|TYPE|RULE)\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    re.IGNORECASE,
)
_UPON = pattern(rf"\bON\s+{_NAME}", re.IGNORECASE)


def _always(about: Accused, statement: Statement) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Decides:
    """What a setting may decide about: texts with `words`, looked for in literals too where `literals`, whose answers
    it `could` have given."""

    words: str
    could: Callable[[Accused, Statement], bool] = _always
    literals: bool = False

    def concerns(self, text: str) -> bool:
        """Whether a text has such words."""
        text = _COMMENT.sub(" ", text)
        text = text if self.literals else _LITERAL.sub("''", text)
        return re.search(self.words, text, re.IGNORECASE | re.DOTALL) is not None


def decided(about: Accused, name: str, decides: Decides) -> tuple[GivenUp, ...]:
    """The statements that a setting may have decided about, as far as that has a say in what the log is accused of: of
    transactions that are not accused, which may have written any values, those of which it may decide what rows they
    write."""
    through = _leading_to(about.library.definitions, decides)
    construct = f"the setting {name}, which the log does not tell"
    return tuple(
        GivenUp(transaction.id, index, construct)
        for transaction in about.log.transactions
        for index, statement in enumerate(transaction.statements)
        if _hangs(statement, decides, through, whole=about.is_accused(transaction)) and decides.could(about, statement)
    )


def _hangs(statement: Statement, decides: Decides, through: Mapping[str, bool], *, whole: bool) -> bool:
    """Whether a setting may decide about a statement, or where not `whole` about the rows that it writes."""
    if not whole:
        return not is_query(statement) and decides.concerns(choosing(statement))
    return decides.concerns(statement.sql) or _mentions(statement.sql, through, reads=is_query(statement))


# --- definitions ----------------------------------------------------------------------------------------------------


def _leading_to(texts: tuple[str, ...], decides: Decides) -> Mapping[str, bool]:
    """The names of a schema by which a statement may come to the words of a setting, and whether it does by reading."""
    found: dict[str, bool] = {}
    defined = [(text, name, kind) for text in texts for name, kind in _defined(text)]
    changed = True
    while changed:
        changed = False
        for text, name, kind in defined:
            if name not in found and (decides.concerns(text) or _mentions(text, found, reads=True)):
                found[name] = kind != "TABLE"
                changed = True
    return found


def _defined(text: str) -> Iterator[tuple[str, str]]:
    """The name in which a definition has a say, and of what it is one."""
    match = _DEFINITION.match(text)
    if match is None:
        return
    kind, name = match[1].upper(), match[2]
    upon = _UPON.search(text, match.end()) if kind in ("TRIGGER", "RULE", "INDEX") else None
    if upon is not None:
        kind, name = "TABLE", upon[1]
    yield name.split(".")[-1].strip('"`').lower(), kind


def _mentions(text: str, names: Mapping[str, bool], *, reads: bool) -> bool:
    """Whether a text has one of these names; where it `reads`, one that reading leads by."""
    words = {word.lower() for word in _WORD.findall(text)} if names else set()
    return any(name in words and (by_reading or not reads) for name, by_reading in names.items())


# --- what statements answer -----------------------------------------------------------------------------------------


def _answers(about: Accused, statement: Statement) -> bool:
    return bool(rows_of(statement)) or not is_query(statement)


def _is_said_to_fail(about: Accused, statement: Statement) -> bool:
    return statement.error is None and about.is_claimed(statement)


def _differs_among_sessions(about: Accused, statement: Statement) -> bool:
    return about.in_sessions(LIKE)


def _gives_null(about: Accused, statement: Statement) -> bool:
    return statement.error is not None or any(value is None for row in rows_of(statement) for value in row)


def _parameters(statement: Statement) -> list[JsonValue]:
    params = statement.params
    return list(params.values() if isinstance(params, Mapping) else params or ())


def _meets_null(about: Accused, statement: Statement) -> bool:
    """``x = NULL`` stands in its text, or a parameter that is NULL was written into it."""
    text = _LITERAL.sub("''", choosing(statement))
    if re.search(r"[^<>!]=\s*\(*\s*null\b|\bnull\s*\)*\s*=", text, re.IGNORECASE):
        return True
    return None in _parameters(statement) and re.search(r"[^<>!:]=\s*\(*\s*(%|\$|\?|:)", text) is not None


def _lists_null(about: Accused, statement: Statement) -> bool:
    """An array that is written as a text has NULL."""
    texts = [statement.sql, *(value for value in _parameters(statement) if isinstance(value, str))]
    return any(re.search(r"\{[^}]*\bnull\b", text, re.IGNORECASE) for text in texts)


_SINGLE, _DOUBLE = 6, 15
"""Digits that numbers of single and of double precision keep at the least."""


def _is_rounded(about: Accused, statement: Statement) -> bool:
    """It shows a number of as many digits as any in the log, which are fewer than it may have."""
    most = about.most_digits
    return _SINGLE <= most <= _DOUBLE and any(digits_of(value) == most for row in rows_of(statement) for value in row)


def _meets_ambiguity(about: Accused, statement: Statement) -> bool:
    """It did not fail, and a routine that it may run has a variable that is called as a column is."""
    if statement.error is not None:
        return False
    words = {word.lower() for word in _WORD.findall(statement.sql)}
    for text in about.library.definitions:
        for name, kind in _defined(text):
            if kind in ("FUNCTION", "PROCEDURE") and (name in words or not is_query(statement)):
                declared = re.search(r"\bdeclare\b(.*?)\bbegin\b", text, re.IGNORECASE | re.DOTALL)
                head = re.split(r"\breturns\b|\bas\b", text, maxsplit=1, flags=re.IGNORECASE)[0]
                variables = _WORD.findall(f"{head[head.find('(') :]} {declared[1] if declared else ''}")
                if not about.columns.isdisjoint(word.lower() for word in variables):
                    return True
    return False


def _compares_texts(about: Accused, statement: Statement) -> bool:
    """Texts are compared in it, sorted or grouped."""
    text = _COMMENT.sub(" ", choosing(statement))
    operand = rf"('[^']*[a-z]|\b({about.text_columns})\b)"
    operator = r"(=|<|>|!=|\bi?like\b|\bbetween\b|\bin\s*\()"
    arranges = rf"\b(order|group|distinct|union|intersect|except|min|max|using|over)\b.*\b({about.text_columns})\b"
    patterns = (rf"{operand}\W*{operator}", rf"{operator}\W*{operand}", arranges, r"\bdistinct\b|\bunion\b|\bnatural\b")
    return any(re.search(one, text, re.IGNORECASE | re.DOTALL) for one in patterns)


def _numbers_itself(about: Accused, statement: Statement) -> bool:
    """It asks whether a column that numbers its rows IS NULL, and found one."""
    named = "|".join(re.escape(c.name) for table in about.tables for c in table.columns if c.identity)
    asks = named and re.search(rf"\b({named})[`\"]?\s+is\s+null", statement.sql, re.IGNORECASE)
    return bool(asks) and (bool(rows_of(statement)) or bool(statement.affected))


_SORTED = 64
"""Bytes of a text that MariaDB sorts by at the least (max_sort_length)."""


def _sorts_long_texts(about: Accused, statement: Statement) -> bool:
    arranges = rf"\b(order|group|distinct|union|min|max|over)\b.*\b({about.text_columns})\b"
    return about.longest_text >= _SORTED and re.search(arranges, statement.sql, re.IGNORECASE | re.DOTALL) is not None


_AS_TEXT = r"(::\s*|\bas\s+)(text|varchar)\b"
_FUNCTIONS = (
    r"\b(lower|upper|length|substr|substring|l?trim|rtrim|replace|instr|abs|round|hex|unhex|quote|char|unicode|printf"
    r"|format|regexp|soundex|sign|typeof|zeroblob)\s*\(|\b(like|glob|regexp|match)\b"
)
"""Functions and operators that applications of SQLite put their own in place of."""

DECIDING: Mapping[str, Mapping[str, Decides]] = {
    "postgres": {
        "transform_null_equals": Decides(r"=", _meets_null),
        "standard_conforming_strings": Decides(r"'[^']*\\", literals=True),
        "array_nulls": Decides(r"", _lists_null),
        "extra_float_digits": Decides(r"", _is_rounded),
        "plpgsql.variable_conflict": Decides(r"", _meets_ambiguity),
        "datestyle": Decides(rf"'\s*\d{{1,2}}[-/. ]\w{{1,9}}[-/. ]\d{{1,4}}|{_AS_TEXT}", literals=True),
        "intervalstyle": Decides(rf"\binterval\b.*{_AS_TEXT}"),
        "bytea_output": Decides(_AS_TEXT),
        "lc_numeric": Decides(r"\bto_(char|number)\s*\("),
        "lc_monetary": Decides(r"\bmoney\b"),
        "lc_time": Decides(r"\bto_(char|date|timestamp)\s*\("),
        "default_text_search_config": Decides(r"tsvector|tsquery|\bts_|@@"),
        "xmlbinary": Decides(r"\bxml"),
    },
    "mysql": {
        "div_precision_increment": Decides(r"/|\b(avg|std(dev)?(_\w+)?|var(iance|_\w+))\s*\(", _answers),
        "group_concat_max_len": Decides(r"\bgroup_concat\b|\bjson_\w*agg\b", _answers),
        "sql_auto_is_null": Decides(r"\bis\s+null\b", _numbers_itself),
        "max_recursive_iterations": Decides(r"\brecursive\b"),
        "max_sort_length": Decides(r"\b(order|group|distinct|union|min|max|over)\b", _sorts_long_texts),
        "lc_time_names": Decides(r"\b(date_format|dayname|monthname|str_to_date)\b", _answers),
        "default_week_format": Decides(r"\bweek\s*\(", _answers),
    },
    "sqlite": {
        "case_sensitive_like": Decides(LIKE, _differs_among_sessions),
        "functions": Decides(_FUNCTIONS, _answers),
        "encoding": Decides(r"\bhex\s*\(|\bas\s+blob\b", _answers),
        "reverse_unordered_selects": Decides(r"\bgroup_concat\s*\(", _answers),
    },
    "duckdb": {
        "integer_division": Decides(r"/(?!/)", _answers),
        "ieee_floating_point_ops": Decides(r"/|%|\b(sqrt|ln|log\w*|exp|pow\w*|a?(cos|sin|tan)\w*)\s*\(", _gives_null),
        "default_collation": Decides(r"", _compares_texts),
        "scalar_subquery_error_on_multiple_rows": Decides(r"\(\s*(select|with|from)\b", _is_said_to_fail),
        "order_by_non_integer_literal": Decides(r"\border\s+by\b.*'", _is_said_to_fail),
    },
}
"""By product and setting, what hangs on it, and which answers it could have given."""
