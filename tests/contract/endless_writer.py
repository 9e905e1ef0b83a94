"""A program for the durability tests: submits jobs without end and says of each acknowledged one `SEQ JOB_ID`."""

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from muster.ports.store import Store
from muster.stores.opening import open_store
from tests.contract.building import a_job, submission


async def main(url: str) -> None:
    store = await open_store(url)
    numbers = itertools.count(1)
    await asyncio.gather(*(submit_without_end(store, numbers) for _ in range(20)))


async def submit_without_end(store: Store, numbers: Iterator[int]) -> None:
    for number in numbers:
        job = a_job(number)
        [event] = await store.apply(submission(job))
        os.write(1, f"{event.seq} {job.id}\n".encode())


asyncio.run(main(sys.argv[1]))
