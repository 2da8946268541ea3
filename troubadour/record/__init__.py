"""Recording: logs of what clients saw, from a real PostgreSQL. Does not know how a log is judged; nothing in the
audit imports it."""

from troubadour.record.embedded import EmbeddedPostgres
from troubadour.record.errors import ConnectionLost, RecordError
from troubadour.record.recorder import Recorder
from troubadour.record.runner import Executor, Logic, Session, Tally, Workload, attempt, run
from troubadour.record.server import ISOLATION_LEVELS, Connection, connect, scratch_schema
from troubadour.record.session import Answer, RecordedSession

__all__ = [
    "ISOLATION_LEVELS",
    "Answer",
    "Connection",
    "ConnectionLost",
    "EmbeddedPostgres",
    "Executor",
    "Logic",
    "RecordError",
    "RecordedSession",
    "Recorder",
    "Session",
    "Tally",
    "Workload",
    "attempt",
    "connect",
    "run",
    "scratch_schema",
]
