"""Strict two-phase locking with two-phase commit (VerIso §4, figures 2 and 3): one server for each key.

A transaction commits when every server holds the lock that its program needs there; each server then applies the
write and lets go. Does not know deadlocks: a lock that is taken may be refused, and that aborts.
"""

from __future__ import annotations

from troubadour.protocols.language import (
    Client,
    Enum,
    Key,
    Protocol,
    Term,
    Txn,
    Val,
    abstraction,
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
    none_of,
    reads,
    state,
    writes,
    written,
)

COORDINATOR = Enum("idle", "begun", "prepared", "committed", "aborted", "done")
SERVER = Enum("working", "prepared", "read lock", "write lock", "no lock", "refused", "committed", "aborted")


class S2PL(Protocol):
    """Strict two-phase locking with two-phase commit (VerIso §4)."""

    level = "strict-serializable"
    phase = state(Txn, to=COORDINATOR)
    busy = state(Client, to=Txn)
    lock = state(Key, Txn, to=SERVER)
    value = state(Key, to=Val)
    seen = state(Txn, Key, to=Val)
    newest = state(Key, to=Val, history=True)

    def locked(self, k: Term, t: Term) -> Term:
        return any_of(*(self.lock(k, t) == one for one in ("read lock", "write lock", "no lock")))

    @initial
    def start(s, t: Txn, k: Key, c: Client) -> Term:
        return (
            (s.phase(t) == "idle")
            & (s.lock(k, t) == "working")
            & (s.busy(c) == initially())
            & (s.value(k) == s.newest(k))
        )

    @event(refines="skip", issues=True)
    def begin(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "idle", s.busy(client(t)) == initially())
        return s.but(phase={t: "begun"}, busy={client(t): t})

    @event(refines="skip")
    def prepare_server(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "begun", s.lock(k, t) == "working")
        return s.but(lock={(k, t): "prepared"})

    @event(refines="skip")
    def prepare(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "begun", forall(Key, lambda k: s.lock(k, t) == "prepared"))
        return s.but(phase={t: "prepared"})

    @event(refines="skip")
    def lock_to_read(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "prepared", s.lock(k, t) == "prepared", reads(t, k), ~writes(t, k))
        guard(forall(Txn, lambda u: s.lock(k, u) != "write lock"))
        return s.but(lock={(k, t): "read lock"}, seen={(t, k): s.value(k)})

    @event(refines="skip")
    def lock_to_write(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "prepared", s.lock(k, t) == "prepared", writes(t, k))
        guard(forall(Txn, lambda u: none_of(s.lock(k, u) == "write lock", s.lock(k, u) == "read lock")))
        return s.but(lock={(k, t): "write lock"}, seen={(t, k): s.value(k)})

    @event(refines="skip")
    def lock_nothing(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "prepared", s.lock(k, t) == "prepared", ~reads(t, k), ~writes(t, k))
        return s.but(lock={(k, t): "no lock"})

    @event(refines="skip")
    def refuse(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "prepared", s.lock(k, t) == "prepared", reads(t, k) | writes(t, k))
        return s.but(lock={(k, t): "refused"})

    @event(refines="commit")
    def decide(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "prepared", forall(Key, lambda k: s.locked(k, t)))
        commit(t, reads=s.seen)
        return s.but(phase={t: "committed"}, newest=lambda k: ite(writes(t, k), written(t, k), s.newest(k)))

    @event(refines="skip")
    def abort(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "prepared", s.lock(k, t) == "refused")
        return s.but(phase={t: "aborted"})

    @event(refines="skip")
    def commit_server(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "committed", s.locked(k, t))
        return s.but(
            lock={(k, t): "committed"}, value={k: ite(s.lock(k, t) == "write lock", written(t, k), s.value(k))}
        )

    @event(refines="skip")
    def abort_server(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "aborted", none_of(s.lock(k, t) == "aborted"))
        return s.but(lock={(k, t): "aborted"})

    @event(refines="skip", returns=True)
    def finish(s, t: Txn) -> Protocol:
        done = any_of(
            (s.phase(t) == "committed") & forall(Key, lambda k: s.lock(k, t) == "committed"),
            (s.phase(t) == "aborted") & forall(Key, lambda k: s.lock(k, t) == "aborted"),
        )
        guard(done)
        return s.but(phase={t: "done"}, busy={client(t): initially()})

    @invariant
    def issued_when_begun(s, t: Txn) -> Term:
        return s.issued(t) == (s.phase(t) != "idle")

    @invariant
    def returned_when_done(s, t: Txn) -> Term:
        return s.returned(t) == (s.phase(t) == "done")

    @invariant
    def committed_when_decided(s, t: Txn) -> Term:
        return implies(s.committed(t), any_of(s.phase(t) == "committed", s.phase(t) == "done"))

    @invariant
    def decided_is_committed(s, t: Txn) -> Term:
        return implies(s.phase(t) == "committed", s.committed(t))

    @invariant
    def client_runs_one(s, t: Txn) -> Term:
        return implies(none_of(s.phase(t) == "idle", s.phase(t) == "done"), s.busy(client(t)) == t)

    @invariant
    def first_writer_is_no_event(s, k: Key) -> Term:
        return (s.phase(initially()) == "idle") & (s.lock(k, initially()) == "working")

    @invariant
    def servers_wait_for_the_client(s, t: Txn, k: Key) -> Term:
        waiting = any_of(s.lock(k, t) == "working", s.lock(k, t) == "prepared")
        return implies(any_of(s.phase(t) == "idle", s.phase(t) == "begun"), waiting)

    @invariant
    def idle_is_untouched(s, t: Txn, k: Key) -> Term:
        return implies(s.phase(t) == "idle", s.lock(k, t) == "working")

    @invariant
    def one_writer(s, t: Txn, u: Txn, k: Key) -> Term:
        return implies((s.lock(k, t) == "write lock") & (s.lock(k, u) == "write lock"), t == u)

    @invariant
    def no_reader_beside_a_writer(s, t: Txn, u: Txn, k: Key) -> Term:
        return implies(s.lock(k, t) == "write lock", s.lock(k, u) != "read lock")

    @invariant
    def write_lock_to_write(s, t: Txn, k: Key) -> Term:
        return implies(s.lock(k, t) == "write lock", writes(t, k))

    @invariant
    def read_lock_to_read(s, t: Txn, k: Key) -> Term:
        return implies(s.lock(k, t) == "read lock", reads(t, k) & ~writes(t, k))

    @invariant
    def no_lock_for_nothing(s, t: Txn, k: Key) -> Term:
        return implies(s.lock(k, t) == "no lock", ~reads(t, k) & ~writes(t, k))

    @invariant
    def committed_is_locked_or_applied(s, t: Txn, k: Key) -> Term:
        return implies(s.phase(t) == "committed", s.locked(k, t) | (s.lock(k, t) == "committed"))

    @invariant
    def done_holds_no_lock(s, t: Txn, k: Key) -> Term:
        return implies(s.phase(t) == "done", any_of(s.lock(k, t) == "committed", s.lock(k, t) == "aborted"))

    @invariant
    def a_lock_holds_what_was_seen(s, t: Txn, k: Key) -> Term:
        held = any_of(s.lock(k, t) == "read lock", s.lock(k, t) == "write lock")
        return implies(held, s.seen(t, k) == s.value(k))

    @invariant
    def value_lags_behind_a_decided_writer(s, t: Txn, k: Key) -> Term:
        decided = (s.lock(k, t) == "write lock") & (s.phase(t) == "committed")
        return implies(decided, s.newest(k) == written(t, k))

    @invariant
    def value_is_newest_else(s, k: Key) -> Term:
        pending = exists(Txn, lambda t: (s.lock(k, t) == "write lock") & (s.phase(t) == "committed"))
        return pending | (s.value(k) == s.newest(k))

    @abstraction
    def versions(s, k: Key) -> Term:
        return s.newest(k)
