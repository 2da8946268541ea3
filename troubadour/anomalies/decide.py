"""Audits of a log at the levels that its anomalies leave open. Does not know which these are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec

from sql_semantics.records import dataclass, field
from troubadour.anomalies.assumptions import Assumption
from troubadour.anomalies.levels import Survey
from troubadour.anomalies.objects import Listing, anomalies_of
from troubadour.audit.objects.decide import AskedOften, ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.formats.objects.expand import expanded
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.objects import ABORTED, COMMITTED, UNKNOWN, ObjectLog
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import BRIEFLY, FEW, MOST, THOUSANDS


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a log: the level that is `expected` (None: the log's own), what is taken for granted, and the
    `seconds` that there are (None: any); `around`: the components of circles are wanted, too."""

    expected: str | None = None
    assumed: Sequence[Assumption] = ()
    seconds: float | None = None
    around: bool = False
    begun: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        """The seconds that are left. Raises OutOfTime."""
        if self.seconds is None:
            return None
        left = self.seconds - (time.monotonic() - self.begun)
        if left <= 0:
            raise OutOfTime
        return left


def facts_kept(log: Log | ObjectLog) -> AskedOften | None:
    """Where the facts of a log of operations are kept once they are asked for."""
    return AskedOften(log) if isinstance(log, ObjectLog) else None


def survey_of(log: Log | ObjectLog, asked: Asked, facts: AskedOften | None = None) -> Survey:
    """What answers and dependencies alone say of a log: nothing of one of SQL. `facts`: those of a log of operations,
    where they are asked for again."""
    # what was there at first is told by nothing: an audit finds what does not hang on it
    if isinstance(log, ObjectLog) and not any(one.unknown for one in log.objects):
        listing = anomalies_of(log, asked.assumed, around=asked.around, derived=facts)
    else:
        listing = Listing((), ())
    return Survey(log, listing.anomalies, listing.notes, asked.expected, own_levels(log))


def look_further(survey: Survey, log: Log | ObjectLog, asked: Asked, facts: AskedOften | None = None) -> None:
    """Audit a log at the levels that its anomalies leave open. Raises LogError where it cannot be used, Disagreement,
    and OutOfTime: what was found by then stands. `facts`: as for `survey_of`."""
    if isinstance(log, ObjectLog):
        objects = _Objects(log, asked, AskedOften(log) if facts is None else facts)
        # of a short one the levels above take as long as the one that is expected, if they are left to the search
        survey.look(objects.decide, objects.further, together=not objects.is_short())
    else:
        sql = _Sql(log, asked)
        survey.look(sql.decide, sql.further)


def own_levels(log: Log | ObjectLog) -> list[str]:
    """The levels that a log's transactions ask for."""
    if isinstance(log, ObjectLog):
        names = {log.level_names[one] or log.header.isolation for one in set(log.levels)}
    else:
        names = {transaction.isolation or log.header.isolation for transaction in log.transactions}
    names = names or {log.header.isolation}
    found = sorted(name for name in names if name)
    # one that asks for none is held to nothing
    return found if None not in names else []


class _Sql:
    """Audits of SQL."""

    def __init__(self, log: Log, asked: Asked) -> None:
        self._log, self._asked = log, asked

    def decide(self, level: str | None, briefly: bool) -> Verdict:
        """The verdict at a level."""
        return self._audited(self._log, level, briefly)

    def _audited(self, log: Log, level: str | None, briefly: bool) -> Verdict:
        # a log of operations is decided without the semantics of SQL, as a rule
        from sql_semantics.errors import Unsupported
        from troubadour.audit.driver import Options, audit
        from troubadour.coverage.library import library_for

        options = Options(
            level,
            timeout=self._asked.left(),
            unobserved=False,
            accounts=True,
            effort=BRIEFLY if briefly else None,
        )
        try:
            return audit(*library_for(log, level), options)
        except Unsupported as error:
            return _undecided(log, level, f"not modelled: {error.construct}")

    def further(self, level: str | None, violation: Verdict) -> Sequence[Verdict]:
        """Violations that are left when nothing is known of what the failing transactions before answered: what few
        observations do not allow more of them do not either."""
        return [*self._after(level, violation)] if len(self._log.transactions) <= THOUSANDS else []

    def _after(self, level: str | None, violation: Verdict) -> Iterator[Verdict]:
        log = self._log
        for _ in range(FEW):
            if violation.failing_transaction is None:
                return
            log = _without_answers(log, violation.failing_transaction)
            violation = self._audited(log, level, True)
            if violation.status is not Status.VIOLATION:
                return
            yield violation


class _Objects:
    """Audits of operations on objects: by facts and order, else by the SQL that they stand for."""

    def __init__(self, log: ObjectLog, asked: Asked, facts: AskedOften) -> None:
        self._log, self._asked, self._facts = log, asked, facts
        self._sql: _Sql | None = None

    def decide(self, level: str | None, briefly: bool) -> Verdict:
        """The verdict at a level."""
        self._asked.left()
        found = decide_objects(self._log, ObjectOptions(level), by_sql, self._facts)
        if found is not None:
            return found
        if briefly and not self.is_short():
            return _undecided(self._log, level, "facts and order do not decide it, and the log is long")
        return self._as_sql().decide(level, briefly)

    def is_short(self) -> bool:
        """Whether what facts and order do not decide is audited as SQL, if briefly."""
        return len(self._log.kinds) <= MOST

    def further(self, level: str | None, violation: Verdict) -> Sequence[Verdict]:
        """None: dependencies tell of all."""
        return []

    def _as_sql(self) -> _Sql:
        if self._sql is None:
            self._sql = _Sql(expanded(self._log), self._asked)
        return self._sql


def _without_answers(log: Log, failing: TransactionId) -> Log:
    """The log in which nothing is known of what one transaction's statements answered, but that none failed."""
    return Log(log.header, [_blind(one) if one.id == failing else one for one in log.transactions], log.digest)


def _blind(transaction: Transaction) -> Transaction:
    statements = tuple(
        one if one.error is not None else msgspec.structs.replace(one, results=None, several=False, affected=None)
        for one in transaction.statements
    )
    return msgspec.structs.replace(transaction, statements=statements)


def _undecided(log: Log | ObjectLog, level: str | None, reason: str) -> Verdict:
    if isinstance(log, ObjectLog):
        total = len(log)
        committed, aborted, unknown = (log.count(status) for status in (COMMITTED, ABORTED, UNKNOWN))
    else:
        total, committed, aborted, unknown = len(log.transactions), log.committed, log.aborted, log.unknown
    return Verdict(Status.UNDECIDED, level or "", total, committed, aborted, unknown, 0, reason=reason)
