"""The floor's side of each measurement; `ours` has duerow's under the same names.

Each function connects and prepares outside the clock and returns what is timed.
"""

from __future__ import annotations

from bench import turns
from bench.floor import drain as drain_floor
from bench.floor import drain_one_by_one, open_floor, pass_on
from bench.floor_mariadb import MariadbFloor
from bench.messages import QUEUE, Batches, key, payload_text
from bench.processes import Prepared
from bench.turns import Take


def push_many(url: str, count: int) -> Prepared[None]:
    """Push `count` messages in one transaction."""
    floor = open_floor(url)
    payloads = [payload_text(number) for number in range(count)]
    return lambda: floor.push_many(QUEUE, payloads)


def push_keyed(url: str, count: int) -> Prepared[None]:
    """Push `count` messages with keys in one transaction."""
    floor = open_floor(url)
    if isinstance(floor, MariadbFloor):
        raise ValueError("the floor on MariaDB does not push keys; measure on PostgreSQL or SQLite")
    messages = [(payload_text(number), key(number)) for number in range(count)]
    return lambda: floor.push_keyed(QUEUE, messages)


def drain(url: str) -> Prepared[list[int]]:
    """Handle all that is due in batches."""
    floor = open_floor(url)
    return lambda: drain_floor(floor, QUEUE)


def drain_and_time(url: str) -> Prepared[Batches]:
    """Handle all that is due in batches, and note when each batch began."""
    floor, batches = open_floor(url), Batches()

    def run() -> Batches:
        drain_floor(floor, QUEUE, handle=lambda row: batches.note(row.id))
        return batches

    return run


def drain_singly(url: str) -> Prepared[list[int]]:
    """Handle all that is due, one message after the other."""
    floor = open_floor(url)
    return lambda: drain_one_by_one(floor, QUEUE)


def move(url: str, to: str, chunk: int) -> Prepared[list[int]]:
    """Pass all that is due on to another queue in chunks."""
    floor = open_floor(url)
    if isinstance(floor, MariadbFloor):
        raise ValueError("the floor on MariaDB does not move messages; measure on PostgreSQL or SQLite")
    return lambda: pass_on(floor, QUEUE, to, chunk)


def take_in_turns(url: str, messages: int, queues: int, consumers: int) -> Prepared[dict[str, float]]:
    """Claim and settle messages in batches, each consumer on its own connection, as `turns.take_in_turns` says."""

    def taker() -> Take:
        floor = open_floor(url)
        return lambda name, most: len(floor.delete(floor.lease(name, most)))

    return turns.take_in_turns(taker, url, messages, queues, consumers)
