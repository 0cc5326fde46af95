"""Consumers count their work, even without a history: how turns ended, and how long they took."""

from __future__ import annotations

from datetime import datetime

import pytest

from duerow import Database, Draft, LeaseLost, Queue
from duerow.queue import metrics
from duerow.queue.histogram import read
from duerow.queue.stats import Rates
from duerow.store import Counted, Totals
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase


def all_ways(queue: Queue) -> None:
    """End eight turns: three done, one failed, two dead, one moved, one given back."""
    queue.push_many([Draft(number) for number in range(7)])
    done, too, failed, dead, moved, released, read_no_more = queue.reserve_many(7)
    assert queue.commit_many([done]) == []
    queue.commit(too)
    queue.rollback(failed, delay=hours(9), error="out of stock")
    queue.bury(dead, "no use")
    queue.move(moved, "elsewhere")
    queue.release(released)
    assert queue.bury_many([read_no_more], "no use either") == []
    assert queue.pop() is not None


def test_each_end_of_a_turn_is_counted_for_ever_and_as_a_rate_that_fades(queue: Queue, clock: MovableClock) -> None:
    all_ways(queue)
    totals = Totals(done=3, failed=1, dead=2, moved=1)
    stats = queue.stats()
    assert stats.lifetime == totals
    assert [stats.rates[span].done for span in (1, 5, 15, 60)] == [3, 3 / 5, 3 / 15, 3 / 60]
    assert stats.rates[1] == Rates(done=3, failed=1, dead=2, moved=1)
    queue.database.write_counts()
    assert queue.stats().rates == stats.rates
    for later, still in ((minutes(3), [False, True, True, True]), (minutes(30), [False, False, False, True])):
        clock.advance(later)
        rates = queue.stats().rates
        assert [rates[span].done > 0 for span in (1, 5, 15, 60)] == still
    clock.advance(hours(2))
    faded = queue.stats()
    assert (faded.lifetime, faded.waiting_time) == (totals, None)
    assert set(faded.rates.values()) == {Rates()}


def test_the_minutes_of_the_last_hour_tell_what_was_done_in_each(queue: Queue, clock: MovableClock) -> None:
    clock.set(clock.now().replace(second=0, microsecond=0))
    queue.push_many([Draft(number) for number in range(8)])
    clock.advance(seconds(30))
    queue.commit_many(queue.reserve_many(2))
    queue.database.write_counts()
    clock.advance(minutes(10))
    queue.commit_many(queue.reserve_many(4))
    queue.bury_many(queue.reserve_many(1), "no use")
    queue.database.write_counts()
    first, second = queue.minutes()
    assert second.start - first.start == minutes(10)
    assert (first.ended, second.ended) == (Totals(done=2), Totals(done=4, dead=1))
    assert first.waiting_time is not None
    assert 28 <= first.waiting_time.p95.total_seconds() <= 32
    assert [(30 * 8 / 9 <= least <= 30, number) for least, number in first.waiting.items()] == [(True, 2)]
    assert (sum(second.waiting.values()), second.handling, second.handling_time) == (5, {}, None)
    clock.advance(hours(2))
    assert queue.minutes() == []


def test_of_a_minute_that_is_partly_over_a_rate_takes_its_part(queue: Queue, clock: MovableClock) -> None:
    clock.set(clock.now().replace(second=0, microsecond=0))
    queue.push_many([Draft(number) for number in range(8)])
    queue.commit_many(queue.reserve_many(4))
    queue.database.write_counts()
    clock.advance(seconds(75))
    assert queue.stats().rates[1].done == 4 * 45 / 60
    queue.commit_many(queue.reserve_many(4))
    assert queue.stats().rates[1].done == 4 * 45 / 60 + 4


def test_what_was_refused_is_not_counted(queue: Queue) -> None:
    queue.push_many([Draft(number) for number in range(2)])
    first, second = queue.reserve_many(2)
    queue.commit(first)
    with pytest.raises(LeaseLost):
        queue.commit(first)
    assert len(queue.commit_many([first, second])) == 1
    assert len(queue.bury_many([first, second], "too late")) == 2
    assert queue.stats().lifetime == Totals(done=2)


def test_messages_given_up_by_a_claim_are_counted_as_dead(mail: Queue, clock: MovableClock) -> None:
    mail.push("kills its consumer")
    for _ in range(2):
        assert mail.reserve() is not None
        clock.advance(hours(1))
    assert mail.reserve() is None
    assert mail.stats().lifetime == Totals(dead=1)


def test_it_is_known_how_long_messages_waited(queue: Queue, clock: MovableClock) -> None:
    """Half of 100 are due for 10 s, of the others five for 1,000 s, in two priorities; delays do not count."""
    queue.push_many([Draft(number, priority=number % 2) for number in range(5)])
    clock.advance(seconds(890))
    queue.push_many([Draft(number, priority=number % 2) for number in range(45)])
    queue.push_many([Draft(number, delay=seconds(100), priority=number % 2) for number in range(50)])
    clock.advance(seconds(110))
    assert len(queue.reserve_many(60)) == 60
    assert len(queue.pop_many(100)) == 40
    times = queue.stats().waiting_time
    assert times is not None
    for found, meant in ((times.p50, 10), (times.p95, 110), (times.p99, 1000)):
        assert meant * 0.94 <= found.total_seconds() <= meant * 1.06
    assert queue.stats().handling_time is None
    queue.database.write_counts()
    assert queue.stats().waiting_time == times


def test_what_several_handles_count_is_added_up_and_nobody_elses_is_lost(
    db: Database, queue: Queue, other: Queue, open_database: OpenDatabase
) -> None:
    second = open_database()
    all_ways(queue)
    db.write_counts()
    all_ways(second.queue("mail"))
    assert queue.stats().lifetime.done == 3
    second.write_counts()
    all_ways(queue)
    all_ways(other)
    for _ in range(2):  # writing the same counts again changes nothing
        db.write_counts()
        assert second.queue("mail").stats().lifetime == Totals(done=9, failed=3, dead=6, moved=3)
    assert second.queue("billing").stats().lifetime.done == 3
    assert db.queue("elsewhere").stats().lifetime == Totals()


def test_what_a_handle_counted_is_written_when_it_is_closed(open_database: OpenDatabase, db: Database) -> None:
    with open_database() as first:
        all_ways(first.queue("mail"))
    assert db.queue("mail").stats().lifetime == Totals(done=3, failed=1, dead=2, moved=1)


def test_numbers_are_written_with_a_settlement_every_ten_seconds(
    db: Database, queue: Queue, open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = open_database().queue("mail")
    queue.push_many([Draft(number) for number in range(4)])
    lent = queue.reserve_many(4)
    queue.commit(lent[0])
    assert theirs.stats().lifetime.done == 0
    monkeypatch.setattr(metrics, "EVERY", 0.0)
    queue.commit(lent[1])
    in_time = db.store.capabilities.together
    assert theirs.stats().lifetime.done == (1 if in_time else 0)
    assert queue.commit_many(lent[1:]) != []
    assert theirs.stats().lifetime.done == (2 if in_time else 0)
    assert queue.stats().lifetime.done == 4


def test_rows_of_long_ago_live_on_in_the_lifetime_alone(db: Database, clock: MovableClock) -> None:
    """Written by a process that is slow to write; a row is replaced by what the same process says of the minute."""

    def note(process: str, minute: datetime, *done: int) -> None:
        rows = [Counted(f"queue{n}", minute, Totals(done=number), '{"8104":1}', None) for n, number in enumerate(done)]
        db.run(lambda: db.store.counters.note_counts(process, rows))

    start = clock.now().replace(second=0, microsecond=0)
    for number in range(1, 91):
        note("a", start + minutes(number), 1, 10)
        note("b", start + minutes(number), 1)
        clock.set(start + minutes(number))
        note("a", start + minutes(number), 2, 20)
    first, second = (db.run(lambda name=name: db.store.counters.read(name)) for name in ("queue0", "queue1"))  # type: ignore[misc]
    assert (first.lifetime, second.lifetime) == (Totals(done=270), Totals(done=1800))
    assert (first.now, len(first.lately), len(second.lately)) == (clock.now(), 122, 61)
    assert sum(row.totals.done for row in first.lately) == 183
    assert min(row.minute for row in first.lately) == start + minutes(30)
    assert {(row.handling, tuple(read(row.waiting).items())) for row in first.lately} == {(None, ((8104, 1),))}
    clock.advance(hours(3))
    note("c", clock.now(), 0)
    again = db.run(lambda: db.store.counters.read("queue0"))
    assert (again.lifetime, [row.totals for row in again.lately]) == (Totals(done=270), [Totals()])


def test_what_nobody_counted_is_nothing(queue: Queue) -> None:
    queue.push("hello")
    stats = queue.stats()
    assert (stats.lifetime, stats.waiting_time, stats.handling_time) == (Totals(), None, None)
