"""The level and the access that a session's transactions have where they name none, as SET and its kin change them.
Does not know what is executed else.
"""

from __future__ import annotations

import re

from troubadour.record.core.journal import encode
from troubadour.record.core.tape import NOTHING
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.postgres.statements.defined import Defined, may_write_intervals
from troubadour.record.statements.texts import POSTGRES_LEVELS

_SETTING = re.compile(
    r"""SET\s+(?P<scope>SESSION\s+|LOCAL\s+)?
        (?P<name>(?:default_)?transaction_(?:isolation|read_only))\s*(?:=|\bTO\b)\s*'?(?P<value>[a-z ]+?)'?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_CONFIG = re.compile(
    r"\bset_config\s*\(\s*'(?P<name>default_transaction_(?:isolation|read_only))'\s*,\s*'(?P<value>[a-z ]+)'\s*,\s*"
    r"(?:'?f(?:alse)?'?|'?off'?)",
    re.IGNORECASE,
)
_ZONE = re.compile(
    r"SET\s+(?:SESSION\s+|LOCAL\s+)?TIME\s*ZONE\s*(?:=|TO\b)?\s*(?:INTERVAL\s*)?"
    r"'?(?P<zone>[\w/+:-]+)'?(?:\s+HOUR\s+TO\s+MINUTE)?\s*$",
    re.IGNORECASE,
)
_UTC = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "0", "+00:00", "00:00", "+00", "zulu"})
_RESET = re.compile(
    r"(?:DISCARD\s+ALL|RESET\s+(?:ALL|(?P<name>default_transaction_(?:isolation|read_only))))\s*$", re.IGNORECASE
)
_TRUE = frozenset({"on", "true", "yes", "1", "t"})


_STYLE = re.compile(r"SET\s+(?:SESSION\s+)?intervalstyle\s*(?:=|\bTO\b)\s*\S+\s*$", re.IGNORECASE)


class Defaults:
    """Of one session."""

    def __init__(self, transactions: Transactions, zone: str, defined: Defined) -> None:
        """`zone`: the time zone of the log."""
        self._transactions = transactions
        self._is_utc = zone.lower() in _UTC
        self._defined = defined
        self._style: tuple[str, int, int] | None = None
        """SET of IntervalStyle, and when: told with the first statement that it may matter to."""
        self._first: tuple[str | None, bool | None] = (transactions.level, transactions.read_only)

    def begin(self, isolation: str | None, read_only: str | None) -> None:
        """The server says what they are at first; None: the product's."""
        self._transactions.level = POSTGRES_LEVELS.get((isolation or "READ COMMITTED").upper())
        self._transactions.read_only = True if read_only in _TRUE else None
        self._first = (self._transactions.level, self._transactions.read_only)

    def characterize(self, level: str | None, read_only: bool | None) -> None:
        """SET SESSION CHARACTERISTICS."""
        self._transactions.level = level or self._transactions.level
        self._transactions.read_only = read_only if read_only is not None else self._transactions.read_only

    def style_first(self, sql: str) -> None:
        """A statement comes to be told: what it may depend on is told before."""
        if self._style is not None and (self._defined.intervals or may_write_intervals(sql)):
            text, invoked, returned = self._style
            self._style = None
            self._transactions.add(b'"sql":' + encode(text), invoked, returned, NOTHING)

    def styled(self, piece: Piece, times: tuple[int, int]) -> bool:
        """Whether a statement does nothing but set IntervalStyle, which is not told yet."""
        if self._defined.intervals or self._transactions.current is not None or _STYLE.match(piece.sql) is None:
            return False
        self._style = (piece.sql, *times)
        return True

    def done(self, piece: Piece) -> bool:
        """A statement was executed, which may be one that sets them; whether it does nothing else."""
        word = piece.text.word
        if word == "SET":
            match = _SETTING.match(piece.sql)
            if match is not None:
                self._set(match["name"].lower(), match["value"].strip().lower())
                return True
            zone = _ZONE.match(piece.sql)
            if zone is not None and self._is_utc and zone["zone"].lower() in _UTC:
                return True  # it is so already
        elif word in ("RESET", "DISCARD"):
            match = _RESET.match(piece.sql)
            if match is not None:
                name = (match["name"] or "").lower()
                if not name.endswith("read_only"):
                    self._transactions.level = self._first[0]
                if not name.endswith("isolation"):
                    self._transactions.read_only = self._first[1]
                return bool(name)
        elif "set_config" in piece.text.calls:
            for match in _CONFIG.finditer(piece.sql):
                self._set(match["name"].lower(), match["value"].strip().lower())
        return False

    def _set(self, name: str, value: str) -> None:
        level = self._first[0] if value == "default" else POSTGRES_LEVELS.get(value.upper())
        current = self._transactions.current
        if name == "default_transaction_isolation":
            self._transactions.level = level or self._transactions.level
        elif name == "default_transaction_read_only":
            self._transactions.read_only = self._first[1] if value == "default" else value in _TRUE
        elif current is not None and name == "transaction_isolation":
            current.characterize(level, None)
        elif current is not None:
            current.characterize(None, value in _TRUE)
