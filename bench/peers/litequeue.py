"""litequeue: put, pop and done, one message at a time.

It sets synchronous=NORMAL by itself; where all are measured with FULL, that is set on its connection afterwards.
"""

from __future__ import annotations

import json

from litequeue import LiteQueue

from bench.messages import QUEUE, Payload
from bench.peers.sending import BlockingSender, Sender
from bench.processes import Prepared

NAME = "litequeue"
SETTINGS = "put, pop, done"
ONE_BY_ONE = True


def _open(url: str) -> LiteQueue:
    address, _, settings = url.partition("?")
    queue = LiteQueue(address.removeprefix("sqlite:///"), queue_name=QUEUE)
    if settings:
        queue.conn.execute(f"PRAGMA {settings}")
    return queue


def set_up(url: str) -> None:
    """Make the table, which opening it does."""
    _open(url).close()


def sender(url: str) -> Sender:
    """Open the file."""
    queue = _open(url)

    def push(message: Payload) -> None:
        queue.put(json.dumps(message))

    def push_many(messages: list[Payload]) -> None:
        with queue.transaction():
            for message in messages:
                push(message)

    return BlockingSender(push, push_many)


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Open the file; return the loop that takes a message and marks it as done until there is none."""
    queue = _open(url)
    seen: list[int] = []

    def run() -> list[int]:
        while (message := queue.pop()) is not None:
            seen.append(json.loads(message.data)["n"])
            queue.done(message.message_id)
        return seen

    return run


def left(url: str) -> int:
    """Count what is not handled yet."""
    return int(_open(url).qsize())


def synchronous(url: str) -> int:
    """Return what SQLite's setting is on a connection of litequeue's."""
    return int(_open(url).conn.execute("PRAGMA synchronous").fetchone()[0])
