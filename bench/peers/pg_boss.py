"""pg-boss: batches of 1,000 without a pause between full ones, woken by NOTIFY: node/pg_boss.mjs has the settings."""

from __future__ import annotations

from bench.peers import in_node
from bench.peers.rows_left import count_rows
from bench.peers.sending import Sender
from bench.processes import Prepared

NAME = "pg-boss"
SETTINGS = "batchSize=1000, burstWhenBatchFull, useListenNotify, a partition of its own, no maintenance"
ONE_BY_ONE = False

_LIBRARY = "pg_boss"


def set_up(url: str) -> None:
    """Make its schema and the queue."""
    in_node.set_up(_LIBRARY, url)


def sender(url: str) -> Sender:
    """Its own client."""
    return in_node.NodeSender(_LIBRARY, url)


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Start Node.js; return the run of a worker that ends after `count` messages."""
    return in_node.drain(_LIBRARY, url, count)


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Start Node.js and the worker, which runs until the stop comes."""
    return in_node.note_times(_LIBRARY, url)


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM pgboss.job WHERE state < 'completed' AND name = 'bench'")
