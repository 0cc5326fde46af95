"""When a schedule ticks: at the times of a cron expression, at an interval, or at times of the day.

Some wall-clock times occur twice or never because the clocks are put back or forward:

- An expression for every hour (`15 * * * *`) and an interval follow elapsed time: a day on which the clocks change has
  23 or 25 hours.
- Any other expression names times of the day. A time that the clock skips is postponed to the first moment after the
  gap; several times in one gap become one tick. A time that occurs twice ticks only the first time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from duerow.clock import MICROSECOND
from duerow.errors import ConfigurationError, shown
from duerow.message import check_moment, check_span
from duerow.phrases import Argument, Hint

Daily = time | str | Iterable[time | str]
"""One or more times of the day, as `time(8, 30)` or "08:30"."""


SHORTEST: Final = timedelta(seconds=1)
"""The shortest interval."""


_LONGEST_EXPRESSION: Final = 200


class Recurrence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """When a schedule ticks: by exactly one of `cron`, `every` and `daily`.

    Attributes:
        cron: an expression with five fields: minute, hour, day of the month, month, day of the week.
        every: an interval.
        daily: times of each day, as HH:MM.
        zone: the time zone of `cron` and `daily`, by its name in the IANA database.
        start: the earliest time of a tick; intervals are counted from here.
    """

    cron: str | None = None
    every: timedelta | None = None
    daily: tuple[str, ...] | None = None
    zone: str | None = None
    start: datetime | None = None

    def checked(self) -> Recurrence:
        """Return the recurrence, checked as if it were declared here: it may have been stored elsewhere.

        Raises:
            ConfigurationError, InvalidMessage: it could not be declared here; see `recurrence_of`.
        """
        return recurrence_of(self.cron, self.every, self.daily, self.zone, self.start)

    def first(self, declared_at: datetime) -> datetime | None:
        """Return the first tick of a schedule that is declared now; None if it never ticks.

        Without `start` the tick is later than now; the first tick of an interval is one interval later. With `start` it
        may be now.
        """
        if self.start is None:
            return self.after(declared_at, declared_at)
        begin = max(self.start, declared_at)
        if self.every is not None and begin == self.start:
            return begin
        return self.after(begin - MICROSECOND, self.start)

    def after(self, moment: datetime, tick: datetime) -> datetime | None:
        """Return the first tick after a moment; None if there is none. Intervals are counted from `tick`."""
        try:
            if self.every is not None:
                return tick + ((moment - tick) // self.every + 1) * self.every
            ticks = (_after(expression, self._zone, moment) for expression in self._expressions)
            return min((tick for tick in ticks if tick is not None), default=None)
        except OverflowError:  # beyond the year 9999
            return None

    def following(self, tick: datetime) -> Iterator[datetime]:
        """Yield a tick and all that follow it."""
        following: datetime | None = tick
        while following is not None:
            yield following
            following = self.after(following, following)

    def between(self, tick: datetime, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the ticks from one moment to another, both included; intervals are counted from `tick`."""
        first = self.after(start - MICROSECOND, tick)
        for following in () if first is None else self.following(first):
            if following > end:
                return
            yield following

    def latest(self, tick: datetime, end: datetime) -> datetime:
        """Return the last tick up to a moment, which must not be before `tick`; if there is none, return `tick`."""
        if self.every is not None:
            return tick + (end - tick) // self.every * self.every
        window = timedelta(hours=1)
        while end - window > tick:
            if (last := max(self.between(tick, end - window, end), default=None)) is not None:
                return last
            window *= 8
        return max(self.between(tick, tick, end), default=tick)  # a stored tick may have been edited by hand

    def __str__(self) -> str:
        start = "" if self.start is None else f" from {self.start.isoformat()} on"
        return f"{self.cron or self.every or self.daily}{start}"

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone or "UTC")

    @property
    def _expressions(self) -> tuple[str, ...]:
        if self.cron is not None:
            return (_by_the_wall(self.cron),)
        return tuple(f"{int(at[3:])} {int(at[:2])} * * *" for at in self.daily or ())


def recurrence_of(
    cron: str | None = None,
    every: timedelta | None = None,
    daily: Daily | None = None,
    zone: str | None = None,
    start: datetime | None = None,
) -> Recurrence:
    """Return when a schedule ticks.

    Raises:
        ConfigurationError: not exactly one of cron, every and daily is given, or one of them or the zone is invalid.
        InvalidMessage: the interval or the start is out of bounds, or the start has no time zone.
    """
    given = [name for name, value in (("cron", cron), ("every", every), ("daily", daily)) if value is not None]
    if len(given) != 1:
        choices = (Argument("cron"), ", ", Argument("every"), " and ", Argument("daily"))
        raise ConfigurationError(
            "a schedule must have exactly one of ", *choices, f", not {' and '.join(given) or 'none'}"
        )
    begin = check_moment("start", start)
    if every is not None:
        if zone is not None:
            raise ConfigurationError(
                "an interval is the same in all time zones; leave ", Argument("zone"), f" out ({shown(zone)})"
            )
        return Recurrence(every=check_span("every", every, SHORTEST), start=begin)
    named = check_zone("UTC" if zone is None else zone)
    if cron is not None:
        return Recurrence(cron=check_cron(cron), zone=named, start=begin)
    return Recurrence(daily=_check_daily(daily), zone=named, start=begin)


def _after(expression: str, zone: ZoneInfo, moment: datetime) -> datetime | None:
    """Return the first tick of an expression after a moment, in UTC."""
    for tick in CronSim(expression, moment.astimezone(zone)):
        # In an hour that occurs twice, the search starts in the first one, so it may find a tick that has passed.
        if (at := tick.astimezone(UTC)) > moment:
            return at
    return None


@lru_cache(maxsize=256)
def _by_the_wall(expression: str) -> str:
    """Return an expression whose first two fields contain a star only if it is for every hour.

    If there is a star, the library follows elapsed time, as Debian's cron does: `*/15 2 * * *` would be skipped on one
    day of the year and run eight times on another.
    """
    fields = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    minutes = ",".join(map(str, sorted(fields.minutes)))
    hours = "*" if len(fields.hours) == 24 else ",".join(map(str, sorted(fields.hours)))
    return " ".join((minutes, hours, *fields.parts[3:]))


def check_cron(expression: object) -> str:
    """Return a cron expression with single spaces, else raise ConfigurationError."""
    hint = "write minute, hour, day of the month, month and day of the week, such as '0 3 * * MON-FRI'"
    if not isinstance(expression, str) or len(expression) > _LONGEST_EXPRESSION:
        raise ConfigurationError(f"{shown(expression)} is not a cron expression: {hint}")
    fields = expression.split()
    if len(fields) != 5:
        raise ConfigurationError(f"{expression!r} is not a cron expression: it has {len(fields)} fields, not 5; {hint}")
    try:
        _by_the_wall(expression)
    except CronSimError as error:
        raise ConfigurationError(f"{expression!r} is not a cron expression: {str(error).lower()}; {hint}") from error
    return " ".join(fields)


def _check_daily(daily: object) -> tuple[str, ...]:
    several = [daily] if isinstance(daily, time | str) or not isinstance(daily, Iterable) else list(daily)
    times = sorted({_check_time(at) for at in several})
    if not times:
        raise ConfigurationError(Argument("daily"), " needs at least one time, such as ", Hint("time(8, 30)", "08:30"))
    return tuple(times)


def _check_time(at: object) -> str:
    hint = ("give a time in whole minutes without a zone, such as ", Hint("time(8, 30) or '08:30'", "08:30"))
    parsed = at
    if isinstance(at, str):
        try:
            parsed = time.fromisoformat(at)
        except ValueError as error:
            raise ConfigurationError(f"{shown(at)} is not a time of day: ", *hint) from error
    if not isinstance(parsed, time) or parsed.tzinfo is not None or parsed.second or parsed.microsecond:
        raise ConfigurationError(f"{shown(at)} is not a time for ", Argument("daily"), ": ", *hint)
    return f"{parsed:%H:%M}"


def check_zone(name: object) -> str:
    """Return the name of a time zone that this host has, else raise ConfigurationError."""
    if isinstance(name, str):
        try:
            return ZoneInfo(name).key
        except (LookupError, ValueError, OSError):
            pass
    raise ConfigurationError(
        f"this host has no time zone {shown(name)}; give a name such as 'Europe/Zagreb'. "
        "If the host has no time zones at all, run `pip install tzdata`"
    )
