"""Consumers: workers of every kind, a loop that settles by hand in every way, and one that pops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from inspect import isawaitable
from typing import Any

import duerow
from duerow import Message, Queue, aio
from duerow.testing.faults import watch
from tests.crash.workload.claims import Claims
from tests.crash.workload.direct_consumer import ByHand
from tests.crash.workload.environment import OUT_OF_LUCK, WITH_HISTORY, WORKED, Setting, definition, queues
from tests.crash.workload.handler import Handler, ending
from tests.crash.workload.ledger import POPPED, Ledger, Line

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
"""What workers are made with, by what they are called."""

KINDS = (*WORKERS, "by hand", "by hand", "pop")
"""What a consumer may be."""

IDLE = 0.02


def consume(setting: Setting, kind: str, ready: Callable[[], None]) -> None:
    """Take messages until killed, as a consumer of this kind."""
    lease = timedelta(milliseconds=setting.chance.choice((300, 600, 1_200)))
    if kind.startswith("awaited"):
        asyncio.run(_work_async(setting, lease, WORKERS[kind], ready))
        return
    with setting.open() as database:
        claims = Claims()
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
    # A batch of one queue alone is given to a handler of whole batches.
    duerow.Worker(taken, call, middleware=[told], **terms).run()


async def _work_async(setting: Setting, lease: timedelta, terms: dict[str, Any], ready: Callable[[], None]) -> None:
    claims, ledger = Claims(), Ledger(setting)
    handler = Handler(f"{setting.seed} {setting.number}")
    async with await aio.connect(setting.url, **setting.all_settings) as database:
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
    """A transactional handler: what it writes and the end of its turn are one transaction.

    Args:
        ledger: where it writes.
        handler: says how the turn ends.
        claims: tells when a claim began.
    """

    def __init__(self, ledger: Ledger, handler: Handler, claims: Claims) -> None:
        self.ledger, self.handler, self.claims = ledger, handler, claims

    def __call__(self, message: Message, connection: Any) -> Any:
        """Write what is left only if the turn ends so."""
        self.ledger.write(*self._lines(message), within=connection)
        self._think(message)
        return duerow.Commit()

    async def awaited(self, message: Message, connection: Any) -> Any:
        """As a coroutine."""
        statement, rows = self.ledger.inserting(self._lines(message))
        written = connection.execute(statement, rows)
        assert isawaitable(written)
        await written
        self._think(message)
        return duerow.Commit()

    def _lines(self, message: Message) -> list[Line]:
        begun = self.ledger.turn("begun", message, self.claims.since(message), "transactional")
        return [replace(begun, note="transactional"), self.ledger.turn("effect", message)]

    def _think(self, message: Message) -> None:
        """Fail now and then; the effect is undone."""
        if self.handler.chance.random() < 0.2:
            ending(message, self.handler.chance)
            raise ValueError("it thought better of it")


class Popper:
    """A consumer that takes messages out at most once.

    In a transaction of its own the line that says so is part of it. Otherwise it takes from a queue with a history.

    Args:
        setting: where.
        queues: from what.
    """

    def __init__(self, setting: Setting, queues: dict[str, Queue[Any]]) -> None:
        self.setting, self.queues, self.chance = setting, queues, setting.chance
        self.ledger = Ledger(setting)

    def go_on(self) -> None:
        """Pop until killed."""
        while True:
            try:
                took = self._pop_within() if self.chance.random() < 0.6 else self._pop()
            except OUT_OF_LUCK:
                took = 0
            time.sleep(IDLE if took else 3 * IDLE)

    def _pop(self) -> int:
        queue = self.queues[self.chance.choice(sorted(WITH_HISTORY))]
        messages = queue.pop_many(self.chance.choice((1, 3)))
        self.ledger.write(*(self.ledger.turn("taken", one) for one in messages))
        return len(messages)

    def _pop_within(self) -> int:
        queue = self.queues[self.chance.choice(WORKED)]
        with self.setting.engine.connect() as connection, connection.begin() as transaction:
            self.ledger.write(Line("attempted", self.ledger.new_act(), queue.name), within=connection)
            messages = queue.pop_many(self.chance.choice((1, 3)), within=connection)
            lines = [self.ledger.turn(what, one, note=POPPED) for one in messages for what in ("begun", "popped")]
            self.ledger.write(*lines, within=connection)
            if self.chance.random() < 0.1:
                transaction.rollback()
        return len(messages)
