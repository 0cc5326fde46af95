"""How quickly the dashboard answers, and what its viewers cost the database: python -m bench.dashboard.

A PostgreSQL with many queues, one of which holds half of all messages; the dashboard runs in a process of its own. Each
page is asked for one after another while other pages are open and kept live. Between two requests passes more time than
anything is shown again for, so that each request reads all that it shows. A list that a page does not wait for is there
some time after the page: that is measured as well. Then: how long after a push an open page shows it, and, of a growing
number of viewers, how many reads the dashboard makes in a second, and how many transactions the database counts.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles
from typing import Any, Final

import httpx
import psycopg
import uvicorn
from starlette.responses import PlainTextResponse

import duerow
from bench.dashboard_fill import BIG, fill
from duerow import aio
from duerow.web import application
from tests.servers import postgresql
from tests.servers.process import free_port

READS: Final = "/reads"
"""Where the measured process tells how often it has asked the database for something."""

PAUSE: Final = 0.6
"""Seconds between two requests for a page: longer than quick data is shown again."""

SEARCHING: Final = "Still searching"
"""What a page says whose list is not there yet."""

STOPPED: Final = "Not found yet"
"""What a page says whose search took too long."""

PATIENCE: Final = 60.0
"""Seconds to wait for a list."""

PAGES: Final = {
    "overview": "/",
    "overview, page 7": "/?sort=name&page=7",
    "overview, filtered": "/?q=queue-09",
    "queue": f"/queues/{BIG}",
    "queue, newest first": f"/queues/{BIG}?order=-id",
    "queue, by priority": f"/queues/{BIG}?order=priority",
    "queue, ready": f"/queues/{BIG}?tab=ready&order=due_at",
    "queue, delayed": f"/queues/{BIG}?tab=delayed",
    "queue, in progress": f"/queues/{BIG}?tab=leased",
    "queue, failed": f"/queues/{BIG}?tab=error",
    "queue, stopped": f"/queues/{BIG}?tab=stopped",
    "queue, dead": f"/queues/{BIG}?tab=dead",
    "small queue": "/queues/queue-0500",
    "small queue, newest first": "/queues/queue-0500?order=-id",
    "small queue, condition without index": "/queues/queue-0500?where=payload.order+%3D+{n}",
    "queue, indexed condition": f"/queues/{BIG}?where=payload.customer+%3D+{{n}}",
    "queue, condition without index": f"/queues/{BIG}?where=payload.order+%3D+77",
    "message": f"/queues/{BIG}/messages/{{id}}",
    "path of a message": f"/queues/{BIG}/messages/{{id}}/way",
    "dead letters": "/dead",
    "pipelines": "/pipelines",
    "pipeline": "/pipelines/pipeline-000",
    "schedules": "/schedules",
    "schedule": "/schedules/schedule-000",
    "workers": "/workers",
    "history": f"/history?queue={BIG}",
    "audit": "/audit",
    "audit, condition": "/audit?where=payload.by+%3D+%27ana%27",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
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
            asyncio.run(delays(address, url, chosen.requests))
            asyncio.run(costs(address, chosen.viewers, url))


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """Yield the URL of the given server, or of one of our own."""
    if url is not None:
        yield url
        return
    with postgresql.running() as started:
        yield started


@contextmanager
def dashboard(url: str) -> Iterator[str]:
    """Serve the dashboard from a process of its own."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", f"from bench.dashboard import serve; serve({url!r}, {port})"])
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


def serve(url: str, port: int) -> None:
    """Serve the dashboard, and under READS the number of its reads and writes so far."""
    number, run = 0, aio.Database.run

    async def counting(self: aio.Database, *arguments: Any, **options: Any) -> Any:
        nonlocal number
        number += 1
        return await run(self, *arguments, **options)

    aio.Database.run = counting  # type: ignore[method-assign, assignment]
    window = application(url)

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == READS:
            await PlainTextResponse(str(number))(scope, receive, send)
        else:
            await window(scope, receive, send)

    uvicorn.run(counted, port=port, log_level="warning")


async def answers(address: str, url: str, requests: int) -> None:
    """Print how long pages take, the very first look and then the 95th percentile."""
    async with httpx.AsyncClient(base_url=address, timeout=60) as browser:
        began = time.perf_counter()
        await browser.get("/")
        print(f"first look at the overview: {1000 * (time.perf_counter() - began):.0f} ms")
        with duerow.connect(url) as db:
            id = db.queue(BIG).find(limit=1)[0].id
            job = db.queue("duerow.jobs").history(limit=1)[0].id
        async with viewers(address, ["/", f"/queues/{BIG}", "/dead"]):
            await asyncio.sleep(8)
            print("\n| page | p50 | p95 | highest | list there after | size |\n|---|---|---|---|---|---|")
            for name, path in PAGES.items():
                print(await measured(browser, name, path.replace("{id}", str(id)).replace("{job}", str(job)), requests))


async def measured(browser: httpx.AsyncClient, name: str, path: str, requests: int) -> str:
    """Return the line of a page in the table; `{n}` in its path is another number each time."""
    times, size, listed = [], 0, ""
    first = time.perf_counter()
    for number in range(requests):
        began = time.perf_counter()
        page = await browser.get(path.replace("{n}", str(77 + number)))
        times.append(1000 * (time.perf_counter() - began))
        size = len(page.content)
        if page.status_code != 200:
            return f"{path}: {page.status_code} {page.text[-400:]}"
        if number == 0 and SEARCHING in page.text:
            listed = await _listed(browser, path.replace("{n}", "77"), first)
        await asyncio.sleep(PAUSE)
    cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    line = f"{cuts[49]:.0f} ms | {cuts[94]:.0f} ms | {max(times):.0f} ms | {listed or 'at once'} | {size / 1000:.0f} kB"
    return f"| {name} | {line} |"


async def _listed(browser: httpx.AsyncClient, path: str, began: float) -> str:
    """Return how long after the first request a page has its list, or that its search was stopped."""
    while (spent := time.perf_counter() - began) < PATIENCE:
        text = (await browser.get(path)).text
        if SEARCHING not in text:
            return f"{'stopped after ' if STOPPED in text else ''}{spent:.1f} s"
        await asyncio.sleep(0.1)
    return f"not within {PATIENCE:.0f} s"


async def delays(address: str, url: str, changes: int) -> None:
    """Print how long after a push the open page of its queue changes: the median, the 95th percentile, the longest."""
    times = []
    async with await aio.connect(url) as db, httpx.AsyncClient(base_url=address, timeout=30) as browser:
        queue = db.queue("watched")
        await queue.push({"order": 0})
        async with browser.stream("GET", "/queues/watched", params={"live": "x"}) as stream:
            events = (text async for text in stream.aiter_text() if "data:" in text)
            await anext(events)
            await asyncio.sleep(3)  # what the page shows at first is sent
            for number in range(changes):
                await asyncio.sleep(0.5 + number % 10 / 10)  # at another moment of the second each time
                began = time.perf_counter()
                await queue.push({"order": number + 1})
                await anext(events)
                times.append(1000 * (time.perf_counter() - began))
    cuts = quantiles(times, n=100, method="inclusive")
    print(f"\nfrom a push to the open page: p50 {cuts[49]:.0f} ms, p95 {cuts[94]:.0f} ms, highest {max(times):.0f} ms")


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


async def costs(address: str, numbers: list[int], url: str, seconds: float = 10.0) -> None:
    """Print the dashboard's reads and the database's transactions in a second, for so many viewers of the overview."""
    print("\n| viewers of the overview | reads a second | transactions a second |\n|---|---|---|")
    for number in numbers:
        async with viewers(address, ["/"] * number), httpx.AsyncClient(base_url=address) as asking:
            await asyncio.sleep(8)
            before, began = (int((await asking.get(READS)).text), transactions(url)), time.monotonic()
            await asyncio.sleep(seconds)
            after, spent = (int((await asking.get(READS)).text), transactions(url)), time.monotonic() - began
            rates = [(last - first) / spent for first, last in zip(before, after, strict=True)]
            print(f"| {number} | {rates[0]:.1f} | {rates[1]:.1f} |")


def transactions(url: str) -> int:
    """Return how many transactions the database has counted, which it notes a second later at most."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert found is not None
    return int(found[0])


if __name__ == "__main__":
    main()
