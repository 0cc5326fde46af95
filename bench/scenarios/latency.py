"""From push to handler: on an idle worker, and while eight producers keep transactions open."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median

import duerow
from bench import ours
from bench.context import Context
from bench.databases import PostgresqlDatabase, SqliteDatabase
from bench.messages import QUEUE, STOP, Payload, payload
from bench.peers import floor as by_hand
from bench.processes import Child, start, together
from bench.results import Result, against, limit, percentile

IDLE_P50_MS, IDLE_P99_MS, BUSY_P99_MS = 5.0, 20.0, 300.0
PRODUCERS = 8
TRANSACTION_SECONDS = 0.020
PERIOD_SECONDS = 0.025
WARM_UP = 5

BY_HAND_BAR = 1.2
FACES = {"blocking": ours.note_times, "awaited": ours.note_times_awaited}


def idle(context: Context) -> list[Result]:
    """Single pushes at random moments, 20 to 80 ms apart, to a worker in another process that has nothing to do."""
    return [
        *_idle("push to handler, idle worker", context.postgresql, context.size.latency, (IDLE_P50_MS, IDLE_P99_MS)),
        *_idle("SQLite: push to handler, idle worker", context.sqlite, context.size.latency, (None, None)),
    ]


def _idle(
    title: str, database: PostgresqlDatabase | SqliteDatabase, count: int, bars: tuple[float | None, float | None]
) -> list[Result]:
    database.clear()
    worker = Child(ours.note_times, database.url)
    try:
        worker.wait_until_ready()
        worker.go()
        time.sleep(1)
        pushed = _push_now_and_then(database.url, count + WARM_UP)
        ours.stop_worker(database.url)
        handled, _, _ = worker.result()
    finally:
        worker.end()
    waited = _milliseconds(pushed, handled, first=WARM_UP)
    samples = {"milliseconds": waited}
    note = f"{count} pushes, from the call of push to the handler"
    return [
        limit(f"{title}, p50", "ms", median(waited), bars[0], samples, note),
        limit(f"{title}, p99", "ms", percentile(waited, 99), bars[1], note=note),
    ]


def _push_now_and_then(url: str, count: int) -> dict[int, int]:
    pushed: dict[int, int] = {}
    with duerow.connect(url) as db:
        queue = db.queue(QUEUE)
        for number in range(count):
            time.sleep(random.uniform(0.02, 0.08))
            pushed[number] = time.monotonic_ns()
            queue.push(payload(number))
    return pushed


def beside_by_hand(context: Context) -> list[Result]:
    """The same to an idle worker of each face and to one written by hand, which wait side by side and take turns."""
    rounds = [_by_turns(context.postgresql, context.size.latency) for _ in range(context.size.rounds)]
    note = f"{context.size.latency} pushes to each of three workers in turn, in each round"
    lines = []
    for face in FACES:
        for percent in (50, 99):
            samples = {
                contestant: [percentile(waited[worker], percent) for waited in rounds]
                for contestant, worker in (("duerow", face), ("floor", "by-hand"))
            }
            title = f"push to handler, {face} worker, p{percent}"
            lines.append(against(title, samples, "floor", BY_HAND_BAR, unit="ms", at_most=True, note=note))
    return lines


def _by_turns(database: PostgresqlDatabase, count: int) -> dict[str, list[float]]:
    """Push to the workers in turn; return how many milliseconds each message waited, by worker."""
    database.clear()
    workers = {face: Child(prepare, database.url, f"bench-{face}") for face, prepare in FACES.items()}
    workers["by-hand"] = Child(by_hand.prepare_worker, database.url)
    pushed: dict[str, dict[int, int]] = {name: {} for name in workers}
    try:
        start(workers.values())
        time.sleep(1)
        with duerow.connect(database.url) as db:
            push: dict[str, Callable[[Payload], object]] = {face: db.queue(f"bench-{face}").push for face in FACES}
            push["by-hand"] = by_hand.sender(database.url).push
            for number in range(count + WARM_UP):
                for name in random.sample(list(workers), len(workers)):
                    time.sleep(random.uniform(0.02, 0.08))
                    pushed[name][number] = time.monotonic_ns()
                    push[name](payload(number))
            for name in workers:
                push[name](STOP)
        handled = {name: worker.result()[0] for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.end()
    return {name: _milliseconds(pushed[name], handled[name], first=WARM_UP) for name in workers}


def busy(context: Context) -> list[Result]:
    """Eight producers whose transactions last 20 ms push half of what the worker can drain."""
    capacity = _capacity(context)
    per_transaction = max(1, round(capacity / 2 * PERIOD_SECONDS / PRODUCERS))
    each = per_transaction * max(1, round(context.size.busy_seconds / PERIOD_SECONDS))
    context.postgresql.clear()
    context.postgresql.settle_down()
    worker = Child(ours.note_times, context.postgresql.url)
    producers = [
        Child(ours.produce, context.postgresql.url, numbers, per_transaction, PERIOD_SECONDS, TRANSACTION_SECONDS)
        for numbers in (range(i * each, (i + 1) * each) for i in range(PRODUCERS))
    ]
    try:
        start((worker, *producers))
        ended = [producer.result() for producer in producers]
        ours.stop_worker(context.postgresql.url)
        handled, _, _ = worker.result()
    finally:
        for child in (worker, *producers):
            child.end()
    pushed = {number: when for numbers, _, _ in ended for number, when in numbers.items()}
    seconds = (max(end for _, _, end in ended) - min(start for _, start, _ in ended)) / 1e9
    waited = _milliseconds(pushed, handled, first=0)
    note = (
        f"{len(pushed) / seconds:,.0f} messages/s offered, {per_transaction} a transaction, to a worker that drains "
        f"{capacity:,.0f}/s alone; from the call of push, the 20 ms until the commit included"
    )
    return [
        limit("push to handler, 8 producers with 20 ms transactions, p50", "ms", median(waited), None, note=note),
        limit("push to handler, 8 producers with 20 ms transactions, p99", "ms", percentile(waited, 99), BUSY_P99_MS),
    ]


def _capacity(context: Context) -> float:
    """Messages/s of one worker on a full queue, with the settings of the worker whose latency is measured."""
    count = context.size.drain
    context.postgresql.fill(count)
    return count / together(ours.drain_by_default, context.postgresql.url).seconds


def _milliseconds(pushed: dict[int, int], handled: dict[int, int], first: int) -> list[float]:
    if pushed.keys() != handled.keys():
        raise AssertionError(f"{len(pushed)} messages were pushed, {len(handled)} handled")
    return [(handled[number] - when) / 1e6 for number, when in pushed.items() if number >= first]
