"""A disk that is full: pushes fail as when the server is away, and nothing is lost or half done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from duerow import Queue, aio
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.torture import Options, disks, tables, torture
from duerow.testing.torture.environment import MAIL, Setting, queues
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.producer import LEASE

LARGE = "x" * 100_000


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    setting = Setting(f"sqlite:///{tmp_path}/spare.db", {"prefix": tables.prefix_of(7)})
    tables.create(setting)
    return setting


@pytest.fixture
def full(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The disk of this process is full, for connections from now on."""
    listening: list[Any] = []
    listens_for = event.listens_for

    def noted(target: Any, name: str) -> Any:
        def keep(function: Any) -> Any:
            listening.append((target, name, function))
            return listens_for(target, name)(function)

        return keep

    monkeypatch.setattr(event, "listens_for", noted)
    disks.be_full()
    monkeypatch.undo()
    yield
    for target, name, function in listening:
        if target is Engine:
            event.remove(target, name, function)


def test_a_push_for_which_there_is_no_space_changes_nothing(setting: Setting, full: None):
    with setting.open() as database, pytest.raises(StoreUnavailable):
        queues(database, LEASE)[MAIL].push(LARGE)
    assert tables.Reader(setting).rows() == []


def test_a_push_for_which_there_is_no_space_changes_nothing_in_async_code(setting: Setting, full: None):
    async def push() -> None:
        async with await aio.connect(setting.url, **setting.all_settings) as database:
            with pytest.raises(StoreUnavailable):
                await database.queue(MAIL).push(LARGE)

    asyncio.run(push())
    assert tables.Reader(setting).rows() == []


def test_a_message_is_still_handed_out_and_settled(setting: Setting, request: pytest.FixtureRequest):
    with setting.open() as database:
        queues(database, LEASE)[MAIL].push(1)
    request.getfixturevalue("full")
    with setting.open() as database:
        queue = queues(database, LEASE)[MAIL]
        reservation = queue.reserve()
        assert reservation is not None
        reservation.commit()
        assert queue.pop() is None


def push_with_a_row(setting: Setting, ledger: Ledger, queue: Queue[Any]) -> None:
    with setting.transaction() as opened:
        ledger.write(Line("attempted", "1.1", MAIL), within=opened)
        queue.push(LARGE, within=opened)


def test_a_transaction_of_the_application_writes_its_rows_and_the_message_or_neither(setting: Setting, full: None):
    ledger = Ledger(setting)
    with setting.open() as database:
        queue = queues(database, LEASE)[MAIL]
        with pytest.raises(StoreUnavailable):
            push_with_a_row(setting, ledger, queue)
    assert ledger.lines() == []
    assert tables.Reader(setting).rows() == []


def test_the_disk_of_a_server_is_not_this_machines():
    with pytest.raises(ConfigurationError, match="SQLite"):
        torture("postgresql://127.0.0.1:1/spare", Options(kills=0, full_disk=True))
