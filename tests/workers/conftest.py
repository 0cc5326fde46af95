"""A workshop for each kind of worker on each store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duerow import Draft, Queue
from duerow.testing.clock import MovableClock
from tests.workers.workshop import Workshop

_numbers = itertools.count()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """The family of databases."""
    name: str = request.param
    return name


@pytest.fixture
def target(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Where the queues of one test live: a URL, and what else `connect` is given."""
    number = next(_numbers)
    if store == "memory":
        return f"memory://workers-{number}", {}
    if store == "sqlite":
        return f"sqlite:///{tmp_path}/queues.db", {}
    return request.getfixturevalue("postgresql_url"), {"prefix": f"worker{number}_"}


@pytest.fixture(params=["blocking", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of worker."""
    name: str = request.param
    return name


@pytest.fixture
def shop(kind: str, target: tuple[str, dict[str, Any]]) -> Iterator[Workshop]:
    """A queue, and workers for it, by the database's own clock."""
    workshop = Workshop(kind, *target)
    yield workshop
    workshop.close()


@pytest.fixture
def timeless(kind: str, target: tuple[str, dict[str, Any]], clock: MovableClock) -> Iterator[Workshop]:
    """A queue, and workers for it, whose time stands still until the test moves it."""
    url, settings = target
    workshop = Workshop(kind, url, {**settings, "clock": clock})
    yield workshop
    workshop.close()


@pytest.fixture
def queue(shop: Workshop) -> Queue:
    """The test's own handle of the queue."""
    return shop.queue


def push(queue: Queue, *payloads: Any) -> list[int]:
    """Push some payloads; return the messages' ids."""
    return [pushed.id for pushed in queue.push_many([Draft(payload) for payload in payloads])]
