"""Twenty-four verdicts as people meet them, each a command on a log of this repository.

Does not know what is said: that stands in `said.json`, beside what was said at an earlier commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """`whose` question it is, `what` is asked, and the `command`, without `troubadour`, in the repository's folder."""

    whose: str
    what: str
    command: Sequence[str]


_SRE, _DBMS, _APP = "reliability engineer", "DBMS developer", "application developer"


def _audit(whose: str, what: str, log: str, *options: str) -> Asked:
    return Asked(whose, what, ("audit", f"logs/{log}", *options))


VERDICTS = (
    _audit(_SRE, "did the nightly bank run keep its level?", "recorded/bank-snapshot-20.jsonl.gz"),
    _audit(_SRE, "is it serializable, too?", "recorded/bank-serializable-20.jsonl.gz"),
    _audit(_SRE, "did the crash lose commits?", "crashed/postgres-asynchronous-commit.jsonl.gz",
           "--isolation", "strict-snapshot"),
    _audit(_SRE, "was a read stale?", "anomalies/stale-read.jsonl", "--isolation", "strict-serializable"),
    _audit(_SRE, "only the first line", "anomalies/lost-update.jsonl", "--isolation", "snapshot", "--quiet"),
    _audit(_SRE, "a log of which nothing was observed", "strangers-3/no-observations.jsonl"),
    _audit(_SRE, "a log with gaps in what is modelled", "strangers-3/poison.jsonl"),
    _audit(_SRE, "only one transaction's answers", "anomalies/write-skew.jsonl", "--isolation", "serializable",
           "--filter", "id=t2"),
    _audit(_DBMS, "write skew at serializable", "anomalies/write-skew.jsonl", "--isolation", "serializable"),
    _audit(_DBMS, "the same at snapshot", "anomalies/write-skew.jsonl", "--isolation", "snapshot"),
    _audit(_DBMS, "the paper's example", "anomalies/fig-1.jsonl", "--isolation", "strict-snapshot"),
    _audit(_DBMS, "a long fork", "anomalies/long-fork.jsonl", "--isolation", "snapshot"),
    _audit(_DBMS, "a phantom", "anomalies/phantom.jsonl", "--isolation", "serializable"),
    _audit(_DBMS, "the read-only anomaly", "anomalies/read-only.jsonl", "--isolation", "serializable"),
    _audit(_DBMS, "PostgreSQL's SERIALIZABLE", "strangers-3/write-skew.jsonl"),
    _audit(_DBMS, "an error that cannot be", "strangers-3/imposs-err.jsonl"),
    _audit(_APP, "a lost update", "anomalies/lost-update.jsonl", "--isolation", "snapshot"),
    _audit(_APP, "an aborted read", "anomalies/aborted-read.jsonl", "--isolation", "postgres:read-committed"),
    _audit(_APP, "an intermediate read", "anomalies/intermediate-read.jsonl", "--isolation", "postgres:read-committed"),
    _audit(_APP, "a garbage read", "anomalies/garbage-read.jsonl", "--isolation", "read-committed"),
    _audit(_APP, "a read skew", "anomalies/read-skew.jsonl", "--isolation", "snapshot"),
    _audit(_APP, "one wrong read of a serial log", "strangers-3/serial-one-wrong-read-50.jsonl"),
    _audit(_APP, "four sellers, one seat", "strangers-3/five-minutes-snapshot.jsonl.gz", "--isolation", "snapshot"),
    _audit(_APP, "the same in brief", "anomalies/read-skew.jsonl", "--isolation", "snapshot", "--explain", "brief"),
)  # fmt: skip
