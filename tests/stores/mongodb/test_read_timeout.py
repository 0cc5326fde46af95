"""The limit of a read for people is MongoDB's maxTimeMS, with each command that reads messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pymongo.monitoring
import pytest

import duerow
from duerow import Queue
from duerow.testing.conformance.fixtures import Place

LOOKS: dict[str, Callable[[Queue], Any]] = {
    "find": lambda queue: queue.find(),
    "stats": lambda queue: queue.stats(),
    "peek": lambda queue: queue.peek(),
    "why": lambda queue: queue.why(key="a"),
}


class Commands(pymongo.monitoring.CommandListener):
    """Notes which limit each read of messages was sent with."""

    def __init__(self) -> None:
        self.limits: list[int | None] = []

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if event.command.get(event.command_name) == "duerow_message":
            self.limits.append(event.command.get("maxTimeMS"))

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None: ...


@pytest.mark.parametrize("look", LOOKS)
def test_each_command_of_a_look_has_the_limit_and_none_of_a_claim(place: Place, look: str) -> None:
    commands = Commands()
    with (
        pymongo.MongoClient[dict[str, Any]](place.url, event_listeners=[commands]) as client,
        closing(duerow.connect(client, read_timeout=timedelta(seconds=7), **place.settings)) as database,
    ):
        queue = database.queue("mail")
        queue.push(1, key="a", group="g")
        commands.limits.clear()
        LOOKS[look](queue)
        assert set(commands.limits) == {7_000}
        commands.limits.clear()
        assert queue.reserve()
        assert 7_000 not in commands.limits
