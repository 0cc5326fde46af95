"""How a worker's steps call its queue: what they ask the store for, and what they do without."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

import duerow
from duerow import aio
from duerow.aio.reservation import Reservation
from duerow.aio.several_queues import SeveralQueues
from duerow.aio.worker_steps import WorkerSteps
from duerow.errors import DuerowError, LeaseLost, MessageGone, StoreRefused, StoreUnavailable
from duerow.queue.limits import RunLimits
from duerow.retry import DEFAULT
from duerow.store.consumer_id import consumer_name, own_version
from duerow.worker.attempt import Attempt
from duerow.worker.cancellation import FindLost
from duerow.worker.fetcher import NextDue
from duerow.worker.lease_keeper import Extend, WriteProgress
from duerow.worker.maintenance import Present, ReadLimits
from duerow.worker.run import Options, Run


@dataclass
class Parcel:
    """A declared payload."""

    grams: int


@pytest_asyncio.fixture
async def database() -> AsyncIterator[aio.Database]:
    async with await duerow.aio.connect("memory://") as opened:
        yield opened


def steps(queue: aio.Queue[Any] | SeveralQueues) -> WorkerSteps:
    """Return the steps of a worker called Anna."""
    options = Options(
        batch=10,
        concurrency=1,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
    )
    return WorkerSteps(Run("mail", options, None), queue)


async def held(queue: aio.Queue[Any], count: int) -> list[Reservation]:
    """Push so many messages, and reserve them."""
    await queue.push_many(duerow.Draft(number) for number in range(count))
    return await queue.reserve_many(count)


def noted(calls: list[tuple[Any, ...]]) -> Callable[..., Iterator[None]]:
    """Return a plan that notes its arguments and does nothing else."""

    def plan(*values: Any) -> Iterator[None]:
        calls.append(values)
        yield from ()

    return plan


@pytest.mark.parametrize(("step", "name"), [(Extend, "_extend"), (FindLost, "_find_lost")])
async def test_a_message_that_was_removed_is_gone_and_one_that_was_taken_over_is_lost(
    database: aio.Database, step: Any, name: str
) -> None:
    queue = database.queue("mail")
    ours, removed, changed, *_ = await held(queue, 6)  # the last ones are nobody's business
    await queue.remove(removed.message.id, even_if_leased=True)
    await queue.release(changed)
    refused = await getattr(steps(queue), name)(step([ours, removed, changed]))
    assert {one.receipt: type(one.error) for one in refused} == {
        removed.receipt: MessageGone,
        changed.receipt: LeaseLost,
    }


async def test_no_message_is_lost_while_all_leases_last(database: aio.Database) -> None:
    queue = database.queue("mail")
    reservations = await held(queue, 2)
    assert await steps(queue)._extend(Extend(reservations)) == []
    assert await steps(queue)._find_lost(FindLost(reservations)) == []


async def test_the_latest_progress_of_a_handler_replaces_the_one_before(database: aio.Database) -> None:
    queue = database.queue("mail")
    [reservation] = await held(queue, 1)
    attempt = Attempt(reservation, 0.0, 0.0)
    for fraction in (0.1, 0.7):
        attempt.progress(fraction)
        await steps(queue)._write_progress(WriteProgress([attempt]))
    found = await queue.progress(reservation.message.id)
    assert found is not None
    assert found.fraction == 0.7
    assert "mail/progress" in database.expiring


async def test_progress_that_one_queue_refuses_is_logged_and_that_of_others_is_written(
    database: aio.Database, caplog: pytest.LogCaptureFixture
) -> None:
    mail, orders = database.queue("mail"), database.queue("orders")
    attempts = [Attempt(one, 0.0, 0.0) for one in (*await held(mail, 1), *await held(orders, 1))]
    for attempt in attempts:
        attempt.progress(0.5)
    await database.queue("mail/progress").drain()
    await steps(mail)._write_progress(WriteProgress(attempts))
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("the progress of mail cannot be written: ")
    assert await orders.progress(attempts[1].message.id) is not None
    assert "mail/progress" not in database.expiring


async def test_limits_that_may_not_be_read_stay_as_they_were_and_the_log_says_so_once(
    database: aio.Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: DuerowError = StoreRefused("it may not be read")

    async def limits() -> RunLimits:
        raise refused

    queue = database.queue("mail")
    monkeypatch.setattr(queue, "limits", limits)
    its = steps(queue)
    its._run.limits = RunLimits(concurrency=3)
    for _ in range(2):
        assert await its._read_limits(ReadLimits()) == RunLimits(concurrency=3)
    [said] = [record.getMessage() for record in caplog.records]
    assert said == f"limits set by operators do not apply: {refused}"
    refused = StoreUnavailable("it is away")
    with pytest.raises(StoreUnavailable):
        await its._read_limits(ReadLimits())


async def test_a_worker_reports_its_queues_and_its_version_under_its_name(
    database: aio.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(database.store.metadata, "note_consumer", noted(calls))
    await steps(database.queue("mail"))._present(Present())
    [(name, queues, _, version)] = calls
    assert (name, queues, version) == (consumer_name("anna"), ("mail",), own_version())


async def test_a_worker_on_queues_with_different_kinds_reports_each_of_them_under_its_name_and_theirs(
    database: aio.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(database.store.metadata, "note_consumer", noted(calls))
    queues = SeveralQueues([database.queue("mail"), database.queue("parcels", payload=Parcel)], mixed=False)
    await steps(queues)._present(Present())
    name = consumer_name("anna")
    assert [(one[0], one[1]) for one in calls] == [(f"{name}/mail", ("mail",)), (f"{name}/parcels", ("parcels",))]


async def test_a_sleeping_worker_asks_when_a_message_of_its_kinds_is_due(
    database: aio.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    queue = database.queue("mail")
    monkeypatch.setattr(queue, "_only", ("json",))
    monkeypatch.setattr(database.store.messages, "next_due", noted(calls))
    await steps(queue)._next_due(NextDue(timedelta(seconds=2), exact=True))
    assert [one[1:] for one in calls] == [(timedelta(seconds=2), {"mail": ("json",)}, True)]
