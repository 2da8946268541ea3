"""`troubadour audit` says the same of a log however it is read: as it comes, held as a whole, ended and resumed, or cut
in parts. Verdict, coverage, messages, exit status and witness are compared, and `verify` takes each witness.

The logs are random ones whose lines were disturbed: late, repeated, torn, of another kind, without times. Does not know
which verdict is right.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.property import test_profiles_agreement as profiles
from tests.property.random_logs import random_log
from tests.property.test_straight import GENERAL, KINDS, bank_log
from tests.property.test_streamed import store
from troubadour.audit.streamed import apart
from troubadour.audit.streamed.judge import Streaming
from troubadour.audit.streamed.state import Resumable
from troubadour.cli.auditing import streaming
from troubadour.cli.main import cli
from troubadour.formats.streaming import stream
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.text import blocks
from troubadour.isolation.levels import LEVELS

Line = dict[str, Any]
FAST, SLOW = range(300_000, 300_006), [range(first, first + 100) for first in range(310_000, 312_000, 100)]


class Killed(BaseException):
    """Ends an audit as a kill does: nothing is tidied up."""


@contextmanager
def reading(*, held: bool, window: int = 6, size: int = 700, kill: int | None = None) -> Iterator[None]:
    """Logs are read so: `held` as a whole; else as they come, in pieces of so many bytes, with a window of so many
    transactions, and ended after so many notes of how far they are."""
    left = kill

    def pieces(source: Any, stored: Callable[[int], None]) -> Iterator[bytes]:
        for block in blocks(source, stored):
            for place in range(0, len(block), size):
                yield block[place : place + size]

    class Often(Resumable):
        def __init__(self, path: Path, isolation: str | None, say: Callable[[str], None]) -> None:
            super().__init__(path, isolation, say, least=0, share=1e9)

        def note(self, *arguments: Any) -> None:
            nonlocal left
            if left is not None:
                left -= 1
                if left < 0:
                    raise Killed
            super().note(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "LEAST", 1 << 62 if held else 1)
        patch.setattr(stream, "WINDOW", window)
        patch.setattr(stream, "blocks", pieces)
        patch.setattr("troubadour.audit.streamed.state.Resumable", Often)
        patch.setattr(apart, "_on_processes", one_by_one)
        yield


def one_by_one(
    work: Callable[[int], list[bytes]], count: int, jobs: int, look: Callable[[], None]
) -> list[apart.Judged]:
    """Judge parts in this process."""
    found: list[apart.Judged] = []
    for number in range(count):
        found.append(apart.msgspec.json.decode(work(number)[0], type=apart.Judged))
        if found[-1].why:
            raise stream.Unstreamed(found[-1].why)
        look()
    return found


def told(log: Path, folder: Path, level: str | None, *more: str) -> tuple[int, str, str, bytes, str | None]:
    """What is said of a log: exit status, the object, messages, the witness; and which way was taken."""
    witness = folder / "witness"
    witness.unlink(missing_ok=True)
    arguments = ["audit", str(log), "--format", "json", "--quiet", "--witness", str(witness), *more]
    arguments += [] if level is None else ["--isolation", level]
    result = CliRunner().invoke(cli, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    found = json.loads(result.stdout) if result.stdout else {}
    engine = found.get("engine")
    notes = [one for one in found.get("notes") or () if "parts, cut at checkpoints" not in one]
    out = json.dumps({**found, "seconds": 0, "notes": notes}) if found else ""
    messages = "\n".join(one for one in result.stderr.splitlines() if "--resume: " not in one and "--jobs: " not in one)
    return result.exit_code, out, messages, witness.read_bytes() if witness.exists() else b"", engine


# --- disturbing a log -------------------------------------------------------------------------------------------------


def move(rng: random.Random, lines: list[Line]) -> None:
    place = rng.randrange(len(lines))
    line = lines.pop(place)
    lines.insert(min(max(0, place + rng.choice([-40, -9, -3, -1, 1, 3, 9, 40])), len(lines)), line)


def repeat_id(rng: random.Random, lines: list[Line]) -> None:
    one, other = rng.choice(lines), rng.choice(lines)
    if "id" in other:
        one["id"] = rng.choice([other["id"], str(other["id"]), other["id"]])


def another_status(rng: random.Random, lines: list[Line]) -> None:
    one = rng.choice(lines)
    one["status"] = rng.choice(["aborted", "unknown", "committed"])
    if one["status"] != "committed" and rng.random() < 0.7:
        one.pop("commit", None)


def drop_times(rng: random.Random, lines: list[Line]) -> None:
    names = rng.choice([["start", "commit"], ["invoked", "returned"], ["commit"], ["start"], ["returned"], ["invoked"]])
    for one in lines if rng.random() < 0.7 else [rng.choice(lines)]:
        for name in names:
            one.pop(name, None)


def another_time(rng: random.Random, lines: list[Line]) -> None:
    one, other = rng.choice(lines), rng.choice(lines)
    for name in rng.choice([["commit"], ["start"], ["invoked", "returned"], ["returned"], ["start", "commit"]]):
        if name in other:
            one[name] = other[name]


def another_clock(rng: random.Random, lines: list[Line]) -> None:
    for one in rng.sample(lines, min(len(lines), rng.choice([1, 2, len(lines)]))):
        one["clock"] = rng.choice(["a", "b"])


def number(rng: random.Random, lines: list[Line]) -> None:
    last: Counter[Any] = Counter()
    for one in lines:
        session = one.get("session")
        if session is not None and rng.random() < 0.95:
            one["sno"] = last[session] if rng.random() < 0.97 else rng.randrange(4)
            last[session] += 1


def own_level(rng: random.Random, lines: list[Line]) -> None:
    rng.choice(lines)["isolation"] = rng.choice(["serializable", "snapshot", "read-committed", "strict-serializable"])


def intents(rng: random.Random, lines: list[Line]) -> None:
    plain = [one for one in lines if "kind" not in one]
    for one in rng.sample(plain, min(len(plain), rng.choice([1, 2, len(plain)]))):
        place = lines.index(one)
        sno = {name: one[name] for name in ("sno", "session") if name in one}
        intent = {"kind": "intent", "id": one["id"], "status": "unknown", "statements": one["statements"], **sno}
        lines.insert(max(0, place - rng.randrange(3)) if rng.random() < 0.9 else len(lines), intent)


def spoil(rng: random.Random, lines: list[Line]) -> None:
    statements = rng.choice(lines).get("statements") or [{}]
    one = rng.choice(statements)
    if "affected" in one:
        one["affected"] += rng.choice([1, -1, 1])
    elif "result" in one and one["result"]["rows"]:
        one["result"]["rows"].pop(rng.randrange(len(one["result"]["rows"])))
    else:
        one["outcome"] = "unknown"


def another_text(rng: random.Random, lines: list[Line]) -> None:
    texts = [
        "CREATE TABLE more (id INT)",
        "SELECT pg_sleep(0)",
        "SELECT * FROM nowhere",
        "SELEC 1",
        "SET foreign_key_checks = 0",
        "SAVEPOINT s",
        "ALTER TABLE accounts ADD COLUMN more INT",
        "SELECT 1",
    ]
    line = rng.choice(lines)
    if isinstance(line.get("statements"), list):
        line["statements"].insert(0, {"sql": rng.choice(texts)})


def other_line(rng: random.Random, lines: list[Line]) -> None:
    more: list[Line] = [
        {"kind": "gap", "reason": "lost"},
        {"kind": "end", "transactions": len(lines)},
        {"kind": "end", "transactions": 7},
        {"kind": "rows", "table": "owners", "rows": [[7]]},
        {"kind": "other"},
        {"id": "new", "status": "committed", "statements": []},
        {"id": True, "status": "committed", "statements": []},
    ]
    lines.insert(rng.choice([len(lines), rng.randrange(len(lines) + 1)]), rng.choice(more))


DISTURB = (move, move, repeat_id, another_status, drop_times, another_time, another_clock, number, own_level, intents)
DISTURB += (spoil, another_text, other_line)


def disturbed(rng: random.Random, path: Path) -> None:
    """Change a log in some ways, often none."""
    text = path.read_text(encoding="utf-8").splitlines()
    begun = next((place for place, line in enumerate(text) if '"statements"' in line), len(text))
    lines = [json.loads(line) for line in text[begun:]]
    ended = [lines.pop()] if lines and lines[-1].get("kind") == "end" and rng.random() < 0.8 else []
    for change in rng.choices(DISTURB, k=rng.choice([0, 1, 1, 2, 2, 3])):
        if lines:
            change(rng, lines)
    if ended and rng.random() < 0.9:
        ended[0]["transactions"] = sum(one.get("kind") in (None, "transaction") for one in lines)
    out = "\n".join([*text[:begun], *(json.dumps(line) for line in lines + ended)])
    if rng.random() < 0.05:
        out = out[: -rng.randrange(1, 30)]
    path.write_text(out + rng.choice(["\n", "\n", "", "\n\n"]), encoding="utf-8")


def with_checkpoints(rng: random.Random, path: Path) -> None:
    """Add lines that read all rows, some of them wrongly."""
    begun, lines, ended = parted(path)
    for place in sorted(rng.sample(range(1, len(lines)), min(3, len(lines) - 1)), reverse=True):
        before = Streaming(stream.Stream(io.BytesIO(b"".join([*begun, *lines[:place]]))), Settled(), "serializable")
        before.through(lambda: None)
        statements = []
        for table, rows in before.run.rows.items():
            told_rows = [[str(value) if not isinstance(value, int | str) else value for value in row] for row in rows]
            if told_rows and rng.random() < 0.1:
                told_rows.pop()
            columns = ["x"] * (len(told_rows[0]) if told_rows else 4)
            statements.append({"sql": f"SELECT * FROM {table}", "result": {"columns": columns, "rows": told_rows}})
        last = json.loads(lines[place - 1])
        times = {"commit": 10 * (place - 1) + rng.choice([1, 1, 1, -3]), "invoked": 100 * place - 30}
        times["returned"] = times["invoked"] + 5
        kind = {"kind": "checkpoint", "id": f"c{place}", "status": "committed", "statements": statements}
        assert last["id"] is not None
        lines.insert(place, json.dumps({**kind, **times}).encode() + b"\n")
    path.write_bytes(b"".join([*begun, *lines, *ended]))


def parted(path: Path) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """The lines before the first transaction, those of transactions, and the end."""
    lines = path.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if b'"statements"' in line]
    ended = [line for line in lines if b'"kind":"end"' in line]
    return lines[: places[0]], lines[places[0] : len(lines) - len(ended)], ended


# --- the ways of reading ----------------------------------------------------------------------------------------------


def compare(log: Path, folder: Path, level: str | None, rng: random.Random, what: object) -> bool:
    """Whether a log is explained as a stream; fails where one way of reading says what another does not."""
    with reading(held=True):
        *whole, _ = told(log, folder, level)
    window, size = rng.choice([2, 6, 40]), rng.choice([300, 700, 3_000])
    explained = False
    with reading(held=False, window=window, size=size):
        *found, _ = told(log, folder, level)
        same(found, whole, f"{what} at {level}: as it comes\n{log.read_text()}")
        if found[3]:
            arguments = [] if level is None else ["--isolation", level]
            result = CliRunner().invoke(cli, ["verify", str(log), str(folder / "witness"), *arguments])
            assert result.exit_code == 0, f"{what} at {level}: {result.output}"
        *found, _ = told(log, folder, level, "--jobs", "2")
        same(found, whole, f"{what} at {level}: in parts\n{log.read_text()}")
    state = folder / "state"
    for path in (state, folder / "state.ids"):
        path.unlink(missing_ok=True)
    for _ in range(60):
        try:
            with reading(held=False, window=window, size=size, kill=rng.randrange(1, 8)):
                *found, _ = told(log, folder, level, "--resume", str(state))
            break
        except Killed:
            explained = True
    same(found, whole, f"{what} at {level}: resumed\n{log.read_text()}")
    if whole[0] != 2:  # what is read behind a state that was left is another thing
        assert not state.exists()
    return explained


def same(found: list[Any], whole: list[Any], what: str) -> None:
    assert found == whole, what


def run(seeds: range, folder: Path) -> Counter[str]:
    explained: Counter[str] = Counter()
    log = folder / "log.jsonl"
    for seed in seeds:
        rng = random.Random(seed)
        cut = rng.random() < 0.3
        if cut or rng.random() < 0.6:
            store(log, bank_log(seed, transactions=rng.choice([12, 24, 40]), sessions=rng.choice([1, 1, 3])))
            levels: tuple[str | None, ...] = tuple(
                name for name in LEVELS if LEVELS[name].dialect in (None, "postgres")
            )
        elif rng.random() < 0.7:
            store(log, random_log(seed, **rng.choice(KINDS)))
            levels = GENERAL
        else:
            level = rng.choice(profiles.PROFILES)
            dialect = LEVELS[level].dialect
            assert dialect is not None
            made = profiles.log_of(seed, dialect)
            if made is None:
                continue
            store(log, made)
            levels = (level,)
        if cut:
            with_checkpoints(rng, log)
        disturbed(rng, log)
        explained["all"] += 1
        explained["explained"] += compare(log, folder, rng.choice([*levels, None]), rng, seed)
    return explained


def test_however_a_log_is_read(tmp_path: Path) -> None:
    assert run(FAST, tmp_path)["explained"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_however_many_logs_are_read(seeds: range, tmp_path: Path) -> None:
    assert run(seeds, tmp_path)["explained"] > 10
