"""The messages that everybody carries: about 100 bytes of JSON, each with a number of its own."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

QUEUE = "bench"

Payload = dict[str, Any]

STOP: Payload = {"stop": True}
"""The last message to a worker whose latency is measured."""

PAYLOAD_COLUMNS = "n long, to string, text string"
"""What the fields of a payload are to Spark."""


def payload(number: int) -> dict[str, Any]:
    """Return the payload of message `number`, about 100 bytes when encoded."""
    return {"n": number, "to": "+385 91 555 0123", "text": "Your flight is delayed; please come to gate 12."}


def payload_text(number: int) -> str:
    """Return the same payload as JSON text."""
    return json.dumps(payload(number))


def key(number: int) -> str:
    """Return the key of the message with that number, where messages have keys."""
    return f"flight-{number}"


@dataclass
class Noted:
    """What a worker handled: the moment of each number."""

    times: dict[int, int] = field(default_factory=dict)

    def stopped_by(self, message: Payload) -> bool:
        """Note a message; return whether it is the last one."""
        if message == STOP:
            return True
        self.times[message["n"]] = time.monotonic_ns()
        return False


@dataclass
class Batches:
    """What a process drained: the ids, and how long each thousand took."""

    size: int = 1_000
    ids: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def note(self, number: int) -> None:
        """Note the id of a message."""
        if not len(self.ids) % self.size:
            self.starts.append(time.monotonic_ns())
        self.ids.append(number)

    def milliseconds(self) -> list[float]:
        """The time from the first message of each batch to the first of the next."""
        return [(after - before) / 1e6 for before, after in pairwise(self.starts)]
