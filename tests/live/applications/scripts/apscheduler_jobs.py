"""APScheduler with its jobs in a database, by SQLAlchemy. `python apscheduler_jobs.py setup|run URL`."""

import sys
import time
from contextlib import suppress
from datetime import datetime, timedelta

from apscheduler.jobstores.base import ConflictingIdError, JobLookupError
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler


def work(n):
    return n + 1


scheduler = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url=sys.argv[2])}, timezone="UTC")
scheduler.start(paused=sys.argv[1] == "setup")
if sys.argv[1] == "run":
    for n in range(10):
        scheduler.add_job(work, "interval", seconds=1 + n, args=[n], id=f"job {n}")
        scheduler.add_job(work, "date", run_date=datetime.now() + timedelta(milliseconds=300), args=[n])
    with suppress(ConflictingIdError):
        scheduler.add_job(work, "interval", hours=1, args=[0], id="job 1")
    for n in range(4):
        scheduler.reschedule_job(f"job {n}", trigger="interval", minutes=5)
        scheduler.pause_job(f"job {n}")
        assert scheduler.get_job(f"job {n}").next_run_time is None
    time.sleep(2.5)
    for n in range(0, 12, 2):
        with suppress(JobLookupError):
            scheduler.remove_job(f"job {n}")
    assert len(scheduler.get_jobs()) >= 5
scheduler.shutdown()
