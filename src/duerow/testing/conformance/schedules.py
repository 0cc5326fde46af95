"""A schedule pushes one message for each of its ticks, whoever looks at the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from duerow import Database, Queue, Schedule
from duerow.errors import ConfigurationError, DuerowError, InvalidMessage, NotSupported
from duerow.plan import BEGIN, Plan
from duerow.queue import schedule as planning
from duerow.store import Planned, ScheduleChange
from duerow.testing.clock import START, MovableClock, hours, microseconds, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.conformance.races import race
from duerow.testing.contents import everything
from duerow.testing.faces import Face


def ticks(queue: Queue) -> list[datetime]:
    """The ticks that became messages, in the order in which they are in line."""
    return [datetime.fromisoformat(str(message.headers["tick"])) for message in queue.peek(1000)]


def at(zone: str, text: str, fold: int = 0) -> datetime:
    """The moment at which a clock on a wall there shows this, for the first or the second time."""
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
    )


# Clocks that are put forward and back.

GAPS = {
    "Europe/Zagreb": ("2026-03-29", "02:30", "03:00"),
    "America/New_York": ("2026-03-08", "02:30", "03:00"),
    "Australia/Lord_Howe": ("2026-10-04", "02:15", "02:30"),
}
"""The day on which the clock of a zone is put forward, a time that it skips, and what it shows after the gap."""

REPEATS = {
    "Europe/Zagreb": ("2026-10-25", "02:30"),
    "America/New_York": ("2026-11-01", "01:30"),
    "Australia/Lord_Howe": ("2026-04-05", "01:45"),
}
"""The day on which it is put back, and a time that it shows twice."""


def days(day: str) -> list[str]:
    """The day before, the day itself and the day after."""
    middle = datetime.fromisoformat(day)
    return [f"{middle + timedelta(days=days):%Y-%m-%d}" for days in (-1, 0, 1)]


def made_up(db: Database, queue: Queue, clock: MovableClock, start: datetime, end: datetime, **when: Any) -> None:
    """Let a schedule tick from a moment to another, and check that what was foretold became messages."""
    clock.set(start)
    declared = db.schedule("wall", queue="mail", missed="all", **when)
    clock.set(end)
    pushed = db.maintain().pushed
    assert ticks(queue) == declared.ticks(pushed)
    assert declared.ticks(pushed + 1)[-1] > end


@pytest.mark.parametrize("zone", GAPS)
@pytest.mark.parametrize("kind", ["cron", "daily"])
def test_a_time_that_the_clock_skips_ticks_right_after_the_gap(
    db: Database, queue: Queue, clock: MovableClock, zone: str, kind: str
) -> None:
    day, skipped, after = GAPS[zone]
    before, _, next_day = days(day)
    cron = f"{skipped[3:]} {skipped[:2]} * * *"
    when: dict[str, Any] = {"cron": cron} if kind == "cron" else {"daily": skipped}
    start, end = at(zone, f"{before}T00:00"), at(zone, f"{next_day}T12:00")
    made_up(db, queue, clock, start, end, zone=zone, **when)
    assert ticks(queue) == [
        at(zone, f"{before}T{skipped}"),
        at(zone, f"{day}T{after}"),
        at(zone, f"{next_day}T{skipped}"),
    ]


@pytest.mark.parametrize("zone", REPEATS)
@pytest.mark.parametrize("kind", ["cron", "daily"])
def test_a_time_that_the_clock_shows_twice_ticks_the_first_time_alone(
    db: Database, queue: Queue, clock: MovableClock, zone: str, kind: str
) -> None:
    day, shown = REPEATS[zone]
    before, _, next_day = days(day)
    assert at(zone, f"{day}T{shown}") != at(zone, f"{day}T{shown}", fold=1)
    cron = f"{shown[3:]} {shown[:2]} * * *"
    when: dict[str, Any] = {"cron": cron} if kind == "cron" else {"daily": shown}
    start, end = at(zone, f"{before}T00:00"), at(zone, f"{next_day}T12:00")
    made_up(db, queue, clock, start, end, zone=zone, **when)
    assert ticks(queue) == [at(zone, f"{one}T{shown}") for one in (before, day, next_day)]


@pytest.mark.parametrize("zone", ["Europe/Zagreb", "America/New_York"])
def test_several_times_in_one_gap_tick_once_after_it(
    db: Database, queue: Queue, clock: MovableClock, zone: str
) -> None:
    day = GAPS[zone][0]
    start, end = at(zone, f"{day}T00:00"), at(zone, f"{day}T12:00")
    made_up(db, queue, clock, start, end, cron="*/15 2 * * *", zone=zone)
    assert ticks(queue) == [at(zone, f"{day}T03:00")]


@pytest.mark.parametrize("zone", ["Europe/Zagreb", "America/New_York"])
def test_what_ticks_every_hour_goes_by_the_time_that_passes(
    db: Database, queue: Queue, clock: MovableClock, zone: str
) -> None:
    for day, length in ((GAPS[zone][0], 23), (REPEATS[zone][0], 25)):
        start = at(zone, f"{day}T00:00")
        clock.set(start)
        hourly = db.schedule(f"hourly-{length}", cron="15 * * * *", zone=zone, queue="mail").ticks(length + 1)
        assert hourly == [start + minutes(15) + hours(hour) for hour in range(length + 1)]
        assert hourly[-1] == at(zone, f"{days(day)[2]}T00:15")


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
    db: Database, queue: Queue, face: Face, place: Place, clock: MovableClock
) -> None:
    names = [f"s-{number}" for number in range(10)]
    for name in names:
        db.schedule(name, every=minutes(1), queue="mail", missed="all")
    clock.advance(minutes(30))

    def maintain(queue: Queue) -> int:
        return sum(queue.database.maintain().pushed for _ in range(5))

    assert sum(race(face, place, clock, [maintain] * 4)) == 300
    pushed = Counter((str(message.headers["schedule"]), message.due_at) for message in queue.peek(1000))
    assert pushed == {(name, START + minutes(count)): 1 for name in names for count in range(1, 31)}


def test_who_read_a_schedule_before_another_ticked_it_pushes_nothing(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("often", every=minutes(10), queue="mail")
    clock.advance(minutes(10))
    stale = due_change(db)
    assert db.maintain().pushed == 1
    before = everything(db), db.schedules()
    assert not db.run(lambda: db.store.set_schedule(stale))
    assert (everything(db), db.schedules()) == before


def test_who_read_a_schedule_before_it_was_declared_anew_pushes_nothing(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("often", every=minutes(10), queue="mail", payload="old")
    clock.advance(minutes(10))
    stale = due_change(db)
    db.unschedule("often")
    assert not db.run(lambda: db.store.set_schedule(stale))
    db.schedule("often", every=minutes(10), queue="mail", payload="new")
    assert not db.run(lambda: db.store.set_schedule(stale))
    assert queue.count() == 0


def due_change(db: Database) -> ScheduleChange:
    """What somebody who sees the only schedule due is about to do."""
    found = db.run(lambda: db.store.schedules(due=True))
    return planning.tick(found.rows[0], found.now)


def test_a_tick_and_its_message_happen_together_or_not_at_all(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("often", every=minutes(10), queue="mail")
    clock.advance(minutes(10))
    change = due_change(db)
    before = db.schedules()

    def fail_late() -> Plan[None]:
        yield BEGIN
        assert (yield from db.store.set_schedule(change))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError if db.store.capabilities.transactions else NotSupported):
        db.run(fail_late)
    assert (db.schedules(), queue.count()) == (before, 0)
    assert db.maintain().pushed == 1


# Declared anew.


def test_to_declare_the_same_again_changes_nothing(
    db: Database, open_database: OpenDatabase, clock: MovableClock
) -> None:
    def declare(db: Database) -> Schedule:
        return db.schedule("often", every=hours(24), queue="mail", payload={"a": 1, "b": 2})

    first = declare(db)
    kept = db.run(db.store.schedules).rows
    clock.advance(hours(20))
    assert declare(open_database()) == first
    assert db.run(db.store.schedules).rows == kept


def test_another_rhythm_replaces_the_pending_tick(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("s", every=minutes(10), queue="mail", missed="all")
    clock.advance(minutes(25))
    assert db.schedule("s", every=minutes(7), queue="mail", missed="all").next_at == START + minutes(32)
    assert db.maintain().pushed == 0
    assert db.schedule("s", cron="0 14 * * *", queue="mail").next_at == datetime(2026, 3, 1, 14, tzinfo=UTC)
    assert len(db.schedules()) == 1
    clock.advance(hours(2))
    db.maintain()
    assert ticks(queue) == [datetime(2026, 3, 1, 14, tzinfo=UTC)]


def test_the_same_rhythm_keeps_the_pending_tick_for_the_new_content(
    db: Database, queue: Queue, other: Queue, clock: MovableClock
) -> None:
    db.schedule("s", every=minutes(10), queue="mail", payload="old")
    clock.advance(minutes(9))
    assert db.schedule("s", every=minutes(10), queue="billing", payload="new").next_at == START + minutes(10)
    clock.advance(minutes(1))
    assert db.maintain().pushed == 1
    assert queue.count() == 0
    assert [message.payload for message in other.find()] == ["new"]


def test_a_schedule_that_is_removed_ticks_no_more_and_what_it_pushed_stays(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("s", every=minutes(10), queue="mail")
    clock.advance(minutes(10))
    db.maintain()
    assert db.unschedule("s")
    assert not db.unschedule("s")
    clock.advance(hours(1))
    assert db.maintain().pushed == 0
    assert db.schedules() == []
    assert queue.count() == 1


# What cannot be.


def test_a_schedule_that_cannot_be_read_holds_up_no_other(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("readable", every=hours(1), queue="mail")
    kept = db.run(db.store.schedules).rows[0]
    somewhere_else = kept.definition.replace('"every"', '"zone":"Mars/Olympus","every"')
    for name, text in (("another-host", somewhere_else), ("another-version", '{"queue": 7}')):
        alien = Planned(name, text, kept.next_at, None, 1)
        change = ScheduleChange(name, None, alien)
        assert db.run(lambda change=change: db.store.set_schedule(change))  # type: ignore[misc]
    clock.advance(hours(1))
    done = db.maintain()
    assert (done.pushed, sorted(done.failed)) == (1, ["another-host", "another-version"])
    assert "Mars/Olympus" in str(done.failed["another-host"])
    assert "another-version" in str(done.failed["another-version"])
    assert db.schedule("another-version", every=hours(1), queue="mail").next_at == START + hours(2)
    assert db.unschedule("another-host")
    assert db.maintain().failed == {}


Call = Callable[[Database], Any]

BAD: dict[str, tuple[Call, type[DuerowError], str]] = {
    "nothing to go by": (lambda db: db.schedule("s", queue="q"), ConfigurationError, "not none"),
    "cron and every": (
        lambda db: db.schedule("s", queue="q", cron="* * * * *", every=hours(1)),
        ConfigurationError,
        "not cron and every",
    ),
    "four fields": (lambda db: db.schedule("s", queue="q", cron="* * * *"), ConfigurationError, "has 4 fields, not 5"),
    "six fields": (lambda db: db.schedule("s", queue="q", cron="0 * * * * *"), ConfigurationError, "has 6 fields"),
    "no minute": (lambda db: db.schedule("s", queue="q", cron="61 * * * *"), ConfigurationError, "bad minute"),
    "no day": (lambda db: db.schedule("s", queue="q", cron="0 0 31 2 *"), ConfigurationError, "bad day-of-month"),
    "no text": (lambda db: db.schedule("s", queue="q", cron=5), ConfigurationError, "is no cron expression"),  # type: ignore[arg-type]
    "too long": (lambda db: db.schedule("s", queue="q", cron="9" * 9999), ConfigurationError, "is no cron expression"),
    "no zone": (
        lambda db: db.schedule("s", queue="q", cron="0 3 * * *", zone="Europe/Atlantis"),
        ConfigurationError,
        "no time zone 'Europe/Atlantis'",
    ),
    "half a zone": (
        lambda db: db.schedule("s", queue="q", daily="08:00", zone="Europe"),
        ConfigurationError,
        "'Europe'",
    ),
    "a path": (lambda db: db.schedule("s", queue="q", daily="08:00", zone="../x"), ConfigurationError, "no time zone"),
    "an interval's zone": (
        lambda db: db.schedule("s", queue="q", every=hours(1), zone="UTC"),
        ConfigurationError,
        "same in all time zones",
    ),
    "no interval": (lambda db: db.schedule("s", queue="q", every=60), InvalidMessage, "every is a timedelta"),  # type: ignore[arg-type]
    "a short interval": (lambda db: db.schedule("s", queue="q", every=seconds(0.5)), InvalidMessage, "below 0:00:01"),
    "a naive start": (
        lambda db: db.schedule("s", queue="q", every=hours(1), start=datetime(2027, 1, 1)),
        InvalidMessage,
        "start has no time zone",
    ),
    "no time": (lambda db: db.schedule("s", queue="q", daily="25:00"), ConfigurationError, "no time of the day"),
    "seconds": (lambda db: db.schedule("s", queue="q", daily=time(8, 0, 1)), ConfigurationError, "whole minutes"),
    "no times": (lambda db: db.schedule("s", queue="q", daily=[]), ConfigurationError, "at least one time"),
    "a number of times": (lambda db: db.schedule("s", queue="q", daily=8), ConfigurationError, "no time for daily"),  # type: ignore[arg-type]
    "no word": (lambda db: db.schedule("s", queue="q", every=hours(1), missed="never"), ConfigurationError, "'once'"),  # type: ignore[arg-type]
    "a negative grace": (
        lambda db: db.schedule("s", queue="q", every=hours(1), grace=-hours(1)),
        InvalidMessage,
        "grace",
    ),
    "no name": (
        lambda db: db.schedule("", queue="q", every=hours(1)),
        ConfigurationError,
        "a schedule cannot be called",
    ),
    "no queue": (lambda db: db.schedule("s", queue="a b", every=hours(1)), InvalidMessage, "queue cannot be called"),
    "no JSON": (lambda db: db.schedule("s", queue="q", every=hours(1), payload={1}), InvalidMessage, "payload"),
    "no group": (lambda db: db.schedule("s", queue="q", every=hours(1), group=""), InvalidMessage, "group"),
    "no priority": (lambda db: db.schedule("s", queue="q", every=hours(1), priority=99999), InvalidMessage, "priority"),
    "our header": (
        lambda db: db.schedule("s", queue="q", every=hours(1), headers={"tick": 1}),
        ConfigurationError,
        "'tick' is set by each tick",
    ),
    "removing no name": (lambda db: db.unschedule("a b"), ConfigurationError, "a schedule cannot be called"),
}


@pytest.mark.parametrize(("call", "error", "said"), BAD.values(), ids=BAD)
def test_a_schedule_that_cannot_be_is_told_and_changes_nothing(
    db: Database, call: Call, error: type[DuerowError], said: str
) -> None:
    db.schedule("s", queue="mail", cron="0 3 * * *")
    before = db.run(db.store.schedules)
    with pytest.raises(error, match=said):
        call(db)
    assert db.run(db.store.schedules) == before


def test_a_schedule_that_would_never_tick_is_refused(db: Database) -> None:
    with pytest.raises(ConfigurationError, match="would never tick"):
        db.schedule("s", queue="mail", cron="0 0 */5 2 MON#5")  # February's fifth Monday is the 29th
    assert db.schedules() == []


def test_what_is_kept_is_text_that_any_program_can_read(db: Database) -> None:
    db.schedule("s", queue="mail", cron="0  3 * * mon", zone="Europe/Zagreb", payload={"a": 1})
    assert msgspec.json.decode(db.run(db.store.schedules).rows[0].definition) == {
        "queue": "mail",
        "kind": "json",
        "payload": '{"a":1}',
        "rhythm": {"cron": "0 3 * * mon", "zone": "Europe/Zagreb"},
    }
