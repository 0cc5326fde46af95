"""What operators look at ends when it takes longer than it may: here because the messages are locked all the while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from duerow import Queue
from duerow.errors import QueryTimeout
from duerow.testing.conformance.fixtures import Hold, Place
from duerow.testing.faces import Face

T = TypeVar("T")

LOOKS: dict[str, Callable[[Queue], Any]] = {
    "find": lambda queue: queue.find("payload.a = 1"),
    "stats": lambda queue: queue.stats(),
    "exact stats": lambda queue: queue.stats(exact=True),
    "peek": lambda queue: queue.peek(),
}


def test_a_look_that_waits_for_a_lock_longer_than_it_may_is_ended(
    face: Face, place: Place, hold: Hold, caplog: pytest.LogCaptureFixture
) -> None:
    limit = timedelta(milliseconds=20)
    with closing(face.connect(place.url, read_timeout=limit, **place.settings)) as database:
        queue = database.queue("mail")
        queue.push("a", group="g")
        in_time(queue.peek)  # now its priorities are known
        for name, look in LOOKS.items():
            with hold(), pytest.raises(QueryTimeout, match="holds a lock on the messages"):
                raise AssertionError(f"{name} gives {look(queue)}")
        assert in_time(queue.stats).ready == 1  # the connection goes on
    assert caplog.messages == []


def in_time(look: Callable[[], T]) -> T:
    """Return what a look returns whose limit is so short that a busy machine may end it, too."""
    while True:
        try:
            return look()
        except QueryTimeout:
            continue
