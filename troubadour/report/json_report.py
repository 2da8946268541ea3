"""The one JSON object of ``--format json``. Does not know how a verdict was reached."""

from __future__ import annotations

import msgspec

from troubadour.model.account import Account
from troubadour.model.certificate import Examined, Standing
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.model.visible import visible
from troubadour.report.undecided import nearly


def render_json(verdict: Verdict, log: Log | None = None) -> str:
    """The contract's object on one line; what does not apply is null. `log`: whose an undecided verdict is."""
    near = None if log is None else nearly(verdict, log)
    statement, clash = verdict.statement, verdict.clash
    document: dict[str, object] = {
        "verdict": verdict.status.value,
        "isolation": verdict.isolation,
        "transactions": {
            "total": verdict.total,
            "committed": verdict.committed,
            "aborted": verdict.aborted,
            "unknown": verdict.unknown,
        },
        "verified_prefix": verdict.verified_prefix,
        "failing_transaction": verdict.failing_transaction,
        "core": None if verdict.core is None else list(verdict.core),
        "core_scope": None if verdict.core_scope is None else verdict.core_scope.value,
        "clash": None if clash is None else msgspec.structs.asdict(clash),
        "scope": None if verdict.scope is None else verdict.scope.value,
        "anomaly": None if verdict.account is None else verdict.account.anomaly,
        "explanation": verdict.explanation,
        "reason": verdict.reason,
        "nearly": None if near is None else {"transaction": near.transaction, "beside": list(near.beside)},
        "levels": {level: status.value for level, status in verdict.levels} or None,
        "statement": None if statement is None else {"transaction": statement.transaction, "index": statement.index},
        "engine": _engine(verdict),
        "notes": list(verdict.notes),
        "max_staleness": verdict.max_staleness,
        "certificate": None if verdict.certificate is None else _certificate(verdict.certificate),
        "coverage": None if verdict.coverage is None else msgspec.to_builtins(verdict.coverage),
        "account": _account(verdict.account),
        "violations": None if verdict.violations is None else msgspec.to_builtins(verdict.violations),
        "seconds": verdict.seconds,
    }
    if verdict.stats:
        document["stats"] = msgspec.to_builtins(verdict.stats)
    return visible(msgspec.json.encode(document).decode())


def _engine(verdict: Verdict) -> str | None:
    """Which step decided."""
    if verdict.status is Status.UNDECIDED:
        return None
    if verdict.engine is not None:
        return verdict.engine
    examined = verdict.certificate
    by_certificate = examined is not None and examined.status is Standing.ACCEPTED
    return "certificate" if by_certificate or verdict.scope is Scope.CERTIFICATE else "search"


def _certificate(examined: Examined) -> dict[str, object]:
    return {"status": examined.status.value, "transaction": examined.transaction, "because": examined.because}


def _account(account: Account | None) -> object:
    """An account without the witness that its chain is checked against, and without the rows before."""
    if account is None:
        return None
    fields = msgspec.structs.asdict(msgspec.structs.replace(account, explained=None, initial=None))
    del fields["explained"], fields["before"], fields["initial"]
    return msgspec.to_builtins(fields)
