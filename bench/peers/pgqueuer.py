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

from bench.messages import QUEUE, Noted, Payload
from bench.peers.rows_left import count_rows
from bench.peers.sending import AwaitedSender, Sender
from bench.processes import Prepared

NAME = "pgqueuer"
BATCH = 1_000
SETTINGS = f"asyncpg, uvloop, batch_size={BATCH}"
ONE_BY_ONE = False


def set_up(url: str) -> None:
    """Install PgQueuer's tables, types, triggers and functions."""
    asyncio.run(_set_up(url))


async def _set_up(url: str) -> None:
    connection = await asyncpg.connect(url)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Connect and register the handler; return the run in drain mode."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    seen: list[int] = []
    queuer = runner.run(_consumer(url, lambda message: seen.append(message["n"])))

    def run() -> list[int]:
        runner.run(queuer.run(batch_size=BATCH, mode=QueueExecutionMode.drain))
        return seen

    return run


def sender(url: str) -> Sender:
    """Connect."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    queries = Queries(AsyncpgDriver(runner.run(_connection(url))))

    async def push(message: Payload) -> None:
        await queries.enqueue(QUEUE, json.dumps(message).encode())

    async def push_many(messages: list[Payload]) -> None:
        payloads: list[bytes | None] = [json.dumps(message).encode() for message in messages]
        await queries.enqueue([QUEUE] * len(payloads), payloads, [0] * len(payloads))

    return AwaitedSender(push, push_many, runner)


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Connect and register the handler; return the run until the stop comes."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    noted = Noted()

    def handle(message: Payload) -> None:
        if noted.stopped_by(message):
            queuer.shutdown.set()

    queuer = runner.run(_consumer(url, handle))

    def run() -> dict[int, int]:
        runner.run(queuer.run(batch_size=BATCH))
        return noted.times

    return run


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM pgqueuer")


async def _connection(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url)


async def _consumer(url: str, handle: Callable[[Payload], None]) -> PgQueuer:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @queuer.entrypoint(QUEUE)
    async def entry(job: Job) -> None:
        handle(json.loads(job.payload or b""))

    return queuer
