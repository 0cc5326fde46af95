"""duerow itself as one of the contestants, through its public names only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool

import duerow
from bench import ours
from bench.messages import QUEUE, Payload
from bench.peers.rows_left import count_rows
from bench.peers.sending import BlockingSender, Sender
from bench.processes import Prepared
from duerow import Draft, Message, Worker

NAME = "duerow"
SETTINGS = f"Worker(batch={ours.BATCH:,}, concurrency=1) for drains, Worker() as it comes for latency"
ONE_BY_ONE = False


def set_up(url: str) -> None:
    """Make duerow's tables."""
    ours.migrate(url)


def sender(url: str) -> Sender:
    """Connect."""
    queue = duerow.connect(url).queue(QUEUE)

    def push_many(messages: list[Payload]) -> None:
        queue.push_many([Draft(message) for message in messages])

    return BlockingSender(queue.push, push_many)


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Connect; return the run of a worker until nothing is due."""
    seen: list[int] = []

    def handle(message: Message) -> None:
        seen.append(message.payload["n"])

    worker = Worker(duerow.connect(url).queue(QUEUE), handle, batch=ours.BATCH, concurrency=1)

    def run() -> list[int]:
        worker.run(until="idle")
        return seen

    return run


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Connect; return the run of a worker until the stop comes."""
    return ours.note_times(url)


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM duerow_message")


def synchronous(url: str) -> int:
    """Return what SQLite's setting is on a connection of duerow's, which only the pool of SQLAlchemy hands out."""
    found: list[int] = []

    def look(connection: Any, _: object) -> None:
        found.append(connection.execute("PRAGMA synchronous").fetchone()[0])

    event.listen(Pool, "checkin", look)
    try:
        with duerow.connect(url) as database:
            database.queues()
    finally:
        event.remove(Pool, "checkin", look)
    return found[0]
