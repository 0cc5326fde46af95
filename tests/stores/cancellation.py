"""A cancelled call of the awaited face loses nothing unless it was committed. Taken in by each SQL store."""

import asyncio
import logging
from typing import Any

import pytest

from duerow import Draft, aio
from duerow.stores.sql.connections.aio.raw import Raw
from duerow.testing.conformance.fixtures import Place


class Cancelling:
    """Cancels the task that carries out the n-th step of a transaction, while it is carried out or right after it.

    Args:
        monkeypatch: watches the steps.
        during: whether the step itself is interrupted.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, during: bool) -> None:
        self.during, self.at, self.steps = during, -1, 0
        self.committed: list[asyncio.Task[Any] | None] = []
        carry_out, commit = Raw.__call__, Raw.commit

        async def watched(raw: Raw, step: Any) -> Any:
            return await self._carried_out(carry_out(raw, step))

        async def watched_commit(raw: Raw) -> None:
            await self._carried_out(commit(raw), during=False)
            self.committed.append(asyncio.current_task())

        monkeypatch.setattr(Raw, "__call__", watched)
        monkeypatch.setattr(Raw, "commit", watched_commit)

    async def _carried_out(self, step: Any, during: bool = True) -> Any:
        ours = self.steps == self.at
        self.steps += 1
        task = asyncio.current_task()
        assert task is not None
        if ours and during and self.during:
            asyncio.get_running_loop().call_soon(task.cancel)
        answer = await step
        if ours and not self.during:
            asyncio.get_running_loop().call_soon(task.cancel)  # comes in at the next wait, if there is one
        return answer


@pytest.mark.parametrize("during", [True, False], ids=["during a step", "after a step"])
def test_a_pop_that_is_cancelled_takes_nothing_unless_it_was_committed(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, during: bool
) -> None:
    caplog.set_level(logging.ERROR)

    async def cancel_at_each_step() -> None:
        async with await aio.connect(place.url, migrate=True, **place.settings) as db:
            queue = db.queue("mail")
            await queue.push_many([Draft(number) for number in range(30)])
            cancelling = Cancelling(monkeypatch, during)
            cancelled, taken = 0, set()
            for at in range(10):
                cancelling.at, cancelling.steps = at, 0
                popping = asyncio.create_task(queue.pop())
                await asyncio.wait([popping])
                cancelling.at = -1
                assert popping.cancelled() == (popping not in cancelling.committed)
                if popping.cancelled():
                    cancelled += 1
                elif (message := popping.result()) is not None:
                    taken.add(message.payload)
                if cancelling.steps <= at:  # all have had their turn
                    break
            assert cancelled >= 2  # BEGIN and what is in it
            assert {message.payload for message in await queue.find(limit=100)} == set(range(30)) - taken
            assert len(taken) >= 1

    asyncio.run(cancel_at_each_step())
    assert caplog.records == []
