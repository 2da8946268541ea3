"""``python -m benchmarks.faults``: faults in recorded logs, audited at the profile that the log was recorded at.

Prints for each profile and kind of fault how many audits are a violation, undecided, correct; of how many a reference
says that no order explains them, and how many of these are called. The references: registers with times (`timed`), and
the audit itself at a level that the profile implies. Fails where an unaltered log is accused. Does not know how a fault
is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random, SystemRandom

import click

from benchmarks.faults.apps import APPLICATIONS
from benchmarks.faults.kinds import KINDS, NoPlace, with_fault
from benchmarks.faults.raw import RawLog
from benchmarks.faults.registers import Registers
from benchmarks.faults.timed import PROMISES, NotRegisters, refuted
from benchmarks.verdicts.measure import Auditor
from troubadour.isolation.levels import LEVELS
from troubadour.record import EmbeddedPostgres, record_run
from troubadour.record.runs.workload import Workload
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

CONTENDED = Path(__file__).parents[2] / "logs" / "contended"
RECORDED_AT = {"postgres:repeatable-read": "snapshot", "mysql:repeatable-read": "mysql:repeatable-read"}
"""What the recorder is asked for, where it is not the profile's second word."""
VERDICTS = ("violation", "undecided", "correct")


@dataclass(slots=True)
class Tally:
    """Of one profile and kind: how many of each verdict; `refuted`: of those that a reference refutes."""

    verdicts: Counter[str] = field(default_factory=Counter)
    refuted: Counter[str] = field(default_factory=Counter)
    doubted: int = 0
    cpu: float = 0.0

    def add(self, verdict: str, cpu: float, no_order: bool | None) -> None:
        """One audit. A violation that a complete look at the reference does not confirm is doubted."""
        self.verdicts[verdict] += 1
        self.cpu += cpu
        if no_order:
            self.refuted[verdict] += 1
        elif no_order is False and verdict == "violation":
            self.doubted += 1

    def line(self, profile: str, kind: str) -> str:
        """A row of the table."""
        counts = " | ".join(str(self.verdicts[verdict]) for verdict in VERDICTS)
        called = f"{self.refuted['violation']} of {self.refuted.total()}"
        return f"| {profile} | {kind} | {counts} | {called} | {self.doubted} | {self.cpu:.0f} |"


HEAD = """| profile | fault | violation | undecided | correct | called of those refuted | not confirmed | CPU s |
|---|---|---:|---:|---:|---:|---:|---:|"""


@click.command()
@click.argument("profiles", nargs=-1, type=click.Choice(list(PROMISES)))
@click.option("--faults", default=200, show_default=True, help="Of each profile.")
@click.option("--transactions", multiple=True, type=int, default=(100, 1000), show_default=True)
@click.option("--rows", default=20, show_default=True)
@click.option("--seed", type=int, help="Else one is drawn, and told.")
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--seconds", default=60.0, show_default=True, help="Of a reference.")
@click.option("--python", type=click.Path(path_type=Path), help="The interpreter of another installation to measure.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/faults"), show_default=True)
@click.option("--contended/--registers", default=False, help="Put them into the stored contended runs of up to 400.")
@click.option("--application", type=click.Choice(list(APPLICATIONS)), help="Into runs of it, instead of registers.")
@click.option("--show", is_flag=True, help="Tell of each audit.")
def main(
    profiles: Sequence[str],
    faults: int,
    transactions: Sequence[int],
    rows: int,
    seed: int | None,
    cpu: float,
    seconds: float,
    python: Path | None,
    folder: Path,
    contended: bool,
    application: str | None,
    show: bool,
) -> None:
    """Put faults into recorded logs of PROFILES, by default all, and audit them."""
    folder.mkdir(parents=True, exist_ok=True)
    seed = SystemRandom().randrange(1 << 30) if seed is None else seed
    chosen = profiles or tuple(PROMISES)
    logs = dict(_stored(chosen) if contended else _recorded(chosen, transactions, rows, seed, folder, application))
    print(f"seed {seed}\n\n{HEAD}")
    accused = 0
    with Auditor(python) as auditor:
        for profile in chosen:
            found = {kind: Tally() for kind in ("none", *KINDS)}
            for kind, log in _faulted(logs[profile], faults, Random(f"{seed}/{profile}")):
                path = folder / f"{profile.replace(':', '-')}.jsonl"
                log.write(path)
                now = auditor.audit((path,), profile, cpu)
                no_order = _refuted(auditor, log, path, profile, cpu, seconds)
                found[kind].add(now.verdict, now.cpu, no_order)
                accused += kind == "none" and now.verdict == "violation"
                if show:
                    print(f"    {kind}: {now.verdict} {now.scope or now.reason or ''}, refuted {no_order}", flush=True)
            total = Tally()
            for kind, tally in found.items():
                print(tally.line(profile, kind), flush=True)
                if kind != "none":
                    total.verdicts += tally.verdicts
                    total.refuted += tally.refuted
                    total.doubted += tally.doubted
                    total.cpu += tally.cpu
            print(total.line(profile, "all"), flush=True)
    raise SystemExit(accused > 0)


def _faulted(logs: Sequence[RawLog], count: int, random: Random) -> Iterator[tuple[str, RawLog]]:
    """The logs as they are, then `count` faults, of each kind in turn and in each log in turn."""
    yield from (("none", log) for log in logs)
    made, attempts = 0, 0
    while made < count and attempts < 4 * count:
        kind = list(KINDS)[attempts % len(KINDS)]
        log = logs[attempts // len(KINDS) % len(logs)]
        attempts += 1
        try:
            faulted = with_fault(log, kind, random)
        except NoPlace:
            continue
        made += 1
        yield kind, faulted


def _refuted(auditor: Auditor, log: RawLog, path: Path, profile: str, cpu: float, seconds: float) -> bool | None:
    """What a reference says: no order explains it (True), it has no objection (False), or nothing."""
    try:
        return refuted(log, profile, seconds)
    except NotRegisters:
        pass
    for level in LEVELS[profile].implies:
        if level in LEVELS and auditor.audit((path,), level, cpu).scope == "every-order":
            return True
    return None


def _stored(profiles: Sequence[str]) -> Iterator[tuple[str, list[RawLog]]]:
    for profile in profiles:
        yield profile, [RawLog.read(path) for path in sorted(CONTENDED.glob(f"{profile.replace(':', '-')}-profile-*"))]


def _recorded(
    profiles: Sequence[str], transactions: Sequence[int], rows: int, seed: int, folder: Path, application: str | None
) -> Iterator[tuple[str, list[RawLog]]]:
    for dialect in ("postgres", "mysql"):
        wanted = [profile for profile in profiles if profile.startswith(dialect)]
        with ExitStack() as stack:
            dsn = ""
            if wanted and dialect == "postgres":
                dsn = stack.enter_context(EmbeddedPostgres()).dsn
            elif wanted:
                dsn = stack.enter_context(PrivateMariaDB()).dsn
            for profile in wanted:
                logs = []
                for size in transactions:
                    path = folder / f"recorded-{profile.replace(':', '-')}-{size}.jsonl"
                    isolation = RECORDED_AT.get(profile, profile.partition(":")[2])
                    workload: Workload = Registers(rows, dialect)
                    if application is not None:
                        workload = replace(APPLICATIONS[application], dialect=dialect)
                    record_run(workload, dsn, path, isolation=isolation, sessions=8, transactions=size, seed=seed)
                    logs.append(RawLog.read(path))
                yield profile, logs


if __name__ == "__main__":
    main()
