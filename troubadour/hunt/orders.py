"""Every order in which two or three sessions can send their statements, but for those that are alike.

Two orders are alike where neighbours that cannot tell of each other have changed places; of these the one is taken
that comes first (the normal form of a trace, Anisimov and Knuth 1979). Does not know what is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sql_semantics.records import dataclass, replace
from troubadour.hunt.case import ALONE, BEGIN, END, Case, Step

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE")
_EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class _Touched:
    """The tables that a step may read and write; ``*`` is all of them."""

    reads: frozenset[str]
    writes: frozenset[str]
    ends: bool = False

    def tells_of(self, other: _Touched) -> bool:
        """Whether it matters which of the two comes first."""
        if self.ends and other.ends:
            return True
        return _meet(self.writes, other.writes | other.reads) or _meet(other.writes, self.reads)


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    if not some or not others:
        return False
    return _EVERYTHING in some or _EVERYTHING in others or not some.isdisjoint(others)


def every_order(case: Case, apart: bool = True) -> Iterator[Case]:
    """The case with its steps in each order that differs. `apart`: locks and conflicts are of tables or less; where
    they are of the whole database, all writes meet."""
    linked = any("FOREIGN KEY" in text for table in case.tables for text in table.constraints)
    linked = linked or any(text.startswith(("CREATE TRIGGER", "CREATE FUNCTION")) for text in case.extra)
    names = [table.name for table in case.tables]
    sessions = case.sessions
    scripts = [[step for step in case.steps if step.session == session] for session in sessions]
    touched = [_touched(script, names, apart and not linked) for script in scripts]
    for order in _orders(touched):
        places = [0] * len(scripts)
        steps: list[Step] = []
        for session in order:
            steps.append(scripts[session][places[session]])
            places[session] += 1
        yield replace(case, steps=tuple(steps))


def _orders(touched: list[list[_Touched]]) -> Iterator[list[int]]:
    """Orders in normal form, as the numbers of the sessions."""
    order: list[int] = []
    sent: list[_Touched] = []
    places = [0] * len(touched)

    def is_first(session: int, step: _Touched) -> bool:
        """Whether a step cannot be moved before one of a later session."""
        for earlier, before in zip(reversed(order), reversed(sent), strict=True):
            if earlier == session or step.tells_of(before):
                return True
            if earlier > session:
                return False
        return True

    def further() -> Iterator[list[int]]:
        if all(place == len(script) for place, script in zip(places, touched, strict=True)):
            yield list(order)
        for session, script in enumerate(touched):
            if places[session] == len(script) or not is_first(session, script[places[session]]):
                continue
            order.append(session)
            sent.append(script[places[session]])
            places[session] += 1
            yield from further()
            places[session] -= 1
            sent.pop()
            order.pop()

    return further()


def _touched(script: list[Step], names: list[str], apart: bool) -> list[_Touched]:
    """Of each step of a session. The first statement of a transaction may take a snapshot of everything."""
    found: list[_Touched] = []
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    first = False
    for step in script:
        text = str(step.text)
        if step.role == BEGIN:
            reads = writes = frozenset()
            first = True
            locks = text.endswith(("IMMEDIATE", "EXCLUSIVE"))
            found.append(_Touched(frozenset(), frozenset({_EVERYTHING}) if locks else frozenset()))
            writes = found[-1].writes
            continue
        if step.role == END:
            found.append(_Touched(reads, writes, True))
            continue
        tables = frozenset(name for name in names if re.search(rf"\b{name}\b", text))
        plain = text.startswith("SELECT") and not re.search(r" FOR |LOCK IN|\b(?:fa|nextval)\(", text)
        known = plain or text.startswith(_WRITES)
        own_writes: frozenset[str] = frozenset() if plain else tables
        if not known or (own_writes and not apart):
            own_writes = frozenset({_EVERYTHING})
        own_reads = tables | (frozenset({_EVERYTHING}) if first or step.role == ALONE else frozenset())
        first = False
        reads, writes = reads | own_reads, writes | own_writes
        found.append(_Touched(own_reads, own_writes, step.role == ALONE))
    return found
