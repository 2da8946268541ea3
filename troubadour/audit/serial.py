"""Levels whose transactions have a serial order beside their snapshots (docs/isolation-levels.md,
postgres:serializable): asked for the snapshots first, then for the order in that execution, and only then for both.

What snapshots alone do not explain, nor a serial order alone, nothing explains: so violations come from there wherever
they can, with what is known of them. Does not know how any of these is decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.covered import NO_TIME
from troubadour.isolation.levels import is_serial_throughout, names_of, snapshots_of
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.model.witness import Witness
from troubadour.problem.budget import SMALL
from troubadour.replay.checker import Prepare, check

Whole = Callable[[Witness, Prepare, Callable[[int], None]], bool]
"""f(witness, prepare, progress): whether a witness is one of all that is asked, too."""

Decide = Callable[[Log, str | None, float | None, Whole | None], Verdict]
"""f(log, isolation, seconds left, whole): the verdict on a log; what is `whole` needs no other replay."""

_ORDER = "serializable"
"""The level that asks for a serial order and nothing else."""


def audit_serial(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    timeout: float | None,
    decide: Decide,
    *,
    order_recorded: bool,
) -> Verdict:
    """The verdict on a log some of whose levels have a serial order."""
    begun = time.monotonic()

    def ask(log: Log, isolation: str | None, whole: Whole | None) -> Verdict:
        left = None if timeout is None else max(timeout - (time.monotonic() - begun), NO_TIME)
        return decide(log, isolation, left, whole)

    verdict = _Serial(log, library, isolation, ask, order_recorded=order_recorded).verdict()
    seconds = round(time.monotonic() - begun, 4)
    return msgspec.structs.replace(verdict, isolation=names_of(log, isolation), seconds=seconds)


class _Serial:
    """One log, at levels of which some have a serial order. `ask`: how a log is decided at other levels."""

    def __init__(
        self,
        log: Log,
        library: SqlLibrary,
        isolation: str | None,
        ask: Callable[[Log, str | None, Whole | None], Verdict],
        *,
        order_recorded: bool,
    ) -> None:
        self._log = log
        self._library = library
        self._isolation = isolation
        self._ask = ask
        self._recorded = order_recorded
        self._snapshots = snapshots_of(log, isolation)
        self._judged: tuple[Witness, bool] | None = None
        """The witness of the snapshots that was judged last, and whether it is one of all that is asked."""

    def verdict(self) -> Verdict:
        """Correct with one execution for all that is asked; what is no violation of snapshots or order alone, may be
        one of both."""
        found = self._called(self._log, self._snapshots, self._is_whole)
        if found.status is Status.CORRECT:
            whole = self._as_whole(found)
            if whole is not None:
                return whole
        elif found.status is not Status.VIOLATION:
            return found
        failed: list[Verdict] = []
        if found.status is Status.VIOLATION:
            failed.append(_stands(found, ", ".join(sorted(self._snapshots.values())), self._recorded))
        if self._is_ordered_alone():
            alone = self._called(self._log, dict.fromkeys(self._snapshots, _ORDER))
            if alone.status is Status.VIOLATION:
                failed.append(_stands(alone, _ORDER, self._recorded))
        violations = [one for one in failed if one.status is Status.VIOLATION]
        if not violations:
            return failed[0] if failed else self._called(self._log, {})
        first = min(violations, key=lambda verdict: verdict.verified_prefix)
        return self._as_early(first)

    def _called(self, log: Log, names: dict[str, str], whole: Whole | None = None) -> Verdict:
        """The verdict on a log whose levels are called otherwise."""
        isolation = self._isolation
        return self._ask(log.with_levels(names), None if isolation is None else names.get(isolation, isolation), whole)

    def _is_whole(
        self, witness: Witness, prepare: Prepare | None = None, progress: Callable[[int], None] | None = None
    ) -> bool:
        """Whether the execution that explains the snapshots has a serial order as well: then it is one of all that is
        asked, as that asks for all that snapshots do."""
        isolation, recorded = self._isolation, self._recorded
        whole = msgspec.structs.replace(witness, isolation=isolation)
        accepted = False
        with suppress(Unsupported):
            accepted = None is check(self._log, whole, self._library, isolation=isolation, order_recorded=recorded,
                                     prepare=prepare, progress=progress)  # fmt: skip
        self._judged = witness, accepted
        return accepted

    def _as_whole(self, verdict: Verdict) -> Verdict | None:
        """Correct, where that is so of its witness."""
        witness, judged = verdict.witness, self._judged
        assert witness is not None
        if judged[1] if judged is not None and judged[0] is witness else self._is_whole(witness):
            return msgspec.structs.replace(verdict, witness=msgspec.structs.replace(witness, isolation=self._isolation))
        return None

    def _is_ordered_alone(self) -> bool:
        """Whether what has no serial order by itself has none beside the snapshots. What only constraints met, those of
        foreign keys and ON CONFLICT, is no read there, and one by itself."""
        if self._recorded or self._library.has_references:
            return False
        if not is_serial_throughout(self._log, self._isolation):
            return False
        texts = (s.sql for t in self._log.transactions for s in t.statements)
        return not any("conflict" in text.lower() for text in (*texts, *self._log.header.procedures))

    def _as_early(self, violation: Verdict) -> Verdict:
        """A violation of snapshots or order alone, or of both together where that fails earlier in the log."""
        log = self._log
        places = {transaction.id: place for place, transaction in enumerate(log.transactions)}
        assert violation.failing_transaction is not None
        failing = places[violation.failing_transaction]
        if len(log.transactions) <= SMALL:
            both = self._called(log, {})
        else:
            before = log.with_transactions(log.transactions[:failing])
            beside = _Serial(before, self._library, self._isolation, self._ask, order_recorded=self._recorded)
            both = beside.verdict()
            if both.status is Status.VIOLATION:
                # those that come later may explain what is before them
                others = [t for t in log.transactions if t.id != violation.failing_transaction]
                both = self._called(log.with_transactions(others), {})
        if both.failing_transaction is not None and places[both.failing_transaction] < failing:
            return both
        return violation


def _stands(verdict: Verdict, level: str, order_recorded: bool) -> Verdict:
    """A violation of less. Where other orders were not excluded, and no order is bound, it is none: this is what a
    product promises."""
    if verdict.scope is not Scope.EVERY_ORDER and not order_recorded:
        reason = f"no order was found that explains it, but not every order was excluded: at {level}: "
        return verdict.left_open(reason + str(verdict.explanation), notes=())
    return msgspec.structs.replace(verdict, explanation=f"at {level}: {verdict.explanation}")
