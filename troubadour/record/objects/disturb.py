"""What disturbs a run of objects from outside: connections that the server ends, inside transactions and in COMMITs.

For PostgreSQL as for any workload; for MariaDB by KILL; an engine in the client's process has no such thing. Does not
know what the sessions do.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from random import Random
from types import TracebackType
from typing import Self

from troubadour.record.disturb import Killer
from troubadour.record.errors import RecordError
from troubadour.record.objects.stores import Store, close

_OTHERS = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user <> 'system user'"
PERIOD = 0.05
"""Mean seconds between two kills."""


def disturbance(store: Store, dsn: str, seed: int) -> AbstractContextManager[object]:
    """What a disturbed run is wrapped in."""
    if store.name == "postgres":
        return Killer(dsn, seed=seed, period=PERIOD)
    return _Kills(store, dsn, seed) if store.name == "mariadb" else nullcontext()


class _Kills:
    """Ends one connection of MariaDB after the other. Needs the right to; nobody else may work there."""

    def __init__(self, store: Store, dsn: str, seed: int) -> None:
        self._store = store
        self._dsn = dsn
        self._random = Random(f"{seed}/kills")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="killer")
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises RecordError where the killer itself failed."""
        self._over.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise RecordError(f"the killer failed: {self._failure}") from self._failure

    def _work(self) -> None:
        failures: tuple[type[Exception], ...] = (RecordError, *self._store.errors())
        try:
            connection = self._store.connect(self._dsn)
            try:
                cursor = connection.cursor()
                while not self._over.wait(self._random.uniform(0, 2 * PERIOD)):
                    cursor.execute(_OTHERS)
                    found = sorted(number for (number,) in cursor.fetchall())
                    if found:
                        # it may be gone by now
                        with suppress(*self._store.errors()):
                            cursor.execute(f"KILL CONNECTION {self._random.choice(found)}")
            finally:
                close(self._store, connection)
        except failures as error:
            self._failure = error
