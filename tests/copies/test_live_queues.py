"""While a queue moves, consumers and producers of both databases go on: each message is handled once."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import duerow
from duerow import Draft, Message, Worker
from duerow.queue.copy import Copied
from tests.copies.conftest import Make, Pair

PATIENCE = 300

LOCK = threading.Lock()


class Site:
    """A worker on one of the databases, which counts what it handles."""

    def __init__(self, pair: Pair, which: str, handled: Counter[Any], enough: threading.Event) -> None:
        self.seen = 0
        self._handled, self._enough = handled, enough
        self._db = pair.open(which)
        self.worker = Worker(self._db.queue("mail"), self.handle, batch=5, concurrency=2)
        self.thread = threading.Thread(target=self.worker.run, daemon=True)

    def handle(self, message: Message) -> None:
        """Count a message; tell when some were."""
        with LOCK:
            self._handled[message.payload] += 1
            self.seen += 1
        if self.seen >= 20:
            self._enough.set()

    def stop(self) -> None:
        """Stop the worker, which finishes what it has or gives it back."""
        self.worker.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.mark.parametrize(
    "families",
    [
        ("memory", "sqlite", "sync"),
        ("postgresql", "postgresql", "sync"),
        pytest.param(("mongodb", "mongodb", "sync"), marks=pytest.mark.soak),
    ],
    ids="-".join,
)
def test_of_several_who_move_a_queue_at_once_each_message_is_counted_by_one(
    make_pair: Make, families: tuple[str, str, str]
):
    pair = make_pair(*families)
    source, target = pair.open("source"), pair.open("target")
    source.queue("mail").push_many([Draft(n) for n in range(700)])
    start = threading.Barrier(3, timeout=PATIENCE)

    def move(_: int) -> Copied:
        with (
            duerow.connect(pair.places["source"].url, **pair.places["source"].settings) as here,
            duerow.connect(pair.places["target"].url, **pair.places["target"].settings) as there,
        ):
            start.wait()
            return duerow.copy(here, there, "mail", move=True, beside=True)

    with ThreadPoolExecutor(3) as threads:
        reports = [*threads.map(move, range(3))]
    assert sum(report.messages for report in reports) == 700
    assert source.queue("mail").find() == []
    assert sorted(one.payload for one in target.queue("mail").find(limit=1_000)) == list(range(700))


@pytest.mark.parametrize("families", [("sqlite", "memory", "sync"), ("memory", "postgresql", "sync")], ids="-".join)
def test_while_a_queue_moves_consumers_of_both_sides_handle_each_message_once(
    make_pair: Make, families: tuple[str, str, str]
):
    pair = make_pair(*families)
    pair.clock = None  # leases and workers by the databases' own time
    source, target = pair.open("source"), pair.open("target")
    queue = source.queue("mail")
    queue.declare()  # it exists even while consumers have left nothing in it
    queue.push_many([Draft(n, key=f"k{n}", priority=n % 3) for n in range(300)])
    handled: Counter[Any] = Counter()
    enough, pushed = threading.Event(), threading.Event()
    here = Site(pair, "source", handled, enough)
    there = Site(pair, "target", handled, threading.Event())

    def produce() -> None:
        with duerow.connect(pair.places["source"].url, **pair.places["source"].settings) as db:
            for n in range(300, 400):
                db.queue("mail").push(n, key=f"k{n}")
        pushed.set()

    producer = threading.Thread(target=produce, daemon=True)
    for thread in (here.thread, there.thread):
        thread.start()
    assert enough.wait(PATIENCE)
    producer.start()
    reports: list[Copied] = []
    while not pushed.is_set():
        reports.append(pair.copy(source, target, move=True))
    here.stop()
    reports.append(pair.copy(source, target, move=True))
    assert reports[-1], reports[-1]
    there.stop()
    Worker(target.queue("mail"), there.handle).run(until="empty")

    assert handled == Counter(range(400))
    assert source.queue("mail").find() == target.queue("mail").find() == []
    assert sum(report.messages for report in reports) == there.seen == 400 - here.seen
    assert sum(report.before for report in reports) == 0
