# Generated from ../aio/database.py by tools/generate_sync.py; edit that file instead.
"""A database with queues in it: executes plans, on its own connections or in the caller's transaction."""

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
"""How many times a transaction that loses to another one is tried in all."""


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
    """Open the queues of a database, and check that its tables match this version.

    Args:
        target: a URL (`sqlite:///app.db`, `postgresql://user@host/base`, `memory://`), an SQLAlchemy engine, or a
            PyMongo client or database.
        migrate: first create the tables, or bring them up to this version.
        clock: tells the time instead of the database; for tests.
        prefix: the prefix of all table names.
        schema: the database schema that holds the tables; None: the connection's default.
        encryption: the keys of payloads, as a `duerow.encryption.Encryption`; default: payloads are stored in clear
            text.
        read_timeout: how long a search, a count or another read for people may take before it raises QueryTimeout;
            default: 30 s; None: no limit. It does not apply in a transaction of yours, or to the work of workers.
        options: further settings of the store, described on its reference page.

    Raises:
        ConfigurationError: the URL's scheme is unknown, or its driver is not installed.
        SchemaOutdated, SchemaNewer: the tables do not match this version.
        StoreUnavailable: the server cannot be reached.
    """
    settings = Settings(clock, prefix, schema, options, creates=bool(migrate), read_timeout=read_timeout)
    # This imports drivers and SQLAlchemy, which takes a third of a second.
    store, connections = offload.off(lambda: find_backend(target).open(target, settings))
    database = Database(store, connections, clock, encryption)
    try:
        (database.migrate() if migrate else database.run(store.check, many=offload.MANY))
    except BaseException:
        database.close()
        raise
    return database


class Database(Pipelines, Directory):
    """The queues of one database; made by `connect`. As a context manager, it closes itself at the end.

    Attributes:
        store: the plans for this family of databases.
        connections: its connections to the server.
        encryption: encrypts and decrypts payloads; None: they are stored in clear text.
        meter: counts what this handle does, for `stats`.
        handled: its queues with a handler, in the order in which they got it.
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
        """Batches that many tasks stage and that become visible all at once; for engines such as Spark."""
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
        """Return the queue with this name; nothing has to be created.

        Args:
            name: 1 to 100 ASCII letters, digits and the characters _ . : / -
            lease: how long a reservation lasts unless it is extended.
            retry: the delays between attempts, and how many attempts are allowed; default: at most 20 attempts, with
                delays doubling from 1 s up to 1 h.
            max_payload_bytes: the largest encoded payload; default: 1 MiB.
            dead_letter: the queue that receives messages that have failed for good, with headers that say why; default:
                none, they stay in this queue as dead.
            payload: the type of its payloads: a dataclass, msgspec Struct, pydantic model or TypedDict; see
                `duerow.payload.types`. Default: JSON and bytes.
            upgrades: functions that convert other payloads to that type, by kind or by older type.
            indexed: payload fields to search messages by, each with the type of its values (int, float, str or bool),
                such as `{"companyId": int, "to.city": str}`. `Queue.declare` creates their indexes.
            history: how long finished turns are kept; default: they are not kept. See `Queue.history`.
            remember_keys: how long the keys of messages that left (done, dead, moved, removed, popped) are remembered,
                so that pushing one again through this handle is a duplicate; default: they are not remembered.

        Raises:
            InvalidMessage: a name, the lease, or a time to keep is out of bounds.
            ConfigurationError: dead letters would go in a circle, the type cannot be declared, an upgrade is not a
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
        """Raise ConfigurationError if dead letters would go in a circle, by stored definitions and open handles."""
        targets = {name: one.dead_letter for name, one in stored.items()} | self._dead_letters | {queue: dead_letter}
        check_targets({name: target for name, target in targets.items() if target is not None})

    def is_dead_letter_queue(self, name: str) -> bool:
        """Return whether dead letters are sent to this queue, by handles open here or definitions in the database."""
        if name in self._dead_letters.values():
            return True
        known = [readable(one.definition) for one in self.run(self.store.settings)]
        return any(definition is not None and definition.dead_letter == name for definition in known)

    def definitions(self) -> list[Defined]:
        """Return the stored definitions and settings of queues, in order of name; queues without any are left out.

        Raises:
            ConfigurationError: a queue was declared by a version that this one does not understand.
        """
        said = self.run(self.store.settings)
        return [Defined(one.queue, decoded(one.queue, one.definition), one.paused, one.draining) for one in said]

    def host_time(self) -> datetime:
        """Return the time as this process knows it: from the clock given to `connect`, otherwise from the host."""
        return (self._clock or HostClock()).now()

    def queues(self) -> list[str]:
        """Return the names of the queues that have messages; `known_queues` includes empty queues."""
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
        """Push a message on a recurring schedule; return the schedule as it is now stored.

        Any worker of this database pushes it, whatever its queue, and so does `maintain`: one message per tick,
        however many processes there are, due since the time of the tick, with the headers `schedule` and `tick`.

        Declaring it again unchanged has no effect. If `cron`, `every`, `daily`, `zone` or `start` changes, the first
        tick of the new times replaces the pending one; otherwise the pending tick stays, and carries the new content.

        Args:
            name: unique among the schedules of the database: 1 to 100 ASCII letters, digits and . _ : / -
            queue: the queue that the messages go to.
            payload: JSON (see `duerow.payload.codec`), bytes, or an object of a type that can be declared.
            cron: minute, hour, day of the month, month and day of the week, such as "0 3 * * MON-FRI". Give one of
                `cron`, `every` and `daily`.
            every: an interval of at least a second; the first tick is one interval from now, unless `start` is given.
            daily: one or more times of day, as `time(8, 30)` or "08:30".
            zone: the time zone of `cron` and `daily`, such as "Europe/Zagreb"; default: UTC.
            start: no tick is earlier; intervals are counted from here. An aware datetime.
            headers: names and scalars that travel with each message.
            group: the group of the messages: they are then handled one at a time, in the order of the ticks.
            priority: their priority; lower goes first.
            missed: what to do with ticks that were not pushed within the grace: "skip" leaves them out, "once" pushes
                the last of them, "all" pushes each.
            grace: how late a tick may be before it counts as missed; default: a minute.

        Raises:
            ConfigurationError: the name, the times or `missed` is invalid, or the schedule would never tick.
            InvalidMessage: the queue's name, the interval, the start, the grace, or a field of the messages is out of
                bounds.
        """
        called = planning.check_schedule_name(name)
        rhythm = planning.rhythm_of(cron, every, daily, zone, start)
        # Not bound to a message key, since each tick's message would need a different one: see the page on encryption.
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
        """Return all schedules in order of name."""
        found = self.run(self.store.schedules)
        return [planning.shown(row, self._payloads) for row in found.rows]

    def unschedule(self, name: str) -> bool:
        """Remove a schedule and its pending tick; return whether it existed. Messages that it has pushed stay."""
        called = planning.check_schedule_name(name)
        while True:
            change = planning.remove(called, self._find_schedule(called))
            if change is None:
                return False
            if self._set_schedule(change):
                return True

    def maintain(self) -> Maintained:
        """Do one round of the workers' background tasks: push due ticks of schedules, and prune history and keys.

        A schedule that cannot tick does not hold up the others: the result names it, with the error.
        """
        ticked = self.tick()
        return msgspec.structs.replace(ticked, pruned=self.prune())

    def prune(self, batches: int | None = None) -> int:
        """Delete expired turns and remembered keys of all queues; return how many were deleted.

        Args:
            batches: the most transactions, each of up to a thousand turns and a thousand keys; default: no limit.
        """
        gone = made = 0
        while batches is None or made < batches:
            some = self.run(lambda: self.store.prune(PRUNE_BATCH))
            gone, made = gone + some, made + 1
            if some < PRUNE_BATCH:
                break
        return gone

    def tick(self) -> Maintained:
        """Push the due ticks of schedules; see `maintain`."""
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
        """Push the due ticks of a schedule and advance it; return how many: 0 if another process was faster."""
        change = planning.tick(row, now)
        return len(change.push) if self._set_schedule(change) else 0

    def _set_schedule(self, change: ScheduleChange) -> bool:
        return self.run(lambda: self.store.set_schedule(change))

    def _find_schedule(self, name: str) -> SchedulesFound:
        return self.run(lambda: self.store.schedules(name=name))

    # Counting.

    def write_counts(self) -> None:
        """Write the counts for `stats` that this handle has not written yet.

        Workers do this every ten seconds, other consumers along with a settlement, and `close` writes the rest.
        """
        with self.meter.writing() as rows:
            if rows:
                self.run(lambda: self.store.note_counts(self.meter.process, rows))

    # The tables.

    def migrate(self) -> list[str]:
        """Bring the tables up to this version; return the names of the migrations that were applied now."""
        return self.run(self.store.migrate, many=offload.MANY)  # its statements take long to build

    def migration_sql(self) -> str:
        """Return the statements that create the tables, for somebody with the rights to run them."""
        return self.store.migration_sql()

    def roles_sql(
        self,
        *,
        producer: str | None = None,
        consumer: str | None = None,
        operator: str | None = None,
        reader: str | None = None,
    ) -> str:
        """Return the statements that grant four roles their rights on the tables, for an administrator to run.

        The roles must exist. The default names are the prefix and the argument's name, such as `duerow_producer`.

        Args:
            producer: the role that pushes.
            consumer: the role that runs workers and pipelines.
            operator: the role that does everything except change the tables.
            reader: the role that only reads.

        Raises:
            ConfigurationError: a name is not valid for a role.
            NotSupported: the database has no roles (SQLite, memory), or no statements to grant rights (MongoDB).
        """
        given = {"producer": producer, "consumer": consumer, "operator": operator, "reader": reader}
        return self.store.roles_sql({role: name for role, name in given.items() if name is not None})

    def run(self, plan: Callable[[], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Execute a plan and return its result.

        On a connection of its own, a transaction that loses to another one is repeated as a whole; inside the
        caller's transaction nothing is retried.

        Args:
            plan: makes the plan, anew for every try.
            within: the caller's open transaction.
            many: how many messages the plan handles.

        Raises:
            Conflict: it lost ten times in a row, or once after waiting for as long as the database allows.
            StoreUnavailable: the server cannot be reached, or the connection broke.
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
        """Execute a claim; if the database refuses one of its messages, repeat it with each message on its own.

        Inside the caller's transaction the refusal is raised: it may have ended that transaction.

        Args:
            plan: makes the plan; its argument says whether to take the messages one by one.
            within: the caller's open transaction.
            many: how many messages the plan handles.
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
        """Close idle connections; an engine that the user passed stays open."""
        try:
            self.write_counts()
        except Exception as error:  # the database may be gone; closing must work all the same
            LOG.warning("what was counted for stats in the last seconds is lost: %s", error)
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def again(transaction: Transaction[T]) -> T:
    """Repeat a transaction that lost once, after a pause each time; the last try raises whatever happens."""
    for pause in _pauses():
        time.sleep(pause)
        try:
            return transaction()
        except Conflict as lost:
            if lost.waited:
                raise
    return transaction()


def _pauses() -> Iterator[float]:
    """Yield the seconds to wait before each retry except the last: doubling from 2 ms to 0.5 s, with random jitter."""
    for tried in range(TRIES - 2):
        yield random.uniform(0.5, 1.0) * min(0.002 * 2**tried, 0.5)  # noqa: S311 - spreads load, guards nothing
