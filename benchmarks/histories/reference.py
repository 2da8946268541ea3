"""What is known of a history without the audit: that a level explains it, that none can, or nothing.

`causal` by saturation; `serializable` by saturation and a schedule that is run, else by clingo; `snapshot` by what
`causal` and `serializable` say, else by clingo; the same with sessions; `read-committed` by which
transaction read of which. Does not know how the audit decides.
"""

from __future__ import annotations

from benchmarks.histories import encoding, saturation
from benchmarks.histories.committed_reads import read_committed
from benchmarks.histories.facts import Facts, facts
from benchmarks.histories.history import History

LEVELS = ("serializable", "snapshot", "causal")
WITH_SESSIONS = ("session-serializable", "session-snapshot")
OF_READS = ("read-committed",)
LARGEST = 600
"""Transactions up to which clingo is asked."""


def reference(history: History, level: str, seconds: float = 60.0, largest: int = LARGEST) -> str | None:
    """``correct``, ``violation`` or None. Raises ValueError for another level, or what `facts` cannot read."""
    if level in OF_READS:
        said = read_committed(history)
        return None if said is None else "correct" if said else "violation"
    if level not in (*LEVELS, *WITH_SESSIONS):
        raise ValueError(f"no reference for {level}")
    found = facts(history)
    said = _said(found, level, seconds, largest)
    return None if said is None else "correct" if said else "violation"


def _said(found: Facts, level: str, seconds: float, largest: int) -> bool | None:
    if level == "causal":
        return saturation.causal(found)
    if level in WITH_SESSIONS:
        # what has no explanation without sessions, or at causal, which they imply, has none
        quick = (
            False if False in (_said(found, level.removeprefix("session-"), 0, 0), saturation.causal(found)) else None
        )
    elif level == "serializable":
        quick = saturation.serializable(found)
    else:
        # serializable implies snapshot; snapshot implies causal but for sessions
        quick = True if saturation.serializable(found) else None
        if saturation.causal(found) is False and not any(before is not None for before in found.before):
            quick = False
    if quick is None and found.count <= largest:
        return encoding.decide(found, level, seconds)
    return quick
