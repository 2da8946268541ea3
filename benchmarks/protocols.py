"""Every shipped protocol at every level (VerIso table 1 and figure 1): proved, refuted or open, and what it took.

Does not know what should come out.
"""

from __future__ import annotations

import argparse
import time

from troubadour.protocols.check import Limits, Verdict, check
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import SHIPPED, load_model

VERISO = {"s2pl": (285, 1605, 12, 70), "eiger-port-plus": (746, 9572, 108, 490), "tapir": (386, 565, 12, 14)}
"""Table 1 of the paper: lines of the model and of the proof, invariants, lemmas."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each protocol and level")
    parser.add_argument("--only", choices=[*SHIPPED], help="one protocol")
    chosen = parser.parse_args()
    print(f"{'protocol':<17} {'level':<20} verdict  CPU s  obligations  steps")
    for name in [chosen.only] if chosen.only else SHIPPED:
        model = load_model(name)
        for level in PROTOCOL_LEVELS:
            begun = time.process_time()
            outcome = check(model, level, Limits(seconds=chosen.timeout))
            took = time.process_time() - begun
            proved = sum(one.proved for one in outcome.decided)
            steps = len(outcome.trace.steps) if outcome.trace is not None else "-"
            obligations = f"{proved}/{len(outcome.obligations)}" if outcome.verdict is not Verdict.REFUTED else "-"
            print(
                f"{name:<17} {level:<20} {outcome.verdict.value:<8} {took:>5.1f}  {obligations:>11}  {steps}",
                flush=True,
            )
    print("\nprotocol           lines  invariants   VerIso: lines of model and proof, invariants, lemmas")
    for name in SHIPPED:
        model = load_model(name)
        theirs = VERISO.get(name)
        print(f"{name:<17} {model.lines:>6}  {len(model.invariants):>10}   {theirs if theirs else '-'}")


if __name__ == "__main__":
    main()
