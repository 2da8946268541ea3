"""Whether the edges of a violation's chain follow from the log, under the explanation that they were read from (Adya
1999, §4.4; Emme §3).

Replays that explanation with every commit test of its level, then asks of each edge one question by whole transactions:
does the reader answer or write otherwise without the commit that it is said to have seen, or with the one that it is
said to have missed? Written apart from `troubadour.audit.account`. Does not know anomalies.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.view import Row
from troubadour.execution.initial.rows import initial_state
from troubadour.execution.prepared import Preparations
from troubadour.model.account import Edge
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.checker import Replay
from troubadour.replay.commit_tests.levels import level_of
from troubadour.replay.commit_tests.times import times_of
from troubadour.replay.refusal import Refusal
from troubadour.replay.step import Step
from troubadour.replay.store import Writes, rows_of
from troubadour.replay.witness.listed import choices_of, exceptions_of, hidden_of, initial_of, newest_of, statements_of


def check_chain(log: Log, witness: Witness, library: SqlLibrary, isolation: str, chain: Sequence[Edge]) -> list[str]:
    """What is wrong with the edges, a line for each; nothing where all follow and each leads on to the next, in a
    circle. Raises Unsupported where the log is not modelled."""
    checker = _Checker(log, witness, library, isolation)
    if checker.refused is not None:
        return [f"the explanation is refused: {checker.refused.text}"]
    wrong = [f"{edge.earlier} -> {edge.later}: {text}" for edge in chain if (text := checker.examine(edge)) is not None]
    following = [*chain[1:], *chain[:1]]
    if len(chain) > 1 and any(one.later != other.earlier for one, other in zip(chain, following, strict=True)):
        wrong.append("the edges are no circle")
    return wrong


class _Checker:
    """An explanation, replayed, and its edges."""

    def __init__(self, log: Log, witness: Witness, library: SqlLibrary, isolation: str) -> None:
        ranks = {transaction.id: rank for rank, transaction in enumerate(log.transactions)}
        self._log, self._isolation, self._ranks = log, isolation, ranks
        self._prepare = Preparations(library, capacity=64)
        self._tables = frozenset(name.lower() for name in library.catalog.tables)
        initial = initial_state(log, library, initial_of(witness))
        self._replay = Replay(log, library, prepare=self._prepare, initial=initial, ranks=ranks)
        self._places: dict[TransactionId, int] = {}
        self._views = witness.views
        self._writes: list[dict[str, Row | None]] = [{}]
        self.refused: Refusal | None = None
        for place, (identifier, view) in enumerate(zip(witness.order, witness.views, strict=True), 1):
            self._places[identifier] = place
            self.refused = self._replay.append(
                log.transactions[ranks[identifier]], view.state, exceptions_of(view), isolation, newest_of(view),
                choices_of(view), statements_of(view), hidden_of(view),
            )  # fmt: skip
            if self.refused is not None:
                return
            self._writes.append(_content(self._replay.written))

    def examine(self, edge: Edge) -> str | None:
        """What is wrong with an edge; None where it follows."""
        earlier, later = (self._log.transactions[self._ranks[one]] for one in (edge.earlier, edge.later))
        match edge.kind:
            case "session":
                return None if _in_session(earlier, later) else "they are not of one session in this order"
            case "rw" if edge.row is None:
                follows = earlier.start is not None and later.commit is not None and earlier.start < later.commit
                return None if follows else "its snapshot was not taken before that commit"
            case "real-time":
                return None if _is_over(earlier, later) else "one was not over before the other began"
        first, second = self._places.get(edge.earlier), self._places.get(edge.later)
        if first is None or second is None:
            return "one of them is not in the explanation"
        if edge.row is None:
            return "it names no row"
        author = second if edge.kind == "rw" else first
        if edge.row not in self._writes[author]:
            return f"{edge.row} was not written"
        match edge.kind:
            case "ww":
                follows = first < second and edge.row in self._writes[second]
                return None if follows else "they do not overwrite one another in this order"
            case "wr":
                return None if self._differs(second, first, seen=True) else "it goes the same without that commit"
            case "rw":
                return None if self._differs(first, second, seen=False) else "it goes the same with that commit"
        return f"its kind is {edge.kind}"

    def _differs(self, reader: int, other: int, *, seen: bool) -> bool:
        """Whether a transaction goes otherwise without a commit that it saw, or with one that it did not."""
        view = self._views[reader - 1]
        return self._run(reader, view, None) != self._run(reader, view, (other, seen))

    def _run(self, place: int, view: TransactionView, change: tuple[int, bool] | None) -> object:
        identifier = next(one for one, at in self._places.items() if at == place)
        transaction = self._log.transactions[self._ranks[identifier]]
        state, hidden = view.state, set(hidden_of(view))
        moved: dict[str, int] = {}
        if change is not None:
            other, seen = change
            if seen:
                hidden.add(other)
                moved = dict.fromkeys(self._writes[other], other - 1)
            else:
                hidden |= set(range(state + 1, other))
                hidden.discard(other)
                state = max(state, other)
                moved = dict.fromkeys(self._writes[other], other)
        listed = tuple(
            read if read.row not in moved else type(read)(read.statement, read.execution, read.row, moved[read.row])
            for read in view.exceptions
        )
        exceptions = exceptions_of(TransactionView(state, listed))
        rank, dialect = self._ranks[transaction.id], self._replay.dialect
        times = times_of(transaction, self._log.header.clock, rank, dialect, self._tables)
        level = level_of(transaction, self._log, self._isolation)
        unseen = frozenset(one for one in hidden if one <= state)
        step = Step(self._replay, transaction, self._prepare(transaction), level, times, state, exceptions,
                     newest_of(view), choices_of(view), statements_of(view), unseen)  # fmt: skip
        try:
            refusal = step.run_untimed()
        except Unsupported as error:
            return str(error)
        return refusal, _content(step.writes)


def _content(writes: Writes) -> dict[str, Row | None]:
    return {name: values for _, name, values in rows_of(writes)}


def _in_session(one: Transaction, other: Transaction) -> bool:
    if one.session is None or one.session != other.session:
        return False
    if one.sno is None or other.sno is None:
        return one.place < other.place
    return one.sno < other.sno


def _is_over(one: Transaction, other: Transaction) -> bool:
    if one.commit is not None and other.start is not None and one.commit < other.start:
        return True
    answered, sent = one.returned, other.invoked
    return one.clock == other.clock and answered is not None and sent is not None and answered < sent
