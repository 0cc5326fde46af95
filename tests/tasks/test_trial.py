"""Tasks in the tests of an application: noted, or run at once, without a database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from duerow import TaskOutcome, Tasks, aio
from duerow.errors import CodecError, TaskFailed, TimedOut
from duerow.tasks.call import TaskCall

HOUR = timedelta(hours=1)


def declared(tasks: Any) -> Any:
    @tasks.task(key="sum-{a}")
    def add(a: int, b: int = 2) -> int:
        if a < 0:
            raise ValueError("below zero")
        return a + b

    return add


def test_what_is_pushed_in_a_trial_is_noted_and_checked_but_not_run() -> None:
    tasks = Tasks(results=HOUR)
    add = declared(tasks)
    with tasks.trial() as pushed:
        handle = add.after(HOUR).push(1)
        with pytest.raises(CodecError):
            add.push("one")
    assert pushed.calls == [TaskCall("add", {"a": 1})]
    assert [(draft.key, draft.delay) for draft in pushed.drafts] == [("sum-1", HOUR)]
    assert (handle.status(), handle.cancel()) == ("waiting", True)
    with pytest.raises(TimedOut):
        handle.result()


def test_what_is_pushed_in_a_trial_that_runs_has_its_result_at_once() -> None:
    tasks = Tasks(results=HOUR)
    add = declared(tasks)
    told: list[list[str]] = []

    @tasks.task
    async def shout(text: str) -> str:
        return text.upper()

    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None:
        told.append([one.status for one in outcomes])

    with tasks.trial(run=True):
        assert (add.push(1).result(), shout.push("hi").result()) == (3, "HI")
        with pytest.raises(ValueError, match="below zero"):
            add.push(-1)
        batch = tasks.push_batch([add.draft(1), add.draft(-1)], report)
    assert told == [["done", "failed"]]
    with pytest.raises(TaskFailed, match="below zero"):
        batch.handles[1].result()


def test_a_trial_is_there_on_the_awaited_face_too() -> None:
    async def main() -> int:
        tasks = aio.Tasks(results=HOUR)
        add = declared(tasks)
        with tasks.trial(run=True):
            result: int = await (await add.push(1, b=5)).result()
            return result

    assert asyncio.run(main()) == 6
