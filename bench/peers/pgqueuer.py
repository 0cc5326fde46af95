"""PgQueuer: its asyncpg driver on uvloop, drain mode; its tuning guide says to raise the batch for short jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.messages import QUEUE, payload_text

NAME = "pgqueuer"
BATCH = 1_000
SETTINGS = f"asyncpg, uvloop, batch_size={BATCH}"


def set_up(url: str) -> None:
    """Install PgQueuer's tables, types, triggers and functions."""
    asyncio.run(_set_up(url))


async def _set_up(url: str) -> None:
    connection = await asyncpg.connect(url)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


def enqueue(url: str, count: int) -> None:
    """Send the messages in lists of 10,000, each one statement."""
    asyncio.run(_enqueue(url, count))


async def _enqueue(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    for start in range(0, count, 10_000):
        payloads: list[bytes | None] = [payload_text(n).encode() for n in range(start, min(start + 10_000, count))]
        await queries.enqueue([QUEUE] * len(payloads), payloads, [0] * len(payloads))
    await connection.close()


def prepare_drain(url: str) -> Callable[[], list[int]]:
    """Connect and register the handler; return the run in drain mode."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    seen: list[int] = []
    queuer = runner.run(_consumer(url, seen))

    def run() -> list[int]:
        runner.run(queuer.run(batch_size=BATCH, mode=QueueExecutionMode.drain))
        return seen

    return run


async def _consumer(url: str, seen: list[int]) -> PgQueuer:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @queuer.entrypoint(QUEUE)
    async def handle(job: Job) -> None:
        seen.append(json.loads(job.payload or b"")["n"])

    return queuer
