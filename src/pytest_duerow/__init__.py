"""Fixtures for tests of code that uses queues; pytest finds them by itself where duerow is installed.

Nothing of duerow is imported before a test asks for one of them, so that they cost other tests nothing. Tests that do
not want them at all say `-p no:duerow`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import duerow
    from duerow import aio
    from duerow.testing.clock import MovableClock


@pytest.fixture
def duerow_clock() -> MovableClock:
    """The time of `duerow_db` and `duerow_async_db`, which stands still until the test moves it."""
    from duerow.testing.clock import MovableClock

    return MovableClock()


@pytest.fixture
def duerow_db(duerow_clock: MovableClock, _duerow_url: str) -> Iterator[duerow.Database]:
    """A database in memory without any messages, for this test alone, under `duerow_clock`."""
    import duerow

    with duerow.connect(_duerow_url, clock=duerow_clock) as database:
        yield database


@pytest.fixture
def duerow_async_db(duerow_clock: MovableClock, _duerow_url: str) -> aio.Database:
    """The same database as `duerow_db`, for coroutines; it may be used on any event loop and needs no closing."""
    from duerow import aio
    from duerow.store import Settings, find_backend

    return aio.Database(*find_backend(_duerow_url).aopen(_duerow_url, Settings(duerow_clock)), duerow_clock)


@pytest.fixture
def _duerow_url() -> Iterator[str]:
    """Where both faces of a test's database meet; forgotten when the test ends."""
    from duerow.stores.memory import memory

    name = uuid.uuid4().hex
    yield f"memory://{name}"
    memory.forget(name)
