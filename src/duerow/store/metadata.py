"""What a store keeps beside messages: of queues, schedules, pipelines, and in numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from duerow.conditions.model import Path
from duerow.store.writes import Entry

IndexKind = Literal["integer", "float", "text", "boolean"]


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """A payload field of a queue that is served by an index.

    Attributes:
        path: the names that lead to it, each of ASCII letters, digits, `_` and `-`.
        kind: which values the index holds; integers and floats are numbers alike.
    """

    path: Path
    kind: IndexKind


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A schedule as it is kept.

    Attributes:
        name: what it is called; unique.
        definition: what it is to do, as JSON text that the store does not read.
        next_at: when it ticks next; None: never again.
        last_at: the last tick that became a message; None: none did.
        version: a number that is another after every change.
    """

    name: str
    definition: str
    next_at: datetime | None
    last_at: datetime | None
    version: int


class SchedulesFound(msgspec.Struct, frozen=True, gc=False):
    """Schedules as they were read, the store's time at that moment, and when the next of all ticks is or was."""

    now: datetime
    next_at: datetime | None
    rows: list[Planned]


class ScheduleChange(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a schedule, and what it pushes in the same transaction.

    Attributes:
        name: the schedule.
        version: it is changed only while it has this version; None: only if there is none of this name.
        after: what it becomes; None: it is removed.
        push: the messages of its ticks; they have no keys.
    """

    name: str
    version: int | None
    after: Planned | None
    push: tuple[Entry, ...] = ()


class StoredPipeline(msgspec.Struct, frozen=True, gc=False):
    """A pipeline as it is kept.

    Attributes:
        name: what it is called; unique.
        definition: its stations, as JSON text that the store does not read.
        version: a number that is another after every change.
    """

    name: str
    definition: str
    version: int


class QueueSettings(msgspec.Struct, frozen=True, gc=False):
    """What is said of a queue.

    Attributes:
        queue: its name.
        definition: what was declared of it, as JSON text that the store does not read; None: nothing was.
        paused: whether it hands nothing out.
        draining: whether it takes no new messages.
    """

    queue: str
    definition: str | None
    paused: bool
    draining: bool


class Indexing(msgspec.Struct, frozen=True, gc=False):
    """What became of a queue's indexes of payload fields: the names of those made, and of those taken away."""

    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class QueueStats(msgspec.Struct, frozen=True, gc=False):
    """How a queue stands, as numbers of its messages by what they wait for, each counted up to a cap.

    Attributes:
        ready, delayed, leased, waiting, stopped, dead: as in `duerow.queue.stats.Stats`.
        oldest_due_at, next_due_at: likewise.
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
    """How many turns ended, by how they ended.

    Attributes:
        done: the message was done.
        failed: the attempt failed, and the message is tried again.
        dead: the message was given up: in place, or into a queue of dead letters.
        moved: the message went to another queue.
    """

    done: int = 0
    failed: int = 0
    dead: int = 0
    moved: int = 0


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What one process counted of one queue in one minute.

    Attributes:
        queue: the queue.
        minute: when that minute began.
        totals: how turns ended.
        waiting, handling: how long messages had been due when they were handed out, and how long handlers took, as
            JSON text that the store does not read; None: nothing was counted.
    """

    queue: str
    minute: datetime
    totals: Totals
    waiting: str | None
    handling: str | None


class Counters(msgspec.Struct, frozen=True, gc=False):
    """What all processes counted of a queue.

    Attributes:
        now: the time.
        lifetime: all that was ever counted.
        lately: what was counted in the minutes of the last hour, in no order.
    """

    now: datetime
    lifetime: Totals
    lately: list[Counted]
