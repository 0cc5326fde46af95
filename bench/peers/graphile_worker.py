"""graphile-worker, as its page on performance drives it: node/graphile_worker.mjs has the settings."""

from __future__ import annotations

from bench.peers import in_node
from bench.peers.rows_left import count_rows
from bench.peers.sending import Sender
from bench.processes import Prepared

NAME = "graphile-worker"
SETTINGS = "24 jobs at once, local queue of 500, completions in batches"
ONE_BY_ONE = False

_LIBRARY = "graphile_worker"


def set_up(url: str) -> None:
    """Run its migrations."""
    in_node.set_up(_LIBRARY, url)


def sender(url: str) -> Sender:
    """Its own client."""
    return in_node.NodeSender(_LIBRARY, url)


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Start Node.js; return the run of `runOnce`."""
    return in_node.drain(_LIBRARY, url, count)


def prepare_worker(url: str) -> Prepared[dict[int, int]]:
    """Start Node.js and the worker, which runs until the stop comes."""
    return in_node.note_times(_LIBRARY, url)


def left(url: str) -> int:
    """Count what is not handled yet."""
    return count_rows(url, "SELECT count(*) FROM graphile_worker.jobs")
