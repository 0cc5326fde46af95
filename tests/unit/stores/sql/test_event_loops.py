"""What belongs to an event loop goes with it, even if something keeps the loop alive."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from duerow.stores.sql.connections.event_loops import EngineOfLoop, HandOfLoop


@pytest.fixture
def loops() -> list[asyncio.AbstractEventLoop]:
    return [asyncio.new_event_loop() for _ in range(4)]


def test_connections_at_hand_of_a_closed_loop_are_dropped(loops: list[asyncio.AbstractEventLoop]) -> None:
    hands = HandOfLoop()

    async def here() -> object:
        return hands.here()

    for loop in loops:
        loop.run_until_complete(here())
        loop.close()
    assert len(hands.forget()) == 1  # the last loop's


def test_the_engine_of_a_closed_loop_is_dropped(loops: list[asyncio.AbstractEventLoop]) -> None:
    engines = EngineOfLoop(create_async_engine("sqlite+aiosqlite://"))

    async def here() -> object:
        return engines.here()

    for loop in loops:
        loop.run_until_complete(here())
        loop.close()
    assert len(engines.forget(own=False)) == 1  # the last loop's; the first loop has the engine itself
