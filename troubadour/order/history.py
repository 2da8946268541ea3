"""What a log's transactions tell of one another, as events and constraints over them (docs/architecture.md, *Engine*).

Each transaction has a commit event and, where it may read older states, a snapshot event before it; at levels at
which it reads the newest state the two are one. An observation becomes a `Read`: at its event one of some versions of
a place was the newest. What may have left a value is looked up in an index, and never listed by pairs: the other
writers of a place are a set of bits. Does not know which order holds, nor how one is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from sql_semantics.records import dataclass, field, replace
from troubadour.facts.sql.counted import Counted, counted, is_otherwise_as
from troubadour.facts.sql.effects import Account, Accounts, Known, Place, Unknown, Written, may_agree, reads_once
from troubadour.facts.sql.events import Moment, ViewClocks, clocks, item_at, viewing_statement
from troubadour.facts.sql.view_accounts import RowAccounts, reads_rows, reads_views
from troubadour.isolation.levels import Conflict, Level, Visible
from troubadour.order.counters import Counter
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem

Refuted = TypeVar("Refuted")

INITIAL = -1
"""Stands for the initial version among the versions that a read may have taken."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The model that a history is made for. `level` gives sessions, real time and conflicts; `latest`: each transaction
    reads the newest state, so that it has one event; `views`: its statements read views of their own, each of which has
    one; `any_version`: each row that it reads may be of any commit before its own, whatever came between."""

    level: Level
    latest: bool
    views: bool = False
    any_version: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """At `event` the newest version of a place was one that an event of `sources` made. `others` are the commits, as
    bits, that certainly leave something else there. `item` is the transaction that saw it.

    A transaction that may not overwrite a version that it has not seen has one more: its only source is its own
    snapshot (`unseen`), after which no commit of another transaction to the place comes before its own. `known` is what
    was seen otherwise."""

    event: int
    item: int
    place: int
    sources: tuple[int, ...]
    others: int
    known: Known = Unknown.ROW
    unseen: bool = False


@dataclass(slots=True)
class History:
    """The events of a log's transactions, what is known of their order (`edges`, with why), and what was read. `items`
    are the transactions by number; `commit` and `snapshot` their events; `names` says what an event is. `writers` are
    the commits, as bits, that certainly change a place. `unexplained` is a read that nothing can have been seen by."""

    items: list[int]
    names: list[Moment] = field(default_factory=list)
    commit: dict[int, int] = field(default_factory=dict)
    snapshot: dict[int, int] = field(default_factory=dict)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    written: dict[int, list[int]] = field(default_factory=dict)
    """The places that a commit certainly or possibly changes, by its event."""
    because: dict[int, int] = field(default_factory=dict)
    """Of those that need not have happened, the read (by number) that only they can have left something for."""
    optional: set[int] = field(default_factory=set)
    """The transactions that need not have happened."""
    counters: list[Counter] = field(default_factory=list)
    """The rows that are only counted; what is read of these is no `Read`."""

    def item_of(self, event: int) -> int | None:
        """The transaction whose event it is; None for a tick of a clock."""
        return item_at(self.names[event])

    def depth(self, item: int) -> int:
        """Of how many transactions, each for the next, it is told that they happened before it is of this one."""
        found = 0
        other: int | None = item
        while other is not None and other in self.because:
            found += 1
            other = self.reads[self.because[other]].item
        return found


def applies(problem: Problem, level: Level) -> bool:
    """Whether every transaction reads one state, or each of its statements one, or each row is of one, and rows are all
    that it meets there: then what a history holds is certain."""
    one_level = all(other is level for other in problem.levels)
    reads_states = reads_once(problem, level) or reads_views(problem, level) or reads_rows(problem, level)
    return level.visible is Visible.STATE and one_level and reads_states


def rules_of(problem: Problem, level: Level) -> Rules:
    """The level's own model, where it applies."""
    if reads_rows(problem, level):
        return Rules(level, latest=True, any_version=True)
    return Rules(level, latest=level.horizon.latest, views=reads_views(problem, level))


def history_of(problem: Problem, rules: Rules, accounts: Accounts, prefix: int | None = None) -> History:
    """The history of a problem's committed transactions and those of unknown outcome; with a `prefix` of so many
    committed ones, the others need not have happened. Raises OutOfTime."""
    return _Maker(problem, rules, accounts, prefix).made()


def shortest_prefix(
    count: int,
    whole: Refuted,
    refute: Callable[[int], Refuted | None],
    ends: Callable[[Refuted], int | None] = lambda _: None,
    explained: int = 0,
) -> tuple[int, Refuted]:
    """The number of committed transactions of the shortest prefix that is refuted, with any of the later ones, and how;
    `whole` refutes all `count` of them. `ends`: the prefix at which what was refuted is likely to end, where it is
    told: asked first, and then the one before it, as each question about a long log takes its time. `explained`: so
    many are, so that no prefix of these is refuted; where nothing else is told, the one after these is asked first."""
    low, high = min(explained + 1, count), count
    one_less = False
    while low < high:
        end = ends(whole)
        middle = (low + high) // 2
        if end is not None and low <= end < high:
            middle = end
        elif end is None and 1 < low == explained + 1:
            middle = low
        one_less = end == high and not one_less
        if one_less:
            middle = high - 1
        shorter = refute(middle)
        if shorter is None:
            low = middle + 1
        else:
            high, whole = middle, shorter
    return high, whole


def bits_of(numbers: Iterable[int]) -> int:
    """The numbers as bits."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


class _Versions:
    """Which transactions may have left what at a place."""

    def __init__(self, initial: Known) -> None:
        self.initial = initial
        self.written: dict[int, Written] = {}
        self.wild: list[int] = []
        self._by_row: dict[Known, list[int]] | None = None
        self._vague: list[int] = []
        self._found: dict[Known, tuple[tuple[int, ...], int]] = {}
        self._certain: int | None = None

    def sources(self, value: Known) -> tuple[tuple[int, ...], int]:
        """The events that may have left a value there, and as bits those that certainly leave another one."""
        found = self._found.get(value)
        if found is None:
            found = self._found[value] = self._looked_up(value)
        return found

    def _looked_up(self, value: Known) -> tuple[tuple[int, ...], int]:
        candidates: Sequence[int] = [*self.written]
        if _is_whole(value):
            candidates = [*self._index().get(value, ()), *self._vague]
        sources = [event for event in candidates if may_agree(self.written[event].after, value)]
        others = self.certain() & ~bits_of(sources)
        if may_agree(self.initial, value):
            sources.append(INITIAL)
        return (*sources, *self.wild), others

    def _index(self) -> dict[Known, list[int]]:
        if self._by_row is None:
            self._by_row = defaultdict(list)
            for event, written in self.written.items():
                if _is_whole(written.after):
                    self._by_row[written.after].append(event)
                else:
                    self._vague.append(event)
        return self._by_row

    def certain(self) -> int:
        """The events that certainly write here, as bits."""
        if self._certain is None:
            self._certain = bits_of(event for event, written in self.written.items() if written.certain)
        return self._certain

    def all_differ(self) -> bool:
        """Whether no two versions, nor the initial one, can be equal, and all are certain."""
        if self.wild or not all(one.certain and _is_whole(one.after) for one in self.written.values()):
            return False
        return len({self.initial, *(one.after for one in self.written.values())}) == len(self.written) + 1


def _is_whole(value: Known) -> bool:
    return value is None or (isinstance(value, tuple) and Unknown.VALUE not in value)


class _Maker:
    def __init__(self, problem: Problem, rules: Rules, accounts: Accounts, prefix: int | None) -> None:
        self._problem = problem
        self._rules = rules
        self._accounts = accounts
        items = sorted([*problem.committed, *problem.unknown])
        later = [] if prefix is None else problem.committed[prefix:]
        self._history = History(items, optional={*problem.unknown, *later})
        self._of: dict[int, Account] = {}
        self._versions: dict[Place, _Versions] = {}
        self._number: dict[Place, int] = {}
        self._counted: dict[Place, tuple[Counted, Counter]] = {}
        self._counts: dict[Place, dict[int, tuple[int, Known]]] = {}
        """Of a counted row by event: how much was counted then, and what was seen."""
        self._happened: set[int] = set()
        self._sent: dict[str | None, dict[int, int]] = defaultdict(dict)
        """By clock when commits were sent, by their events."""

    def made(self) -> History:
        history, problem = self._history, self._problem
        for item in history.items:
            problem.budget.left()
            self._of[item] = self._accounts.of(item)
            own = history.commit[item] = self._event("place", item)
            times = problem.times[item]
            if times.sent is not None:
                self._sent[times.clock][own] = times.sent
            history.snapshot[item] = self._event("snapshot", item) if self._has_snapshot() else history.commit[item]
        self._collect()
        self._count()
        for item in history.items:
            problem.budget.left()
            own = history.commit[item]
            if history.snapshot[item] != own:
                history.edges.append((history.snapshot[item], own, "its snapshot is before its commit"))
        pending = [item for item in reversed(history.items) if item not in history.optional]
        self._happened = set(pending)
        while pending:
            self._read(pending.pop(), pending)
        for place, (_, counter) in self._counted.items():
            counter.close(self._counts[place])
            history.counters.append(counter)
        self._follow_sessions()
        self._follow_times()
        return history

    def _has_snapshot(self) -> bool:
        """Whether a transaction has a snapshot of its own, before its commit."""
        return not self._rules.latest and (not self._rules.views or self._rules.level.acts)

    def _event(self, kind: str, name: object) -> int:
        self._history.names.append((kind, name))
        return len(self._history.names) - 1

    def _collect(self) -> None:
        initial = self._accounts.initial
        wild: dict[str, list[int]] = defaultdict(list)
        for item, account in self._of.items():
            for table in account.wild:
                wild[table].append(self._history.commit[item])
        touched = {place for account in self._of.values() for place in (*account.met, *account.wrote)}
        touched.update(place for account in self._of.values() for met in account.views.values() for place in met)
        for place in sorted(touched, key=repr):
            versions = self._versions[place] = _Versions(initial.get(place))
            versions.wild = wild[place[0]]
            self._number[place] = len(self._history.places)
            self._history.places.append(place)
        for item, account in self._of.items():
            event = self._history.commit[item]
            for place, written in account.wrote.items():
                if place[0] in account.wild:
                    continue
                certain = written.certain and item not in self._history.optional
                self._versions[place].written[event] = replace(written, certain=certain)
                self._history.written.setdefault(event, []).append(self._number[place])

    def _count(self) -> None:
        """Find the rows that are only counted. A write is of the newest version where none may overwrite what was
        not seen, or all see the newest state."""
        level = self._rules.level
        newest = (self._rules.latest and not self._rules.any_version) or self._rules.views
        if level.conflict is Conflict.COLUMNS or not (newest or level.write_conflict):
            return
        by_version = newest or level.conflict is Conflict.VERSIONS
        for place, versions in self._versions.items():
            found = None if versions.wild else counted(versions.initial, versions.written.values(), newest=by_version)
            if found is None:
                continue
            counter = Counter(self._number[place])
            for event, written in versions.written.items():
                if found.added_by(written):
                    adds = counter.adds if written.certain else counter.may_add
                    adds[event] = found.added_by(written)
            counter.add_up()
            self._counted[place] = found, counter
            self._counts[place] = {}

    def _read(self, item: int, pending: list[int]) -> None:
        """Note what a transaction saw; those that alone can have left that have happened, too (`pending`)."""
        count = len(self._history.reads)
        self._note(item)
        for number in range(count, len(self._history.reads)):
            read = self._history.reads[number]
            if len(read.sources) == 1 and read.sources[0] != INITIAL:
                source = self._history.item_of(read.sources[0])
                if source is not None and source not in self._happened:
                    self._happened.add(source)
                    self._history.because[source] = number
                    pending.append(source)

    def _note(self, item: int) -> None:
        account, level = self._of[item], self._rules.level
        if self._rules.views:
            self._note_views(item, account)
            return
        if isinstance(self._accounts, RowAccounts):
            self._note_rows(item, account, self._accounts)
            return
        start, end = self._history.snapshot[item], self._history.commit[item]
        for place, known in account.met.items():
            self._saw(item, start, place, known)
            if start != end and place[0] not in account.wild and self._keeps(account, place, known):
                self._saw(item, end, place, known, is_read=False)
        for place, written in account.wrote.items():
            if place[0] in account.wild:
                continue
            if place in account.inserted:
                self._saw(item, end, place, None, is_read=start == end)
            if start == end or not written.certain or place in account.inserted:
                # an insert overwrites nothing: what its snapshot had there may have been deleted since
                continue
            versions = self._versions[place]
            others = 0
            if level.conflict is Conflict.VERSIONS or (level.conflict is Conflict.VALUES and versions.all_differ()):
                others = versions.certain() & ~(1 << end)
            elif level.conflict is Conflict.VALUES and place in self._counted:
                counter = self._counted[place][1]
                others = counter.writers & ~(1 << end) if end in counter.adds else 0
            if others:
                self._history.reads.append(Read(end, item, self._number[place], (start,), others, unseen=True))

    def _note_views(self, item: int, account: Account) -> None:
        end, before = self._history.commit[item], None
        for kind, met in account.views.items():
            event, statement = end, viewing_statement(kind)
            if statement is not None:
                event = self._event(kind, item)
                self._history.edges.append((event, end, "its view is before its commit"))
                if before is not None:
                    self._history.edges.append((before, event, "its views do not go back"))
                before = event
            elif kind == "snapshot":
                event = self._history.snapshot[item]
            for place, known in met.items():
                self._saw(item, event, place, known, is_read=statement is not None, statement=statement)
        for place in account.inserted:
            if place[0] not in account.wild:
                self._saw(item, end, place, None, is_read=False)

    def _note_rows(self, item: int, account: Account, accounts: RowAccounts) -> None:
        """Each version that was read was there before the commit."""
        end = self._history.commit[item]
        for place, known in dict.fromkeys(seen for met in account.views.values() for seen in met.items()):
            if accounts.has_one_row(place):
                self._saw(item, end, place, known)

    def _saw(
        self, item: int, event: int, place: Place, known: Known, *, is_read: bool = True, statement: int | None = None
    ) -> None:
        """`is_read`: it was read, by a statement (None: the last), so that nothing was seen which was sent after the
        answer; else it is what the commit test compares, in the order and not in time."""
        if place in self._counted:
            by = self._counted[place][0]
            value = by.added_before(known)
            if is_otherwise_as(self._versions[place].initial, known, by.column):
                if value is not None:
                    self._counts[place][event] = value, known
                return
        sources, others = self._versions[place].sources(known)
        if self._rules.any_version:
            sources = tuple([source for source in sources if source != self._history.commit[item]])
            if INITIAL not in sources and (sources or isinstance(self._accounts, RowAccounts)):
                self._history.reads.append(Read(event, item, self._number[place], sources, 0, known))
            return
        own = self._history.commit[item]
        others &= ~(1 << own)
        sent_later = self._sent_after(item, statement, sources) if is_read else ()
        if own in sources or sent_later:
            sources = tuple([source for source in sources if source != own and source not in sent_later])
        if others or len(sources) == 0 or (len(sources) == 1 and sources[0] != INITIAL):
            self._history.reads.append(Read(event, item, self._number[place], sources, others, known))

    def _sent_after(self, item: int, statement: int | None, sources: Sequence[int]) -> set[int]:
        """The sources whose commits were sent after a statement (None: the last) had been answered."""
        reader = self._problem.times[item]
        number = len(reader.got) - 1 if statement is None else statement
        got = reader.got[number] if reader.got else None
        sent = self._sent[reader.clock]
        return set() if got is None else {source for source in sources if sent.get(source, got) > got}

    def _keeps(self, account: Account, place: Place, known: Known) -> bool:
        """Whether what it met is still there at its commit: it may not overwrite what it has not seen."""
        written = account.wrote.get(place)
        if written is None or not written.certain or not self._rules.level.write_conflict or place in account.inserted:
            return False
        return self._rules.level.conflict is Conflict.VERSIONS or not may_agree(known, written.after)

    def _follow_sessions(self) -> None:
        if not self._rules.level.session:
            return
        history, problem = self._history, self._problem
        for item in history.items:
            for other in problem.earlier_in_session(item):
                if must_precede(problem, other, item):
                    history.edges.append((history.commit[other], history.snapshot[item], "their session has them so"))
                    break

    def _follow_times(self) -> None:
        history, problem = self._history, self._problem
        after: dict[Moment, set[Moment]] = defaultdict(set)
        timed = sorted(self._happened)
        for clock in clocks(problem, self._rules.level, timed):
            clock.start(after)
            for item in timed:
                writes = any(one.certain for one in self._of[item].wrote.values())
                at_once = history.snapshot[item] == history.commit[item]
                clock.place(after, item, problem.times[item], writes=writes, at_once=at_once)
        if self._rules.views:
            self._follow_views(after, timed)
        numbers = {name: number for number, name in enumerate(history.names)}
        for item in history.items:
            numbers["snapshot", item] = history.snapshot[item]

        def number(moment: Moment) -> int:
            found = numbers.get(moment)
            if found is None:
                found = numbers[moment] = self._event(*moment)
            return found

        for one in after:
            for other in sorted(after[one], key=repr):
                history.edges.append((number(one), number(other), "times have them so"))

    def _follow_views(self, after: dict[Moment, set[Moment]], timed: Sequence[int]) -> None:
        """A view has what was there when its statement was sent, and nothing that was sent after its answer."""
        clocks_of_views = ViewClocks([self._problem.times[item] for item in timed])
        clocks_of_views.start(after)
        for item in timed:
            account, times = self._of[item], self._problem.times[item]
            if any(one.certain for one in account.wrote.values()):
                clocks_of_views.place_commit(after, item, times)
            for kind in account.views:
                statement = viewing_statement(kind)
                if statement is not None:
                    clocks_of_views.place_view(after, item, times, statement)
