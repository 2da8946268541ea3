"""What to look at next where an anomaly was found, in the words of the product that the log is of.

Does not know how anomalies are found.
"""

from __future__ import annotations

from collections.abc import Mapping

from troubadour.model.log import Header

SETTING, OUTSIDE, REPLICA, DURABLE = "setting", "outside", "replica", "durable"
CLOCKS, INDEX, REFERENCE, ALONE, PLAN, SEQUENCE = "clocks", "index", "reference", "alone", "plan", "sequence"

_LEVEL = "is the isolation level the one that you expect? "
_ENDS = "do transactions begin and end where you expect? "
_SERVER = "did the reads go to a replica, or through a pool that switches servers?"
_COPY = "was the file copied, replaced or restored between the reads?"
_CRASH = "was there a crash, a failover or a restore at that time?"
_INTACT = "is the index intact? "
_VALID = "is the constraint validated, and not deferred or disabled?"
_ITSELF = "what does the same statement return, run alone in "
_OTHERWISE = "what does the statement return, run alone and with another plan"

QUESTIONS: Mapping[str, Mapping[str, str]] = {
    SETTING: {
        "": _LEVEL.strip(),
        "postgres": f"{_LEVEL}SHOW transaction_isolation",
        "mysql": f"{_LEVEL}SELECT @@transaction_isolation",
        "mariadb": f"{_LEVEL}SELECT @@tx_isolation; innodb_snapshot_isolation decides what REPEATABLE READ refuses",
        "sqlite": f"{_ENDS}drivers may begin them before INSERT, UPDATE and DELETE only; PRAGMA read_uncommitted",
        "duckdb": f"{_ENDS}without BEGIN TRANSACTION each statement is one by itself",
    },
    OUTSIDE: {"": "did a client outside the log, a trigger or a migration write to these tables?"},
    REPLICA: {
        "": _SERVER,
        "postgres": f"{_SERVER} SELECT pg_is_in_recovery()",
        "mysql": f"{_SERVER} SELECT @@server_id, @@read_only",
        "mariadb": f"{_SERVER} SELECT @@server_id, @@read_only",
        "sqlite": _COPY,
        "duckdb": _COPY,
    },
    DURABLE: {
        "": _CRASH,
        "postgres": f"SHOW synchronous_commit, SHOW fsync; {_CRASH}",
        "mysql": f"SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog; {_CRASH}",
        "mariadb": f"SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog; {_CRASH}",
        "sqlite": f"PRAGMA synchronous, PRAGMA journal_mode; {_CRASH}",
    },
    CLOCKS: {"": "do the clients share the clock that the log names?"},
    INDEX: {
        "": _INTACT.strip(),
        "postgres": f"{_INTACT}amcheck, bt_index_check",
        "mysql": f"{_INTACT}CHECK TABLE ... EXTENDED",
        "mariadb": f"{_INTACT}CHECK TABLE ... EXTENDED",
        "sqlite": f"{_INTACT}PRAGMA integrity_check",
    },
    REFERENCE: {
        "": _VALID,
        "postgres": f"{_VALID} SELECT convalidated, condeferred FROM pg_constraint",
        "mysql": f"{_VALID} SELECT @@foreign_key_checks",
        "mariadb": f"{_VALID} SELECT @@foreign_key_checks",
        "sqlite": f"{_VALID} PRAGMA foreign_keys, PRAGMA foreign_key_check",
    },
    ALONE: {
        "": f"{_ITSELF}the product's own client?",
        "postgres": f"{_ITSELF}psql?",
        "mysql": f"{_ITSELF}the mysql client?",
        "mariadb": f"{_ITSELF}the mariadb client?",
        "sqlite": f"{_ITSELF}the sqlite3 shell?",
        "duckdb": f"{_ITSELF}the duckdb shell?",
    },
    PLAN: {
        "": f"{_OTHERWISE}?",
        "postgres": f"{_OTHERWISE} (SET enable_indexscan = off)?",
        "mysql": f"{_OTHERWISE} (IGNORE INDEX)?",
        "mariadb": f"{_OTHERWISE} (IGNORE INDEX)?",
        "sqlite": f"{_OTHERWISE} (NOT INDEXED)?",
        "duckdb": f"{_OTHERWISE} (PRAGMA disable_optimizer)?",
    },
    SEQUENCE: {"": "was the sequence reset, or restored from a dump?"},
}
"""What to ask, by topic and product; under no product what holds of any."""


def advice(topic: str, header: Header) -> str:
    """What to look at next, for the product that a log is of."""
    product = "mariadb" if "mariadb" in (header.dbms or "").lower() else header.dialect
    questions = QUESTIONS[topic]
    return questions.get(product) or questions[""]
