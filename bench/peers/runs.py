"""What a contestant does in a process of its own, named so that a fresh process finds it.

Each function connects and prepares outside the clock and returns what is timed.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.cost import with_client_time
from bench.peers import load
from bench.processes import Prepared

CALL = 10_000
"""Messages in each call of a bulk push."""


def push(name: str, url: str, count: int) -> Prepared[None]:
    """Push `count` messages, each committed before the next."""
    return load(name).sender(url).one_by_one(count)


def push_many(name: str, url: str, count: int) -> Prepared[None]:
    """Push `count` messages, at most CALL a call."""
    return load(name).sender(url).in_calls(count, CALL)


def drain(name: str, url: str, count: int) -> Prepared[list[int]]:
    """Handle all `count` messages; return their numbers."""
    return load(name).prepare_drain(url, count)


def push_now_and_then(name: str, url: str, waits: Sequence[float]) -> Prepared[dict[int, int]]:
    """Push a message after each wait, then the stop; return when each push was called."""
    return load(name).sender(url).now_and_then(waits)


def note_times(name: str, url: str) -> Prepared[dict[int, int]]:
    """Handle until the stop comes; return when each number was handled."""
    return load(name).prepare_worker(url)


def push_counted(name: str, url: str, count: int) -> Prepared[tuple[None, float]]:
    """Push one by one; answer with the client's processor time."""
    return with_client_time(push(name, url, count))


def drain_counted(name: str, url: str, count: int) -> Prepared[tuple[list[int], float]]:
    """Drain; answer with the numbers and the client's processor time."""
    return with_client_time(drain(name, url, count))


def drain_singly_counted(name: str, url: str, count: int) -> Prepared[tuple[list[int], float]]:
    """Drain one message after the other; only the floor and duerow can be told to."""
    from bench import floor_runs, ours  # the other contestants need not wait for them

    return with_client_time({"floor": floor_runs, "duerow": ours}[name].drain_singly(url))
