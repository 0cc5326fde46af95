"""Schedules: messages that are pushed at wall-clock times, or at equal intervals.

Values and pure functions: when a rhythm ticks, which ticks to push now, and what a store keeps. A tick becomes a
message in the transaction that advances its schedule to the next tick (see `Store.set_schedule`), so each tick is
pushed once, however many processes try.

Wall-clock times that occur twice, or never, because the clock is put back or forward:

- An expression for every hour (`15 * * * *`) and an interval follow elapsed time: such a day has 23 or 25 hours.
- Any other expression names times of the day. A time that the clock skips is postponed to the first moment after the
  gap; several times in one gap become one tick. A time that occurs twice ticks only the first time.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from duerow.clock import MICROSECOND
from duerow.errors import CodecError, ConfigurationError, DuerowError
from duerow.message import Scalar, check_group, check_moment, check_priority, check_queue_name, check_span
from duerow.payload import codec
from duerow.payload.encoding import PLAIN, PayloadReader, StoredPayload
from duerow.phrases import Argument, Hint
from duerow.queue import mapping
from duerow.store import Entry, Planned, ScheduleChange, SchedulesFound

Missed = Literal["skip", "once", "all"]
"""What happens to ticks that were not pushed in time."""

Daily = time | str | Iterable[time | str]
"""One or more times of the day, as `time(8, 30)` or "08:30"."""

MISSED: Final[tuple[Missed, ...]] = get_args(Missed)

GRACE: Final = timedelta(seconds=60)
"""How late a tick may be before it counts as missed."""

SHORTEST: Final = timedelta(seconds=1)
"""The shortest interval."""

MOST_AT_ONCE: Final = 100
"""How many ticks of one schedule are pushed in one transaction."""

SCHEDULE: Final = "schedule"
"""The header that names the schedule that pushed a message."""

TICK: Final = "tick"
"""The header that holds the scheduled time of the tick, in ISO 8601 and UTC."""

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
_LONGEST_EXPRESSION: Final = 200


class Rhythm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
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

    def first(self, declared_at: datetime) -> datetime | None:
        """Return the first tick of a schedule that is declared now; None if it never ticks.

        Without `start` the tick is later than now, for an interval by one interval. With `start` it may be now.
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
        """Return the last tick up to a moment that is not before `tick`, which is itself a tick."""
        if self.every is not None:
            return tick + (end - tick) // self.every * self.every
        window = timedelta(hours=1)
        while end - window > tick:
            if (last := max(self.between(tick, end - window, end), default=None)) is not None:
                return last
            window *= 8
        return max(self.between(tick, tick, end))

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone or "UTC")

    @property
    def _expressions(self) -> tuple[str, ...]:
        if self.cron is not None:
            return (_by_the_wall(self.cron),)
        return tuple(f"{int(at[3:])} {int(at[:2])} * * *" for at in self.daily or ())


class ScheduleDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a schedule does, as a store keeps it: as JSON. Payload and headers are already text."""

    queue: str
    kind: str
    payload: str
    headers: str | None = None
    group: str | None = None
    priority: int = 0
    rhythm: Rhythm
    missed: Missed = "once"
    grace: timedelta = GRACE


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is kept in the database; made by `Database.schedule`.

    Attributes:
        name: the schedule's name.
        queue: the queue that its messages go to.
        payload: the payload of each message.
        headers: the headers of each message, besides `schedule` and `tick`.
        group: the group of each message, if any.
        priority: the priority of each message.
        cron, every, daily: when it ticks; one of them is set.
        zone: the time zone of `cron` and `daily`.
        start: the earliest time of a tick.
        missed: what happens to ticks that were not pushed in time.
        grace: how late a tick may be before it counts as missed.
        next_at: the next tick; None: there will be none.
        last_at: the last tick that became a message; None: there was none.
    """

    name: str
    queue: str
    payload: Any
    headers: Mapping[str, Scalar]
    group: str | None
    priority: int
    cron: str | None
    every: timedelta | None
    daily: tuple[str, ...] | None
    zone: str | None
    start: datetime | None
    missed: Missed
    grace: timedelta
    next_at: datetime | None
    last_at: datetime | None

    def ticks(self, count: int) -> list[datetime]:
        """Return the next ticks, at most `count`, in UTC."""
        if type(count) is not int or count < 0:
            raise ConfigurationError(f"count is a number of ticks, not {count!r:.80}")
        if self.next_at is None:
            return []
        rhythm = Rhythm(cron=self.cron, every=self.every, daily=self.daily, zone=self.zone, start=self.start)
        return list(islice(rhythm.following(self.next_at), count))


class Maintained(msgspec.Struct, frozen=True):
    """What one round of `Database.maintain` did.

    Attributes:
        pushed: how many messages schedules pushed.
        next_in: how long until the next tick of any schedule; None: there will be none.
        failed: the schedules that could not tick, and why; the next round tries them again.
        pruned: how many expired turns and remembered keys were removed.
    """

    pushed: int
    next_in: timedelta | None
    failed: Mapping[str, DuerowError]
    pruned: int = 0


# Checks of users' arguments.


def check_schedule_name(name: object) -> str:
    """Return the name if it is a valid schedule name, else raise ConfigurationError."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"a schedule cannot be called {name!r:.120}: "
            "use 1 to 100 ASCII letters, digits and the characters _ . : / -"
        )
    return name


def rhythm_of(
    cron: str | None = None,
    every: timedelta | None = None,
    daily: Daily | None = None,
    zone: str | None = None,
    start: datetime | None = None,
) -> Rhythm:
    """Return when a schedule ticks.

    Raises:
        ConfigurationError: not exactly one of cron, every and daily is given, or one of them or the zone is invalid.
        InvalidMessage: the interval or the start is out of bounds, or the start has no time zone.
    """
    given = [name for name, value in (("cron", cron), ("every", every), ("daily", daily)) if value is not None]
    if len(given) != 1:
        rhythms = (Argument("cron"), ", ", Argument("every"), " and ", Argument("daily"))
        raise ConfigurationError("a schedule has one of ", *rhythms, f", not {' and '.join(given) or 'none'}")
    begin = check_moment("start", start)
    if every is not None:
        if zone is not None:
            raise ConfigurationError(
                "an interval is the same in all time zones; leave ", Argument("zone"), f" out ({zone!r:.80})"
            )
        return Rhythm(every=check_span("every", every, SHORTEST), start=begin)
    named = _check_zone("UTC" if zone is None else zone)
    if cron is not None:
        return Rhythm(cron=_check_cron(cron), zone=named, start=begin)
    return Rhythm(daily=_check_daily(daily), zone=named, start=begin)


def definition(
    queue: str,
    payload: Any,
    headers: Mapping[str, Scalar] | None,
    group: str | None,
    priority: int,
    rhythm: Rhythm,
    missed: Missed,
    grace: timedelta,
) -> ScheduleDefinition:
    """Return the definition of a schedule.

    Raises:
        ConfigurationError: `missed` is not one of its three values, or a header has a name that ticks use.
        InvalidMessage: the queue's name, the payload, a header, the group, the priority or the grace is out of bounds.
    """
    if missed not in MISSED:
        raise ConfigurationError(
            Argument("missed"), f" cannot be {missed!r:.80}: say one of {', '.join(map(repr, MISSED))}"
        )
    encoded_headers = codec.encode_headers(headers)
    for name in (SCHEDULE, TICK):
        if headers and name in headers:
            raise ConfigurationError(f"the header {name!r} is set by each tick; call yours something else")
    encoded = codec.encode(payload)
    return ScheduleDefinition(
        queue=check_queue_name(queue),
        kind=encoded.kind,
        payload=encoded.text,
        headers=encoded_headers,
        group=check_group(group),
        priority=check_priority(priority),
        rhythm=rhythm,
        missed=missed,
        grace=check_span("grace", grace),
    )


# What a store keeps.


def declare(name: str, wanted: ScheduleDefinition, found: SchedulesFound) -> ScheduleChange | None:
    """Return the change that gives the schedule of this name the wanted definition; None if it already has it.

    The pending tick is replaced by the first tick of the new rhythm. If the rhythm is unchanged, the tick stays: a
    program that declares its schedules at every start does not delay their intervals.

    Raises:
        ConfigurationError: it would never tick.
    """
    text = msgspec.json.encode(wanted).decode()
    known = found.rows[0] if found.rows else None
    if known is not None and known.definition == text:
        return None
    if known is not None and _rhythm(known) == wanted.rhythm:
        return ScheduleChange(name, known.version, Planned(name, text, known.next_at, known.last_at, _new_version()))
    next_at = wanted.rhythm.first(found.now)
    if next_at is None:
        raise ConfigurationError(f"schedule {name!r} would never tick: {_told(wanted.rhythm)}")
    if known is None:
        return ScheduleChange(name, None, Planned(name, text, next_at, None, _new_version()))
    return ScheduleChange(name, known.version, Planned(name, text, next_at, known.last_at, _new_version()))


def remove(name: str, found: SchedulesFound) -> ScheduleChange | None:
    """Return the change that removes the schedule of this name; None if there is none."""
    return ScheduleChange(name, found.rows[0].version, None) if found.rows else None


def tick(known: Planned, now: datetime) -> ScheduleChange:
    """Return the change that advances a schedule that is due, with the messages that it pushes.

    Raises:
        ConfigurationError: its definition cannot be read here.
    """
    wanted = _read(known)
    if known.next_at is None:
        raise AssertionError(f"schedule {known.name} is not due")
    ticks, next_at = due_ticks(wanted.rhythm, known.next_at, now, wanted.missed, wanted.grace)
    last_at = ticks[-1] if ticks else known.last_at
    after = Planned(known.name, known.definition, next_at, last_at, _new_version())
    return ScheduleChange(known.name, known.version, after, tuple(_entry(known.name, wanted, at) for at in ticks))


def due_ticks(
    rhythm: Rhythm, tick: datetime, now: datetime, missed: Missed, grace: timedelta, most: int = MOST_AT_ONCE
) -> tuple[list[datetime], datetime | None]:
    """Return the ticks to push now, and the next tick to wait for, given the tick that was waited for.

    Ticks that are later than the grace are missed: "all" pushes each of them, "once" the last of them, "skip" none.
    """
    ticks: list[datetime] = []
    next_at: datetime | None = tick
    last_missed = now - grace - MICROSECOND
    if tick <= last_missed and missed != "all":
        if missed == "once":
            ticks.append(rhythm.latest(tick, last_missed))
        next_at = rhythm.after(last_missed, tick)
    while next_at is not None and next_at <= now and len(ticks) < most:
        ticks.append(next_at)
        next_at = rhythm.after(next_at, next_at)
    return ticks, next_at


def shown(known: Planned, reader: PayloadReader = PLAIN) -> Schedule:
    """Return a schedule as a user sees it; a payload that cannot be decoded here is given as its stored text.

    Raises:
        ConfigurationError: its definition cannot be read here.
    """
    wanted = _read(known)
    return Schedule(
        name=known.name,
        queue=wanted.queue,
        payload=_readable(wanted, reader),
        headers=codec.decode_headers(wanted.headers),
        group=wanted.group,
        priority=wanted.priority,
        cron=wanted.rhythm.cron,
        every=wanted.rhythm.every,
        daily=wanted.rhythm.daily,
        zone=wanted.rhythm.zone,
        start=wanted.rhythm.start,
        missed=wanted.missed,
        grace=wanted.grace,
        next_at=known.next_at,
        last_at=known.last_at,
    )


def _readable(wanted: ScheduleDefinition, reader: PayloadReader) -> Any:
    try:
        return reader.decode(StoredPayload(wanted.queue, None, wanted.headers, wanted.kind, wanted.payload))
    except CodecError:
        return wanted.payload


def _read(known: Planned) -> ScheduleDefinition:
    try:
        wanted = _decode(known.definition)
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f"schedule {known.name!r} cannot be read by this version of duerow: {error}; "
            "upgrade it, declare the schedule anew, or remove it"
        ) from error
    # A zone that was valid where the schedule was declared may be missing here: time zones come with the host.
    if wanted.rhythm.zone is not None:
        _check_zone(wanted.rhythm.zone)
    if wanted.rhythm.cron is not None:
        _check_cron(wanted.rhythm.cron)
    return wanted


def _rhythm(known: Planned) -> Rhythm | None:
    """Return the rhythm of a schedule; None if it cannot be read here."""
    try:
        return _decode(known.definition).rhythm
    except msgspec.DecodeError:
        return None


def queue_of(known: Planned) -> str | None:
    """Return the queue of a schedule's messages; None if its definition cannot be read here."""
    try:
        return _decode(known.definition).queue
    except msgspec.DecodeError:
        return None


def _entry(name: str, wanted: ScheduleDefinition, at: datetime) -> Entry:
    """Return the message of a tick, due since the time of the tick."""
    headers = {**codec.decode_headers(wanted.headers), SCHEDULE: name, TICK: at.isoformat()}
    payload = codec.Encoded(wanted.kind, wanted.payload)
    return mapping.entry(wanted.queue, payload, due=at, headers=headers, group=wanted.group, priority=wanted.priority)


def _new_version() -> int:
    """Return a random version, so that a schedule removed and declared again is never taken for the old one."""
    return secrets.randbits(62)


_decode = msgspec.json.Decoder(ScheduleDefinition).decode


# Wall-clock times.


def _after(expression: str, zone: ZoneInfo, moment: datetime) -> datetime | None:
    """Return the first tick of an expression after a moment, in UTC."""
    for tick in CronSim(expression, moment.astimezone(zone)):
        # In an hour that occurs twice the search begins in the first one, so it may find a tick that has passed.
        if (at := tick.astimezone(UTC)) > moment:
            return at
    return None


@lru_cache(maxsize=256)
def _by_the_wall(expression: str) -> str:
    """Return an expression whose first two fields have a star only if it is for every hour.

    If there is a star, the library follows elapsed time, as Debian's cron does: `*/15 2 * * *` would be skipped on one
    day of the year and run eight times on another.
    """
    fields = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    minutes = ",".join(map(str, sorted(fields.minutes)))
    hours = "*" if len(fields.hours) == 24 else ",".join(map(str, sorted(fields.hours)))
    return " ".join((minutes, hours, *fields.parts[3:]))


def _check_cron(expression: object) -> str:
    hint = "write minute, hour, day of the month, month and day of the week, such as '0 3 * * MON-FRI'"
    if not isinstance(expression, str) or len(expression) > _LONGEST_EXPRESSION:
        raise ConfigurationError(f"{expression!r:.80} is no cron expression: {hint}")
    fields = expression.split()
    if len(fields) != 5:
        raise ConfigurationError(f"{expression!r} is no cron expression: it has {len(fields)} fields, not 5; {hint}")
    try:
        _by_the_wall(expression)
    except CronSimError as error:
        raise ConfigurationError(f"{expression!r} is no cron expression: {str(error).lower()}; {hint}") from error
    return " ".join(fields)


def _check_daily(daily: object) -> tuple[str, ...]:
    several = [daily] if isinstance(daily, time | str) or not isinstance(daily, Iterable) else list(daily)
    times = sorted({_check_time(at) for at in several})
    if not times:
        raise ConfigurationError(Argument("daily"), " needs at least one time, such as ", Hint("time(8, 30)", "08:30"))
    return tuple(times)


def _check_time(at: object) -> str:
    hint = ("give a time of whole minutes without a zone, such as ", Hint("time(8, 30) or '08:30'", "08:30"))
    parsed = at
    if isinstance(at, str):
        try:
            parsed = time.fromisoformat(at)
        except ValueError as error:
            raise ConfigurationError(f"{at!r:.80} is no time of the day: ", *hint) from error
    if not isinstance(parsed, time) or parsed.tzinfo is not None or parsed.second or parsed.microsecond:
        raise ConfigurationError(f"{at!r:.80} is no time for ", Argument("daily"), ": ", *hint)
    return f"{parsed:%H:%M}"


def _check_zone(name: object) -> str:
    if isinstance(name, str):
        try:
            return ZoneInfo(name).key
        except (LookupError, ValueError, OSError):
            pass
    raise ConfigurationError(
        f"there is no time zone {name!r:.80} on this host: give a name such as 'Europe/Zagreb'; "
        "a host that lacks them all gets them by `pip install tzdata`"
    )


def _told(rhythm: Rhythm) -> str:
    start = "" if rhythm.start is None else f" from {rhythm.start.isoformat()} on"
    return f"{rhythm.cron or rhythm.every or rhythm.daily}{start}"
