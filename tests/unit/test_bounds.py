"""Whatever the log, an audit under bounds ends in time and memory with one answer."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlglot import tokenizer_core

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.unit.commands import GOOD, HEADER, measured, refused, write
from troubadour.audit import searched
from troubadour.cli.auditing.audit import Request
from troubadour.formats import read_log, text
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import LogError
from troubadour.search.postponed import Late
from troubadour.search.schedule.execute import Failure
from troubadour.search.scheduler import Search

MAIN = [sys.executable, "-c", "from troubadour.cli.main import main; main()"]
SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v NUMERIC, s TEXT)"
ROWS = {"t": {"columns": ["id", "v", "s"], "rows": [[i, str(i), "a" * 30] for i in range(1000)]}}
DEEP = 10_000


def log_of(folder: Path, *statements: str, dialect: str = "postgres", **header: Any) -> str:
    """A log of one transaction."""
    first = {"format": "troubadour-log", "version": 1, "dialect": dialect, "isolation": "serializable"}
    transaction = {"id": "t1", "status": "committed", "statements": [{"sql": sql} for sql in statements]}
    return write(folder, {**first, "schema": [SCHEMA], **header}, transaction)


def audit(*arguments: str) -> tuple[int, dict[str, Any], float, int]:
    """Exit status, object, processor seconds and MiB of the largest process."""
    ended = measured(*MAIN, "audit", "--format", "json", *arguments)
    assert "Traceback" not in ended.err, ended.err
    return ended.status, json.loads(ended.out) if ended.out else {}, ended.seconds, ended.largest


ENDLESS = {
    "joins": (["SELECT count(*) FROM t a, t b, t c WHERE a.v + b.v = c.v - 1"], {"initial": ROWS}),
    "loop": (
        ["CALL p()"],
        {
            "procedures": ["CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN WHILE true LOOP UPDATE t SET v = v + 1; "
                           "END LOOP; END $$"],
            "initial": ROWS,
        },
    ),
    "recursion": (["WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"], {}),
    "regular expression": (["SELECT repeat('a', 9000) ~ 'a*a*a*a*a*a*b'"], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_the_time_limit_holds(name: str, tmp_path: Path) -> None:
    statements, header = ENDLESS[name]
    status, found, seconds, _ = audit("--timeout", "1", log_of(tmp_path, *statements, **header))
    assert (status, found["verdict"]) == (3, "undecided")
    assert "limit" in found["reason"] or "not modelled" in found["reason"]
    assert seconds < 1 + 3


def test_the_memory_limit_holds(tmp_path: Path) -> None:
    doubling = ["UPDATE t SET s = s || s"] * 60
    status, found, _, largest = audit("--memory", "256", log_of(tmp_path, *doubling, initial=ROWS))
    assert (status, found["verdict"]) == (3, "undecided")
    assert found["reason"] == "the memory limit of 256 MiB was reached"
    assert found["transactions"]["total"] == 1
    assert largest <= 282


def test_less_memory_than_any_audit_needs(tmp_path: Path) -> None:
    status, found, _, _ = audit("--memory", "1", write(tmp_path, HEADER, GOOD))
    assert (status, found["reason"]) == (3, "the memory limit of 1 MiB was reached")
    assert found["notes"] == ["the log was not read to its end"]


def test_bounds_that_are_not_reached_change_nothing(tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    _, plain, _, _ = audit(log)
    _, bounded, _, _ = audit("--timeout", "600", "--memory", "4096", log)
    assert {**plain, "seconds": 0} == {**bounded, "seconds": 0}


def test_what_cannot_be_used_is_said_under_bounds(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*MAIN, "audit", "--timeout", "60", str(tmp_path / "none.jsonl")], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1


def test_an_interrupt_ends_both_processes() -> None:
    script = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + MAIN[-1]
    waiting = subprocess.Popen(
        [sys.executable, "-c", script, "audit", "--timeout", "60", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with waiting:
        assert waiting.stdin is not None
        children = Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children")
        if not children.exists():
            pytest.skip("this system does not list a process's children")
        while not (found := children.read_text().split()):
            time.sleep(0.01)
        time.sleep(0.2)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait() == 130
        assert not os.path.exists(f"/proc/{found[0]}")


def test_a_crash_is_undecided(tmp_path: Path) -> None:
    script = (
        "import os, signal, troubadour.cli.auditing.audit as audit\n"
        "audit.load_either = lambda paths, **options: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "from troubadour.cli.main import main\n"
        f"main(['audit', '--format', 'json', '--timeout', '60', {write(tmp_path, HEADER, GOOD)!r}])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert json.loads(ended.stdout)["reason"] == "the process of the audit crashed (SIGSEGV)"


def test_a_limit_that_is_reached_while_a_class_is_made(tmp_path: Path) -> None:
    """The interpreter puts an error of its own in the place of what is raised there."""
    script = (
        "import time, troubadour.cli.auditing.audit as audit\n"
        "class Slow:\n"
        "    def __set_name__(self, owner, name):\n"
        "        time.sleep(30)\n"
        "audit.load_either = lambda paths, **options: type('Made', (), {'slow': Slow()})\n"
        "from troubadour.cli.main import main\n"
        f"main(['audit', '--format', 'json', '--timeout', '0.2', {write(tmp_path, HEADER, GOOD)!r}])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert "time" in json.loads(ended.stdout)["reason"]


def test_a_line_without_end(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))
    for path in (str(bomb), "/dev/zero"):
        ended = subprocess.run([*MAIN, "audit", path], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "a line of more than 256 MiB" in ended.stderr


NESTED = {
    "parentheses": "SELECT " + "(" * DEEP + "1" + ")" * DEEP,
    "not": "SELECT id FROM t WHERE " + "NOT " * DEEP + "true",
    "signs": "SELECT " + "- " * DEEP + "1",
    "subqueries": "SELECT id FROM t WHERE id = " + "(SELECT " * DEEP + "1" + ")" * DEEP,
    "tables": "SELECT 1 FROM " + "(SELECT id FROM " * DEEP + "t" + ") x" * DEEP,
    "with": "WITH c0 AS (SELECT 1 AS i)"
    + "".join(f", c{n} AS (SELECT i FROM c{n - 1})" for n in range(1, DEEP))
    + f" SELECT i FROM c{DEEP - 1}",
    "joins": "SELECT 1 FROM t t0" + "".join(f" JOIN t t{n} ON t{n}.id = t0.id" for n in range(1, DEEP)),
    "union": " UNION ALL ".join(["SELECT 1"] * DEEP),
    "or": "SELECT id FROM t WHERE " + " OR ".join(f"id = {n}" for n in range(DEEP)),
    "sum": "SELECT " + " + ".join(["1"] * DEEP),
    "case": "SELECT " + "CASE WHEN true THEN " * DEEP + "1" + " END" * DEEP,
    "functions": "SELECT " + "abs(" * DEEP + "1" + ")" * DEEP,
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_too_deeply_is_refused(name: str) -> None:
    with pytest.raises(Unsupported, match=r"nested too deeply|more than"):
        SqlLibrary(Dialect("postgres"), [SCHEMA]).program(NESTED[name])


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("mysql", "BEGIN " * DEEP + "SELECT 1; " + "END; " * (DEEP - 1) + "END"),
        ("mysql", "BEGIN " + "IF 1 = 1 THEN " * DEEP + "UPDATE t SET v = 1; " + "END IF; " * DEEP + "END"),
    ],
)
def test_routines_nested_too_deeply_are_refused(dialect: str, body: str) -> None:
    with pytest.raises(Unsupported, match="nested too deeply"):
        SqlLibrary(Dialect(dialect), [SCHEMA], [f"CREATE PROCEDURE p() {body}"]).program("CALL p()")


def processor(sql: str, shape: Sequence[Any] | None = None) -> float:
    """Seconds that binding and compiling take, the least of three."""
    library = SqlLibrary(Dialect("postgres"), [SCHEMA])
    library.program("SELECT id FROM t WHERE id IN (1, 2)")
    spent = []
    for turn in range(3):
        begun = time.process_time()
        library.program(f"{sql} -- {turn}", None if shape is None else tuple(shape))
        spent.append(time.process_time() - begun)
    return min(spent)


LONG = {
    "insert": lambda n: "INSERT INTO t (id) VALUES " + ", ".join(f"({i})" for i in range(n)),
    "in": lambda n: "SELECT id FROM t WHERE id IN (" + ", ".join(map(str, range(n))) + ")",
    "in with an expression": lambda n: (
        "SELECT id FROM t WHERE s IN (lower('A'), " + ", ".join(f"'a{i}'" for i in range(n)) + ")"
    ),
}


@pytest.mark.parametrize(
    "form", ["INSERT INTO t (id) VALUES {}", "SELECT id FROM t WHERE id IN ({})"], ids=["insert", "in"]
)
def test_time_grows_linearly_with_parameters(form: str) -> None:
    def seconds(count: int) -> float:
        places = ", ".join(["(%s)" if "VALUES" in form else "%s"] * count)
        return processor(form.format(places), [Kind.INT] * count)

    assert seconds(8000) < 12 * seconds(2000) + 0.05


@pytest.mark.parametrize("name", LONG)
def test_time_grows_linearly_with_a_statements_text(name: str) -> None:
    make = LONG[name]
    assert processor(make(4000)) < 12 * processor(make(1000)) + 0.05


def test_no_memory_for_a_frame(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.11 raises a SystemError that has no cause; without a limit that is a fault."""

    def decide(*_: Any) -> None:
        raise SystemError("error return without exception set")

    monkeypatch.setattr(Request, "_decide", decide)
    log = str(write(tmp_path, HEADER, GOOD))
    limited = run("audit", "--memory", "4096", log)
    assert limited.status == 3 and "the memory limit of 4,096 MiB was reached" in limited.out
    with pytest.raises(SystemError):
        run("audit", log)


def test_a_time_limit_says_at_what_the_search_stood(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it strikes in the search or in what is asked after it."""

    def strikes(*_: Any) -> None:
        raise OutOfTime

    def by_executions(*_: Any) -> None:
        monkeypatch.setattr(searched, "by_executions", strikes)

    monkeypatch.setattr(searched, "blame", lambda *_: None)
    monkeypatch.setattr(searched, "by_executions", by_executions)
    monkeypatch.setattr(Search, "_is_mended_nearby", strikes)
    ended = run(
        "audit",
        str(Path(__file__).parents[2] / "logs" / "anomalies" / "lost-update.jsonl"),
        "--isolation",
        "serializable",
    )
    said = " ".join(ended.out.split())
    assert ended.status == 3 and "stopped by the time limit was reached at transaction 't2': " in said, ended


def test_a_time_limit_blames_nothing_that_was_mended(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def strikes(*_: Any) -> None:
        raise OutOfTime

    monkeypatch.setattr(searched, "blame", lambda *_: None)
    monkeypatch.setattr(Search, "_is_mended_nearby", lambda *_: True)
    monkeypatch.setattr(Late, "place", strikes)
    log = str(Path(__file__).parents[2] / "logs" / "anomalies" / "lost-update.jsonl")
    monkeypatch.setattr(Search, "_placed_tightly", lambda _, item: Failure(item, "observation", "told"))
    ended = run("audit", log, "--isolation", "serializable")
    said = " ".join(ended.out.split())
    assert ended.status == 3 and "the time limit was reached" in said and "told" not in said, ended


@pytest.mark.skipif(not tokenizer_core.__file__.endswith(".py"), reason="sqlglot is compiled: nothing can be put in")
@pytest.mark.parametrize("stopped", [OutOfTime, MemoryError])
def test_a_limit_reached_in_the_tokenizer_is_no_fault_of_the_text(
    stopped: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokenizer takes every Exception for an unreadable text."""
    library = SqlLibrary(Dialect("postgres"), [SCHEMA])

    def scan(*_: Any) -> None:
        raise stopped

    monkeypatch.setattr("sqlglot.tokenizer_core.TokenizerCore._scan", scan)
    with pytest.raises(stopped):
        library.program("SELECT id FROM t")


def bomb(path: Path, beginning: bytes, filling: bytes, mebibytes: int) -> Path:
    """A small file that unpacks to so much."""
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(beginning)
        block = filling * ((1 << 20) // len(filling))
        for _ in range(mebibytes):
            file.write(block)
    return path


@pytest.mark.parametrize(
    ("beginning", "filling"), [(b"", b" "), (b'{"format":"troubadour-witness","order":[', b'"a",'), (b"", b"[")]
)
def test_a_witness_that_unpacks_to_too_much_is_refused(
    run: Any, tmp_path: Path, beginning: bytes, filling: bytes
) -> None:
    log = write(tmp_path, HEADER, GOOD)
    packed = bomb(tmp_path / "witness.json.gz", beginning, filling, 80)
    assert packed.stat().st_size < 1 << 19
    ended = run("verify", log, str(packed))
    refused(ended, "more than 64 MiB, which no witness of this log has")


def test_a_log_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "UNPACKED", 1 << 22)
    rows = json.dumps({"kind": "rows", "table": "accounts", "columns": ["id", "balance"], "rows": []}).encode() + b"\n"
    packed = bomb(tmp_path / "log.jsonl.gz", json.dumps(HEADER).encode() + b"\n", rows, 16)
    with pytest.raises(LogError, match="unpacks to more than 100 times its size"):
        read_log([packed])


def test_verify_is_bounded_in_memory_and_time(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    witness = tmp_path / "witness.json"
    assert run("audit", log, "--witness", str(witness)).status == 0
    # the process that is bounded begins with what this one holds, after many tests more than a gigabyte
    assert run("verify", log, str(witness), "--memory", "8000", "--timeout", "60").status == 0
    # 60 MiB of views are a gigabyte of objects
    heavy = tmp_path / "heavy.json"
    beginning = b'{"format":"troubadour-witness","version":1,"log":"x","isolation":null,"order":[],"views":['
    heavy.write_bytes(beginning + b"{}," * (20 << 20) + b"{}]}")
    refused(run("verify", log, str(heavy), "--memory", "300"), "the memory limit of 300 MiB was reached")
