"""A caller's transaction is joined or refused as promised."""

import asyncio
import sys
from typing import Any

import aiosqlite
import pytest

import duerow.aio
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place
from tests.stores.callers_transactions import *  # noqa: F403 - the tests of all SQL stores

MODES: list[dict[str, Any]] = [{"isolation_level": None}]
if sys.version_info >= (3, 12):
    MODES += [{"autocommit": True}]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_awaited_connection_of_a_mode_without_transactions_is_refused(place: Place, mode: dict[str, Any]) -> None:
    async def main() -> None:
        file = place.url.removeprefix("sqlite:///")
        async with await duerow.aio.connect(place.url, migrate=True) as db, aiosqlite.connect(file, **mode) as own:
            with pytest.raises(ConfigurationError, match="is in autocommit mode"):
                await db.queue("mail").push("a", within=own)
            assert await db.queue("mail").count() == 0

    asyncio.run(main())
