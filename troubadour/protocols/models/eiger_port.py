"""Eiger-PORT, the predecessor of Eiger-PORT+ (VerIso §5.1): causal reads in one round, without convergence.

The paper prints no text of it. It says that Eiger-PORT "constructs individual, possibly different, orders per client",
and this model is a reading of that one sentence: a client's own newest write stands after every version whose writer
had not seen it, and so hides versions with greater timestamps. Does not know how the original finds its versions.
"""

from __future__ import annotations

from troubadour.protocols.language import Term, Txn, client, forall, implies, initially
from troubadour.protocols.models.eiger_port_plus import EigerPortPlus


class EigerPort(EigerPortPlus):
    """Eiger-PORT after one sentence of VerIso §5.1: each client has an order of its own."""

    # Client 1 reads its own write of key 1, and of key 3 what was written together with a version of key 1 that stands
    # before it in that client's order only. Client 3 reads this version, and client 1's write of key 2, so after it.
    # The second write of client 2 makes the safe time of key 2 go on; what readers ask first is how they learn it.
    programs = "w1 w2 @1; w1 w3 @2; w2 @2; r1 r2 r3 @1; r1 r3 @1; r1 r2 r3 @3; r1 r2 @3"

    def keeps_own(self, w: Term, t: Term, k: Term) -> Term:
        """Whether the version is the reader's client's own newest, and no other's writer had seen it."""

        def mine(u: Term) -> Term:
            return (u != initially()) & (client(u) == client(t))

        own = forall(Txn, lambda u: implies(self.readable(u, t, k) & mine(u), (u == w) | self.older(u, w)))
        other = forall(
            Txn,
            lambda u: implies(self.readable(u, t, k) & ~mine(u) & (u != initially()), ~self.sees(w, u)),
        )
        return mine(w) & own & other

    def chosen(self, w: Term, t: Term, k: Term) -> Term:
        """The client's own newest where it keeps it, else the newest of what is readable."""
        none = forall(Txn, lambda v: implies(self.readable(v, t, k), ~self.keeps_own(v, t, k)))
        newest = forall(Txn, lambda u: implies(self.readable(u, t, k), (u == w) | self.older(u, w)))
        return self.keeps_own(w, t, k) | (none & newest)
