"""SAQ: jobs that are queued in PostgreSQL and worked off. `python saq_jobs.py setup|run URL`."""

import asyncio
import sys

from saq import Queue, Worker


async def add(context, *, a, b):
    return a + b


async def main():
    queue = Queue.from_url(sys.argv[2])
    await queue.connect()
    if sys.argv[1] == "run":
        worker = Worker(queue, functions=[add], concurrency=2, dequeue_timeout=1)
        task = asyncio.create_task(worker.start())
        results = [await queue.apply("add", a=number, b=1) for number in range(5)]
        assert results == [1, 2, 3, 4, 5]
        await queue.enqueue("add", a=1, b=1, scheduled=4000000000)
        assert await queue.count("incomplete") == 1
        await worker.stop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await queue.disconnect()


asyncio.run(main())
