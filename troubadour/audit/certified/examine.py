"""A certificate examined: accepted with a witness, refuted with a reason, or incomplete (Emme §5, §6).

At levels with snapshots the certificate is the witness. At serializable ones commit order is no serial order (SSI lets
a reader stand before a commit that it did not see): dependencies are computed on the states that transactions read, and
sorted. Does not know what the search would have said.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.certified.dependencies import Cycle, serial_order
from troubadour.audit.certified.order import Certified, Incomplete, certified_order
from troubadour.audit.certified.timestamps import timestamp_order
from troubadour.audit.certified.witnessing import Mismatch, replayed, run_certified
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats.certificate import check_columns
from troubadour.isolation.levels import Scope, Visible, parts_of
from troubadour.model.certificate import Certificate, Examined, Scheme, Standing
from troubadour.model.log import Log, LogError
from troubadour.model.witness import Witness
from troubadour.search.problem.problem import Deadline, Problem

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
    deadline = Deadline(timeout)
    parts: tuple[Mapping[str, str], ...] = parts_of(log, isolation) or ({},)
    witnesses: list[Witness] = []
    try:
        for names in parts:
            level = names.get(isolation, isolation) if isolation is not None else None
            witnesses.append(_witness(log.with_levels(names), library, certificate, level, deadline))
    except Incomplete as error:
        return Examined(Standing.INCOMPLETE, error.transaction, str(error)), None
    except Unsupported as error:
        return Examined(Standing.INCOMPLETE, None, f"not modelled: {error.construct}"), None
    except Mismatch as error:
        return Examined(Standing.REFUTED, error.transaction, str(error)), None
    except Cycle as error:
        return Examined(Standing.REFUTED, error.transaction, str(error)), None
    first, *others = witnesses
    if others:
        first = msgspec.structs.replace(first, isolation=isolation, also=tuple(others))
    return Examined(Standing.ACCEPTED), first


def _witness(
    log: Log, library: SqlLibrary, certificate: Certificate, isolation: str | None, deadline: Deadline
) -> Witness:
    problem = _problem(log, library, isolation, deadline)
    for item in problem.judged:
        level = problem.levels[item]
        if level.scope is not Scope.TRANSACTION or level.visible is not Visible.STATE or level.acts:
            raise Incomplete(f"at {level.name} single statements have snapshots, which it does not tell")
    if certificate.scheme is Scheme.SERIALIZATION_ORDER:
        certified = timestamp_order(problem, certificate)
        ran = run_certified(problem, certified, images=bool(certified.commits))
    elif any(problem.levels[item].horizon.latest for item in problem.judged):
        snapshots = _problem(log, library, _SNAPSHOTS, deadline)
        read = run_certified(snapshots, certified_order(snapshots, certificate))
        order = serial_order(read.trace)
        certified = Certified(order, {item: place for place, item in enumerate(order)}, {})
        ran = run_certified(problem, certified, images=False)
    else:
        ran = run_certified(problem, certified_order(problem, certificate))
    replayed(problem, ran.witness)
    return ran.witness


def _problem(log: Log, library: SqlLibrary, isolation: str | None, deadline: Deadline) -> Problem:
    unknown = unknown_tables(log, library)
    if unknown:
        raise Incomplete(f"the initial rows of {unknown[0]} are unknown")
    return Problem(log, library, known_rows(log, library), isolation=isolation, deadline=deadline)
