"""Handlers that processes of their own import: they tell where they ran by what they send on."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

import duerow
import duerow.testing.clock
from duerow import Bury, Message, Move, Retry
from duerow.testing.worker_harness import where


class Picky(Exception):
    """An exception that can be written by pickle, and not read."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def act(message: Message) -> Any:
    """Do what the payload says."""
    what = message.payload
    if what == "bury":
        return Bury("no such number")
    if what == "retry":
        raise Retry(duerow.testing.clock.minutes(7))
    if what == "fail":
        fail()
    if what == "picky":
        raise Picky("this", "that")
    if what == "large":
        return bytes(50_000_000)
    if what == "cannot travel":
        return Move("done", (lambda: None))
    if what == "kill" and message.attempts == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit" and message.attempts == 1:
        os._exit(3)
    if what == "leave":
        sys.exit("enough")
    if what == "signals":
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    if what == "hang":
        time.sleep(3600)
    return where(message)


def fail() -> None:
    """Raise what another function calls for."""
    raise ConnectionResetError("the line is gone")


def tell_frozen(message: Message) -> Move:
    """Tell how many objects the garbage collector skips."""
    return Move("done", gc.get_freeze_count())


def hang_and_tell(message: Message) -> None:
    """Write down the process's id, and hang."""
    with open(message.payload, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(3600)


def halves(messages: list[Message]) -> list[Any]:
    """Bury what is odd."""
    if any(message.payload == "all" for message in messages):
        raise ValueError("all of them")
    return [Bury("odd") if message.payload % 2 else Move("done") for message in messages]


def die_of_poison(messages: list[Message]) -> None:
    """End this process if any of the messages is poisonous."""
    if any(message.payload == "poison" for message in messages):
        os.kill(os.getpid(), signal.SIGKILL)


def other(message: Message) -> Move:
    """Be another handler than `where`."""
    return Move("other", message.payload)


class OnlyHere:
    """A handler that no other process can load."""

    def __call__(self, message: Message) -> None:
        """Do nothing."""

    def __reduce__(self) -> Any:
        return _loaded, ()


def _loaded() -> OnlyHere:
    if multiprocessing.parent_process() is not None:
        raise ImportError("there is no such model")
    return OnlyHere()


@dataclass(frozen=True)
class Order:
    """What a typed queue carries."""

    number: int


def shipped(message: Message) -> Move:
    """Send on the number of an order, which must have come as an order."""
    assert isinstance(message.payload, Order)
    return Move("done", message.payload.number)


def unrun(message: Message) -> object:
    """Return what a handler with a yield in it gives when it is called."""
    return (Move("done") for _ in range(1))


def written(message: Message, connection: object) -> None:
    """What a handler looks like that is given a transaction."""


def none() -> None:
    """Take no message, by mistake."""
