"""From a violation to its account: the strongest weaker level that explains the failing prefix, the circle of
dependencies there, and its name (Adya 1999; Alvaro and Kingsbury 2020).

What no level explains is looked at statement by statement; what that does not explain either is told by its answer
alone. An account never changes a verdict. Does not know how a level is decided: it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.audit.account.cycles import best_cycle
from troubadour.audit.account.difference import difference_at, holder_of
from troubadour.audit.account.edges import Edges, Possible
from troubadour.audit.account.internal import MISSED, contradicts_itself, missed_write
from troubadour.audit.account.lost import lost_commits
from troubadour.audit.account.pieces import Pieces, taken_apart
from troubadour.audit.account.rerun import Rerun, Unexplained
from troubadour.audit.account.seen import counts_wrong, drawn_twice, told_by_later, told_by_values
from troubadour.audit.account.staging import base_of, beside, sights
from troubadour.audit.account.wording import changes_of, edge_of, rows_before, tables_before
from troubadour.audit.strongest import strongest, survey_levels
from troubadour.isolation.advice import OUTSIDE, advice
from troubadour.isolation.anomalies import ANOMALIES, Anomaly, Kind, classify
from troubadour.isolation.levels import LEVELS, Level, implied_by
from troubadour.model.account import Account, Change, Difference, Edge, Explained, Lost, Sight
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import InitialTable, Log, LogError, Transaction, TransactionId
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.model.witness import Witness
from troubadour.problem.budget import AT_ONCE, FEW, LOOK, MANY, SECOND, THOUSANDS, Budget

Decide = Callable[[Log, str, float], Verdict]
"""f(log, level, seconds): the verdict of a log at a level."""

_LADDER = (
    "strict-serializable", "session-serializable", "serializable", "strict-snapshot", "session-snapshot", "snapshot",
    "prefix", "parallel-snapshot", "causal", "update-atomic", "session-read-atomic", "read-atomic",
    "session-read-committed", "read-committed",
)  # fmt: skip
"""The general levels, roughly the stronger ones first: which explanation edges are read from, of several."""
_WEAKEST = "read-committed"
"""What no other level is weaker than: where it fails, no order and no mixture of committed versions explains a log."""
_OLD_STATES = "prefix"
"""Where transactions read one state each, of any age, and none is refused for what it writes."""
_APART = "session-serializable"


@dataclass(frozen=True, slots=True)
class _Told:
    """What one explanation gave."""

    anomaly: Anomaly
    chain: tuple[Edge, ...]
    basis: str = ""
    explained: Explained | None = None
    changes: tuple[Change, ...] = ()
    before: tuple[str, ...] | None = None
    initial: tuple[InitialTable, ...] | None = None
    beside: tuple[TransactionId, ...] = ()
    sights: tuple[Sight, ...] = ()


class _Effort:
    """What is left of the effort for an account, in seconds of an idle machine."""

    def __init__(self, budget: Budget, seconds: float) -> None:
        self.budget = budget
        self._until = budget.spent + seconds * SECOND

    def left(self) -> float:
        """Seconds. Raises OutOfTime."""
        self.budget.left()
        left = (self._until - self.budget.spent) / SECOND
        if left <= 0:
            raise OutOfTime
        return left

    def looked(self, times: int) -> None:
        """So many edges were looked at. Raises OutOfTime."""
        self.budget.note(times * LOOK)
        self.left()

    def half(self) -> float:
        """Seconds for what may not take all that is left. Raises OutOfTime."""
        return self.left() / 2

    def of_half(self) -> Callable[[], float]:
        """What will be left of half of what is left; less than nothing where that is spent. Raises OutOfTime."""
        until = self.budget.spent + self.half() * SECOND
        return lambda: (until - self.budget.spent) / SECOND


def account_of(
    log: Log, library: SqlLibrary, verdict: Verdict, decide: Decide, budget: Budget, seconds: float
) -> Account | None:
    """What a violation is called and why it is one, with an effort of so many seconds of an idle machine; None where
    that cannot be told. `decide` spends of the same budget."""
    if verdict.status is not Status.VIOLATION or verdict.failing_transaction is None:
        return None
    try:
        return _Builder(log, library, verdict, decide, _Effort(budget, seconds)).build()
    except (OutOfTime, Unexplained, Unsupported, LogError):
        return None


class _Builder:
    """The account of one violation, in the making."""

    def __init__(self, log: Log, library: SqlLibrary, verdict: Verdict, decide: Decide, effort: _Effort) -> None:
        self._log = log
        self._library = library
        self._verdict = verdict
        self._decide = decide
        self._effort = effort
        self._weakest_fails = verdict.isolation == _WEAKEST and verdict.scope is Scope.EVERY_ORDER
        names = verdict.isolation.split(", ")
        self._level = LEVELS.get(names[-1])
        assert verdict.failing_transaction is not None
        core = verdict.clash.transactions if verdict.clash is not None else verdict.core or ()
        self._core = [
            verdict.failing_transaction,
            *(one for one in reversed(core) if one != verdict.failing_transaction),
        ]

    def build(self) -> Account | None:
        """The account; None where the prefix is too long."""
        garbage = None if self._verdict.claim is None else self._verdict.claim.garbage
        if garbage is not None:
            return self._account(_Told(ANOMALIES["garbage-read"], (garbage,)), (), self._difference(), None)
        ids = [one for one, _ in islice(self._log.statuses(), THOUSANDS + FEW)]
        failing = ids.index(self._core[0]) if self._core[0] in ids else THOUSANDS
        if self._level is None or failing >= THOUSANDS:
            return None
        holds: tuple[str, ...] = ()
        told: _Told | None = None
        rerun: Rerun | None = None
        for length in dict.fromkeys((failing + 1, min(len(ids), failing + 1 + FEW))):
            prefix = self._first(length)
            holds, rerun = self._weaker(prefix)
            if rerun is not None:
                told = self._from_levels(rerun, holds[0])
                if told is not None and any(edge.kind == "real-time" for edge in told.chain):
                    told = self._lost_update(prefix) or told
                break
            told = self._from_pieces(prefix)
            if told is not None:
                break
        difference = self._difference()
        twice = drawn_twice(self._first(failing + 1), self._library, self._level.name) if told is None else None
        if twice is not None:
            told = _Told(ANOMALIES["sequence-anomaly"], (twice,))
        itself = self._from_itself(failing) if told is None else None
        if itself is not None and itself.anomaly.name == MISSED:
            told = itself
        if told is None:
            # what an answer says by itself counts only where no committed versions give it
            proved = rerun is None and self._weakest_fails
            told = self._from_answers(failing, difference) if proved else _Told(ANOMALIES["unclassified"], ())
            told = itself if itself is not None and told.anomaly.name == "unclassified" else told
        if told.anomaly.name == "unclassified" and self._verdict.scope is not Scope.EVERY_ORDER:
            return None  # another order may explain it
        lost = None if rerun is None or _is_of_concurrent(told, self._log) else self._lost(failing)
        return self._account(told, holds, difference, lost)

    def _account(
        self, told: _Told, holds: tuple[str, ...], difference: Difference | None, lost: Lost | None
    ) -> Account:
        anomaly = told.anomaly if lost is None else ANOMALIES["lost-commit"]
        return Account(
            anomaly.name,
            anomaly.title,
            anomaly.aka,
            anomaly.meaning,
            anomaly.citation,
            told.chain,
            told.basis or None,
            holds,
            difference,
            lost,
            self._next(anomaly, holds),
            told.explained,
            told.changes,
            told.before,
            told.initial,
            told.beside,
            told.sights,
        )

    def _first(self, length: int) -> Log:
        return Log(self._log.header, self._log.transactions[:length], self._log.digest)

    def _weaker(self, prefix: Log) -> tuple[tuple[str, ...], Rerun | None]:
        """The strongest levels at which the prefix is correct, and its transactions as the first of these has them."""
        assert self._level is not None
        failed = {self._level.name}
        # a product's profile fails where its general level does, or for more than that asks
        open_ = [name for name in _LADDER if not failed & implied_by(name)]
        order = {name: place for place, name in enumerate(open_)}

        def decide(level: str, seconds: float) -> Verdict:
            return self._decide(prefix, level, seconds)

        floor: Verdict | None = None
        if _WEAKEST in open_:
            # the others may take all the time there is, and most has an explanation here
            floor = decide(_WEAKEST, self._effort.half())
            if floor.status is Status.VIOLATION:
                self._weakest_fails = floor.scope is Scope.EVERY_ORDER
                return (), None
            open_.remove(_WEAKEST)
        standings = survey_levels(prefix, decide, levels=open_, left=self._effort.of_half())
        holds = sorted(strongest(standings), key=lambda name: order[name])
        found = [(name, standings[name].verdict) for name in holds]
        if floor is not None and floor.status is Status.CORRECT and not holds:
            holds = [_WEAKEST]
        for name, verdict in (*found, (_WEAKEST, floor)):
            if verdict is not None and verdict.witness is not None:
                self._effort.left()
                named = (name, *(other for other in holds if other != name))
                return named, Rerun(prefix, self._library, verdict.witness, name)
        return tuple(holds), None

    def _from_levels(self, rerun: Rerun, basis: str) -> _Told | None:
        core = [place for one in self._core if (place := rerun.position_of(one)) is not None]
        cycle = self._cycle(rerun, core, self._level)
        if cycle is None:
            return None
        wrote = [bool(rerun.rows_written(edge.earlier)) for edge in cycle]
        anomaly = classify([edge.link for edge in cycle], writes=wrote)
        chain = tuple(edge_of(rerun, edge) for edge in cycle)
        explained = Explained(len(rerun.log.transactions), basis, rerun.witness, chain)
        members = sorted({*(edge.earlier for edge in cycle), *core})
        base = base_of(rerun, members)
        others = beside(rerun, members, base)
        return _Told(
            anomaly,
            chain,
            f"the log as {basis} explains it",
            explained,
            changes_of(rerun, members),
            rows_before(rerun, base),
            tables_before(rerun, base),
            tuple(rerun.at(position).id for position in others),
            tuple(sights(rerun, sorted((*members, *others)))),
        )

    def _lost_update(self, prefix: Log) -> _Told | None:
        """Of a log that real time excludes in a serial order: the update that was lost in an order that keeps real
        time, if that is how it is explained where transactions may read old states."""
        verdict = self._decide(prefix, _OLD_STATES, self._effort.half())
        if verdict.witness is None:
            return None
        told = self._from_levels(Rerun(prefix, self._library, verdict.witness, _OLD_STATES), _OLD_STATES)
        return told if told is not None and _is_of_concurrent(told, self._log) else None

    def _cycle(self, rerun: Rerun, core: list[int], level: Level | None) -> list[Possible] | None:
        assert level is not None
        sessions, real_time, at_start = level.session, level.real_time, level.horizon.at_start
        for nodes in self._circles(rerun, core):
            edges = Edges(rerun, nodes, sessions=sessions, real_time=real_time, at_start=at_start)
            cycle = best_cycle(edges, core, level, self._effort.looked)
            if cycle is not None:
                return cycle
        return None

    def _circles(self, rerun: Rerun, core: list[int]) -> list[list[int]]:
        near = set(core)
        for node in core:
            for statement, row in rerun.looked(node):
                versions = rerun.versions(row)
                made = rerun.seen_from(node, statement, row)
                if versions is not None:
                    later = next((state for state in versions.states if state > (made or 0)), None)
                    near |= {state for state in (made, later) if state}
        if len(rerun) <= MANY:
            return [core, sorted(near), list(range(1, len(rerun) + 1))]
        return [core, sorted(near)]

    def _from_pieces(self, prefix: Log) -> _Told | None:
        """What an interleaving of the statements shows: circles below the transaction, values that were rolled back or
        overwritten."""
        pieces = taken_apart(prefix)
        if pieces is None:
            return None
        verdict = self._decide(pieces.log, _APART, min(self._effort.half(), AT_ONCE))
        if verdict.witness is None:
            return None
        rerun = Rerun(pieces.log, self._library, verdict.witness, _APART)
        told = told_below(rerun, pieces, self._core)
        if told is None:
            return None
        anomaly, edges = told
        explained = Explained(
            len(prefix.transactions), _APART, verdict.witness, tuple(raw for raw, _ in edges), apart=True
        )
        return _Told(
            anomaly,
            tuple(edge for _, edge in edges),
            "the log's statements as they are explained one by one",
            explained,
        )

    def _difference(self) -> Difference | None:
        if self._verdict.claim is None:
            return None
        return difference_at(self._log, self._library, self._verdict.claim)

    def _from_answers(self, failing: int, difference: Difference | None) -> _Told:
        """What the answer says where nothing explains it."""
        assert self._level is not None
        level = self._level.name
        prefix = self._first(failing)
        verdict = self._decide(prefix, level, self._effort.left())
        witness = verdict.witness
        if all(one.status == "aborted" for one in prefix.transactions):
            witness = Witness(prefix.digest, level, (), ())
        if witness is None:
            return _Told(ANOMALIES["unclassified"], ())
        before = Rerun(prefix, self._library, witness, level)
        transaction = self._log.transactions[failing]
        explanation = self._verdict.explanation or ""
        if difference is None:
            holder = holder_of(before, transaction)
            if holder is not None:
                return _Told(ANOMALIES["duplicate-key"], (holder,))
            if "refer" in explanation or "23503" in explanation:
                return _Told(ANOMALIES["dangling-reference"], ())
            if "answered error" in explanation:
                return _Told(ANOMALIES["impossible-error"], ())
            if self._verdict.claim is None:
                return _Told(ANOMALIES["unclassified"], ())
            return _Told(ANOMALIES["impossible-error" if "error" in explanation else "wrong-answer"], ())
        missed = missed_write(before, transaction, difference.statement)
        if missed is not None:
            return _Told(ANOMALIES[MISSED], (missed,))
        name, chain = told_by_values(before, self._first(failing + 1), transaction, difference)
        if name == "garbage-read":
            later = [one for one in self._log.transactions[failing + 1 :] if _is_over(transaction, one)]
            ahead = told_by_later(before, later, transaction, difference)
            name, chain = (name, chain) if ahead is None else ("future-read", ahead)
        if name in ("garbage-read", "wrong-answer") and counts_wrong(
            self._first(failing + 1), self._library, _WEAKEST, transaction.id, self._effort.budget
        ):
            return _Told(ANOMALIES["counter-anomaly"], chain)
        return _Told(ANOMALIES[name], chain)

    def _from_itself(self, failing: int) -> _Told | None:
        """What the transaction's own statements say against each other."""
        assert self._level is not None
        level = self._level.name
        found = contradicts_itself(self._first(failing + 1), self._library, level, self._core[0], self._effort.budget)
        return None if found is None else _Told(ANOMALIES[found[0]], (found[1],))

    def _lost(self, failing: int) -> Lost | None:
        """The commits that are gone, at levels that promise to show what was answered."""
        assert self._level is not None
        if not (self._level.real_time or self._level.horizon.at_start):
            return None
        name = self._level.name
        try:
            witness = self._decide(self._first(failing), name, self._effort.left()).witness
            if witness is None:
                return None
            before = Rerun(self._first(failing), self._library, witness, name)

            def decide(log: Log) -> Verdict:
                return self._decide(log, name, self._effort.left())

            return lost_commits(self._log, self._library, before, self._core[0], decide)
        except OutOfTime:
            return None

    def _next(self, anomaly: Anomaly, holds: tuple[str, ...]) -> tuple[str, ...]:
        found = [advice(anomaly.check, self._log.header)]
        outside = advice(OUTSIDE, self._log.header)
        if outside not in found:
            found.append(outside)
        if holds:
            found.append(f"does the application need more than {holds[0]}? up to here the log keeps that level")
        return tuple(found)


def _is_of_concurrent(told: _Told, log: Log) -> bool:
    """Whether it is an update that one transaction lost by another that ran at the same time, so that the write that is
    not there any more was put over."""
    if told.anomaly.name not in ("lost-update", "write-conflict"):
        return False
    members = {edge.earlier for edge in told.chain}
    found = [transaction for transaction in log.transactions if transaction.id in members]
    return not any(_is_over(one, other) for one in found for other in found)


def _is_over(one: Transaction, other: Transaction) -> bool:
    """Whether the client had the answer of one before it began the other."""
    both = one.returned is not None and other.invoked is not None and one.clock == other.clock
    return both and (one.returned or 0) < (other.invoked or 0)


_Both = tuple[Edge, Edge]
"""An edge between statements, and as one between their transactions."""


def told_below(rerun: Rerun, pieces: Pieces, core: list[TransactionId]) -> tuple[Anomaly, list[_Both]] | None:
    """The anomaly that an interleaving of statements is, by the edges between different transactions."""
    of = [pieces.of[rerun.at(position).id] for position in range(1, len(rerun) + 1)]
    edges = Edges(rerun, range(1, len(rerun) + 1), sessions=False, real_time=False)
    whole: list[_Both] = []
    for one in edges.nodes:
        for other in edges.after(one):
            for edge in edges.between(one, other):
                if of[one - 1][0].id == of[other - 1][0].id:
                    continue
                told = edge_of(rerun, edge)
                both = told, _renamed(told, pieces, rerun, edge)
                if edge.kind is Kind.WR and both[1].later in core:
                    if of[edge.earlier - 1][0].status == "aborted":
                        return ANOMALIES["aborted-read"], [both]
                    if _is_overwritten(rerun, edge, of):
                        return ANOMALIES["intermediate-read"], [both]
                whole.append(both)
    for kinds, name in _BELOW:
        circle = _circle([both for both in whole if both[1].kind in kinds], core)
        if circle is not None:
            return ANOMALIES[name], circle
    return None


_BELOW = (
    ({"ww"}, "dirty-write"),
    ({"ww", "wr"}, "circular-information-flow"),
    ({"ww", "wr", "rw"}, "dirty-read"),
)
"""What circles between statements are called, those that exclude most first."""


def _is_overwritten(rerun: Rerun, edge: Possible, of: Sequence[tuple[Transaction, int]]) -> bool:
    """Whether the transaction whose version was read wrote that row again."""
    versions = rerun.versions(edge.row or "")
    if versions is None:
        return False
    author = of[edge.earlier - 1][0]
    return any(state > edge.earlier and of[state - 1][0] is author for state in versions.states if state)


def _renamed(told: Edge, pieces: Pieces, rerun: Rerun, edge: Possible) -> Edge:
    """An edge between statements as one between their transactions."""
    text = told.text
    for position in (edge.earlier, edge.later, edge.made or 0):
        if position:
            piece = rerun.at(position)
            text = text.replace(str(piece.id), _name(pieces.of[piece.id][0].id))
    reading = edge.later if edge.kind in (Kind.WR, Kind.WW) else edge.earlier
    transaction, index = pieces.of[rerun.at(reading).id]
    text = text.replace("statement 1 ", f"statement {index + 1} ")
    writer = pieces.of[rerun.at(edge.made).id][0] if edge.made else None
    if writer is not None and writer.status == "aborted":
        text = text.replace("(unknown)", "(rolled back)")
    del transaction
    return msgspec.structs.replace(
        told,
        earlier=pieces.of[told.earlier][0].id,
        later=pieces.of[told.later][0].id,
        text=text,
        statement=index,
        row=None,
        writer=None if writer is None else writer.id,
        writer_status=None if writer is None else writer.status,
    )


def _name(identifier: TransactionId) -> str:
    return identifier if isinstance(identifier, str) else str(identifier)


def _circle(edges: list[_Both], through: list[TransactionId]) -> list[_Both] | None:
    """A shortest circle of edges through the first of these transactions that has one."""
    for start in through:
        paths: list[list[_Both]] = [[edge] for edge in edges if edge[1].earlier == start]
        seen = {start}
        while paths:
            longer = []
            for path in paths:
                end = path[-1][1].later
                if end == start:
                    return path
                if end not in seen:
                    seen.add(end)
                    longer += [[*path, edge] for edge in edges if edge[1].earlier == end]
            paths = longer
    return None
