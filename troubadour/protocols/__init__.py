"""Protocols proved or refuted at an isolation level (VerIso; docs/protocols.md).

One text of a protocol, three readings: unbounded to prove, finite to find what a proof lacks, and one that runs.
"""
