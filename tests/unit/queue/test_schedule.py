"""When a recurrence ticks, compared with a second way to find it out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duerow.queue.recurrence import Recurrence, recurrence_of
from duerow.queue.schedule import due_ticks

ZONES = ["UTC", "Europe/Zagreb", "America/New_York", "Australia/Lord_Howe", "America/Asuncion", "Asia/Tokyo"]
MINUTE = timedelta(minutes=1)


def shown(moment: datetime, zone: ZoneInfo) -> datetime:
    """What a clock on a wall shows."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_shown(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which a clock shows this or, where it skips that, what comes right after the gap."""
    offsets = [zone.utcoffset(wall + timedelta(days=days)) or timedelta(0) for days in (-1, 1)]
    moments = sorted((wall - offset).replace(tzinfo=UTC) for offset in offsets)
    exact = [moment for moment in moments if shown(moment, zone) == wall]
    if exact:
        return exact[0]
    moment = moments[0]
    while shown(moment, zone) < wall:
        moment += MINUTE
    return moment


def by_hand(minutes: set[int], hours: set[int], weekdays: set[int], zone: ZoneInfo, since: date) -> Iterator[datetime]:
    """The ticks at these minutes of these hours on these days of the week (0: Sunday), one after the other."""
    for days in range(1, 400):
        day = since + timedelta(days=days)
        if day.isoweekday() % 7 in weekdays:
            walls = [datetime.combine(day, time(hour, minute)) for hour in hours for minute in minutes]
            yield from sorted({first_shown(wall, zone) for wall in walls})


moments = st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))
some_minutes = st.sets(st.integers(0, 59), min_size=1, max_size=4)
some_hours = st.sets(st.integers(0, 23), min_size=1, max_size=5)
some_weekdays = st.sets(st.integers(0, 6), min_size=1)


@given(moments, st.sampled_from(ZONES), some_minutes, some_hours, some_weekdays)
@example(datetime(2026, 3, 28, 23, tzinfo=UTC), "Europe/Zagreb", {0, 30}, {2, 3}, set(range(7)))
@example(datetime(2026, 10, 25, 0, 40, tzinfo=UTC), "Europe/Zagreb", {30}, {2}, set(range(7)))
@example(datetime(2026, 10, 25, 1, 20, tzinfo=UTC), "Europe/Zagreb", {15, 30}, {2, 3}, set(range(7)))
@example(datetime(2026, 11, 1, 6, 10, tzinfo=UTC), "America/New_York", {0, 5, 59}, {0, 1, 2}, set(range(7)))
def test_times_of_the_day_tick_when_a_clock_on_the_wall_first_shows_them(
    moment: datetime, zone: str, minutes: set[int], hours: set[int], weekdays: set[int]
) -> None:
    fields = (",".join(map(str, sorted(values))) for values in (minutes, hours, weekdays))
    minute, hour, weekday = fields
    recurrence = recurrence_of(cron=f"{minute} {hour} * * {weekday}", zone=zone)
    ticks = by_hand(minutes, hours, weekdays, ZoneInfo(zone), moment.date() - timedelta(days=3))
    expected = list(islice((tick for tick in ticks if tick > moment), 5))
    first = recurrence.after(moment, moment)
    assert first is not None
    assert list(islice(recurrence.following(first), 5)) == expected


@given(moments, st.sampled_from(ZONES), some_minutes)
def test_what_ticks_every_hour_ticks_whenever_a_clock_shows_one_of_its_minutes(
    moment: datetime, zone: str, minutes: set[int]
) -> None:
    recurrence = recurrence_of(cron=f"{','.join(map(str, minutes))} * * * *", zone=zone)
    tick = recurrence.after(moment, moment)
    looked_at = moment.replace(second=0, microsecond=0) + MINUTE
    while shown(looked_at, ZoneInfo(zone)).minute not in minutes:
        looked_at += MINUTE
    assert tick == looked_at


@pytest.mark.parametrize(
    ("star", "plain"),
    [
        ("*/15 2 * * *", "0,15,30,45 2 * * *"),
        ("0 */2 * * *", "0 0,2,4,6,8,10,12,14,16,18,20,22 * * *"),
        ("* 2 * * *", "0-59 2 * * *"),
        ("5 0-23 * * *", "5 * * * *"),
    ],
)
@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25)])
def test_two_ways_to_write_the_same_times_tick_alike(star: str, plain: str, day: date) -> None:
    start = datetime.combine(day, time(), ZoneInfo("Europe/Zagreb")).astimezone(UTC)
    ticks = [
        recurrence_of(cron=cron, zone="Europe/Zagreb").between(start, start, start + timedelta(days=1))
        for cron in (star, plain)
    ]
    assert list(ticks[0]) == list(ticks[1])


intervals = st.timedeltas(timedelta(seconds=1), timedelta(days=3))


@given(intervals, st.timedeltas(timedelta(0), timedelta(days=30)))
def test_the_latest_tick_of_an_interval_is_followed_by_one_that_is_later(every: timedelta, passed: timedelta) -> None:
    recurrence, tick = Recurrence(every=every), datetime(2026, 1, 1, tzinfo=UTC)
    latest, after = recurrence.latest(tick, tick + passed), recurrence.after(tick + passed, tick)
    assert after is not None
    assert latest <= tick + passed < after
    assert after - latest == every
    assert (latest - tick) % every == timedelta(0)


@given(moments, st.sampled_from(ZONES), some_minutes, some_hours, st.timedeltas(timedelta(0), timedelta(days=20)))
def test_the_latest_tick_of_a_clock_is_followed_by_one_that_is_later(
    moment: datetime, zone: str, minutes: set[int], hours: set[int], passed: timedelta
) -> None:
    minute, hour = (",".join(map(str, values)) for values in (minutes, hours))
    recurrence = recurrence_of(cron=f"{minute} {hour} * * *", zone=zone)
    tick = recurrence.after(moment, moment)
    assert tick is not None
    latest, after = recurrence.latest(tick, tick + passed), recurrence.after(tick + passed, tick)
    assert after is not None
    assert latest <= tick + passed < after
    assert recurrence.after(latest, tick) == after


def test_many_missed_ticks_are_handed_out_a_part_at_a_time() -> None:
    recurrence, tick = Recurrence(every=timedelta(seconds=1)), datetime(2026, 1, 1, tzinfo=UTC)
    now = tick + timedelta(seconds=9)
    parts: list[list[datetime]] = []
    waited: datetime | None = tick
    while waited is not None and waited <= now:
        ticks, waited = due_ticks(recurrence, waited, now, "all", timedelta(0), most=4)
        parts.append(ticks)
    assert [len(part) for part in parts] == [4, 4, 2]
    assert [at for part in parts for at in part] == [tick + timedelta(seconds=count) for count in range(10)]


def test_a_year_of_missed_ticks_is_left_behind_without_counting_them() -> None:
    tick = datetime(2026, 1, 1, tzinfo=UTC)
    now = tick + timedelta(days=365_000)
    ticks, after = due_ticks(Recurrence(every=timedelta(seconds=1)), tick, now, "once", timedelta(0))
    assert (ticks, after) == ([now - timedelta(seconds=1), now], now + timedelta(seconds=1))


def test_time_ends_with_the_year_9999() -> None:
    end = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert recurrence_of(every=timedelta(hours=1)).after(end, end) is None
    assert recurrence_of(cron="0 0 * * *").after(end, end) is None
