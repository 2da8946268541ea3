"""An audit with a certificate: accepted, it ends the audit; else the search decides, and what the certificate came to
is told with the verdict (Emme Fig. 3). Does not know how either is examined.
"""

from __future__ import annotations

import time
from dataclasses import replace

import msgspec

from sql_semantics.library import SqlLibrary
from troubadour.audit.certified.examine import examine
from troubadour.audit.driver import Options, Progress, audit
from troubadour.coverage.reduced import is_exact, whole_log
from troubadour.model.certificate import Certificate, Examined, Standing
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.model.witness import Witness
from troubadour.problem.problem import OutOfTime


def audit_certified(
    log: Log,
    library: SqlLibrary,
    options: Options,
    certificate: Certificate,
    *,
    require: bool = False,
    progress: Progress | None = None,
) -> Verdict:
    """Decide a log by its certificate, and by search where that does not. Raises as `audit` does."""
    begun = time.monotonic()
    try:
        examined, witness = _examined(log, library, options, certificate)
    except OutOfTime:
        examined, witness = Examined(Standing.INCOMPLETE, None, "the time limit was reached"), None
    if witness is not None:
        name = options.isolation or ", ".join(
            sorted({t.isolation or log.header.isolation or "" for t in log.transactions})
        )
        return Verdict(
            status=Status.CORRECT,
            isolation=name,
            total=len(log.transactions),
            committed=log.committed,
            aborted=log.aborted,
            unknown=log.unknown,
            verified_prefix=log.committed,
            witness=witness,
            max_staleness=options.max_staleness,
            seconds=round(time.monotonic() - begun, 4),
            certificate=examined,
            notes=examined.notes,
            coverage=whole_log(log, library).coverage(spelled=True),
        )
    left = None if options.timeout is None else max(options.timeout - (time.monotonic() - begun), 0.001)
    verdict = audit(log, library, replace(options, timeout=left, lead=examined.lead), progress)
    seconds = round(time.monotonic() - begun, 4)
    notes = (*verdict.notes, *examined.notes)
    verdict = msgspec.structs.replace(verdict, certificate=examined, notes=notes, seconds=seconds)
    if examined.status is Standing.INCOMPLETE:
        return _incomplete(verdict, examined, require=require)
    if require and verdict.status is not Status.VIOLATION:
        return _not_as_certified(verdict, examined)
    return verdict


def _examined(
    log: Log, library: SqlLibrary, options: Options, certificate: Certificate
) -> tuple[Examined, Witness | None]:
    if not is_exact(library):
        # what is not modelled may have answered and written anything: the search knows what that leaves
        return Examined(Standing.INCOMPLETE, None, "not all that the schema defines is modelled"), None
    found = examine(log, library, certificate, isolation=options.isolation, timeout=options.timeout)
    short = Examined(Standing.INCOMPLETE, None, "not all values that are shown are modelled")
    return (short, None) if library.leaves_out else found


def _incomplete(verdict: Verdict, examined: Examined, *, require: bool) -> Verdict:
    """Writers outside the log are no fault of the database, and a certificate that is required must be whole."""
    missed = require and verdict.status is Status.CORRECT
    accused = examined.outside and verdict.status is Status.VIOLATION
    if not missed and not accused:
        return verdict
    return verdict.left_open(f"the certificate is incomplete: {examined.because}")


def _not_as_certified(verdict: Verdict, examined: Examined) -> Verdict:
    return msgspec.structs.replace(
        verdict,
        status=Status.VIOLATION,
        failing_transaction=examined.transaction,
        core=None if examined.transaction is None else (examined.transaction,),
        core_scope=None,
        scope=Scope.CERTIFICATE,
        explanation=f"the answers are possible, but not as the database says it ran: {examined.because}",
        witness=None,
        reason=None,
        statement=None,
    )
