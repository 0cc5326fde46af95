"""A history has one row for each turn of each message, written in the transaction that ends the turn."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Bury, Commit, Database, Move, Queue, Release, Rollback, fixed, limited
from duerow.errors import CodecError, ConfigurationError, DuerowError, InvalidCondition, InvalidMessage
from duerow.queue.history import Event
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import Begin
from duerow.where import field, payload

WEEK = timedelta(days=7)


def made(db: Database) -> Queue:
    """Return a queue with a history and two attempts without a delay."""
    return db.queue("orders", history=WEEK, retry=limited(2, fixed(seconds(0))))


def outcomes(queue: Queue) -> list[tuple[int, str, str | None]]:
    """Return the message, the outcome and the target of each turn, in the order in which turns ended."""
    return [(event.id, event.outcome, event.moved_to) for event in reversed(queue.history())]


def end(queue: Queue, settlement: Settlement) -> int:
    """End the next turn in this way; return the message's id."""
    reservation = queue.reserve()
    assert reservation is not None
    assert queue.settle([(reservation, settlement)]) == []
    return reservation.message.id


def test_history_tells_of_each_turn_what_it_was_and_what_became_of_it(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    created = clock.now()
    orders.push({"n": 1}, key="k", group="g", priority=-3, headers={"parent": 5}, delay=minutes(1))
    clock.advance(minutes(2))
    first = orders.reserve()
    assert first is not None
    clock.advance(seconds(5))
    orders.rollback(first, error=ValueError("no line"))
    second = orders.reserve()
    assert second is not None
    clock.advance(seconds(7))
    orders.commit(second, payload={"n": 1, "sent": True})

    done, failed = orders.history()
    assert isinstance(done, Event)
    assert (failed.outcome, failed.token, failed.attempts) == ("failed", first.message.token, 1)
    assert failed.error is not None
    assert failed.error.message == "ValueError: no line"
    assert (failed.payload, failed.worker) == ({"n": 1}, first.message.leased_by)
    assert (failed.created_at, failed.due_at) == (created, created + minutes(1))
    assert (failed.started_at, failed.finished_at) == (created + minutes(2), created + minutes(2) + seconds(5))
    assert done == Event(
        id=first.message.id,
        token=second.message.token,
        queue="orders",
        outcome="done",
        moved_to=None,
        payload={"n": 1, "sent": True},
        kind="json",
        key="k",
        headers={"parent": 5},
        group="g",
        priority=-3,
        attempts=2,
        created_at=created,
        first_due_at=created + minutes(1),
        due_at=failed.finished_at,
        started_at=failed.finished_at,
        finished_at=failed.finished_at + seconds(7),
        worker=second.message.leased_by,
        error=None,
    )


def test_history_keeps_what_the_handler_of_a_message_that_left_has_logged(db: Database) -> None:
    orders = made(db)
    for number in range(3):
        orders.push(number)
    long = "first " + "x" * 20_000 + " last"
    for settlement in (Commit(log="sent"), Move("sms", log=long), Commit(dropped=True)):
        end(orders, settlement)
    dropped, moved, sent = orders.history()
    assert [(one.outcome, one.error) for one in (sent, moved, dropped)] == [
        ("done", None),
        ("moved", None),
        ("dropped", None),
    ]
    assert (sent.log, dropped.log) == ("sent", None)
    assert moved.log == long[-8_000:]
    [arrived] = db.queue("sms").find()
    assert arrived.last_error is None


def test_a_queue_without_a_history_keeps_no_log(db: Database) -> None:
    queue = db.queue("mail")
    for number in range(2):
        queue.push(number)
    for settlement in (Commit(log="sent"), Move("sms", log="sent")):
        end(queue, settlement)
    assert queue.history() == []


def test_every_way_to_end_a_turn_is_told_and_no_other(db: Database) -> None:
    orders = made(db)
    db.queue("billing").push("there", key="taken")
    ends: list[tuple[Settlement, tuple[str, str | None]]] = [
        (Commit(), ("done", None)),
        (Commit(dropped=True), ("dropped", None)),
        (Rollback(hours(1), "no line"), ("failed", None)),
        (Bury("no use"), ("dead", None)),
        (Move("billing", "there"), ("moved", "billing")),
        (Move("billing", key="taken", on_duplicate="ignore"), ("done", None)),
    ]
    expected = []
    for ending, told in ends:
        orders.push("hello")
        expected.append((end(orders, ending), *told))
    orders.push("given back")
    expected.append((end(orders, Release()), "done", None))
    popped = orders.pop()
    assert popped is not None
    assert outcomes(orders) == expected
    events = orders.history()[::-1]
    said = ["" if event.error is None else event.error.message for event in events]
    assert said[:5] == ["", "", "no line", "no use", ""]
    assert "'taken'" in said[5]
    last = events[-1]
    assert (last.attempts, last.started_at) == (1, last.finished_at)
    can = db.store.capabilities
    if can.transactions and can.passes_over:  # without, a pop is a reservation that is committed at once
        assert last.worker is None
    assert db.queue("billing").history() == []


def test_a_result_that_is_kept_may_be_as_large_as_the_payloads_of_its_queue(db: Database) -> None:
    small = db.queue("small", history=WEEK, max_payload_bytes=10)
    small.push("hello")
    reservation = small.reserve()
    assert reservation is not None
    with pytest.raises(CodecError, match="10"):
        small.commit(reservation, payload="x" * 11)
    small.commit(reservation, payload="x" * 8)
    assert [event.payload for event in small.history()] == ["x" * 8]


def test_what_is_refused_or_was_not_asked_for_is_not_kept(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    plain = db.queue("orders")
    orders.push("lost")
    stale = orders.reserve(lease=seconds(1))
    clock.advance(seconds(1))
    again = orders.reserve()
    orders.push("mine")
    mine = orders.reserve()
    assert stale is not None
    assert again is not None
    assert mine is not None
    refused = orders.settle([(stale, Commit()), (mine, Commit())])
    assert [one.receipt for one in refused] == [stale.receipt]
    plain.commit(again)
    plain.push("unseen")
    plain.pop()
    assert outcomes(orders) == [(stale.message.id, "failed", None), (mine.message.id, "done", None)]


def test_a_lease_that_ended_is_a_failed_turn_and_the_last_one_a_dead_one(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    to_letters = db.queue("mail", history=WEEK, retry=limited(1, fixed(seconds(0))), dead_letter="mail-dead")
    for queue, group in ((orders, None), (db.queue("grouped", history=WEEK), "g"), (to_letters, None)):
        queue.push("hello", group=group)
        lost = queue.reserve()
        assert lost is not None
        clock.advance(minutes(1))
        again = queue.reserve()
        (event,) = queue.history()
        assert (event.id, event.token, event.attempts) == (lost.message.id, lost.message.token, 1)
        assert event.finished_at == clock.now()
        assert event.error is not None
        assert event.error.type == "LeaseEnded"
        if queue is to_letters:
            assert again is None
            assert (event.outcome, event.moved_to) == ("dead", "mail-dead")
        else:
            assert (event.outcome, event.moved_to) == ("failed", None)
    clock.advance(minutes(1))
    assert orders.reserve() is None
    assert [event.outcome for event in orders.history()] == ["dead", "failed"]
    orders.push("popped")
    orders.reserve()
    clock.advance(minutes(1))
    assert orders.pop() is not None
    assert [event.outcome for event in orders.history(limit=2)] == ["done", "failed"]


def test_a_lease_that_ended_is_a_failed_turn_also_of_who_waits_for_its_group(db: Database, clock: MovableClock) -> None:
    queue = db.queue("orders", history=WEEK)
    first, later = (queue.push(name, group="g").id for name in ("first", "later"))
    end(queue, Bury("no use"))
    lost = queue.reserve()
    assert lost is not None
    assert lost.message.id == later
    clock.advance(minutes(1))
    queue.requeue(first)
    assert [one.message.id for one in queue.reserve_many(5)] == [first]
    assert outcomes(queue) == [(first, "dead", None), (later, "failed", None)]


def test_a_message_that_went_on_has_a_row_for_each_queue(db: Database) -> None:
    check, price = db.queue("check", history=WEEK), db.queue("price", history=WEEK)
    letters = db.queue("check", history=WEEK, dead_letter="letters")
    id = check.push({"item": "hat"}, key="k").id
    end(check, Move("price", {"item": "hat", "price": 5}))
    end(price, Commit())
    dead = check.push("odd").id
    end(letters, Bury("no use"))
    assert outcomes(check) == [(id, "moved", "price"), (dead, "dead", "letters")]
    assert [event.payload for event in (*check.history(id=id), *price.history())] == [
        {"item": "hat"},
        {"item": "hat", "price": 5},
    ]
    (event,) = check.history(id=dead)
    assert event.error is not None
    assert event.error.message == "no use"


def test_history_is_searched_by_condition_and_read_in_pages(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    for number in range(5):
        orders.push({"n": number}, key=f"k{number}")
    for reservation in orders.reserve_many(5):
        if reservation.message.payload["n"] % 2:
            orders.rollback(reservation, delay=hours(1), error=TimeoutError("slow"))
        else:
            orders.commit(reservation)
        clock.advance(seconds(1))

    def found(where: object) -> list[int]:
        return [event.payload["n"] for event in orders.history(where)]  # type: ignore[arg-type]

    assert found("outcome = 'failed'") == [3, 1]
    assert found("error.type = 'TimeoutError' and payload.n > 1") == [3]
    assert found((field("outcome") == "done") & (payload.n < 4)) == [2, 0]
    assert found(f"finished_at >= '{(clock.now() - seconds(2)).isoformat()}' and key like 'k%'") == [4, 3]
    assert found("moved_to is null and worker is not null and attempts = 1 and token = 1") == [4, 3, 2, 1, 0]
    page = orders.history(limit=2)
    pages = [event.payload["n"] for event in page]
    while page:
        page = orders.history(limit=2, after=page[-1])
        pages += [event.payload["n"] for event in page]
    assert pages == [4, 3, 2, 1, 0]


def test_turns_are_pruned_when_their_time_is_over(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    brief = db.queue("brief", history=minutes(1))
    for queue in (orders, brief):
        for _ in range(3):
            queue.push("hello")
            end(queue, Commit())
    assert db.maintain().pruned == 0
    clock.advance(minutes(1))
    assert db.maintain().pruned == 3
    assert (len(brief.history()), len(orders.history())) == (0, 3)
    clock.advance(WEEK)
    assert (db.prune(), db.prune()) == (3, 0)


def test_what_is_rolled_back_leaves_no_history(db: Database, begin: Begin | None) -> None:
    orders = made(db)
    if begin is None:
        with pytest.raises(DuerowError):
            orders.pop(within=object())
        return
    for _ in range(2):
        orders.push("hello")
    reservation = orders.reserve()
    assert reservation is not None
    with begin() as own:
        orders.commit(reservation, within=own.handle)
        assert orders.pop(within=own.handle) is not None
        own.rollback()
    assert orders.history() == []
    with begin() as own:
        orders.commit(reservation, within=own.handle)
        own.commit()
    assert [event.outcome for event in orders.history()] == ["done"]


def test_what_cannot_be_kept_or_asked_is_said(db: Database) -> None:
    orders = made(db)
    for name in ("history", "remember_keys"):
        for time in (timedelta(0), 7):
            with pytest.raises(InvalidMessage, match=name):
                db.queue("orders", **{name: time})  # type: ignore[call-overload]
    plain = db.queue("orders")
    plain.push("hello")
    reservation = plain.reserve()
    assert reservation is not None
    with pytest.raises(ConfigurationError, match="keeps no history"):
        plain.commit(reservation, payload="changed")
    with pytest.raises(InvalidCondition, match="a turn in history has no field 'status'"):
        orders.history("status = 'dead'")
    with pytest.raises(InvalidCondition, match="a message has no field 'outcome'"):
        orders.find("outcome = 'dead'")
    for wrong in ({"after": 7}, {"limit": 0}, {"id": "7"}):
        with pytest.raises(ConfigurationError):
            orders.history(**wrong)
