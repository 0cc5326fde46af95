"""Who has the signals that ask a process to end while workers run, and afterwards."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import duerow
from duerow import Message, aio
from duerow.errors import ConfigurationError
from duerow.testing.worker_harness import PATIENCE
from duerow.worker.signals import stopped_by
from tests.processes import running_program

SIGNALS = (signal.SIGTERM, signal.SIGINT)
PAGE = Path(__file__).parents[2] / "docs/how-to/workers.md"


def now() -> list[Any]:
    """What handles the signals at this moment."""
    return [signal.getsignal(number) for number in SIGNALS]


def mine(number: int, frame: FrameType | None) -> None:
    """A handler of the program's own."""


async def seen_in_a_run(how: Callable[[aio.Worker], Awaitable[None]]) -> list[Any]:
    """Return what handles the signals while a handler runs."""
    seen: list[Any] = []

    async def note(message: Message) -> None:
        seen.extend(now())

    async with await aio.connect("memory://") as db:
        await db.queue("mail").push(1)
        await how(aio.Worker(db.queue("mail"), note))
    return seen


def test_a_worker_in_a_task_beside_others_leaves_the_signals_alone() -> None:
    async def main() -> None:
        before = now()
        seen = await seen_in_a_run(lambda worker: asyncio.create_task(worker.run("idle")))
        assert seen == before == now()

    asyncio.run(main())


def test_a_worker_awaited_by_the_program_takes_the_signals_and_gives_them_back() -> None:
    async def main() -> None:
        before = now()
        seen = await seen_in_a_run(lambda worker: worker.run("idle"))
        assert not set(seen) & set(before)
        assert now() == before

    asyncio.run(main())


def test_a_worker_of_a_program_in_the_background_where_ctrl_c_is_ignored_takes_the_other_signal() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen = asyncio.run(seen_in_a_run(lambda worker: worker.run("idle")))
    assert seen[0] is not signal.SIG_DFL
    assert seen[1] is signal.SIG_IGN


def test_a_worker_awaited_by_the_program_leaves_alone_what_another_one_handles() -> None:
    async def main() -> None:
        signal.signal(signal.SIGTERM, mine)
        seen = await seen_in_a_run(lambda worker: worker.run("idle"))
        assert seen[0] is mine
        assert signal.getsignal(signal.SIGTERM) is mine

    asyncio.run(main())


@pytest.mark.parametrize("number", SIGNALS)
def test_workers_in_tasks_that_ask_for_the_signals_are_all_stopped_by_one(number: signal.Signals) -> None:
    async def main() -> None:
        async with await aio.connect("memory://") as db:
            begun = asyncio.Barrier(3)

            async def handle(message: Message) -> None:
                await begun.wait()

            async with asyncio.TaskGroup() as tasks:
                for name in ("mail", "orders"):
                    await db.queue(name).push(1)
                    tasks.create_task(aio.Worker(db.queue(name), handle).run(signals=True))
                await begun.wait()
                signal.raise_signal(number)

    asyncio.run(main())


def test_a_handler_that_is_set_while_a_worker_runs_stays() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with stopped_by(SIGNALS, lambda: None):
        signal.signal(signal.SIGTERM, mine)
    assert signal.getsignal(signal.SIGTERM) is mine
    assert signal.getsignal(signal.SIGINT) is not mine


def test_a_signal_that_is_given_back_after_the_run_goes_to_who_had_it_before() -> None:
    came: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    with duerow.connect("memory://") as db:
        worker = duerow.Worker(db.queue("mail"), lambda message: None)
        taken: list[Any] = []

        def take(message: Message) -> None:
            taken.append(signal.getsignal(signal.SIGTERM))

        db.queue("mail").push(1)
        duerow.Worker(db.queue("mail"), take).run("idle")
        worker.run("idle")
    signal.signal(signal.SIGTERM, taken[0])  # as a server does that had it meanwhile
    signal.raise_signal(signal.SIGTERM)
    assert came == [signal.SIGTERM]


def test_a_worker_that_is_told_to_takes_no_signals() -> None:
    before, seen = now(), []
    with duerow.connect("memory://") as db:
        db.queue("mail").push(1)
        duerow.Worker(db.queue("mail"), lambda message: seen.extend(now())).run("idle", signals=False)
    assert seen == before


def test_signals_cannot_be_asked_for_in_another_thread() -> None:
    errors: list[str] = []

    def work() -> None:
        with duerow.connect("memory://") as db:
            try:
                duerow.Worker(db.queue("mail"), lambda message: None).run("idle", signals=True)
            except ConfigurationError as error:
                errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert "main thread" in errors[0]


def test_what_signals_cannot_be_is_refused() -> None:
    with duerow.connect("memory://") as db, pytest.raises(ConfigurationError, match="signals is True, False or None"):
        duerow.Worker(db.queue("mail"), lambda message: None).run("idle", signals="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_worker_in_fastapis_lifespan_lets_uvicorn_stop_and_stops_with_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "web.py").write_text(example("web.py"))
    served = ["web:app", "--port", "0", "--host", "127.0.0.1", "--no-access-log"]
    with running_program("uvicorn", served, tmp_path) as server:
        lines = iter(server.stderr.readline, "")
        address = next(found[0] for line in lines if (found := re.findall(r"http://[\d.:]+", line)))
        urllib.request.urlopen(urllib.request.Request(f"{address}/orders", method="POST")).read()
        assert server.stdout.readline() == "to ana@example.org\n"
        server.send_signal(number)
        _, errors = server.communicate(patience=PATIENCE)
    assert "Application shutdown complete" in errors, errors
    with duerow.connect(f"sqlite:///{tmp_path}/web.db") as db:
        assert db.queue("mail").find() == []


def example(name: str) -> str:
    """Return the file of this name on the page about workers."""
    found = re.search(rf"<!-- file {re.escape(name)} -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]
