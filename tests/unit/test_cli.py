"""The command line, end to end: verdicts, where logs come from, and witnesses."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CASES, read_case
from tests.unit.commands import FIG_1, GOOD, HEADER, READ, balance, refused, transaction, write

KEYS = {
    "levels",
    "nearly",
    "verdict",
    "isolation",
    "transactions",
    "verified_prefix",
    "failing_transaction",
    "core",
    "core_scope",
    "clash",
    "scope",
    "anomaly",
    "account",
    "violations",
    "explanation",
    "reason",
    "statement",
    "max_staleness",
    "certificate",
    "coverage",
    "notes",
    "engine",
    "seconds",
}


# --- verdicts -------------------------------------------------------------------------------------------------------


def test_correct(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, transaction(params=[1], result=balance("100.00")))
    ended = run("audit", "--format", "json", log)
    assert (ended.status, ended.err) == (0, "")
    found = ended.json
    assert set(found) == KEYS
    seconds = found.pop("seconds")
    assert isinstance(seconds, float)
    assert found == {
        "verdict": "correct",
        "isolation": "snapshot",
        "transactions": {"total": 1, "committed": 1, "aborted": 0, "unknown": 0},
        "verified_prefix": 1,
        "failing_transaction": None,
        "core": None,
        "core_scope": None,
        "clash": None,
        "scope": None,
        "anomaly": None,
        "account": None,
        "violations": None,
        "explanation": None,
        "reason": None,
        "statement": None,
        "engine": "straight",
        "notes": [],
        "max_staleness": None,
        "certificate": None,
        "coverage": {"statements": 1, "judged": 1, "observed": 1, "unjudged": [], "filtered": 0},
        "levels": None,
        "nearly": None,
    }


def test_violation(run: Any, tmp_path: Path) -> None:
    ended = run("audit", "--format", "json", "--isolation", "strict-snapshot", str(FIG_1.write(tmp_path)))
    assert (ended.status, ended.err) == (1, "")
    found = ended.json
    assert set(found) == KEYS
    assert found["verdict"] == "violation"
    assert found["transactions"] == {"total": 4, "committed": 4, "aborted": 0, "unknown": 0}
    assert (found["verified_prefix"], found["failing_transaction"]) == (2, "t3")
    assert (sorted(found["core"]), found["scope"]) == (["t2", "t3"], "every-order")
    assert found["core_scope"] == "every-order"
    assert found["reason"] is None
    assert (found["anomaly"], found["account"]["anomaly"]) == ("write-conflict", "write-conflict")
    for word in ("t3", "t2", "accounts", "310.00", "410.00"):
        assert word in found["explanation"]


def test_ids_keep_their_kind(run: Any, tmp_path: Path) -> None:
    entries = [HEADER, transaction(id="7", params=[1]), transaction(id=7, params=[1], result=balance("7"))]
    log = write(tmp_path, *entries)
    found = run("audit", "--format", "json", log).json
    assert (found["failing_transaction"], found["core"]) == (7, [7])


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT setval('s', 1)", "setval()"),
        ("SELECT 1 FROM accounts TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"),
        ("SELEC 1", "parser"),
    ],
)
def test_what_is_not_modelled_is_undecided(run: Any, tmp_path: Path, sql: str, word: str) -> None:
    log = write(tmp_path, HEADER, transaction(id="t0", params=[1]), transaction(sql))
    ended = run("audit", "--format", "json", log)
    assert (ended.status, ended.err) == (3, "")
    found = ended.json
    assert set(found) == KEYS
    assert (found["verdict"], found["statement"]) == ("undecided", {"transaction": "t1", "index": 0})
    assert word in found["reason"]
    assert (found["failing_transaction"], found["core"], found["scope"]) == (None, None, None)


def test_a_violation_before_what_is_not_modelled(run: Any, tmp_path: Path) -> None:
    wrong = transaction(id="t0", params=[1], result=balance("7"), start=0, commit=1)
    log = write(tmp_path, HEADER, wrong, transaction("SELECT setval('s', 1)", start=2, commit=3))
    # what was not modelled may have come first, and written anything
    assert run("audit", log).status == 3
    for option in ("--order=recorded", "--isolation=strict-serializable"):
        ended = run("audit", "--format", "json", option, log)
        assert (ended.status, ended.json["failing_transaction"]) == (1, "t0")


def test_an_unmodelled_schema_is_undecided(run: Any, tmp_path: Path) -> None:
    header = {**HEADER, "schema": ["CREATE TABLE accounts (id MONEY)"], "initial": {}}
    ended = run("audit", "--format", "json", write(tmp_path, header, transaction(params=[1])))
    assert (ended.status, ended.json["verdict"]) == (3, "undecided")
    assert "MONEY" in ended.json["reason"]
    del header["isolation"]
    assert run("audit", write(tmp_path, header, transaction(params=[1]))).status == 2


def test_a_time_limit_is_undecided(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, *(transaction(id=n, params=[1]) for n in range(2000)))
    ended = run("audit", "--format", "json", "--timeout", "0.000001", log)
    assert (ended.status, ended.json["verdict"]) == (3, "undecided")
    assert "time" in ended.json["reason"]


def test_bad_input_wins_over_a_time_limit_and_over_what_is_not_modelled(run: Any, tmp_path: Path) -> None:
    bad = transaction(id="bad", params=["x"])
    log = write(tmp_path, HEADER, transaction("SELECT setval('s', 1)"), bad)
    assert run("audit", "--timeout", "0.000001", log).status == 2
    assert run("audit", log).status == 2


def test_what_aborted_transactions_read_is_judged_at_profiles_but_for_a_bound_order(run: Any, tmp_path: Path) -> None:
    lost = transaction(id="t2", params=[1], result=balance("7.00"), status="aborted")
    log = write(tmp_path, HEADER, GOOD, lost)
    profile = ("audit", "--format", "json", "--isolation", "postgres:repeatable-read")
    judged = run(*profile, log)
    assert (judged.status, judged.json["failing_transaction"], judged.json["verified_prefix"]) == (1, "t2", 1)
    told = run(*profile, "--order", "recorded", log)
    assert (told.status, told.json["notes"]) == (0, ["what the aborted transaction 't2' read was not judged"])
    assert run("audit", "--format", "json", log).json["notes"] == []


# --- where logs come from ---------------------------------------------------------------------------------------------


def test_gzip_segments_and_standard_input(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = transaction("UPDATE accounts SET balance = balance + 1 WHERE id = 1", id="t0", affected=1, commit=1)
    see = transaction(id="t1", params=[1], result=balance("101.00"), commit=2)
    whole = write(tmp_path, HEADER, add, see)
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(whole).read_bytes()))
    first, second = write(tmp_path, HEADER, add, name="a"), write(tmp_path, HEADER, see, name="b")
    for logs in ([whole], [str(packed)], [first, second], [second, first]):
        ended = run("audit", "--format", "json", *logs)
        assert (ended.status, ended.json["verified_prefix"]) == (0, 2), logs
    assert run("audit", second).status == 1
    for content in (Path(whole).read_bytes(), packed.read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run("audit", "--format", "json", "-").json["verified_prefix"] == 2
    packed.write_bytes(packed.read_bytes()[:-20])
    refused(run("audit", str(packed)), "log.jsonl.gz")


def test_the_order_can_be_bound(run: Any, tmp_path: Path) -> None:
    see = transaction(params=[1], result=balance("101.00"), commit=1)
    add = transaction("UPDATE accounts SET balance = balance + 1 WHERE id = 1", id="t0", commit=2)
    log = write(tmp_path, HEADER, see, add)
    assert run("audit", log).status == 0
    ended = run("audit", "--format", "json", "--order", "recorded", log)
    assert (ended.status, ended.json["scope"]) == (1, "recorded-order")


@pytest.mark.parametrize(
    "switch",
    ["--no-indexing", "--window=0", "--window=1", "--no-concretization", "--no-stronger-first", "--no-straight"],
)
def test_heuristics_do_not_change_verdicts(run: Any, tmp_path: Path, switch: str) -> None:
    log = str(FIG_1.write(tmp_path))
    assert run("audit", switch, "--isolation", "strict-snapshot", log).status == 1
    assert run("audit", switch, "--isolation", "read-committed", log).status == 0


# --- witnesses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["snapshot", "read-committed", "serializable"])
def test_a_witness_is_checked(run: Any, tmp_path: Path, level: str) -> None:
    log, witness = str(FIG_1.write(tmp_path)), tmp_path / "w.json"
    assert run("audit", "--isolation", level, "--witness", str(witness), log).status == 0
    ended = run("verify", log, str(witness))
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == f"verified at {level}: the witness explains all 4 committed transactions\n"
    good = json.loads(witness.read_text(encoding="utf-8"))
    tampered = [good | {"order": good["order"][:-1], "views": good["views"][:-1]}]
    views = [dict(view) for view in good["views"]]
    place = good["order"].index("t4")
    views[place] = {"state": 0}
    tampered += [good | {"views": views}]
    for other in tampered:
        witness.write_text(json.dumps(other), encoding="utf-8")
        ended = run("verify", log, str(witness))
        assert (ended.status, ended.err) == (1, "")
        assert "refused" in ended.out
    witness.write_text(json.dumps(good)[:-10], encoding="utf-8")
    refused(run("verify", log, str(witness)), "w.json")


def test_a_witness_of_another_log(run: Any, tmp_path: Path) -> None:
    witness = str(tmp_path / "w.json")
    assert run("audit", "--witness", witness, write(tmp_path, HEADER, GOOD)).status == 0
    ended = run("verify", write(tmp_path, HEADER, GOOD | {"session": "a"}), witness)
    assert ended.status in (1, 2)
    assert "log" in ended.out + ended.err


def test_a_violation_leaves_no_witness(run: Any, tmp_path: Path) -> None:
    witness = tmp_path / "w.json"
    log = str(FIG_1.write(tmp_path))
    assert run("audit", "--isolation", "strict-snapshot", "--witness", str(witness), log).status == 1
    assert not witness.exists()


def test_verifying_needs_no_solver(run: Any, tmp_path: Path) -> None:
    log, witness = str(FIG_1.write(tmp_path)), str(tmp_path / "w.json")
    assert run("audit", "--isolation", "snapshot", "--witness", witness, log).status == 0
    script = (
        "import sys\nfrom troubadour.cli.main import main\n"
        "try:\n    main(['verify', *sys.argv[1:]])\n"
        "finally:\n    print(sorted(m for m in sys.modules if m.split('.')[0] == 'z3' or 'solver' in m))"
    )
    ended = subprocess.run([sys.executable, "-c", script, log, witness], capture_output=True, check=False, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "[]"


# --- how old a state is read ------------------------------------------------------------------------------------------


def _stale(folder: Path) -> str:
    """Four writers of account 1, one after another, and then a reader of what the second one left."""
    write_one = "UPDATE accounts SET balance = balance + 1 WHERE id = 1"
    writers = [transaction(write_one, f"w{n}", commit=n) for n in range(1, 5)]
    reader = transaction(READ, "r", commit=5, params=[1], result=balance("102.00"))
    return write(folder, HEADER, *writers, reader)


def test_a_read_of_a_state_that_as_many_commits_have_followed_as_are_allowed_is_correct(
    run: Any, tmp_path: Path
) -> None:
    log = _stale(tmp_path)
    ended = run("audit", "--order", "recorded", "--max-staleness", "2", "--format", "json", log)
    assert (ended.status, ended.json["verdict"], ended.json["max_staleness"]) == (0, "correct", 2)
    assert run("audit", "--order", "recorded", log).status == 0


def test_a_violation_by_what_is_assumed_of_staleness_says_so(run: Any, tmp_path: Path) -> None:
    log = _stale(tmp_path)
    ended = run("audit", "--order", "recorded", "--max-staleness", "1", "--format", "json", log)
    assert (ended.status, ended.json["verdict"], ended.json["scope"]) == (1, "violation", "bounded-staleness")
    assert (ended.json["failing_transaction"], ended.json["max_staleness"]) == ("r", 1)
    assert "more than 1 transactions had followed" in ended.json["explanation"]
    text = run("audit", "--order", "recorded", "--max-staleness", "1", log).out
    assert "nothing reads a state that more than 1 transactions have followed" in " ".join(text.split())
    assert "older ones were not looked at" in " ".join(text.split())


def test_what_no_state_explains_is_a_violation_whatever_is_assumed_of_staleness(run: Any, tmp_path: Path) -> None:
    reader = transaction(READ, "r", commit=5, params=[1], result=balance("77.00"))
    writers = [transaction("UPDATE accounts SET balance = 7 WHERE id = 1", f"w{n}", commit=n) for n in range(1, 5)]
    log = write(tmp_path, HEADER, *writers, reader)
    ended = run("audit", "--max-staleness", "1", "--format", "json", log)
    assert (ended.status, ended.json["scope"]) == (1, "every-order")
    assert run("audit", "--max-staleness", "-1", log).status == 2


def test_a_witness_is_checked_at_the_level_asked_for(run: Any, tmp_path: Path) -> None:
    witness = str(tmp_path / "w.json")
    log = write(tmp_path, HEADER, GOOD)
    assert run("audit", "--witness", witness, log).status == 0
    ended = run("verify", "--isolation", "serializable", log, witness)
    assert (ended.status, ended.out.split(":")[0]) == (0, "verified at serializable")
    skew = read_case((CASES / "anomalies/write-skew.case").read_text(encoding="utf-8"), "write-skew")
    log = write(tmp_path, *(f"{line}\n" for line in skew.lines()), name="skew.jsonl")
    assert run("audit", "--isolation", "snapshot", "--witness", witness, log).status == 0
    assert run("verify", log, witness).status == 0
    assert run("verify", "--isolation", "serializable", log, witness).status == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(run: Any, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = run("completion", shell)
    assert ended.status == 0
    assert "_TROUBADOUR_COMPLETE" in ended.out
    monkeypatch.setenv("_TROUBADOUR_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "troubadour log an")
    monkeypatch.setenv("COMP_CWORD", "an" if shell == "fish" else "2")
    assert "anonymize" in run().out
