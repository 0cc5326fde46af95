"""Procrastinate: one job per statement by design; high concurrency, finished jobs deleted, no waiting at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from procrastinate import App, PsycopgConnector

from bench.messages import QUEUE, payload

NAME = "procrastinate"
CONCURRENCY = 20
SETTINGS = f"psycopg, concurrency={CONCURRENCY}, delete_jobs=successful"


def set_up(url: str) -> None:
    """Apply Procrastinate's schema."""
    asyncio.run(_set_up(url))


async def _set_up(url: str) -> None:
    async with _app(url, []).open_async() as app:
        await app.schema_manager.apply_schema_async()


def enqueue(url: str, count: int) -> None:
    """Defer the jobs in batches of 10,000."""
    asyncio.run(_enqueue(url, count))


async def _enqueue(url: str, count: int) -> None:
    async with _app(url, []).open_async() as app:
        for start in range(0, count, 10_000):
            numbers = range(start, min(start + 10_000, count))
            await app.tasks["handle"].batch_defer_async(*(payload(n) for n in numbers))


def prepare_drain(url: str) -> Callable[[], list[int]]:
    """Open the pool; return the run of a worker that stops when it has caught up."""
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    runner = asyncio.Runner()
    seen: list[int] = []
    app = _app(url, seen)
    runner.run(app.open_async().__aenter__())

    def run() -> list[int]:
        runner.run(_work(app))
        return seen

    return run


async def _work(app: App) -> None:
    try:
        await app.run_worker_async(
            queues=[QUEUE],
            concurrency=CONCURRENCY,
            wait=False,
            delete_jobs="successful",
            install_signal_handlers=False,
        )
    finally:
        await app.close_async()


def _app(url: str, seen: list[int]) -> App:
    app = App(connector=PsycopgConnector(conninfo=url, max_size=CONCURRENCY + 5))

    @app.task(name="handle", queue=QUEUE)
    async def handle(**message: Any) -> None:
        seen.append(message["n"])

    return app
