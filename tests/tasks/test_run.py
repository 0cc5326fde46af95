"""Tasks while they run: how they are cancelled, how far they are, and what a caller's transaction undoes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest

import duerow
from duerow import Bury, aio, current, fixed, limited
from duerow.errors import ConfigurationError, MessageGone, TaskCancelled, TaskFailed
from duerow.testing.clock import MovableClock
from duerow.testing.worker_harness import PATIENCE, eventually

NOW = timedelta(0)
TERMS = {"lease": timedelta(minutes=1), "heartbeat": timedelta(milliseconds=5)}


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/tasks.db"


def test_an_async_task_that_is_cancelled_gets_a_cancellation_and_is_not_tried_again(tmp_path: Path) -> None:
    ended: list[str] = []

    async def main() -> None:
        async with await aio.connect(url_of(tmp_path), migrate=True) as db:
            tasks = aio.Tasks(db, results=timedelta(hours=1))

            @tasks.task
            async def wait() -> None:
                attempt = current()
                assert attempt is not None
                attempt.progress(0.5)
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    ended.append(type(attempt.error).__name__)
                    raise

            handle = await wait.push()
            worker = tasks.worker(**TERMS)
            running = asyncio.create_task(worker.run("idle", signals=False))
            while (said := await handle.progress()) is None:  # noqa: ASYNC110 - another process would poll too
                await asyncio.sleep(0.002)
            assert (said.fraction, await handle.status()) == (0.5, "running")
            assert await handle.cancel()
            with pytest.raises(TaskCancelled):
                await handle.result(NOW)
            await running

    asyncio.run(main())
    assert ended == [MessageGone.__name__]


def test_an_async_task_in_a_blocking_worker_is_cancelled_too(tmp_path: Path) -> None:
    ended = threading.Event()
    with duerow.connect(url_of(tmp_path), migrate=True) as db:
        tasks = duerow.Tasks(db, results=timedelta(hours=1))

        @tasks.task
        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        handle = wait.push()
        worker = tasks.worker(**TERMS)
        running = threading.Thread(target=worker.run, args=("idle",), daemon=True)
        running.start()
        eventually(lambda: handle.status() == "running")
        assert handle.cancel()
        assert ended.wait(PATIENCE)
        running.join(PATIENCE)
        assert (running.is_alive(), handle.status()) == (False, "cancelled")


def test_each_async_task_in_a_blocking_worker_knows_its_own_attempt() -> None:
    with duerow.connect("memory://") as db:
        tasks = duerow.Tasks(db, results=timedelta(hours=1))

        @tasks.task
        async def told() -> int:
            attempt = current()
            assert attempt is not None
            return attempt.message.id

        handles = [told.push() for _ in range(3)]
        tasks.worker().run("idle", signals=False)
        assert [one.result(NOW) for one in handles] == [one.id for one in handles]


def test_a_batch_whose_callback_a_worker_does_not_know_waits_for_one_that_does(tmp_path: Path) -> None:
    told: list[int] = []
    clock = MovableClock()
    with duerow.connect(url_of(tmp_path), migrate=True, clock=clock) as db:
        older, newer = duerow.Tasks(db), duerow.Tasks(db)

        def note(number: int) -> None: ...

        for tasks in (older, newer):
            tasks.task(note)

        @older.callback
        def other(outcomes: list[duerow.TaskOutcome]) -> None: ...

        @newer.callback
        def report(outcomes: list[duerow.TaskOutcome]) -> None:
            told.append(len(outcomes))

        newer.push_batch([newer.task(note).draft(1)], report)
        for _ in range(30):
            older.worker().run("idle", signals=False)
            clock.advance(timedelta(seconds=1))
        newer.worker().run("idle", signals=False)
    assert told == [1]


def test_a_call_that_is_pushed_in_a_transaction_that_is_undone_never_was(tmp_path: Path) -> None:
    with duerow.connect(url_of(tmp_path), migrate=True) as db:
        tasks = duerow.Tasks(db)

        @tasks.task
        def note(number: int) -> None: ...

        connection = sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)
        for number, end in ((1, "ROLLBACK"), (2, "COMMIT")):
            connection.execute("BEGIN")
            note.within(connection).push(number)
            connection.execute(end)
        connection.close()
        assert [one.payload.arguments for one in tasks.queue("tasks").find()] == [{"number": 2}]


def test_a_task_whose_worker_died_at_its_last_attempt_is_given_up_unrun(tmp_path: Path) -> None:
    ran: list[int] = []
    with duerow.connect("memory://", migrate=True) as db:
        tasks = duerow.Tasks(db, results=timedelta(hours=1), retry=limited(1, fixed(NOW)))

        @tasks.task
        def note(number: int) -> None:
            ran.append(number)

        handle = note.push(1)
        lost = tasks.queue("tasks").reserve(lease=timedelta(milliseconds=1))
        assert lost is not None
        eventually(lambda: tasks.queue("tasks").stats().ready)
        tasks.worker().run("idle", signals=False)
        assert ran == []
        with pytest.raises(TaskFailed, match="attempt 1 of 1"):
            handle.result(NOW)


def test_a_result_that_json_cannot_carry_is_not_tried_again(tmp_path: Path) -> None:
    ran: list[int] = []
    with duerow.connect("memory://", migrate=True) as db:
        tasks = duerow.Tasks(db, results=timedelta(hours=1))

        @tasks.task
        def odd(number: int) -> int:
            ran.append(number)
            return "odd"  # type: ignore[return-value]

        @tasks.task(results=None, name="quiet")
        def quiet() -> object:
            return Bury("no")

        handle = odd.push(1)
        tasks.worker().run("idle", signals=False)
        with pytest.raises(TaskFailed, match="the result of task 'odd'"):
            handle.result(NOW)
        assert ran == [1]


def test_a_task_that_keeps_no_results_says_so() -> None:
    with duerow.connect("memory://", migrate=True) as db:
        tasks = duerow.Tasks(db)

        @tasks.task
        def note() -> int:
            return 1

        handle = note.push()
        with pytest.raises(ConfigurationError, match="keeps no results"):
            handle.result(NOW)
        tasks.worker().run("idle", signals=False)
        assert (handle.status(), db.queues()) == ("unknown", [])
