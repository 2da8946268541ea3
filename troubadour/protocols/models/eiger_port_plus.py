"""Eiger-PORT+ (VerIso §5, appendix A): transactions that only read or only write, Lamport clocks, safe times.

Each server has a safe time below which nothing is pending; a client reads at the least one that it knows, or what it
wrote itself after that. Versions are in the order of their commit timestamps, ties by the client's number. Simplified:
a message and its answer are one step; a client hears a server's safe time as it is at that step.
"""

from __future__ import annotations

from troubadour.protocols.language import (
    Bool,
    Client,
    Enum,
    Key,
    Protocol,
    Term,
    Time,
    Txn,
    abstraction,
    abstraction_at,
    any_of,
    client,
    commit,
    event,
    exists,
    forall,
    guard,
    implies,
    initial,
    initially,
    invariant,
    ite,
    rank,
    reads,
    state,
    writes,
)


def later(one: Term, other: Term) -> Term:
    """The greater of two times."""
    return ite(one < other, other, one)


class EigerPortPlus(Protocol):
    """Eiger-PORT+: causal reads in one round, writes that converge (VerIso §5)."""

    level = "causal"
    phase = state(Txn, to=Enum("idle", "reading", "preparing", "committed", "done"))
    busy = state(Client, to=Txn)
    clock = state(Client, to=Time)
    safe = state(Client, to=Time)
    known = state(Client, Key, to=Time)
    server_clock = state(Key, to=Time)
    server_safe = state(Key, to=Time)
    version = state(Key, Txn, to=Enum("none", "pending", "committed"))
    prepared = state(Key, Txn, to=Time)
    stamp = state(Txn, to=Time)
    snapshot = state(Txn, to=Time)
    has_read = state(Txn, Key, to=Bool)
    source = state(Txn, Key, to=Txn)
    own = state(Txn, to=Time)

    def decided(self, t: Term) -> Term:
        return any_of(self.phase(t) == "committed", self.phase(t) == "done")

    def older(self, a: Term, b: Term) -> Term:
        """By commit timestamps, ties by the clients' numbers."""
        tie = (self.stamp(a) == self.stamp(b)) & (rank(client(a)) < rank(client(b)))
        return (self.stamp(a) < self.stamp(b)) | tie

    def readable(self, w: Term, t: Term, k: Term) -> Term:
        """Whether the server may show the version: safe for the reader, or its client's own."""
        mine = (w != initially()) & (client(w) == client(t))
        return (self.version(k, w) == "committed") & ((self.stamp(w) <= self.snapshot(t)) | mine)

    def chosen(self, w: Term, t: Term, k: Term) -> Term:
        """The newest of what is readable."""
        return forall(Txn, lambda u: implies(self.readable(u, t, k), (u == w) | self.older(u, w)))

    def sees(self, a: Term, t: Term) -> Term:
        """What a transaction sees: what was safe at its begin, and what its client wrote before."""
        mine = (a != initially()) & (client(a) == client(t)) & (self.stamp(a) <= self.own(t))
        return (self.stamp(a) <= self.snapshot(t)) | mine

    @initial
    def start(s, t: Txn, k: Key, c: Client) -> Term:
        transactions = (s.phase(t) == "idle") & (s.stamp(t) == 0) & ~s.has_read(t, k)
        clients = (s.busy(c) == initially()) & (s.clock(c) == 0) & (s.safe(c) == 0) & (s.known(c, k) == 0)
        servers = (s.server_clock(k) == 0) & (s.server_safe(k) == 0)
        first = s.version(k, initially()) == "committed"
        return transactions & clients & servers & first & implies(t != initially(), s.version(k, t) == "none")

    @event(refines="skip", issues=True)
    def begin_read(s, t: Txn, k: Key) -> Protocol:
        c = client(t)
        guard(s.phase(t) == "idle", s.busy(c) == initially(), forall(Key, lambda j: ~writes(t, j)))
        guard(forall(Key, lambda j: s.known(c, k) <= s.known(c, j)))
        least = s.known(c, k)
        return s.but(phase={t: "reading"}, busy={c: t}, safe={c: least}, snapshot={t: least}, own={t: s.clock(c)})

    @event(refines="skip")
    def read(s, t: Txn, k: Key, w: Txn) -> Protocol:
        guard(s.phase(t) == "reading", reads(t, k), ~s.has_read(t, k), s.readable(w, t, k))
        guard(s.chosen(w, t, k))
        return s.but(source={(t, k): w}, has_read={(t, k): True}, known={(client(t), k): s.server_safe(k)})

    @event(refines="commit", returns=True)
    def end_read(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "reading", forall(Key, lambda k: implies(reads(t, k), s.has_read(t, k))))
        commit(t, reads=s.source)
        return s.but(phase={t: "done"}, busy={client(t): initially()})

    @event(refines="skip", issues=True)
    def begin_write(s, t: Txn) -> Protocol:
        c = client(t)
        guard(s.phase(t) == "idle", s.busy(c) == initially(), forall(Key, lambda j: ~reads(t, j)))
        return s.but(phase={t: "preparing"}, busy={c: t}, snapshot={t: s.safe(c)}, own={t: s.clock(c)})

    @event(refines="skip")
    def prepare(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "preparing", writes(t, k), s.version(k, t) == "none")
        now = later(s.server_clock(k), s.clock(client(t)))
        return s.but(version={(k, t): "pending"}, prepared={(k, t): now}, server_clock={k: now + 1})

    @event(refines="commit")
    def decide(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "preparing", s.version(k, t) == "pending")
        latest = forall(
            Key,
            lambda j: implies(writes(t, j), (s.version(j, t) == "pending") & (s.prepared(j, t) <= s.prepared(k, t))),
        )
        guard(latest)
        commit(t, reads=s.source)
        at = s.prepared(k, t) + 1
        return s.but(phase={t: "committed"}, stamp={t: at}, clock={client(t): at})

    @event(refines="skip")
    def apply_last(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "committed", s.version(k, t) == "pending")
        guard(forall(Txn, lambda u: (u == t) | (s.version(k, u) != "pending")))
        now = later(s.server_clock(k), s.stamp(t))
        return s.but(version={(k, t): "committed"}, server_clock={k: now}, server_safe={k: now})

    @event(refines="skip")
    def apply(s, t: Txn, k: Key, w: Txn) -> Protocol:
        guard(s.phase(t) == "committed", s.version(k, t) == "pending", (w != t) & (s.version(k, w) == "pending"))
        others = forall(
            Txn,
            lambda u: implies((u != t) & (s.version(k, u) == "pending"), s.prepared(k, w) <= s.prepared(k, u)),
        )
        guard(others)
        return s.but(
            version={(k, t): "committed"},
            server_clock={k: later(s.server_clock(k), s.stamp(t))},
            server_safe={k: s.prepared(k, w)},
        )

    @event(refines="skip", returns=True)
    def end_write(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "committed", forall(Key, lambda k: implies(writes(t, k), s.version(k, t) == "committed")))
        heard = s.but(known=lambda c, k: ite((c == client(t)) & writes(t, k), s.server_safe(k), s.known(c, k)))
        return heard.but(phase={t: "done"}, busy={client(t): initially()})

    @invariant
    def issued_when_begun(s, t: Txn) -> Term:
        return s.issued(t) == (s.phase(t) != "idle")

    @invariant
    def returned_when_done(s, t: Txn) -> Term:
        return s.returned(t) == (s.phase(t) == "done")

    @invariant
    def committed_when_decided(s, t: Txn) -> Term:
        return s.committed(t) == s.decided(t)

    @invariant
    def client_runs_one(s, t: Txn) -> Term:
        return implies((s.phase(t) != "idle") & (s.phase(t) != "done"), s.busy(client(t)) == t)

    @invariant
    def first_writer(s, k: Key) -> Term:
        first = initially()
        return (s.phase(first) == "idle") & (s.version(k, first) == "committed") & (s.stamp(first) == 0)

    @invariant
    def a_version_is_written(s, t: Txn, k: Key) -> Term:
        return implies(s.version(k, t) != "none", writes(t, k))

    @invariant
    def pending_is_being_written(s, t: Txn, k: Key) -> Term:
        return implies(s.version(k, t) == "pending", any_of(s.phase(t) == "preparing", s.phase(t) == "committed"))

    @invariant
    def committed_is_decided(s, t: Txn, k: Key) -> Term:
        return implies((s.version(k, t) == "committed") & (t != initially()), s.decided(t))

    @invariant
    def decided_has_versions(s, t: Txn, k: Key) -> Term:
        return implies(s.decided(t) & writes(t, k), s.version(k, t) != "none")

    @invariant
    def done_is_applied(s, t: Txn, k: Key) -> Term:
        return implies((s.phase(t) == "done") & writes(t, k), s.version(k, t) == "committed")

    @invariant
    def reads_or_writes(s, t: Txn, k: Key) -> Term:
        return implies(any_of(s.phase(t) == "preparing", s.phase(t) == "committed"), ~reads(t, k)) & implies(
            s.phase(t) == "reading", ~writes(t, k)
        )

    @invariant
    def never_both(s, t: Txn, k: Key, j: Key) -> Term:
        return implies(s.phase(t) != "idle", ~reads(t, k) | ~writes(t, j))

    @invariant
    def done_has_read(s, t: Txn, k: Key) -> Term:
        return implies((s.phase(t) == "done") & reads(t, k), s.has_read(t, k))

    @invariant
    def times_in_order(s, c: Client, k: Key) -> Term:
        heard = (s.safe(c) <= s.known(c, k)) & (s.known(c, k) <= s.server_safe(k))
        return (s.safe(c) >= 0) & heard & (s.server_safe(k) <= s.server_clock(k))

    @invariant
    def pending_is_not_safe(s, t: Txn, k: Key) -> Term:
        return implies(s.version(k, t) == "pending", s.server_safe(k) <= s.prepared(k, t))

    @invariant
    def prepared_before_the_clock(s, t: Txn, k: Key) -> Term:
        return implies(s.version(k, t) == "pending", s.prepared(k, t) < s.server_clock(k))

    @invariant
    def stamped_after_prepared(s, t: Txn, k: Key) -> Term:
        return implies(s.decided(t) & (s.version(k, t) != "none"), s.prepared(k, t) < s.stamp(t))

    @invariant
    def snapshot_is_safe(s, t: Txn) -> Term:
        begun = (s.snapshot(t) >= 0) & (s.snapshot(t) <= s.safe(client(t))) & (s.own(t) <= s.clock(client(t)))
        return implies(s.phase(t) != "idle", begun)

    @invariant
    def clock_stands_until_decided(s, t: Txn) -> Term:
        return implies(any_of(s.phase(t) == "reading", s.phase(t) == "preparing"), s.own(t) == s.clock(client(t)))

    @invariant
    def prepared_after_own(s, t: Txn, k: Key) -> Term:
        return implies((s.version(k, t) != "none") & (t != initially()), s.own(t) <= s.prepared(k, t))

    @invariant
    def stamped_after_seen(s, t: Txn, k: Key) -> Term:
        stamped = (s.snapshot(t) < s.stamp(t)) & (s.own(t) < s.stamp(t)) & (s.stamp(t) <= s.clock(client(t)))
        return implies(s.decided(t) & writes(t, k), stamped)

    @invariant
    def stamps_of_a_client_differ(s, t: Txn, u: Txn, k: Key, j: Key) -> Term:
        both = s.decided(t) & writes(t, k) & s.decided(u) & writes(u, j) & (client(t) == client(u))
        return implies(both & (s.stamp(t) == s.stamp(u)), t == u)

    @invariant
    def snapshots_of_a_client_grow(s, t: Txn, u: Txn, k: Key) -> Term:
        wrote = s.decided(t) & writes(t, k) & (client(t) == client(u)) & (s.phase(u) != "idle")
        return implies(wrote & (s.stamp(t) <= s.own(u)), s.snapshot(t) <= s.snapshot(u))

    @invariant
    def a_client_goes_on(s, t: Txn, u: Txn) -> Term:
        grown = (s.snapshot(t) <= s.snapshot(u)) & (s.own(t) <= s.own(u))
        return implies(s.precedes(t, u) & (client(t) == client(u)), grown)

    @invariant
    def a_client_sees_its_own(s, t: Txn, u: Txn, k: Key) -> Term:
        wrote = s.decided(t) & writes(t, k) & (client(t) == client(u))
        return implies(s.precedes(t, u) & wrote, s.stamp(t) <= s.own(u))

    @invariant
    def what_was_read_is_seen(s, t: Txn, k: Key) -> Term:
        w = s.source(t, k)
        return implies(s.has_read(t, k), (s.phase(t) != "idle") & (s.version(k, w) == "committed") & s.sees(w, t))

    @invariant
    def what_was_read_is_the_newest(s, t: Txn, u: Txn, k: Key) -> Term:
        seen = s.decided(u) & writes(u, k) & s.sees(u, t)
        w = s.source(t, k)
        return implies(s.has_read(t, k) & seen, (u == w) | s.older(u, w))

    @abstraction
    def before(s, a: Txn, b: Txn) -> Term:
        return s.older(a, b)

    @abstraction
    def visible(s, a: Txn, t: Txn) -> Term:
        return s.sees(a, t)

    @abstraction_at("update-atomic", of="visible")
    def visible_to_writers(s, a: Txn, t: Txn) -> Term:
        """What writes reads nothing, and may see all before it; only what reads is held to what was safe."""
        return s.sees(a, t) | (exists(Key, lambda k: writes(t, k)) & s.older(a, t))
