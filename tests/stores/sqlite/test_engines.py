"""Whatever the transactions of the user's own engine are like, what was written through it is there for all."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
import duerow.aio
from duerow import Draft
from duerow.testing.conformance.fixtures import Place


class OfPython312(sqlite3.Connection):
    """A connection as Python 3.12 and later have it: its `autocommit` is neither true nor false by default."""

    autocommit = -1


ENGINES: dict[str, dict[str, Any]] = {
    "the driver begins": {},
    "the driver of Python 3.12 begins": {"connect_args": {"factory": OfPython312}},
    "nobody begins": {"isolation_level": "AUTOCOMMIT"},
}
if sys.version_info >= (3, 12):
    ENGINES["autocommit is on"] = {"connect_args": {"autocommit": True}}
    ENGINES["autocommit is off"] = {"connect_args": {"autocommit": False}}


def push_and_spoil(place: Place, count: int) -> None:
    """See the messages from another connection, and give them headers that nobody can read."""
    with duerow.connect(place.url) as other:
        assert other.queue("mail").count() == count
        with other.connections.open() as execute:
            raw: Any = execute
            raw.raw.execute("UPDATE duerow_message SET headers = '['")


@pytest.mark.parametrize("made", ENGINES.values(), ids=list(ENGINES))
def test_what_was_written_is_there_for_all(place: Place, made: dict[str, Any]) -> None:
    engine = create_engine(place.url, **made)
    queue = duerow.connect(engine).queue("mail")
    queue.push(1)
    queue.push_many([Draft(2), Draft(3, key="three")])
    push_and_spoil(place, 3)
    assert queue.pop() is None
    assert queue.count(by="status")["dead"] == 3
    engine.dispose()


@pytest.mark.parametrize("made", ENGINES.values(), ids=list(ENGINES))
async def test_so_it_is_through_an_async_engine(place: Place, made: dict[str, Any]) -> None:
    engine = create_async_engine(place.url.replace("sqlite:", "sqlite+aiosqlite:"), **made)
    queue = (await duerow.aio.connect(engine)).queue("mail")
    await queue.push(1)
    await queue.push_many([Draft(2), Draft(3, key="three")])
    push_and_spoil(place, 3)
    assert await queue.pop() is None
    assert (await queue.count(by="status"))["dead"] == 3
    await engine.dispose()
