"""Serial key-value logs, shuffled and without times: what inferring order and reads is for. Some with reads spoilt.

Values are unique, repeat, or are counted in place; transactions write blindly or after a read. Does not know which
levels explain a spoilt one.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import msgspec

from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction

SCHEMA = "CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)"


def key_value_log(
    seed: int,
    transactions: int,
    rows: int,
    *,
    values: str = "unique",
    spoilt: int = 0,
    sessions: int = 0,
    scans: bool = False,
) -> Log:
    """`values`: unique, repeated, counted (up), or swung (up and down). `spoilt`: so many reads have another version
    of their row. `scans`: some transactions end with a write of all rows of some
    values, or with an answer about all rows, which shows no key; a third of those has another version of one row."""
    rng = random.Random(f"key-value {seed}")
    state = dict.fromkeys(range(rows), 0)
    versions: dict[int, list[int]] = {key: [0] for key in state}
    found: list[Transaction] = []
    reads: list[tuple[int, int, int]] = []
    for number in range(transactions):
        done: list[Statement] = []
        for _ in range(rng.randint(1, 4)):
            key = rng.randrange(rows)
            if rng.random() < 0.5:
                if all(statement.params != (key,) for statement in done):
                    reads.append((number, len(done), key))
                done.append(_read(key, state[key]))
                continue
            count = sum(map(len, versions.values()))
            repeats = values == "repeated" and rng.random() < 0.3
            if values in ("counted", "swung"):
                more = rng.choice((1, -1)) if values == "swung" else 1
                state[key] += more
                done.append(_counted(key, more))
            else:
                state[key] = rng.randrange(4) if repeats else count
                done.append(_written(key, state[key]))
            versions[key].append(state[key])
        if scans and rng.random() < 0.3:
            least, put = rng.choice(list(state.values())), rng.randrange(90, 99)
            raised = [key for key, value in state.items() if value > least]
            for key in raised:
                state[key] = state[key] + 1 if values in ("counted", "swung") else put
                versions[key].append(state[key])
            done.append(_raised(least, None if values in ("counted", "swung") else put, len(raised)))
        if scans and rng.random() < 0.4:
            shown = dict(state)
            if spoilt and rng.random() < 0.3:
                key = rng.randrange(rows)
                shown[key] = rng.choice(versions[key])
            done.append(_scanned(rng, shown))
        session = f"s{rng.randrange(sessions)}" if sessions else None
        found.append(Transaction(f"t{number + 1}", "committed", tuple(done), number + 1, session=session))
    for number, place, key in rng.sample(reads, min(spoilt, len(reads))):
        statements = list(found[number].statements)
        statements[place] = _read(key, rng.choice(versions[key]))
        found[number] = msgspec.structs.replace(found[number], statements=tuple(statements))
    turns = [transaction.session for transaction in found]
    waiting = {name: [one for one in found if one.session == name] for name in turns}
    if sessions:
        # a client's own transactions stay in order
        rng.shuffle(turns)
        found = [waiting[name].pop(0) for name in turns]
    else:
        rng.shuffle(found)
    initial = InitialTable("kv", None, tuple((key, 0) for key in range(rows)))
    header = Header(dialect="postgres", schema=(SCHEMA,), initial=(initial,))
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.jsonl", header, found)
        return read_log([Path(folder) / "log.jsonl"])


def _read(key: int, value: int) -> Statement:
    return Statement("SELECT v FROM kv WHERE k = $1", (key,), results=(ObservedRows(("v",), ((value,),)),))


def _written(key: int, value: int) -> Statement:
    return Statement("UPDATE kv SET v = $2 WHERE k = $1", (key, value), affected=1)


def _counted(key: int, more: int) -> Statement:
    return Statement(f"UPDATE kv SET v = v {'+' if more > 0 else '-'} 1 WHERE k = $1", (key,), affected=1)


def _raised(least: int, put: int | None, affected: int) -> Statement:
    """A write of the rows whose value is more than `least`: counted up, or set."""
    if put is None:
        return Statement("UPDATE kv SET v = v + 1 WHERE v > $1", (least,), affected=affected)
    return Statement("UPDATE kv SET v = $2 WHERE v > $1", (least, put), affected=affected)


def _scanned(rng: random.Random, state: dict[int, int]) -> Statement:
    """An answer about all rows."""
    values, least = list(state.values()), rng.choice(list(state.values()))
    above = tuple((value,) for value in values if value >= least)
    match rng.choice(("all", "some", "sum", "count")):
        case "all":
            return Statement(
                "SELECT v FROM kv ORDER BY k", results=(ObservedRows(("v",), tuple((v,) for v in values)),)
            )
        case "some":
            return Statement(
                "SELECT v FROM kv WHERE v >= $1 ORDER BY k", (least,), results=(ObservedRows(("v",), above),)
            )
        case "sum":
            return Statement("SELECT sum(v) FROM kv", results=(ObservedRows(("sum",), ((sum(values),),)),))
        case _:
            counted = ((len(above),),)
            return Statement(
                "SELECT count(*) FROM kv WHERE v >= $1", (least,), results=(ObservedRows(("c",), counted),)
            )
