"""Schedules: messages that are pushed at wall-clock times, or at equal intervals.

Values and pure functions: when a recurrence ticks, which ticks to push now, and what a store keeps. A tick becomes a
message in the transaction that advances its schedule to the next tick (see `MetadataStore.set_schedule`), so each tick
is pushed once, no matter how many processes try.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Literal, get_args

import msgspec

from duerow.clock import MICROSECOND
from duerow.errors import CodecError, ConfigurationError, DuerowError, UnknownName
from duerow.errors import shown as briefly
from duerow.message import QUEUE_NAME, Scalar, check_group, check_priority, check_queue_name, check_span
from duerow.payload import codec
from duerow.payload.encoding import PLAIN, PayloadReader, StoredPayload
from duerow.phrases import Argument
from duerow.queue import mapping
from duerow.queue.recurrence import Recurrence
from duerow.store import Entry, Planned, ScheduleChange, SchedulesFound

Missed = Literal["skip", "once", "all"]
"""What happens to ticks that were not pushed in time."""


MISSED: Final[tuple[Missed, ...]] = get_args(Missed)

GRACE: Final = timedelta(seconds=60)
"""How late a tick may be before it counts as missed."""


MOST_AT_ONCE: Final = 100
"""How many ticks of one schedule are pushed in one transaction."""

KEPT_TICKS: Final = 20
"""How many of its latest ticks a schedule keeps."""

SCHEDULE: Final = "schedule"
"""The header that names the schedule that pushed a message."""

TICK: Final = "tick"
"""The header that holds the scheduled time of the tick, in ISO 8601 and UTC."""

_NAME = re.compile(QUEUE_NAME)


class PastTick(msgspec.Struct, frozen=True, gc=False):
    """A tick that became a message.

    Attributes:
        at: the time of the tick.
        pushed_at: when its message was pushed.
    """

    at: datetime
    pushed_at: datetime


class ScheduleDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a schedule does, in the form that a store keeps as JSON. Payload and headers are already text.

    While it is paused, it has no next tick; `pending` is the tick that it waited for, from which intervals are counted.
    `past` contains its latest ticks, the newest first, and is carried over when the schedule is declared again.
    """

    queue: str
    kind: str
    payload: str
    headers: str | None = None
    group: str | None = None
    priority: int = 0
    recurrence: Recurrence = msgspec.field(name="rhythm")  # its name in stored definitions
    missed: Missed = "once"
    grace: timedelta = GRACE
    paused: bool = False
    pending: datetime | None = None
    past: tuple[PastTick, ...] = ()


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is kept in the database; made by `Database.schedule`.

    Attributes:
        name: the schedule's name.
        queue: the queue that its messages go to.
        payload: the payload of each message.
        headers: the headers of each message, in addition to `schedule` and `tick`.
        group: the group of each message, if any.
        priority: the priority of each message.
        cron, every, daily: when it ticks; one of them is set.
        zone: the time zone of `cron` and `daily`.
        start: the earliest time of a tick.
        missed: what happens to ticks that were not pushed in time.
        grace: how late a tick may be before it counts as missed.
        next_at: the next tick; None: there will be none.
        last_at: the last tick that became a message; None: there was none.
        paused: whether it was paused; if so, it does not tick until it is resumed.
        past: its latest ticks that became messages, up to 20, the newest first.
        kind: the kind of the payload.
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
    paused: bool = False
    past: tuple[PastTick, ...] = ()
    kind: str = codec.JSON

    def ticks(self, count: int) -> list[datetime]:
        """Return the next ticks, at most `count`, in UTC."""
        if type(count) is not int or count < 0:
            raise ConfigurationError(f"count must be a number of ticks, not {briefly(count)}")
        if self.next_at is None:
            return []
        recurrence = Recurrence(cron=self.cron, every=self.every, daily=self.daily, zone=self.zone, start=self.start)
        return list(islice(recurrence.following(self.next_at), count))


class Maintained(msgspec.Struct, frozen=True):
    """What one round of `Database.maintain` did.

    Attributes:
        pushed: how many messages schedules pushed.
        next_in: how long until the next tick of any schedule; None: there will be none.
        failed: the schedules that could not tick, and why; the next round tries them again.
        pruned: how many expired turns, remembered keys, results and the like were removed.
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
            f"a schedule cannot be called {briefly(name)}; "
            "use 1 to 100 characters: ASCII letters, digits, and _ . : / -"
        )
    return name


def definition(
    queue: str,
    payload: Any,
    headers: Mapping[str, Scalar] | None,
    group: str | None,
    priority: int,
    recurrence: Recurrence,
    missed: Missed,
    grace: timedelta,
) -> ScheduleDefinition:
    """Return the definition of a schedule.

    Raises:
        ConfigurationError: `missed` is not one of its three values, or a header has a name that ticks use.
        InvalidMessage: the queue's name, the payload, a header, the group, the priority or the grace period is out of
            bounds.
    """
    if missed not in MISSED:
        raise ConfigurationError(
            Argument("missed"), f" cannot be {briefly(missed)}; use one of {', '.join(map(repr, MISSED))}"
        )
    encoded_headers = codec.encode_headers(headers)
    for name in (SCHEDULE, TICK):
        if headers and name in headers:
            raise ConfigurationError(f"the header {name!r} is set by each tick; give yours another name")
    encoded = codec.encode(payload)
    return ScheduleDefinition(
        queue=check_queue_name(queue),
        kind=encoded.kind,
        payload=encoded.text,
        headers=encoded_headers,
        group=check_group(group),
        priority=check_priority(priority),
        recurrence=recurrence,
        missed=missed,
        grace=check_span("grace", grace),
    )


# What a store keeps.


def declare(name: str, wanted: ScheduleDefinition, found: SchedulesFound) -> ScheduleChange | None:
    """Return the change that gives the schedule of this name the wanted definition; None if it already has it.

    The first tick of the new recurrence replaces the pending tick. If the recurrence is unchanged, the pending tick
    stays, so a program that declares its schedules at every start does not delay their intervals.

    Raises:
        ConfigurationError: it would never tick.
    """
    known = found.rows[0] if found.rows else None
    before = None if known is None else _perhaps(known)
    if before is not None:
        wanted = msgspec.structs.replace(wanted, past=before.past)
    if known is not None and before is not None and before.paused:
        return _declare_paused(known, before, wanted, found.now)
    text = msgspec.json.encode(wanted).decode()
    if known is not None and known.definition == text:
        return None
    if known is not None and before is not None and before.recurrence == wanted.recurrence:
        return ScheduleChange(name, known.version, Planned(name, text, known.next_at, known.last_at, _new_version()))
    next_at = wanted.recurrence.first(found.now)
    if next_at is None:
        raise ConfigurationError(f"schedule {name!r} would never tick: {wanted.recurrence}")
    if known is None:
        return ScheduleChange(name, None, Planned(name, text, next_at, None, _new_version()))
    return ScheduleChange(name, known.version, Planned(name, text, next_at, known.last_at, _new_version()))


def _declare_paused(
    known: Planned, before: ScheduleDefinition, wanted: ScheduleDefinition, now: datetime
) -> ScheduleChange | None:
    """Return the change to a paused schedule, which stays paused: programs declare their schedules at every start."""
    pending = before.pending if before.recurrence == wanted.recurrence else wanted.recurrence.first(now)
    after = msgspec.structs.replace(wanted, paused=True, pending=pending)
    return None if after == before else _changed(known, after, None)


def pause(name: str, found: SchedulesFound) -> ScheduleChange | None:
    """Return the change that pauses the schedule of this name; None if it is already paused.

    Raises:
        UnknownName: there is no such schedule.
    """
    known, wanted = _one(name, found)
    if wanted.paused:
        return None
    return _changed(known, msgspec.structs.replace(wanted, paused=True, pending=known.next_at), None)


def resume(name: str, found: SchedulesFound) -> ScheduleChange | None:
    """Return the change that lets the schedule of this name tick again; None if it is not paused.

    Its next tick is the first one from now on; ticks during the pause are left out.

    Raises:
        UnknownName: there is no such schedule.
    """
    known, wanted = _one(name, found)
    if not wanted.paused:
        return None
    next_at = wanted.pending
    if next_at is not None and next_at < found.now:
        next_at = wanted.recurrence.after(found.now - MICROSECOND, next_at)
    return _changed(known, msgspec.structs.replace(wanted, paused=False, pending=None), next_at)


def message_now(name: str, found: SchedulesFound) -> Entry:
    """Return the message that the schedule of this name would push at a tick, due now, with the header `schedule`.

    Raises:
        UnknownName: there is no such schedule.
    """
    known, wanted = _one(name, found)
    headers = {**codec.decode_headers(wanted.headers), SCHEDULE: known.name}
    payload = codec.Encoded(wanted.kind, wanted.payload)
    return mapping.entry(wanted.queue, payload, headers=headers, group=wanted.group, priority=wanted.priority)


def _one(name: str, found: SchedulesFound) -> tuple[Planned, ScheduleDefinition]:
    if not found.rows:
        raise UnknownName("schedule", name)
    return found.rows[0], _read(found.rows[0])


def _changed(known: Planned, after: ScheduleDefinition, next_at: datetime | None) -> ScheduleChange:
    text = msgspec.json.encode(after).decode()
    return ScheduleChange(known.name, known.version, Planned(known.name, text, next_at, known.last_at, _new_version()))


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
    ticks, next_at = due_ticks(wanted.recurrence, known.next_at, now, wanted.missed, wanted.grace)
    last_at = ticks[-1] if ticks else known.last_at
    past = (*(PastTick(at, now) for at in reversed(ticks)), *wanted.past)[:KEPT_TICKS]
    text = msgspec.json.encode(msgspec.structs.replace(wanted, past=past)).decode()
    after = Planned(known.name, text, next_at, last_at, _new_version())
    return ScheduleChange(known.name, known.version, after, tuple(_entry(known.name, wanted, at) for at in ticks))


def due_ticks(
    recurrence: Recurrence, tick: datetime, now: datetime, missed: Missed, grace: timedelta, most: int = MOST_AT_ONCE
) -> tuple[list[datetime], datetime | None]:
    """Return the ticks to push now and the next tick to wait for, given the tick that was waited for.

    Ticks that are later than the grace period are missed: "all" pushes each of them, "once" only the last, "skip" none.
    """
    ticks: list[datetime] = []
    next_at: datetime | None = tick
    last_missed = now - grace - MICROSECOND
    if tick <= last_missed and missed != "all":
        if missed == "once":
            ticks.append(recurrence.latest(tick, last_missed))
        next_at = recurrence.after(last_missed, tick)
    while next_at is not None and next_at <= now and len(ticks) < most:
        ticks.append(next_at)
        next_at = recurrence.after(next_at, next_at)
    return ticks, next_at


def shown(known: Planned, reader: PayloadReader = PLAIN) -> Schedule:
    """Return a schedule as a user sees it; a payload that cannot be decoded here is returned as its stored text.

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
        cron=wanted.recurrence.cron,
        every=wanted.recurrence.every,
        daily=wanted.recurrence.daily,
        zone=wanted.recurrence.zone,
        start=wanted.recurrence.start,
        missed=wanted.missed,
        grace=wanted.grace,
        next_at=known.next_at,
        last_at=known.last_at,
        paused=wanted.paused,
        past=wanted.past,
        kind=wanted.kind,
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
            "upgrade duerow, declare the schedule again, or remove it"
        ) from error
    try:
        # A zone that was valid where the schedule was declared may be missing here: each host has its own time zones.
        return msgspec.structs.replace(wanted, recurrence=wanted.recurrence.checked())
    except DuerowError as error:
        raise ConfigurationError(f"schedule {known.name!r} cannot tick here: ", error) from error


def _perhaps(known: Planned) -> ScheduleDefinition | None:
    """Return what a schedule does; None if it cannot be read here."""
    try:
        return _decode(known.definition)
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
    """Return a random version, so that a schedule declared again after removal is never mistaken for the old one."""
    return secrets.randbits(62)


_decode = msgspec.json.Decoder(ScheduleDefinition).decode
