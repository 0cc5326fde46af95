"""Two contestants in one process, taking turns by the block: for what takes as long as the disk takes.

A commit's time is mostly the disk's, and that changes from one second to the next; so both meet the same seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duerow
from bench.floor import open_floor
from bench.messages import QUEUE, payload, payload_text
from bench.processes import Prepared

BLOCK = 50

One = Callable[[int], int]
"""Does one thing, given its number; returns the message's id."""


@dataclass
class Share:
    """What one contestant did: the ids of its messages, and the seconds that it took."""

    ids: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Messages/s."""
        return len(self.ids) / self.seconds


def push(url: str, count: int) -> Prepared[dict[str, Share]]:
    """Push `count` messages each, every one in its own transaction."""
    floor, queue = open_floor(url), duerow.connect(url).queue(QUEUE)
    texts = [payload_text(number) for number in range(count)]
    payloads = [payload(number) for number in range(count)]
    ones: dict[str, One] = {
        "floor": lambda number: floor.push(QUEUE, texts[number]),
        "duerow": lambda number: queue.push(payloads[number]).id,
    }
    return lambda: _take_turns(ones, count)


def settle(url: str, count: int, floors_queue: str) -> Prepared[dict[str, Share]]:
    """Lease and settle `count` messages each, two transactions a message, each from its own queue."""
    floor, queue = open_floor(url), duerow.connect(url).queue(QUEUE)

    def by_hand(number: int) -> int:
        leased = floor.lease(floors_queue, 1)
        return floor.delete_one(leased[0])[0]

    def by_duerow(number: int) -> int:
        reservation = queue.reserve()
        if reservation is None:
            raise AssertionError(f"nothing was due after {number} messages")
        queue.commit(reservation)
        return reservation.message.id

    return lambda: _take_turns({"floor": by_hand, "duerow": by_duerow}, count)


def _take_turns(ones: Mapping[str, One], count: int) -> dict[str, Share]:
    shares = {name: Share() for name in ones}
    order = list(ones)
    for first in range(0, count, BLOCK):
        for name in order:
            share, one = shares[name], ones[name]
            start = time.perf_counter()
            share.ids += [one(number) for number in range(first, min(first + BLOCK, count))]
            share.seconds += time.perf_counter() - start
        order.reverse()
    return shares
