"""A process that opens a handle, forks, and uses the handle on both sides: python -m tests.stores.forking FACE URL.

Run as a program of its own, since a fork of the tests' process would take their threads' locks along.
"""

import asyncio
import json
import os
import sys
import threading
from typing import Any

import duerow
from duerow import aio


def blocking(url: str, settings: dict[str, Any]) -> None:
    """Push before the fork, then on both sides of it at once."""
    database = duerow.connect(url, **settings)
    queue = database.queue("mail")
    queue.push("before")
    with queue.reserving() as message:
        assert message is not None
    child = os.fork()
    for number in range(20):
        queue.push(number, key=f"{'child' if child == 0 else 'parent'}-{number}")
    threads = [threading.Thread(target=queue.push, args=["thread"]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    end(child)


def awaited(url: str, settings: dict[str, Any]) -> None:
    """The same, on one event loop before the fork and another one after it on each side."""
    database = asyncio.run(before(url, settings))
    child = os.fork()
    asyncio.run(after(database, "child" if child == 0 else "parent"))
    end(child)


async def before(url: str, settings: dict[str, Any]) -> aio.Database:
    database = await aio.connect(url, **settings)
    queue = database.queue("mail")
    await queue.push("before")
    await queue.pop()
    return database


async def after(database: aio.Database, side: str) -> None:
    queue = database.queue("mail")
    for number in range(20):
        await queue.push(number, key=f"{side}-{number}")
    await asyncio.gather(*(queue.push("task") for _ in range(3)))
    await database.close()


def end(child: int) -> None:
    """The child goes without a word; the parent says how the child ended."""
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    {"sync": blocking, "async": awaited}[sys.argv[1]](sys.argv[2], json.loads(sys.argv[3]))
