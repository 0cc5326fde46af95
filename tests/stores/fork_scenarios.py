"""Programs that open a handle, fork, and go on: python -m tests.stores.fork_scenarios SCENARIO FACE URL SETTINGS.

Run in a process that has no threads, since a fork of the tests' process would take their threads' locks along. A child
that does not come to its end is ended by an alarm.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import make_url

import duerow
from duerow import Message, aio
from duerow.errors import ConfigurationError
from duerow.worker import attempt

T = TypeVar("T")

CHILDREN = 4
LATER = 4
"""How many messages a child pushes after its parent has closed everything."""

Settings = dict[str, Any]


def quiet(url: str, settings: Settings) -> None:
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
    end([child])


def quiet_awaited(url: str, settings: Settings) -> None:
    """The same, on one event loop before the fork and another one after it on each side."""
    database = asyncio.run(before(url, settings))
    child = os.fork()
    asyncio.run(after(database, "child" if child == 0 else "parent"))
    end([child])


async def before(url: str, settings: Settings) -> aio.Database:
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


def busy(url: str, settings: Settings) -> None:
    """Fork while threads push and a worker listens; the children go on when their parent has closed everything."""
    database = duerow.connect(url, **settings)
    queue, stop, handled = database.queue("mail"), threading.Event(), threading.Event()
    worker = duerow.Worker(database.queue("other"), lambda message: handled.set())

    def push_on() -> None:
        while not stop.is_set():
            queue.push("spinning")

    threads = [threading.Thread(target=run, daemon=True) for run in (worker.run, push_on, push_on)]
    for thread in threads:
        thread.start()
    database.queue("other").push("are you there?")
    assert handled.wait(60)
    children = Children(lambda key: queue.push("from a child", key=key))
    stop.set()
    worker.stop()
    for thread in threads:
        thread.join()
    database.close()
    children.go_on()


def busy_awaited(url: str, settings: Settings) -> None:
    """The same, with the tasks of an event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def there(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    database = there(aio.connect(url, **settings))
    queue, stop, handled = database.queue("mail"), threading.Event(), threading.Event()

    async def handle(message: Message) -> None:
        handled.set()

    async def push_on() -> None:
        while not stop.is_set():
            await queue.push("spinning")

    worker = aio.Worker(database.queue("other"), handle)
    tasks = [asyncio.run_coroutine_threadsafe(run(), loop) for run in (worker.run, push_on, push_on)]
    there(database.queue("other").push("are you there?"))
    assert handled.wait(60)
    children = Children(lambda key: asyncio.run(queue.push("from a child", key=key)))
    stop.set()
    loop.call_soon_threadsafe(worker.stop)
    for task in tasks:
        task.result(60)
    there(database.close())
    children.go_on()


class Children:
    """Forked one after the other; each pushes once, and the rest when it is told to go on.

    Args:
        push: pushes a message with the key given, on a loop of its own if it needs one.
    """

    def __init__(self, push: Callable[[str], object]) -> None:
        self._hold, self._let_go = os.pipe()
        self._born, self._cry = os.pipe()
        self._pids = [self._fork(push, number) for number in range(CHILDREN)]

    def _fork(self, push: Callable[[str], object], name: int) -> int:
        child = os.fork()
        if child:
            assert os.read(self._born, 1) == b"!", "the child did not get as far as its first push"
            return child
        try:
            signal.alarm(30)
            os.close(self._let_go)
            push(f"child-{name}")
            os.write(self._cry, b"!")
            os.read(self._hold, 1)  # until nobody can write any more
            for number in range(LATER):
                push(f"child-{name}-{number}")
        except BaseException:
            traceback.print_exc()
            os.write(self._cry, b"?")
            os._exit(1)
        os._exit(0)

    def go_on(self) -> None:
        """Let them push the rest; end as they end."""
        os.close(self._let_go)
        end(self._pids)


def amid(url: str, settings: Settings) -> None:
    """Fork at the moment at which another thread is in the middle of a push, and has the lock that all of them take."""
    database = duerow.connect(url, **settings)
    queue = database.queue("mail")
    with as_of_a_thread(database):
        child = os.fork()
    if child == 0:
        signal.alarm(30)
    queue.push("after", key="parent" if child else "child")
    queue.push("handled")
    duerow.Worker(database.queue("mail"), handle_slowly).run(until="idle")
    end([child])


def handle_slowly(message: Message) -> None:
    current = duerow.current()
    assert current is not None
    assert not current.wait(0.001)
    if message.key is not None:
        raise duerow.Retry(after=timedelta(hours=1))


def amid_awaited(url: str, settings: Settings) -> None:
    """The same, awaited."""
    database = asyncio.run(aio.connect(url, **settings))
    queue = database.queue("mail")
    with as_of_a_thread(database):
        child = os.fork()
    if child == 0:
        signal.alarm(30)
    asyncio.run(queue.push("after", key="parent" if child else "child"))
    end([child])


@contextmanager
def as_of_a_thread(database: Any) -> Iterator[None]:
    """Have another thread hold the locks of the floors and of the attempts, until the end of the block."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with database.store.context.floors._lock, attempt._telling:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    parent = os.getpid()
    yield
    if os.getpid() == parent:
        over.set()
        thread.join()


def open_elsewhere(url: str, settings: Settings) -> None:
    """Fork while a connection of somebody else is open: the child is refused, its parent is not."""
    database = duerow.connect(url, **settings)
    queue = database.queue("mail")
    foreign = sqlite3.connect(str(make_url(url).database))
    foreign.execute("SELECT count(*) FROM sqlite_master").fetchall()
    child = os.fork()
    if child == 0:
        handle = partial(queue.push, "refused")
        os._exit(0 if refused(handle) and refused(lambda: duerow.connect(url, **settings)) else 1)
    queue.push("accepted")
    end([child])


def open_elsewhere_awaited(url: str, settings: Settings) -> None:
    """The same, while a call of the forking loop is running, which therefore cannot end before the fork."""

    async def fork() -> int:
        database = await aio.connect(url, **settings)
        running = asyncio.create_task(database.queue("mail").push("accepted"))
        await asyncio.sleep(0)
        child = os.fork()
        if child == 0:  # which has the loop in common with its parent, and must not take what is meant to wake that
            in_a_thread(lambda: os._exit(0 if both_refused(database) else 1))
        await running
        return child

    def both_refused(database: aio.Database) -> bool:
        push = database.queue("mail").push
        anew = partial(aio.connect, url, **settings)
        return refused(lambda: asyncio.run(push("refused"))) and refused(lambda: asyncio.run(anew()))

    end([asyncio.run(fork())])


def in_a_thread(act: Callable[[], object]) -> None:
    signal.alarm(30)
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except ConfigurationError as error:
        return "fork" in str(error)
    return False


def end(children: list[int]) -> None:
    """A child goes without a word; the parent says how its children ended."""
    if 0 in children:
        os._exit(0)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(f"the children ended with {ends}" if any(ends) else 0)


SCENARIOS = {
    ("quiet", "sync"): quiet,
    ("quiet", "async"): quiet_awaited,
    ("busy", "sync"): busy,
    ("busy", "async"): busy_awaited,
    ("amid", "sync"): amid,
    ("amid", "async"): amid_awaited,
    ("open elsewhere", "sync"): open_elsewhere,
    ("open elsewhere", "async"): open_elsewhere_awaited,
}

if __name__ == "__main__":
    scenario, face, url, settings = sys.argv[1:]
    SCENARIOS[scenario, face](url, json.loads(settings))
