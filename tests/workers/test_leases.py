"""What is in hand stays in hand: leases are extended whatever handlers do, and a lost one is told."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy.ext.asyncio import create_async_engine

import duerow
from duerow import Message, aio
from duerow.errors import LeaseLost
from duerow.testing.worker_harness import Gate, eventually
from duerow.worker.attempt import Attempt

SHORT = timedelta(milliseconds=300)


def test_an_engine_whose_driver_belongs_to_one_loop_keeps_its_leases_too(postgresql_url: str) -> None:
    url = postgresql_url.replace("postgresql:", "postgresql+asyncpg:")
    seen: list[int] = []

    async def work() -> int:
        engine = create_async_engine(url)
        async with await aio.connect(engine, migrate=True, prefix="asyncpg_") as db:
            queue = db.queue("mail")
            pushed = await queue.push("hello")

            async def handle(message: Message) -> None:
                seen.append(message.attempts)
                with duerow.connect(postgresql_url, prefix="asyncpg_") as other:
                    ends: set[object] = set()

                    def extended_often() -> bool:
                        ends.add(other.queue("mail").get(pushed.id).leased_until)  # type: ignore[union-attr]
                        return len(ends) > 4

                    eventually(extended_often)  # blocks the loop of the worker

            await aio.Worker(queue, handle, lease=SHORT).run("empty")
            left: int = await queue.count()
        await engine.dispose()
        return left

    assert asyncio.run(work()) == 0
    assert seen == [1]


def test_what_is_to_be_told_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    attempt = Attempt(SimpleNamespace(sealed=None), 0.0, 0.0)  # type: ignore[arg-type]
    told = Gate()
    attempt.when_over(lambda error: 1 // 0)  # type: ignore[arg-type]
    attempt.when_over(lambda error: told.open())
    attempt.tell(LeaseLost(7))
    told.block()
    assert [record for record in caplog.records if record.exc_info]


def test_an_attempt_can_be_waited_with() -> None:
    attempt = Attempt(None, 0.0, 0.0)  # type: ignore[arg-type]
    assert not attempt.wait(0)
    attempt.tell(LeaseLost(7))
    assert attempt.wait(60)
    attempt.tell(ValueError("too late"))
    assert isinstance(attempt.error, LeaseLost)
