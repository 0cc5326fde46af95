"""A fresh queue on each of the probed servers, with a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.probes.contract import Clock, Queue
from tests.probes.servers import KINDS

OpenQueue = Callable[..., Queue]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    url = str(request.getfixturevalue(KINDS[kind].url_fixture))
    KINDS[kind].prepare(url)
    return url


@pytest.fixture
def open_queue(kind: str, url: str, clock: Clock) -> Iterator[OpenQueue]:
    """Open the queue once more, for another consumer with a connection of its own."""
    opened: list[Queue] = []

    def open_one(consumer: str) -> Queue:
        opened.append(KINDS[kind].open(url, consumer, clock))
        return opened[-1]

    yield open_one
    for queue in opened:
        queue.connection.close()


@pytest.fixture
def queue(open_queue: OpenQueue) -> Queue:
    return open_queue("first")


@pytest.fixture
def other(open_queue: OpenQueue) -> Queue:
    return open_queue("second")
