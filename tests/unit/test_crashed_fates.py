"""A server that crashed while several were committing: a last session shows which of them happened."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import write
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status

HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "snapshot",
    "schema": [
        "CREATE TABLE entries (id INT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL)",
        "CREATE TABLE totals (account INT PRIMARY KEY, total INT NOT NULL)",
    ],
    "initial": {"totals": {"columns": ["account", "total"], "rows": [[account, 0] for account in range(6)]}},
}
LOOKS = {
    "entries": "SELECT id, account, amount FROM entries ORDER BY id",
    "totals": "SELECT account, total FROM totals ORDER BY account",
}


def crashed(seed: int, looks: tuple[str, ...], *, spoilt: bool = False) -> list[dict[str, Any]]:
    """Deposits one after another; some commits at once that were never answered; deposits again; a last look."""
    draw = random.Random(seed)
    now = 0
    entries: list[list[int]] = []
    lines: list[dict[str, Any]] = []

    def deposit(name: str, session: str, account: int, *, status: str, happened: bool) -> dict[str, Any]:
        nonlocal now
        number, amount = len(lines) + 1, draw.randint(1, 9)
        if happened:
            entries.append([number, account, amount])
        texts = [
            ("INSERT INTO entries (id, account, amount) VALUES ($1, $2, $3)", [number, account, amount]),
            ("UPDATE totals SET total = total + $1 WHERE account = $2", [amount, account]),
        ]
        now += 10
        statements = [
            {"sql": sql, "params": params, "affected": 1, "invoked": now + 2 * n, "returned": now + 2 * n + 1}
            for n, (sql, params) in enumerate(texts)
        ]
        end = {"invoked": now + 6} | ({"returned": now + 7} if status == "committed" else {})
        begin = {"invoked": now - 2, "returned": now - 1}
        return {
            "id": name,
            "session": session,
            "status": status,
            "begin": begin,
            "invoked": now - 2,
            "statements": statements,
            "end": end,
        }

    for n in range(8):
        lines.append(deposit(f"a{n}", "a", draw.randrange(6), status="committed", happened=True))
    for n, account in enumerate(draw.sample(range(6), draw.randint(2, 6))):
        lines.append(deposit(f"u{n}", f"u{n}", account, status="unknown", happened=draw.random() < 0.4))
    for n in range(draw.randint(5, 30)):
        lines.append(deposit(f"b{n}", "b", draw.randrange(6), status="committed", happened=True))
    if spoilt:
        # an acknowledged commit that the last session does not find
        entries.pop()
    totals = [[account, sum(amount for _, of, amount in entries if of == account)] for account in range(6)]
    shown = {"entries": (["id", "account", "amount"], entries), "totals": (["account", "total"], totals)}
    now += 10
    statements = [
        {
            "sql": LOOKS[name],
            "invoked": now + 2 * n,
            "returned": now + 2 * n + 1,
            "result": {"columns": shown[name][0], "rows": shown[name][1]},
        }
        for n, name in enumerate(looks)
    ]
    times = {"begin": {"invoked": now - 2, "returned": now - 1}, "end": {"invoked": now + 6, "returned": now + 7}}
    last = {"id": "last", "session": "last", "status": "committed", "invoked": now - 2, "statements": statements}
    return [*lines, last | times]


@pytest.mark.parametrize("level", ["strict-snapshot", "serializable", "postgres:repeatable-read"])
@pytest.mark.parametrize("looks", [("entries", "totals"), ("totals",)])
@pytest.mark.parametrize("seed", range(6))
def test_any_of_them_may_have_happened(tmp_path: Path, seed: int, looks: tuple[str, ...], level: str) -> None:
    log = read_log([write(tmp_path, HEADER, *crashed(seed, looks))])
    verdict = audit(log, library_of(log), Options(level, timeout=60.0))
    assert verdict.status is Status.CORRECT, verdict.reason or verdict.explanation


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_and_is_lost_is_never_correct(tmp_path: Path, seed: int) -> None:
    log = read_log([write(tmp_path, HEADER, *crashed(seed, ("entries", "totals"), spoilt=True))])
    verdict = audit(log, library_of(log), Options("strict-snapshot", timeout=60.0))
    assert verdict.status is not Status.CORRECT
