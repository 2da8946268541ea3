"""Celery with results in a database by SQLAlchemy. `python celery_results.py setup|run URL`."""

import sys

from celery import Celery
from celery.contrib.testing.worker import start_worker

app = Celery("work", broker="memory://", backend=f"db+{sys.argv[2]}")
app.conf.update(database_create_tables_at_setup=True, worker_hijack_root_logger=False)


@app.task
def add(a, b):
    return a + b


@app.task
def fail():
    raise ValueError("as intended")


if sys.argv[1] == "setup":
    app.backend.ResultSession().close()
else:
    with start_worker(app, perform_ping_check=False, pool="threads", concurrency=2):
        results = [add.delay(n, n) for n in range(8)]
        assert [result.get(timeout=20) for result in results] == [2 * n for n in range(8)]
        broken = fail.delay()
        assert isinstance(broken.get(timeout=20, propagate=False), ValueError)
        results[0].forget()
