"""Background jobs that change many messages, and continue when the process that serves the pages ends.

A job is a message of the queue `duerow.jobs`: its payload says what to do and how far it is. A process reserves
a job, does one step of it, and moves the message back into the queue with the new position. If the process ends, the
job continues from there, and any process that serves the pages may do the next step.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from duerow.clock import NEVER
from duerow.errors import DuerowError, LeaseLost, StoreUnavailable
from duerow.message import Message
from duerow.queue.edits import Changed
from duerow.queue.history import Event
from duerow.queue.reserved import RESERVED
from duerow.reservation import BareReservation
from duerow.retry import fixed
from duerow.settlement import Commit, Move
from duerow.web.dashboard.changes import AskedChange, ChangeProgress, part

if TYPE_CHECKING:
    from duerow.aio.queue import Queue
    from duerow.web.web import Web

LOG: Final = logging.getLogger("duerow.web")

JOBS: Final = f"{RESERVED}jobs"
"""The queue of the jobs; its history keeps those that have ended."""

KEPT: Final = timedelta(days=30)
"""How long finished jobs are kept."""

LEASE: Final = timedelta(seconds=30)
"""How long a job waits if its process is killed."""

MOST_AT_ONCE: Final = 4
"""How many jobs a process works on at the same time; the others wait."""

SHOWN: Final = 100
"""The most jobs in the list, counting finished and unfinished ones separately."""

LOOK: Final = 30.0
"""Seconds between two checks for jobs that another process left behind."""

POLL: Final = 1.0
"""Seconds between two checks while there is a job."""

AGAIN: Final = timedelta(seconds=5)
"""How long to wait before a step is tried again while the database is unavailable."""

State = Literal["waiting", "running", "done", "cancelled", "failed"]


class JobState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The payload of a job: what it does, for whom, and its progress."""

    title: str
    queue: str
    by: str
    total: int | None
    asked: AskedChange
    asked_at: datetime
    progress: ChangeProgress = ChangeProgress()
    state: State = "waiting"
    error: str | None = None
    ended_at: datetime | None = None


class BackgroundJob(msgspec.Struct, frozen=True):
    """A change of many messages, as pages show it.

    Attributes:
        id: its id.
        said: its payload: what it does, and its progress.
        state: its state.
        began_at: when it started.
        stopping: whether somebody cancelled it.
    """

    id: int
    said: JobState
    state: State
    began_at: datetime
    stopping: bool = False

    @property
    def title(self) -> str:
        """What it does, in words."""
        return self.said.title

    @property
    def queue(self) -> str:
        """The queue whose messages it changes."""
        return self.said.queue

    @property
    def changed(self) -> Changed:
        """What it has changed so far."""
        return Changed(self.said.progress.count, self.said.progress.skipped)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ("done", "cancelled", "failed")

    @property
    def handled(self) -> int:
        """How many messages it has handled."""
        return self.changed.count + self.changed.skipped

    @property
    def part(self) -> int | None:
        """Its progress in percent; None: unknown."""
        if self.state == "done":
            return 100
        return None if not self.said.total else min(100, 100 * self.handled // self.said.total)


class BackgroundJobs:
    """The jobs of a database; this process works on some of them.

    Args:
        web: the state of the web application.
    """

    def __init__(self, web: Web) -> None:
        self._web = web
        database = web.database
        self._queue: Queue[Any] = database.queue(JOBS, lease=LEASE, retry=fixed(AGAIN))
        self._past: Queue[Any] = database.queue(JOBS, history=KEPT)  # only finished jobs are kept, not every step
        self._wake = asyncio.Event()
        self._parts: set[asyncio.Task[None]] = set()

    # For forms and pages.

    async def begin(
        self, title: str, queue: str, by: str, total: int | None, asked: AskedChange, highest: int | None = None
    ) -> int:
        """Start a job; return its id."""
        now = self._web.database.host_time()
        progress = ChangeProgress(highest=highest)
        said = JobState(title=title, queue=queue, by=by, total=total, asked=asked, asked_at=now, progress=progress)
        pushed = await self._queue.push(_payload(said))
        self._wake.set()
        return pushed.id

    async def get(self, id: int) -> BackgroundJob | None:
        """Return a job; None if there is none with this id."""
        here = await self._queue.get(id)
        if here is not None:
            return _live(here, await self._queue.contains(_cancelling(id)))
        past = await self._past.history(id=id, limit=1)
        return _over(past[0]) if past else None

    async def under_way(self) -> list[BackgroundJob]:
        """Return the unfinished jobs, latest first."""
        found = await self._queue.find(order="-due_at", limit=SHOWN)  # an index has this order
        found.sort(key=lambda one: one.id, reverse=True)
        return [job for one in found if (job := _live(one, False)) is not None]

    async def all(self) -> list[BackgroundJob]:
        """Return the unfinished jobs, then the finished ones, each latest first."""
        past = await self._past.history(limit=SHOWN)
        return [*await self.under_way(), *(job for one in past if (job := _over(one)) is not None)]

    async def cancel(self, id: int) -> None:
        """End a job after the current step; what was changed stays changed."""
        await self._queue.push(None, key=_cancelling(id), due=NEVER)
        self._wake.set()

    # The work.

    async def run(self) -> None:
        """Work on jobs for as long as this process serves the pages."""
        while True:
            self._wake.clear()
            try:
                seconds = await self._look()
            except DuerowError as error:
                LOG.warning("cannot read the background jobs: %s", error)
                seconds = LOOK
            if seconds:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), seconds)

    async def _look(self) -> float:
        """Start waiting jobs; return how many seconds to wait before the next check."""
        free = MOST_AT_ONCE - len(self._parts)
        taken = await self._queue.reserve_many(free) if free else []
        for one in taken:
            task = asyncio.create_task(self._do(one))
            self._parts.add(task)
            task.add_done_callback(self._ended)
        if taken or self._parts:
            return POLL
        return POLL if await self.under_way() else LOOK

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._parts.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("a step of a background job failed", exc_info=error)

    async def _do(self, reservation: BareReservation[Any]) -> None:
        """Do one step of a job, and settle it: the job goes to the end of the queue, or is finished."""
        said = msgspec.convert(reservation.message.payload, JobState)
        keeping = asyncio.create_task(self._keep(reservation))
        try:
            after = await self._part(reservation, said)
        except StoreUnavailable as error:
            LOG.warning("job %r is waiting for the database: %s", said.title, error)
            after = None
        finally:
            keeping.cancel()
        try:
            if after is None:
                await self._queue.rollback(reservation, delay=AGAIN)
            elif after.ended_at is None:
                await self._queue.settle([(reservation, Move(JOBS, _payload(after)))])
            else:
                await self._past.settle([(reservation, Commit(_payload(after)))])
                await self._queue.remove(key=_cancelling(reservation.message.id))
        except (LeaseLost, StoreUnavailable) as error:  # its next holder repeats this step
            LOG.warning("a step of the job %r was done, but could not be recorded: %s", said.title, error)

    async def _part(self, reservation: BareReservation[Any], said: JobState) -> JobState:
        """Do the next step of a job; return its new payload."""
        attempts = reservation.message.attempts
        if await self._queue.contains(_cancelling(reservation.message.id)):
            progress = said.progress if attempts == 1 else said.progress.interrupted()
            return self._over(msgspec.structs.replace(said, progress=progress), "cancelled")
        try:
            queue = await self._web.queue(said.queue, create=True)
            progress = await part(queue, said.asked, said.asked_at, said.progress, attempts)
        except StoreUnavailable:
            raise
        except DuerowError as error:
            return self._over(said, "failed", str(error))
        except Exception as error:
            LOG.exception("job %r failed", said.title)
            return self._over(said, "failed", f"{type(error).__name__}: {error}")
        after = msgspec.structs.replace(said, progress=progress, state="running")
        return self._over(after, "done") if progress.over else after

    def _over(self, said: JobState, state: State, error: str | None = None) -> JobState:
        return msgspec.structs.replace(said, state=state, error=error, ended_at=self._now())

    async def _keep(self, reservation: BareReservation[Any]) -> None:
        """Extend the lease during a step, which may take a long time."""
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            try:
                await self._queue.extend(reservation)
            except StoreUnavailable as error:
                LOG.warning("the lease of a background job could not be extended: %s", error)
            except LeaseLost:
                return

    def _now(self) -> datetime:
        return self._web.database.host_time()


def _cancelling(id: int) -> str:
    """Return the key of the message that cancels a job; it is never due."""
    return f"cancel/{id}"


def _live(message: Message[Any], stopping: bool) -> BackgroundJob | None:
    said = _said(message.payload)
    if said is None:
        return None
    state: State = "running" if said.state == "running" or message.leased_by is not None else "waiting"
    return BackgroundJob(message.id, said, state, message.created_at, stopping)


def _over(event: Event[Any]) -> BackgroundJob | None:
    said = _said(event.payload)
    return None if said is None else BackgroundJob(event.id, said, said.state, event.created_at)


def _payload(said: JobState) -> Any:
    return msgspec.json.decode(msgspec.json.encode(said))


def _said(payload: Any) -> JobState | None:
    try:
        return msgspec.convert(payload, JobState)
    except msgspec.ValidationError:  # not a job, or one of another version, or encrypted with a missing key
        return None
