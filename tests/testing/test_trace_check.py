"""A recorded trace that breaks a rule of the protocol is noticed, and one that breaks none is not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import duerow
from duerow.aio.entity import EntityQueue as AwaitedQueue
from duerow.entity import EntityQueue, QueueState, queue_state
from duerow.errors import LeaseLost
from duerow.stores.memory import settle
from duerow.testing.clock import MovableClock
from duerow.testing.faults import fail_at, watch
from duerow.testing.trace import Event, Trace, What, read, record
from duerow.testing.trace_check import RULES, check

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(seconds=60)

A, B = 1, 2


class Story:
    """Events one after the other, each of which is over before the next one begins."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(self, what: What, id: int, token: int, **more: Any) -> "Story":
        began = 10 * len(self.events)
        self.events.append(Event(what, id, token, began, began + 1, **more))
        return self

    def pushed(self, id: int, key: str | None = None) -> "Story":
        return self.tell("pushed", id, 0, queue="mail", key=key)

    def handed(self, id: int, token: int = 1, after: float = 0, **more: Any) -> "Story":
        at = NOON + timedelta(seconds=after)
        return self.tell("handed", id, token, queue="mail", at=at, until=at + LEASE, **more)

    def extended(self, id: int, token: int = 1, until: float = 120) -> "Story":
        return self.tell("extended", id, token, until=NOON + timedelta(seconds=until))

    def settled(self, id: int, token: int = 1, how: str = "Committed") -> "Story":
        return self.tell("settled", id, token, how=how)

    def popped(self, id: int, token: int = 1, **more: Any) -> "Story":
        return self.tell("popped", id, token, queue="mail", at=NOON, **more)


def broken(story: Story) -> list[str]:
    return [one.rule for one in check(story.events)]


WRONG: dict[str, tuple[Callable[[], Story], str]] = {
    "two consumers have one turn": (
        lambda: Story().pushed(A).handed(A).handed(A),
        "a turn is handed out once",
    ),
    "a turn is popped and handed out": (
        lambda: Story().handed(A).popped(A),
        "a turn is handed out once",
    ),
    "a turn is committed twice": (
        lambda: Story().handed(A).settled(A).settled(A),
        "a turn has one settlement with effect",
    ),
    "a turn is rolled back and committed": (
        lambda: Story().handed(A).settled(A, how="RolledBack").settled(A),
        "a turn has one settlement with effect",
    ),
    "a message is handed out while its lease runs": (
        lambda: Story().handed(A).handed(A, 2, after=59),
        "a message is handed out only after its lease, or its turn, has ended",
    ),
    "a message is handed out while its extended lease runs": (
        lambda: Story().handed(A).extended(A).handed(A, 2, after=90),
        "a message is handed out only after its lease, or its turn, has ended",
    ),
    "a stale receipt commits": (
        lambda: Story().handed(A).handed(A, 2, after=61).settled(A),
        "a turn that was taken over is neither settled nor extended",
    ),
    "a stale receipt extends": (
        lambda: Story().handed(A).handed(A, 2, after=61).extended(A),
        "a turn that was taken over is neither settled nor extended",
    ),
    "a committed message comes back": (
        lambda: Story().handed(A).settled(A).handed(A, 3, after=5),
        "a message that has left is not handed out",
    ),
    "a popped message comes back": (
        lambda: Story().popped(A).handed(A, 3, after=5),
        "a message that has left is not handed out",
    ),
    "a token is lower than before": (
        lambda: Story().handed(A, 5).handed(A, 3, after=5),
        "tokens grow",
    ),
    "two of a group are out": (
        lambda: Story().handed(A, group="g").handed(B, group="g").settled(A),
        "only one message of a group is out at a time",
    ),
    "one of a group is popped while another one is out": (
        lambda: Story().handed(A, group="g").popped(B, group="g").settled(A),
        "only one message of a group is out at a time",
    ),
    "a key is pushed twice": (
        lambda: Story().pushed(A, "k").pushed(B, "k").handed(A, key="k"),
        "a key has one live message",
    ),
    "a message with a key is pushed while another one is out with it": (
        lambda: Story().handed(A, key="k").pushed(B, "k").settled(A),
        "a key has one live message",
    ),
    "a message is handed out with the key of one that waits for its next attempt": (
        lambda: Story().handed(A, key="k").settled(A, how="RolledBack").handed(B, key="k").handed(A, 3, 5, key="k"),
        "a key has one live message",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_trace_that_breaks_one_rule_is_told_by_it(name: str):
    story, rule = WRONG[name]
    assert broken(story()) == [rule]


def test_every_rule_is_broken_by_one_of_these_traces():
    assert {rule for _, rule in WRONG.values()} == set(RULES)


RIGHT: dict[str, Callable[[], Story]] = {
    "one message after the other": lambda: Story().pushed(A).pushed(B).handed(A).settled(A).handed(B).settled(B),
    "a lease ends, another one begins": lambda: Story().handed(A).handed(A, 2, after=60).settled(A, 2),
    "an extended lease ends": lambda: Story().handed(A).extended(A).handed(A, 2, after=120),
    "an extension and a late settlement": lambda: Story().handed(A).extended(A, until=1).settled(A),
    "an operator ends a lease": lambda: Story().handed(A).handed(A, 3, after=1),
    "released and handed out again": lambda: Story().handed(A).settled(A, how="Released").handed(A, 3, after=1),
    "a moved message is handed out": lambda: Story().handed(A).settled(A, how="Moved").handed(A, 3, after=1),
    "a group after a lease": lambda: Story().handed(A, group="g").handed(B, after=60, group="g").settled(A),
    "a group, one after the other": lambda: Story().handed(A, group="g").settled(A).handed(B, group="g").settled(B),
    "two groups": lambda: Story().handed(A, group="g").handed(B, group="h").settled(A),
    "a key is free again": lambda: Story().pushed(A, "k").handed(A, key="k").settled(A).pushed(B, "k"),
    "a key of a message that was changed meanwhile": lambda: (
        Story().handed(A, key="k").settled(A, how="Buried").pushed(B, "k").handed(A, 4, after=5, key="k")
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_trace_that_breaks_no_rule_is_left_alone(name: str):
    assert broken(RIGHT[name]()) == []


def test_what_overlapped_may_have_been_in_either_order():
    story = Story().handed(A, group="g").handed(B, group="g").settled(A)
    overlapping = [msgspec.structs.replace(event, ended=100) for event in story.events]
    assert check(overlapping) == []


def test_what_may_not_have_happened_breaks_no_rule():
    for story, _ in WRONG.values():
        unsure = [msgspec.structs.replace(event, sure=False) for event in story().events]
        assert check(unsure) == []


def test_a_violation_tells_its_events():
    (violation,) = check(Story().handed(A).settled(A).settled(A).events)
    assert "one settlement with effect" in str(violation)
    assert "settled 1 token 1 (Committed)" in str(violation)


@pytest.fixture
def trace() -> Trace:
    return Trace()


@pytest.fixture
def queue(trace: Trace) -> duerow.Queue:
    database = duerow.connect("memory://")
    record(database, trace)
    return database.queue("mail")


def test_what_a_queue_does_is_recorded(queue: duerow.Queue, trace: Trace):
    queue.push("hello", key="k", group="g")
    held = queue.reserve()
    assert held is not None
    held.extend(LEASE)
    held.release()
    with pytest.raises(LeaseLost):
        held.commit()
    queue.push("again")
    assert [one.payload for one in queue.pop_many(2)] == ["hello", "again"]
    assert [(one.what, one.id, one.token) for one in trace.events] == [
        ("pushed", 1, 0),
        ("handed", 1, 1),
        ("extended", 1, 1),
        ("settled", 1, 1),
        ("pushed", 2, 0),
        ("popped", 1, 3),
        ("popped", 2, 1),
    ]
    assert all(one.sure and one.began < one.ended for one in trace.events)
    handed = trace.events[1]
    assert (handed.queue, handed.group, handed.key) == ("mail", "g", "k")
    assert check(trace.events) == []


class Base(DeclarativeBase):
    """The models of this file."""


class Order(Base):
    """A row that is also a message."""

    __tablename__ = "recorded_order"
    id: Mapped[int] = mapped_column(primary_key=True)
    sending: Mapped[QueueState] = queue_state("sending")


@pytest.fixture
def orders(tmp_path: Path) -> str:
    """A database with one order that is due."""
    engine = create_engine(f"sqlite:///{tmp_path}/orders.db")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        order = Order()
        order.sending.schedule()
        session.add(order)
        session.commit()
    engine.dispose()
    return f"{tmp_path}/orders.db"


def test_what_a_queue_of_rows_does_is_recorded(orders: str, trace: Trace):
    rows = EntityQueue(Order.sending, create_engine(f"sqlite:///{orders}"))
    record(rows, trace)
    held = rows.reserve()
    assert held is not None
    held.extend(LEASE)
    held.release()
    duerow.Worker(rows, lambda row, session: None).run(until="empty")
    assert [(one.what, one.id, one.token, one.how) for one in trace.events] == [
        ("handed", 1, 1, None),
        ("extended", 1, 1, None),
        ("settled", 1, 1, "Released"),
        ("handed", 1, 3, None),
        ("settled", 1, 3, "Committed"),
    ]
    assert all(one.sure for one in trace.events)
    assert {one.queue for one in trace.events if one.what == "handed"} == {"recorded_order.sending"}
    assert check(trace.events) == []


async def test_what_an_awaited_queue_of_rows_does_is_recorded(orders: str, trace: Trace):
    engine = create_async_engine(f"sqlite+aiosqlite:///{orders}")
    rows = AwaitedQueue(Order.sending, engine)
    record(rows, trace)
    held = await rows.reserve()
    assert held is not None
    await held.commit()
    assert [(one.what, one.token, one.sure) for one in trace.events] == [("handed", 1, True), ("settled", 1, True)]
    await engine.dispose()


def test_what_a_transaction_did_that_failed_is_recorded_as_not_sure(trace: Trace):
    with duerow.connect("memory://") as database:
        record(database, trace)
        watch(database, fail_at("push: done", OSError("the connection broke")))
        with pytest.raises(OSError, match="broke"):
            database.queue("mail").push("hello")
    assert [(one.what, one.sure) for one in trace.events] == [("pushed", False)]


def test_what_processes_write_to_files_is_read_but_for_a_line_that_is_not_whole(tmp_path: Path):
    file = tmp_path / "1.jsonl"
    Trace(file).add(Story().handed(A).settled(A).events, sure=True)
    written = file.read_bytes()
    file.write_bytes(written[:-5])
    assert [(one.what, one.at) for one in read([file])] == [("handed", NOON)]


def test_a_store_without_its_fence_is_found_out(monkeypatch: pytest.MonkeyPatch, trace: Trace):
    monkeypatch.setattr(settle, "lent_on", lambda state, receipt: state.records.get(receipt.id))
    clock = MovableClock()
    with duerow.connect("memory://", clock=clock) as database:
        record(database, trace)
        queue = database.queue("mail", lease=LEASE)
        queue.push("hello")
        stale = queue.reserve()
        clock.advance(LEASE)
        assert queue.reserve() is not None
        assert stale is not None
        stale.commit()
    assert [one.rule for one in check(trace.events)] == ["a turn that was taken over is neither settled nor extended"]
