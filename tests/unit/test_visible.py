"""No control character of a log reaches a terminal, a report or a script; JSON says exactly what the log does."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.unit.commands import HEADER, transaction, write
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.visible import one_line, visible, visible_styled
from troubadour.report.text import render_text

ESCAPES = Path(__file__).parents[2] / "logs" / "strangers-3" / "escapes-in-values.jsonl"
STEERING = "\x1b[31m \x1b]0;title\x07 \x9b31m \u202e \u2066 \u200b \ufeff \x7f \x08 \r \u2028 \U000e0041"


def hidden(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"}


def log(folder: Path) -> str:
    """Names, statements, parameters, answers, constructs and a schema with all of it."""
    header = {
        **HEADER,
        "schema": ["CREATE TABLE notes (id INT PRIMARY KEY, body TEXT NOT NULL)"],
        "initial": {"notes": {"columns": ["id", "body"], "rows": [[1, "a"]]}},
        "isolation": "postgres:read-committed",
    }
    query = f"SELECT body FROM notes WHERE id = $1 AND body <> 'x{STEERING}' /* {STEERING} */"
    seen = {"columns": [f"body{STEERING}"], "rows": [[f"v{STEERING}"]]}
    first = transaction(query, id=f"t{STEERING}", session=f"s{STEERING}", result=seen)
    first["statements"][0]["params"] = [1]
    other = transaction(f'VACUUM "{STEERING}"', id=f"u{STEERING}")
    return write(folder, header, other, first)


COMMANDS = (
    ("audit",),
    ("audit", "--explain", "brief"),
    ("audit", "--quiet"),
    ("audit", "--format", "json"),
    ("audit", "--strongest"),
    ("audit", "--isolation", STEERING),
    ("log", "show"),
    ("log", "stats"),
    ("log", "validate"),
    ("gate",),
    ("gate", "--format", "json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_control_character_is_printed(run: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    for path in (str(ESCAPES), log(tmp_path), str(tmp_path / f"none{STEERING}.jsonl")):
        ended = run(*command, path)
        assert not hidden(ended.out + ended.err)


def test_no_control_character_is_written(run: Any, tmp_path: Path) -> None:
    names = ("junit.xml", "found.sarif", "found.md", "report.html")
    junit, sarif, markdown, page = (tmp_path / name for name in names)
    for number, path in enumerate((str(ESCAPES), log(tmp_path))):
        artifacts = tmp_path / f"artifacts{number}"
        assert run("gate", path, "--junit", str(junit), "--sarif", str(sarif), "--markdown", str(markdown),
                   "--artifacts", str(artifacts)).status == 1  # fmt: skip
        assert run("audit", path, "--report", str(page), "--reproduce", str(tmp_path / "again")).status == 1
        written = [junit, sarif, markdown, page, *artifacts.rglob("*"), *(tmp_path / "again").rglob("*")]
        for file in written:
            if file.is_file() and file.name != "witness.json":
                assert not hidden(file.read_text(encoding="utf-8")), file
        ElementTree.fromstring(junit.read_text(encoding="utf-8"))
        json.loads(sarif.read_text(encoding="utf-8"))


def test_a_script_says_what_it_does_not_show(run: Any, tmp_path: Path) -> None:
    header = {**HEADER, "schema": ["CREATE TABLE n (id INT PRIMARY KEY, v INT, w TEXT)"], "isolation": "snapshot"}
    header["initial"] = {"n": {"rows": [[1, 0, "x\x1b[31m"]]}}
    entries = [
        transaction(
            "SELECT v FROM n WHERE id = 1", id=id, start=0, commit=commit, result={"columns": ["v"], "rows": [[0]]}
        )
        for id, commit in (("t1", 1), ("t2", 2))
    ]
    for number, entry in enumerate(entries, 1):
        entry["statements"].append({"sql": f"UPDATE n SET v = {number}, w = 'y\u202e' WHERE id = 1", "affected": 1})
    folder = tmp_path / "again"
    assert run("audit", write(tmp_path, header, *entries), "--reproduce", str(folder)).status == 1
    for name in ("script.txt", "finding.spec"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "schedule.json has them" in text.partition("\n")[0]
        assert "'y\\u202e'" in text
        assert not hidden(text)
    steps = json.loads((folder / "schedule.json").read_text(encoding="utf-8"))["steps"]
    assert sum("'y\u202e'" in step["sql"] for step in steps) == 2


def test_colours_are_those_of_the_report_alone() -> None:
    log = read_log([ESCAPES])
    verdict = audit(log, library_of(log), Options(accounts=True))
    coloured = render_text(verdict, log, color=True)
    assert coloured.startswith("\x1b[1;31mVIOLATION")
    assert "\x1b[31mRED" not in coloured
    assert hidden(coloured) == {"\x1b"}
    assert not hidden(re.sub("\x1b\\[[0-9;]*m", "", coloured))


def test_json_is_exact(run: Any) -> None:
    told = run("audit", str(ESCAPES), "--format", "json").json
    assert told["failing_transaction"] == "t\x1b[31mRED\x07"
    assert "'x\x1b[31mred\x9b31m\u202etxt'" in told["explanation"]


def test_within_json_nothing_is_changed() -> None:
    random = Random(1)
    for _ in range(300):
        text = "".join(
            chr(random.choice((random.randrange(0xD800), random.randrange(0xE000, 0x110000)))) for _ in range(9)
        )
        document = json.dumps({text: [text]}, ensure_ascii=False)
        assert json.loads(visible(document)) == {text: [text]}
        assert not hidden(visible(text))
        assert one_line(text).splitlines() == [one_line(text)]


def test_people_keep_their_letters() -> None:
    text = "Zoë, Łódź, שלום, 東京, 🎉, a\u00a0b"
    assert visible(text) == text
    assert visible("a\nb\tc") == "a\nb\tc"
    assert one_line("a\nb\tc\r") == "a\\nb\\tc\\r"
    assert visible_styled("\x1b[1;31mred\x1b[0m \x1b[2J") == "\x1b[1;31mred\x1b[0m \\u001b[2J"
