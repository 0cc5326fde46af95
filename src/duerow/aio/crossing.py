"""Send messages to queues of other databases, with a worker for the queue in which they wait."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from inspect import isawaitable
from time import monotonic
from typing import Any, Final

from duerow.aio.executor import Executor
from duerow.aio.pipeline_workers import Alarm
from duerow.aio.queue import Queue
from duerow.aio.worker import Worker
from duerow.errors import ConfigurationError, Conflict, DuerowError, QueueDraining, StoreUnavailable
from duerow.message import Message
from duerow.payload.encoding import ANY_KIND, PassedOn, Payloads
from duerow.pipeline.crossing import BATCH, Crossing
from duerow.plan import Plan
from duerow.settlement import Release
from duerow.store import Arrival, Reception
from duerow.store.consumer_id import consumer_name, cut_off, own_version
from duerow.worker.health import Health
from duerow.worker.outage import Backoff
from duerow.worker.run import Until

LOG: Final = logging.getLogger("duerow.worker")

LONGEST_PAUSE: Final = 10.0
"""The longest pause, in seconds, between checks on a database that does not answer."""


class Sender:
    """Sends messages that wait for a queue in another database; it is the handler of their queue's worker.

    Args:
        crossing: the station in which they wait.
        here: the database in which they wait.
        max_hops: the maximum number of queues that a message may go through.

    Attributes:
        trouble: why nothing can be sent at the moment; None: nothing is known to prevent it.
        sent: how many messages are known to have arrived, in this call or an earlier one.
    """

    def __init__(self, crossing: Crossing, here: Executor, max_hops: int) -> None:
        self._crossing, self._here, self._max_hops = crossing, here, max_hops
        self._read = Payloads(crossing.name, sealing=here.encryption)
        self._opened: Any = None
        self.trouble: DuerowError | None = None
        self.sent = 0

    async def open(self) -> Executor:
        """Open the other database unless it is already open.

        Raises:
            StoreUnavailable: it cannot be reached.
            ConfigurationError: it is not a database, it belongs to the other API, or messages cannot go there.
        """
        if self._opened is None:
            there = self._crossing.there
            opened = there.connect()
            if isawaitable(opened):
                opened = await opened
            if not isinstance(opened, Executor):
                raise ConfigurationError(
                    f"{there} is in {type(opened).__module__}.{type(opened).__qualname__}, and this pipeline runs on "
                    f"{Executor.__module__.rpartition('.')[0]}: both databases must be blocking, or both async"
                )
            is_here = opened.connections.place == self._here.connections.place
            hidden = self._here.encryption is not None and opened.encryption is None
            self._opened = opened
            try:
                self._crossing.check_target(opened.store.capabilities, is_here, hidden)
            except DuerowError:
                await self.close()
                raise
        return self._opened  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Close the other database if it was opened for this."""
        opened, self._opened = self._opened, None
        if opened is not None and not self._crossing.there.is_borrowed:
            await opened.close()

    async def answers(self) -> bool:
        """Return whether the other database currently accepts messages."""
        try:
            await self._look()
        except (StoreUnavailable, QueueDraining) as error:
            self.trouble = error
        else:
            self.trouble = None
        return self.trouble is None

    async def _look(self) -> datetime:
        """Return the time in the other database; raise StoreUnavailable or QueueDraining if it accepts nothing now."""
        there, queue = await self.open(), self._crossing.there.queue
        metadata = there.store.metadata

        def look() -> Plan[tuple[datetime, bool]]:
            found = yield from metadata.schedules(queue)
            settings = yield from metadata.settings(queue)
            return found.now, any(one.draining for one in settings)

        now, draining = await there.run(look)
        if draining:
            raise QueueDraining(queue)
        return now

    async def send(self, messages: Sequence[Message]) -> list[Any]:
        """Send messages; return how the turn of each ends. An attempt counts only once something is sent."""
        try:
            now = await self._look()
        except (StoreUnavailable, QueueDraining) as error:
            self.trouble = error
            return [Release()] * len(messages)
        ends: dict[int, Any] = {}
        arrivals: dict[int, Arrival] = {}
        for message in messages:
            if (decided := self._crossing.decided(message, self._max_hops)) is not None:
                ends[message.id] = decided
                continue
            try:
                arrivals[message.id] = self._crossing.arrival(message, self._read, self._written(), now)
            except DuerowError as error:
                ends[message.id] = error
        answers = await self._receive(arrivals) if arrivals else {}
        self.sent += sum(answer in ("arrived", "before") for answer in answers.values())
        return [
            self._end(message, answers[message.id]) if message.id in answers else ends[message.id]
            for message in messages
        ]

    def _end(self, message: Message, answer: Reception | DuerowError | None) -> Any:
        """Return how the turn of a pushed message ends, given the answer of the other database."""
        if answer is None:
            return Release()
        return answer if isinstance(answer, DuerowError) else self._crossing.ended(message, answer)

    def _written(self) -> Payloads:
        return Payloads(self._crossing.there.queue, sealing=self._opened.encryption)

    async def _receive(self, arrivals: Mapping[int, Arrival]) -> dict[int, Reception | DuerowError | None]:
        """Push each message once; return what is known about each, None if it was certainly not pushed.

        If the other database refuses one of them, each is pushed in a transaction of its own.
        """
        there: Executor = self._opened
        try:
            found: list[Reception] = await there.run(
                lambda: there.store.bulk.receive([*arrivals.values()]), None, len(arrivals)
            )
        except DuerowError as error:
            if isinstance(error, StoreUnavailable):
                self.trouble = error
            if isinstance(error, Conflict):  # nothing was changed there, so there is nothing to remember here
                return dict.fromkeys(arrivals)
            if not error.of_row or len(arrivals) == 1:
                return dict.fromkeys(arrivals, error)
        else:
            return dict(zip(arrivals, found, strict=True))
        answers: dict[int, Reception | DuerowError | None] = {}
        for id, arrival in arrivals.items():
            answers |= await self._receive({id: arrival})
        return answers


class CrossingWorker:
    """A worker that claims messages for another database only while that database answers.

    Args:
        crossing: the station in which they wait.
        database: the database in which they wait.
        max_hops: the maximum number of queues that a message may go through.
    """

    def __init__(self, crossing: Crossing, database: Executor, max_hops: int) -> None:
        self._crossing, self._database = crossing, database
        self._sender = Sender(crossing, database, max_hops)
        queue: Queue = Queue(database, crossing.name, **crossing.declared)
        queue._payloads = PassedOn(crossing.name, sealing=database.encryption)
        self._worker = Worker(queue, self._send, whole_batch=True, batch=BATCH, name=crossing.name)
        self._pauses = Backoff(LONGEST_PAUSE)
        self._again_at = 0.0
        self._stops = 0
        self._alarm: Alarm | None = None

    @property
    def queue(self) -> Any:
        """The queue in which the messages wait."""
        return self._worker.queue

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """Always empty, since it takes messages of all kinds."""
        return {}

    @property
    def health(self) -> Health:
        """Whether it is alive; a worker that waits for the other database counts as alive."""
        return self._worker.health

    @property
    def pause(self) -> float:
        """For how many more seconds nothing is sent because the other database did not answer."""
        return max(0.0, self._again_at - monotonic())

    @property
    def sent(self) -> int:
        """How many messages are known to have arrived."""
        return self._sender.sent

    async def check(self) -> None:
        """Raise ConfigurationError or NotSupported if messages cannot go there, not if the database is down."""
        if not await self._sender.answers():
            await self._wait_longer()

    async def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Send waiting messages until none are left or it is stopped; with `until`, also if nothing can be sent."""
        self._alarm = alarm = Alarm()
        try:
            while not self._stops:
                if await self._sender.answers():
                    self._pauses.reset()
                    await self._worker.run(until, signals=signals)
                await self._wait_longer()
                if until is not None:
                    return
                if not self._stops:
                    await alarm.sleep(self.pause)
        finally:
            self._alarm, self._stops = None, 0

    def stop(self) -> None:
        """Ask it to stop; see `Worker.stop`."""
        self._stops += 1
        self._worker.stop()
        if (alarm := self._alarm) is not None:
            alarm.ring()

    async def close(self) -> None:
        """Close the other database if it was opened for this."""
        await self._sender.close()

    async def _send(self, messages: Sequence[Message]) -> list[Any]:
        ends = await self._sender.send(messages)
        if self._sender.trouble is not None:
            self._worker.stop()  # nothing more is claimed until it answers
        return ends

    async def _wait_longer(self) -> None:
        """Set when to check again, and note in the log and in the database that messages wait until then."""
        trouble, there = self._sender.trouble, self._crossing.there
        if trouble is None:
            return
        log = LOG.debug if self._pauses.failing else LOG.warning
        log("messages wait in %s for %s: %s", self._crossing.name, there, trouble)
        self._again_at = monotonic() + self._pauses.next()
        store, name = self._database.store, consumer_name(cut_off(self._crossing.name))
        try:
            if "metadata" in store.capabilities.parts:
                about = (self._crossing.name,), (ANY_KIND,), own_version()
                await self._database.run(lambda: store.metadata.note_consumer(name, *about))
        except StoreUnavailable as error:
            LOG.warning("%s: cannot record that it is waiting: %s", self._crossing, error)
