"""TAPIR's optimistic concurrency control with two-phase commit (VerIso §6, appendix B): one server for each key.

A transaction has a timestamp of its own choice. A server prepares it where its check allows, and applies its writes
after its commit; a read is of the newest version applied. Does not know replication, which is orthogonal (§6.1).
"""

from __future__ import annotations

from troubadour.protocols.language import (
    Enum,
    Key,
    Protocol,
    Term,
    Time,
    Txn,
    Val,
    abstraction,
    commit,
    event,
    exists,
    forall,
    guard,
    implies,
    initial,
    ite,
    reads,
    state,
    writes,
    written,
)


class Tapir(Protocol):
    """TAPIR with the check of its journal article (VerIso §6)."""

    level = "strict-serializable"
    phase = state(Txn, to=Enum("idle", "begun", "committed", "aborted", "done"))
    stamp = state(Txn, to=Time)
    vote = state(Key, Txn, to=Enum("none", "prepared", "applied", "dropped"))
    version = state(Key, to=Time)
    value = state(Key, to=Val)
    seen = state(Txn, Key, to=Val)
    newest = state(Key, to=Val, history=True)

    def pending(self, u: Term, k: Term, t: Term) -> Term:
        """Whether another transaction is prepared on the key."""
        return (u != t) & (self.vote(k, u) == "prepared")

    def may_read(self, t: Term, k: Term) -> Term:
        """Abstains where the timestamp is greater than the least of the prepared writes."""
        return forall(Txn, lambda u: implies(self.pending(u, k, t) & writes(u, k), self.stamp(t) < self.stamp(u)))

    def may_write(self, t: Term, k: Term) -> Term:
        """A retry where the timestamp is less than that of a prepared read, or of the newest version."""
        later = forall(Txn, lambda u: implies(self.pending(u, k, t) & reads(u, k), self.stamp(u) < self.stamp(t)))
        return later & (self.version(k) < self.stamp(t))

    @initial
    def start(s, t: Txn, k: Key) -> Term:
        return (s.phase(t) == "idle") & (s.vote(k, t) == "none") & (s.version(k) == 0) & (s.value(k) == s.newest(k))

    @event(refines="skip", issues=True)
    def begin(s, t: Txn, at: Time) -> Protocol:
        guard(s.phase(t) == "idle", at > 0, forall(Txn, lambda u: (s.phase(u) == "idle") | (s.stamp(u) != at)))
        return s.but(phase={t: "begun"}, stamp={t: at})

    @event(refines="skip")
    def prepare(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "begun", s.vote(k, t) == "none", reads(t, k) | writes(t, k))
        guard(implies(reads(t, k), s.may_read(t, k)), implies(writes(t, k), s.may_write(t, k)))
        return s.but(vote={(k, t): "prepared"}, seen={(t, k): s.value(k)})

    @event(refines="commit")
    def decide(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "begun")
        guard(forall(Key, lambda k: implies(reads(t, k) | writes(t, k), s.vote(k, t) == "prepared")))
        commit(t, reads=s.seen)
        return s.but(phase={t: "committed"}, newest=lambda k: ite(writes(t, k), written(t, k), s.newest(k)))

    @event(refines="skip")
    def abort(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "begun")
        return s.but(phase={t: "aborted"})

    @event(refines="skip")
    def apply(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "committed", s.vote(k, t) == "prepared")
        newer = writes(t, k) & (s.version(k) < s.stamp(t))
        return s.but(
            vote={(k, t): "applied"},
            value={k: ite(newer, written(t, k), s.value(k))},
            version={k: ite(newer, s.stamp(t), s.version(k))},
        )

    @event(refines="skip")
    def drop(s, t: Txn, k: Key) -> Protocol:
        guard(s.phase(t) == "aborted", s.vote(k, t) == "prepared")
        return s.but(vote={(k, t): "dropped"})

    @event(refines="skip", returns=True)
    def finish(s, t: Txn) -> Protocol:
        guard(s.phase(t) == "committed", forall(Key, lambda k: s.vote(k, t) != "prepared"))
        return s.but(phase={t: "done"})

    @abstraction
    def versions(s, k: Key) -> Term:
        return s.newest(k)


class TapirConference(Tapir):
    """TAPIR with the check of its conference paper (VerIso appendix B)."""

    def may_read(self, t: Term, k: Term) -> Term:
        """Abstains where the version read is less than the least of the prepared writes, whatever the timestamp."""
        none = forall(Txn, lambda u: ~(self.pending(u, k, t) & writes(u, k)))
        return none | exists(Txn, lambda u: self.pending(u, k, t) & writes(u, k) & (self.stamp(u) <= self.version(k)))
