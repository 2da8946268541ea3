"""``python -m benchmarks.serial``: serial logs, one value wrong and none; shuffled ones whose order answers tell.

*Serial*: transfers between accounts, one after the other, by client times; in the wrong one a read in the middle has
another value than the last writer left. *Shuffled*: a serial run whose file order is random and whose times are left
out: counters of few values that are overwritten again and again, or increments told by counts. Prints the processor
seconds of reading and auditing, and what is said. Does not know how an audit decides.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import click

Line = dict[str, Any]

ACCOUNTS = 200
VALUES = 20
"""Values that the counters of a shuffled log have, again and again."""


def header(schema: str, rows: Sequence[Sequence[Any]], table: str) -> Line:
    """The first line of a log with one table."""
    initial = {table: {"rows": list(rows)}}
    return {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": [schema], "initial": initial}


def serial(count: int, seed: int, *, wrong: int | None, accounts: int = ACCOUNTS) -> Iterator[Line]:
    """A serial log of transfers; one read of the transaction `wrong` shows 7 more than there was (None: none does)."""
    random = Random(seed)
    balances = dict.fromkeys(range(1, accounts + 1), 100)
    yield header("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)", list(balances.items()), "accounts")
    clock = 0
    for number in range(count):
        source, target = random.sample(range(1, accounts + 1), 2)
        amount = random.randint(1, 5)
        statements: list[Line] = []
        for key, change in ((source, -amount), (target, amount)):
            more = 7 if number == wrong and key == source else 0
            sql = "SELECT balance FROM accounts WHERE id = $1"
            statements.append(_read(sql, [key], "balance", balances[key] + more))
            balances[key] += change
            statements.append(_update("UPDATE accounts SET balance = $1 WHERE id = $2", [balances[key], key]))
        begun = clock
        for statement in statements:
            statement.update(invoked=clock + 1, returned=clock + 2)
            clock += 3
        end = {"invoked": clock + 1, "returned": clock + 2}
        clock += 5
        yield {
            "id": f"t{number}",
            "status": "committed",
            "session": f"s{number % 4}",
            "invoked": begun,
            "returned": clock - 3,
            "statements": statements,
            "end": end,
        }


def shuffled_values(count: int, seed: int, *, wrong: bool = False) -> Iterator[Line]:
    """A serial run on 30 rows whose writes repeat 20 values, without times, in a random order of the file."""
    random = Random(seed)
    values = dict.fromkeys(range(1, 31), 0)
    yield header("CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)", list(values.items()), "kv")
    made: list[Line] = []
    for number in range(count):
        statements: list[Line] = []
        for key in random.sample(range(1, 31), random.randint(2, 4)):
            statements.append(_read("SELECT v FROM kv WHERE k = $1", [key], "v", values[key]))
            if random.random() < 0.5:
                values[key] = random.randint(1, VALUES)
                statements.append(_update("UPDATE kv SET v = $1 WHERE k = $2", [values[key], key]))
        made.append({"id": f"t{number}", "status": "committed", "statements": statements})
    yield from _shuffled(made, random, VALUES + 1 if wrong else None)


def shuffled_counts(count: int, seed: int, *, wrong: bool = False) -> Iterator[Line]:
    """Increments of 10 counters, told by what some read, and by how many rows have come so far; shuffled, no times."""
    random = Random(seed)
    values = dict.fromkeys(range(1, 11), 0)
    yield header("CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL)", list(values.items()), "counters")
    made: list[Line] = []
    for number in range(count):
        key = random.randint(1, 10)
        statements: list[Line] = []
        if random.random() < 0.5:
            statements.append(_read("SELECT n FROM counters WHERE id = $1", [key], "n", values[key]))
        if random.random() < 0.2:
            statements.append(_read("SELECT SUM(n) FROM counters", [], "sum", sum(values.values())))
        values[key] += 1
        statements.append(_update("UPDATE counters SET n = n + 1 WHERE id = $1", [key]))
        made.append({"id": f"t{number}", "status": "committed", "statements": statements})
    yield from _shuffled(made, random, count + 1 if wrong else None)


def shuffled_rows(count: int, seed: int, *, wrong: bool = False) -> Iterator[Line]:
    """Rows inserted one by one, told by how many there are before or after; shuffled, no times."""
    random = Random(seed)
    yield header("CREATE TABLE payments (id INT PRIMARY KEY, amount INT NOT NULL)", [[0, 5]], "payments")
    made: list[Line] = []
    for number in range(1, count + 1):
        insert = {"sql": "INSERT INTO payments VALUES ($1, $2)", "params": [number, number % 3], "affected": 1}
        statements = [insert]
        if random.random() < 0.3:
            statements.insert(0, _read("SELECT COUNT(*) FROM payments", [], "count", number))
        if random.random() < 0.2:
            statements.append(_read("SELECT COUNT(*) FROM payments", [], "count", number + 1))
        made.append({"id": f"t{number}", "status": "committed", "statements": statements})
    yield from _shuffled(made, random, 4 * count if wrong else None)


def _shuffled(made: list[Line], random: Random, wrong: int | None) -> list[Line]:
    """The transactions in a random order; one read shows what is `wrong`, if that is given."""
    if wrong is not None:
        reads = [s for one in made for s in one["statements"] if "result" in s]
        random.choice(reads)["result"]["rows"][0][0] = wrong
    random.shuffle(made)
    return made


def _read(sql: str, params: list[int], column: str, value: int) -> Line:
    given = {"params": params} if params else {}
    return {"sql": sql, **given, "result": {"columns": [column], "rows": [[value]]}}


def _update(sql: str, params: list[int]) -> Line:
    return {"sql": sql, "params": params, "affected": 1}


def written(path: Path, lines: Iterator[Line]) -> Path:
    """The lines as a log file."""
    with path.open("w", encoding="utf-8") as file:
        count = 0
        for line in lines:
            file.write(json.dumps(line) + "\n")
            count += 1
        file.write(json.dumps({"kind": "end", "transactions": count - 1}) + "\n")
    return path


@dataclass(frozen=True, slots=True)
class Judged:
    """What an audit said, and the processor seconds that it took with the interpreter's start."""

    verdict: str
    says: str
    cpu: float

    def row(self, log: str, transactions: int, ratio: str = "") -> str:
        """Of the table."""
        says = self.says.replace("|", "/")
        return f"| {log} | {transactions:,} | {self.verdict} | {self.cpu:.2f} | {ratio} | {says[:300]} |"


def judged(path: Path, level: str, timeout: float) -> Judged:
    """Audit a log by the command line."""
    words = ["audit", str(path), "--isolation", level, "--format", "json", "--timeout", str(timeout)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [Path(sys.executable).with_name("troubadour"), *words], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not ran.stdout:
        return Judged(f"exit {ran.returncode}", ran.stderr.strip()[-300:], cpu)
    said = json.loads(ran.stdout)
    return Judged(said["verdict"], said["explanation"] or said["reason"] or "", cpu)


HEAD = "| log | transactions | verdict | CPU s | of the right one | says |\n|---|---:|---|---:|---:|---|"


@click.command()
@click.option("--size", "sizes", multiple=True, type=int, default=(50, 3_000, 100_000), show_default=True)
@click.option("--shuffled", multiple=True, type=int, default=(150, 600), show_default=True)
@click.option("--seeds", default=3, show_default=True, help="Shuffled logs of each kind and size.")
@click.option("--level", "levels", multiple=True, default=("strict-serializable", "serializable"), show_default=True)
@click.option("--accounts", default=ACCOUNTS, show_default=True, help="Rows of a serial log.")
@click.option("--at", default=0.5, show_default=True, help="Where in a serial log the wrong value is.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds of an audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/serial"), show_default=True)
def main(
    sizes: Sequence[int],
    shuffled: Sequence[int],
    seeds: int,
    levels: Sequence[str],
    accounts: int,
    at: float,
    timeout: float,
    folder: Path,
) -> None:
    """Make the logs and audit them."""
    folder.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    for size in sizes:
        made = written(folder / "right.jsonl", serial(size, 1, wrong=None, accounts=accounts))
        spoilt = written(folder / "wrong.jsonl", serial(size, 1, wrong=int(size * at), accounts=accounts))
        for level in levels:
            right = judged(made, level, timeout)
            print(right.row(f"serial, {level}", size), flush=True)
            wrong = judged(spoilt, level, timeout)
            print(wrong.row(f"serial, one value wrong, {level}", size, f"{wrong.cpu / right.cpu:.2f}"), flush=True)
    kinds = [("values", shuffled_values, size) for size in shuffled]
    kinds += [("counts", shuffled_counts, size) for size in shuffled[-1:]]
    kinds += [("rows", shuffled_rows, size) for size in shuffled[-1:]]
    for name, make, size in kinds:
        for fault in (False, True):
            for seed in range(seeds):
                log = written(folder / "shuffled.jsonl", make(size, seed, wrong=fault))
                found = judged(log, "serializable", timeout)
                print(found.row(f"shuffled {name}{', one value wrong' if fault else ''}", size), flush=True)


if __name__ == "__main__":
    main()
