"""duerow's side of each measurement, through its public names only.

Each function connects and prepares outside the clock and returns what is timed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from datetime import timedelta
from typing import Any

import psycopg

import duerow
import duerow.aio
from bench import features
from bench.messages import QUEUE, STOP, Batches, Noted, key, payload
from bench.processes import Prepared
from bench.turns import TURN, Take
from bench.turns import take_in_turns as take_in_turns_by
from duerow import Draft, Message, Queue, Worker
from duerow.queue import histogram
from duerow.store import Counted, Totals

BATCH = 1_000
WAIT_S = 0.001
CHUNK = 10_000

PILED_UP = 2_000
"""How many messages may wait while the peak is looked for."""


def migrate(url: str) -> None:
    """Make or update duerow's tables."""
    duerow.connect(url, migrate=True).close()


def fill(url: str, count: int, delay: timedelta | None = None) -> list[int]:
    """Push `count` messages in chunks, due at once or after the delay; return their ids."""
    with duerow.connect(url) as db:
        return _push_in_chunks(db.queue(QUEUE), count, delay)


def _push_in_chunks(queue: Queue, count: int, delay: timedelta | None = None) -> list[int]:
    ids: list[int] = []
    for start in range(0, count, CHUNK):
        numbers = range(start, min(start + CHUNK, count))
        pushed = queue.push_many([Draft(payload(number), delay=delay) for number in numbers])
        ids.extend(answer.id for answer in pushed)
    return ids


def push_many(url: str, count: int) -> Prepared[list[int]]:
    """Push `count` messages in one call, with an answer for each."""
    queue = duerow.connect(url).queue(QUEUE)
    drafts = [Draft(payload(number)) for number in range(count)]
    return lambda: [answer.id for answer in queue.push_many(drafts)]


def push_keyed(url: str, count: int) -> Prepared[list[int]]:
    """Push `count` messages with keys in one call, with an answer for each."""
    queue = duerow.connect(url).queue(QUEUE)
    drafts = [Draft(payload(number), key=key(number)) for number in range(count)]
    return lambda: [answer.id for answer in queue.push_many(drafts)]


def drain(url: str, **settings: Any) -> Prepared[list[int]]:
    """Handle all that is due with a worker whose handler only notes the id, in batches as the floor's."""
    return drain_by_default(url, **{"batch": BATCH, "concurrency": 1} | settings)


def drain_by_default(url: str, **settings: Any) -> Prepared[list[int]]:
    """Handle all that is due with a worker as it comes, or with the settings given."""
    return _drain(duerow.connect(url).queue(QUEUE), **settings)


def _drain(queue: Queue, **settings: Any) -> Prepared[list[int]]:
    seen: list[int] = []

    def handle(message: Message) -> None:
        seen.append(message.id)

    worker = Worker(queue, handle, **settings)

    def run() -> list[int]:
        worker.run(until="idle")
        return seen

    return run


def drain_and_time(url: str) -> Prepared[Batches]:
    """Handle all that is due in batches, and note when each batch began."""
    batches = Batches()
    worker = Worker(
        duerow.connect(url).queue(QUEUE), lambda message: batches.note(message.id), batch=BATCH, concurrency=1
    )

    def run() -> Batches:
        worker.run(until="idle")
        return batches

    return run


def fill_with(url: str, count: int, feature: str) -> list[int]:
    """Push `count` messages that use one feature; return their ids."""
    ids: list[int] = []
    with features.connected(url, feature) as queue:
        for start in range(0, count, CHUNK):
            numbers = range(start, min(start + CHUNK, count))
            pushed = queue.push_many([features.draft(feature, number, count) for number in numbers])
            ids.extend(answer.id for answer in pushed)
    return ids


def drain_with(url: str, feature: str) -> Prepared[list[int]]:
    """Handle all that is due of a queue that uses one feature, in batches."""
    return _drain(features.opened(url, feature), batch=BATCH, concurrency=1)


def look_at_stats(url: str, times: int) -> Prepared[list[float]]:
    """Read how the queue stands again and again; return how many milliseconds each time took."""
    queue = duerow.connect(url).queue(QUEUE)
    queue.stats()

    def run() -> list[float]:
        taken: list[float] = []
        for _ in range(times):
            start = time.perf_counter()
            queue.stats()
            taken.append((time.perf_counter() - start) * 1e3)
        return taken

    return run


def count_for_an_hour(url: str, processes: int) -> None:
    """Write what so many processes would have counted in each minute of the last hour."""
    with duerow.connect(url) as db:
        now = db.run(lambda: db.store.counters.read(QUEUE)).now.replace(second=0, microsecond=0)
        spread = histogram.written({8_100 + bucket: 1 + bucket for bucket in range(40)})
        totals = Totals(done=820, failed=3, dead=1)
        for process in range(processes):
            rows = [Counted(QUEUE, now - timedelta(minutes=n), totals, spread, spread) for n in range(60)]
            db.run(lambda name=f"host:{process}", rows=rows: db.store.counters.note_counts(name, rows))  # type: ignore[misc]


def drain_singly(url: str) -> Prepared[list[int]]:
    """Handle all that is due with a worker that claims and settles one message at a time."""
    return drain(url, batch=1)


def push_and_drain(url: str, rounds: int, count: int) -> Prepared[list[float]]:
    """Push and drain `count` messages again and again, by one process; return each drain's messages/s."""
    queue = duerow.connect(url).queue(QUEUE)
    return lambda: [_push_and_drain(queue, count) for _ in range(rounds)]


def _push_and_drain(queue: Queue, count: int) -> float:
    ids = _push_in_chunks(queue, count)
    run = _drain(queue, batch=BATCH, concurrency=1)
    start = time.perf_counter()
    seen = run()
    seconds = time.perf_counter() - start
    if sorted(seen) != sorted(ids):
        raise AssertionError(f"pushed {len(ids)} messages, handled {len(seen)}, or others")
    return count / seconds


def handle_with_tasks(url: str, at_once: int) -> Prepared[list[int]]:
    """Handle all that is due with so many tasks at once, each of which waits 1 ms for a message."""
    seen: list[int] = []
    runner = asyncio.Runner()

    async def handle(message: Message) -> None:
        await asyncio.sleep(WAIT_S)
        seen.append(message.id)

    async def prepare() -> duerow.aio.Worker:
        database = await duerow.aio.connect(url)
        return duerow.aio.Worker(database.queue(QUEUE), handle, concurrency=at_once)

    worker = runner.run(prepare())

    def run() -> list[int]:
        runner.run(worker.run(until="idle"))
        return seen

    return run


def handle_with_threads(url: str, at_once: int) -> Prepared[list[int]]:
    """Handle all that is due with so many threads at once, each of which waits 1 ms for a message."""
    seen: list[int] = []

    def handle(message: Message) -> None:
        time.sleep(WAIT_S)
        seen.append(message.id)

    worker = Worker(duerow.connect(url).queue(QUEUE), handle, concurrency=at_once)

    def run() -> list[int]:
        worker.run(until="idle")
        return seen

    return run


def take_in_turns(url: str, messages: int, queues: int, consumers: int) -> Prepared[dict[str, float]]:
    """Claim and settle messages in batches of 100, as `turns.take_in_turns` says."""

    def taker() -> Take:
        database = duerow.connect(url)  # each its own, since a pool would end most of the connections of one for all

        def take(name: str, most: int) -> int:
            queue = database.queue(name)
            reservations = queue.reserve_many(most)
            queue.commit_many(reservations)
            return len(reservations)

        return take

    return take_in_turns_by(taker, url, messages, queues, consumers)


def note_times(url: str, queue: str = QUEUE) -> Prepared[dict[int, int]]:
    """Handle until told to stop; return the monotonic nanoseconds at which each number was handled."""
    noted = Noted()
    worker = Worker(duerow.connect(url).queue(queue), lambda message: _note(message, noted))

    def run() -> dict[int, int]:
        worker.run()
        return noted.times

    return run


def note_times_awaited(url: str, queue: str) -> Prepared[dict[int, int]]:
    """The same with an awaited worker."""
    noted = Noted()
    runner = asyncio.Runner()

    async def handle(message: Message) -> None:
        _note(message, noted)

    async def prepare() -> duerow.aio.Worker:
        return duerow.aio.Worker((await duerow.aio.connect(url)).queue(queue), handle)

    worker = runner.run(prepare())

    def run() -> dict[int, int]:
        runner.run(worker.run())
        return noted.times

    return run


def _note(message: Message, noted: Noted) -> None:
    if noted.stopped_by(message.payload):
        os.kill(os.getpid(), signal.SIGTERM)


def handle_for_long(url: str, handled: Any) -> Prepared[list[tuple[float, float]]]:
    """Handle until told to stop, and count what was handled.

    Returns, for the last message of each push, the monotonic seconds at which its handler began, and how many
    milliseconds after the planned time of the push that was.
    """
    waited: list[tuple[float, float]] = []
    count = 0

    def handle(message: Message) -> None:
        nonlocal count
        count += 1
        if count % TURN == 0:
            handled.value = count
        if (pushed := message.payload.get("pushed")) is not None:
            now = time.monotonic()
            waited.append((now, (now - pushed) * 1e3))
        elif message.payload == STOP:
            os.kill(os.getpid(), signal.SIGTERM)

    worker = Worker(duerow.connect(url).queue(QUEUE), handle)

    def run() -> list[tuple[float, float]]:
        worker.run()
        return waited

    return run


def push_for_long(url: str, rate: float | None, seconds: float, pushed: Any, handled: Any) -> Prepared[None]:
    """Push a hundred messages at a time for so many seconds, at this rate; None: as many as are being handled."""
    queue = duerow.connect(url).queue(QUEUE)
    payloads = [payload(number) for number in range(TURN)]

    def run() -> None:
        began = time.monotonic()
        count = 0
        while (now := time.monotonic()) < began + seconds:
            if rate is None and count - handled.value > PILED_UP:
                time.sleep(0.001)
                continue
            planned = now if rate is None else began + count / rate
            time.sleep(max(0.0, planned - now))
            last = payloads[-1] | {"pushed": planned}
            queue.push_many([Draft(one) for one in (*payloads[:-1], last)])
            count += TURN
            pushed.value = count

    return run


def stop_worker(url: str) -> None:
    """Tell the worker of `note_times` to stop."""
    with duerow.connect(url) as db:
        db.queue(QUEUE).push(STOP)


def produce(url: str, numbers: range, per_transaction: int, period: float, lasting: float) -> Prepared[dict[int, int]]:
    """Push in transactions of the caller's own, one each `period` seconds, open for `lasting` seconds.

    Returns the monotonic nanoseconds at which each number was pushed, before the commit.
    """
    queue = duerow.connect(url).queue(QUEUE)
    connection = psycopg.connect(url)

    def run() -> dict[int, int]:
        pushed: dict[int, int] = {}
        turn = time.monotonic()
        for start in numbers[::per_transaction]:
            share = numbers[start - numbers.start :][:per_transaction]
            with connection.transaction():
                began = time.monotonic()
                pushed.update(dict.fromkeys(share, time.monotonic_ns()))
                queue.push_many([Draft(payload(number)) for number in share], within=connection)
                time.sleep(max(0.0, lasting - (time.monotonic() - began)))
            turn += period
            time.sleep(max(0.0, turn - time.monotonic()))
        return pushed

    return run


def wait_for_nothing(url: str) -> Prepared[None]:
    """Run a worker on an empty queue until it is ended by SIGTERM."""
    return Worker(duerow.connect(url).queue(QUEUE), _ignore).run


def _ignore(message: Message) -> None:
    """Do nothing."""


class Refusing(Exception):
    """Raised by the handler whose memory is watched."""


def watch_memory(url: str, count: int, marks: tuple[int, ...]) -> Prepared[dict[int, float]]:
    """Handle `count` messages, some failing once and a few always; return resident MB at each mark of attempts."""
    logging.getLogger("duerow").setLevel(logging.CRITICAL)
    times = bytearray(count)
    times[:] = bytes(count)  # touched now, so that the table itself does not grow while it is watched
    megabytes: dict[int, float] = {}
    attempts = 0

    def handle(message: Message) -> None:
        nonlocal attempts
        attempts += 1
        number = message.payload["n"]
        times[number] += 1
        if attempts in marks:
            megabytes[attempts] = resident_megabytes()
        if number % 1_000 == 1 or (number % 50 == 0 and message.attempts == 1):
            raise Refusing(f"message {number} is refused at attempt {message.attempts}")

    queue = duerow.connect(url).queue(QUEUE)
    policy = duerow.limited(3, duerow.fixed(timedelta(0)))
    worker = Worker(queue, handle, batch=BATCH, concurrency=1, retry=policy)

    def run() -> dict[int, float]:
        worker.run(until="empty")
        expected = bytearray(3 if n % 1_000 == 1 else 2 if n % 50 == 0 else 1 for n in range(count))
        if times != expected:
            raise AssertionError("some messages were not handled as often as they should have been")
        return megabytes

    return run


def resident_megabytes() -> float:
    """The resident memory of this process in MB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
