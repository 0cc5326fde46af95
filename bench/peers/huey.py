"""huey's SqliteHuey: tasks are called to be enqueued; its consumer's loop, which takes one task at a time, drains."""

from __future__ import annotations

from huey import SqliteHuey

from bench.messages import QUEUE, Payload
from bench.peers.sending import BlockingSender, Sender
from bench.processes import Prepared

NAME = "huey"
SETTINGS = "SqliteHuey(results=False), one task at a time as in its consumer"
ONE_BY_ONE = True


def _open(url: str, seen: list[int]) -> tuple[SqliteHuey, object]:
    address, _, settings = url.partition("?")
    if settings not in ("", "synchronous=FULL"):
        raise ValueError(f"huey offers FULL or OFF, not {settings}")
    queue = SqliteHuey(QUEUE, filename=address.removeprefix("sqlite:///"), results=False, fsync=True)

    @queue.task(name="handle")  # type: ignore[untyped-decorator]
    def handle(message: Payload) -> None:
        seen.append(message["n"])

    return queue, handle


def set_up(url: str) -> None:
    """Make the tables, which opening it does."""
    _open(url, [])[0].storage.close()


def sender(url: str) -> Sender:
    """Open the file."""
    _, handle = _open(url, [])

    def push(message: Payload) -> None:
        handle(message)  # type: ignore[operator]

    def push_many(messages: list[Payload]) -> None:
        for message in messages:
            push(message)

    return BlockingSender(push, push_many)


def prepare_drain(url: str, count: int) -> Prepared[list[int]]:
    """Open the file; return the loop that takes a task and executes it until there is none."""
    seen: list[int] = []
    queue, _ = _open(url, seen)

    def run() -> list[int]:
        while (task := queue.dequeue()) is not None:
            queue.execute(task)
        return seen

    return run


def left(url: str) -> int:
    """Count what is not handled yet."""
    return int(_open(url, [])[0].pending_count())


def synchronous(url: str) -> int:
    """Return what SQLite's setting is on a connection of huey's."""
    return int(_open(url, [])[0].storage.conn.execute("PRAGMA synchronous").fetchone()[0])
