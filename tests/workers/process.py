"""A worker process of its own: `python -m tests.workers.process KIND URL SETTINGS WHAT`.

Writes a line with each payload to standard output when its handler begins, so that a test knows where it stands.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from datetime import timedelta

import duerow
from duerow import Message, fixed, limited
from duerow.aio import connect as aconnect
from duerow.aio.worker import Worker as AsyncWorker
from duerow.sync.worker import Worker

TERMS = {
    "hang": {"batch": 10, "concurrency": 2, "grace": timedelta(milliseconds=100)},
    "finish": {"batch": 10, "concurrency": 2},
    "die": {"batch": 1, "lease": timedelta(milliseconds=200), "retry": limited(3, fixed(timedelta(0)))},
}


def begin(message: Message) -> None:
    """Say that this message is being handled, in one write, since two threads may do so at once."""
    os.write(sys.stdout.fileno(), f"{json.dumps(message.payload)}\n".encode())


def die() -> None:
    """End this process as the kernel would for want of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def handle(what: str, stopped: threading.Event, message: Message) -> None:
    """Do what a blocking handler does."""
    begin(message)
    if what == "die" and message.payload == "poison":
        die()
    elif what == "hang":
        threading.Event().wait()
    elif what == "finish":
        stopped.wait()


async def handle_async(what: str, stopped: asyncio.Event, message: Message) -> None:
    """Do what an async handler does."""
    begin(message)
    if what == "die" and message.payload == "poison":
        die()
    elif what == "hang":
        await asyncio.Event().wait()
    elif what == "finish":
        await stopped.wait()


def work(url: str, settings: dict[str, str], what: str) -> None:
    """Work with threads."""
    with duerow.connect(url, **settings) as db:
        stopped = threading.Event()
        # Handlers that wait for the signal end right after it came: within the grace.
        threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
        until = "empty" if what == "die" else None
        Worker(db.queue("mail"), lambda message: handle(what, stopped, message), **TERMS[what]).run(until)


async def work_async(url: str, settings: dict[str, str], what: str) -> None:
    """Work with tasks."""
    async with await aconnect(url, **settings) as db:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        tell = threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(stopped.set)), daemon=True)
        tell.start()

        async def handler(message: Message) -> None:
            await handle_async(what, stopped, message)

        until = "empty" if what == "die" else None
        await AsyncWorker(db.queue("mail"), handler, **TERMS[what]).run(until)


if __name__ == "__main__":
    kind, url, settings, what = sys.argv[1:]
    if kind == "async":
        asyncio.run(work_async(url, json.loads(settings), what))
    else:
        work(url, json.loads(settings), what)
    print("ended", flush=True)
