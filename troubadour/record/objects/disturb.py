"""What disturbs a run of objects from outside: connections that the server ends, inside transactions and in COMMITs.

For PostgreSQL as for any workload; for MariaDB by KILL; an engine in the client's process has no such thing. Does not
know what the sessions do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from random import Random

from troubadour.record.errors import RecordError
from troubadour.record.objects.stores import Store, close
from troubadour.record.runs.disturb import beside, killing

_OTHERS = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user <> 'system user'"
PERIOD = 0.05
"""Mean seconds between two kills."""


def disturbance(store: Store, dsn: str, seed: int) -> AbstractContextManager[object]:
    """What a disturbed run is wrapped in."""
    if store.name == "postgres":
        return killing(dsn, seed=seed, period=PERIOD)
    return _kills(store, dsn, seed) if store.name == "mariadb" else nullcontext()


@contextmanager
def _kills(store: Store, dsn: str, seed: int) -> Iterator[None]:
    """Ends one connection of MariaDB after the other. Needs the right to; nothing else may work there."""
    random = Random(f"{seed}/kills")

    def work(over: threading.Event) -> None:
        connection = store.connect(dsn)
        try:
            cursor = connection.cursor()
            while not over.wait(random.uniform(0, 2 * PERIOD)):
                cursor.execute(_OTHERS)
                found = sorted(number for (number,) in cursor.fetchall())
                if found:
                    # it may be gone by now
                    with suppress(*store.errors()):
                        cursor.execute(f"KILL CONNECTION {random.choice(found)}")
        finally:
            close(store, connection)

    with beside(work, (RecordError, *store.errors())):
        yield
