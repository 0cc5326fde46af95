"""The work on a queue in each quarter-hour of the last day is kept once, for all processes together."""

from __future__ import annotations

import os

from duerow import Draft, Queue
from duerow.queue.periods import CHARTS
from duerow.store import Totals
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase


def test_a_quarter_of_an_hour_is_kept_with_the_work_of_all_processes_and_what_was_ready(
    queue: Queue, open_database: OpenDatabase, clock: MovableClock
) -> None:
    clock.set(clock.now().replace(minute=0, second=0, microsecond=0))
    start = clock.now()
    queue.push_many([Draft(number) for number in range(9)])
    clock.advance(minutes(1))
    queue.commit_many(queue.reserve_many(4))
    queue.database.write_counts()
    another = open_database()
    clock.advance(minutes(5))
    another.queue("mail").bury_many(another.queue("mail").reserve_many(2), "no use")
    another.write_counts()
    clock.advance(minutes(9))
    assert queue.keep_periods() == 0  # more may still be added to it
    clock.advance(seconds(30))
    assert queue.keep_periods() == 1
    another.queue("mail").keep_periods()  # has been kept
    (kept,) = queue.periods()
    assert (kept.start, kept.ended, kept.ready) == (start, Totals(done=4, dead=2), 3)
    assert kept.waiting_time is not None
    assert sum(kept.waiting.values()) == 6
    assert sum(kept.processes.values()) == 6
    assert all(name.endswith(f":{os.getpid()}") for name in kept.processes)


def test_periods_are_kept_for_a_day_and_those_without_work_are_not_kept(
    queue: Queue, other: Queue, clock: MovableClock
) -> None:
    clock.set(clock.now().replace(minute=0, second=0, microsecond=0))
    start = clock.now()
    queue.push_many([Draft(number) for number in range(3)])
    queue.commit_many(queue.reserve_many(3))
    queue.database.write_counts()
    clock.advance(minutes(40))  # no worker was running at the time
    assert queue.keep_periods() == 1
    assert other.keep_periods() == 0
    assert [one.start for one in queue.periods()] == [start]
    clock.advance(hours(24))
    assert queue.periods() == []
    charts = queue.database.queue(CHARTS)
    assert (charts.count(), len(charts.pop_many(10))) == (1, 1)
