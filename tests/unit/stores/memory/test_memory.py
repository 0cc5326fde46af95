"""What the in-memory store decides where the contract leaves it to the store; the rest is in the conformance suite."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from duerow.errors import ConfigurationError, Conflict, DuplicateKey, LeaseLost, NotSupported
from duerow.message import Pushed
from duerow.payload.codec import decode_failure
from duerow.plan import BEGIN, Plan, arun, run
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    End,
    Entry,
    Moved,
    Query,
    Record,
    Released,
    RolledBack,
    Settings,
    Turn,
    find_backend,
)
from duerow.stores.memory import connections as ways
from duerow.stores.memory import memory
from duerow.testing.clock import MovableClock, minutes, seconds

T = TypeVar("T")


class Opened:
    """An in-memory store with a clock that stands still."""

    def __init__(self, target: str = "memory://") -> None:
        self.clock = MovableClock()
        self.store, self.connections = memory.open(target, Settings(clock=self.clock))

    def do(self, plan: Plan[T]) -> T:
        with self.connections.open() as execute:
            return run(plan, execute)

    def push(self, *entries: Entry, on_duplicate: Any = "ignore") -> list[Pushed]:
        return self.do(self.store.messages.push(entries, on_duplicate))

    def reserve(self, limit: int = 100, attempts: int | None = None, queue: str = "mail") -> list[Record]:
        return self.do(self.store.messages.reserve(queue, limit, minutes(1), attempts, "host:1:w/1")).records

    def settle(self, *turns: tuple[Record, End]) -> list[type[Exception] | None]:
        """Return for each turn the kind of its refusal, None if it was settled."""
        refused = self.do(self.store.messages.settle([Turn(receipt(record), end) for record, end in turns]))
        errors = {one.receipt: type(one.error) for one in refused}
        return [errors.get(receipt(record)) for record, _ in turns]

    def all(self, queue: str = "mail") -> list[Record]:
        return self.do(self.store.messages.find(Query(queue, by_id=True, limit=1_000_000)))


def entry(payload: str = '"hello"', key: str | None = None, queue: str = "mail", **more: Any) -> Entry:
    return Entry(queue, key, "json", payload, None, more.get("due"), more.get("delay"))


def receipt(record: Record) -> Receipt:
    return Receipt(record.id, record.token)


def moved(to: str, key: str | None = None, on_duplicate: Any = "reject") -> Moved:
    return Moved(to, None, None, key, None, None, None, on_duplicate)


@pytest.fixture
def opened() -> Opened:
    return Opened()


# Limits.


def test_a_lease_that_nobody_settled_is_recorded_when_the_message_is_handed_out_again(opened: Opened) -> None:
    opened.push(entry())
    opened.reserve()
    opened.clock.advance(minutes(1))
    (again,) = opened.reserve()
    assert (again.attempts, again.token, again.status) == (2, 2, "new")
    failure = decode_failure(again.last_error)
    assert failure is not None
    assert failure.type == "LeaseEnded"
    said = "was in hand when its worker died: lease of host:1:w/1 ended at 2026-03-01 12:01:00 UTC"
    assert failure.message == f"{said}, attempt 1 of any number"


def test_the_last_attempt_that_nobody_settled_buries_without_counting_towards_the_limit(opened: Opened) -> None:
    opened.push(entry())
    opened.reserve(attempts=1)
    opened.clock.advance(minutes(1))
    opened.push(entry('"second"'))
    reserved = opened.do(opened.store.messages.reserve("mail", 1, minutes(1), 1, "host:1:w/2"))
    assert ([record.payload for record in reserved.records], len(reserved.buried)) == (['"second"'], 1)
    buried = opened.all()[0]
    assert (buried.status, buried.due_at, buried.leased_by, buried.attempts, buried.token) == ("dead", None, None, 1, 2)
    failure = decode_failure(buried.last_error)
    assert failure is not None
    assert failure.message.endswith("attempt 1 of 1")


def test_a_message_beyond_its_limit_is_handed_out_when_its_last_turn_was_settled(opened: Opened) -> None:
    opened.push(entry())
    (record,) = opened.reserve(attempts=1)
    assert opened.settle((record, RolledBack(timedelta(0), None))) == [None]
    assert [again.attempts for again in opened.reserve(attempts=1)] == [2]


# Keys that meet.


def test_replace_is_ignored_for_equal_content_only_while_the_message_is_new(opened: Opened) -> None:
    opened.push(entry(key="k"))
    (record,) = opened.reserve()
    assert opened.push(entry(key="k"), on_duplicate="replace")[0].outcome == "ignored"
    opened.settle((record, RolledBack(minutes(1), None)))
    assert opened.push(entry(key="k"), on_duplicate="replace")[0].outcome == "updated"
    (revived,) = opened.all()
    assert (revived.status, revived.attempts, revived.token, revived.last_attempt_at) == ("new", 0, 3, None)


def test_replace_with_a_time_is_ignored_only_when_it_is_the_first_due_time(opened: Opened) -> None:
    opened.push(entry(key="k", delay=seconds(10)))
    assert opened.push(entry(key="k", delay=seconds(10)), on_duplicate="replace")[0].outcome == "ignored"
    opened.clock.advance(timedelta(microseconds=1))
    assert opened.push(entry(key="k", delay=seconds(10)), on_duplicate="replace")[0].outcome == "updated"


def test_replace_ends_the_lease_on_the_message(opened: Opened) -> None:
    opened.push(entry(key="k"))
    (record,) = opened.reserve()
    opened.push(entry('"new"', key="k"), on_duplicate="replace")
    assert opened.settle((record, Committed())) == [LeaseLost]
    assert [again.payload for again in opened.reserve()] == ['"new"']


def test_earliest_changes_the_due_time_alone_and_only_without_a_lease(opened: Opened) -> None:
    opened.push(entry(key="k", delay=minutes(5)))
    first_due = opened.all()[0].first_due_at
    assert opened.push(entry('"new"', key="k", delay=minutes(9)), on_duplicate="earliest")[0].outcome == "ignored"
    assert opened.push(entry('"new"', key="k"), on_duplicate="earliest")[0].outcome == "updated"
    (record,) = opened.reserve()
    assert (record.payload, record.due_at, record.first_due_at) == ('"hello"', opened.clock.now(), first_due)
    assert opened.push(entry(key="k"), on_duplicate="earliest")[0].outcome == "ignored"


def test_a_rejected_push_names_every_taken_key_and_writes_nothing(opened: Opened) -> None:
    opened.push(entry(key="a"))
    with pytest.raises(DuplicateKey) as refusal:
        opened.push(entry(), *(entry(key=key) for key in "abb"), on_duplicate="reject")
    assert refusal.value.keys == ("a", "b")
    assert len(opened.all()) == 1


def test_two_of_one_batch_that_share_a_key_meet_in_their_order(opened: Opened) -> None:
    answers = opened.push(*(entry(payload, key="k") for payload in ("1", "2", "2")), on_duplicate="replace")
    assert [answer.outcome for answer in answers] == ["created", "updated", "ignored"]
    assert len({answer.id for answer in answers}) == 1


# How turns end together.


def test_a_key_given_up_by_one_turn_is_free_for_another_of_the_same_call(opened: Opened) -> None:
    opened.push(entry(key="a"), entry(key="b"), entry(queue="other", key="a"), entry(queue="other", key="b"))
    a, b = opened.reserve()
    a_there, b_there = opened.reserve(queue="other")
    turns = [(a, moved("other", "a")), (b, moved("other", "b")), (a_there, Committed()), (b_there, Buried(None))]
    assert opened.settle(*turns) == [None] * 4
    assert [(record.key, record.status) for record in opened.all("other")] == [
        ("a", "new"),
        ("b", "new"),
        ("b", "dead"),
    ]


def test_a_move_conflicts_only_with_another_message(opened: Opened) -> None:
    opened.push(entry(key="a"))
    (record,) = opened.reserve()
    assert opened.settle((record, moved("mail", "a"))) == [None]


def test_a_move_whose_key_is_taken_is_refused_and_keeps_its_lease(opened: Opened) -> None:
    opened.push(entry(key="a"), entry(), entry(queue="other", key="a"))
    keyed, plain = opened.reserve()
    assert opened.settle((keyed, moved("other", "a")), (plain, moved("other"))) == [DuplicateKey, None]
    assert opened.settle((keyed, Released(opened.clock.now()))) == [None]


def test_a_move_that_gives_way_ends_and_changes_the_message_that_holds_the_key(opened: Opened) -> None:
    opened.push(entry('"moved"', key="a"), entry('"held"', queue="other", key="a"))
    (record,) = opened.reserve()
    assert opened.settle((record, moved("other", "a", "replace"))) == [None]
    assert opened.all() == []
    assert [(one.payload, one.token) for one in opened.all("other")] == [('"moved"', 1)]


def test_what_follows_a_commit_finds_the_keys_that_the_call_gave_up(opened: Opened) -> None:
    opened.push(entry(key="a"), entry())
    keyed, plain = opened.reserve()
    opened.settle((plain, Committed((entry('"after"', key="a"),))), (keyed, moved("other")))
    assert [(record.payload, record.key) for record in opened.all()] == [('"after"', "a")]


def test_what_follows_a_refused_commit_is_not_pushed(opened: Opened) -> None:
    opened.push(entry())
    (record,) = opened.reserve()
    opened.settle((record, Committed()))
    assert opened.settle((record, Committed((entry(),)))) == [LeaseLost]
    assert opened.all() == []


def test_a_receipt_given_twice_ends_one_turn(opened: Opened) -> None:
    opened.push(entry(key="a"), entry(queue="other", key="a"))
    (record,) = opened.reserve()
    turns = [Turn(receipt(record), moved("other", "a")), Turn(receipt(record), moved("other", "b"))]
    refused = opened.do(opened.store.messages.settle(turns))
    assert [type(one.error) for one in refused] == [DuplicateKey, LeaseLost]
    assert opened.settle((record, Committed())) == [None]


# Transactions.


def test_an_error_in_a_transaction_takes_back_every_step_of_it(opened: Opened) -> None:
    opened.push(entry())

    def fails_late() -> Plan[None]:
        yield BEGIN
        yield from opened.store.messages.pop("mail", 1)
        yield from opened.store.messages.push([entry(key="k")], "ignore")
        yield from opened.store.messages.push([entry(), entry(key="k")], "reject")

    with pytest.raises(DuplicateKey):
        opened.do(fails_late())
    assert [record.attempts for record in opened.all()] == [0]


def test_a_plan_that_answers_a_failing_step_keeps_the_others(opened: Opened) -> None:
    def goes_on() -> Plan[None]:
        yield BEGIN
        yield from opened.store.messages.push([entry(key="k")], "reject")
        with pytest.raises(DuplicateKey):
            yield from opened.store.messages.push([entry(), entry(key="k")], "reject")

    opened.do(goes_on())
    assert [record.key for record in opened.all()] == ["k"]


def test_another_thread_waits_for_the_end_of_a_transaction(opened: Opened) -> None:
    begun, answers = threading.Event(), []

    def look() -> None:
        begun.wait()
        answers.append(len(opened.all()))

    other = threading.Thread(target=look)
    other.start()
    with opened.connections.open() as execute:
        execute(BEGIN)
        begun.set()
        run(opened.store.messages.push([entry()], "ignore"), execute)
        assert answers == []
    other.join()
    assert answers == [1]


def test_a_transaction_that_waits_for_itself_ends_as_a_conflict(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "PATIENCE", 0.01)
    with opened.connections.open() as execute:
        execute(BEGIN)
        with pytest.raises(Conflict):
            opened.push(entry())
    assert opened.push(entry())[0].outcome == "created"


async def test_tasks_of_one_loop_wait_for_the_end_of_a_transaction() -> None:
    store, connections = memory.aopen("memory://", Settings())

    async def push_twice() -> None:
        async with connections.open() as execute:
            await execute(BEGIN)
            await arun(store.messages.push([entry()], "ignore"), execute)
            await asyncio.sleep(0)
            await arun(store.messages.push([entry()], "ignore"), execute)

    async def look() -> int:
        async with connections.open() as execute:
            return len(await arun(store.messages.find(Query("mail")), execute))

    _, seen, _ = await asyncio.gather(push_twice(), look(), push_twice())
    assert seen in (0, 2, 4)
    assert await look() == 4


async def test_a_cancelled_task_takes_back_its_transaction() -> None:
    store, connections = memory.aopen("memory://", Settings())
    pushed = asyncio.Event()

    async def push_and_wait() -> None:
        async with connections.open() as execute:
            await execute(BEGIN)
            await arun(store.messages.push([entry()], "ignore"), execute)
            pushed.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(push_and_wait())
    await pushed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with connections.open() as execute:
        assert await arun(store.messages.find(Query("mail")), execute) == []


# The switch.


CONCERNING_OTHERS: list[End] = [
    Committed((entry(),)),
    moved("other", "k", "replace"),
    moved("other", "k", "earliest"),
]


@pytest.mark.parametrize("end", CONCERNING_OTHERS)
def test_without_transactions_a_turn_that_concerns_other_messages_changes_nothing(end: End) -> None:
    opened = Opened("memory://?transactions=off")
    opened.push(entry(), entry())
    first, second = opened.reserve()
    before = opened.all()
    with pytest.raises(NotSupported):
        opened.settle((first, Committed()), (second, end))
    assert opened.all() == before


def test_without_transactions_the_turns_of_one_call_are_settled_one_by_one() -> None:
    opened = Opened("memory://?transactions=off")
    opened.push(*(entry() for _ in range(3)))
    first, second, third = opened.reserve()
    opened.settle((second, Committed()))
    assert opened.settle((first, Committed()), (second, Committed()), (third, moved("other"))) == [
        None,
        LeaseLost,
        None,
    ]


def test_without_transactions_none_can_be_begun() -> None:
    opened = Opened("memory://?transactions=off")
    with opened.connections.open() as execute, pytest.raises(NotSupported):
        execute(BEGIN)
    assert opened.push(entry())[0].outcome == "created"


# Listeners.


def test_a_listener_hears_a_push_of_another_thread_into_its_queues(opened: Opened) -> None:
    listener = opened.connections.listen(["mail"])
    opened.push(entry(queue="other"))
    assert not listener.wait(0)
    pushing = threading.Thread(target=lambda: opened.push(entry()))
    pushing.start()
    assert listener.wait(60)
    pushing.join()
    assert not listener.wait(0)


def test_a_listener_hears_only_what_was_kept(opened: Opened) -> None:
    listener = opened.connections.listen(["mail"])

    def pushes_and_fails() -> Plan[None]:
        yield BEGIN
        yield from opened.store.messages.push([entry()], "ignore")
        raise LookupError

    with pytest.raises(LookupError):
        opened.do(pushes_and_fails())
    assert not listener.wait(0)


def test_a_woken_listener_has_heard_nothing(opened: Opened) -> None:
    listener = opened.connections.listen(["mail"])
    listener.wake()
    assert not listener.wait(60)


def test_a_closed_listener_hears_nothing(opened: Opened) -> None:
    listener = opened.connections.listen(["mail"])
    listener.close()
    opened.push(entry())
    assert not listener.wait(0)


async def test_an_awaited_listener_hears_a_push_of_another_thread() -> None:
    _, connections = memory.aopen("memory://shared-with-a-thread", Settings())
    other = Opened("memory://shared-with-a-thread")
    listener = await connections.listen(["mail"])
    assert not await listener.wait(0)
    await asyncio.to_thread(other.push, entry())
    assert await listener.wait(60)
    listener.wake()
    assert not await listener.wait(60)
    await listener.close()


def test_a_push_outlives_the_loop_of_a_listener_that_was_not_closed() -> None:
    async def listen_and_go() -> None:
        _, connections = memory.aopen("memory://left-behind", Settings())
        await connections.listen(["mail"])

    asyncio.run(listen_and_go())
    assert Opened("memory://left-behind").push(entry())[0].outcome == "created"


# Opening.


def test_the_entry_point_finds_the_store() -> None:
    assert find_backend("memory://") is memory


def test_a_name_is_shared_within_its_prefix_and_no_name_with_nobody() -> None:
    Opened("memory://shop").push(entry())
    assert len(Opened("memory://shop").all()) == 1
    assert Opened("memory://").all() == []
    store, connections = memory.open("memory://shop", Settings(prefix="other_"))
    with connections.open() as execute:
        assert run(store.messages.find(Query("mail")), execute) == []


@pytest.mark.parametrize("target", ["memory://?transactions=maybe", "memory://?transactoins=off", object()])
def test_what_it_cannot_be_opened_with_is_refused(target: object) -> None:
    with pytest.raises(ConfigurationError):
        memory.open(target, Settings())


def test_a_transaction_of_the_callers_cannot_be_joined(opened: Opened) -> None:
    with pytest.raises(NotSupported):
        opened.connections.join(object())


def test_a_large_backlog_is_drained_once_and_in_order(opened: Opened) -> None:
    opened.push(*(entry(str(number)) for number in range(10_000)))
    drained = []
    while lent := opened.reserve(1):
        drained += lent
        opened.settle((lent[0], Committed()))
    assert [record.payload for record in drained] == [str(number) for number in range(10_000)]
