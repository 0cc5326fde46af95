"""How quickly the dashboard answers, and what its viewers cost the database: python -m bench.dashboard.

A PostgreSQL with many queues, one of which holds half of all messages; the dashboard runs in a process of its own. Each
page is asked for one after another while other pages are open and kept live. Then, of a growing number of viewers: how
many transactions the database sees in a second.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from statistics import quantiles
from typing import Final

import httpx
import psycopg

import duerow
from duerow import Draft
from tests.servers import postgresql
from tests.servers.process import free_port

BATCH: Final = 10_000
BIG: Final = "big"
PAGES: Final = {
    "overview": "/",
    "overview, page 7": "/?sort=name&page=7",
    "overview, filtered": "/?q=queue-09",
    "queue": f"/queues/{BIG}",
    "queue, ready": f"/queues/{BIG}?tab=ready&order=due_at",
    "queue, dead": f"/queues/{BIG}?tab=dead",
    "queue, indexed condition": f"/queues/{BIG}?where=payload.customer+%3D+77",
    "message": f"/queues/{BIG}/messages/{{id}}",
    "dead letters": "/dead",
    "pipelines": "/pipelines",
    "schedules": "/schedules",
    "workers": "/workers",
    "history": f"/history?queue={BIG}",
    "audit": "/audit",
}


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--queues", type=int, default=1_000)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--requests", type=int, default=60, help="how often each page is asked for")
    parser.add_argument("--viewers", type=int, nargs="*", default=[0, 1, 10, 50, 100])
    parser.add_argument("--url", help="a database that was filled before; default: a server that is started for this")
    chosen = parser.parse_args()
    with server(chosen.url) as url:
        began = time.monotonic()
        fill(url, chosen.queues, chosen.messages)
        print(f"{chosen.queues:,} queues, {chosen.messages:,} messages, filled in {time.monotonic() - began:.0f} s")
        with dashboard(url) as address:
            asyncio.run(answers(address, url, chosen.requests))
            asyncio.run(costs(address, url, chosen.viewers))


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """Yield the URL of the given server, or of one of our own."""
    if url is not None:
        yield url
        return
    with postgresql.running() as started:
        yield started


def fill(url: str, queues: int, messages: int) -> None:
    """Push messages, half of them into one queue; nothing is pushed if the database has some."""
    with duerow.connect(url, migrate=True) as db:
        big = db.queue(BIG, indexed={"customer": int}, history=timedelta(days=1))
        if db.queues():
            return
        big.declare()
        for start in range(0, messages // 2, BATCH):
            big.push_many([Draft({"order": n, "customer": n % 5_000}) for n in range(start, start + BATCH)])
        each = max(1, messages // 2 // queues)
        for number in range(queues):
            queue = db.queue(f"queue-{number:04}", history=timedelta(days=1))
            for start in range(0, each, BATCH):
                queue.push_many([Draft({"order": n}) for n in range(start, min(start + BATCH, each))])
            queue.commit_many(queue.reserve_many(3))
        for reservation in big.reserve_many(20):
            big.bury(reservation, "TimeoutError: no answer")
        big.commit_many(big.reserve_many(500))
        db.write_counts()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def dashboard(url: str) -> Iterator[str]:
    """Serve the dashboard from a process of its own."""
    port = free_port()
    options = f"port={port}, log_level='warning'"
    code = f"import uvicorn; from duerow.web import application; uvicorn.run(application({url!r}), {options})"
    process = subprocess.Popen([sys.executable, "-c", code])
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                httpx.get(f"{address}/static/style.css")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


async def answers(address: str, url: str, requests: int) -> None:
    """Print how long pages take, the very first look and then the 95th percentile."""
    async with httpx.AsyncClient(base_url=address, timeout=60) as browser:
        began = time.perf_counter()
        await browser.get("/")
        print(f"first look at the overview: {1000 * (time.perf_counter() - began):.0f} ms")
        with psycopg.connect(url) as connection:
            id = connection.execute(
                "SELECT min(id) FROM duerow_message WHERE queue = %s", (BIG.encode().decode(),)
            ).fetchone()
        async with viewers(address, ["/", f"/queues/{BIG}", "/dead"]):
            await asyncio.sleep(8)
            print("\n| page | p50 | p95 | highest | size |\n|---|---|---|---|---|")
            for name, path in PAGES.items():
                times, size = [], 0
                for _ in range(requests):
                    began = time.perf_counter()
                    page = await browser.get(path.format(id=id[0] if id else 1))
                    times.append(1000 * (time.perf_counter() - began))
                    size = len(page.content)
                    if page.status_code != 200:
                        print(f"{path}: {page.status_code} {page.text[-400:]}")
                        break
                cuts = quantiles(times, n=100) if len(times) > 1 else times * 99
                print(
                    f"| {name} | {cuts[49]:.0f} ms | {cuts[94]:.0f} ms | {max(times):.0f} ms | {size / 1000:.0f} kB |"
                )


class viewers:
    """Browsers that keep pages open, each with a stream."""

    def __init__(self, address: str, paths: list[str]) -> None:
        self.address, self.paths = address, paths
        self.tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> None:
        limits = httpx.Limits(max_connections=None)
        self.browser = httpx.AsyncClient(base_url=self.address, timeout=None, limits=limits)
        self.tasks = [asyncio.create_task(self._watch(path)) for path in self.paths]

    async def _watch(self, path: str) -> None:
        async with self.browser.stream("GET", path, params={"live": "x"}) as stream:
            async for _ in stream.aiter_raw():
                pass

    async def __aexit__(self, *raised: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.browser.aclose()


async def costs(address: str, url: str, numbers: list[int]) -> None:
    """Print how many transactions a second the database sees for so many viewers of the overview."""
    print("\n| viewers of the overview | transactions a second |\n|---|---|")
    for number in numbers:
        async with viewers(address, ["/"] * number):
            await asyncio.sleep(8)
            before, began = transactions(url), time.monotonic()
            await asyncio.sleep(10)
            print(f"| {number} | {(transactions(url) - before) / (time.monotonic() - began):.0f} |")


def transactions(url: str) -> int:
    """Return how many transactions the database has seen."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    main()
