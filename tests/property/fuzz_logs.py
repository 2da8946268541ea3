"""Broken and hostile logs, seeded: changes of real logs in bytes, JSON and SQL.

``python -m tests.property.fuzz_logs --logs 10000`` (``make fuzz``) tries many; every seed by itself is repeatable, and
``--show SEED`` prints its log. Whatever the log, an audit under bounds ends with a verdict, one JSON object and nothing
else, or with one line that says what cannot be used. Does not know which of them is right.
"""

# ruff: noqa: T201  # a command: it prints
from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from troubadour.audit import driver
from troubadour.cli.main import main as troubadour
from troubadour.cli.supervision import resident

LOADED = driver
"""Imported here, so that the process of each audit does not import it anew."""

ROOT = Path(__file__).parents[2] / "logs"
LINES = 14
SECONDS, MEMORY = 2, 768
STATUS = {"correct": 0, "violation": 1, "undecided": 3}
BLOCK = 25

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40, 1.5, -0.0, 1e308, "", "x", "NaN", "Infinity"),
    *("1e400", "-0", "0x1f", "1e999999999999999999", "9" * 500, "\x00", "\ud800", "é", "e\u0301", "ß", "💥", "\\x00zz"),
    *("2024-02-30", "24:00:00", "0000-00-00", "infinity", "t1", "'", '"', "a" * 5000, "%", "$1", ":a", "?", "\\"),
    *([], [[]], {}, {"redacted": True}, {"columns": [], "rows": []}, [None], [1, [2, [3]]], {"a": {"a": {}}}),
)
_WORDS = """
SELECT FROM WHERE AND OR NOT NULL IS IN EXISTS BETWEEN LIKE CASE WHEN THEN ELSE END AS ON JOIN LEFT USING INSERT INTO
VALUES UPDATE SET DELETE RETURNING WITH RECURSIVE UNION ALL DISTINCT GROUP BY ORDER LIMIT OVER PARTITION ROWS CALL BEGIN
COMMIT SAVEPOINT ROLLBACK TO RELEASE CREATE TABLE DROP ALTER TRUNCATE ( ) , ; . * = <> || :: ' " ` $1 ? :x %s -- /* */
$$ 1 0 -1 1e99 9999999999999999999999 'a' '' 1/0 DEFAULT current_timestamp count(*) sum(1) coalesce(NULL,1) abs(-1)
repeat('ab',999999) E'\\x' ARRAY[1] (1,2) x'00' date'2024-01-31' CAST('x'AS/**/int) lpad('a',99999999) power(2,100000)
@v \\
"""
WORDS = _WORDS.split()
STATEMENTS = (
    "SELECT {n} FROM {t} a, {t} b, {t} c, {t} d, {t} e, {t} f",
    "SELECT repeat('a', 20000) LIKE '%a%a%a%a%a%a%a%a%a%b'",
    "SELECT '{a}' ~ '(a|b)*a*a*a*a*b$'",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r(i) AS (SELECT 'a' UNION ALL SELECT i || i FROM r) SELECT count(*) FROM r",
    "SELECT " + "(" * 300 + "1" + ")" * 300,
    "SELECT " + "NOT " * 600 + "true",
    "SELECT " + "1 + " * 900 + "1",
    "SELECT 1" + " UNION ALL SELECT 1" * 300,
    "SELECT id FROM {t} WHERE id IN (" + "1," * 2000 + "1)",
    "SELECT 1e{n}, 1e-{n}, {n}::numeric ^ 9",
    "DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM {t} a, {t} b, {t} c)",
    "UPDATE {t} SET id = id",
    "SELECT * FROM {t} ORDER BY 1, 2, 3",
    "DROP TABLE {t}",
    "COMMIT",
    "",
    ";",
)
Text = Callable[[random.Random, bytes], bytes]
Found = tuple[Counter[str], list[str]]
"""Counts of what was tried, and what went wrong."""


@cache
def sources() -> tuple[tuple[str, tuple[bytes, ...]], ...]:
    """The beginnings of all logs in the repository."""
    found: list[tuple[str, tuple[bytes, ...]]] = []
    for path in sorted(ROOT.rglob("*.jsonl*")):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            lines = [line for line in (file.readline(200_000) for _ in range(LINES)) if line]
        if sum(map(len, lines)) < 100_000:
            found.append((path.name, tuple(lines)))
    return tuple(found)


def log_of(seed: int) -> tuple[str, bytes]:
    """What was changed, and the log."""
    rng = random.Random(f"fuzz {seed}")
    name, lines = rng.choice(sources())
    kind, change = rng.choice(CHANGES)
    for _ in range(rng.choice((1, 1, 2, 4))):
        changed = change(rng, b"".join(lines))
        lines = tuple(changed.splitlines(keepends=True))
    return f"{kind} of {name}", b"".join(lines)


def bytes_changed(rng: random.Random, text: bytes) -> bytes:
    """A few bytes flipped, left out, put in, repeated or cut off."""
    changed = bytearray(text)
    at = rng.randrange(len(changed) + 1)
    upto = min(at + int(rng.expovariate(0.05)) + 1, len(changed))
    match rng.randrange(6):
        case 0:
            changed[at:upto] = bytes(byte ^ 1 << rng.randrange(8) for byte in changed[at:upto])
        case 1:
            del changed[at:upto]
        case 2:
            changed[at:at] = rng.choice((b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"{", b"]", b'"', b"\\", b"\n", b"1e9"))
        case 3:
            changed[at:at] = changed[at:upto] * rng.choice((1, 2, 50))
        case 4:
            del changed[at:]
        case _:
            other = rng.randrange(len(changed) + 1)
            changed[other:other] = changed[at:upto]
    return bytes(changed)


def packed(rng: random.Random, text: bytes) -> bytes:
    """A damaged gzip file."""
    return bytes_changed(rng, gzip.compress(text, mtime=0))


def lines_changed(rng: random.Random, text: bytes) -> bytes:
    """Lines left out, repeated or exchanged, and lines of other kinds put in."""
    lines = text.splitlines(keepends=True) or [b"\n"]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            kind = rng.choice(("rows", "end", "intent", "transaction", "gap", "nothing"))
            line = {"kind": kind, "transactions": rng.choice(VALUES[:8]), "table": "t", "columns": ["a"], "rows": [[1]]}
            lines.insert(one, json.dumps(line).encode() + b"\n")
    return b"".join(lines)


def json_changed(rng: random.Random, text: bytes, inside: bytes = b"") -> bytes:
    """A value somewhere exchanged, left out or repeated."""
    lines = text.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if inside in line]
    if not places:
        return bytes_changed(rng, text)
    place = rng.choice(places)
    try:
        value = json.loads(lines[place])
    except ValueError:
        return bytes_changed(rng, text)
    spots = list(_spots(value))
    if spots:
        holder, key = rng.choice(spots)
        match rng.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 2:
                holder[key] = rng.choice(spots)[0]
            case _:
                holder[key] = rng.choice(VALUES)
    try:
        lines[place] = json.dumps(value).encode("utf-8", "surrogatepass") + b"\n"
    except (ValueError, RecursionError):  # it holds itself now
        return text
    return b"".join(lines)


def _spots(value: Any) -> Sequence[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        current = pending.pop()
        if not isinstance(current, dict | list):
            continue
        for key in current if isinstance(current, dict) else range(len(current)):
            found.append((current, key))
            pending.append(current[key])
    return found


def sql_changed(rng: random.Random, text: bytes) -> bytes:
    """A word of a statement, a definition or a routine exchanged, put in, left out; or another statement in place."""
    lines = text.splitlines(keepends=True)
    holders: list[tuple[int, Any, Any, Any]] = []
    for place, line in enumerate(lines):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            for holder, key in _spots(value):
                if isinstance(holder[key], str) and (key == "sql" or " " in holder[key]):
                    holders.append((place, value, holder, key))
    if not holders:
        return bytes_changed(rng, text)
    place, value, holder, key = rng.choice(holders)
    holder[key] = _other_statement(rng, holder[key], text) if rng.random() < 0.2 else _other_words(rng, holder[key])
    lines[place] = json.dumps(value).encode("utf-8", "surrogatepass") + b"\n"
    return b"".join(lines)


def _other_statement(rng: random.Random, sql: str, text: bytes) -> str:
    tables = re.findall(rb"CREATE TABLE (\w+)", text) or [b"t"]
    n = rng.choice(("1", "400", "99999", "999999999999999999999"))
    return rng.choice(STATEMENTS).replace("{t}", rng.choice(tables).decode()).replace("{n}", n)


def _other_words(rng: random.Random, sql: str) -> str:
    words = re.findall(r"\w+|\s+|[^\w\s]", sql)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(words) + 1)
        match rng.randrange(4):
            case 0:
                words[at : at + 1] = [rng.choice(WORDS)]
            case 1:
                words[at:at] = [f" {rng.choice(WORDS)} "]
            case 2:
                del words[at : at + rng.choice((1, 1, 4))]
            case _:
                other = rng.randrange(len(words) + 1)
                words[at:at] = words[other : other + rng.choice((1, 3, 8))]
    return "".join(words)


CHANGES: tuple[tuple[str, Text], ...] = (
    ("bytes", bytes_changed),
    ("gzip", packed),
    ("lines", lines_changed),
    ("json", json_changed),
    ("json", json_changed),
    ("results", partial(json_changed, inside=b'"result')),
    ("sql", sql_changed),
    ("sql", sql_changed),
    ("sql", sql_changed),
)


def ended(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit status and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            troubadour(arguments)
        except SystemExit as end:
            return (end.code if isinstance(end.code, int) else 70), out.getvalue(), err.getvalue()
    return 70, out.getvalue(), err.getvalue()


def misworded(status: int, out: str, err: str, longest: int) -> str | None:
    """What is wrong with an exit status and with what stands beside it: bad input is told in one line, of so many
    characters at most, and a verdict without any."""
    if status == 2:
        if out or not err.endswith("\n") or err.count("\n") != 1 or len(err) > longest or "Traceback" in err:
            return f"no single line: {out[:200]!r} {err[-900:]!r}"
        return None
    return f"status {status}: {err[-1500:]}" if status not in STATUS.values() or err else None


def fault(path: Path, level: str | None) -> tuple[int, str | None]:
    """The exit status, and what is wrong with how an audit of the log ended."""
    levels = [] if level is None else ["--isolation", level]
    # the process that the audits run in counts, too, and so does the fork of it
    already = 2 * (resident() >> 20)
    bounds = ["--timeout", str(SECONDS), "--memory", str(MEMORY + already)]
    status, out, err = ended(["audit", "--format", "json", *bounds, *levels, str(path)])
    wrong = misworded(status, out, err, 500)
    if wrong is not None or status == 2:
        return status, wrong
    found = json.loads(out)
    if STATUS[found["verdict"]] != status or out.count("\n") != 1:
        return status, f"status {status} and {out[:300]}"
    return status, None


def run(seeds: Sequence[int]) -> Found:
    """Counts by exit status and change, and what went wrong."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            what, text = log_of(seed)
            path = Path(folder) / "log.jsonl"
            path.write_bytes(text)
            level = random.Random(seed).choice((None, None, "serializable", "snapshot", "read-committed"))
            status, wrong = fault(path, level)
            counts[f"{what.partition(' ')[0]}: {status}"] += 1
            if wrong is not None:
                faults.append(f"seed {seed} ({what}) at {level}: {wrong}")
    return counts, faults


def campaign(
    things: str, count: int, made: Callable[[int], tuple[str, bytes]], run: Callable[[Sequence[int]], Found], block: int
) -> int:
    """The command that tries many things, a `count` by default, a `block` at a time, or shows the one that is `made` of
    a seed and says what it is; its exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{things}", type=int, default=count, dest="count")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int)
    given = parser.parse_args()
    if given.show is not None:
        what, text = made(given.show)
        print(what, file=sys.stderr)
        sys.stdout.buffer.write(text)
        return 0
    end = given.first + given.count
    blocks = [range(at, min(at + block, end)) for at in range(given.first, end, block)]
    counts: Counter[str] = Counter()
    faults = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for done, (found, wrong) in enumerate(pool.map(run, blocks), 1):
            counts += found
            faults += len(wrong)
            for text in wrong:
                print(text, flush=True)
            if not done % 20:
                print(f"{done * block:,} {things}, {faults} faults", file=sys.stderr, flush=True)
    print(dict(sorted(counts.items())), f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(campaign("logs", 10_000, log_of, run, BLOCK))
