"""A workshop for each kind of worker on each store."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator

import pytest

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from duerow.worker import child_process, maintenance, outage
from tests.processes import forking
from tests.stores.postgresql.conftest import migrated, superuser, tidied

__all__ = ["migrated", "superuser", "tidied"]

_numbers = itertools.count()

SPAWNING = {"test_it_ends_turns_as_any_handler_does"}
"""Tests whose handlers' processes start as users' do."""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look at schedules at once, and soon again at what has failed: how long they wait is tried elsewhere."""
    monkeypatch.setattr(maintenance, "SETTLED_IN", 0.02)
    monkeypatch.setattr(outage, "FIRST_PAUSE", 0.01)


@pytest.fixture(autouse=True)
def unhandled() -> Iterator[None]:
    """Nobody handles the signals when a test begins: whoever runs the tests may ignore them, or have their own."""
    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler))
    }
    yield
    for number, handler in before.items():
        if handler is not None:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers' processes are forked from one that has loaded duerow; in one test they begin with nothing, as users'.

    A worker meets the same of either kind: a process that shares nothing with it, and ends by itself or is ended.
    """
    if request.node.originalname not in SPAWNING:
        monkeypatch.setattr(child_process, "_SPAWN", forking())


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """The family of databases."""
    name: str = request.param
    return name


@pytest.fixture
def place(store: str, request: pytest.FixtureRequest) -> Place:
    """Where the queues of one test live."""
    if store == "memory":
        return Place(f"memory://workers-{next(_numbers)}")
    if store == "sqlite":
        return Place(request.getfixturevalue("sqlite_url"), {"synchronous": "NORMAL"})
    request.getfixturevalue("superuser").execute(request.getfixturevalue("tidied"))
    migrated: Place = request.getfixturevalue("migrated")
    return migrated


@pytest.fixture
def kind(face: Face) -> str:
    """The kind of worker."""
    return face.name
