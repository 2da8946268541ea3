"""The sql_mode of a session of MySQL or MariaDB, where a statement computes it of what it was: drivers add modes by
CONCAT. Does not know what a mode means.
"""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.record.proxy.mysql.texts import DIALECT
from troubadour.record.statements.lexing import TEXT, Token, name_of, tokens

_NAMES = frozenset({"sql_mode", "@@sql_mode"})


class Modes:
    """Of one session. `mode`: as it is at first, None where that is not known."""

    def __init__(self, mode: str | None = None) -> None:
        self._mode = mode

    def told(self, sql: str) -> str:
        """A SET, with the value of sql_mode where that is computed of literals and of what it was; as it is, where
        nothing sets it or the value is not known."""
        found = list(tokens(sql, DIALECT))
        names = [place for place, token in enumerate(found) if name_of(token) in _NAMES]
        at = next((place + 2 for place in names if [one.text for one in found[place + 1 : place + 2]] in _SETS), None)
        if at is None:
            return sql
        value, end = self._computed(found, at)
        if value is None or (end < len(found) and found[end].text != ","):
            self._mode = None
            return sql
        self._mode = ",".join(dict.fromkeys(mode.strip().upper() for mode in value.split(",") if mode.strip()))
        if end == at + 1 and found[at].kind == TEXT:
            return sql
        return f"{sql[: found[at].start]}'{self._mode}'{sql[found[end - 1].end :]}"

    def _computed(self, found: Sequence[Token], place: int) -> tuple[str | None, int]:
        """What an expression comes to, None where that is not known, and where it ends."""
        if place >= len(found):
            return None, place
        first, following = found[place], [token.text.lower() for token in found[place + 1 : place + 3]]
        if first.kind == TEXT and not set("\\'\"").intersection(first.text[1:-1]) and first.text[0] in "'\"":
            return first.text[1:-1], place + 1
        if name_of(first) == "@@sql_mode":
            return self._mode, place + 1
        if name_of(first) == "@@session" and following == [".", "sql_mode"]:
            return self._mode, place + 3
        if name_of(first) != "concat" or following[:1] != ["("]:
            return None, place + 1
        whole, place = "", place + 1
        while found[place].text != ")":
            part, place = self._computed(found, place + 1)
            if part is None or place >= len(found) or found[place].text not in (",", ")"):
                return None, place
            whole += part
        return whole, place + 1


_SETS = (["="], [":="])
