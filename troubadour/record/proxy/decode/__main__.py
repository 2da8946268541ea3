"""The process that makes the log beside a proxy. Its orders come on standard input, one line of JSON; the rest of it
says nothing, and its end that the proxy has ended, in whichever way. Does not know how a log is made."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from troubadour.model.log import LogError
from troubadour.record.core.journal import Lookup
from troubadour.record.core.unroll import complete
from troubadour.record.errors import RecordError, Unasked
from troubadour.record.postgres.log import CommitTimes
from troubadour.record.postgres.wal import WalOrder
from troubadour.record.proxy.decode.making import make_log

NICE = 10
PAUSE = 0.02
"""Seconds between two looks at the segment, while nothing comes."""


class _Followed(WalOrder):
    """Where it cannot be asked any more the lines are written all the same, as without commit times."""

    def __call__(self, tickets: Sequence[tuple[str, str | None]]) -> Sequence[int | None]:
        """As `WalOrder`. Raises Unasked."""
        try:
            return super().__call__(tickets)
        except RecordError as error:
            raise Unasked(str(error)) from error


def main() -> int:
    """0 the log is made; 1 it is not, or something is wrong with it: standard error says what."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(NICE)
    line = b""
    while not line.endswith(b"\n"):  # byte by byte, so that none is read that `select` should tell of
        byte = os.read(0, 1)
        if not byte:
            return 1
        line += byte
    orders = json.loads(line)
    lookup: Lookup | None = None
    if orders["times"] is not None:
        try:
            lookup = _Followed(orders["times"]) if orders["wal"] else CommitTimes(orders["times"])
        except RecordError as error:
            sys.stderr.write(f"troubadour: {error}\n")
            return 1
    os.write(1, b"ready\n")

    def wait() -> bool:
        readable, _, _ = select.select([0], [], [], PAUSE)
        return not readable

    path, target = Path(orders["path"]), Path(orders["target"])
    try:
        try:
            complete(make_log(path, target, lookup, wait, durable=orders["durable"]), target)
        except Unasked as error:  # the lines are written all the same
            sys.stderr.write(f"troubadour: {error}\n")
        if target != path:
            path.unlink()
    except (RecordError, LogError, OSError) as error:
        sys.stderr.write(f"troubadour: {error}\n")
        return 1
    finally:
        if lookup is not None:
            lookup.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
