"""No call of the async API blocks the event loop."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Set
from contextlib import nullcontext
from typing import Final, TypeVar

from duerow import Draft, aio
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import Hold, Place
from duerow.testing.loop_profile import profiled
from duerow.where import payload

LONGEST: Final = 100_000
"""Function calls that no callback of the loop may make: some ten milliseconds where nothing else runs."""

PATIENCE: Final = 300.0
"""Seconds after which a database that is held is let go, though the loop never went on."""

ROUNDS: Final = 50
"""Rounds of the loop after which a call waits for the database, if it has to."""

T = TypeVar("T")

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


async def stalls(call: Awaitable[object], in_loop: Set[str]) -> dict[str, object]:
    """Await a call; return everything that it did in the loop's thread that makes others wait.

    Args:
        call: the call.
        in_loop: waits that the store makes in the loop on purpose.
    """
    with profiled() as profile:
        await call
    found: dict[str, object] = {wait: times for wait, times in profile.waits.items() if wait not in in_loop}
    if profile.longest > LONGEST:
        found["calls at a time"] = profile.longest
    return found


async def stalling(
    place: Place, clock: MovableClock, calls: dict[str, Call], watch: Callable[[Awaitable[object]], Awaitable[T]]
) -> dict[str, T]:
    """Make calls one after another; return what was observed, for the calls for which anything was."""
    async with await aio.connect(place.url, clock=clock, migrate=True, **place.settings) as db:
        queue = db.queue("mail", lease=minutes(1))
        await queue.push_many([Draft(number) for number in range(300)])
        seen: dict[str, T] = {}
        for name, call in calls.items():
            await queue.push("hello")
            [mine] = await queue.reserve_many(1)
            seen[name] = await watch(call(queue, mine))
        return {name: one for name, one in seen.items() if one}


async def stops_the_loop(call: Awaitable[object], hold: Hold) -> bool:
    """Await a call while the database is held until the loop runs again; return whether it never did."""
    went_on = threading.Event()
    held = threading.Event()

    def hold_until_it_went_on() -> bool:
        with hold():
            held.set()
            return not went_on.wait(PATIENCE)

    holding = asyncio.create_task(asyncio.to_thread(hold_until_it_went_on))
    await asyncio.to_thread(held.wait)
    waiting = asyncio.ensure_future(call)
    for _ in range(ROUNDS):  # by now the call has begun, and cannot get further
        await asyncio.sleep(0)
    went_on.set()
    await waiting
    return await holding


def test_no_call_keeps_the_event_loop_waiting(place: Place, clock: MovableClock, in_loop: Set[str]) -> None:
    def watch(call: Awaitable[object]) -> Awaitable[dict[str, object]]:
        return stalls(call, in_loop)

    assert asyncio.run(stalling(place, clock, {**CALLS, **READS}, watch)) == {}


def test_a_call_that_waits_for_the_database_lets_the_event_loop_go_on(
    place: Place, clock: MovableClock, hold: Hold | None
) -> None:
    def watch(call: Awaitable[object]) -> Awaitable[bool]:
        return stops_the_loop(call, hold or nullcontext)

    assert asyncio.run(stalling(place, clock, CALLS, watch)) == {}


FIRST: Final = """
import asyncio, json, sys
from duerow import aio
from duerow.testing.loop_profile import profiled

url, settings = json.loads(sys.argv[1])

async def connect():
    with profiled() as profile:
        async with await aio.connect(url, migrate=True, **settings) as db:
            await db.queue("first").push("hello")
    return profile

profile = asyncio.run(connect())
print(json.dumps([profile.longest, profile.waits, profile.modules]))
"""


def test_the_first_connection_of_a_process_keeps_no_event_loop_waiting(place: Place, in_loop: Set[str]) -> None:
    # Everything is new to this process, so it imports, compiles and migrates.
    command = [sys.executable, "-c", FIRST, json.dumps([place.url, {**place.settings, "prefix": "first_"}])]
    told = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - its own interpreter
    longest, waits, modules = json.loads(told)
    assert longest <= LONGEST
    assert (waits.keys() - in_loop, modules) == (set(), [])


def test_connecting_keeps_no_event_loop_waiting(place: Place, clock: MovableClock, in_loop: Set[str]) -> None:
    async def connect() -> None:
        async with await aio.connect(place.url, clock=clock, migrate=True, **place.settings):
            pass

    assert asyncio.run(stalls(connect(), in_loop)) == {}
