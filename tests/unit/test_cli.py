"""The command line, end to end (CONTRACT §2): exit statuses, what is printed where, and nothing else."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CASES, read_case
from troubadour.cli import main as command
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Header, Log, Transaction
from troubadour.model.verdict import Status, Verdict
from troubadour.report.text import LEVELS as PROMISES
from troubadour.report.text import render_text

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"
HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "snapshot",
    "schema": [ACCOUNTS],
    "initial": {"accounts": {"columns": ["id", "balance"], "rows": [[1, "100.00"], [2, "300.00"]]}},
}
READ = "SELECT balance FROM accounts WHERE id = $1"
KEYS = {
    "verdict",
    "isolation",
    "transactions",
    "verified_prefix",
    "failing_transaction",
    "core",
    "scope",
    "explanation",
    "reason",
    "statement",
    "max_staleness",
    "notes",
    "seconds",
}
FIG_1 = read_case((CASES / "paper/fig-1.case").read_text(encoding="utf-8"), "fig-1")


def transaction(sql: str = READ, id: str | int = "t1", status: str = "committed", **fields: Any) -> dict[str, Any]:
    """A transaction of one statement; what is a statement's field goes there."""
    statement = {"sql": sql}
    for key in ("params", "result", "affected", "error"):
        if key in fields:
            statement[key] = fields.pop(key)
    return {"id": id, "status": status, "statements": [statement], **fields}


def balance(value: Any) -> dict[str, Any]:
    return {"columns": ["balance"], "rows": [[value]]}


def write(folder: Path, *entries: dict[str, Any] | str, name: str = "log.jsonl") -> str:
    """A log; what is text already is written as it is."""
    path = folder / name
    path.write_text("".join(e if isinstance(e, str) else json.dumps(e) + "\n" for e in entries), encoding="utf-8")
    return str(path)


class Ended:
    """How a command ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        (line,) = self.out.splitlines()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, inside this process."""
    monkeypatch.setattr(command.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    def run(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        captured = capsys.readouterr()
        status = ended.value.code
        assert isinstance(status, int)
        return Ended(status, captured.out, captured.err)

    return run


def process(*arguments: str, stdin: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        **options,
    )


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
        "scope": None,
        "explanation": None,
        "reason": None,
        "statement": None,
        "notes": [],
        "max_staleness": None,
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
    assert found["reason"] is None
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
    ended = run("audit", "--format", "json", write(tmp_path, header, transaction()))
    assert (ended.status, ended.json["verdict"]) == (3, "undecided")
    assert "MONEY" in ended.json["reason"]
    del header["isolation"]
    assert run("audit", write(tmp_path, header, transaction())).status == 2


def test_a_time_limit_is_undecided(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, *(transaction(id=n, params=[1]) for n in range(50)))
    ended = run("audit", "--format", "json", "--timeout", "0.000001", log)
    assert (ended.status, ended.json["verdict"]) == (3, "undecided")
    assert "time" in ended.json["reason"]


def test_bad_input_wins_over_a_time_limit_and_over_what_is_not_modelled(run: Any, tmp_path: Path) -> None:
    bad = transaction(id="bad", params=["x"])
    log = write(tmp_path, HEADER, transaction("SELECT setval('s', 1)"), bad)
    assert run("audit", "--timeout", "0.000001", log).status == 2
    assert run("audit", log).status == 2


# --- input that cannot be used ----------------------------------------------------------------------------------------

GOOD = transaction(params=[1], result=balance("100.00"))
BAD: dict[str, tuple[list[dict[str, Any] | str], str]] = {
    "broken JSON": ([HEADER, '{"id": "t1", "status" "committed"}\n', GOOD | {"id": "t2"}], ":2:"),
    "a torn last line": ([HEADER, json.dumps(GOOD)[:40]], "torn"),
    "a repeated id": ([HEADER, GOOD, GOOD], "repeated id"),
    "no header": ([GOOD], ":1:"),
    "an empty file": ([], "empty"),
    "an unknown kind": ([HEADER, {"kind": "transactions"}], "transactions"),
    "an unknown field": ([HEADER, GOOD | {"comit": 3}], "comit"),
    "an end that does not count": ([HEADER, GOOD, {"kind": "end", "transactions": 2}], "end"),
    "an unknown dialect": ([HEADER | {"dialect": "oracle9"}, GOOD], "oracle9"),
    "a table named nowhere": ([HEADER, transaction("SELECT * FROM nosuch")], "nosuch"),
    "a table named nowhere, aborted": ([HEADER, transaction("SELECT * FROM nosuch", status="aborted")], "nosuch"),
    "initial rows of no table": ([HEADER | {"initial": {"nosuch": {"rows": [[1]]}}}, GOOD], "nosuch"),
    "a parameter that does not fit": ([HEADER, transaction(params=["x"])], "'x'"),
    "a parameter out of range": ([HEADER, transaction(params=[10**30])], "range"),
    "a result that does not fit": ([HEADER, transaction(params=[1], result=balance("abc"))], "'abc'"),
    "a result of no scalar": ([HEADER, transaction(params=[1], result=balance([1]))], "t1"),
    "a row too wide": ([HEADER, transaction(params=[1], result={"columns": ["a"], "rows": [[1, 2]]})], "row 1"),
    "initial rows that do not fit": ([HEADER | {"initial": {"accounts": {"rows": [["x", "1.00"]]}}}, GOOD], "'x'"),
    "more initial rows that do not fit": (
        [HEADER, {"kind": "rows", "table": "accounts", "columns": ["id", "balance"], "rows": [[3, "abc"]]}, GOOD],
        "'abc'",
    ),
    "a schema that is no SQL": ([HEADER | {"schema": ["garbage"], "initial": {}}, GOOD], "schema"),
    "a schema that breaks off": ([HEADER | {"schema": ["CREATE TABLE x ("], "initial": {}}, GOOD], "schema"),
    "a schema with a slip": ([HEADER | {"schema": ["CREATE TABEL x (id INT)"], "initial": {}}, GOOD], "schema"),
    "a schema that contradicts itself": ([HEADER | {"schema": [ACCOUNTS, ACCOUNTS]}, GOOD], "accounts"),
    "procedures that cannot be read": ([HEADER | {"procedures": ["CREATE PROCEDURE p( BEGIN"]}, GOOD], "procedure"),
    "a procedure over no table": (
        [HEADER | {"procedures": ["CREATE PROCEDURE p() BEGIN SELECT 1 FROM nosuch; END"]}, GOOD],
        "nosuch",
    ),
    "commit before start": ([HEADER, GOOD | {"start": 5, "commit": 4}], "before start"),
    "returned before invoked": ([HEADER, GOOD | {"invoked": 5, "returned": 4}], "before"),
    "no isolation anywhere": ([{k: v for k, v in HEADER.items() if k != "isolation"}, GOOD], "--isolation"),
    "an unknown level in the header": ([HEADER | {"isolation": "sloppy"}, GOOD], "sloppy"),
    "an unknown level of a transaction": ([HEADER, GOOD | {"isolation": "sloppy"}], "sloppy"),
}


def refused(ended: Ended, word: str) -> None:
    assert ended.status == 2, ended.err
    assert ended.out == ""
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.endswith("\n")
    assert "Traceback" not in ended.err
    assert word in ended.err


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("what", BAD)
def test_input_that_cannot_be_used(run: Any, tmp_path: Path, what: str, form: str) -> None:
    entries, word = BAD[what]
    refused(run("audit", "--format", form, write(tmp_path, *entries)), word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["audit", "nosuch.jsonl"], "nosuch.jsonl"),
        (["audit", "."], "directory"),
        (["audit"], "LOG"),
        (["audit", "--isolation", "sloppy", "LOG"], "sloppy"),
        (["audit", "--order", "sloppy", "LOG"], "sloppy"),
        (["audit", "--format", "xml", "LOG"], "xml"),
        (["audit", "--timeout", "0", "LOG"], "timeout"),
        (["audit", "--timeout", "soon", "LOG"], "soon"),
        (["audit", "--nosuch", "LOG"], "--nosuch"),
        (["audit", "--witness", "nosuch/w.json", "LOG"], "nosuch/w.json"),
        (["audit", "--witness", "LOG", "LOG"], "is the log"),
        (["audit", "LOG", "LOG"], "repeated id"),
        (["verify", "LOG"], "witness"),
        (["verify", "LOG", "nosuch.json"], "nosuch.json"),
        (["verify", "LOG", "LOG"], "log.jsonl"),
        (["nosuch"], "nosuch"),
        (["record", "bank"], "--out"),
    ],
)
def test_options_that_cannot_be_used(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log = write(tmp_path, HEADER, GOOD)
    refused(run(*(log if argument == "LOG" else argument for argument in arguments)), word)


def test_an_isolation_named_by_hand_overrides_all(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, {**HEADER, "isolation": "sloppy"}, GOOD | {"isolation": "slack"})
    ended = run("audit", "--format", "json", "--isolation", "serializable", log)
    assert (ended.status, ended.json["isolation"]) == (0, "serializable")


def test_an_observed_error_is_no_bad_input(run: Any, tmp_path: Path) -> None:
    failed = transaction("SELEC 1 FROM nosuch", status="aborted", error={"sqlstate": "42601"})
    assert run("audit", write(tmp_path, HEADER, failed)).status == 0


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
    "switch", ["--no-indexing", "--window=0", "--window=1", "--no-concretization", "--no-stronger-first"]
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


# --- what people see --------------------------------------------------------------------------------------------------


def test_every_level_is_explained() -> None:
    assert set(PROMISES) == set(LEVELS)


def test_text_of_a_correct_log(run: Any, tmp_path: Path) -> None:
    ended = run("audit", write(tmp_path, HEADER, GOOD))
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("CORRECT at snapshot\n")
    assert "all 1 committed" in ended.out
    assert PROMISES["snapshot"][:30] in ended.out
    assert "\x1b" not in ended.out


def test_text_of_a_violation_shows_the_transactions_that_clash(run: Any, tmp_path: Path) -> None:
    ended = run("audit", "--isolation", "strict-snapshot", str(FIG_1.write(tmp_path)))
    assert ended.status == 1
    assert ended.out.startswith("VIOLATION at strict-snapshot\n")
    lines = [line.strip() for line in ended.out.splitlines()]
    assert lines[-5:] == [
        "t2, t3 contradict each other, whatever the others wrote:",
        "t2  (start 2, commit 4)",
        "CALL Deposit(2, 100)",
        "t3  (start 3, commit 5)",
        "CALL Transfer(1, 2, 10)",
    ]
    assert "the first 2 of 4 committed" in ended.out


def test_text_says_where_other_orders_were_not_excluded(run: Any, tmp_path: Path) -> None:
    see = transaction(params=[1], result=balance("101.00"), commit=1)
    add = transaction("UPDATE accounts SET balance = balance + 1 WHERE id = 1", id="t0", commit=2)
    out = run("audit", "--order", "recorded", write(tmp_path, HEADER, see, add)).out
    assert "in the order of the log" in " ".join(out.split())
    assert "others were not excluded" in " ".join(out.split())
    assert "t1, the first one" in out


def test_text_of_a_large_core_stays_short() -> None:
    ids = tuple(f"t{number}" for number in range(500))
    header = Header("postgres", ())
    log = Log(header, [Transaction(id, "committed", (), place) for place, id in enumerate(ids)], "")
    verdict = Verdict(Status.VIOLATION, "snapshot", 500, 500, 0, 0, 499, failing_transaction="t499", core=ids)
    text = render_text(verdict, log)
    assert "494 more and t494, t495, t496, t497, t498, t499 contradict each other" in text
    assert len(text.splitlines()) < 20


def test_text_shows_markup_and_long_values_as_they_are(run: Any, tmp_path: Path) -> None:
    entry = transaction(id="[bold]t[/]", params=[1], result=balance("7.00"), session="[red]")
    out = run("audit", write(tmp_path, HEADER, entry)).out
    assert "[bold]t[/]" in out
    assert "session [red]" in out
    assert f'{READ}  [1]  -> ("7.00")' in out


def test_text_of_an_undecided_log(run: Any, tmp_path: Path) -> None:
    ended = run("audit", write(tmp_path, HEADER, transaction("SELECT setval('s', 1)")))
    assert ended.status == 3
    assert ended.out.startswith("UNDECIDED at snapshot\n")
    assert "setval()" in ended.out
    assert "transaction t1" in ended.out


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["verify", "-h"], ["record", "bank", "--help"]])
def test_help(run: Any, arguments: list[str]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.err) == (0, "")
    assert "Usage: troubadour" in ended.out


# --- as a process -----------------------------------------------------------------------------------------------------


def test_a_process_ends_with_the_verdict(tmp_path: Path) -> None:
    content = "".join(line + "\n" for line in FIG_1.lines()).encode()
    ended = process("audit", "--isolation", "strict-snapshot", "--format", "json", "-", stdin=content)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert json.loads(ended.stdout)["failing_transaction"] == "t3"


def test_a_reader_that_went_away_changes_no_verdict(tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", log],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is absent")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", log],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1


def test_an_interrupt_is_no_violation() -> None:
    script = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # also where tests run in background\n"
        "from troubadour.cli.main import main\n"
        "main(['audit', '-'])"
    )
    waiting = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(json.dumps(HEADER).encode() + b"\n")
        waiting.stdin.flush()
        while waiting.poll() is None and unread(
            waiting.stdin.fileno()
        ):  # once the audit has taken the header it waits for more
            time.sleep(0.01)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=60) == command.INTERRUPTED


def unread(pipe: int) -> int:
    """How many bytes written to ``pipe`` nobody has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_fault_is_no_violation(tmp_path: Path) -> None:
    script = (
        "import troubadour.cli.audit as audit\n"
        "def load(paths): raise KeyError('nobody expected this')\n"
        "audit.load = load\n"
        "from troubadour.cli.main import main\nmain(['audit', 'log'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, text=True)
    assert ended.returncode == command.FAULT
    assert "nobody expected this" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("troubadour: this is a fault")
    assert ended.stdout == ""


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
