"""Work that would block the event loop and is done in a thread instead: large batches, large payloads, imports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Final, TypeVar, cast

from duerow.message import Draft
from duerow.payload import codec
from duerow.payload.encoding import Payloads
from duerow.plan import AsyncExecute, Plan, Several, aeach, arun
from duerow.queue import mapping
from duerow.store import Entry, Refused, Turn

T = TypeVar("T")

Transaction = Callable[[], Awaitable[T]]
"""Executes a transaction, from the start each time."""

Writing = Callable[[list[Turn]], Awaitable[list[Refused]]]
"""Writes how turns end, and returns the refused ones."""

MANY: Final = 2_000
"""With this many messages or more, a call works in a thread: it takes milliseconds, far more than the thread costs."""

LARGE: Final = 32 << 10
"""Payloads of this many encoded bytes or more are encoded and decoded in a thread."""


async def off(work: Callable[[], T]) -> T:
    """Do some work in a thread."""
    return await asyncio.to_thread(work)


async def done(work: Callable[[], T], many: int) -> T:
    """Do some work, in a thread if it is for many messages."""
    return await asyncio.to_thread(work) if many >= MANY else work()


async def entry(queue: str, payload: Any, *more: Any) -> Entry:
    """Return what `duerow.queue.mapping.entry` does."""
    if codec.weight(payload) >= LARGE:
        return await asyncio.to_thread(mapping.entry, queue, payload, *more)
    return mapping.entry(queue, payload, *more)


async def entries(drafts: Sequence[Draft[Any]], queue: str, max_bytes: int, payloads: Payloads) -> list[Entry]:
    """Return the entries of drafts; see `duerow.queue.mapping.draft_entries`."""
    many = len(drafts) >= MANY or sum(codec.weight(getattr(draft, "payload", None)) for draft in drafts) >= LARGE
    if many:
        return await asyncio.to_thread(mapping.draft_entries, drafts, queue, max_bytes, payloads)
    return mapping.draft_entries(drafts, queue, max_bytes, payloads)


def carrying(many: int) -> Callable[[Plan[T], AsyncExecute], Awaitable[T]]:
    """Return the function that executes a plan for this many messages."""
    return arun if many < MANY else _arun


async def _arun(plan: Plan[T], execute: AsyncExecute) -> T:
    """Like `arun`, but the plan's work between its steps is done in a thread."""
    steps = _ended(plan)
    step = await asyncio.to_thread(next, steps)
    while not isinstance(step, _End):
        try:
            answer = await (execute(step) if type(step) is not Several else aeach(step, execute, True))
        except Exception as error:
            step = await asyncio.to_thread(steps.throw, error)
        else:
            step = await asyncio.to_thread(steps.send, answer)
    return cast(T, step.result)


class _End:
    """The last step of a plan: its result. A thread cannot raise the end of a generator."""

    def __init__(self, result: Any) -> None:
        self.result = result


def _ended(plan: Plan[Any]) -> Generator[Any, Any, None]:
    yield _End((yield from plan))
