"""The bank-server benchmark (paper §2, §8). Does not know how it is run, or at which isolation level."""

from troubadour.workloads.bank.workload import Bank, Variant

__all__ = ["Bank", "Variant"]
