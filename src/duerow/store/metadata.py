"""What a store keeps in addition to messages: settings of queues, schedules, pipelines, and counts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from duerow.conditions.fields import Path
from duerow.store.writes import Entry

IndexKind = Literal["integer", "float", "text", "boolean"]


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """A payload field of a queue that has an index.

    Attributes:
        path: the names that lead to the field, each of ASCII letters, digits, `_` and `-`.
        kind: which values the index holds; integers and floats both count as numbers.
    """

    path: Path
    kind: IndexKind


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A schedule as it is stored.

    Attributes:
        name: its name; unique.
        definition: what it does, as JSON text that the store does not read.
        next_at: its next tick; None: never again.
        last_at: the last tick that became a message; None: none yet.
        version: a number that changes with every change.
    """

    name: str
    definition: str
    next_at: datetime | None
    last_at: datetime | None
    version: int


DUE_AT_ONCE: Final = 100
"""How many due schedules are read at a time."""


class SchedulesFound(msgspec.Struct, frozen=True, gc=False):
    """The schedules that were read, the store's time at that moment, and the earliest next tick of all schedules."""

    now: datetime
    next_at: datetime | None
    rows: list[Planned]


class ScheduleChange(msgspec.Struct, frozen=True, gc=False):
    """A change of a schedule, and the messages that it pushes in the same transaction.

    Attributes:
        name: the schedule.
        version: the change is made only if the schedule still has this version; None: only if no schedule has this
            name.
        after: the schedule after the change; None: it is removed.
        push: the messages of its ticks, which have no keys.
    """

    name: str
    version: int | None
    after: Planned | None
    push: tuple[Entry, ...] = ()


class StoredPipeline(msgspec.Struct, frozen=True, gc=False):
    """A pipeline as it is stored.

    Attributes:
        name: its name; unique.
        definition: its stations, as JSON text that the store does not read.
        version: a number that changes with every change.
    """

    name: str
    definition: str
    version: int


class QueueSettings(msgspec.Struct, frozen=True, gc=False):
    """The settings of a queue.

    Attributes:
        queue: its name.
        definition: its declared settings, as JSON text that the store does not read; None: it was not declared.
        paused: whether it hands out no messages.
        draining: whether it accepts no new messages.
    """

    queue: str
    definition: str | None
    paused: bool
    draining: bool


class Indexing(msgspec.Struct, frozen=True, gc=False):
    """The result of indexing a queue's payload fields: the names of the indexes created, and of those dropped."""

    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class QueueStats(msgspec.Struct, frozen=True, gc=False):
    """The state of a queue: how many messages are in which state, each number counted up to a cap.

    Attributes:
        ready, delayed, leased, waiting, stopped, dead: as in `duerow.queue.stats.Stats`.
        oldest_due_at, next_due_at: as in `duerow.queue.stats.Stats`.
        paused: whether it is paused.
    """

    ready: int
    delayed: int
    leased: int
    waiting: int
    stopped: int
    dead: int
    oldest_due_at: datetime | None
    next_due_at: datetime | None
    paused: bool


class Totals(msgspec.Struct, frozen=True, gc=False):
    """How many turns ended, by outcome.

    Attributes:
        done: the message was done.
        failed: the attempt failed, and the message will be retried.
        dead: the message failed for good: in place, or into a dead-letter queue.
        moved: the message went to another queue.
    """

    done: int = 0
    failed: int = 0
    dead: int = 0
    moved: int = 0


COUNTS_KEPT: Final = timedelta(minutes=70)
"""How long the counts of a minute are kept before they are added to their queue's lifetime totals."""


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What a process counted for a queue in one minute.

    Attributes:
        queue: the queue.
        minute: when that minute began.
        totals: how turns ended.
        waiting, handling: how long messages had been due when they were handed out, and how long handlers took, as JSON
            text that the store does not read; None: none were counted.
        process: the process; the store fills it in when it reads the counts.
    """

    queue: str
    minute: datetime
    totals: Totals
    waiting: str | None
    handling: str | None
    process: str = ""


class Counters(msgspec.Struct, frozen=True, gc=False):
    """What all processes counted for a queue.

    Attributes:
        now: the current time.
        lifetime: everything that was ever counted.
        lately: the counts of each minute of the last hour, in no particular order.
    """

    now: datetime
    lifetime: Totals
    lately: list[Counted]


def of_last_hour(rows: Iterable[Counted], now: datetime) -> list[Counted]:
    """Return the counts of the minutes that overlap with the last hour."""
    return [row for row in rows if row.minute + timedelta(minutes=1) > now - timedelta(hours=1)]
