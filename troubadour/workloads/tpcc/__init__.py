"""TPC-C: schema, procedures with cursors in two languages, the client's own statements, a seeded mix, and the
specification's consistency conditions. Does not know how it is run."""

from troubadour.workloads.tpcc.consistency import CONDITIONS, violated
from troubadour.workloads.tpcc.workload import Tpcc

__all__ = ["CONDITIONS", "Tpcc", "violated"]
