"""Sends text messages through a gateway that is slow and fails now and then, as gateways do.

The gateway stands for a service elsewhere, so sending cannot be in one transaction with the queue: a message whose
worker is killed after the call is sent again. What makes that harmless is what real gateways offer as well, a
reference that the caller chooses: it accepts each reference once and says so when it is repeated.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, Engine, insert, select

from duerow import Bury, Database, Message, Worker, exponential, limited
from examples.flights import stations
from examples.flights.ledger import CALL, SMS

QUEUE: Final = "demo.sms"

UNREACHABLE: Final = ("+1 212 555 0113", "+1 212 555 0142")
"""Phones that are always off: tried again as often as the policy allows."""

REFUSED: Final = "+1 212 555 0199"
"""A number that nobody has: trying again is of no use."""

BUSY_PERCENT, BUSY_CALLS = 12, 2
"""Of how many first and second calls in a hundred the gateway says that it is busy; it never says so later."""

LATENCY: Final = (0.010, 0.040)
"""Seconds that a call takes, from and to."""

LIMIT: Final = 6
FIRST_DELAY, LONGEST_DELAY = timedelta(milliseconds=100), timedelta(seconds=5)


class GatewayError(Exception):
    """The gateway did not take the text message."""


class Gateway:
    """A gateway that keeps a book of all calls.

    Args:
        engine: where its book is.
        latency: returns how many seconds a call takes.
    """

    def __init__(self, engine: Engine, latency: Callable[[], float]) -> None:
        self._engine, self._latency = engine, latency

    def send(self, message: Message) -> None:
        """Send a text message; a reference that was accepted before is not sent again.

        Raises:
            GatewayError: it is too busy, or the phone is off.
            Bury: there is no such number.
        """
        began = time.monotonic()
        time.sleep(self._latency())
        answer = self._book(message, _answer(message), began)
        if answer == "refused":
            raise Bury(f"nobody has the number {message.payload['to']}")
        if answer in ("busy", "unreachable"):
            raise GatewayError(f"{message.payload['to']} is {answer}")

    def _book(self, message: Message, answer: str, began: float) -> str:
        """Write the call down, and return the answer that its sender gets."""
        with self._engine.begin() as connection:
            # One call at a time for each reference, so that none can be accepted twice.
            connection.execute(select(SMS.c.sms_id).where(SMS.c.sms_id == message.id).with_for_update())
            if answer == "accepted" and _is_accepted(connection, message.id):
                answer = "repeated"
            visit = stations.visit(message)
            row = {name: visit[name] for name in ("attempt", "entered", "taken")}
            row |= {"sms_id": message.id, "answer": answer, "seconds": time.monotonic() - began}
            connection.execute(insert(CALL).values(row))
        return answer


def worker(database: Database, engine: Engine, lease: timedelta) -> Worker:
    """Return a worker that sends what is in the queue, sixteen at once."""
    gateway = Gateway(engine, lambda: random.uniform(*LATENCY))  # noqa: S311 - it imitates, it guards nothing
    queue = database.queue(QUEUE, lease=lease, retry=limited(LIMIT, exponential(FIRST_DELAY, maximum=LONGEST_DELAY)))
    return Worker(queue, gateway.send, batch=100, concurrency=16)


def _answer(message: Message) -> str:
    if message.payload["to"] == REFUSED:
        return "refused"
    if message.payload["to"] in UNREACHABLE:
        return "unreachable"
    return "busy" if is_busy(message.payload["line"], message.attempts) else "accepted"


def is_busy(line: int, attempt: int) -> bool:
    """Return whether the gateway is too busy for a call: by chance, but by the same chance in every run."""
    chance = zlib.crc32(f"{line}/{attempt}".encode()) % 100
    return attempt <= BUSY_CALLS and chance < BUSY_PERCENT


def _is_accepted(connection: Connection, reference: int) -> bool:
    accepted = select(CALL.c.attempt).where(CALL.c.sms_id == reference, CALL.c.answer == "accepted")
    return connection.scalar(accepted.limit(1)) is not None
