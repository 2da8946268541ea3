"""Small applications whose runs faults are put into, by name.

Does not know how a run is recorded.
"""

from benchmarks.faults.apps.booked import QUEUE, SEATS
from benchmarks.faults.apps.kept import LEDGER, REPORTS
from benchmarks.faults.apps.known import COUNTERS, INVENTORY, ON_CALL, THREADS

APPLICATIONS = {one.name: one for one in (SEATS, QUEUE, INVENTORY, LEDGER, ON_CALL, COUNTERS, THREADS, REPORTS)}
