"""A certificate examined: accepted with a witness, refuted with a reason, or incomplete (Emme §5, §6).

At levels with snapshots the certificate is the witness. At serializable ones commit order is no serial order (SSI lets
a reader stand before a commit that it did not see): dependencies are computed on the states that transactions read, and
sorted. Does not know what the search would have said.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.certified.adopted import adoptions, beside_the_log, fates
from troubadour.audit.certified.dependencies import Cycle, serial_order
from troubadour.audit.certified.mismatch import ANSWER, without_answers
from troubadour.audit.certified.order import Certified, Incomplete, Mismatch, certified_order
from troubadour.audit.certified.timestamps import timestamp_order
from troubadour.audit.certified.witnessing import refused, replayed, run_certified, told_witness
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats.certificate import check_columns
from troubadour.isolation.levels import Level, Scope, Visible, is_serial_throughout, snapshots_of
from troubadour.model.certificate import Certificate, Commit, Examined, Scheme, Standing
from troubadour.model.log import Log, LogError, TransactionId
from troubadour.model.witness import Witness
from troubadour.problem.budget import Budget
from troubadour.problem.problem import Problem, level_of
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal

_SNAPSHOTS = "session-snapshot"
"""The level at which the snapshots of a serializable run are taken for what they are."""


def examine(
    log: Log, library: SqlLibrary, certificate: Certificate, *, isolation: str | None, timeout: float | None = None
) -> tuple[Examined, Witness | None]:
    """What a certificate comes to at a level (None: the log's own), and its witness where it is accepted.

    Raises LogError where log and certificate do not belong together, OutOfTime.
    """
    if certificate.log_id is not None and log.header.log_id is not None and certificate.log_id != log.header.log_id:
        raise LogError(f"certificate: it is of log {certificate.log_id!r}, not of {log.header.log_id!r}")
    columns = {name: frozenset(c.name for c in table.columns) for name, table in library.catalog.tables.items()}
    check_columns(certificate, columns)
    notes = beside_the_log(log, certificate, frozenset(columns))
    examined, witness = _judged(log, library, certificate, isolation, Budget(timeout))
    return msgspec.structs.replace(examined, notes=(*examined.notes, *notes)), witness


def _judged(
    log: Log, library: SqlLibrary, certificate: Certificate, isolation: str | None, budget: Budget
) -> tuple[Examined, Witness | None]:
    parts = _parts_of(log, isolation)
    witnesses: list[Witness] = []
    try:
        for names in parts:
            level = names.get(isolation, isolation) if isolation is not None else None
            witnesses.append(_adopted(log.with_levels(names), library, certificate, level, budget))
    except Incomplete as error:
        return Examined(Standing.INCOMPLETE, error.transaction, str(error), outside=error.outside), None
    except Unsupported as error:
        return Examined(Standing.INCOMPLETE, None, f"not modelled: {error.construct}"), None
    except Mismatch as error:
        text = str(error)
        if error.answer and _fits_without(log, library, certificate, isolation, budget, error.transaction):
            text = f"{text}; {ANSWER}"
        lead = () if error.transaction is None or not error.answer else (error.transaction,)
        return Examined(Standing.REFUTED, error.transaction, text, lead=lead), None
    except Cycle as error:
        return Examined(Standing.REFUTED, error.transaction, str(error), lead=error.members), None
    first = msgspec.structs.replace(witnesses[0], isolation=isolation)
    if parts[0]:
        # the snapshots that it tells, and the serial order that these leave
        refusal = check(log, first, library, isolation=isolation)
        if refusal is not None:
            return Examined(Standing.REFUTED, refusal.transaction, str(refused(refusal))), None
    return Examined(Standing.ACCEPTED, notes=fates(log, certificate, first.order)), first


def _parts_of(log: Log, isolation: str | None) -> list[dict[str, str]]:
    """What levels are called in each of the questions that a certificate is asked: of those with a serial order the
    snapshots, and the order by itself where all transactions are in it."""
    snapshots = snapshots_of(log, isolation)
    if not snapshots:
        return [{}]
    if not is_serial_throughout(log, isolation):
        return [snapshots]
    return [snapshots, dict.fromkeys(snapshots, "serializable")]


def _fits_without(
    log: Log,
    library: SqlLibrary,
    certificate: Certificate,
    isolation: str | None,
    budget: Budget,
    identifier: TransactionId | None,
) -> bool:
    """Whether the certificate fits the log without the answers of one transaction."""
    if identifier is None:
        return False
    silenced = without_answers(log, identifier)
    try:
        for names in _parts_of(log, isolation):
            level = names.get(isolation, isolation) if isolation is not None else None
            _adopted(silenced.with_levels(names), library, certificate, level, budget)
    except (Incomplete, Unsupported, Mismatch, Cycle):
        return False
    return True


def _adopted(log: Log, library: SqlLibrary, certificate: Certificate, isolation: str | None, budget: Budget) -> Witness:
    """The witness, with commits of ids that the log does not know for transactions of unknown outcome."""
    failure: Mismatch | Cycle | None = None
    for adopted in adoptions(log, certificate, frozenset(library.catalog.tables)):
        try:
            return _witness(log, library, adopted, isolation, budget)
        except (Mismatch, Cycle) as error:
            if adopted is certificate:
                raise
            failure = failure or error
    text = (
        f"it has commits of ids that the log does not know, and as those of unknown outcome they do not fit: {failure}"
    )
    raise Incomplete(text, outside=True)


def _witness(log: Log, library: SqlLibrary, certificate: Certificate, isolation: str | None, budget: Budget) -> Witness:
    latest = _reads_newest(log, isolation)
    commits: Mapping[TransactionId, Commit] | None
    unknown = unknown_tables(log, library)
    if unknown:
        raise Incomplete(f"the initial rows of {unknown[0]} are unknown")
    if certificate.scheme is Scheme.SERIALIZATION_ORDER:
        certified = timestamp_order(log, certificate)
        commits = certified.commits or None
    elif latest:
        certified, commits = _serialized(log, library, certificate, budget)
    else:
        certified = certified_order(_problem(log, library, isolation, budget), certificate)
        commits = certified.commits
    # versions of a serialization order may come in another order than their records
    ordered = certificate.scheme is Scheme.SNAPSHOT

    def refusal_of(one: Witness) -> Refusal | None:
        return replayed(log, library, isolation, one, budget=budget, commits=commits, ordered=ordered)

    witness = told_witness(log, isolation, certified)
    with suppress(Unsupported):
        if witness is not None and refusal_of(witness) is None:
            return witness
    # run it: that finds values that the DBMS chose, puts aborted transactions where they fit, and says what does not
    try:
        ran = run_certified(_problem(log, library, isolation, budget), certified)
    except Mismatch as error:
        if certificate.scheme is Scheme.SERIALIZATION_ORDER or not latest:
            raise
        # the order is ours, made of dependencies: that it does not fit is no word of the certificate's
        raise Incomplete(f"no serial order was found: {error}", error.transaction) from error
    refusal = refusal_of(ran.witness)
    if refusal is not None:
        raise refused(refusal)
    return ran.witness


def _reads_newest(log: Log, isolation: str | None) -> bool:
    """Whether some transaction must read the newest state of the order. Raises Incomplete for levels at which single
    statements read."""
    levels: dict[str | None, Level] = {}
    for transaction in log.transactions:
        if transaction.isolation not in levels:
            levels[transaction.isolation] = level_of(transaction, log, isolation)
        if isolation is not None:
            break  # one level for all
    for level in levels.values():
        if level.scope is not Scope.TRANSACTION or level.visible is not Visible.STATE or level.acts:
            raise Incomplete(f"at {level.name} single statements have snapshots, which it does not tell")
    return any(level.horizon.latest for level in levels.values())


def _serialized(
    log: Log, library: SqlLibrary, certificate: Certificate, budget: Budget
) -> tuple[Certified, Mapping[TransactionId, Commit]]:
    """The snapshots of a serializable run as an order in which each may read the newest state."""
    snapshots = _problem(log, library, _SNAPSHOTS, budget)
    told = certified_order(snapshots, certificate)
    trace = run_certified(snapshots, told).trace
    for position in range(1, len(trace) + 1):
        identifier = snapshots.transaction(trace.item_at(position)).id
        if identifier not in told.commits and trace.states.written_at(position):
            raise Incomplete("its commit is missing", identifier)
    order = serial_order(trace)
    names = [snapshots.transaction(item).id for item in order]
    return Certified(order, names, range(len(order)), {}), told.commits


def _problem(log: Log, library: SqlLibrary, isolation: str | None, budget: Budget) -> Problem:
    return Problem(log, library, known_rows(log, library), isolation=isolation, budget=budget)
