"""How many single changes of an answer to a statement of applications the audit finds.

    python -m tests.live.typical.changed [--page FILE] [ENGINE ...]

Each statement is recorded by itself on a real server, and audited once for each change of what was answered: a value, a
row that is missing, one that came twice, a count, an error for an answer and the other way round. A changed log is a
violation, or the change is free by design: the value was the server's to choose. Ends with status 1 where a change that
is not free makes a correct log. Does not know the statements.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sql_semantics.ir.walks.effects import draws
from tests.live.applications.page import commit, put
from tests.live.round_trip.cases import Case
from tests.live.round_trip.running import judge, run
from tests.live.typical.cases import PRODUCTS, statements
from troubadour.cli.common import opened
from troubadour.execution.prepared import prepare
from troubadour.formats import read_log
from troubadour.model.log import LogError
from troubadour.record import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

ERRORS = ("23505", "22012", "42P01")
"""Those that are put in the place of an answer: a key's clash, a division by zero, a table that is not there."""
_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE|REPLACE)\b", re.IGNORECASE)
_DIVIDES = re.compile(r"[/%]|\b(mod|div|log)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """One change: its kind, the place in words, the log's lines with it."""

    kind: str
    place: str
    lines: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the audit said of a change. `free`: why it is none that could be found, empty for no reason."""

    case: Case
    kind: str
    place: str
    verdict: str
    said: str
    free: str = ""

    @property
    def caught(self) -> bool:
        """Whether the log is told from a right one: accused, or refused for a value that its column cannot hold."""
        return self.verdict in ("violation", "refused")


def other(value: Any) -> Any:
    """Another value that the same column may hold, as far as the value tells."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"\{[^{}\":]*[^{},\":]\}", value):
        return f"{value[:-1]},{value[1:-1].split(',')[0]}}}"  # an array, with its first item once more
    if isinstance(value, list):
        return value[:-1] if value else [1]
    if isinstance(value, dict):
        return {**value, "changed": 1}
    text = str(value)
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return text[:-1] + str((int(text[-1]) + 1) % 10)
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return f"{int(text[:4]) + 1}{text[4:8]}05{text[10:]}" if text[8:10] != "05" else f"{text[:8]}06{text[10:]}"
    if re.match(r"\d\d:\d\d:\d\d", text):
        return f"{(int(text[:2]) + 1) % 24:02}{text[2:]}"
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return text[:-1] + ("0" if text[-1] != "0" else "1")
    if text.startswith(("{", "[", '"')):
        try:
            return json.dumps(other(json.loads(text)))
        except ValueError:
            return text
    if text.startswith("\\x"):
        return text + "00"
    return text + "x"


def changes(lines: list[dict[str, Any]]) -> Iterator[Change]:
    """Every single change of an answer in a log."""
    for number, line in enumerate(lines):
        if line.get("kind", "transaction") != "transaction":
            continue  # an intent, which the line of its transaction replaces
        for index, statement in enumerate(line.get("statements", ())):
            for kind, place, changed in _changed(statement):
                log = deepcopy(lines)
                log[number]["statements"][index] = changed
                if kind == "error for an answer" and len(line["statements"]) == 1 and line["status"] == "committed":
                    log[number]["status"] = "aborted"
                yield Change(kind, place, log)


def _changed(statement: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    rows = statement.get("result", {}).get("rows", [])
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if (new := other(value)) != value:
                changed = deepcopy(statement)
                changed["result"]["rows"][r][c] = new
                yield "value", f"row {r + 1}, column {c + 1}: {value!r} becomes {new!r}", changed
        for kind, kept in (("row missing", rows[:r] + rows[r + 1 :]), ("row twice", rows[: r + 1] + rows[r:])):
            changed = deepcopy(statement)
            changed["result"]["rows"] = kept
            yield kind, f"row {r + 1}", changed
    if "affected" in statement:
        for count in {statement["affected"] + 1, abs(statement["affected"] - 1)}:
            yield "count", f"{statement['affected']} becomes {count}", {**statement, "affected": count}
    if "error" in statement:
        kept = {key: value for key, value in statement.items() if key != "error"}
        yield "answer for an error", statement["error"]["sqlstate"], {**kept, "affected": 1}
    else:
        kept = {key: value for key, value in statement.items() if key not in ("result", "affected", "results")}
        for state in ERRORS:
            yield "error for an answer", state, {**kept, "error": {"sqlstate": state, "message": "changed"}}


def measure(case: Case, folder: Path, addresses: dict[str, str]) -> tuple[str, list[Judged]]:
    """The verdict of the log as it was recorded, and of each change of it; nothing of a log that is not correct."""
    ended = run(case, folder, addresses)
    if ended.verdict != "correct":
        return ended.verdict, []
    recorded = folder / "run.jsonl"
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    log, library = opened(read_log([recorded]), None)
    programs = [one.program for part in log.transactions for one in prepare(part, library).statements]
    chooses = any(program is not None and draws(program.statement, library.catalog) for program in programs)
    judged = []
    changed = folder / "changed.jsonl"
    for change in changes(lines):
        changed.write_text("".join(f"{json.dumps(line)}\n" for line in change.lines))
        try:
            ended = judge(case, changed)
            verdict, said = ended.verdict, ended.said
        except LogError as error:
            verdict, said = "refused", str(error)
        free = _free(case, change, chooses=chooses) if verdict == "correct" else ""
        judged.append(Judged(case, change.kind, change.place, verdict, said, free))
    return "correct", judged


def _free(case: Case, change: Change, *, chooses: bool) -> str:
    """Why a change is free by design (docs/transactions.md), by the statement's text; empty for no reason."""
    sql = case.recorded[0].sql
    if change.kind == "error for an answer":
        if change.place.startswith("42"):
            return "a text refused for another role or search path"
        if change.place == "23505" and _WRITES.search(sql):
            return "a key's clash with a row that came and went"
        return "an error that other rows explain" if change.place == "22012" and _DIVIDES.search(sql) else ""
    if change.kind == "value" and chooses:
        return "a value that the server chooses"
    return "a row that another transaction may have locked" if "SKIP LOCKED" in sql and "row" in change.kind else ""


def table(found: dict[str, list[Judged]], at: str) -> list[str]:
    """The figures as Markdown."""
    lines = [
        f"Measured at commit `{at}`.",
        "",
        "| engine | change | changes | free by design | caught | of the others |",
    ]
    lines.append("|---|---|---:|---:|---:|---:|")
    for engine, judged in found.items():
        for kind in (*dict.fromkeys(one.kind for one in judged), "all"):
            of_it = [one for one in judged if kind in (one.kind, "all")]
            free, caught = sum(bool(one.free) for one in of_it), sum(one.caught for one in of_it)
            share = f"{caught / (len(of_it) - free):.1%}" if len(of_it) > free else "-"
            lines.append(f"| {PRODUCTS[engine]} | {kind} | {len(of_it)} | {free} | {caught} | {share} |")
    why = Counter(one.free for judged in found.values() for one in judged if one.free)
    told = "; ".join(f"{reason} ({count})" for reason, count in why.most_common())
    lines += ["", *textwrap.wrap(f"Free by design: {told}.", 98)]
    return lines


@click.command(help=__doc__)
@click.argument("engines", nargs=-1)
@click.option("--page", type=click.Path(path_type=Path), help="The page whose table is written anew.")
def main(engines: tuple[str, ...], page: Path | None) -> None:
    """Measure, and write the figures."""
    with ExitStack() as stack:
        addresses = {"postgres": stack.enter_context(EmbeddedPostgres()).dsn}
        if "postgres" not in engines or len(engines) > 1:
            addresses["mysql"] = stack.enter_context(PrivateMariaDB()).dsn
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = {
            engine: [one for case in statements(engine) for one in measure(case, folder, addresses)[1]]
            for engine in engines or PRODUCTS
        }
    lines = table(found, commit())
    click.echo("\n".join(lines))
    if page is not None:
        put(page, "changed", lines)
    missed = [one for judged in found.values() for one in judged if not one.caught and not one.free]
    for one in missed:
        click.echo(f"{one.case.name}: {one.kind}, {one.place}: {one.verdict} {one.said}", err=True)
    sys.exit(any(one.verdict == "correct" for one in missed))


if __name__ == "__main__":
    main()
