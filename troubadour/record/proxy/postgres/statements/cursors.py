"""Cursors and prepared statements that a session makes by texts (DECLARE, FETCH, PREPARE, EXECUTE), as the statements
that they run: a cursor's query stands where it was declared, with the rows that were fetched of it. Does not know
portals.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sql_semantics.records import dataclass, field
from troubadour.record.core.journal import encode
from troubadour.record.core.tape import NOTHING, Transcript
from troubadour.record.postgres import wire
from troubadour.record.proxy.bodies import BROKEN
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.postgres.answers import Answer, Reading, names_of
from troubadour.record.proxy.postgres.statements.texts import DIALECT, pieces
from troubadour.record.statements.lexing import NUMBER, OPERATOR, PLACE, TEXT, name_of, tokens
from troubadour.record.statements.texts import Verb

_NAME = r'(?P<name>[A-Za-z_][\w$]*|"(?:[^"]|"")+")'
_DECLARE = re.compile(
    rf"DECLARE\s+{_NAME}\s+(?P<modes>(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO|SCROLL)\s+)*)CURSOR\s+"
    r"(?:(?:WITH|WITHOUT)\s+HOLD\s+)?FOR\s+(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FETCH = re.compile(
    rf"FETCH\s+(?:(?P<forward>FORWARD)\s+)?(?:(?P<count>\d+|ALL|NEXT)\s+)?(?:(?:FROM|IN)\s+)?{_NAME}\s*$", re.IGNORECASE
)
_OTHER = re.compile(rf"(?:FETCH|MOVE)\b.*?{_NAME}\s*$", re.IGNORECASE | re.DOTALL)
_PREPARE = re.compile(rf"PREPARE\s+{_NAME}\s*(?P<types>\([^()]*(?:\(\d+(?:,\s*\d+)?\)[^()]*)*\))?\s*AS\s+(?P<text>.*)",
                      re.IGNORECASE | re.DOTALL)  # fmt: skip
_EXECUTE = re.compile(rf"EXECUTE\s+{_NAME}\s*(?:\((?P<values>.*)\))?\s*$", re.IGNORECASE | re.DOTALL)
_LOCKING = re.compile(r"\bFOR\s+(?:NO\s+KEY\s+|KEY\s+)?(?:UPDATE|SHARE)\b", re.IGNORECASE)
_SIMPLE = {TEXT, NUMBER}


@dataclass(slots=True)
class _Cursor:
    transcript: Transcript
    place: int
    known: bool
    rows: list[bytes] = field(default_factory=list)


class Cursors:
    """Those of one session."""

    def __init__(self, transactions: Transactions, reading: Reading) -> None:
        self._transactions = transactions
        self._reading = reading
        self._cursors: dict[str, _Cursor] = {}
        self._prepared: dict[str, tuple[str, list[str]]] = {}

    def done(
        self, piece: Piece, made: Callable[[str], bytes], times: tuple[int, int], tag: bytes, answer: Answer
    ) -> bool:
        """A statement was executed, sent and answered at `times`. False if it is none of these, or not understood.
        `made`: the fields of a statement of another text with the same parameters."""
        match piece.text.word:
            case "DECLARE":
                return self._declared(piece.sql, made, times)
            case "FETCH" | "MOVE":
                return self._fetched(piece.sql, answer)
            case "CLOSE":
                return True
            case "PREPARE":
                return self._prepare(piece.sql)
            case "EXECUTE":
                return self._executed(piece.sql, times, tag, answer)
        return False

    def _declared(self, sql: str, made: Callable[[str], bytes], times: tuple[int, int]) -> bool:
        match = _DECLARE.fullmatch(sql)
        if match is None:
            return False
        query = match["query"].strip()
        # a cursor that locks reads each row when it is fetched
        known = _LOCKING.search(query) is None and "binary" not in match["modes"].lower()
        transcript, place = self._transactions.add(made(query), *times, NOTHING)
        self._cursors[_called(match["name"])] = _Cursor(transcript, place, known)
        return True

    def _fetched(self, sql: str, answer: Answer) -> bool:
        match = _FETCH.fullmatch(sql)
        other = _OTHER.fullmatch(sql) if match is None else match
        cursor = self._cursors.get(_called(other["name"])) if other is not None else None
        if cursor is None:
            return False
        if cursor.transcript is not self._transactions.current:
            return True  # held beyond its transaction, whose line is written
        if match is None or answer.strange or answer.columns is None or not cursor.known:
            cursor.known = False
            cursor.transcript.observe(cursor.place, NOTHING)
            return True
        try:
            rows = self._reading.rows(answer.columns, answer.rows)
        except BROKEN:
            return False
        cursor.rows.extend(rows)
        count = (match["count"] or "1").upper()
        wanted = None if count == "ALL" else 1 if count == "NEXT" else int(count)
        end = wanted is None or len(rows) < wanted
        observed = wire.result(names_of(answer.columns), cursor.rows, truncated=not end)
        cursor.transcript.observe(cursor.place, observed)
        return True

    def _prepare(self, sql: str) -> bool:
        match = _PREPARE.fullmatch(sql)
        if match is None:
            return False
        types = [] if match["types"] is None else _parted(match["types"][1:-1])
        self._prepared[_called(match["name"])] = (match["text"].strip(), types)
        return True

    def _executed(self, sql: str, times: tuple[int, int], tag: bytes, answer: Answer) -> bool:
        match = _EXECUTE.fullmatch(sql)
        found = self._prepared.get(_called(match["name"])) if match is not None else None
        if match is None or found is None:
            return False
        text = _substituted(*found, [] if match["values"] is None else _parted(match["values"]))
        if text is None:
            return False
        run = pieces(text)
        if len(run) != 1 or run[0].secret or run[0].text.verb not in (Verb.READ, Verb.WRITE, Verb.NEUTRAL):
            return False
        if run[0].text.verb is not Verb.NEUTRAL:
            self._transactions.add(b'"sql":' + encode(text), *times, answer.observation(self._reading, tag))
        return True


def _called(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _parted(text: str) -> list[str]:
    """What stands between the commas of a list."""
    found, depth, begin = [], 0, 0
    for token in tokens(text, DIALECT):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        if token.text == "," and depth == 0:
            found.append(text[begin : token.start].strip())
            begin = token.end
    found.append(text[begin:].strip())
    return found


def _is_constant(value: str) -> bool:
    """Whether a value is a literal, with a sign at most, or NULL, TRUE or FALSE."""
    found = list(tokens(value, DIALECT))
    if len(found) == 2 and found[0].kind == OPERATOR and found[0].text in "+-":
        found = found[1:]
    return len(found) == 1 and (found[0].kind in _SIMPLE or name_of(found[0]) in ("null", "true", "false"))


def _substituted(text: str, types: list[str], values: list[str]) -> str | None:
    """A prepared statement's text with values in the places of its parameters; None for values that are computed."""
    if not all(map(_is_constant, values)):
        return None
    found, begin = [], 0
    for token in tokens(text, DIALECT):
        if token.kind == PLACE:
            number = int(token.text[1:]) - 1
            if not 0 <= number < len(values):
                return None
            value = f"({values[number]})" if values[number][0] in "+-" else values[number]
            cast = f"::{types[number]}" if number < len(types) and types[number].lower() != "unknown" else ""
            found += [text[begin : token.start], value, cast]
            begin = token.end
    return "".join(found) + text[begin:]
