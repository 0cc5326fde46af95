"""A consumer for the race: runs in a process of its own, with its own connection."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.synchronize import Barrier

from tests.probes.contract import Committed, End, Entry, Moved, Queue, Record, RolledBack
from tests.probes.servers import KINDS


@dataclass
class Haul:
    """What one consumer was handed and what it ended, by id; and its settlements that were refused."""

    lent: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    popped: list[int] = field(default_factory=list)
    refused: int = 0


def drain(kind: str, url: str, consumer: str, start: Barrier) -> Haul:
    """Take in batches of changing size until nothing is due; some attempts fail at first, some are moved around."""
    queue = KINDS[kind].open(url, consumer)
    chance = random.Random(consumer)
    haul = Haul()
    start.wait(60)
    empty = 0
    while empty < 3:
        if chance.random() < 0.1:
            popped = [record.id for record in queue.pop(chance.choice((1, 4)))]
            haul.popped += popped
            empty = 0 if popped else empty + 1
            continue
        records = queue.reserve(chance.choice((1, 3, 8, 20)), lease=timedelta(minutes=10))
        empty = 0 if records else empty + 1
        _settle(queue, records, haul)
    queue.connection.close()
    return haul


def push_keyed(kind: str, url: str, consumer: str, start: Barrier, keys: int) -> list[tuple[int, str]]:
    """Push the same keys as the others do, in batches of another order."""
    queue = KINDS[kind].open(url, consumer)
    wanted = [f"key-{number}" for number in range(keys)]
    random.Random(consumer).shuffle(wanted)
    start.wait(60)
    answers: list[tuple[int, str]] = []
    for first in range(0, keys, 10):
        batch = [Entry("orders", "1", key) for key in wanted[first : first + 10]]
        answers += [(pushed.id, pushed.outcome) for pushed in queue.push(*batch)]
    queue.connection.close()
    return answers


def _settle(queue: Queue, records: list[Record], haul: Haul) -> None:
    ends = [(record, _end(record)) for record in records]
    haul.lent += [record.id for record in records]
    refused = {each.receipt for each in queue.settle(*ends)} if ends else set()
    haul.refused += len(refused)
    haul.committed += [
        record.id for record, end in ends if isinstance(end, Committed) and record.receipt not in refused
    ]


def _end(record: Record) -> End:
    if record.status == "new" and record.id % 5 == 0:
        return RolledBack(timedelta(0), "once more")
    if record.payload == "1" and record.id % 7 == 0:
        return Moved("orders", payload="2")
    return Committed()
