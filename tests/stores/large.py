"""Large batches and payloads keep no event loop waiting. Taken in by each SQL store."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from duerow import Draft, aio
from duerow.testing.conformance.event_loop import LONGEST
from duerow.testing.conformance.fixtures import Place
from duerow.testing.loop_profile import profiled

DRAFTS = [Draft({"number": number, "to": "a"}) for number in range(40_000)]
ROWS = [{"number": number, "to": ["a", "b"], "text": "x"} for number in range(22_000)]
"""A payload of nearly 1 MiB."""


def test_large_batches_and_payloads_keep_no_event_loop_waiting(place: Place) -> None:
    async def seen() -> dict[str, tuple[int, Counter[str], set[str]]]:
        """Return of each call its longest step, what it waited for and what it did with payloads, in the loop."""
        async with await aio.connect(place.url, migrate=True, **place.settings) as db:
            queue = db.queue("large")
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "push_many": lambda: queue.push_many(DRAFTS),
                "pop_many": lambda: queue.pop_many(20_000),
                "a large payload": lambda: queue.push(ROWS),
                "a batch of large payloads": lambda: queue.push_many([Draft(ROWS), Draft(ROWS)]),
            }
            found = {}
            for name, call in calls.items():
                with profiled() as profile:
                    await call()
                found[name] = profile.longest, profile.waits, profile.functions_of("duerow/payload/codec.py")
            return found

    for name, (longest, waits, coded) in asyncio.run(seen()).items():
        assert longest <= LONGEST, name
        assert not waits, name
        assert coded <= {"weight"}, name
