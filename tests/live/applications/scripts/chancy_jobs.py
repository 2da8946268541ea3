"""chancy: jobs are pushed and done. `python chancy_jobs.py setup|run URL`."""

import asyncio
import sys

from chancy import Chancy, Queue, Worker, job


@job(queue="default")
def add(*, a: int, b: int):
    return a + b


async def setup():
    async with Chancy(sys.argv[2]) as chancy:
        await chancy.migrate()
        await chancy.declare(Queue("default", concurrency=2, executor=Chancy.Executor.Threaded))


async def run():
    async with Chancy(sys.argv[2]) as chancy:
        for n in range(8):
            reference = await chancy.push(add.job.with_kwargs(a=n, b=1))
        async with Worker(chancy, register_signal_handlers=False) as worker:
            await chancy.wait_for_job(reference, timeout=30)
            await worker.stop()


asyncio.run({"setup": setup, "run": run}[sys.argv[1]]())
