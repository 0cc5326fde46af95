"""Sends text messages through a gateway that is slow and fails now and then, as gateways do.

The gateway stands for an external service, so sending cannot be part of a transaction with the queue: if a worker is
killed after the call, the message is sent again. This is harmless because the gateway, like real ones, takes a
reference that the caller chooses. It accepts each reference only once, and reports a repeated one.
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
"""Phones that are always off; sending is tried as often as the retry policy allows."""

REFUSED: Final = "+1 212 555 0199"
"""A number that is not in use; trying again is pointless."""

BUSY_PERCENT, BUSY_CALLS = 12, 2
"""The gateway answers "busy" to this percentage of the first and second calls for a message, and never later."""

LATENCY: Final = (0.010, 0.040)
"""The shortest and the longest time that a call takes, in seconds."""

LIMIT: Final = 6
FIRST_DELAY, LONGEST_DELAY = timedelta(milliseconds=100), timedelta(seconds=5)


class GatewayError(Exception):
    """The gateway did not accept the text message."""


class Gateway:
    """A gateway that keeps a record of all calls.

    Args:
        engine: the database that holds the record.
        latency: a function that returns how many seconds a call takes.
    """

    def __init__(self, engine: Engine, latency: Callable[[], float]) -> None:
        self._engine, self._latency = engine, latency

    def send(self, message: Message) -> None:
        """Send a text message, unless its reference has already been accepted.

        Raises:
            GatewayError: the gateway is busy, or the phone is off.
            Bury: there is no such number.
        """
        began = time.monotonic()
        time.sleep(self._latency())
        answer = self._book(message, _answer(message), began)
        if answer == "refused":
            raise Bury(f"the number is not in use: {message.payload['to']}")
        if answer in ("busy", "unreachable"):
            raise GatewayError(f"{message.payload['to']} is {answer}")

    def _book(self, message: Message, answer: str, began: float) -> str:
        """Record the call, and return the answer for its sender."""
        with self._engine.begin() as connection:
            # Only one call at a time for each reference, so that no reference can be accepted twice.
            connection.execute(select(SMS.c.sms_id).where(SMS.c.sms_id == message.id).with_for_update())
            if answer == "accepted" and _is_accepted(connection, message.id):
                answer = "repeated"
            visit = stations.visit(message)
            row = {name: visit[name] for name in ("attempt", "entered", "taken")}
            row |= {"sms_id": message.id, "answer": answer, "seconds": time.monotonic() - began}
            connection.execute(insert(CALL).values(row))
        return answer


def worker(database: Database, engine: Engine, lease: timedelta) -> Worker:
    """Return a worker that sends the text messages in the queue, sixteen at a time."""
    gateway = Gateway(engine, lambda: random.uniform(*LATENCY))  # noqa: S311 - a simulation, not security
    queue = database.queue(QUEUE, lease=lease, retry=limited(LIMIT, exponential(FIRST_DELAY, maximum=LONGEST_DELAY)))
    return Worker(queue, gateway.send, batch=100, concurrency=16)


def _answer(message: Message) -> str:
    if message.payload["to"] == REFUSED:
        return "refused"
    if message.payload["to"] in UNREACHABLE:
        return "unreachable"
    return "busy" if is_busy(message.payload["line"], message.attempts) else "accepted"


def is_busy(line: int, attempt: int) -> bool:
    """Return whether the gateway is busy for a call: at random, but with the same outcome in every run."""
    chance = zlib.crc32(f"{line}/{attempt}".encode()) % 100
    return attempt <= BUSY_CALLS and chance < BUSY_PERCENT


def _is_accepted(connection: Connection, reference: int) -> bool:
    accepted = select(CALL.c.attempt).where(CALL.c.sms_id == reference, CALL.c.answer == "accepted")
    return connection.scalar(accepted.limit(1)) is not None
