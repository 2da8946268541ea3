"""What a recorder must know of a statement's text before it is sent: does it begin or end a transaction, is it certain
that it writes nothing, is it one statement. Read off its tokens (`lexing`), once per text.

Does not know SQL beyond that; what is not recognized is taken for a statement that writes, and so is a query, as it may
be of a view, or use a function, an operator or a cast, that does.
"""

from __future__ import annotations

import itertools
import re
from enum import Enum, auto
from functools import lru_cache

from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass, replace
from troubadour.record.statements.catalogs import (
    AFTER_TABLES,
    CATALOG_CALLS,
    CATALOGS,
    NEUTRAL_SETTINGS,
    OWN_OPERATORS,
    OWN_TYPES,
    PROBES,
    SCHEMA_PRAGMAS,
)
from troubadour.record.statements.lexing import (
    NAME,
    NUMBER,
    OPERATOR,
    PLACE,
    PUNCTUATION,
    QUOTED,
    TEXT,
    Token,
    name_of,
    tokens,
)


class Verb(Enum):
    """What a statement does to its transaction."""

    READ = auto()
    """A query, or a setting; whether it may write is said by `Text.harmless`."""
    WRITE = auto()
    SAVEPOINT = auto()
    """SAVEPOINT, RELEASE, ROLLBACK TO: part of the log, and no writes."""
    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    CHARACTERIZE = auto()
    """SET TRANSACTION: says of what kind the open transaction is."""
    DEFAULT = auto()
    """SET SESSION CHARACTERISTICS and its kin: of what kind later ones are."""
    NEUTRAL = auto()
    """Nothing at all, a setting without influence on what statements answer, or a question to the catalogs: not
    logged."""
    PREPARED = auto()
    """PREPARE TRANSACTION."""
    REFUSED = auto()
    """`reason` says why it cannot be recorded."""


@dataclass(frozen=True, slots=True)
class Text:
    """`level`, `read_only`: of BEGIN, SET TRANSACTION and their kin, where they say them, as SQL calls a level.
    `snapshot_at`: where these have the snapshot taken. `locks`: BEGIN IMMEDIATE or EXCLUSIVE. `calls`: lower-case names
    in front of a parenthesis. `harmless`: certainly writes nothing, whatever its names stand for. `word`: the first
    one, in capitals."""

    verb: Verb
    level: str | None = None
    read_only: bool | None = None
    calls: frozenset[str] = frozenset()
    reason: str = ""
    snapshot_at: str | None = None
    locks: bool = False
    harmless: bool = False
    word: str = ""


_VARIABLES = re.compile(r"SELECT @@[\w.]+(?: AS \w+)?(?: , @@[\w.]+(?: AS \w+)?)*(?: LIMIT 1)?", re.IGNORECASE)
"""A question for MySQL's system variables alone, its tokens joined by blanks."""
POSTGRES_LEVELS = {
    "READ UNCOMMITTED": "postgres:read-committed",
    "READ COMMITTED": "postgres:read-committed",
    "REPEATABLE READ": "postgres:repeatable-read",
    "SERIALIZABLE": "postgres:serializable",
}
"""What PostgreSQL promises at a level of SQL's."""
_DEFINES_BODY = {"FUNCTION", "PROCEDURE", "TRIGGER", "EVENT"}


@lru_cache(maxsize=10_000)
def read_text(sql: str, dialect: str) -> Text:
    """What the text of one statement says, in the dialect of a product; never raises."""
    found = list(tokens(sql, dialect))
    several = any(
        token.text == ";" and token.kind == PUNCTUATION and found[place + 1].text != ";"
        for place, token in enumerate(found[:-1])
    )
    found = [token for token in found if token.text != ";" or token.kind != PUNCTUATION]
    words = [token.text.upper() for token in found if token.kind != TEXT and token.text not in ("(", ")")]
    first = words[0] if words else ""
    if several and not (first == "CREATE" and _DEFINES_BODY.intersection(words[:12])) and first not in ("BEGIN", "DO"):
        return Text(Verb.REFUSED, reason="several statements in one text: execute them one by one")
    calls = frozenset(
        name_of(before)
        for before, token in itertools.pairwise(found)
        if token.text == "(" and before.kind in (NAME, QUOTED)
    )
    read = _classified(found, words, calls, several, dialect)
    if read.verb is Verb.READ:
        if "INTO" in words:
            read = replace(read, verb=Verb.WRITE)
        elif first != "SET" and _is_probe(found, calls, dialect):
            read = Text(Verb.NEUTRAL)
    harmless = read.verb is not Verb.WRITE and _is_harmless(read.verb, found, words, dialect)
    return replace(read, harmless=harmless, word=first)


@dataclass(frozen=True, slots=True)
class _Habits:
    """What a product's texts do that others' do not."""

    set_takes_expressions: bool = False
    """SET may compute its value, by functions that write."""
    has_variables: bool = False
    """A query of ``@@variables`` asks for settings."""
    analyze_runs: bool = False
    """ANALYZE of a statement runs it."""
    queries_write_nothing: bool = False
    """Neither a view nor a trigger writes where a query is run."""


_HABITS = {
    "mysql": _Habits(set_takes_expressions=True, has_variables=True, analyze_runs=True),
    "sqlite": _Habits(queries_write_nothing=True),
}
_USUAL = _Habits()


def _habits(dialect: str) -> _Habits:
    return _HABITS.get(dialect, _USUAL)


def _is_harmless(verb: Verb, found: list[Token], words: list[str], dialect: str) -> bool:
    """Whether what is read certainly writes nothing."""
    if verb is not Verb.READ:
        return True
    if words[0] in ("RESET", "DISCARD", "USE"):
        return True
    if words[0] == "SET":  # in MySQL the value may be an expression
        return not _habits(dialect).set_takes_expressions or not _computes(found, words)
    if _habits(dialect).queries_write_nothing:
        # neither a view nor a trigger writes where a query is run; some extensions have functions that do
        return _main_verb(found) in ("SELECT", "VALUES", "EXPLAIN", "PRAGMA") and _SQLITE_WRITERS.isdisjoint(
            name_of(token) for token in found
        )
    # constants alone, under whatever names
    return words[0] in ("SELECT", "VALUES") and all(
        token.kind in (TEXT, NUMBER, PLACE)
        or token.text == ","
        or token.text.upper() in ("AS", "NULL", "TRUE", "FALSE")
        or before.text.upper() == "AS"
        for before, token in itertools.pairwise(found)
    )


def _computes(found: list[Token], words: list[str]) -> bool:
    """Whether the value of a setting is more than a constant."""
    return not {"SELECT", "NEXT", "NEXTVAL"}.isdisjoint(words) or any(token.text == "(" for token in found)


_SQLITE_WRITERS = frozenset({"load_extension", "optimize", "fts3_tokenizer", "writefile"})


def _main_verb(found: list[Token]) -> str:
    """The word that says what a statement does, behind its WITH if it has one."""
    depth = 0
    for token in found:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        word = token.text.upper()
        if token.kind == NAME and depth == 0 and word in _MAIN:
            return word
        if token.kind == NAME and word == "SELECT" and found[0].text == "(":
            return word
    return ""


_MAIN = frozenset({"SELECT", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE", "EXPLAIN", "PRAGMA", "CREATE", "DROP"})


def _is_probe(found: list[Token], calls: frozenset[str], dialect: str) -> bool:
    """Whether a query asks for the catalogs, or what server this is, and nothing else, by nothing that a user could
    have made."""
    if _habits(dialect).has_variables and _VARIABLES.fullmatch(
        " ".join(token.text for token in found).replace(" . ", ".")
    ):
        return True
    tables = _Tables()
    for place, token in enumerate(found):
        tables.token(token)
        if token.text == "." and place and found[place - 1].text == ")":
            return False  # attribute notation, which may call a function
        if token.kind == OPERATOR and token.text not in OWN_OPERATORS:
            return False
        if token.text == "::" and place + 1 < len(found) and name_of(found[place + 1]) not in OWN_TYPES:
            return False
    if tables.only_catalogs():
        return calls <= PROBES | CATALOG_CALLS
    return tables.none() and bool(calls) and calls <= PROBES


class _Tables:
    """Which tables a query reads, as far as its words tell: is it about the catalogs only?"""

    def __init__(self) -> None:
        self._expected = self._listing = False
        self._catalogs = 0
        self._others = 0

    def token(self, token: Token) -> None:
        """The next piece of the text."""
        word = token.text.upper() if token.kind == NAME else token.text
        if word in ("FROM", "JOIN"):
            self._expected = self._listing = True
        elif token.kind == NAME and word in AFTER_TABLES:
            self._expected = self._listing = False
        elif word == "," and self._listing:
            self._expected = True
        elif self._expected and token.kind in (NAME, QUOTED) and word not in ("LATERAL", "ONLY"):
            self._expected = False
            if name_of(token) in CATALOGS:
                self._catalogs += 1
            else:
                self._others += 1
        elif self._expected and word == "(":
            self._expected = False

    def none(self) -> bool:
        """Whether it reads nothing."""
        return self._catalogs == self._others == 0 and not self._listing

    def only_catalogs(self) -> bool:
        """Whether it reads catalogs and nothing else."""
        return self._catalogs > 0 and self._others == 0


def _classified(found: list[Token], words: list[str], calls: frozenset[str], several: bool, dialect: str) -> Text:
    if not words:
        return Text(Verb.NEUTRAL)
    first = words[0]
    rest = " ".join(words)
    if first == "SHOW":
        return Text(Verb.NEUTRAL)
    if first in ("SELECT", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC", "PRAGMA"):
        if first == "EXPLAIN" and "ANALYZE" in words:
            return Text(Verb.WRITE, calls=calls)
        if first == "PRAGMA" and _neutral_pragma([word.strip('"').lower() for word in words[1:]]):
            return Text(Verb.NEUTRAL)
        return Text(Verb.READ, calls=calls)
    if first == "WITH" and _habits(dialect).queries_write_nothing and _main_verb(found) in ("SELECT", "VALUES"):
        return Text(Verb.READ, calls=calls)
    if first in ("BEGIN", "START"):
        if several or (first == "BEGIN" and len(words) > 1 and words[1] in ("NOT", "ATOMIC")):
            return Text(Verb.REFUSED, reason="a block of several statements in one text: execute them one by one")
        taken = "begin" if "WITH CONSISTENT SNAPSHOT" in rest else "statement"
        locks = "IMMEDIATE" in words[1:2] or "EXCLUSIVE" in words[1:2]
        return Text(Verb.BEGIN, _level(rest), _read_only(rest), snapshot_at=taken, locks=locks)
    if first in ("COMMIT", "END", "ROLLBACK", "ABORT"):
        return _ending(first, words, rest)
    if first in ("SAVEPOINT", "RELEASE"):
        return Text(Verb.SAVEPOINT)
    if first == "PREPARE" and words[1:2] == ["TRANSACTION"]:
        return Text(Verb.PREPARED)
    if first == "SET":
        return _setting(found, words, rest, calls)
    if first == "ANALYZE" and _habits(dialect).analyze_runs and not {"TABLE", "TABLES"}.intersection(words[1:3]):
        return Text(Verb.WRITE, calls=calls)  # MariaDB's ANALYZE of a statement runs it
    if first in ("RESET", "DISCARD", "DEALLOCATE", "LISTEN", "UNLISTEN", "NOTIFY", "CHECKPOINT", "ANALYZE", "USE"):
        return Text(Verb.NEUTRAL if first not in ("RESET", "DISCARD", "USE") else Verb.READ)
    if first == "COPY":
        return Text(Verb.REFUSED, reason="COPY is not recorded, as its rows are not in the statement: use executemany")
    if first in ("DECLARE", "FETCH", "MOVE", "CLOSE"):
        return Text(Verb.REFUSED, reason=f"{first} as a text is not recorded: use a named cursor of the driver")
    if first in ("PREPARE", "EXECUTE"):
        return Text(Verb.REFUSED, reason=f"{first} as a text is not recorded: the driver prepares statements itself")
    if first == "XA":
        return Text(Verb.REFUSED, reason="XA transactions are not recorded")
    return Text(Verb.WRITE, calls=calls)


def _neutral_pragma(words: list[str]) -> bool:
    """Whether a PRAGMA asks for the schema, or sets what no answer depends on."""
    if words[1:2] == ["."]:
        words = words[2:]
    if not words:
        return False
    if words[0] == "read_uncommitted":
        return len(words) == 1 or words[-1] == "0"
    return words[0] in NEUTRAL_SETTINGS or (words[0] in SCHEMA_PRAGMAS and "=" not in words)


def _ending(first: str, words: list[str], rest: str) -> Text:
    if "CHAIN" in words and "NO" not in words:
        return Text(Verb.REFUSED, reason="AND CHAIN is not recorded: begin the next transaction by itself")
    if words[1:2] == ["PREPARED"]:
        return Text(Verb.REFUSED, reason=f"{first} PREPARED as a text is not recorded: use the driver's tpc methods")
    if first == "ROLLBACK" and re.match(r"ROLLBACK (WORK |TRANSACTION )?TO\b", rest):
        return Text(Verb.SAVEPOINT)
    return Text(Verb.COMMIT if first in ("COMMIT", "END") else Verb.ROLLBACK)


def _setting(found: list[Token], words: list[str], rest: str, calls: frozenset[str]) -> Text:
    if re.match(r"SET (LOCAL )?TRANSACTION\b", rest):
        if "SNAPSHOT" in words[2:4] and "LEVEL" not in words:
            return Text(Verb.CHARACTERIZE, snapshot_at="imported")
        return Text(Verb.CHARACTERIZE, _level(rest), _read_only(rest))
    if re.match(r"SET SESSION (CHARACTERISTICS AS )?TRANSACTION\b", rest):
        return Text(Verb.DEFAULT, _level(rest), _read_only(rest))
    name = next((word for word in words[1:] if word not in ("SESSION", "LOCAL", "GLOBAL")), "").lower()
    if name in (
        "default_transaction_isolation",
        "default_transaction_read_only",
        "transaction_isolation",
        "transaction_read_only",
        "tx_isolation",
        "tx_read_only",
    ):
        return Text(Verb.REFUSED, reason=f"SET {name} is not recorded: use SET SESSION CHARACTERISTICS AS TRANSACTION")
    if (name in NEUTRAL_SETTINGS or name == "names") and not _computes(found, words):
        return Text(Verb.NEUTRAL)
    return Text(Verb.READ, calls=calls)


def _level(rest: str) -> str | None:
    match = re.search(r"ISOLATION LEVEL (READ UNCOMMITTED|READ COMMITTED|REPEATABLE READ|SERIALIZABLE)", rest)
    return match[1] if match else None


def _read_only(rest: str) -> bool | None:
    if "READ ONLY" in rest:
        return True
    return False if "READ WRITE" in rest else None


def end_of_failed(word: str, dialect: str) -> str:
    """What became of a statement that was a transaction by itself and failed, by its first word."""
    parts = word == "CALL" and PRODUCTS[dialect].running.calls_are_transactions
    return "committed" if parts else "aborted"
