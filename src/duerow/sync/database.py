# Generated from ../aio/database.py by tools/generate_sync.py; edit that file instead.
"""A database with queues in it: carries plans out, on its own connections or in the caller's transaction."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self, TypeVar, overload

import msgspec

from duerow.clock import Clock, HostClock
from duerow.errors import Conflict, DuerowError, StoreUnavailable
from duerow.message import Scalar, check_queue_name
from duerow.payload import codec
from duerow.payload.codec import MAX_PAYLOAD_BYTES
from duerow.payload.encoding import Payloads, Sealing, check_sealing
from duerow.payload.types import Upgrades
from duerow.plan import Plan
from duerow.queue import schedule as planning
from duerow.queue.dead_letters import check_targets
from duerow.queue.definition import Defined, Definition, decoded, readable
from duerow.queue.history import PRUNE_BATCH
from duerow.queue.metrics import Metrics
from duerow.queue.schedule import Daily, Maintained, Missed, Schedule
from duerow.retry import RetryFunction, RetryPolicy
from duerow.store import (
    READ_TIMEOUT,
    Connections,
    Planned,
    ScheduleChange,
    SchedulesFound,
    Settings,
    Store,
    find_backend,
)
from duerow.sync import offload
from duerow.sync.bulk import DatabaseBulk
from duerow.sync.directory import Directory
from duerow.sync.offload import Transaction
from duerow.sync.pipelines import Pipelines
from duerow.sync.queue import Queue

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.database")

TRIES: Final = 10
"""How often a transaction that lost against another one is carried out in all."""


def connect(
    target: Any,
    *,
    migrate: bool = False,
    clock: Clock | None = None,
    prefix: str = "duerow_",
    schema: str | None = None,
    encryption: Sealing | None = None,
    read_timeout: timedelta | None = READ_TIMEOUT,
    **options: Any,
) -> Database:
    """Open the queues of a database, and check that its tables are those of this version.

    Args:
        target: a URL (`sqlite:///app.db`, `postgresql://user@host/base`, `memory://`), an SQLAlchemy engine, or a
            client or database of PyMongo's.
        migrate: create the tables, or bring them up to this version, first.
        clock: tells the time instead of the database; for tests.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds them; None: the connection's default.
        encryption: the keys of payloads, as a `duerow.encryption.Encryption`; default: they are written in clear text.
        read_timeout: how long a search, a count or another read for people may take before it ends as QueryTimeout, by
            default 30 s; None: as long as it takes. Not in a transaction of yours, nor for what workers do.
        options: further settings of the store, as in its reference page.

    Raises:
        ConfigurationError: the URL's scheme is unknown, or its driver is not installed.
        SchemaOutdated, SchemaNewer: the tables are not those of this version.
        StoreUnavailable: the server cannot be reached.
    """
    settings = Settings(clock, prefix, schema, options, creates=bool(migrate), read_timeout=read_timeout)
    # Drivers and SQLAlchemy are imported only now, which takes a third of a second.
    store, connections = offload.off(lambda: find_backend(target).open(target, settings))
    database = Database(store, connections, clock, encryption)
    try:
        (database.migrate() if migrate else database.run(store.check, many=offload.MANY))
    except BaseException:
        database.close()
        raise
    return database


class Database(Pipelines, Directory):
    """The queues of one database; made by `connect`, a context manager that closes it at the end.

    Attributes:
        store: the plans of this family of databases.
        connections: the way to its server.
        encryption: encrypts and decrypts payloads; None: they are written in clear text.
        meter: counts what this handle does, for `stats`.
        handled: its queues that were given a handler, in that order.
    """

    def __init__(
        self,
        store: Store,
        connections: Connections,
        clock: Clock | None = None,
        encryption: Sealing | None = None,
    ) -> None:
        self.store = store
        self.connections = connections
        self.encryption = check_sealing(encryption)
        self._clock = clock
        self._payloads = Payloads(sealing=self.encryption)
        self._dead_letters: dict[str, str] = {}
        self.meter = Metrics(self.host_time)
        self.handled: dict[int, Queue[Any]] = {}

    @property
    def bulk(self) -> DatabaseBulk:
        """Batches that many tasks stage, and that become visible at once; for engines such as Spark."""
        return DatabaseBulk(self)

    @overload
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = ...,
        retry: RetryPolicy | RetryFunction | None = ...,
        max_payload_bytes: int = ...,
        dead_letter: str | None = ...,
        payload: type[T],
        upgrades: Upgrades | None = ...,
        indexed: Mapping[str, type] | None = ...,
        history: timedelta | None = ...,
        remember_keys: timedelta | None = ...,
    ) -> Queue[T]: ...
    @overload
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = ...,
        retry: RetryPolicy | RetryFunction | None = ...,
        max_payload_bytes: int = ...,
        dead_letter: str | None = ...,
        payload: type[Any] | None = ...,
        upgrades: Upgrades | None = ...,
        indexed: Mapping[str, type] | None = ...,
        history: timedelta | None = ...,
        remember_keys: timedelta | None = ...,
    ) -> Queue[Any]: ...
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        dead_letter: str | None = None,
        payload: type[Any] | None = None,
        upgrades: Upgrades | None = None,
        indexed: Mapping[str, type] | None = None,
        history: timedelta | None = None,
        remember_keys: timedelta | None = None,
    ) -> Queue[Any]:
        """Return the queue of this name; nothing has to be created.

        Args:
            name: 1 to 100 ASCII letters, digits and the characters _ . : / -
            lease: how long a reservation lasts unless it is extended.
            retry: the delays between attempts, and their limit; default: at most 20, from 1 s doubling up to 1 h.
            max_payload_bytes: the largest payload when encoded; default 1 MiB.
            dead_letter: the queue to which messages go that are given up, with headers that say why; default: none,
                they stay in this queue as dead.
            payload: the type of its payloads: a dataclass, msgspec Struct, pydantic model or TypedDict; see
                `duerow.payload.types`. Default: JSON and bytes.
            upgrades: functions that make payloads of that type of others, by kind or by older type.
            indexed: payload fields by which messages are searched for, each with the type of its values: int, float,
                str or bool, such as `{"companyId": int, "to.city": str}`. `Queue.declare` makes their indexes.
            history: how long turns are kept after they ended; default: they are not. See `Queue.history`.
            remember_keys: how long the keys of messages that left (done, dead, moved, removed, popped) are remembered,
                so that a push with one through this handle is a duplicate; default: they are not.

        Raises:
            InvalidMessage: a name, the lease, or a time to keep is out of bounds.
            ConfigurationError: dead letters would go in a circle, the type cannot be declared, an upgrade is no
                function, or a field cannot be indexed.
        """
        queue = Queue(
            self,
            name,
            lease,
            retry,
            max_payload_bytes,
            dead_letter,
            payload,
            upgrades,
            indexed,
            history,
            remember_keys,
        )
        if dead_letter is not None:
            targets = {**self._dead_letters, name: dead_letter}
            check_targets(targets)
            self._dead_letters = targets
        return queue

    def check_dead_letters(self, stored: Mapping[str, Definition], queue: str, dead_letter: str | None) -> None:
        """Raise ConfigurationError if dead letters would go in a circle with what is stored and what is open here."""
        targets = {name: one.dead_letter for name, one in stored.items()} | self._dead_letters | {queue: dead_letter}
        check_targets({name: target for name, target in targets.items() if target is not None})

    def is_dead_letter_queue(self, name: str) -> bool:
        """Return whether dead letters are sent to this queue, by what is open here or by what the database says."""
        if name in self._dead_letters.values():
            return True
        known = [readable(one.definition) for one in self.run(self.store.settings)]
        return any(definition is not None and definition.dead_letter == name for definition in known)

    def definitions(self) -> list[Defined]:
        """Return what the database says of its queues, in the order of their names; those without a word are left out.

        Raises:
            ConfigurationError: one was declared by a version that this one does not understand.
        """
        said = self.run(self.store.settings)
        return [Defined(one.queue, decoded(one.queue, one.definition), one.paused, one.draining) for one in said]

    def host_time(self) -> datetime:
        """Return the time as this process knows it: that of the clock given to `connect`, else of the host."""
        return (self._clock or HostClock()).now()

    def queues(self) -> list[str]:
        """Return the names of the queues that have messages; `known_queues` names empty ones as well."""
        return self.run(self.store.queues)

    # Schedules.

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
        grace: timedelta = planning.GRACE,
    ) -> Schedule:
        """Have a message pushed whenever a clock says so; return the schedule as it is kept now.

        Workers of this database push it, whatever their queue is, and so does `maintain`: one message for each tick,
        with any number of processes, due since the time of the tick, with the headers `schedule` and `tick`.

        To declare it again with nothing changed changes nothing. With another `cron`, `every`, `daily`, `zone` or
        `start` the pending tick is replaced by the first one that they give; with the same ones it stays, and carries
        the new content.

        Args:
            name: unique among the schedules of the database: 1 to 100 ASCII letters, digits and . _ : / -
            queue: where the messages go.
            payload: JSON (see `duerow.payload.codec`), bytes, or an object of a type that can be declared.
            cron: minute, hour, day of the month, month and day of the week, such as "0 3 * * MON-FRI". Give one of
                `cron`, `every` and `daily`.
            every: an interval of at least a second; the first tick is one interval from now, unless `start` is given.
            daily: one or more times of each day, as `time(8, 30)` or "08:30".
            zone: the time zone of `cron` and `daily`, such as "Europe/Zagreb"; default: UTC.
            start: no tick is earlier; intervals are counted from here. An aware datetime.
            headers: names and scalars that travel with each message.
            group: the group that the messages are in: then one is handled at a time, in the order of the ticks.
            priority: their priority; lower ones go first.
            missed: what becomes of ticks that nobody pushed within the grace: "skip" leaves them out, "once" pushes
                the last of them, "all" pushes each.
            grace: how late a tick may be before it counts as missed; default: a minute.

        Raises:
            ConfigurationError: the name, the times or `missed` cannot be, or it would never tick.
            InvalidMessage: the queue's name, the interval, the start, the grace, or a field of the messages is out of
                bounds.
        """
        called = planning.check_schedule_name(name)
        rhythm = planning.rhythm_of(cron, every, daily, zone, start)
        # Bound to no key, which each tick's message would need another one of: see the page on encryption.
        encoded = self._payloads.elsewhere.encode(payload)
        encoded = self._payloads.seal(encoded, check_queue_name(queue), None, codec.encode_headers(headers))
        wanted = planning.definition(queue, encoded, headers, group, priority, rhythm, missed, grace)
        while True:
            found = self._find_schedule(called)
            change = planning.declare(called, wanted, found)
            if change is None:
                return planning.shown(found.rows[0], self._payloads)
            if change.after is not None and self._set_schedule(change):
                return planning.shown(change.after, self._payloads)

    def schedules(self) -> list[Schedule]:
        """Return all schedules in the order of their names."""
        found = self.run(self.store.schedules)
        return [planning.shown(row, self._payloads) for row in found.rows]

    def unschedule(self, name: str) -> bool:
        """Remove a schedule with its pending tick; return whether there was one. What it has pushed stays."""
        called = planning.check_schedule_name(name)
        while True:
            change = planning.remove(called, self._find_schedule(called))
            if change is None:
                return False
            if self._set_schedule(change):
                return True

    def maintain(self) -> Maintained:
        """Do one round of what workers do in the background: push what schedules have due, and prune what is kept.

        A schedule that cannot tick holds up no other: the answer says which and why.
        """
        ticked = self.tick()
        return msgspec.structs.replace(ticked, pruned=self.prune())

    def prune(self, batches: int | None = None) -> int:
        """Take away the turns and remembered keys, of all queues, whose time is over; return how many.

        Args:
            batches: how many transactions at most, of a thousand turns and as many keys each; default: all it takes.
        """
        gone = made = 0
        while batches is None or made < batches:
            some = self.run(lambda: self.store.prune(PRUNE_BATCH))
            gone, made = gone + some, made + 1
            if some < PRUNE_BATCH:
                break
        return gone

    def tick(self) -> Maintained:
        """Push what schedules have due; see `maintain`."""
        pushed = 0
        failed: dict[str, DuerowError] = {}
        while True:
            found = self.run(lambda: self.store.schedules(due=True))
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
        """Push what a schedule has due, and move it on; return how many messages that were: 0 if another was faster."""
        change = planning.tick(row, now)
        return len(change.push) if self._set_schedule(change) else 0

    def _set_schedule(self, change: ScheduleChange) -> bool:
        return self.run(lambda: self.store.set_schedule(change))

    def _find_schedule(self, name: str) -> SchedulesFound:
        return self.run(lambda: self.store.schedules(name=name))

    # Counting.

    def write_counts(self) -> None:
        """Write what this handle counted for `stats` and has not written yet.

        Workers do this every ten seconds, and whoever settles does it with a settlement; `close` does it for the rest.
        """
        with self.meter.writing() as rows:
            if rows:
                self.run(lambda: self.store.note_counts(self.meter.process, rows))

    # The tables.

    def migrate(self) -> list[str]:
        """Bring the tables up to this version; return the names of the migrations made now."""
        return self.run(self.store.migrate, many=offload.MANY)  # its statements take long to build

    def migration_sql(self) -> str:
        """Return the statements that create the tables, for whoever may run them."""
        return self.store.migration_sql()

    def roles_sql(
        self,
        *,
        producer: str | None = None,
        consumer: str | None = None,
        operator: str | None = None,
        reader: str | None = None,
    ) -> str:
        """Return the statements that grant four roles their rights on the tables, for whoever may run them.

        The roles have to exist. Each default name is the prefix and the word, such as `duerow_producer`.

        Args:
            producer: the role that pushes.
            consumer: the role that runs workers and pipelines.
            operator: the role that does everything but change the tables.
            reader: the role that only looks.

        Raises:
            ConfigurationError: a name cannot be one.
            NotSupported: the database has no roles (SQLite, memory), or no statements that grant them (MongoDB).
        """
        given = {"producer": producer, "consumer": consumer, "operator": operator, "reader": reader}
        return self.store.roles_sql({role: name for role, name in given.items() if name is not None})

    def run(self, plan: Callable[[], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Carry a plan out and return its result.

        On an own connection a transaction that loses against another one is carried out again, whole; inside the
        caller's transaction nothing is retried.

        Args:
            plan: makes the plan, anew for every try.
            within: the caller's open transaction.
            many: how many messages it is about.

        Raises:
            Conflict: it lost ten times in a row, or once after it had waited as long as the database may wait.
            StoreUnavailable: the server cannot be reached, or broke off.
        """
        carry_out = offload.carrying(many)
        if within is not None:
            return carry_out(plan(), self.connections.join(within))
        try:
            with self.connections.open() as execute:
                return carry_out(plan(), execute)
        except Conflict as lost:
            if lost.waited:
                raise
            return again(lambda: self._carry_out(plan, many))

    def claim(self, plan: Callable[[bool], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Carry a claim out; where the database refuses one of its messages, once more, each of them apart.

        Inside the caller's transaction what is refused is raised: it may have ended that transaction.

        Args:
            plan: makes the plan, given whether it takes the messages apart.
            within: the caller's open transaction.
            many: how many messages it is about.
        """
        try:
            return self.run(lambda: plan(False), within, many)
        except DuerowError as refused:
            if within is not None or not refused.of_row:
                raise
        return self.run(lambda: plan(True), None, many)

    def _carry_out(self, plan: Callable[[], Plan[T]], many: int) -> T:
        with self.connections.open() as execute:
            return offload.carrying(many)(plan(), execute)

    def close(self) -> None:
        """Close the connections that are at rest; an engine of the user's own stays open."""
        try:
            self.write_counts()
        except Exception as error:  # there may be no database any more: to close must work all the same
            LOG.warning("what was counted for stats in the last seconds is lost: %s", error)
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def again(transaction: Transaction[T]) -> T:
    """Carry out a transaction that lost once: out of the way of the winner, and a last time whatever comes of it."""
    for pause in _pauses():
        time.sleep(pause)
        try:
            return transaction()
        except Conflict as lost:
            if lost.waited:
                raise
    return transaction()


def _pauses() -> Iterator[float]:
    """Seconds to wait before each further try but the last: doubling from 2 ms up to half a second, spread evenly."""
    for tried in range(TRIES - 2):
        yield random.uniform(0.5, 1.0) * min(0.002 * 2**tried, 0.5)  # noqa: S311 - spreads load, guards nothing
