"""Schedules tick once for each wall-clock time, even when daylight saving time begins or ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from duerow import Database, Queue
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.schedules import at, ticks

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
    """Return the day before, the day itself and the day after."""
    middle = datetime.fromisoformat(day)
    return [f"{middle + timedelta(days=days):%Y-%m-%d}" for days in (-1, 0, 1)]


def made_up(db: Database, queue: Queue, clock: MovableClock, start: datetime, end: datetime, **when: Any) -> None:
    """Let a schedule tick from one time to another, and check that the predicted ticks became messages."""
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
