"""33 register histories of other tools (dbcop, PolySI), with the verdicts that their sources state or that follow, as
logs of one table (`tests/data/registers`). Does not know how the sources decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_files import Case, read_case
from tests.suites.files import DATA, entries_of
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.isolation.levels import LEVELS
from troubadour.model.verdict import Status
from troubadour.replay.checker import check

REGISTERS = DATA / "registers" / "registers.jsonl.gz"

DERIVED = {
    "SI": "snapshot",
    "SER": "serializable",
    "SI_session": "session-snapshot",
    "SER_session": "session-serializable",
}
"""`*_session`: session order is kept."""

STATED = {
    "RC": "read-committed",
    "RA": "read-atomic",
    "CC": "causal",
    "PC": "prefix",
    "SI": "session-snapshot",
    "SER": "session-serializable",
}
"""The sources keep session order from CC on. Their RR (each key's reads agree, each for itself) is no level here."""

# The sources' read committed forbids cycles of reads and writes (Adya's G1c, causal order between single reads). The
# level audited here is the paper's C_RC: every row read may come from any earlier state, so these are explained.
WEAKER_READ_COMMITTED = {"a03"}

# Violations by five transactions and more: their core is asked in each of 120 orders.
LONG = {"a15", "a23"}


def registers() -> list[tuple[dict[str, object], str, str]]:
    """(history, level, verdict) for all that is derived or stated."""
    found = []
    for history in entries_of(REGISTERS):
        verdicts = {DERIVED[name]: verdict for name, verdict in history["verdict_derived"].items()}
        for name, verdict in history["verdict_stated"].items():
            if name == "RC" and history["id"] in WEAKER_READ_COMMITTED:
                assert verdict == "invalid"
                verdict = "valid"
            if name in STATED:
                assert verdicts.setdefault(STATED[name], verdict) == verdict, history["id"]
        if "valid" in verdicts.values():
            verdicts["read-committed"] = "valid"  # implied
        found += [(history, level, verdict) for level, verdict in verdicts.items()]
    return found


def register_case(history: dict[str, object]) -> Case:
    """One table kv(k, v); a write is an UPDATE, and every key exists from the start."""
    sessions = history["sessions"]
    initial = history["initial"]
    assert isinstance(sessions, list)
    assert isinstance(initial, dict)
    keys = sorted({op[1] for session in sessions for one in session for op in one["ops"]} | set(initial))
    values = ["null" if initial.get(key) is None else str(initial[key]) for key in keys]
    rows = " ".join(f"('{key}', {value})" for key, value in zip(keys, values, strict=True))
    lines = ["# level: snapshot  expect: correct", "schema: kv.sql", f"init kv {rows}"]
    for number, session in enumerate(sessions):
        for place, one in enumerate(session):
            lines.append(f"s{number}.{place} {one['status']} session:s{number}")
            for kind, key, value in one["ops"]:
                value = "null" if value is None else value
                if kind == "w":
                    lines.append(f"  UPDATE kv SET v = {value} WHERE k = '{key}'  -> affected 1")
                else:
                    lines.append(f"  SELECT v FROM kv WHERE k = '{key}'  -> ({value})")
    return read_case("\n".join(lines), str(history["id"]))


def test_register_histories_are_many() -> None:
    found = registers()
    assert len(found) >= 160
    assert {level for _, level, _ in found} == {*DERIVED.values(), *STATED.values()} <= set(LEVELS)


@pytest.mark.parametrize(
    ("history", "level", "verdict"),
    [
        pytest.param(*item, id=f"{item[0]['id']}-{item[1]}", marks=pytest.mark.slow if item[0]["id"] in LONG else ())
        for item in registers()
    ],
)
def test_register_history(history: dict[str, object], level: str, verdict: str, tmp_path: Path) -> None:
    log = register_case(history).log(tmp_path)
    found = audit(log, library_of(log), Options(level))
    if found.witness is not None:
        assert check(log, found.witness, library_of(log), isolation=level) is None
    assert found.status is (Status.CORRECT if verdict == "valid" else Status.VIOLATION), found.explanation
