"""Tasks in the tests of an application: noted, or run at once, without a database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Move, Retry, TaskOutcome, Tasks, aio, current, fixed, limited
from duerow.errors import CodecError, InvalidOutcome, TaskFailed, TimedOut
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


def test_a_call_in_a_trial_is_an_attempt_that_can_report_its_progress() -> None:
    tasks = Tasks(results=HOUR)
    told: list[Any] = []

    def work(part: int) -> None:
        attempt = current()
        assert attempt is not None
        attempt.progress(0.5, f"part {part}")
        told.append(attempt.message)

    @tasks.task(priority=3)
    def plain(part: int) -> None:
        work(part)

    @tasks.task
    async def awaited(part: int) -> None:
        work(part)

    with tasks.trial(run=True):
        handles = [plain.options(key="a", headers={"by": "me"}).push(1), awaited.push(2)]
    assert [(said.fraction, said.text) for one in handles if (said := one.progress())] == [
        (0.5, "part 1"),
        (0.5, "part 2"),
    ]
    assert [(one.id, one.queue, one.key, one.attempts, one.priority) for one in told] == [
        (1, "tasks", "a", 1, 3),
        (2, "tasks", None, 1, 0),
    ]
    assert (told[0].payload, told[0].headers) == (TaskCall("plain", {"part": 1}), {"by": "me"})
    assert current() is None
    with tasks.trial():
        assert plain.push(3).progress() is None


def test_a_call_in_a_trial_ends_its_turn_as_in_a_worker() -> None:
    tasks = Tasks(results=HOUR, retry=limited(3, fixed(HOUR)))
    add = declared(tasks)
    ran: list[str] = []

    @tasks.task
    def choose(way: str) -> Any:
        ran.append(way)
        ways: dict[str, Any] = {
            "bury": Bury("enough"),
            "commit": Commit(then=(add.draft(1), Draft("hi", queue="mail"))),
            "move": Move("elsewhere"),
            "twice": Retry(HOUR) if ran.count("twice") < 2 else "second",
            "for ever": Retry(HOUR),
            "mistake": Bury,
        }
        if way == "raise":
            raise Bury("raised")
        return ways[way]

    with tasks.trial(run=True) as pushed:
        states = [choose.push(way).state() for way in ("bury", "raise", "twice", "for ever", "move", "commit")]
        with pytest.raises(InvalidOutcome):
            choose.push("mistake")
    assert [(one.status, one.attempts, one.value, one.error and one.error.message) for one in states] == [
        ("failed", 1, None, "enough"),
        ("failed", 1, None, "raised"),
        ("done", 2, "second", None),
        ("failed", 3, None, "Retry: the handler asked for a retry after 1:00:00"),
        ("unknown", 1, None, None),
        ("done", 1, None, None),
    ]
    assert pushed.calls[-2] == TaskCall("add", {"a": 1})
    assert [draft.payload for draft in pushed.drafts if draft.queue == "mail"] == ["hi"]


def test_the_callback_of_a_batch_in_a_trial_gets_values_as_json_and_may_report_progress() -> None:
    tasks = Tasks(results=HOUR)
    told: list[Any] = []

    @tasks.task
    def price(amount: str) -> Decimal:
        return Decimal(amount)

    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None:
        attempt = current()
        assert attempt is not None
        attempt.progress(1)
        told.extend(one.value for one in outcomes)

    with tasks.trial(run=True):
        batch = tasks.push_batch([price.draft("1.50")], report)
    assert (told, batch.handles[0].result()) == (["1.50"], Decimal("1.50"))


def test_a_trial_is_there_on_the_awaited_face_too() -> None:
    async def main() -> int:
        tasks = aio.Tasks(results=HOUR)
        add = declared(tasks)
        with tasks.trial(run=True):
            result: int = await (await add.push(1, b=5)).result()
            return result

    assert asyncio.run(main()) == 6
