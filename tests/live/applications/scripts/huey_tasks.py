"""huey: a queue in SQLite, and workers that empty it. `python huey_tasks.py setup|run URL`."""

import sys
import time
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

from huey import SqliteHuey

huey = SqliteHuey("work", filename=urlsplit(sys.argv[2]).path, results=True)


@huey.task()
def add(a, b):
    return a + b


@huey.task(retries=1)
def fail():
    raise ValueError("as intended")


def worker(tasks):
    end = time.monotonic() + 20
    while tasks and time.monotonic() < end:
        task = huey.dequeue()
        if task is None:
            if all(result() is not None for result in tasks):
                break
            time.sleep(0.05)
            continue
        with suppress(ValueError):
            huey.execute(task)
    huey.storage.close()


if sys.argv[1] == "run":
    results = [add(n, n) for n in range(12)]
    fail()
    later = add.schedule((1, 2), delay=0.2)
    threads = [Thread(target=worker, args=(results,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.get() for result in results] == [2 * n for n in range(12)]
    huey.put("answer", 42)
    assert huey.get("answer") == 42
    huey.lock_task("once").acquire()
    later.revoke()
    assert huey.pending_count() == 0
    time.sleep(0.3)
    huey.read_schedule()
    huey.flush()
else:
    huey.storage.conn
