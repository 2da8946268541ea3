"""procrastinate: jobs are deferred and done. `python procrastinate_jobs.py setup|run URL`."""

import asyncio
import sys

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=sys.argv[2]))
done = []


@app.task(queue="sums")
def add(a, b):
    done.append(a + b)


@app.task(queue="sums", retry=1)
def fail():
    raise ValueError("as intended")


async def setup():
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def run():
    async with app.open_async():
        for n in range(10):
            await add.defer_async(a=n, b=1)
        await fail.defer_async()
        await app.run_worker_async(wait=False, concurrency=2, listen_notify=False, install_signal_handlers=False)
        assert len(done) == 10


asyncio.run({"setup": setup, "run": run}[sys.argv[1]]())
