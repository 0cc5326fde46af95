"""A worker some of whose messages kill it, and who notes in a file which handlers began."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import duerow
from duerow import Message, aio, fixed, limited
from duerow.testing.conformance.fixtures import Place

LEASE = timedelta(milliseconds=300)
"""How long a message waits whose worker has died."""

BEGUN = "POISON_BEGUN"
"""The environment variable that names the file, since handlers know no more than their message."""


@dataclass(frozen=True)
class Job:
    """What such a worker is told.

    Attributes:
        place: where its queues are.
        face: "sync" or "async".
        begun: where it notes which handlers began.
        limit: how many attempts a message has; None: as many as by default.
        queues: what it works on.
        terms: how it works.
    """

    place: Place
    face: str
    begun: Path
    limit: int | None = None
    queues: tuple[str, ...] = ("mail",)
    terms: dict[str, Any] = field(default_factory=dict)


def work(job: Job) -> None:
    """Be such a worker, until no message is left or one has killed it."""
    os.environ[BEGUN] = str(job.begun)
    if job.face == "async":
        asyncio.run(_work_awaited(job))
        return
    with duerow.connect(job.place.url, **job.place.settings) as db:
        queues = [db.queue(name, lease=LEASE, **_policy(job)) for name in job.queues]
        duerow.Worker(queues, handle, **job.terms).run("empty")


async def _work_awaited(job: Job) -> None:
    async with await aio.connect(job.place.url, **job.place.settings) as db:
        queues = [db.queue(name, lease=LEASE, **_policy(job)) for name in job.queues]
        await aio.Worker(queues, handle_awaited, **job.terms).run("empty")


def _policy(job: Job) -> dict[str, Any]:
    return {} if job.limit is None else {"retry": limited(job.limit, fixed(timedelta(0)))}


def handle(subject: Message | list[Message], *connection: Any) -> None:
    """Note that the messages are begun, in one write each, and die of a poisonous one."""
    for message in subject if isinstance(subject, list) else [subject]:
        _note(message)
        threading.Event().wait(0.001)


async def handle_awaited(subject: Message | list[Message], *connection: Any) -> None:
    """As `handle`."""
    for message in subject if isinstance(subject, list) else [subject]:
        _note(message)
        await asyncio.sleep(0.001)


def _note(message: Message) -> None:
    file = os.open(os.environ[BEGUN], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{message.payload} {message.attempts}\n".encode())
    os.close(file)
    if message.payload.startswith("poison"):
        os.kill(os.getpid(), signal.SIGKILL)
