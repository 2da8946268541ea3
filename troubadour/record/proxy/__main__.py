"""The process of a proxy that an application starts (`beside`). Its orders come on standard input, one line of
JSON; its end means that the application has ended or closed its logs. Does not know what a proxy does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from troubadour.record.errors import RecordError
from troubadour.record.proxy.beside import HOST
from troubadour.record.proxy.serve import Options, serve


def main() -> int:
    """0 the log is made, 1 it is not, or nothing could be recorded: standard output, or error, says what."""
    orders = json.loads(sys.stdin.readline())
    options = Options(
        (HOST, 0), Path(orders["log"]), orders["commit_order"], orders["unwritable"], orders["durable"]
    )  # fmt: skip
    told = False

    def ready(host: str, port: int) -> None:
        nonlocal told
        told = True
        sys.stdout.write(json.dumps({"host": host, "port": port}) + "\n")
        sys.stdout.flush()
        threading.Thread(target=_follow, daemon=True).start()

    try:
        serve(orders["dsn"], options, ready)
    except (RecordError, OSError) as error:
        if told:
            sys.stderr.write(f"troubadour: {error}\n")
        else:
            sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 1
    return 0


def _follow() -> None:
    """End the proxy with standard input."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
