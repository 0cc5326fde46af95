"""Procrastinate: one job per statement by design; high concurrency, finished jobs deleted, no waiting at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from procrastinate import App, PsycopgConnector

from bench.messages import QUEUE, Noted, Payload
from bench.peers.rows_left import count_rows
from bench.peers.sending import AwaitedSender, Sender
from bench.processes import Prepared

NAME = "procrastinate"
CONCURRENCY = 20
SETTINGS = f"psycopg, concurrency={CONCURRENCY}, delete_jobs=successful"
ONE_BY_ONE = True


def set_up(url: str) -> None:
    """Apply Procrastinate's schema."""
    asyncio.run(_set_up(url))


async def _set_up(url: str) -> None:
    async with _app(url, _nothing).open_async() as app:
        await app.schema_manager.apply_schema_async()


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Open the pool; return the run of a worker that stops when it has caught up."""
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    runner = asyncio.Runner()
    seen: list[int] = []
    app = _app(url, lambda message: seen.append(message["n"]))
    runner.run(app.open_async().__aenter__())

    def run() -> list[int]:
        runner.run(_work(app, wait=False))
        return seen

    return run


def sender(url: str) -> Sender:
    """Open the pool, which is left open when the process ends: nothing needs to be said about that."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    runner = asyncio.Runner()
    app = _app(url, _nothing)
    runner.run(app.open_async().__aenter__())
    task = app.tasks["handle"]

    async def push(message: Payload) -> None:
        await task.defer_async(**message)

    async def push_many(messages: list[Payload]) -> None:
        await task.batch_defer_async(*messages)

    return AwaitedSender(push, push_many, runner)


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Open the pool; return the run of a worker until the stop comes."""
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    runner = asyncio.Runner()
    noted = Noted()
    ended = asyncio.Event()

    def handle(message: Payload) -> None:
        if noted.stopped_by(message):
            ended.set()

    app = _app(url, handle)
    runner.run(app.open_async().__aenter__())

    async def work() -> None:
        working = asyncio.create_task(_work(app, wait=True))
        await ended.wait()
        working.cancel()  # which is how a worker of Procrastinate is told to stop
        await asyncio.wait([working])

    def run() -> dict[int, int]:
        runner.run(work())
        return noted.times

    return run


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")


async def _work(app: App, *, wait: bool) -> None:
    try:
        await app.run_worker_async(
            queues=[QUEUE],
            concurrency=CONCURRENCY,
            wait=wait,
            delete_jobs="successful",
            install_signal_handlers=False,
        )
    finally:
        await app.close_async()


def _app(url: str, handle: Callable[[Payload], None]) -> App:
    app = App(connector=PsycopgConnector(conninfo=url, max_size=CONCURRENCY + 5))

    @app.task(name="handle", queue=QUEUE)
    async def task(**message: Any) -> None:
        handle(message)

    return app


def _nothing(message: Payload) -> None:
    """Handle what never comes to a client that only sends."""
