"""How every contestant sends: one by one, in calls of many, and now and then. Node.js has the same in serve.mjs.

Payloads are made before the clock starts; what a library does with them is part of its time. An awaited client sends
all within one coroutine, so that it does not pay for an event loop that is entered and left for each message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.messages import STOP, Payload, payload
from bench.processes import Prepared


class Sender(Protocol):
    """A connected client."""

    def one_by_one(self, count: int) -> Prepared[None]:
        """Push `count` messages, each committed before the next."""

    def in_calls(self, count: int, most: int) -> Prepared[None]:
        """Push `count` messages, at most `most` a call."""

    def now_and_then(self, waits: Sequence[float]) -> Prepared[dict[int, int]]:
        """Push a message after each wait, then STOP; return the monotonic nanoseconds at which each push was called."""


@dataclass(frozen=True)
class BlockingSender:
    """A client whose calls block."""

    push: Callable[[Payload], object]
    push_many: Callable[[list[Payload]], object]

    def one_by_one(self, count: int) -> Prepared[None]:
        """Push `count` messages, each committed before the next."""
        payloads = [payload(number) for number in range(count)]

        def run() -> None:
            for one in payloads:
                self.push(one)

        return run

    def in_calls(self, count: int, most: int) -> Prepared[None]:
        """Push `count` messages, at most `most` a call."""
        calls = split(count, most)

        def run() -> None:
            for call in calls:
                self.push_many(call)

        return run

    def now_and_then(self, waits: Sequence[float]) -> Prepared[dict[int, int]]:
        """Push a message after each wait, then STOP; return when each push was called."""

        def run() -> dict[int, int]:
            pushed: dict[int, int] = {}
            for number, seconds in enumerate(waits):
                time.sleep(seconds)
                pushed[number] = time.monotonic_ns()
                self.push(payload(number))
            self.push(STOP)
            return pushed

        return run


@dataclass(frozen=True)
class AwaitedSender:
    """A client whose calls are awaited, on the event loop that it was opened on."""

    push: Callable[[Payload], Awaitable[object]]
    push_many: Callable[[list[Payload]], Awaitable[object]]
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def one_by_one(self, count: int) -> Prepared[None]:
        """Push `count` messages, each committed before the next."""
        payloads = [payload(number) for number in range(count)]

        async def run() -> None:
            for one in payloads:
                await self.push(one)

        return lambda: self.runner.run(run())

    def in_calls(self, count: int, most: int) -> Prepared[None]:
        """Push `count` messages, at most `most` a call."""
        calls = split(count, most)

        async def run() -> None:
            for call in calls:
                await self.push_many(call)

        return lambda: self.runner.run(run())

    def now_and_then(self, waits: Sequence[float]) -> Prepared[dict[int, int]]:
        """Push a message after each wait, then STOP; return when each push was called."""

        async def run() -> dict[int, int]:
            pushed: dict[int, int] = {}
            for number, seconds in enumerate(waits):
                await asyncio.sleep(seconds)
                pushed[number] = time.monotonic_ns()
                await self.push(payload(number))
            await self.push(STOP)
            return pushed

        return lambda: self.runner.run(run())


def split(count: int, most: int) -> list[list[Payload]]:
    """Return the payloads of messages 0 to count - 1, at most `most` in a list."""
    return [[payload(n) for n in range(start, min(start + most, count))] for start in range(0, count, most)]
