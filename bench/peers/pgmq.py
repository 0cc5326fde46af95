"""pgmq through its Python client: batches read with a visibility timeout, then deleted, as its guide does.

The extension's SQL comes with the client's wheel, so nothing has to be installed on the server. A worker that waits
for single messages listens to the notifications that the extension sends for a queue where they are switched on; they
are not throttled, because a throttled one may come a quarter of a second late.
"""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from pgmq import PGMQueue, install_pgmq_from_sql
from pgmq.notify_listener import SyncNotificationListener

from bench.messages import QUEUE, Noted
from bench.peers.rows_left import count_rows
from bench.peers.sending import BlockingSender, Sender
from bench.processes import Prepared

NAME = "pgmq"
BATCH = 1_000
SETTINGS = f"psycopg, read_batch({BATCH}), delete_batch"
ONE_BY_ONE = False


class Stopped(Exception):
    """Raised in the callback of the listener, which has no other way out of its loop."""


def set_up(url: str) -> None:
    """Install pgmq's schema and create the queue."""
    with psycopg.connect(url) as connection:
        install_pgmq_from_sql(conn=connection)
    queue = _open(url)
    queue.create_queue(QUEUE)
    queue.close()


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Connect; return the loop that reads, handles and deletes batches until none is left."""
    queue = _open(url)

    def run() -> list[int]:
        seen: list[int] = []
        while messages := queue.read_batch(QUEUE, vt=60, batch_size=BATCH):
            handled = [message.msg_id for message in messages]
            seen.extend(message.message["n"] for message in messages)
            if sorted(queue.delete_batch(QUEUE, handled)) != sorted(handled):
                raise AssertionError("pgmq did not delete every message that it had handed out")
        return seen

    return run


def sender(url: str) -> Sender:
    """Connect."""
    queue = _open(url)
    return BlockingSender(lambda message: queue.send(QUEUE, message), lambda many: queue.send_batch(QUEUE, many))


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Switch the queue's notifications on; return the loop that reads a batch after each of them."""
    logging.getLogger("pgmq").setLevel(logging.CRITICAL)
    queue = _open(url)
    queue.enable_notify(QUEUE, throttle_interval_ms=0)
    noted = Noted()

    def look(_: dict[str, Any]) -> None:
        messages = queue.read_batch(QUEUE, vt=60, batch_size=BATCH)
        stopped = [noted.stopped_by(message.message) for message in messages]
        if messages:
            queue.delete_batch(QUEUE, [message.msg_id for message in messages])
        if any(stopped):
            raise Stopped

    def run() -> dict[int, int]:
        try:
            SyncNotificationListener(queue).listen(QUEUE, look)
        except Stopped:
            return noted.times
        raise AssertionError("the listener of pgmq ended by itself")

    return run


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM pgmq.q_bench")


def _open(url: str) -> PGMQueue:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return PGMQueue(
        conn_string=None,
        host=str(parts["host"]),
        port=str(parts["port"]),
        database=str(parts["dbname"]),
        username=str(parts["user"]),
        password=str(parts.get("password") or "none"),
        init_extension=False,
        pool_size=1,
    )
