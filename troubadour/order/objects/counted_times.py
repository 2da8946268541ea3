"""Reads of counters beside the clock: what was over before a reader began is counted, what began after it ended is not.

Both for every choice of what happened meanwhile (the bounds of Jepsen's counter checker). Does not know which order
holds.
"""

from __future__ import annotations

import numpy as np

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import NEVER, Flags, Ints, column, ranks
from troubadour.facts.objects.facts import Facts, Fault
from troubadour.facts.objects.names import named, shown, soonest
from troubadour.model.objects import COMMITTED, MISSING

LEAST = -(2**63) + 1
"""Before every time."""


@dataclass(frozen=True, slots=True)
class _Spans:
    """When transactions began and ended, by a clock each; MISSING where that is not known. `sure`: it has ended."""

    begun: Ints
    ended: Ints
    clock: Ints
    sure: Flags


def out_of_time(facts: Facts) -> list[Fault]:
    """Reads that show less than was certainly added before them, or more than can have been."""
    if not len(facts.sums.at) or not len(facts.sums.visit):
        return []
    log = facts.accesses.log
    committed = np.frombuffer(log.statuses, np.uint8) == COMMITTED
    starts, commits = column(log.starts), column(log.commits)
    none = np.zeros(len(log), np.int64)
    if bool((commits != MISSING).any()) or bool((starts != MISSING).any()) or log.more:
        spans = _Spans(starts, commits, none, np.ones(len(log), np.bool_))
    else:
        spans = _Spans(column(log.invoked), column(log.returned), np.array(log.clocks, np.int64), committed)
    return _bounded(facts, spans)


def _bounded(facts: Facts, spans: _Spans) -> list[Fault]:
    accesses, sums = facts.accesses, facts.sums
    rank = ranks(accesses.log)
    some = np.flatnonzero(rank[sums.txn] < NEVER)
    reader, cell = sums.txn[some], accesses.cell[sums.at[some]]
    adder, added_cell = accesses.visit_txn[sums.visit], accesses.visit_cell[sums.visit]
    clocks = int(spans.clock.max(initial=0)) + 1
    group, added_group = cell * clocks + spans.clock[reader], added_cell * clocks + spans.clock[adder]
    over = spans.ended[adder] != MISSING
    over &= spans.sure[adder] & (rank[adder] < NEVER)
    before = (added_group[over], spans.ended[adder[over]], sums.net[over])
    later = spans.begun[adder] != MISSING
    after = (added_group[later], -spans.begun[adder[later]], sums.net[later])
    # the sums of what ended before a reader began, and of what began after it ended
    certain = _below(before, group, np.where(spans.begun[reader] == MISSING, LEAST, spans.begun[reader]))
    ended = np.where(spans.sure[reader] & (spans.ended[reader] != MISSING), -spans.ended[reader], LEAST)
    never = _below(after, group, ended)
    size = len(accesses.key)
    total = [np.zeros(size, np.int64), np.zeros(size, np.int64)]
    for one, part in zip(total, (np.minimum(sums.net, 0), np.maximum(sums.net, 0)), strict=True):
        np.add.at(one, added_cell, part)
    own = np.zeros(len(accesses.visit_txn), np.int64)
    own[sums.visit] = sums.net
    mine = own[accesses.visit[sums.at[some]]]
    taken = total[0][cell] - never[0] - np.minimum(mine, 0) + certain[1]
    given = total[1][cell] - never[1] - np.maximum(mine, 0) + certain[0]
    off = sums.off[some]
    mixed = accesses.of_type("register") | ((total[0] < 0) & (total[1] > 0))
    low, high = off < taken, off > given
    wrong = np.flatnonzero(low | high)
    found = []
    for place in wrong[soonest(accesses, sums.at[some[wrong]])].tolist():
        at = int(sums.at[some[place]])
        txn = int(reader[place])
        bound = int(taken[place] if low[place] else given[place]) + int(sums.first[some[place]])
        seen = shown(accesses.log.seen(int(accesses.op[at])))
        text = f"it read {seen} of {named(accesses, at)}, where there was "
        text += f"at least {bound} by what was over before" if low[place] else f"at most {bound} by what had begun"
        name = "stale-read" if low[place] else "future-read"
        # of what was over before as much as the rest does not make up for, the first ones in the hint order
        sign = 1 if low[place] else -1
        there = (before[0] == group[place]) & (before[1] < spans.begun[txn]) & (sign * before[2] > 0)
        rest = taken[place] - certain[1][place] if low[place] else given[place] - certain[0][place]
        needed, since = _enough(adder[over][there], sign * before[2][there], sign * int(off[place] - rest), rank)
        if mixed[cell[place]]:
            # what all make of it together tells it
            behind = (ended[place] != LEAST) & (spans.begun[adder] > -ended[place])
            needed = adder[(added_cell == cell[place]) & ~behind & (adder != txn)]
        found.append(Fault(name, txn, at, text, since=max(since, int(rank[txn])), others=tuple(needed.tolist())))
    return found


def _enough(txn: Ints, net: Ints, off: int, rank: Ints) -> tuple[Ints, int]:
    """As few transactions as add up to more than that, of the fewest first ones that do, and the rank of the last of
    these; none where it is below nothing."""
    if off < 0:
        return txn[:0], 0
    first = np.argsort(rank[txn], kind="stable")
    first = first[: int(np.searchsorted(np.cumsum(net[first]), off, side="right")) + 1]
    since = int(rank[txn[first]].max(initial=0))
    order = first[np.argsort(-net[first], kind="stable")]
    count = int(np.searchsorted(np.cumsum(net[order]), off, side="right")) + 1
    return txn[order[:count]], since


def _below(rows: tuple[Ints, Ints, Ints], group: Ints, time: Ints) -> tuple[Ints, Ints]:
    """Of each asked group and time the sum of the negative amounts of rows of the group of a lesser time, and of the
    positive ones."""
    of, when, amount = rows
    names, numbered = np.unique(np.concatenate((when, time)), return_inverse=True)
    width = len(names) + 1
    keys = of * width + numbered[: len(when)]
    order = np.argsort(keys, kind="stable")
    keys, amount = keys[order], amount[order]
    last = np.searchsorted(keys, group * width + numbered[len(when) :])
    first = np.searchsorted(keys, group * width)
    found = []
    for part in (np.minimum(amount, 0), np.maximum(amount, 0)):
        upto = np.concatenate(([0], np.cumsum(part)))
        found.append(upto[last] - upto[first])
    return found[0], found[1]
