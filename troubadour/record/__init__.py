"""Recording: logs of what clients saw, from a real PostgreSQL. Does not know how a log is judged; nothing in the
audit imports it."""

from troubadour.record.errors import ConnectionLost, RecordError, ServerError, UserRollback
from troubadour.record.recorder import Recorder
from troubadour.record.recording import is_mariadb, record_run
from troubadour.record.runs.runner import Session, Tally, attempt, run
from troubadour.record.runs.session import PostgresSession
from troubadour.record.runs.workload import Answer, Draws, Executor, Logic, Mix, Workload, load
from troubadour.record.servers.embedded import EmbeddedPostgres
from troubadour.record.servers.server import ISOLATION_LEVELS, Connection, connect, inside, scratch_schema

__all__ = [
    "ISOLATION_LEVELS",
    "Answer",
    "Connection",
    "ConnectionLost",
    "Draws",
    "EmbeddedPostgres",
    "Executor",
    "Logic",
    "Mix",
    "PostgresSession",
    "RecordError",
    "Recorder",
    "ServerError",
    "Session",
    "Tally",
    "UserRollback",
    "Workload",
    "attempt",
    "connect",
    "inside",
    "is_mariadb",
    "load",
    "record_run",
    "run",
    "scratch_schema",
]
