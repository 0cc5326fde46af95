"""Consumers: workers of every kind, a loop that settles by hand in every way, and a loop that pops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import duerow
from duerow import Message, Queue, aio
from duerow.testing.faults import watch
from duerow.testing.torture.claims import Claims
from duerow.testing.torture.direct_consumer import ByHand
from duerow.testing.torture.environment import LEASES, WORKED, Setting, definition, queues
from duerow.testing.torture.handler import Handler, ending
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.pops import Popper

WORKERS: dict[str, dict[str, Any]] = {
    "one by one": {"batch": 1, "concurrency": 2},
    "ahead": {"batch": 20, "concurrency": 3},
    "whole batches": {"batch": 10, "whole_batch": True},
    "transactional": {"batch": 5, "concurrency": 2, "transactional": True},
    "processes": {"processes": 2, "batch": 5},
    "awaited": {"batch": 10, "concurrency": 4},
    "awaited, one by one": {"batch": 1, "concurrency": 3},
    "awaited, whole batches": {"batch": 10, "whole_batch": True},
    "awaited, transactional": {"batch": 5, "concurrency": 2, "transactional": True},
}
"""The arguments of workers, by the name of their kind."""

KINDS = (*WORKERS, "by hand", "by hand", "pop")
"""The kinds of consumers."""


def consume(setting: Setting, kind: str, ready: Callable[[], None]) -> None:
    """Take messages until killed, as a consumer of this kind."""
    lease = timedelta(milliseconds=setting.chance.choice(LEASES))
    if kind.startswith("awaited"):
        asyncio.run(_work_async(setting, lease, WORKERS[kind], ready))
        return
    with setting.open() as database:
        claims = Claims(setting.times_agree)
        watch(database, claims.told)
        taken = queues(database, lease)
        ready()
        if kind == "by hand":
            ByHand(setting, taken, claims).go_on()
        elif kind == "pop":
            Popper(setting, taken).go_on()
        else:
            _work(setting, list(taken.values()), claims, kind)


def _work(setting: Setting, taken: list[Queue[Any]], claims: Claims, kind: str) -> None:
    terms, ledger = WORKERS[kind], Ledger(setting)
    handler = Handler(f"{setting.seed} {setting.number}", mortal=kind == "processes")
    if terms.get("transactional"):
        duerow.Worker(taken, Effect(ledger, handler, claims), **terms).run()
        return

    def told(subject: Any, call_next: Callable[[Any], Any]) -> Any:
        messages = subject if isinstance(subject, list) else [subject]
        ledger.ask([ledger.turn("begun", one, claims.since(one), kind) for one in messages])
        try:
            return call_next(subject)
        finally:
            ledger.ask([ledger.turn("finished", one) for one in messages])

    call: Any = handler.each if terms.get("whole_batch") else handler
    # A handler of whole batches gets messages of a single queue.
    duerow.Worker(taken, call, middleware=[told], **terms).run()


async def _work_async(setting: Setting, lease: timedelta, terms: dict[str, Any], ready: Callable[[], None]) -> None:
    claims, ledger = Claims(setting.times_agree), Ledger(setting)
    handler = Handler(f"{setting.seed} {setting.number}")
    async with await setting.aopen() as database:
        watch(database, claims.told)
        taken = [database.queue(name, lease=lease, **definition(name)) for name in WORKED]
        ready()
        if terms.get("transactional"):
            await aio.Worker(taken, Effect(ledger, handler, claims).awaited, **terms).run()
            return

        async def told(subject: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
            messages = subject if isinstance(subject, list) else [subject]
            lines = [ledger.turn("begun", one, claims.since(one), "awaited") for one in messages]
            await asyncio.to_thread(ledger.ask, lines)
            try:
                return await call_next(subject)
            finally:
                await asyncio.to_thread(ledger.ask, [ledger.turn("finished", one) for one in messages])

        async def handle(subject: Any) -> Any:
            await asyncio.sleep(0)
            return (handler.each if isinstance(subject, list) else handler)(subject)

        await aio.Worker(taken, handle, middleware=[told], **terms).run()


class Effect:
    """A transactional handler: its writes and the end of its turn are one transaction.

    Args:
        ledger: the ledger in which it writes.
        handler: decides how the turn ends.
        claims: knows when claims began.
    """

    def __init__(self, ledger: Ledger, handler: Handler, claims: Claims) -> None:
        self.ledger, self.handler, self.claims = ledger, handler, claims

    def __call__(self, message: Message, opened: Any) -> Any:
        """Write lines that last only if the turn ends with them."""
        self.ledger.write(*self._lines(message), within=opened)
        self._think(message)
        return duerow.Commit()

    async def awaited(self, message: Message, opened: Any) -> Any:
        """The same as a coroutine."""
        await self.ledger.awrite(*self._lines(message), within=opened)
        self._think(message)
        return duerow.Commit()

    def _lines(self, message: Message) -> list[Line]:
        begun = self.ledger.turn("begun", message, self.claims.since(message), "transactional")
        return [replace(begun, note="transactional"), self.ledger.turn("effect", message)]

    def _think(self, message: Message) -> None:
        """Fail now and then, which undoes the effect."""
        if self.handler.chance.random() < 0.2:
            ending(message, self.handler.chance)
            raise ValueError("it thought better of it")
