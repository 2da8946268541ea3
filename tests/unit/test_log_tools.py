"""`troubadour log`: what the tools print and write, and that a smaller or mended log is as right as the whole."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log
from troubadour.formats import read_log

RECORDED = Path(__file__).parents[2] / "logs" / "recorded"
BANK = str(RECORDED / "bank-snapshot-20.jsonl.gz")
SERIALIZABLE = str(RECORDED / "bank-serializable-20.jsonl.gz")


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(log, list(arguments))


def test_stats() -> None:
    printed = ask("stats", BANK).stdout
    assert "2,003 committed, 106 aborted, 0 unknown" in printed
    assert "1,890 UPDATE, 934 SELECT" in printed
    assert "106 40001" in printed


def test_show() -> None:
    one = ask("show", BANK, "--id", "s1-3").stdout.splitlines()
    assert one[0].startswith("s1-3  (session s1")
    assert len(ask("show", BANK, "--session", "s2", "--first", "3").stdout.split("s2-")) == 4
    nobody = ask("show", BANK, "--match", "DROP TABLE")
    assert (nobody.exit_code, nobody.stderr) == (2, "troubadour: no such transaction\n")


def test_validate(tmp_path: Path) -> None:
    assert ask("validate", BANK).stdout == "2,109 transactions, all of them modelled\n"
    lines = gzip.decompress(Path(BANK).read_bytes()).decode().splitlines()
    path = tmp_path / "log.jsonl"
    odd = {"id": "x", "status": "committed", "statements": [{"sql": "SELECT id FROM accounts TABLESAMPLE SYSTEM (1)"}]}
    path.write_text("\n".join([lines[0], json.dumps(odd)]) + "\n")
    found = ask("validate", str(path))
    assert found.exit_code == 3
    assert "first in x, statement 1" in found.stdout


@pytest.mark.parametrize("path", [BANK, SERIALIZABLE])
@pytest.mark.parametrize("number", [1, 57, 300, 1004])
def test_what_is_cut_from_a_correct_log_is_correct(path: str, number: int, tmp_path: Path) -> None:
    out = tmp_path / "cut.jsonl"
    assert ask("cut", path, "--first", str(number), "--out", str(out)).exit_code == 0
    whole, small = read_log([path]), read_log([out])
    assert number <= len(small.transactions) <= number + 8
    kept = {t.id for t in list(whole.transactions)[:number]}
    seeing = {t.id for t in small.transactions if any(s.affected is not None or s.results for s in t.statements)}
    assert seeing <= kept <= {t.id for t in small.transactions}
    verdict = CliRunner().invoke(audit, [str(out)])
    assert verdict.exit_code == 0, verdict.output


def test_cut_of_a_log_without_times_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    header = {"format": "troubadour-log", "version": 1, "dialect": "sqlite", "schema": []}
    lines = [header, *({"id": n, "status": "committed", "statements": []} for n in range(3))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused = ask("cut", str(path), "--first", "1", "--out", str(tmp_path / "cut.jsonl"))
    assert refused.exit_code == 2
    assert not (tmp_path / "cut.jsonl").exists()
    assert ask("cut", str(path), "--first", "3", "--out", str(tmp_path / "cut.jsonl")).exit_code == 0


def segments(folder: Path) -> list[Path]:
    """The bank's log in two segments, with an intent in the first whose transaction is in the second."""
    header, *lines = gzip.decompress(Path(BANK).read_bytes()).decode().splitlines()
    transactions = [line for line in lines if '"kind":"intent"' not in line and '"kind":"end"' not in line]
    first = json.loads(header)
    second = {**first, "initial": {}, "segment": 2}
    del second["initial"]
    intent = {**json.loads(transactions[200]), "kind": "intent", "status": "unknown"}
    for name in ("commit", "returned"):
        intent.pop(name, None)
    intent["end"].pop("returned")
    paths = [folder / "a.jsonl", folder / "b.jsonl"]
    paths[0].write_text("\n".join([header, *transactions[:150], json.dumps(intent)]) + "\n")
    paths[1].write_text("\n".join([json.dumps(second), *transactions[150:400]]) + "\n")
    return paths


def test_merge(tmp_path: Path) -> None:
    names = [str(path) for path in segments(tmp_path)]
    out = tmp_path / "all.jsonl.gz"
    assert ask("merge", *names, "--out", str(out)).stdout == f"{out}: 400 transactions\n"
    before, after = read_log(names), read_log([out])
    assert [t.id for t in before.transactions] == [t.id for t in after.transactions]
    assert b'"kind":"intent"' not in gzip.decompress(out.read_bytes())
    refused = ask("merge", *names, "--out", names[0])
    assert (refused.exit_code, "is one of the logs" in refused.stderr) == (2, True)


@pytest.mark.parametrize("packed", [False, True])
def test_repair_of_a_torn_segment(tmp_path: Path, packed: bool) -> None:
    text = segments(tmp_path)[0].read_bytes()
    path = tmp_path / ("torn.jsonl.gz" if packed else "torn.jsonl")
    path.write_bytes(gzip.compress(text)[:-900] if packed else text[:-300] + b"\0" * 5000)
    assert CliRunner().invoke(audit, [str(path)]).exit_code == 2
    assert "would be mended" in ask("repair", "--dry-run", str(path)).stdout
    assert ask("repair", str(path)).exit_code == 0
    mended = read_log([path])
    assert 100 < len(mended.transactions) < 151
    assert path.with_name(path.name + ".damaged").exists()
    assert "is whole" in ask("repair", str(path)).stdout


def test_repair_keeps_what_stands(tmp_path: Path) -> None:
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes() + b"\0" * 100)
    assert "150 transactions, 1 more of unknown outcome, 100 bytes taken off" in ask("repair", str(path)).stdout
    assert read_log([path]).unknown == 1


def test_repair_mends_nothing_in_the_middle(tmp_path: Path) -> None:
    path = segments(tmp_path)[0]
    lines = path.read_bytes().split(b"\n")
    lines[20] = lines[20][:50]
    path.write_bytes(b"\n".join(lines))
    refused = ask("repair", str(path))
    assert (refused.exit_code, ":21:" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("columns", "exit_code"), [(["id", "a"], 0), (["a"], 2)])
def test_initial_rows_without_what_the_dbms_fills(tmp_path: Path, columns: list[str], exit_code: int) -> None:
    """A column that is given needs no default; one that is not must have one that is known."""
    schema = "CREATE TABLE t (id SERIAL, a INT, twice INT GENERATED ALWAYS AS (a + a) STORED)"
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "snapshot", "schema": [schema],
        "initial": {"t": {"columns": columns, "rows": [[7] * len(columns)]}},
    }  # fmt: skip
    read = {"sql": "SELECT twice FROM t", "result": {"columns": ["twice"], "rows": [[14]]}}
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps(line) + "\n" for line in (header, {"id": 1, "status": "committed", "statements": [read]}))
    )
    verdict = CliRunner().invoke(audit, [str(path)])
    assert verdict.exit_code == exit_code, verdict.output
