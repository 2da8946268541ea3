"""Public histories: what is published of each, for `python -m benchmarks.histories public ROOT`.

ROOT holds clones of the repositories, a folder for each, by its name. Where a repository publishes verdicts at a level
of ours they are compared; the number of transactions is, too. Does not know how a history is read or audited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

C, V = "correct", "violation"


@dataclass(frozen=True, slots=True)
class Published:
    """A history: the repository and the path in it, its format, its transactions as published (None: not said; an
    initial one that the file spells out counts), and verdicts by level."""

    repository: str
    path: str
    form: str
    transactions: int | None = None
    verdicts: dict[str, str] = field(default_factory=dict)


def _awdit(root: Path) -> Iterator[Published]:
    """The folder is the strongest of the levels that a history keeps."""
    # its levels keep sessions
    levels = ("session-read-committed", "session-read-atomic", "causal")
    for strongest in ("none", *levels):
        kept = levels[: levels.index(strongest) + 1] if strongest in levels else ()
        folder = f"histories/tests/{strongest.removeprefix('session-')}"
        for path in sorted((root / "AWDIT" / folder).rglob("*.txt")):
            # our read committed has each row of any committed state; theirs is stronger
            verdicts = {level: C if level in kept else V for level in levels if level in kept or level != levels[0]}
            yield Published("AWDIT", str(path.relative_to(root / "AWDIT")), "awdit", None, verdicts)


_POLYSI = "artifact/PolySIHistories/violations"
_FIG8 = "artifact/PolySIHistories/fig8_9_10"
_ELLE = "strict-serializable"
LISTED = (
    Published("PolySI-PVLDB2023-Artifacts", f"{_POLYSI}/galera/galera.txt", "polysi", 7,
              {"snapshot": V, "serializable": V, "causal": C, "read-committed": C}),
    Published("PolySI-PVLDB2023-Artifacts", f"{_POLYSI}/yugabyte/yugabyte.txt", "polysi", 20,
              {"session-snapshot": V, "serializable": V, "read-committed": C}),
    Published("PolySI-PVLDB2023-Artifacts", f"{_POLYSI}/dgraph/history.bincode", "dbcop", 800, {"session-snapshot": V}),
    Published("IsoVista", "history/bugs/dgraph_si.txt", "polysi", 481, {"session-snapshot": V}),
    Published("IsoVista", "history/bugs/yugabyte_tcc.txt", "polysi", 21, {"session-snapshot": V}),
    Published("IsoVista", "history/bugs/pg_ser_bug.txt", "polysi", 21, {"snapshot": C, "serializable": V}),
    *(
        Published("CobraLogs", f"ser-violation/{name}", "cobra", count, {"serializable": V})
        for name, count in (("cock-G2", 446), ("cock-blog", 21), ("fauna-page", 8_156), ("yuga-G2-a", 37_190),
                            ("yuga-G2-b", 26_994), ("yuga-G2-c", 29_419))
    ),
    Published("TimeKiller", "examples/format-kv.json", "chronos", 1_000, {"strict-snapshot": C}),
    Published("TimeKiller", "examples/format-list.json", "chronos", 1_000, {"strict-snapshot": C}),
    Published("dbcdc-runner", "tidb/template/history-template.json", "chronos", 325, {"snapshot": V}),
    Published("dbcdc-runner", "tidb/template/new-history-template.json", "chronos", 5_395, {"snapshot": C}),
    *(
        Published("elle-cli", f"histories/{name}", "elle", None, {_ELLE: verdict})
        for name, verdict in (
            ("elle/list-append-gh-30.edn", V), ("elle/paper-example.edn", V), ("elle/paper-example.json", V),
            ("jepsen/counter.edn", "undecided"), ("jepsen/counter.json", "undecided"),
            ("jepsen/set_full.edn", V), ("jepsen/set_full.json", V), ("jepsen/set.edn", C),
            ("jepsen/bank.edn", C), ("jepsen/bank.json", C), ("jepsen/bank-tidb.edn", V), ("jepsen/bank-neg.edn", C),
            ("jepsen/bank-negative-balances.json", V), ("jepsen/long-fork.edn", V),
            ("elle/rw-register.edn", V), ("elle/rw-register.json", V),
            ("knossos/cas-register/bad/bad-analysis.edn", V), ("knossos/cas-register/bad/cas-failure.edn", V),
            ("knossos/cas-register/bad/mongodb-v0-ack-rollback-6.edn", V),
            ("knossos/cas-register/bad/rethink-fail.edn", V), ("knossos/cas-register/bad/rethink-fail-minimal.edn", V),
            ("knossos/cas-register/bad/rethink-fail-smaller.edn", V),
            ("knossos/cas-register/good/memstress3-9.edn", C), ("knossos/cas-register/good/memstress3-9.json", C),
            ("knossos/mutex/bad/etcd.edn", V), ("knossos/mutex/bad/etcd.json", V),
            ("knossos/mutex/bad/hazelcast.edn", V),
        )
    ),
)  # fmt: skip
"""elle-cli calls `rw-register` valid, whose second read is of a value that nothing writes, and `counter`, in which
nothing is read; the rest is as its test.sh has it."""

LARGE = (
    ("CobraLogs", "ser-violation/fauna-page", "cobra", ("serializable",)),
    ("CobraLogs", "ser-violation/yuga-G2-a", "cobra", ("serializable",)),
    ("CobraLogs", "ser-violation/yuga-G2-b", "cobra", ("serializable",)),
    ("VeriStrong", "history/fig5/rubis-1k", "cobra", ("serializable",)),
    ("VeriStrong", "history/fig13-14-15-table1/twitter-10k", "cobra", ("serializable",)),
    ("elle", "histories/huge-scc.edn", "elle", ("snapshot", "serializable", "strict-serializable")),
    ("elle-cli", "histories/jepsen/bank-tidb.edn", "elle", ("snapshot", "read-committed")),
    *(
        ("PolySI-PVLDB2023-Artifacts", f"{_FIG8}/{name}/hist-00000/history.bincode", "dbcop",
         ("session-snapshot", "serializable"))
        for name in ("25_400_8_10000_0.3_uniform", "25_400_8_10000_0.5_uniform", "25_400_8_10000_0.95_uniform")
    ),
)  # fmt: skip
"""Repository, path, format and levels of large ones."""


def published(root: Path) -> Iterator[Published]:
    """Those whose files are there."""
    yield from (one for one in LISTED if (root / one.repository / one.path).exists())
    yield from _awdit(root)
