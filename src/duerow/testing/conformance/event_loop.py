"""No call of the awaited face ever keeps the event loop waiting."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from time import monotonic
from typing import Final

from duerow import Draft, aio
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import Hold, Place
from duerow.where import payload

TICK: Final = 0.001
"""Seconds between two ticks beside each call."""

LONGEST: Final = 0.05
"""Seconds that no call may keep the ticker waiting."""

TRIES: Final = 10
"""A busy machine stalls every process now and then, but not the same call each time."""

Call = Callable[[aio.Queue, aio.Reservation], Awaitable[object]]

CALLS: Final[dict[str, Call]] = {
    "push": lambda queue, mine: queue.push("hello"),
    "push with a key": lambda queue, mine: queue.push("hello", key="m-1", on_duplicate="replace"),
    "push_many": lambda queue, mine: queue.push_many([Draft(number, key=str(number)) for number in range(500)]),
    "pop": lambda queue, mine: queue.pop(),
    "pop_many": lambda queue, mine: queue.pop_many(100),
    "reserve": lambda queue, mine: queue.reserve(),
    "reserve_many": lambda queue, mine: queue.reserve_many(100),
    "commit": lambda queue, mine: queue.commit(mine),
    "rollback": lambda queue, mine: queue.rollback(mine, error="no line"),
    "bury": lambda queue, mine: queue.bury(mine, "no use"),
    "release": lambda queue, mine: queue.release(mine),
    "extend": lambda queue, mine: queue.extend(mine),
    "move": lambda queue, mine: queue.move(mine, "billing"),
    "remove": lambda queue, mine: queue.remove(mine.message.id, even_if_leased=True),
    "edit": lambda queue, mine: queue.edit(mine.message.id, payload=1, even_if_leased=True),
    "reschedule": lambda queue, mine: queue.reschedule(where=payload > 250, delay=seconds(60)),
    "requeue": lambda queue, mine: queue.requeue(where=payload > 250),
}
READS: Final[dict[str, Call]] = {
    "peek": lambda queue, mine: queue.peek(100),
    "contains": lambda queue, mine: queue.contains("m-1"),
    "get": lambda queue, mine: queue.get(mine.message.id),
    "find": lambda queue, mine: queue.find(limit=100),
    "count": lambda queue, mine: queue.count(),
    "find by a condition": lambda queue, mine: queue.find(payload > 250),
    "count by a condition": lambda queue, mine: queue.count(payload > 250),
    "queues": lambda queue, mine: queue.database.queues(),
    "migrate": lambda queue, mine: queue.database.migrate(),
    "pop with a timeout": lambda queue, mine: queue.database.queue("empty").pop(timeout=seconds(0.1)),
}


async def longest_pause(call: Awaitable[object], hold: Hold | None) -> float:
    """Await a call beside a ticker, the database held meanwhile if that is given; return the longest wait."""
    ticks = [monotonic()]

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK)
            ticks.append(monotonic())

    ticker = asyncio.create_task(tick())
    try:
        if hold is None:
            await call
        else:
            await _while_held(call, hold)
    finally:
        ticker.cancel()
    return max((later - earlier for earlier, later in zip(ticks, [*ticks[1:], monotonic()], strict=True)), default=0.0)


async def _while_held(call: Awaitable[object], hold: Hold) -> None:
    holding = hold()
    await asyncio.to_thread(holding.__enter__)
    try:
        waiting = asyncio.ensure_future(call)
        await asyncio.wait([waiting], timeout=2 * LONGEST)  # a call that kept the loop would keep it so long
    finally:
        await asyncio.to_thread(holding.__exit__, None, None, None)
    await waiting


async def slow_ones(place: Place, clock: MovableClock, calls: dict[str, Call], hold: Hold | None) -> dict[str, float]:
    """Return the calls that kept the loop waiting in every one of some tries, with their shortest pause in seconds."""
    async with await aio.connect(place.url, clock=clock, migrate=True, **place.settings) as db:
        queue = db.queue("mail", lease=minutes(1))
        await queue.push_many([Draft(number) for number in range(300)])

        def measuring(call: Call) -> Callable[[], Awaitable[float]]:
            async def once() -> float:
                await queue.push("hello")
                [mine] = await queue.reserve_many(1)
                return await longest_pause(call(queue, mine), hold)

            return once

        pauses = {name: await shortest(measuring(call)) for name, call in calls.items()}
        return {name: pause for name, pause in pauses.items() if pause > LONGEST}


async def shortest(measure: Callable[[], Awaitable[float]]) -> float:
    """Measure until nobody was kept waiting, at most so many times; return the shortest pause."""
    pauses = [await measure()]
    while min(pauses) > LONGEST and len(pauses) < TRIES:
        pauses.append(await measure())
    return min(pauses)


def test_no_call_keeps_the_event_loop_waiting(place: Place, clock: MovableClock) -> None:
    assert asyncio.run(slow_ones(place, clock, {**CALLS, **READS}, None)) == {}


def test_a_call_that_waits_for_the_database_lets_the_event_loop_go_on(
    place: Place, clock: MovableClock, hold: Hold | None
) -> None:
    assert asyncio.run(slow_ones(place, clock, CALLS, hold)) == {}


FIRST: Final = """
import asyncio, json, sys
from duerow import aio
from duerow.testing.conformance.event_loop import longest_pause

url, settings = json.loads(sys.argv[1])

async def connect():
    async with await aio.connect(url, migrate=True, **settings) as db:
        await db.queue("first").push("hello")

print(asyncio.run(longest_pause(connect(), None)))
"""


def test_the_first_connection_of_a_process_keeps_no_event_loop_waiting(place: Place) -> None:
    async def first(names: Iterator[str]) -> float:
        """Everything is new to this process: what it imports, compiles and migrates."""
        settings = {**place.settings, "prefix": next(names)}
        command = [sys.executable, "-c", FIRST, json.dumps([place.url, settings])]
        return float((await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)).stdout)

    names = (f"first{number}_" for number in count())
    assert asyncio.run(shortest(lambda: first(names))) <= LONGEST


def test_connecting_keeps_no_event_loop_waiting(place: Place, clock: MovableClock) -> None:
    async def connect() -> None:
        async with await aio.connect(place.url, clock=clock, migrate=True, **place.settings):
            pass

    assert asyncio.run(shortest(lambda: longest_pause(connect(), None))) <= LONGEST
