"""Execute plans, on connections of a database or in the caller's transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from duerow.aio import offload
from duerow.aio.offload import Transaction
from duerow.backoff import Delays
from duerow.clock import Clock, HostClock
from duerow.errors import ConfigurationError, Conflict, DuerowError, SchemaOutdated, StoreRefused
from duerow.payload.encoding import Cipher, check_sealing
from duerow.plan import Plan
from duerow.queue.dead_letter_targets import DeadLetterTargets
from duerow.queue.definition import Definition, readable
from duerow.queue.metrics import Metrics
from duerow.store import AsyncConnections, KnowsRights, Store, TriesRights

T = TypeVar("T")

TRIES: Final = 10
"""The total number of times that a transaction is tried if it keeps losing to others."""

FIRST_RETRY: Final = 0.002
"""The longest delay, in seconds, before it is tried again."""

LATEST_RETRY: Final = 0.5
"""The longest delay, in seconds, before its last tries."""


class Executor:
    """What the parts of a queue and of a database need: it executes their plans and holds what the queues share.

    Attributes:
        store: the plans for this family of databases.
        connections: its connections to the server.
        encryption: encrypts and decrypts payloads; None: they are stored in clear text.
        metrics: counts what this handle does, for `stats`.
        dead_letters: where its queues send their dead letters.
        handled: its queues that have a handler, in the order in which they got one.
        expiring: queues in which this handle leaves messages, such as results, that maintenance deletes when they are
            due.
    """

    def __init__(
        self,
        store: Store,
        connections: AsyncConnections,
        clock: Clock | None = None,
        encryption: Cipher | None = None,
    ) -> None:
        self._may_consume = False
        self.store = store
        self.connections = connections
        self.encryption = check_sealing(encryption)
        self._clock = clock
        self.metrics = Metrics(self.host_time)
        self.dead_letters = DeadLetterTargets()
        self.handled: dict[int, Any] = {}
        self.expiring: set[str] = set()

    def host_time(self) -> datetime:
        """Return this process's time: from the clock given to `connect`, otherwise from the host."""
        return (self._clock or HostClock()).now()

    async def run(self, plan: Callable[[], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Execute a plan and return its result.

        Without `within`, a transaction that loses to another one is repeated as a whole; inside the caller's
        transaction nothing is retried.

        Args:
            plan: makes a new plan for every try.
            within: the caller's open transaction.
            many: how many messages the plan handles.

        Raises:
            Conflict: it lost ten times in a row, or once after waiting for as long as the database allows.
            StoreUnavailable: the server cannot be reached, or the connection broke.
        """
        carry_out = offload.carrying(many)
        if within is not None:
            return await carry_out(plan(), self.connections.join(within))
        try:
            async with self.connections.open() as execute:
                return await carry_out(plan(), execute)
        except Conflict as lost:
            if lost.waited:
                raise
            return await again(lambda: self._carry_out(plan, many))

    async def claim(self, plan: Callable[[bool], Plan[T]], within: Any = None, many: int = 1) -> T:
        """Execute a claim; if the database refuses one of its messages, repeat it with each message on its own.

        Inside the caller's transaction the refusal is raised: it may have ended that transaction.

        Args:
            plan: makes the plan; its argument tells whether to take the messages one by one.
            within: the caller's open transaction.
            many: how many messages the plan handles.
        """
        try:
            return await self.run(lambda: plan(False), within, many)
        except DuerowError as refused:
            if within is not None or not refused.of_row:
                raise
        return await self.run(lambda: plan(True), None, many)

    async def check_may_consume(self) -> None:
        """Raise ConfigurationError, naming the missing rights, unless this database user may run workers.

        A database without access rights is not checked; any other is checked once.
        """
        if self._may_consume:
            return
        schema, parts = self.store.schema, self.store.capabilities.parts
        if "schema" in parts and isinstance(schema, TriesRights) and not await self._surely_may_consume(schema):
            await self._try_rights(schema.consumer_trials())
        self._may_consume = True

    async def _surely_may_consume(self, schema: object) -> bool:
        if not isinstance(schema, KnowsRights):
            return False
        try:
            return await self.run(schema.may_consume)
        except (ConfigurationError, SchemaOutdated, StoreRefused):  # the trials find out why
            return False

    async def _try_rights(self, trials: Mapping[str, Callable[[], Plan[None]]]) -> None:
        def all_of_them() -> Plan[None]:
            for trial in trials.values():
                yield from trial()

        refused = await self._refused(all_of_them) if trials else None
        if refused is not None:
            missing = [right for right, trial in trials.items() if await self._refused(trial) is not None]
            if len(missing) == len(trials):  # something other than a right is missing
                raise refused
            raise ConfigurationError(
                f"this database user may not run workers: it lacks {', '.join(missing) or refused}; nothing was "
                "claimed. Connect as a user with the rights of a consumer, or grant them: duerow sql --roles prints "
                "the statements"
            ) from refused

    async def _refused(self, trial: Callable[[], Plan[None]]) -> ConfigurationError | None:
        """Return the error of a trial if this user lacks the right to it; any other failure is ignored."""
        try:
            await self.run(trial)
        except (StoreRefused, SchemaOutdated):
            return None
        except ConfigurationError as error:
            return error
        return None

    async def _carry_out(self, plan: Callable[[], Plan[T]], many: int) -> T:
        async with self.connections.open() as execute:
            return await offload.carrying(many)(plan(), execute)

    async def write_counts(self) -> None:
        """Write the counts for `stats` that this handle has not written yet.

        Workers do this every ten seconds, and other consumers together with a settlement; `close` writes the rest.
        """
        with self.metrics.writing() as rows:
            if rows and "counters" in self.store.capabilities.parts:
                await self.run(lambda: self.store.counters.note_counts(self.metrics.process, rows))

    def check_dead_letters(self, stored: Mapping[str, Definition], queue: str, dead_letter: str | None) -> None:
        """Raise ConfigurationError if dead letters would go in circles, given stored definitions and open handles."""
        self.dead_letters.check({name: one.dead_letter for name, one in stored.items()}, queue, dead_letter)

    async def is_dead_letter_queue(self, name: str) -> bool:
        """Return whether any open handle here, or any definition in the database, sends dead letters to this queue."""
        if self.dead_letters.take(name):
            return True
        if "metadata" not in self.store.capabilities.parts:
            return False
        known = [readable(one.definition) for one in await self.run(self.store.metadata.settings)]
        return any(definition is not None and definition.dead_letter == name for definition in known)


async def again(transaction: Transaction[T]) -> T:
    """Repeat a transaction that lost once, after a delay each time; the last try raises whatever error occurs."""
    delays = Delays(FIRST_RETRY, LATEST_RETRY)
    for _ in range(TRIES - 2):
        await asyncio.sleep(delays.next())
        try:
            return await transaction()
        except Conflict as lost:
            if lost.waited:
                raise
    return await transaction()
