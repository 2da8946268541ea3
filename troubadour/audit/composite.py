"""Levels with several parts, each with an order and views of its own (DESIGN §8, postgres:serializable): audited one
after the other, and put together.

A log that every part explains may still be none that the product could have made: that the parts' witnesses have
anything to do with one another is not asked. Does not know how one part is decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from sql_semantics.library import SqlLibrary
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict

Decide = Callable[[Log, str | None, float | None], Verdict]
"""f(log, isolation, seconds left): the verdict on one part."""


def audit_parts(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    timeout: float | None,
    parts: Sequence[Mapping[str, str]],
    decide: Decide,
    *,
    order_recorded: bool,
) -> Verdict:
    """The verdict on all parts: a violation of one of them is one, and correct is what is so at all. Where other orders
    were not excluded, and no order is bound, it is none: this is what a product promises."""
    begun = time.monotonic()
    verdicts: list[Verdict] = []
    for number, names in enumerate(parts):
        left = None if timeout is None else max(timeout - (time.monotonic() - begun), 0.001)
        verdict = decide(log.with_levels(names), None if isolation is None else names[isolation], left)
        if verdict.status is Status.VIOLATION:
            called = ", ".join(sorted(set(names.values())))
            if number and library.has_references:
                reason = (
                    f"at {called}: {verdict.explanation}; but foreign keys are checked by reads that conflict "
                    "with nothing there, so that a server may have let this pass"
                )
                verdict = _left_open(verdict, reason)
            elif verdict.scope is not Scope.EVERY_ORDER and not order_recorded:
                reason = f"no order was found that explains it, but not every order was excluded: at {called}: "
                verdict = _left_open(verdict, reason + str(verdict.explanation))
            else:
                verdict = msgspec.structs.replace(verdict, explanation=f"at {called}: {verdict.explanation}")
        verdicts.append(verdict)
    rank = {Status.VIOLATION: 0, Status.UNDECIDED: 1, Status.CORRECT: 2}
    worst = min(verdicts, key=lambda verdict: (rank[verdict.status], verdict.verified_prefix))
    witness = None
    if worst.status is Status.CORRECT:
        found = [verdict.witness for verdict in verdicts if verdict.witness is not None]
        witness = msgspec.structs.replace(found[0], isolation=isolation, also=tuple(found[1:]))
    seconds = round(time.monotonic() - begun, 4)
    name = isolation or log.header.isolation or worst.isolation
    return msgspec.structs.replace(worst, isolation=name, witness=witness, seconds=seconds)


def _left_open(verdict: Verdict, reason: str) -> Verdict:
    return msgspec.structs.replace(
        verdict,
        status=Status.UNDECIDED,
        failing_transaction=None,
        core=None,
        core_scope=None,
        scope=None,
        explanation=None,
        notes=(),
        reason=reason,
    )
