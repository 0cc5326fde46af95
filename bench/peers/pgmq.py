"""pgmq through its Python client: batches read with a visibility timeout, then deleted, as its guide does.

The extension's SQL comes with the client's wheel, so nothing has to be installed on the server.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from pgmq import PGMQueue, install_pgmq_from_sql

from bench.messages import QUEUE, payload

NAME = "pgmq"
BATCH = 1_000
SETTINGS = f"psycopg, read_batch({BATCH}), delete_batch"


def set_up(url: str) -> None:
    """Install pgmq's schema and create the queue."""
    with psycopg.connect(url) as connection:
        install_pgmq_from_sql(conn=connection)
    queue = _open(url)
    queue.create_queue(QUEUE)
    queue.close()


def enqueue(url: str, count: int) -> None:
    """Send the messages in batches of 10,000."""
    queue = _open(url)
    for start in range(0, count, 10_000):
        queue.send_batch(QUEUE, [payload(n) for n in range(start, min(start + 10_000, count))])
    queue.close()


def prepare_drain(url: str) -> Callable[[], list[int]]:
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
