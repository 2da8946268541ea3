"""Going back to the choices that are to blame (conflict-directed, not blindly to the last one).

Where a transaction is not explained by what was guessed before it, the solver is asked which of the guessed writes are
at fault: each of them is taken to be as it was guessed, or anything. Those in the contradictions are opened again, and
if that is not enough may read older states. Does not know whether anything explains it at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sql_semantics.errors import Unsupported
from sql_semantics.terms import Guard, atom, conj, neg
from troubadour.execution.states.history import Guarded, RowHistory, Version, alternatives_of
from troubadour.problem.budget import FEW, HUNDREDS, MANY, MOST, SOME
from troubadour.search.schedule.placement import Forgotten, TakenBack, TooManyRuns
from troubadour.search.symbolic.encoder import asked
from troubadour.solver import Answer

if TYPE_CHECKING:
    from troubadour.search.symbolic.trace import SymbolicTrace

BACK = (SOME, MANY)
"""How many of the last placements are opened together where the blame leads nowhere."""


def reopen(trace: SymbolicTrace, item: int) -> bool:
    """Open guessed readings so that the item has a place; False, with everything as before, where none was found. In a
    short trace all readings are open in the end, or the trace is `doubtful`. Raises OutOfTime."""
    trace.doubtful = False
    items = [*(placement.item for placement in trace.placements), item]
    if not trace.guessed and not any(trace.is_narrow(other, place) for place, other in enumerate(items)):
        return False
    attempt = _Reopening(trace, item)
    try:
        if attempt.by_blame() or attempt.backwards():
            return True
    except (Unsupported, TooManyRuns, Forgotten):
        # what is not modelled symbolically, or too far back, keeps its guess
        trace.doubtful = True
    attempt.undo()
    return False


class _Reopening:
    """One attempt. `_old` is what stood after the first `_base` placements when it began."""

    def __init__(self, trace: SymbolicTrace, item: int) -> None:
        self._trace = trace
        self._item = item
        self._base = len(trace)
        self._old: list[TakenBack] = []
        self._left = MOST
        self._windows = dict(trace.windows)
        self._guessed = set(trace.guessed)

    def undo(self) -> None:
        """Everything as it was."""
        trace = self._trace
        trace.truncate(self._base)
        trace.put_back(self._old)
        trace.windows, trace.guessed = self._windows, self._guessed

    def by_blame(self) -> bool:
        """Open those in contradictions, in rounds; whether the item has a place then."""
        trace = self._trace
        for _ in range(FEW):
            blamed = self._blamed()
            if not blamed:
                return False
            if self._opened(blamed) and trace.place_within(self._item) is None:
                return True
        return False

    def backwards(self) -> bool:
        """Open all of the last placements, more and more of them, with wider windows."""
        trace = self._trace
        lengths = [back for back in BACK if back < len(trace)]
        for back in [*lengths, *([len(trace)] if len(trace) <= BACK[-1] else [])]:
            blamed = {placement.item for placement in trace.placements[len(trace) - back :]}
            wider = back == len(trace)
            if wider:
                trace.windows.update(dict.fromkeys([*blamed, self._item]))
            if self._opened(blamed, widen=not wider) and trace.place_within(self._item) is None:
                return True
        return False

    def _opened(self, blamed: set[int], *, widen: bool = True) -> bool:
        """Open these, and what reads them; whether that explains all that was placed."""
        trace = self._trace
        if widen:
            for item in blamed - trace.guessed:
                window = trace.window(item)
                if window is not None:
                    trace.windows[item] = window * FEW if window * FEW <= HUNDREDS else None
        blamed = blamed - {self._item}
        first = next((n for n, placement in enumerate(trace.placements) if placement.item in blamed), len(trace))
        taken = trace.take_back(first)
        if first < self._base:
            self._old = taken[: self._base - first] + self._old
            self._base = first
        self._place_again(taken, blamed)
        return trace.decide()

    def _place_again(self, taken: Sequence[TakenBack], blamed: Collection[int]) -> None:
        """Raises TooManyRuns where too much was placed symbolically."""
        trace = self._trace
        for one in taken:
            trace.place_again(one, one.choices, reopened=one.item in blamed)
            if len(trace) in trace.encoder.encoded:
                self._left -= min(trace.window(one.item) or len(trace), len(trace))
            if self._left < 0:
                raise TooManyRuns

    def _blamed(self) -> set[int]:
        """The items, the failing one among them, whose guesses or windows are in contradictions; empty where there is
        none, or where nothing is left to be opened."""
        trace = self._trace
        encoded = trace.encoder.encoded
        first = min(encoded, default=len(trace) + 1) - 1
        taken = trace.take_back(first)
        kept: dict[int, Guard] = {}
        changed: list[tuple[RowHistory, int, Version]] = []
        guessed = set(trace.guessed)
        try:
            self._loosen(first, kept, changed)
            self._place_again(taken, ())
            trace.encoder.keep(self._item, window=trace.window(self._item))
            return self._in_contradictions(kept)
        finally:
            trace.truncate(first)
            for row, position, version in changed:
                trace.states.replace(row, position, version)
            trace.put_back(taken)
            trace.guessed = guessed

    def _loosen(self, first: int, kept: dict[int, Guard], changed: list[tuple[RowHistory, int, Version]]) -> None:
        """Let every version that those after the first placements can read be as it is, or anything."""
        trace = self._trace
        widest = max((trace.window(self._item) or first, trace.problem.heuristics.window or first))
        for table in trace.states.tables.values():
            for row in table.rows:
                for index in range(len(row.positions) - 1, -1, -1):
                    position = row.positions[index]
                    if position == 0:
                        break
                    item = trace.placements[position - 1].item
                    if self._may_be_opened(item):
                        version = row.versions[index]
                        other = trace.encoder.open_version(item, row, version)
                        if other is not version and other != version:
                            guess = kept.setdefault(item, atom(("as guessed", item)))
                            changed.append((row, position, version))
                            trace.states.replace(row, position, _either(guess, version, other))
                    if position <= first - widest:
                        break

    def _may_be_opened(self, item: int) -> bool:
        return item in self._trace.guessed or self._trace.window(item) is not None

    def _in_contradictions(self, kept: dict[int, Guard]) -> set[int]:
        trace = self._trace
        encoder, session = trace.encoder, trace.encoder.session
        literals = {e.literal: e.item for e in encoder.encoded.values() if e.literal is not None}
        guesses: dict[int, int] = {}
        for item, guess in kept.items():
            number = encoder.next_literal()
            session.add(number, [guess])
            guesses[number] = item
        found: set[int] = set()
        while True:
            answer, core = asked(session, [*literals, *guesses], trace.problem.budget)
            if answer is not Answer.UNSATISFIABLE:
                return found
            opened = {guesses.pop(number) for number in core if number in guesses}
            found |= opened
            if not opened:
                # no guess is at fault: the windows are
                return found | {
                    literals[number]
                    for number in core
                    if number in literals and trace.window(literals[number]) is not None
                }


def _either(guess: Guard, version: Version, other: Version) -> Guarded:
    """A version that is as it was guessed, or the other."""
    alternatives = [
        *((conj(guess, guard), values) for guard, values in alternatives_of(version)),
        *((conj(neg(guess), guard), values) for guard, values in alternatives_of(other)),
    ]
    return Guarded(tuple(alternatives))
