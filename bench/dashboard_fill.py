"""What the dashboard is measured on: many queues and messages, and some of all else that its pages show."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Final

import psycopg

import duerow
from duerow import Draft, Pipeline, Relay, Sink, aio
from duerow.queue.audit import AUDIT, written
from duerow.web import Web
from duerow.web.dashboard.changes import AskedChange
from duerow.web.dashboard.jobs import BackgroundJobs
from duerow.web.options import WebOptions

BATCH: Final = 10_000
BIG: Final = "big"
CONSUMERS: Final = 200
SCHEDULES: Final = 100
ENTRIES: Final = 2_000
JOBS: Final = 100
STATIONS: Final = 8


def fill(url: str, queues: int, messages: int) -> None:
    """Push messages, half of them into one queue, and bring about the rest; nothing is done if there are some."""
    with duerow.connect(url, migrate=True) as db:
        if db.queues():
            return
        big = db.queue(BIG, indexed={"customer": int}, history=timedelta(days=1))
        big.declare()
        for start in range(0, messages // 2, BATCH):
            big.push_many([Draft({"order": n, "customer": n % 5_000}) for n in range(start, start + BATCH)])
        each = max(1, messages // 2 // queues)
        for number in range(queues):
            queue = db.queue(_name(number), history=timedelta(days=1))
            for start in range(0, each, BATCH):
                queue.push_many([Draft({"order": n}) for n in range(start, min(start + BATCH, each))])
            queue.commit_many(queue.reserve_many(3))
        for reservation in big.reserve_many(20):
            big.bury(reservation, "TimeoutError: no answer")
        big.commit_many(big.reserve_many(500))
        big.reserve_many(100, lease=timedelta(hours=1))
        _fill_rest(db, queues)
        db.write_counts()
    asyncio.run(_fill_jobs(url))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def _name(number: int) -> str:
    return f"queue-{number:04}"


def _fill_rest(db: duerow.Database, queues: int) -> None:
    """Declare pipelines over the queues and schedules, note consumers, and write the audit."""
    for number in range(max(1, queues // STATIONS)):
        names = [_name((number * STATIONS + place) % queues) for place in range(min(STATIONS, queues))]
        stations: list[Any] = [Relay(one, print, to=to) for one, to in pairwise(names)]
        db.declare_pipeline(Pipeline(f"pipeline-{number:03}", [*stations, Sink(names[-1], print)]))
    for number in range(SCHEDULES):
        db.schedule(f"schedule-{number:03}", every=timedelta(hours=1), queue=_name(number % queues), payload={"n": 1})
    note = db.store.metadata.note_consumer
    for number in range(CONSUMERS):
        some = [_name((number * 5 + place) % queues) for place in range(5)]
        db.run(partial(note, f"host-{number}:1:w", some, ["json"], "1.0"))
    audit = db.queue(AUDIT, history=timedelta(days=90))
    entries = [
        written("ana", "session", "10.0.0.1", "requeue", _name(n % queues), {"ids": [n]}) for n in range(ENTRIES)
    ]
    audit.push_many([Draft(entry) for entry in entries])
    while audit.pop_many(500):
        pass


async def _fill_jobs(url: str) -> None:
    """Do some jobs to their end, and leave none under way."""
    async with await aio.connect(url) as database:
        jobs = BackgroundJobs(Web(database, WebOptions()))
        for number in range(JOBS):
            asked = AskedChange("reprioritise", (number + 1,), "all", "", {"priority": "1"})
            await jobs.begin(f"Reprioritise message {number + 1} of {BIG}", BIG, "ana", 1, asked)
        working = asyncio.create_task(jobs.run())
        while await jobs.under_way():  # noqa: ASYNC110 - jobs tell nobody that they are over
            await asyncio.sleep(0.1)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
