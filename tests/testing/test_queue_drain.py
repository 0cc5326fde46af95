"""What `drain` and `adrain` do with messages is what a worker would do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import aio
from duerow.errors import ConfigurationError, InvalidMessage, InvalidOutcome, LeaseLost
from duerow.testing import adrain, assert_pushed, drain, like
from duerow.testing.clock import MovableClock, minutes, seconds


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(clock: MovableClock) -> Iterator[duerow.Database]:
    with duerow.connect("memory://", clock=clock) as database:
        yield database


def fail(message: duerow.Message) -> None:
    raise ConnectionError("no line")


def test_all_that_is_due_is_handled_in_order_and_what_handlers_push_as_well(db: duerow.Database):
    orders, mails = db.queue("orders"), db.queue("mails")
    orders.push_many([duerow.Draft("a"), duerow.Draft("b"), duerow.Draft("later", delay=minutes(1))])
    handled = drain({orders: lambda message: mails.push(f"mail {message.payload}"), mails: lambda message: None})
    assert [turn.message for turn in handled] == [
        like("a", queue="orders"),
        like("mail a", queue="mails"),
        like("b", queue="orders"),
        like("mail b", queue="mails"),
    ]
    assert {turn.ending for turn in handled} == {"done"}
    assert [message.payload for message in orders.find()] == ["later"]


def test_with_the_clock_delays_and_retries_pass_until_nothing_is_left(db: duerow.Database, clock: MovableClock):
    queue = db.queue("mails", retry=duerow.limited(3, duerow.fixed(minutes(10))))
    queue.push("x", delay=timedelta(days=7))
    begun = clock.now()
    handled = drain({queue: fail}, clock=clock)
    assert [(turn.message.attempts, turn.ending) for turn in handled] == [(1, "failed"), (2, "failed"), (3, "dead")]
    assert [str(turn.error) for turn in handled] == ["no line"] * 3
    assert clock.now() - begun == timedelta(days=7, minutes=20)
    assert queue.count("dead") == 1


def test_without_the_clock_what_failed_waits(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")
    assert [turn.ending for turn in drain({queue: fail})] == ["failed"]
    assert drain({queue: fail}) == []
    assert queue.count("error") == 1


def test_settlements_are_carried_out_and_told(db: duerow.Database):
    queue = db.queue("mails")
    wishes: dict[str, Any] = {
        "done": duerow.Commit(),
        "moved": duerow.Move("sent"),
        "dead": duerow.Bury("no use"),
        "failed": duerow.Retry(seconds(5)),
    }
    queue.push_many([duerow.Draft(name) for name in wishes])
    handled = drain({queue: lambda message: wishes[message.payload]})
    assert [turn.ending for turn in handled] == list(wishes)
    assert_pushed(db.queue("sent"), like("moved"))


def test_what_cannot_be_carried_out_is_a_failed_attempt(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")
    [turn] = drain({queue: lambda message: duerow.Move("no such name!")})
    assert turn.ending == "failed"
    assert isinstance(turn.error, InvalidMessage)


def test_a_message_that_was_taken_from_its_handler_is_lost(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x", key="m-1")

    def replace(message: duerow.Message) -> None:
        if message.payload == "x":
            queue.push("y", key="m-1", on_duplicate="replace")

    first, second = drain({queue: replace})
    assert (first.ending, second.ending) == ("lost", "done")
    assert isinstance(first.error, LeaseLost)


def test_what_a_handler_raises_is_raised_if_asked_for_when_its_turn_has_ended(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")
    with pytest.raises(ConnectionError, match="no line"):
        drain({queue: fail}, raising=True)
    assert queue.count("error") == 1


def test_wishes_of_a_handler_are_not_raised(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")

    def bury(message: duerow.Message) -> None:
        raise duerow.Bury("no use")

    assert [turn.ending for turn in drain({queue: bury}, raising=True)] == ["dead"]


def test_a_handler_may_ask_for_its_attempt(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")
    seen = []
    drain({queue: lambda message: seen.append(duerow.current())})
    assert seen[0] is not None
    assert seen[0].message.payload == "x"
    assert duerow.current() is None


def test_messages_that_go_round_for_ever_are_found_out_and_given_back(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")
    with pytest.raises(AssertionError, match=r"after 10 turns message .* of 'mails' is still due"):
        drain({queue: lambda message: duerow.Move("mails")}, limit=10)
    assert [(message.status, message.attempts) for message in queue.peek()] == [("new", 0)]


@pytest.mark.parametrize("clock", [MovableClock(), None], ids=["another clock", "the host's"])
def test_a_clock_that_is_not_that_of_the_queues_is_found_out(clock: MovableClock | None):
    queue = duerow.connect("memory://", clock=clock).queue("mails")
    queue.push("x", delay=minutes(1))
    other = MovableClock()
    with pytest.raises(ConfigurationError, match="have another clock"):
        drain({queue: fail}, clock=other)


def test_wrong_calls_are_told_before_anything_is_handled(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")

    async def handler(message: duerow.Message) -> None:
        raise AssertionError

    wrong: list[tuple[Any, str]] = [
        (queue, "for each queue"),
        ({"mails": fail}, "queues of duerow"),
        ({queue: handler}, "async function"),
        ({queue: None}, "cannot be called"),
    ]
    for handlers, says in wrong:
        with pytest.raises(ConfigurationError, match=says):
            drain(handlers)
    with pytest.raises(ConfigurationError, match="queues of duerow"):
        asyncio.run(adrain({queue: handler}))  # type: ignore[dict-item]
    with pytest.raises(ConfigurationError, match="limit"):
        drain({queue: fail}, limit=0)
    assert [message.attempts for message in queue.find()] == [0]


def test_a_handler_that_turns_out_to_be_a_coroutine_has_failed(db: duerow.Database):
    queue = db.queue("mails")
    queue.push("x")

    async def later() -> None:
        raise AssertionError

    [turn] = drain({queue: lambda message: later()})
    assert isinstance(turn.error, InvalidOutcome)


async def test_coroutines_are_awaited_and_plain_functions_called(clock: MovableClock):
    async with await aio.connect("memory://", clock=clock) as db:
        orders = db.queue("orders", retry=duerow.limited(2, duerow.fixed(minutes(10))))
        mails = db.queue("mails")
        await orders.push("a")
        seen = []

        async def order(message: duerow.Message) -> None:
            await asyncio.sleep(0)
            if message.attempts == 1:
                raise ConnectionError("no line")
            assert duerow.current() is not None
            await mails.push("mail")

        handled = await adrain({orders: order, mails: lambda message: seen.append(message.payload)}, clock=clock)
        assert [turn.ending for turn in handled] == ["failed", "done", "done"]
        assert seen == ["mail"]
        assert await orders.count() == 0


def batches_of(tasks: Any, told: list[Any]) -> Any:
    """Declare a task in two queues, and a callback that notes the outcomes."""

    @tasks.task
    def double(number: int) -> int:
        if number == 3:
            raise duerow.Bury("no threes")
        return number * 2

    @tasks.task(queue="mail")
    def shout(text: str) -> str:
        return text.upper()

    @tasks.callback
    def report(outcomes: list[duerow.TaskOutcome]) -> None:
        told.append([one.value for one in outcomes])

    return [double.draft(2), double.draft(3), shout.draft("hi")], report


def test_the_tasks_of_an_application_are_run_and_their_batches_call_back(db: duerow.Database, clock: MovableClock):
    told: list[Any] = []
    tasks = duerow.Tasks(db, results=minutes(5))
    calls, report = batches_of(tasks, told)
    begun = clock.now()
    batch = tasks.push_batch(calls, report)
    turns = drain(tasks, clock=clock)
    assert (told, batch.handles[0].result(seconds(0)), clock.now()) == ([[4, None, "HI"]], 4, begun)
    assert {turn.message.queue for turn in turns} == {"tasks", "mail", "tasks/parts", "tasks/parts/sets"}
    tasks.push_batch(calls, report)
    mine = {tasks.queue(name): tasks.run for name in ("tasks", "mail")}
    assert len(drain(mine)) == len(turns)
    assert told == [[4, None, "HI"]] * 2


async def test_the_awaited_tasks_of_an_application_are_run_too():
    told: list[Any] = []
    async with await aio.connect("memory://") as db:
        tasks = aio.Tasks(db)
        await tasks.push_batch(*batches_of(tasks, told))
        await adrain(tasks)
    assert told == [[4, None, "HI"]]
    with pytest.raises(ConfigurationError, match=r"duerow\.aio"):
        drain(tasks)  # type: ignore[arg-type]


def test_drain_works_on_any_database(tmp_path: Any, clock: MovableClock):
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True, clock=clock) as db:
        queue = db.queue("mails")
        queue.push("x", delay=minutes(3))
        assert [turn.ending for turn in drain({queue: fail}, clock=clock, limit=50)] == ["failed"] * 19 + ["dead"]
