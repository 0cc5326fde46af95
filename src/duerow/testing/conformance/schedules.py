"""A schedule pushes one message for each tick, no matter how many processes look."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from duerow import Database, Queue, Schedule
from duerow.errors import NotSupported
from duerow.plan import BEGIN, Plan
from duerow.queue import schedule as planning
from duerow.store import ScheduleChange
from duerow.testing.clock import START, MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from duerow.testing.conformance.races import race
from duerow.testing.contents import everything
from duerow.testing.faces import Face


def ticks(queue: Queue) -> list[datetime]:
    """Return the ticks that became messages, in the order in which they would be handed out."""
    return [datetime.fromisoformat(str(message.headers["tick"])) for message in queue.peek(1000)]


def at(zone: str, text: str, fold: int = 0) -> datetime:
    """Return the time at which a wall clock in the zone shows this, for the first or the second time."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


# When it ticks.


def test_a_tick_becomes_a_message_that_is_due_since_then_and_says_whose_it_is(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    declared = db.schedule(
        "nightly", cron="0 3 * * *", zone="Europe/Zagreb", queue="mail", payload={"clean": True}, headers={"by": "ana"}
    )
    tick = datetime(2026, 3, 2, 2, tzinfo=UTC)
    assert (declared.next_at, declared.last_at) == (tick, None)
    clock.set(tick - microseconds(1))
    assert db.maintain().pushed == 0
    clock.set(tick + seconds(2))
    assert db.maintain().pushed == 1
    [message] = queue.find()
    assert message.payload == {"clean": True}
    assert message.headers == {"by": "ana", "schedule": "nightly", "tick": "2026-03-02T02:00:00+00:00"}
    assert (message.due_at, message.first_due_at, message.key) == (tick, tick, None)
    [kept] = db.schedules()
    assert (kept.next_at, kept.last_at) == (tick + hours(24), tick)
    assert db.maintain().pushed == 0


def test_a_schedule_tells_its_latest_ticks_and_when_they_were_pushed(db: Database, clock: MovableClock) -> None:
    db.schedule("often", every=minutes(10), queue="mail", missed="all")
    clock.advance(minutes(21))
    db.maintain()
    [kept] = db.schedules()
    assert [(one.at - START, one.pushed_at - START) for one in kept.past] == [
        (minutes(20), minutes(21)),
        (minutes(10), minutes(21)),
    ]
    db.pause_schedule("often")
    assert db.schedule("often", every=minutes(5), queue="billing", missed="all").past == kept.past
    db.resume_schedule("often")
    for _ in range(3):
        clock.advance(minutes(50))
        db.maintain()
    [kept] = db.schedules()
    assert len(kept.past) == 20
    assert kept.past[0].at == kept.last_at


def test_an_interval_ticks_first_one_interval_after_it_is_declared(db: Database, clock: MovableClock) -> None:
    assert db.schedule("often", every=minutes(10), queue="mail").ticks(3) == [
        START + minutes(10),
        START + minutes(20),
        START + minutes(30),
    ]


def test_an_interval_with_a_start_is_counted_from_there(db: Database, queue: Queue, clock: MovableClock) -> None:
    starts = {"later": hours(2), "now": hours(0), "before": -minutes(25)}
    first = {
        name: db.schedule(name, every=minutes(10), start=START + start, queue="mail").next_at
        for name, start in starts.items()
    }
    assert first == {"later": START + hours(2), "now": START, "before": START + minutes(5)}
    assert db.maintain().pushed == 1
    assert ticks(queue) == [START]


def test_times_of_the_day_tick_each_day_in_their_zone(db: Database) -> None:
    declared = db.schedule("meals", daily=[time(18, 30), "08:00"], zone="Asia/Tokyo", queue="mail")
    assert declared.daily == ("08:00", "18:30")
    assert declared.ticks(3) == [
        at("Asia/Tokyo", "2026-03-02T08:00"),
        at("Asia/Tokyo", "2026-03-02T18:30"),
        at("Asia/Tokyo", "2026-03-03T08:00"),
    ]


def test_no_tick_is_earlier_than_the_start(db: Database) -> None:
    begin = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
    assert db.schedule("cron", cron="0 8 * * *", start=begin, queue="mail").next_at == begin
    assert db.schedule("daily", daily="08:00", start=begin + microseconds(1), queue="mail").next_at == begin + hours(24)


def test_messages_of_a_schedule_have_its_group_and_its_priority(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    queue.push("an ordinary one")
    db.schedule("s", every=minutes(1), queue="mail", payload="tick", group="one at a time", priority=-1, missed="all")
    clock.advance(minutes(3))
    assert db.maintain().pushed == 3
    assert [(one.group, one.priority) for one in queue.find()] == [(None, 0), *[("one at a time", -1)] * 3]
    first, other = queue.reserve_many(4)
    assert (first.message.payload, other.message.payload) == ("tick", "an ordinary one")
    assert first.message.headers["tick"] == (START + minutes(1)).isoformat()


def test_a_round_says_when_the_next_tick_is(db: Database, clock: MovableClock) -> None:
    assert db.maintain().next_in is None
    db.schedule("often", every=minutes(10), queue="mail")
    db.schedule("seldom", every=hours(10), queue="mail")
    assert db.maintain().next_in == minutes(10)
    clock.advance(minutes(14))
    done = db.maintain()
    assert (done.next_in, done.failed) == (minutes(6), {})


def test_schedules_are_listed_by_their_names_with_all_that_was_declared(db: Database, clock: MovableClock) -> None:
    begin = START + hours(1)
    kept = [
        db.schedule("b", every=minutes(5), start=begin, queue="mail", payload=b"\x00", missed="skip"),
        db.schedule(
            "c",
            daily="23:59",
            zone="America/New_York",
            queue="billing",
            grace=hours(2),
            headers={"n": 1},
            group="g",
            priority=-3,
        ),
        db.schedule("a", cron="*/5  * * * mon-fri", queue="mail", payload=[1.0, "ž"], missed="all"),
    ]
    assert [schedule.name for schedule in db.schedules()] == ["a", "b", "c"]
    assert db.schedules() == sorted(kept, key=lambda schedule: schedule.name)
    assert kept[0] == Schedule(
        name="b",
        queue="mail",
        payload=b"\x00",
        headers={},
        group=None,
        priority=0,
        cron=None,
        every=minutes(5),
        daily=None,
        zone=None,
        start=begin,
        missed="skip",
        grace=minutes(1),
        next_at=begin,
        last_at=None,
        kind="bytes",
    )


# Missed ticks.


@pytest.mark.parametrize(("missed", "pushed"), [("skip", [40]), ("once", [30, 40]), ("all", [10, 20, 30, 40])])
def test_ticks_that_nobody_pushed_in_time_are_left_out_pushed_once_or_all_pushed(
    db: Database, queue: Queue, clock: MovableClock, missed: planning.Missed, pushed: list[int]
) -> None:
    db.schedule("often", every=minutes(10), queue="mail", missed=missed)
    clock.advance(minutes(40) + seconds(30))
    assert db.maintain().pushed == len(pushed)
    assert ticks(queue) == [START + minutes(count) for count in pushed]
    [kept] = db.schedules()
    assert (kept.next_at, kept.last_at) == (START + minutes(50), START + minutes(40))


@pytest.mark.parametrize(("missed", "pushed"), [("skip", []), ("once", [5]), ("all", [1, 2, 3, 4, 5])])
def test_missed_nights_of_a_wall_clock_are_made_up_for_likewise(
    db: Database, queue: Queue, clock: MovableClock, missed: planning.Missed, pushed: list[int]
) -> None:
    db.schedule("nightly", cron="0 3 * * *", zone="Europe/Zagreb", queue="mail", missed=missed)
    clock.advance(timedelta(days=5))
    assert db.maintain().pushed == len(pushed)
    assert ticks(queue) == [at("Europe/Zagreb", f"2026-03-{1 + night:02}T03:00") for night in pushed]


def test_a_tick_is_missed_when_it_is_later_than_the_grace(db: Database, queue: Queue, clock: MovableClock) -> None:
    for name, late in (("in time", seconds(30)), ("missed", seconds(30) - microseconds(1))):
        db.schedule(name.replace(" ", "-"), every=hours(1), queue="mail", missed="skip", grace=late)
    clock.advance(hours(1) + seconds(30))
    assert db.maintain().pushed == 1
    assert [message.headers["schedule"] for message in queue.peek(9)] == ["in-time"]
    assert [kept.next_at for kept in db.schedules()] == [START + hours(2)] * 2


def test_a_tick_counts_as_missed_after_a_minute_unless_said_otherwise(db: Database, clock: MovableClock) -> None:
    db.schedule("often", every=hours(1), queue="mail", missed="skip")
    clock.advance(hours(1) + seconds(60))
    assert db.maintain().pushed == 1
    clock.advance(hours(1) + microseconds(1))
    assert db.maintain().pushed == 0


def test_any_number_of_missed_ticks_is_made_up_for(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("often", every=minutes(1), queue="mail", missed="all")
    clock.advance(minutes(350))
    assert db.maintain().pushed == 350
    assert ticks(queue) == [START + minutes(count) for count in range(1, 351)]


def test_any_number_of_schedules_ticks_in_one_round(db: Database, queue: Queue, clock: MovableClock) -> None:
    for number in range(130):
        db.schedule(f"s-{number}", every=hours(1), queue="mail")
    clock.advance(hours(1))
    assert db.maintain().pushed == 130
    assert len({message.headers["schedule"] for message in queue.peek(200)}) == 130


# One message for each tick.


def test_handles_that_race_push_each_tick_once(
    db: Database, queue: Queue, face: Face, place: Place, clock: MovableClock, scale: int
) -> None:
    names = [f"s-{number}" for number in range(10)]
    for name in names:
        db.schedule(name, every=minutes(1), queue="mail", missed="all")
    clock.advance(minutes(12 * scale))

    def maintain(queue: Queue) -> int:
        return sum(queue.database.maintain().pushed for _ in range(5))

    assert sum(race(face, place, clock, [maintain] * 4)) == 120 * scale
    pushed = Counter((str(message.headers["schedule"]), message.due_at) for message in queue.peek(1000))
    assert pushed == {(name, START + minutes(count)): 1 for name in names for count in range(1, 12 * scale + 1)}


def test_who_read_a_schedule_before_another_ticked_it_pushes_nothing(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("often", every=minutes(10), queue="mail")
    clock.advance(minutes(10))
    stale = due_change(db)
    assert db.maintain().pushed == 1
    before = everything(db), db.schedules()
    assert not db.run(lambda: db.store.metadata.set_schedule(stale))
    assert (everything(db), db.schedules()) == before


def test_who_read_a_schedule_before_it_was_declared_anew_pushes_nothing(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("often", every=minutes(10), queue="mail", payload="old")
    clock.advance(minutes(10))
    stale = due_change(db)
    db.unschedule("often")
    assert not db.run(lambda: db.store.metadata.set_schedule(stale))
    db.schedule("often", every=minutes(10), queue="mail", payload="new")
    assert not db.run(lambda: db.store.metadata.set_schedule(stale))
    assert queue.count() == 0


def due_change(db: Database) -> ScheduleChange:
    """Return the change that a process makes when it sees that the only schedule is due."""
    found = db.run(lambda: db.store.metadata.schedules(due=True))
    return planning.tick(found.rows[0], found.now)


def test_a_tick_and_its_message_happen_together_or_not_at_all(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("often", every=minutes(10), queue="mail")
    clock.advance(minutes(10))
    change = due_change(db)
    before = db.schedules()

    def fail_late() -> Plan[None]:
        yield BEGIN
        assert (yield from db.store.metadata.set_schedule(change))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError if db.store.capabilities.together else NotSupported):
        db.run(fail_late)
    assert (db.schedules(), queue.count()) == (before, 0)
    assert db.maintain().pushed == 1
