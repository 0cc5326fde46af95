# Generated from ../aio/schedules.py by tools/generate_sync.py; edit that file instead.
"""The schedules of a database: declare them, push their due ticks, and prune what has expired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from time import monotonic
from typing import Any, Final

import msgspec

from duerow.errors import ConfigurationError, DuerowError, StoreUnavailable
from duerow.message import Pushed, Scalar, check_queue_name
from duerow.payload import codec
from duerow.payload.encoding import Payloads
from duerow.queue.beside import marks
from duerow.queue.history import PRUNE_BATCH
from duerow.queue.recurrence import Daily, recurrence_of
from duerow.queue.schedule import (
    GRACE,
    Maintained,
    Missed,
    Schedule,
    check_schedule_name,
    declare,
    definition,
    message_now,
    pause,
    remove,
    resume,
    shown,
    tick,
)
from duerow.store import Planned, ScheduleChange, SchedulesFound
from duerow.sync.executor import Executor

LOOK_BESIDE: Final = 900.0
"""Seconds between a worker's checks for messages to delete in duerow's own queues next to other queues."""


class Schedules(Executor):
    """The part of a database for schedules; see `Database`."""

    _looked_beside_at = float("-inf")
    _beside: frozenset[str] = frozenset()

    @cached_property
    def _payloads(self) -> Payloads:
        return Payloads(sealing=self.encryption)

    def schedule(
        self,
        name: str,
        *,
        queue: str,
        payload: Any = None,
        cron: str | None = None,
        every: timedelta | None = None,
        daily: Daily | None = None,
        zone: str | None = None,
        start: datetime | None = None,
        headers: Mapping[str, Scalar] | None = None,
        group: str | None = None,
        priority: int = 0,
        missed: Missed = "once",
        grace: timedelta = GRACE,
    ) -> Schedule:
        """Push a message on a recurring schedule; return the schedule as it is now stored.

        Any worker of this database pushes the messages, whatever its queue, and `maintain` does too. Each tick becomes
        one message, no matter how many processes are running: due since the time of the tick, with the headers
        `schedule` and `tick`.

        Declaring the same schedule again has no effect. If `cron`, `every`, `daily`, `zone` or `start` changes, the
        first tick of the new times replaces the pending one; otherwise the pending tick stays and carries the new
        content.

        Args:
            name: unique among the schedules of the database: 1 to 100 characters: ASCII letters, digits, and _ . : / -
            queue: the queue that the messages go to.
            payload: JSON (see `duerow.payload.codec`), bytes, or an object of a type that can be declared.
            cron: minute, hour, day of the month, month and day of the week, such as "0 3 * * MON-FRI". Give one of
                `cron`, `every` and `daily`.
            every: an interval of at least a second; the first tick is one interval from now, unless `start` is given.
            daily: one or more times of day, as `time(8, 30)` or "08:30".
            zone: the time zone of `cron` and `daily`, such as "Europe/Zagreb"; default: UTC.
            start: the earliest time of a tick, from which intervals are counted; an aware datetime.
            headers: named scalars that travel with each message.
            group: the group of the messages: they are then handled one at a time, in the order of the ticks.
            priority: the priority of the messages; lower goes first.
            missed: what to do with ticks that were not pushed within the grace period: "skip" leaves them out, "once"
                pushes only the last, "all" pushes each.
            grace: how late a tick may be before it counts as missed; default: a minute.

        Raises:
            ConfigurationError: the name, the times or `missed` is invalid, or the schedule would never tick.
            InvalidMessage: the queue's name, the interval, the start, the grace period, or a field of the messages is
                out of bounds.
        """
        called = check_schedule_name(name)
        recurrence = recurrence_of(cron, every, daily, zone, start)
        # Not bound to a message key, since each tick's message would need a different one; see the page on encryption.
        encoded = self._payloads.elsewhere.encode(payload)
        encoded = self._payloads.seal(encoded, check_queue_name(queue), None, codec.encode_headers(headers))
        wanted = definition(queue, encoded, headers, group, priority, recurrence, missed, grace)
        while True:
            found = self._find_schedule(called)
            change = declare(called, wanted, found)
            if change is None:
                return shown(found.rows[0], self._payloads)
            if change.after is not None and self._set_schedule(change):
                return shown(change.after, self._payloads)

    def schedules(self) -> list[Schedule]:
        """Return all schedules, ordered by name."""
        found = self.run(self.store.metadata.schedules)
        return [shown(row, self._payloads) for row in found.rows]

    def unschedule(self, name: str) -> bool:
        """Remove a schedule and its pending tick; return whether it existed. Messages that it pushed earlier stay."""
        called = check_schedule_name(name)
        while True:
            change = remove(called, self._find_schedule(called))
            if change is None:
                return False
            if self._set_schedule(change):
                return True

    def pause_schedule(self, name: str) -> bool:
        """Stop the ticks of a schedule until it is resumed; return whether this changed anything.

        It stays paused even if a program declares it again.

        Raises:
            UnknownName: there is no such schedule.
        """
        return self._change_schedule(name, pause)

    def resume_schedule(self, name: str) -> bool:
        """Let a paused schedule tick again, from now on; return whether it was paused.

        Raises:
            UnknownName: there is no such schedule.
        """
        return self._change_schedule(name, resume)

    def push_scheduled(self, name: str) -> Pushed:
        """Push the message of a schedule now, in addition to its ticks; it has the header `schedule`, but no `tick`.

        Raises:
            UnknownName: there is no such schedule.
        """
        entry = message_now(name, self._find_schedule(check_schedule_name(name)))
        pushed = self.run(lambda: self.store.messages.push([entry], "ignore"))
        return pushed[0]

    def _change_schedule(self, name: str, change: Callable[[str, SchedulesFound], ScheduleChange | None]) -> bool:
        called = check_schedule_name(name)
        while True:
            wanted = change(called, self._find_schedule(called))
            if wanted is None:
                return False
            if self._set_schedule(wanted):
                return True

    def maintain(self) -> Maintained:
        """Do one round of the workers' background tasks: push due ticks of schedules, and prune (see `prune`).

        A schedule that cannot tick does not hold up the others; the result names it, with the error.
        """
        ticked = self.tick()
        return msgspec.structs.replace(ticked, pruned=self.prune())

    def prune(self, batches: int | None = None) -> int:
        """Delete expired turns and keys, and results, progress, stacks and notes of windows; return how many.

        Results and the like are deleted in all queues when they are due, no matter which process left them there. With
        `batches`, all queues are searched only every 15 minutes, but queues where this handle leaves such messages are
        searched each time. An application's own messages are never deleted.

        Args:
            batches: the maximum number of transactions, each of up to a thousand turns and a thousand keys; it also
                applies to each queue of results. Default: no limit.
        """
        gone = made = 0
        if batches is None or monotonic() - self._looked_beside_at >= LOOK_BESIDE:
            self._beside = self._queues_beside()
            self._looked_beside_at = monotonic()
        for queue in sorted(self.expiring | self._beside):
            try:
                some = self._prune_expired(queue, batches)
            except ConfigurationError:
                if queue in self.expiring:
                    raise
                some = 0  # this user may not consume it; others will
            gone += some
            if batches is None or some < batches * PRUNE_BATCH:
                self._beside -= {queue}  # until all queues are searched again
        if "history" not in self.store.capabilities.parts:  # no history was kept
            return gone
        while batches is None or made < batches:
            some = self.run(lambda: self.store.history.prune(PRUNE_BATCH))
            gone, made = gone + some, made + 1
            if some < PRUNE_BATCH:
                break
        return gone

    def _queues_beside(self) -> frozenset[str]:
        """Return the queues that, by their names, may hold duerow's own messages about other queues."""
        if "operations" not in self.store.capabilities.parts:
            return frozenset()
        names = self.run(self.store.operations.queues)
        return frozenset(name for name in names if marks(str(name)))  # the name in a damaged row may be anything

    def _prune_expired(self, queue: str, batches: int | None) -> int:
        """Remove the marked messages of a queue that are due, and so may be deleted; return how many."""
        kinds = marks(queue)
        gone = made = 0
        while batches is None or made < batches:
            some = self.run(lambda: self.store.messages.pop(queue, PRUNE_BATCH, kinds=kinds), many=PRUNE_BATCH)
            gone, made = gone + len(some), made + 1
            if len(some) < PRUNE_BATCH:
                break
        return gone

    def tick(self) -> Maintained:
        """Push the due ticks of schedules; see `maintain`."""
        pushed = 0
        failed: dict[str, DuerowError] = {}
        if "metadata" not in self.store.capabilities.parts:  # so there are no schedules
            return Maintained(pushed, None, failed)
        while True:
            found = self.run(lambda: self.store.metadata.schedules(due=True))
            due = [row for row in found.rows if row.name not in failed]
            for row in due:
                try:
                    pushed += self._tick(row, found.now)
                except StoreUnavailable:
                    raise
                except DuerowError as error:
                    failed[row.name] = error
            if not due:
                next_in = None if found.next_at is None else found.next_at - found.now
                return Maintained(pushed, next_in, failed)

    def _tick(self, row: Planned, now: datetime) -> int:
        """Push the due ticks of a schedule and advance it; return how many: 0 if another process was faster."""
        change = tick(row, now)
        return len(change.push) if self._set_schedule(change) else 0

    def _set_schedule(self, change: ScheduleChange) -> bool:
        return self.run(lambda: self.store.metadata.set_schedule(change))

    def _find_schedule(self, name: str) -> SchedulesFound:
        return self.run(lambda: self.store.metadata.schedules(name=name))
