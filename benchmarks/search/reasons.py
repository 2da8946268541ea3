"""An experiment: what the closed reasons of failed runs decide, as clauses over orders (docs/steps.md).

What is undecided in the kept results of ``make verdicts`` is run along an order; where a transaction fails, the reason
becomes a clause, and
the solver gives another order that has every clause. A reason is closed: of each place that the run looked at, or each
table where its places are not told, the last that surely wrote there and those after it that may have, in this order;
that all others which may write there do not stand between; and the same for each of these. Where the clauses leave no
order, what excludes all is made small, and asked of the refuter that audits trust. Run as
``python -m benchmarks.search.reasons``; ``--verdict correct`` is the control.
Does not know which orders a session or snapshot allows besides: levels of one serial order only.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import click
import z3

from benchmarks.verdicts.corpus import Entry, corpus
from benchmarks.verdicts.results import LAST
from sql_semantics.ir.walks.effects import touched_tables
from troubadour.coverage.library import library_of
from troubadour.execution.free.choices import Choices
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.effects import Place, places_of
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.formats import read_log
from troubadour.order.engine import certain_of
from troubadour.order.history import INITIAL
from troubadour.problem.budget import A_MINUTE, Budget
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.cores.few_in_every_order import Meter, few_in_every_order
from troubadour.search.schedule.trace import Trace

SERIAL = ("serializable", "strict-serializable")

NEAR = 16
"""Places from its own in the hint order within which a transaction stands, as long as there is such an order."""

ROUNDS = 5
"""Questions for a smaller core before each of its clauses is left out in turn."""

Before = tuple[int, int]
"""One transaction stands before another."""


@dataclass(slots=True)
class Told:
    """What came of one log: the longest prefix of an order that was explained, the clauses learned, their literals, and
    how it ended; where no order was left the transactions whose clauses exclude all, and whether a refuter confirms
    that."""

    transactions: int = 0
    explained: int = 0
    clauses: int = 0
    literals: list[int] = field(default_factory=list)
    ended: str = "time"
    core: int = 0
    confirmed: bool = False


class Learning:
    """Orders of one log, each with every clause that was learned."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._items = list(problem.committed)
        self._place = {item: z3.Int(f"p{item}") for item in self._items}
        self._solver = z3.SolverFor("QF_IDL")
        self._near, zero = z3.Bool("near"), z3.Int("zero")
        for number, place in enumerate(self._place.values()):
            close = z3.And(place - zero >= number - NEAR, place - zero <= number + NEAR)
            self._solver.add(z3.Implies(self._near, close))
        self._trace = Trace(problem)
        self._accounts = accounts_for(problem, problem.levels[self._items[0]])
        self._keyed = places_of(problem)
        self._at: dict[Place, set[int]] = defaultdict(set)
        self._surely: dict[Place, set[int]] = defaultdict(set)
        self._in: dict[str, set[int]] = defaultdict(set)
        self._wild: dict[str, set[int]] = defaultdict(set)
        for item in self._items:
            account = self._accounts.of(item)
            for place, written in account.wrote.items():
                self._at[place].add(item)
                self._in[place[0]].add(item)
                if written.certain:
                    self._surely[place].add(item)
            for table in account.wild:
                self._in[table].add(item)
                self._wild[table].add(item)
        self._constraints: list[tuple[z3.BoolRef, set[int]]] = []
        self.told = Told(len(self._items))

    def run(self, seconds: float) -> Told:
        """Look for an order for so many seconds of the processor."""
        until = time.process_time() + seconds
        self._give_what_is_known()
        order = list(self._items)
        while True:
            failed = self._along(order)
            if failed is None:
                self.told.ended = "an order"
                return self.told
            reason = self._closed(failed)
            self.told.clauses += 1
            self.told.literals.append(len(reason))
            clause = z3.Or([self._place[later] < self._place[earlier] for earlier, later in reason])
            self._add(clause, {item for pair in reason for item in pair})
            left = until - time.process_time()
            if left <= 0:
                return self.told
            self._solver.set("timeout", max(1, int(1000 * left)))
            answer = self._solver.check(self._near)
            if answer != z3.sat:
                answer = self._solver.check()
            if answer != z3.sat:
                self.told.ended = "no order" if answer == z3.unsat else "time of the solver"
                if answer == z3.unsat:
                    self._confirm()
                return self.told
            model = self._solver.model()
            places = {item: model.eval(place, model_completion=True).as_long() for item, place in self._place.items()}
            order = sorted(self._items, key=lambda item: (places[item], item))

    def _give_what_is_known(self) -> None:
        """Times, and the sources of reads by key, as the engine knows them."""
        problem, place = self._problem, self._place
        for later in self._items:
            for earlier in self._items:
                if earlier != later and must_precede(problem, earlier, later):
                    self._add(place[earlier] < place[later], {earlier, later})
        known = certain_of(problem).known
        if known is None:
            return
        history = known.history
        items = {event: item for item, event in history.commit.items() if item in place}
        for edge in known.graph.edges:
            if edge.earlier in items and edge.later in items:
                pair = items[edge.earlier], items[edge.later]
                self._add(place[pair[0]] < place[pair[1]], set(pair))
        for read, sources in zip(known.reads, known.sources, strict=True):
            if read.event in items and not read.unseen:
                taken = z3.Or([self._taken(items, read.event, read.others, source) for source in sources])
                self._add(taken, {items[read.event], *(items[source] for source in sources if source in items)})

    def _add(self, constraint: z3.BoolRef, items: set[int]) -> None:
        self._solver.add(constraint)
        self._constraints.append((constraint, items))

    def _confirm(self) -> None:
        """Whether those whose constraints have no order are refuted by what audits trust."""
        tracked = z3.Solver()
        tracked.set("timeout", 20_000)
        left = list(range(len(self._constraints)))
        for number in left:
            tracked.add(z3.Implies(z3.Bool(f"c{number}"), self._constraints[number][0]))
        for _ in range(ROUNDS):
            if tracked.check([z3.Bool(f"c{number}") for number in left]) != z3.unsat:
                return
            core = [int(str(name)[1:]) for name in tracked.unsat_core()]
            if len(core) == len(left):
                break
            left = core
        for number in list(left):
            fewer = [other for other in left if other != number]
            if tracked.check([z3.Bool(f"c{other}") for other in fewer]) == z3.unsat:
                left = fewer
        items = {item for number in left for item in self._constraints[number][1]}
        self.told.core = len(items)
        with suppress(OutOfTime), self._problem.budget.within(effort=A_MINUTE):
            core_found = few_in_every_order(self._problem, items, Meter(self._problem.budget))
            self.told.confirmed = core_found is not None

    def _taken(self, items: dict[int, int], reader: int, others: int, source: int) -> z3.BoolRef:
        place = self._place
        at = place[items[reader]]
        commits = [
            place[item] for event, item in items.items() if others >> event & 1 and event not in (reader, source)
        ]
        if source == INITIAL:
            return z3.And([at < other for other in commits])
        if source not in items:
            return z3.BoolVal(True)
        wrote = place[items[source]]
        return z3.And(wrote < at, *(z3.Or(other < wrote, at < other) for other in commits))

    def _along(self, order: list[int]) -> int | None:
        """Run the transactions along an order; the first one that fails."""
        trace = self._trace
        same = 0
        while same < len(trace) and trace.item_at(same + 1) == order[same]:
            same += 1
        trace.truncate(same)
        for item in order[same:]:
            candidate = trace.run(item, Choices(len(trace)), len(trace), trace.masked(item), tolerant=True)
            if candidate.failure is not None:
                return item
            trace.keep(candidate)
            self.told.explained = max(self.told.explained, len(trace))
        return None

    def _closed(self, failed: int) -> set[Before]:
        """What of the order makes the run of an item what it is, placed next."""
        order = [placement.item for placement in self._trace.placements]
        reason: set[Before] = set()
        open_items, seen = [failed], {failed}
        while open_items:
            item = open_items.pop()
            at = order.index(item) if item != failed else len(order)
            before = order[:at]
            for writers, certain in self._met(item):
                writers -= {item}
                reason |= {(item, other) for other in writers.difference(before)}
                chain: list[int] = []
                for other in reversed(before):
                    if other in writers:
                        chain.append(other)
                        if other in certain:
                            break
                reason |= {(earlier, later) for later, earlier in pairwise([item, *chain])}
                if chain:
                    reason |= {(other, chain[-1]) for other in writers.intersection(before).difference(chain)}
                open_items += set(chain) - seen
                seen.update(chain)
        return reason

    def _met(self, item: int) -> Iterator[tuple[set[int], set[int]]]:
        """Of each place or table that an item looks at those that may write there, and those that surely do."""
        account = self._accounts.of(item)
        keyed = {} if account.named is None or account.wild else self._keyed
        for place in account.named or ():
            if place[0] in keyed:
                yield self._at[place] | self._wild[place[0]], self._surely[place]
        for table in self._tables(item) - set(keyed):
            yield set(self._in[table]), set()

    def _tables(self, item: int) -> set[str]:
        catalog = self._problem.library.catalog
        programs = [statement.program for statement in self._problem.prepared(item).statements]
        return {
            table for program in programs if program is not None for table in touched_tables(program.statement, catalog)
        }


def wanted(folder: Path, verdict: str) -> Iterator[Entry]:
    """What ended so in the kept results because of the search; of correct ones only contended runs."""
    results = json.loads(LAST.read_text(encoding="utf-8"))["results"]
    for entry in corpus(folder):
        kept = results.get(entry.key, {})
        searched = verdict != "undecided" or "limit" in kept.get("reason", "") or "order" in kept.get("reason", "")
        if kept.get("verdict") == verdict and searched and entry.family in ("contended", "simulated", "anomalous"):
            yield entry


@click.command()
@click.option("--seconds", default=30.0, show_default=True, help="of the processor, for each log")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/verdicts"), show_default=True)
@click.option("--verdict", default="undecided", show_default=True, help="what was kept: correct, as a control")
def main(seconds: float, folder: Path, verdict: str) -> None:
    """Run the experiment on what is undecided."""
    heads = "log | level | transactions | explained at most | clauses | literals of one | ended | core | confirmed | s"
    print(f"| {heads} |")
    print("|---|---|---:|---:|---:|---:|---|---:|---|---:|")
    for entry in wanted(folder, verdict):
        log = read_log(entry.paths)
        library = library_of(log)
        problem = Problem(log, library, known_rows(log, library), isolation=entry.level, budget=Budget())
        if entry.level not in SERIAL:
            continue
        begun = time.process_time()
        told = Learning(problem).run(seconds)
        middle = sorted(told.literals)[len(told.literals) // 2] if told.literals else 0
        cells = (
            told.transactions,
            told.explained,
            told.clauses,
            middle,
            told.ended,
            told.core,
            told.confirmed,
            round(time.process_time() - begun, 1),
        )
        print(f"| {entry.name} | {entry.level} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
