"""The features whose own cost is measured: how a queue and its messages are made for each."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import duerow
from bench.messages import QUEUE, payload
from duerow import Draft, Queue
from duerow.encryption import Encryption

PLAIN: Final = "none"
FEATURES: Final = ("priority", "groups", "history", "encryption", "typed", "dead letter")

PRIORITIES: Final = 10
IN_A_GROUP: Final = 5
KEY: Final = "ZHVlcm93J3MgYmVuY2htYXJrIHVzZXMgdGhpcyBrZXk="


@dataclass
class Notice:
    """The payload of all messages, declared."""

    n: int
    to: str
    text: str


def known() -> list[str]:
    """Return the features that this duerow has."""
    has_history = "history" in inspect.signature(duerow.Database.queue).parameters
    return [feature for feature in FEATURES if feature != "history" or has_history]


def opened(url: str, feature: str) -> Queue:
    """Return the queue with one feature."""
    connection: dict[str, Any] = {"encryption": Encryption([KEY])} if feature == "encryption" else {}
    options_of: dict[str, dict[str, Any]] = {
        "history": {"history": timedelta(days=7)},
        "typed": {"payload": Notice},
        "dead letter": {"dead_letter": f"{QUEUE}-dead"},
    }
    return duerow.connect(url, **connection).queue(QUEUE, **options_of.get(feature, {}))


@contextmanager
def connected(url: str, feature: str) -> Iterator[Queue]:
    """Lend the queue with one feature."""
    queue = opened(url, feature)
    with queue.database:
        yield queue


def draft(feature: str, number: int, count: int) -> Draft:
    """Return message `number` of `count`: ten priorities in turn, groups of five."""
    value: Any = Notice(**payload(number)) if feature == "typed" else payload(number)
    priority = number % PRIORITIES if feature == "priority" else 0
    group = f"g-{number % max(1, count // IN_A_GROUP)}" if feature == "groups" else None
    return Draft(value, priority=priority, group=group)
