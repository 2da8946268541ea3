"""``python -m benchmarks.verdicts``: audit the corpus, print what each audit came to, compare with the last pass.

Fails where a verdict was lost or the work grew beyond 1.3 times. ``--update`` keeps the new results. Does not know what
is in the corpus.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.verdicts.corpus import Entry, corpus
from benchmarks.verdicts.implied import contradictions, is_exact
from benchmarks.verdicts.measure import Auditor, Figures
from benchmarks.verdicts.results import (
    LAST,
    Pass,
    Result,
    digest,
    heavier_families,
    is_heavier,
    lost,
    read,
    write,
)

AGAIN = 2
"""How often an audit that seems to have become heavier is measured again; the least counts."""
AMPLE = 2.0
"""An audit may take so many times what it took last, before it counts as undecided."""


@click.command()
@click.argument("families", nargs=-1)
@click.option("--fast", is_flag=True, help="The short corpus only.")
@click.option("--update", is_flag=True, help="Keep these results as the last ones.")
@click.option("--python", type=click.Path(path_type=Path), help="The interpreter of another installation to measure.")
@click.option("--hash-seed", default=0, show_default=True, help="PYTHONHASHSEED of the audits.")
@click.option("--last", type=click.Path(path_type=Path), default=LAST, help="The results to compare with.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/verdicts"), show_default=True)
@click.option("--scale", default=1.0, show_default=True, help="Limits of processor time, times this.")
@click.option("--quiet", is_flag=True, help="Print only what changed.")
def main(
    families: tuple[str, ...],
    fast: bool,
    update: bool,
    python: Path | None,
    hash_seed: int,
    last: Path,
    folder: Path,
    scale: float,
    quiet: bool,
) -> None:
    """Audit the corpus, or some of its FAMILIES, and compare with the last results."""
    entries = [
        entry for entry in corpus(folder) if (not families or entry.family in families) and (entry.fast or not fast)
    ]
    before = read(last)
    results: dict[str, Result] = {}
    troubles: list[str] = []
    pairs: list[tuple[Entry, Figures, Figures]] = []
    verdicts: dict[str, dict[str, str]] = {}
    with Auditor(python, hash_seed) as auditor:
        for entry in entries:
            log = digest(entry.paths)
            stored = before.results.get(entry.key) if before is not None else None
            old = stored.figures if stored is not None and stored.log == log else None
            now = _measured(auditor, entry, old, scale)
            results[entry.key] = Result(log, now)
            if not is_exact(entry.paths[0]):
                verdicts.setdefault(f"{entry.family}/{entry.name}", {})[entry.level or "own"] = now.claim
            trouble = lost(entry, old, now)
            if trouble is None and is_heavier(old, now):
                assert old is not None
                trouble = f"work was {old.work:.1f} s, is {now.work:.1f} s"
            if trouble is not None:
                troubles.append(f"{entry.key}: {trouble}")
            if old is not None:
                pairs.append((entry, old, now))
            if not quiet or trouble is not None or (old is not None and old.verdict != now.verdict):
                print(_line(entry, old, now, trouble), flush=True)
    troubles += heavier_families(pairs)
    troubles += [] if families or fast else sorted(before.results.keys() - results.keys()) if before else []
    _summary(entries, results)
    for text in contradictions(verdicts):
        print(f"contradiction: {text}")
    if update:
        kept = {**(before.results if before is not None and (families or fast) else {}), **results}
        write(Pass(_commit(python), kept), last)
    for text in troubles:
        print(f"LOST {text}")
    raise SystemExit(bool(troubles) and not update)


def _measured(auditor: Auditor, entry: Entry, old: Figures | None, scale: float) -> Figures:
    limit = entry.cpu * scale
    if old is not None and old.decided:
        limit = max(limit, AMPLE * old.cpu)
    now = auditor.audit(entry.paths, entry.level, limit)
    for _ in range(AGAIN):
        if not is_heavier(old, now):
            break
        again = auditor.audit(entry.paths, entry.level, limit)
        now = replace(again, work=min(now.work, again.work), cpu=min(now.cpu, again.cpu))
    return now


def _line(entry: Entry, old: Figures | None, now: Figures, trouble: str | None) -> str:
    marks = "LOST" if trouble is not None else "" if now.verdict in entry.right else "wrong" if now.decided else "-"
    scope = {"every-order": "", None: ""}.get(now.scope, f" {now.scope}")
    core = "" if now.core is None else f" core {now.core}"
    change = "" if old is None or (old.verdict, old.scope) == (now.verdict, now.scope) else f"  was {old.verdict}"
    text = f"{entry.key:72} {now.verdict}{scope}{core}"
    return f"{text:110} {now.verified or 0:6,} {now.work:7.2f} s {now.peak:5} MiB {marks}{change}"


def _summary(entries: list[Entry], results: dict[str, Result]) -> None:
    known = [entry for entry in entries if len(entry.right) == 1]
    found = Counter(results[entry.key].figures.verdict for entry in entries)
    right = sum(results[entry.key].figures.verdict in entry.right for entry in known)
    wrong = [e for e in known if (f := results[e.key].figures).decided and f.verdict not in e.right]
    work = sum(result.figures.work for result in results.values())
    cpu = sum(result.figures.cpu for result in results.values())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items()))
    print(f"\n{len(entries)} audits: {counts}; {cpu:.0f} s of processor, {work:.0f} s of work")
    print(f"{len(known)} of them with one right verdict: {right} reached, {len(wrong)} decided wrongly")


def _commit(python: Path | None) -> str:
    folder = python.absolute().parents[2] if python is not None else Path(__file__).parents[2]
    found = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
