"""What the processes of the transactional crash tests do: their handlers write each number down, until they are killed.

The handler's write and the settlement are one transaction, so whatever happens, each number stands there exactly once.
"""

import asyncio
import signal
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from inspect import isawaitable
from typing import Any

from sqlalchemy import text

import duerow
from duerow import Commit, Draft, Message, aio
from duerow.testing.faults import Hook, kill_at, watch

LEASE = timedelta(milliseconds=300)
WORK, NEXT = "work", "next"


@dataclass(frozen=True)
class TransactionalConsumer:
    """What one process is to do.

    Attributes:
        kind: "sync" or "async".
        url, settings: the database.
        point, nth: where it kills itself; "" nowhere.
        batch: how many messages are claimed at once.
        work: the processor seconds from its first claim on after which it is killed; 0: it is not. However busy
            the machine is, it handles about as many messages in them.
    """

    kind: str
    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    point: str = ""
    nth: int = 1
    batch: int = 7
    work: float = 0.0

    @property
    def table(self) -> str:
        """Where the numbers are written down."""
        return f"{self.settings.get('prefix', '')}told"

    def hook(self) -> Hook:
        """What is told each point."""
        if self.point:
            return kill_at(self.point, self.nth)
        return killing_after(self.work) if self.work else lambda point: None


def killing_after(work: float) -> Hook:
    """Return a hook after whose first call the process has so many processor seconds to live."""

    @cache
    def begin() -> None:
        signal.setitimer(signal.ITIMER_PROF, work)  # whose signal ends a process as abruptly as SIGKILL

    return lambda point: begin()


def consume(consumer: TransactionalConsumer) -> None:
    """Write down what is due until nothing is left."""
    if consumer.kind == "async":
        asyncio.run(_consume_async(consumer))
        return
    hook = consumer.hook()
    with duerow.connect(consumer.url, **consumer.settings) as database:
        watch(database, hook)

        def handle(message: Message, connection: Any) -> Commit:
            connection.execute(*_written(consumer, message))
            hook("handler: written")
            return Commit(then=(Draft(message.payload, queue=NEXT),))

        duerow.Worker(_queue(database), handle, transactional=True, batch=consumer.batch, concurrency=2).run("empty")


async def _consume_async(consumer: TransactionalConsumer) -> None:
    hook = consumer.hook()
    async with await aio.connect(consumer.url, **consumer.settings) as database:
        watch(database, hook)

        async def handle(message: Message, connection: Any) -> Commit:
            done = connection.execute(*_written(consumer, message))
            assert isawaitable(done)
            await done
            hook("handler: written")
            return Commit(then=(Draft(message.payload, queue=NEXT),))

        await aio.Worker(_queue(database), handle, transactional=True, batch=consumer.batch, concurrency=2).run("empty")


def _queue(database: Any) -> Any:
    return database.queue(WORK, lease=LEASE, retry=duerow.fixed(timedelta(0)))


def _written(consumer: TransactionalConsumer, message: Message) -> tuple[Any, dict[str, int]]:
    return text(f"INSERT INTO {consumer.table} VALUES (:number)"), {"number": message.payload}
