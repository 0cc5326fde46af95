"""Several processes at once, each with its own connection: what is handed out, settled and pushed stays exact."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from tests.probes import race
from tests.probes.contract import Committed, Entry, Queue
from tests.probes.servers import KINDS

MESSAGES, KEYS = 520, 120


def at_once(work: Callable[..., Any], kind: str, url: str, *arguments: Any) -> list[Any]:
    """Two processes do the same work, starting together."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(2, context) as processes:
        start = manager.Barrier(2)
        running = [processes.submit(work, kind, url, name, start, *arguments) for name in ("first", "second")]
        return [each.result(120) for each in running]


def test_two_consumers_drain_a_queue_and_no_message_is_lost_or_ended_twice(kind: str, url: str) -> None:
    queue = KINDS[kind].open(url, "producer")
    pushed = [each.id for each in queue.push(*(Entry("orders", "1") for _ in range(MESSAGES)))]
    hauls = at_once(race.drain, kind, url)
    ended = [id for haul in hauls for id in haul.committed + haul.popped]
    assert sorted(ended) == pushed
    assert [haul.refused for haul in hauls] == [0, 0]
    assert all(haul.lent for haul in hauls), "one of the two came too late for a race"
    assert queue.find() == []
    queue.connection.close()


def test_two_producers_push_the_same_keys_and_each_is_created_once(kind: str, url: str) -> None:
    answers = at_once(race.push_keyed, kind, url, KEYS)
    created = [id for each in answers for id, outcome in each if outcome == "created"]
    assert len(created) == KEYS
    queue = KINDS[kind].open(url, "reader")
    assert sorted(created) == [record.id for record in queue.find()]
    assert {id for each in answers for id, _ in each} == set(created)
    queue.connection.close()


def test_the_later_of_two_settlements_is_refused_whoever_sends_it(queue: Queue, other: Queue) -> None:
    """The fence alone decides: the same receipt used over two connections ends the turn once."""
    queue.push(*(Entry("orders", "1") for _ in range(20)))
    held = queue.reserve(20)
    refused = queue.settle(*((each, Committed()) for each in held[:10]))
    late = other.settle(*((each, Committed()) for each in held))
    assert refused == []
    assert {each.receipt for each in late} == {each.receipt for each in held[:10]}
