"""Large batches and payloads keep no event loop waiting. Taken in by each SQL store."""

import asyncio
from collections.abc import Awaitable, Callable

from duerow import Draft, aio
from duerow.testing.conformance.event_loop import LONGEST, longest_pause, shortest
from duerow.testing.conformance.fixtures import Place

DRAFTS = [Draft({"number": number, "to": "a"}) for number in range(40_000)]
ROWS = [{"number": number, "to": ["a", "b"], "text": "x"} for number in range(22_000)]
"""A payload of nearly 1 MiB."""


def test_large_batches_and_payloads_keep_no_event_loop_waiting(place: Place) -> None:
    async def pauses() -> dict[str, float]:
        async with await aio.connect(place.url, migrate=True, **place.settings) as db:
            queue = db.queue("large")
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "push_many": lambda: queue.push_many(DRAFTS),
                "pop_many": lambda: queue.pop_many(20_000),
                "a large payload": lambda: queue.push(ROWS),
                "a batch of large payloads": lambda: queue.push_many([Draft(ROWS), Draft(ROWS)]),
            }
            return {name: await shortest(lambda call=call: longest_pause(call(), None)) for name, call in calls.items()}

    assert {name: pause for name, pause in asyncio.run(pauses()).items() if pause > LONGEST} == {}
