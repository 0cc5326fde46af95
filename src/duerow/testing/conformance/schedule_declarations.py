"""Schedules can be declared again, replaced, paused and removed; invalid ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

import msgspec
import pytest

from duerow import Database, Queue, Schedule
from duerow.errors import ConfigurationError, DuerowError, InvalidMessage, UnknownName
from duerow.store import Planned, ScheduleChange
from duerow.testing.clock import START, MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.conformance.schedules import ticks


def test_to_declare_the_same_again_changes_nothing(
    db: Database, open_database: OpenDatabase, clock: MovableClock
) -> None:
    def declare(db: Database) -> Schedule:
        return db.schedule("often", every=hours(24), queue="mail", payload={"a": 1, "b": 2})

    first = declare(db)
    kept = db.run(db.store.metadata.schedules).rows
    clock.advance(hours(20))
    assert declare(open_database()) == first
    assert db.run(db.store.metadata.schedules).rows == kept


def test_another_recurrence_replaces_the_pending_tick(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("s", every=minutes(10), queue="mail", missed="all")
    clock.advance(minutes(25))
    assert db.schedule("s", every=minutes(7), queue="mail", missed="all").next_at == START + minutes(32)
    assert db.maintain().pushed == 0
    assert db.schedule("s", cron="0 14 * * *", queue="mail").next_at == datetime(2026, 3, 1, 14, tzinfo=UTC)
    assert len(db.schedules()) == 1
    clock.advance(hours(2))
    db.maintain()
    assert ticks(queue) == [datetime(2026, 3, 1, 14, tzinfo=UTC)]


def test_the_same_recurrence_keeps_the_pending_tick_for_the_new_content(
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


def test_a_paused_schedule_ticks_no_more_until_it_is_resumed(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("s", every=minutes(10), queue="mail", payload="tick")
    assert (db.pause_schedule("s"), db.pause_schedule("s")) == (True, False)
    assert (db.schedules()[0].paused, db.schedules()[0].next_at) == (True, None)
    clock.advance(minutes(35))
    assert db.maintain().pushed == 0
    assert (db.resume_schedule("s"), db.resume_schedule("s")) == (True, False)
    assert (db.schedules()[0].paused, db.schedules()[0].next_at) == (False, START + minutes(40))
    clock.advance(minutes(5))
    assert db.maintain().pushed == 1
    assert ticks(queue) == [START + minutes(40)]


def test_a_schedule_that_is_declared_again_stays_paused(db: Database, clock: MovableClock) -> None:
    db.schedule("s", every=minutes(10), queue="mail")
    db.pause_schedule("s")
    assert db.schedule("s", every=minutes(10), queue="mail", payload="new").paused
    assert db.schedule("s", every=minutes(30), queue="mail", payload="new").next_at is None
    clock.advance(minutes(5))
    assert db.resume_schedule("s")
    resumed = db.schedules()[0]
    assert (resumed.payload, resumed.next_at) == ("new", START + minutes(30))


def test_the_message_of_a_schedule_is_pushed_at_once_besides_its_ticks(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("s", every=minutes(10), queue="mail", payload={"a": 1}, headers={"from": "here"}, priority=-3)
    pushed = db.push_scheduled("s")
    message = queue.get(pushed.id)
    assert message is not None
    assert (message.payload, message.priority, dict(message.headers)) == (
        {"a": 1},
        -3,
        {"from": "here", "schedule": "s"},
    )
    assert db.schedules()[0].next_at == START + minutes(10)


def test_a_schedule_that_is_not_there_cannot_be_paused_resumed_or_pushed(db: Database) -> None:
    for change in (db.pause_schedule, db.resume_schedule, db.push_scheduled):
        with pytest.raises(UnknownName, match="no schedule 'nobody'"):
            change("nobody")


def test_a_schedule_that_cannot_be_read_holds_up_no_other(db: Database, queue: Queue, clock: MovableClock) -> None:
    db.schedule("readable", every=hours(1), queue="mail")
    kept = db.run(db.store.metadata.schedules).rows[0]
    somewhere_else = kept.definition.replace('"every"', '"zone":"Mars/Olympus","every"')
    for name, text in (("another-host", somewhere_else), ("another-version", '{"queue": 7}')):
        alien = Planned(name, text, kept.next_at, None, 1)
        change = ScheduleChange(name, None, alien)
        assert db.run(lambda change=change: db.store.metadata.set_schedule(change))  # type: ignore[misc]
    clock.advance(hours(1))
    done = db.maintain()
    assert (done.pushed, sorted(done.failed)) == (1, ["another-host", "another-version"])
    assert "Mars/Olympus" in str(done.failed["another-host"])
    assert "another-version" in str(done.failed["another-version"])
    assert db.schedule("another-version", every=hours(1), queue="mail").next_at == START + hours(2)
    assert db.unschedule("another-host")
    assert db.maintain().failed == {}


def test_a_schedule_whose_stored_times_make_no_sense_holds_up_no_other(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("readable", every=hours(1), queue="mail")
    kept = db.run(db.store.metadata.schedules).rows[0]
    odd = ['"daily":[]', '"daily":["99:99"]', '"daily":["noon"]', '"every":"PT0S"', '"every":"-PT5S"']
    odd += ['"cron":"* * 30 2 *"', '"cron":"* * * * *","every":"PT5S"', '"zone":"UTC"']
    for number, times in enumerate(odd):
        definition = f'{{"queue":"mail","kind":"json","payload":"1","rhythm":{{{times}}}}}'
        alien = msgspec.structs.replace(kept, name=f"odd-{number}", definition=definition)
        change = ScheduleChange(alien.name, None, alien)
        assert db.run(lambda change=change: db.store.metadata.set_schedule(change))  # type: ignore[misc]
    clock.advance(hours(1))
    done = db.maintain()
    assert done.pushed == 1
    assert sorted(done.failed) == [f"odd-{number}" for number in range(len(odd))]
    assert all(name in str(error) for name, error in done.failed.items())
    for name in done.failed:
        with pytest.raises(ConfigurationError, match=name):
            db.pause_schedule(name)
        assert db.unschedule(name)
    assert [one.name for one in db.schedules()] == ["readable"]


def test_a_schedule_goes_on_from_a_tick_that_was_edited_by_hand(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    db.schedule("daily", daily="08:30", queue="mail")
    kept = db.run(db.store.metadata.schedules).rows[0]
    edited = msgspec.structs.replace(kept, next_at=START - minutes(7))
    assert db.run(lambda: db.store.metadata.set_schedule(ScheduleChange("daily", kept.version, edited)))
    done = db.maintain()
    assert (done.pushed, done.failed) == (1, {})
    assert db.schedules()[0].next_at == kept.next_at


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
    "no text": (lambda db: db.schedule("s", queue="q", cron=5), ConfigurationError, "is not a cron expression"),  # type: ignore[arg-type]
    "too long": (
        lambda db: db.schedule("s", queue="q", cron="9" * 9999),
        ConfigurationError,
        "is not a cron expression",
    ),
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
    "no interval": (lambda db: db.schedule("s", queue="q", every=60), InvalidMessage, "every must be a timedelta"),  # type: ignore[arg-type]
    "a short interval": (lambda db: db.schedule("s", queue="q", every=seconds(0.5)), InvalidMessage, "below 0:00:01"),
    "a naive start": (
        lambda db: db.schedule("s", queue="q", every=hours(1), start=datetime(2027, 1, 1)),
        InvalidMessage,
        "start has no time zone",
    ),
    "no time": (lambda db: db.schedule("s", queue="q", daily="25:00"), ConfigurationError, "not a time of day"),
    "seconds": (lambda db: db.schedule("s", queue="q", daily=time(8, 0, 1)), ConfigurationError, "whole minutes"),
    "no times": (lambda db: db.schedule("s", queue="q", daily=[]), ConfigurationError, "at least one time"),
    "a number of times": (lambda db: db.schedule("s", queue="q", daily=8), ConfigurationError, "not a time for daily"),  # type: ignore[arg-type]
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
    before = db.run(db.store.metadata.schedules)
    with pytest.raises(error, match=said):
        call(db)
    assert db.run(db.store.metadata.schedules) == before


def test_a_schedule_that_would_never_tick_is_refused(db: Database) -> None:
    with pytest.raises(ConfigurationError, match="would never tick"):
        db.schedule("s", queue="mail", cron="0 0 */5 2 MON#5")  # February's fifth Monday is the 29th
    assert db.schedules() == []


def test_what_is_kept_is_text_that_any_program_can_read(db: Database) -> None:
    db.schedule("s", queue="mail", cron="0  3 * * mon", zone="Europe/Zagreb", payload={"a": 1})
    assert msgspec.json.decode(db.run(db.store.metadata.schedules).rows[0].definition) == {
        "queue": "mail",
        "kind": "json",
        "payload": '{"a":1}',
        "rhythm": {"cron": "0 3 * * mon", "zone": "Europe/Zagreb"},
    }
