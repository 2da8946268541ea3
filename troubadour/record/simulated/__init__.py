"""A simulated DBMS: a small in-memory multiversion store, deterministic by seed, with faults that can be switched
on, so that an audit can be shown what it has to find. Shares nothing with the auditor but the meaning of statements."""

from troubadour.record.simulated.faults import FAULTS, Faults
from troubadour.record.simulated.run import Simulated, simulate

__all__ = ["FAULTS", "Faults", "Simulated", "simulate"]
