"""awa: queue storage in its own schema, COPY in bulk, 1,000 handlers at once, and otherwise its defaults.

50 to 1,000 handlers and one to four claimers were tried; the most handlers and one claimer were the fastest.
awa has no drain that ends by itself, so the worker is shut down once all messages were handled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import awa

from bench.messages import QUEUE, Noted, Payload
from bench.peers.sending import AwaitedSender, Sender
from bench.processes import Prepared

NAME = "awa-pg"
WORKERS = 1_000
SETTINGS = f"{WORKERS:,} workers, enqueue_many_copy"
ONE_BY_ONE = False

SECONDS = 300.0
"""How long a drain may take."""


@dataclass
class Handle:
    """A message as awa wants it declared; the class's name is the kind of the job."""

    message: Payload


def set_up(url: str) -> None:
    """Apply awa's migrations and its queue storage, which its COPY asks for."""
    with awa.Client(url) as client:
        client.migrate()
        client.install_queue_storage(schema="awa")


def sender(url: str) -> Sender:
    """Connect."""
    client = awa.AsyncClient(url)

    async def push(message: Payload) -> None:
        await client.insert(Handle(message), queue=QUEUE)

    async def push_many(messages: list[Payload]) -> None:
        await client.enqueue_many_copy([Handle(message) for message in messages], queue=QUEUE)

    async def connected() -> AwaitedSender:
        await client.queue_stats()
        return AwaitedSender(push, push_many, runner)

    runner = asyncio.Runner()
    return runner.run(connected())


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Register the handler; return the start of the worker and its shutdown after `count` messages."""
    seen: list[int] = []

    def handle(message: Payload) -> bool:
        seen.append(message["n"])
        return len(seen) == count

    run = _worker(url, handle)

    def drain() -> list[int]:
        run()
        return seen

    return drain


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Register the handler; return the run of the worker until the stop comes."""
    noted = Noted()
    run = _worker(url, noted.stopped_by)

    def work() -> dict[int, int]:
        run()
        return noted.times

    return work


def _worker(url: str, handle: Callable[[Payload], bool]) -> Callable[[], None]:
    logging.getLogger("awa").setLevel(logging.ERROR)
    runner = asyncio.Runner()
    client = awa.AsyncClient(url, max_connections=20)
    ended = asyncio.Event()

    async def prepare() -> None:
        async def handler(job: Any) -> None:
            if handle(job.args.message):
                ended.set()

        client.task(Handle, queue=QUEUE)(handler)
        await client.queue_stats()

    async def run() -> None:
        await client.start([(QUEUE, WORKERS)])
        await asyncio.wait_for(ended.wait(), SECONDS)
        await client.shutdown(timeout_ms=30_000)

    runner.run(prepare())
    return lambda: runner.run(run())


def left(url: str) -> int:
    """Count what is not handled yet."""
    with awa.Client(url) as client:
        return sum(stat.available + stat.running + stat.scheduled for stat in client.queue_stats())
