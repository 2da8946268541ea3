"""Logs of simulated replicated stores, longer than an oracle could judge: sites apply each other's commits in an order
of their own. Deterministic by seed; correct at their level by construction.

`causal`: a site applies a commit after all that it depends on; `atomic`: whole, in any order. Versions are totally
ordered by when they were committed. Does not know SQL beyond one table of registers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.case_files import read_case
from troubadour.model.log import Log

ROWS = 6


@dataclass
class _Site:
    seen: set[int] = field(default_factory=set)


def replicated_log(
    seed: int, folder: Path, *, count: int, causal: bool, conflicts: bool, sites: int = 3, timed: bool = False
) -> Log:
    """A log of `count` transactions. `conflicts` False: nobody writes to a row of which a version is not seen."""
    rng = random.Random(f"replicated {seed} {causal} {conflicts}")
    places = [_Site() for _ in range(sites)]
    writes: list[dict[str, int]] = []
    pasts: list[set[int]] = []
    initial = " ".join(f"('r{n}', 0)" for n in range(ROWS))
    lines = ["# level: causal  expect: correct", "schema: kv.sql", f"init kv {initial}"]
    for number in range(count):
        site = rng.randrange(sites)
        seen = places[site].seen
        for other in range(number):
            if other not in seen and rng.random() < 0.25 and (not causal or pasts[other] <= seen):
                seen.add(other)
        view = {f"r{n}": 0 for n in range(ROWS)}
        newest = {f"r{n}": -1 for n in range(ROWS)}
        for other in sorted(seen):
            view |= writes[other]
        for other, written in enumerate(writes):
            newest |= dict.fromkeys(written, other)
        free = [key for key in view if newest[key] in seen or newest[key] < 0]
        own: dict[str, int] = {}
        text: list[Any] = []
        if rng.random() < 0.3:
            rows = " ".join(f"('{key}', {value})" for key, value in sorted(view.items()))
            text.append(f"SELECT k, v FROM kv  -> {rows}")
        else:
            key = rng.choice(sorted(view))
            text.append(f"SELECT v FROM kv WHERE k = '{key}'  -> ({view[key]})")
            for key in rng.sample(sorted(view), 2):
                if conflicts or key in free:
                    own[key] = view[key] * 2 + number + 1
                    text.append(f"UPDATE kv SET v = v * 2 + {number + 1} WHERE k = '{key}'  -> affected 1")
        times = f" @{10 * number}-{10 * number + 1}" if timed else ""
        lines.append(f"t{number} session:s{site}{times}  {text[0]}")
        lines += [f"  {line}" for line in text[1:]]
        pasts.append(set(seen))
        seen.add(number)
        writes.append(own)
    return read_case("\n".join(lines), f"replicated-{seed}").log(folder)
