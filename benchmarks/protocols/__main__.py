"""Every shipped protocol at every level (VerIso table 1 and figure 1): proved, refuted or open, and what it took; every
refutation's log judged again; every guard left out. The figures are printed and written to `figures.md`.

Does not know what should come out.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import platform
import subprocess
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from benchmarks.protocols.confirm import available, confirmed
from benchmarks.protocols.fates import Fate, caught, fate_of
from benchmarks.protocols.refutations import BELOW, Second, second_opinion
from troubadour.model.verdict import Status
from troubadour.protocols.check import Limits, Outcome, Verdict, check
from troubadour.protocols.language import Model
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import SHIPPED, load_model
from troubadour.protocols.proofs.mutants import mutants

VERISO = {"s2pl": (285, 1605, 12, 70), "eiger-port-plus": (746, 9572, 108, 490), "tapir": (386, 565, 12, 14)}
"""Table 1 of the paper: lines of the model and of the proof, invariants, lemmas."""
SHORT = ("RA", "UA", "TCCv", "PSI", "CP", "SI", "SER", "SSER")
RUNS = 600
"""Random runs of each mutant."""
FIGURES = Path(__file__).with_name("figures.md")


def main() -> None:
    """Print the tables, and write them where all were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each protocol and level")
    parser.add_argument("--only", choices=[*SHIPPED], help="one protocol; nothing is written")
    chosen = parser.parse_args()
    names = [chosen.only] if chosen.only else [*SHIPPED]
    begun = time.process_time()
    lines = []
    for line in _all(names, chosen.timeout):
        print(line, flush=True)
        lines.append(line)
    lines.append(f"\n{time.process_time() - begun:.0f} CPU seconds in all.")
    print(lines[-1])
    if not chosen.only:
        FIGURES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _all(names: list[str], timeout: float) -> Iterator[str]:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True)
    yield "# Protocols: the last figures"
    yield ""
    yield (
        f"Commit {commit.stdout.strip()}; Python {platform.python_version()}, Z3 {version('z3-solver')}. Written by "
        "`make protocols`; CPU seconds."
    )
    yield ""
    yield "P: proved, with the obligations. R: refuted, with the steps of the run. Seconds are CPU seconds."
    yield ""
    yield f"| | {' | '.join(SHORT)} |"
    yield "|---" * (len(SHORT) + 1) + "|"
    seconds: list[Second] = []
    proofs: dict[str, tuple[int, float]] = {}
    for name in names:
        model = load_model(name)
        cells = []
        outcomes = {}
        for level in PROTOCOL_LEVELS:
            begun = time.process_time()
            outcomes[level] = outcome = check(model, level, Limits(seconds=timeout))
            took = time.process_time() - begun
            cells.append(f"{_cell(outcome)} {took:.1f} s")
            if level == model.level and outcome.verdict is Verdict.PROVED:
                proofs[name] = (len(outcome.obligations), took)
        yield f"| `{name}` | {' | '.join(cells)} |"
        kept = [level for level, outcome in outcomes.items() if outcome.verdict is Verdict.PROVED]
        for level, outcome in outcomes.items():
            if outcome.trace is not None and outcome.machine is not None:
                seconds.append(second_opinion(outcome.machine, outcome.trace, level, kept))
    yield from _second_opinions(seconds)
    yield from _sizes(names, proofs)
    yield ""
    if available():
        for name in proofs:
            yield confirmed(load_model(name))
    else:
        yield "cvc5 is not installed: the second decision of every proof was Z3's, too."
    for name in names:
        if name in proofs:
            yield from _mutants(name, load_model(name))


def _cell(outcome: Outcome) -> str:
    proved = sum(one.proved for one in outcome.decided)
    match outcome.verdict:
        case Verdict.PROVED:
            return f"P {proved}"
        case Verdict.REFUTED:
            assert outcome.trace is not None
            return f"R {len(outcome.trace.steps)}"
        case _:
            return f"open {proved} of {len(outcome.obligations)}"


def _second_opinions(found: list[Second]) -> Iterator[str]:
    if not found:
        return
    audited = _counts([one.audited for one in found])
    oracle = _counts([one.oracle for one in found if one.oracle is not None])
    given_up = sum(one.oracle is None for one in found)
    kept = _counts([status for one in found for status in one.kept.values()])
    yield ""
    yield (
        f"Logs of {len(found)} refutations. At the level that was refuted the audit says: {audited}; the oracle: "
        f"{oracle}, and {given_up} given up. At the levels that the protocol keeps (`{BELOW}` where it keeps none) the "
        f"audit says: {kept}. {sum(one.agrees for one in found)} of {len(found)} agree in all."
    )


def _counts(found: list[Status]) -> str:
    return ", ".join(f"{status.value} {count} times" for status, count in Counter(found).items())


def _sizes(names: list[str], proofs: dict[str, tuple[int, float]]) -> Iterator[str]:
    yield ""
    yield "Lines, invariants, obligations, CPU seconds; and VerIso's lines, invariants and lemmas (table 1)."
    yield ""
    yield "| | model | proof | invariants | obligations | CPU s | VerIso: model | proof | invariants | lemmas |"
    yield "|---" * 10 + "|"
    for name in names:
        model = load_model(name)
        proof = _proof_lines(model)
        obligations, seconds = proofs.get(name, ("-", None))
        theirs = VERISO.get(name, ("-",) * 4)
        took = "-" if seconds is None else f"{seconds:.1f}"
        ours = (model.lines - proof, proof, len(model.invariants), obligations, took)
        yield f"| `{name}` | {' | '.join(map(str, (*ours, theirs[0], theirs[1], theirs[2], theirs[3])))} |"


def _proof_lines(model: Model) -> int:
    """Lines of invariants and abstractions; the others say what the protocol does."""
    text = textwrap.dedent(inspect.getsource(model.owner))
    (owner,) = ast.parse(text).body
    assert isinstance(owner, ast.ClassDef)
    lines = text.splitlines()
    found = 0
    for one in owner.body:
        if isinstance(one, ast.FunctionDef) and one.decorator_list:
            first = one.decorator_list[0]
            if ast.unparse(first).split("(")[0] in ("invariant", "abstraction", "abstraction_at"):
                found += sum(bool(line.strip()) for line in lines[first.lineno - 1 : one.end_lineno])
    return found


def _mutants(name: str, model: Model) -> Iterator[str]:
    level = PROTOCOL_LEVELS[model.level]
    counts: Counter[Fate] = Counter()
    told = 0
    yield ""
    yield f"`{name}` at {level.name} without one guard ({RUNS} random runs of each):"
    yield ""
    yield "| event | guard left out | proof | run that the audit refuses |"
    yield "|---|---|---|---|"
    for one in mutants(model):
        judged = fate_of(one, level)
        seed = caught(one, level, RUNS)
        assert seed is None or not judged.fate.proved, "a run breaks what was proved"
        counts[judged.fate] += 1
        told += seed is not None
        lost = f"fails: `{judged.lost}`, {judged.fate.value}" if judged.lost else judged.fate.value
        yield f"| {one.event} | `{one.text}` | {lost} | {'-' if seed is None else f'seed {seed}'} |"
    total = sum(counts.values())
    failed = sum(count for fate, count in counts.items() if not fate.proved)
    rest = ", ".join(f"{counts[fate]} {fate.value}" for fate in Fate if fate.proved and counts[fate])
    yield ""
    yield f"{total} mutants: {failed} fail the proof, the audit of a run tells {told} of them; {rest or 'none else'}."


if __name__ == "__main__":
    main()
