"""pgqueuer: jobs are enqueued and done. `python pgqueuer_jobs.py setup|run URL`."""

import asyncio
import sys

import psycopg
from pgqueuer import PgQueuer
from pgqueuer.db import PsycopgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries


async def connect():
    return PsycopgDriver(await psycopg.AsyncConnection.connect(sys.argv[2], autocommit=True))


async def setup():
    await Queries(await connect()).install()


async def run():
    driver = await connect()
    queries = Queries(driver)
    await queries.enqueue(["fetch"] * 8, [f"{n}".encode() for n in range(8)], [0] * 8)
    pgq = PgQueuer(await connect())
    done = []

    @pgq.entrypoint("fetch")
    async def fetch(job: Job) -> None:
        done.append(job.payload)
        if len(done) == 8:
            pgq.shutdown.set()

    await asyncio.wait_for(pgq.run(), 40)
    assert len(done) == 8


asyncio.run({"setup": setup, "run": run}[sys.argv[1]]())
