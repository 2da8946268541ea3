"""What is audited: log and level, with the right verdict where it is known.

Logs of the repository stand in ``logs/``; those that are made (RQ1, ambiguity, simulated faults, generated histories)
are written to a folder first. Does not know how an audit is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.histories.generate import Shape, generate
from benchmarks.histories.history import History
from benchmarks.histories.mutate import mutate
from benchmarks.rq1 import Shape as Rq1Shape
from benchmarks.rq1 import rq1_log
from benchmarks.search.ambiguity import FAMILIES, ambiguous_log
from benchmarks.skews import PLANTED
from benchmarks.verdicts.implied import ALL_LEVELS
from troubadour.formats.write import write_log
from troubadour.record.simulated import FAULTS, simulate
from troubadour.workloads.mixed import Mixed

LOGS = Path(__file__).parents[2] / "logs"
ANY = frozenset({"correct", "violation", "undecided"})
MEANINGS = {"decided": frozenset({"correct", "violation"}), "judged": ANY}
"""Words of the tables of right verdicts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit. `family` and `name` tell it from others; `level` None: the log's own; `right`: the verdicts that are
    right, as far as it is known; `fast`: part of the short corpus; `cpu`: seconds of processor that it may take."""

    family: str
    name: str
    paths: tuple[Path, ...]
    level: str | None = None
    right: frozenset[str] = ANY
    fast: bool = False
    cpu: float = 8.0

    @property
    def key(self) -> str:
        """What stands for it in the stored results."""
        return f"{self.family}/{self.name} @ {self.level or 'own'}"


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _right(word: str) -> frozenset[str]:
    return MEANINGS.get(word) or frozenset(word.split("|"))


def _level(word: str) -> str | None:
    return None if word == "own" else word


# --- logs of the repository -------------------------------------------------------------------------------------------


ANOMALIES_AT = ("read-committed", "causal", "snapshot", "strict-snapshot", "serializable", "strict-serializable")


def anomalies() -> Iterator[Entry]:
    """The anomalies, by the table beside them; the tests have them at every level."""
    levels: list[str] = []
    meaning = {"-": "correct", "x": "violation", "?": "undecided"}
    for line in (LOGS / "anomalies" / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| log |"):
            levels = cells[1:]
        if line.startswith("| `"):
            name = cells[0].split("`")[1]
            for level, mark in zip(levels, cells[1:], strict=True):
                if level in ANOMALIES_AT:
                    path = LOGS / "anomalies" / f"{name}.jsonl"
                    fast = level in ("read-committed", "snapshot", "serializable")
                    yield Entry("anomalies", name, (path,), level, frozenset({meaning[mark]}), fast=fast)


def anomalous() -> Iterator[Entry]:
    """Real runs: correct at their product's profile, a violation at a stronger level."""
    text = (LOGS / "anomalous" / "README.md").read_text(encoding="utf-8")
    for name, profile, level in re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", text, re.M):
        path = LOGS / "anomalous" / name
        yield Entry("anomalous", _stem(path), (path,), profile, frozenset({"correct"}))
        for other in (level, "snapshot", "serializable", "strict-serializable"):
            right = frozenset({"violation"}) if other == level else ANY
            yield Entry("anomalous", _stem(path), (path,), other, right)


def recorded() -> Iterator[Entry]:
    """The recorded bank logs, at the levels that they were recorded at and at others."""
    profiles = {"snapshot": "postgres:repeatable-read", "serializable": "postgres:serializable"}
    for path in sorted((LOGS / "recorded").glob("*.jsonl.gz")):
        recorded_at = next(
            level for level in ("read-committed", "snapshot", "serializable") if f"-{level}-" in path.name
        )
        profile = profiles.get(recorded_at, "postgres:read-committed")
        for level in (None, profile):
            yield Entry("recorded", _stem(path), (path,), level, frozenset({"correct"}))
        for level in ("snapshot", "serializable", "strict-serializable"):
            if level != recorded_at:
                yield Entry("recorded", _stem(path), (path,), level)


def clients() -> Iterator[Entry]:
    """What the recorders of applications wrote."""
    for path in sorted((LOGS / "clients").glob("*.jsonl.gz")):
        yield Entry("clients", _stem(path), (path,), None, frozenset({"correct"}))


def regress() -> Iterator[Entry]:
    """The smallest logs of faults that were found, and those that strangers brought in their third round."""
    for path in sorted(path for folder in ("regress", "strangers-3") for path in (LOGS / folder).glob("*.expect")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                level, word, *_ = line.split()
                plain = path.with_suffix(".jsonl")
                yield Entry(
                    "regress",
                    path.stem,
                    (plain if plain.exists() else plain.with_suffix(".jsonl.gz"),),
                    None if level == "own" else level,
                    _right(word),
                    fast=level != "strict-snapshot",
                    cpu=25,
                )


def with_expectations(family: str) -> Iterator[Entry]:
    """A folder whose ``expected.txt`` says log, level and verdict."""
    folder = LOGS / family
    slow = ("undecided-repeatable-read-891", "stale_forever", "two-hosts-ser3", "rq1-", "hostile_", "shuffled-", "in")
    for line in (folder / "expected.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            names, level, word = line.split()
            paths = tuple(folder / name for name in names.split("+"))
            fast = not names.startswith(slow)
            cpu = 12 if names.startswith("undecided-") else 4
            yield Entry(family, "+".join(map(_stem, paths)), paths, _level(level), _right(word), fast=fast, cpu=cpu)


STRONGER = {
    "read-committed": ("snapshot", "serializable"),
    "repeatable-read": ("serializable", "strict-serializable"),
    "snapshot": ("serializable", "strict-serializable"),
    "serializable": ("strict-serializable", "strict-snapshot"),
}


def contended() -> Iterator[Entry]:
    """Contended runs of real products: correct at the profile, unknown at what is stronger."""
    for path in sorted((LOGS / "contended").glob("*.jsonl.gz")):
        stem = _stem(path)
        correct: tuple[str, ...]
        if stem.startswith("postgres-"):
            level = next(
                name for name in ("read-committed", "repeatable-read", "snapshot", "serializable") if name in stem
            )
            profile = "repeatable-read" if level == "snapshot" else level
            general = {"serializable": ("serializable",), "repeatable-read": ("snapshot",), "snapshot": ("snapshot",)}
            correct = (f"postgres:{profile}", *general.get(level, ()))
            stronger: Sequence[str] = STRONGER[level]
        else:
            profile = stem.split("-profile-")[0]
            correct = (profile.replace("mysql-", "mysql:"),)
            stronger = ("serializable", "strict-serializable") if not profile.startswith("sqlite") else ()
        for level in correct:
            yield Entry("contended", stem, (path,), level, frozenset({"correct"}), cpu=90)
        if not stem.endswith(("-1000", "-2")):
            for level in stronger:
                yield Entry("contended", stem, (path,), level, cpu=4)


# --- logs that are made -----------------------------------------------------------------------------------------------


def rq1(folder: Path) -> Iterator[Entry]:
    """RQ1 of the paper, possible and impossible balances."""
    for dialect, nullable, times in (("mysql", False, True), ("postgres", True, False)):
        for size in (11, 30, 60, 120):
            for balance in ("400.00", "66.00"):
                name = (
                    f"{size}-{balance.partition('.')[0]}-{dialect}{'-nullable' * nullable}{'' if times else '-untimed'}"
                )
                path = folder / f"rq1-{name}.jsonl"
                log = rq1_log(size, balance, Rq1Shape(dialect, not_null=not nullable, times=times))
                write_log(path, log.header, log.transactions)
                right = frozenset({"correct" if balance == "400.00" else "violation"})
                yield Entry("rq1", name, (path,), None, right, fast=size == 11, cpu=5)


def ambiguity(folder: Path) -> Iterator[Entry]:
    """Logs that leave much open, right and wrong."""
    for family in FAMILIES:
        for size, wrong in ((200, False), (200, True), (500, False)):
            name = f"{family}-{size}{'-wrong' if wrong else ''}"
            path = folder / f"ambiguous-{name}.jsonl"
            log = ambiguous_log(family, size, 1, wrong=wrong)
            write_log(path, log.header, log.transactions)
            right = frozenset({"violation" if wrong else "correct"})
            yield Entry("ambiguity", name, (path,), None, right, fast=size == 200 and not wrong, cpu=15)


def simulated(folder: Path) -> Iterator[Entry]:
    """Runs of the simulated DBMS, without a fault and with each."""
    for fault in (None, *(kind for kind in FAULTS if kind not in PLANTED)):
        slow = fault in ("aborted-read", "uniqueness")
        for seed in (1, 2) if fault else (1, 2, 3, 4):
            name = f"{fault or 'none'}-{seed}"
            path = folder / f"simulated-{name}.jsonl"
            simulate(Mixed(seed=seed), path, seed=seed, transactions=30, fault=fault)
            for level in ("read-committed", "snapshot", "strict-snapshot"):
                right = frozenset({"correct"}) if fault is None else ANY
                yield Entry(
                    "simulated", name, (path,), level, right, fast=seed == 1 and level == "read-committed" and not slow
                )


SHAPES = {
    "shuffled-20": Shape(20, 8),
    "shuffled-100": Shape(100, 8),
    "shuffled-200-zipf": Shape(200, 100, zipf=True, writes=0.2),
    "shuffled-300-blind": Shape(300, 1_000, blind=True, writes=0.9),
    "shuffled-300-sessions": Shape(300, 100, sessions=8),
    "repeated-100": Shape(100, 20, repeated=0.3),
    "increments-60": Shape(60, 10, increments=True),
    "grouped-100": Shape(100, 20, sessions=4, order="grouped"),
    "two-hosts-100": Shape(100, 20, sessions=4, order="hosts"),
    "nullable-60": Shape(60, 8, nullable=True),
    "inserts-60": Shape(60, 40, inserts=True),
}


def generated(folder: Path) -> Iterator[Entry]:
    """Serial key-value histories whose order is not told, and the same with one read altered."""
    for name, shape in SHAPES.items():
        history = generate(shape, seed=1)
        levels = ("serializable", "snapshot", "causal")
        yield from _history(folder, name, history, levels, frozenset({"correct"}))
        altered = mutate(history, seed=1)
        if altered is not None:
            yield from _history(folder, f"{name}-altered", altered, levels[:1], ANY)


def _history(
    folder: Path, name: str, history: History, levels: Sequence[str], right: frozenset[str]
) -> Iterator[Entry]:
    path = folder / f"history-{name}.jsonl"
    history.write(path)
    for level in levels:
        yield Entry("histories", name, (path,), level, right, fast=name == "shuffled-20", cpu=3)


MADE: tuple[Callable[[Path], Iterator[Entry]], ...] = (rq1, ambiguity, simulated, generated)
KEPT: tuple[Callable[[], Iterator[Entry]], ...] = (anomalies, anomalous, recorded, clients, regress, contended)


def corpus(folder: Path) -> list[Entry]:
    """All entries, each once; what is made is written to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [entry for family in KEPT for entry in family()]
    entries += [entry for name in ("strangers", "events") for entry in with_expectations(name)]
    entries += [entry for family in MADE for entry in family(folder)]
    unique: dict[str, Entry] = {}
    for entry in entries:
        unique.setdefault(entry.key, entry)
    assert all(entry.level is None or entry.level in ALL_LEVELS for entry in entries)
    return list(unique.values())
