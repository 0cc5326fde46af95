"""duerow tidies up what it keeps in queues beside others, and never an application's own messages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from duerow import Bury, Database, Message, Queue, current
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError, NotSupported, TaskFailed, TimedOut
from duerow.queue.beside import KINDS
from duerow.store import Entry
from duerow.sync.tasks import Tasks
from duerow.testing.clock import MovableClock, hours
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import everything, payloads
from duerow.testing.faces import Face, tasks_of
from duerow.testing.worker_harness import Gate, Workshop, eventually

NOW = timedelta(0)
DAY = timedelta(days=1)


def own_messages(db: Database, name: str, key: str | None = None) -> list[str]:
    """Push a due message of the application to each queue that has the name of a queue beside another."""
    queues = [name + suffix for suffix in KINDS]
    for one in queues:
        db.queue(one).push({"of": "the application"}, key=key)
    return queues


def still_there(db: Database, queues: list[str]) -> None:
    """Check that each of these queues still has the application's message."""
    for one in queues:
        assert {"of": "the application"} in payloads(db.queue(one)), one


def leave_results(tasks: Tasks) -> None:
    """Leave what tasks leave: results, an error beside a dead letter and, where possible, a note of a window."""

    @tasks.task(queue="mail")
    def greet(name: str) -> str:
        if not name:
            raise Bury("nobody")
        return f"hello {name}"

    @tasks.task(queue="mail", key="user-{user}", unique=hours(1))
    def remind(user: int) -> None: ...

    greet.push_many([greet.draft("Ada"), greet.draft("")])
    with suppress(NotSupported):
        remind.push(1)
    tasks.worker().run("idle", signals=False)


def test_maintenance_deletes_nothing_in_an_own_queue_that_is_called_like_one_beside_another(
    tasks: Tasks, db: Database, clock: MovableClock
) -> None:
    own = own_messages(db, "mail")
    leave_results(tasks)
    clock.advance(2 * DAY)
    db.maintain()
    db.prune()
    leave_results(tasks)
    still_there(db, own)
    assert len([one for one in everything(db) if one.queue == "mail/results"]) >= 2


def test_maintenance_deletes_what_others_have_left_beside_queues_whose_tasks_it_does_not_know(
    tasks: Tasks, open_database: OpenDatabase, clock: MovableClock
) -> None:
    leave_results(tasks)
    other = open_database()
    other.maintain()
    assert len(everything(other)) >= 2
    clock.advance(hours(1))
    assert other.maintain().pruned >= 1
    assert [one for one in everything(other) if one.status != "dead"] == []


def test_maintenance_without_keys_deletes_encrypted_results_that_are_due(
    face: Face, open_database: OpenDatabase, clock: MovableClock
) -> None:
    leave_results(tasks_of(face, open_database(encryption=Encryption([Encryption.new_key()]))))
    bare = open_database()
    own = own_messages(bare, "mail")
    clock.advance(hours(1))
    bare.maintain()
    still_there(bare, own)
    assert len([one for one in everything(bare) if one.status != "dead"]) == len(own)


def test_a_worker_deletes_what_others_have_left_and_nothing_of_the_application(
    timeless: Workshop, clock: MovableClock
) -> None:
    db = timeless.db
    own = own_messages(db, "mail")
    for suffix, kind in KINDS.items():
        db.run(lambda name=f"gone{suffix}", kind=kind: db.store.messages.push([_left(name, kind)], "ignore"))  # type: ignore[misc]

    async def handle(message: Message) -> None:
        raise AssertionError("nothing is due")

    timeless.start(handle)
    eventually(lambda: not any(one.queue.startswith("gone") for one in everything(db)))
    still_there(db, own)


def test_progress_and_stacks_replace_no_message_of_the_application(shop: Workshop) -> None:
    gate = Gate()

    async def handle(message: Message) -> None:
        attempt = current()
        assert attempt is not None
        attempt.progress(0.4)
        await gate.passed()

    pushed = shop.queue.push("scan")
    own = own_messages(shop.db, "mail", key=str(pushed.id))
    running = shop.start(handle, "idle", lease=timedelta(seconds=60), heartbeat=timedelta(milliseconds=100))
    eventually(lambda: shop.queue.progress(pushed.id))
    with suppress(TimedOut):
        shop.queue.stack(pushed.id, wait=NOW)
    gate.open()
    running.join()
    shop.db.prune()
    still_there(shop.db, own)


def test_the_error_of_a_task_is_told_although_an_own_message_has_its_key(tasks: Tasks, db: Database) -> None:
    @tasks.task(queue="mail")
    def refuse() -> None:
        raise Bury("no")

    failed = refuse.push()
    db.queue("mail/results").push({"of": "the application"}, key=str(failed.id))
    tasks.worker().run("idle", signals=False)
    with pytest.raises(TaskFailed, match="no"):
        failed.result(NOW)
    still_there(db, ["mail/results"])


def test_a_window_is_refused_where_an_own_message_has_its_key(tasks: Tasks, db: Database) -> None:
    @tasks.task(queue="mail", key="user-{user}", unique=hours(1))
    def remind(user: int) -> None: ...

    db.queue("mail/windows").push({"of": "the application"}, key="user-1")
    with pytest.raises((ConfigurationError, NotSupported), match=r"one of your messages|transaction"):
        remind.push(1)
    assert payloads(db.queue("mail")) == []
    still_there(db, ["mail/windows"])


def test_a_consumer_of_an_own_queue_gets_no_message_of_duerow(
    tasks: Tasks, db: Database, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    leave_results(tasks)
    db.queue("mail/results").push("mine")
    clock.advance(hours(1))
    caplog.clear()
    with caplog.at_level(logging.ERROR, logger="duerow.queue"):
        assert [one.payload for one in db.queue("mail/results").pop_many(10)] == ["mine"]
    assert caplog.messages == []


def _take_reserved(queue: Queue) -> list[Message]:
    return [one.message for one in queue.reserve_many(10)]


@pytest.mark.parametrize("take", [_take_reserved, lambda queue: queue.pop_many(10)], ids=["reserve", "pop"])
def test_a_consumer_of_any_kind_gets_every_message_of_the_application_and_none_of_duerow(
    tasks: Tasks, db: Database, clock: MovableClock, take: Callable[[Queue], list[Message]]
) -> None:
    leave_results(tasks)
    results = db.queue("mail/results")
    left = results.count(by="kind")
    results.push("mine")
    db.run(lambda: db.store.messages.push([_left("mail/results", "Invoice")], "ignore"))
    clock.advance(hours(1))
    found = take(results.of_any_kind())
    assert sorted(one.kind for one in found) == ["Invoice", "json"]
    assert take(results.of_any_kind()) == []
    remaining = results.count("leased_until is null", by="kind")
    assert remaining == left


def _left(queue: str, kind: str) -> Entry:
    return Entry(queue, None, kind, "null", None, None, None)
