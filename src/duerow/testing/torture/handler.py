"""What happens to a message that was handed out: usually it is done, in one of the ways that leave evidence."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from duerow import Bury, Commit, Draft, Message, Move, Release, Retry, Rollback
from duerow.testing.torture.environment import DONE, WITH_HISTORY


class Failed(Exception):
    """A handler could not do its work."""


@dataclass(frozen=True)
class Handler:
    """A handler that can be sent to another process.

    Attributes:
        seed: the seed of its random choices.
        mortal: whether it now and then kills its process, as a bug in a library would.
    """

    seed: str
    mortal: bool = False

    @cached_property
    def chance(self) -> random.Random:
        """The source of randomness in this process."""
        return random.Random(f"{self.seed} {os.getpid()}")

    def __call__(self, message: Message) -> Any:
        """Handle a message."""
        if self.mortal and self.chance.random() < 0.02:
            os.kill(os.getpid(), signal.SIGKILL)
        take_a_moment(self.chance)
        return ending(message, self.chance)

    def each(self, messages: Sequence[Message]) -> list[Any]:
        """Handle a whole batch."""
        if self.chance.random() < 0.05:
            raise Failed("the whole batch")
        time.sleep(self.chance.choice((0, 0.002, 0.02)))
        return [caught(partial(ending, message, self.chance)) for message in messages]


def take_a_moment(chance: random.Random) -> None:
    """Take as long as a handler of a run takes."""
    time.sleep(chance.choice((0, 0, 0.002, 0.02)))


def ending(message: Message, chance: random.Random) -> Any:
    """Return how the turn ends, or raise an exception."""
    draw = chance.random()
    if draw < 0.10:
        raise Failed("this attempt")
    if draw < 0.13:
        raise Bury("a person must look at it")
    if draw < 0.16:
        raise Retry(timedelta(milliseconds=50), counts=chance.random() < 0.5)
    if draw < 0.18:
        return Release()
    if draw < 0.20:
        return Rollback(timedelta(milliseconds=chance.choice((0, 50))), "by hand")
    return done(message, chance)


def done(message: Message, chance: random.Random) -> Commit | Move:
    """Return an end that leaves evidence: a message in DONE with its id, or a turn in history."""
    if message.queue in WITH_HISTORY and chance.random() < 0.3:
        return Commit()
    if chance.random() < 0.5:
        return Move(DONE, key=None)
    return Commit(then=(Draft({"of": message.id}, queue=DONE),))


def caught(handle: Callable[[], Any]) -> Any:
    """Return how a turn ends, or the exception, which is how a handler of whole batches says it."""
    try:
        return handle()
    except Exception as error:
        return error
