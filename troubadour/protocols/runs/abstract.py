"""The abstract transaction model (VerIso §3.2; Xiong et al. 2020): one store of versions, clients' views, three events.

A transaction commits at once: it reads the newest versions that its client's view shows, and appends its own. What a
level asks is in `troubadour.protocols.levels`. `explains` looks for a run of the model that gives a history. Does not
know any protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from sql_semantics.records import dataclass, replace
from troubadour.protocols.levels import ProtocolLevel
from troubadour.protocols.runs.history import History, HistoryTransaction

INITIAL = 0
"""The transaction that wrote the initial versions."""

View = Mapping[int, frozenset[int]]
"""By key the versions that a client sees, by their place in the key's list; 0, the initial one, is always one."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a key: its value, the transaction that wrote it, those that read it."""

    value: int
    writer: int
    readers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Store:
    """By key its versions, oldest first; the committed transactions of every client in their order."""

    versions: Mapping[int, tuple[Version, ...]]
    committed: tuple[tuple[int | None, int], ...] = ()

    def pairs(self, dependency: str) -> frozenset[tuple[int, int]]:
        """The dependencies SO, WR, WW or RW between the transactions in the store."""
        match dependency:
            case "SO":
                found = {
                    (one, other)
                    for place, (client, one) in enumerate(self.committed)
                    for again, other in self.committed[place + 1 :]
                    if client is not None and client == again
                }
            case "WR":
                found = {(v.writer, reader) for vs in self.versions.values() for v in vs for reader in v.readers}
            case "WW":
                found = {(v.writer, w.writer) for vs in self.versions.values() for v, w in combinations(vs, 2)}
            case _:
                found = {
                    (reader, w.writer)
                    for vs in self.versions.values()
                    for v, w in combinations(vs, 2)
                    for reader in v.readers
                }
        return frozenset(pair for pair in found if pair[0] != pair[1])

    @property
    def writers(self) -> frozenset[int]:
        """The transactions that wrote a version."""
        return frozenset(v.writer for vs in self.versions.values() for v in vs)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The store and every client's view; a client without one has the initial view."""

    store: Store
    views: Mapping[int, View]

    def view(self, client: int) -> View:
        """The client's view."""
        return self.views.get(client, {key: frozenset((0,)) for key in self.store.versions})


def initial_configuration(values: Mapping[int, int]) -> Configuration:
    """Every key with its initial version, nothing else seen."""
    return Configuration(Store({key: (Version(value, INITIAL),) for key, value in values.items()}), {})


def view_of(store: Store, visible: frozenset[int]) -> View:
    """The view that shows the versions of these transactions."""
    return {
        key: frozenset(place for place, v in enumerate(vs) if place == 0 or v.writer in visible)
        for key, vs in store.versions.items()
    }


def visible_writers(store: Store, view: View) -> frozenset[int]:
    """The transactions whose versions a view shows."""
    return frozenset(store.versions[key][place].writer for key, places in view.items() for place in places)


def is_below(one: View, other: View) -> bool:
    """Whether the other view shows all that the one shows."""
    return all(places <= other[key] for key, places in one.items())


def well_formed(store: Store, view: View) -> bool:
    """Whether the versions exist, the initial ones among them, and of each transaction all are shown or none."""
    if not all(
        0 in view[key] and all(0 <= place < len(vs) for place in view[key]) for key, vs in store.versions.items()
    ):
        return False
    seen = visible_writers(store, view) - {INITIAL}
    return all(
        all((place in view[key]) == (v.writer in seen) for place, v in enumerate(vs) if place)
        for key, vs in store.versions.items()
    )


def can_commit(store: Store, view: View, writes: Iterable[int], level: ProtocolLevel) -> bool:
    """Whether the visible transactions are closed under the level's relation, but for those that only read (eq. 3)."""
    backwards: dict[int, set[int]] = {}
    for expression in level.closed:
        for earlier, later in _relation(store, expression, frozenset(writes)):
            backwards.setdefault(later, set()).add(earlier)
    visible = visible_writers(store, view)
    allowed = visible | (frozenset(one for _, one in store.committed) - store.writers)
    seen, pending = set(visible), list(visible)
    while pending:
        for earlier in backwards.get(pending.pop(), ()):
            if earlier not in allowed:
                return False
            if earlier not in seen:
                seen.add(earlier)
                pending.append(earlier)
    return True


def _relation(store: Store, expression: str, writes: frozenset[int]) -> Iterable[tuple[int, int]]:
    if expression == "WW- written":
        kept = replace(store, versions={key: vs for key, vs in store.versions.items() if key in writes})
        return [(later, earlier) for earlier, later in kept.pairs("WW")]
    if expression == "WW-":
        return [(later, earlier) for earlier, later in store.pairs("WW")]
    first, _, second = expression.partition(";")
    pairs = store.pairs(first)
    if not second:
        return pairs
    after = store.pairs(second)
    return {(a, d) for a, b in pairs for c, d in after if b == c}


def consistent_with_snapshot(store: Store, view: View, reads: Mapping[int, int]) -> bool:
    """Whether every read is of the newest version that the view shows."""
    return all(store.versions[key][max(view[key])].value == value for key, value in reads.items())


def next_ids(store: Store, transaction: HistoryTransaction) -> bool:
    """Whether the transaction's id is fresh."""
    return all(one != transaction.name for _, one in store.committed)


def updated(store: Store, transaction: HistoryTransaction, view: View) -> Store:
    """The store with the transaction's operations: it reads the newest versions shown, and appends its own."""
    versions = dict(store.versions)
    for key in transaction.reads:
        place = max(view[key])
        vs = versions[key]
        read = replace(vs[place], readers=vs[place].readers | {transaction.name})
        versions[key] = (*vs[:place], read, *vs[place + 1 :])
    for key, value in transaction.writes.items():
        versions[key] = (*versions[key], Version(value, transaction.name))
    return Store(versions, (*store.committed, (transaction.client, transaction.name)))


def commit(
    before: Configuration, transaction: HistoryTransaction, client: int, view: View, level: ProtocolLevel
) -> Configuration | None:
    """The configuration after an atomic commit with this view; None where the level does not allow it.

    The view afterwards is the least that the level allows: what was seen and the client's own writes where views
    shift, else the initial one.
    """
    store = before.store
    allowed = (
        is_below(before.view(client), view)
        and well_formed(store, view)
        and next_ids(store, transaction)
        and consistent_with_snapshot(store, view, transaction.reads)
        and can_commit(store, view, transaction.writes, level)
    )
    if not allowed:
        return None
    after = updated(store, transaction, view)
    views = dict(before.views)
    if level.shifts:
        views[client] = view_of(after, visible_writers(store, view) | {transaction.name} | _own(after, client))
    else:
        views.pop(client, None)
    return Configuration(after, views)


def _own(store: Store, client: int) -> frozenset[int]:
    """Read your writes: those of the client."""
    return frozenset(one for again, one in store.committed if again == client)


def extend_view(before: Configuration, client: int, view: View) -> Configuration | None:
    """The configuration in which a client sees more; None where the view shows less or is not well formed."""
    if not (is_below(before.view(client), view) and well_formed(before.store, view)):
        return None
    return Configuration(before.store, {**before.views, client: view})


def skip(before: Configuration) -> Configuration:
    """The same configuration."""
    return before


def explains(history: History, level: ProtocolLevel, tick: Callable[[], object] = int) -> bool:
    """Whether some run of the model at this level gives the history. `tick` is called at every view that is tried and
    ends it by raising."""
    return _Search(history, level, tick).run()


class _Search:
    """Depth first over the orders of commits and the views; a client of its own for a transaction without one."""

    def __init__(self, history: History, level: ProtocolLevel, tick: Callable[[], object]) -> None:
        self._level, self._tick = level, tick
        self._all = {one.name: one for one in history.transactions}
        self._clients = {
            one.name: one.client if one.client is not None and level.sessions else -one.name
            for one in history.transactions
        }
        self._initial = initial_configuration(history.initial)
        names = frozenset(self._all)
        self._after = {one.name: self._earlier(one) & names for one in history.transactions}

    def _earlier(self, one: HistoryTransaction) -> frozenset[int]:
        """Those that have to commit before."""
        if self._level.real_time:
            return one.after
        if not self._level.sessions or one.client is None:
            return frozenset()
        return frozenset(other for other in one.after if other in self._all and self._all[other].client == one.client)

    def run(self) -> bool:
        """Whether there is one."""
        return self._continued(self._initial, frozenset())

    def _continued(self, configuration: Configuration, done: frozenset[int]) -> bool:
        if len(done) == len(self._all):
            return True
        for name, one in self._all.items():
            if name in done or not self._after[name] <= done:
                continue
            client = self._clients[name]
            named = one if self._level.sessions else replace(one, client=None)
            for view in self._views(configuration, one):
                self._tick()
                after = commit(configuration, replace(named, client=client), client, view, self._level)
                if after is not None and self._continued(after, done | {name}):
                    return True
        return False

    def _views(self, configuration: Configuration, one: HistoryTransaction) -> Iterator[View]:
        """Views that show what was read as the newest."""
        store = configuration.store
        writers = store.writers - {INITIAL}
        must: set[int] = set()
        for key, value in one.reads.items():
            writer = next((v.writer for v in store.versions[key] if v.value == value), None)
            if writer is None:
                return
            must.add(writer)
        must.discard(INITIAL)
        if self._level.total:
            yield view_of(store, writers)
            return
        rest = sorted(writers - must)
        for size in range(len(rest) + 1):
            for chosen in combinations(rest, size):
                yield view_of(store, frozenset(must) | frozenset(chosen))
