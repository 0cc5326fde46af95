"""The tasks of a worker that handle, and the thread with a loop of its own for all else."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from inspect import isawaitable
from time import monotonic
from typing import Any, Final

from duerow.aio.cluster_limit import PermitDesk
from duerow.aio.queue import Queue, Reservation
from duerow.aio.several_queues import SeveralQueues
from duerow.errors import InvalidOutcome, StoreUnavailable
from duerow.plan import Plan, arun
from duerow.queue.consumer_id import consumer_name, new_claim
from duerow.settlement import Settlement
from duerow.store import AsyncListener, Refused
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.cluster_limit import AwaitChange, Permits, permits_of
from duerow.worker.fetcher import HandOut, Listen, NextDue, Reserve, Sleep
from duerow.worker.in_flight import Slot
from duerow.worker.lease_keeper import Extend, LeaseKeeper
from duerow.worker.maintenance import (
    TICKER,
    LookForUnknown,
    Maintain,
    Maintenance,
    Present,
    Prune,
    RestUntil,
    TellDifferences,
)
from duerow.worker.rate_limit import claiming
from duerow.worker.run import Run
from duerow.worker.settler import EndWanted, Freed, Pause, RoomWanted, Settle, Settler, WriteCounts
from duerow.worker.supervisor import (
    FETCHER,
    FINDER,
    KEEPER,
    PERMITS,
    SETTLER,
    AllChanged,
    DropSlot,
    LeftOver,
    NextEvent,
    StartSlot,
    Stop,
    Supervisor,
    TurnsEnded,
)

PATIENCE: Final = 1.0
"""Seconds that cancelled handlers have to clean up before `run` returns without them."""

BREATH: Final = 0.001
"""Seconds after which a handler that never awaits lets others have the loop."""


class Handlers:
    """The tasks that run handlers, on the loop of whoever called `run`."""

    def __init__(self, shift: Run, queue: Queue | SeveralQueues, handler: Callable[..., Any]) -> None:
        self._shift, self._hand, self._handler = shift, shift.hand, handler
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._office = Coordinator(shift, queue, self)

    async def work(self) -> None:
        """Handle until the shift has ended; cancelled, end it at once."""
        self._office.open()
        try:
            await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            self.stop()
            self.stop()
            await asyncio.wait([self._ended])
            self._ended.exception()  # the caller hears of the cancellation, not of what followed from it
            raise
        finally:
            await self._after_bury()
            await asyncio.wait([self._gone], timeout=PATIENCE)

    def stop(self) -> None:
        """Begin nothing more from now on, and wind down; from any thread."""
        self._shift.over = True
        self._office.tell(Stop())

    # What the office asks for, from its own thread.

    def start_slot(self, slot: Slot) -> None:
        """Start a task for this slot."""
        self._call(self._start, slot)

    def drop_slot(self, slot: Slot) -> None:
        """Cancel the task of this slot."""
        self._call(slot.runner.cancel)

    def ring(self, count: int | None) -> None:
        """Have so many idle slots look for work, or all."""
        self._call(self._ring, count)

    def end(self, error: BaseException | None) -> None:
        """The shift has ended, by itself or with an error."""
        self._call(self._note_end, error)

    def be_alone(self) -> None:
        """The office has closed."""
        self._call(self._gone.set_result, None)

    def _call(self, function: Callable[..., Any], *values: Any) -> None:
        with suppress(RuntimeError):  # the loop was closed before the shift had ended
            self._loop.call_soon_threadsafe(function, *values)

    def _start(self, slot: Slot) -> None:
        slot.runner = task = self._loop.create_task(self._until_left(slot), name=f"duerow-{self._shift.queue}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _ring(self, count: int | None) -> None:
        rung = 0
        while self._waiting and (count is None or rung < count):
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                rung += 1

    def _note_end(self, error: BaseException | None) -> None:
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    async def _after_bury(self) -> None:
        """Let cancelled handlers clean up, for a moment."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=PATIENCE)

    # Handlers.

    async def _until_left(self, slot: Slot) -> None:
        error: BaseException | None = None
        try:
            await self._one_after_the_other(slot)
        except asyncio.CancelledError:
            raise
        except BaseException as failure:
            error = failure
        finally:
            self._office.tell(LeftOver(slot, error))

    async def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what was claimed, and leave it to be settled."""
        breathed = monotonic()
        while (attempt := await self._next(slot)) is not None:
            settlement = await self._handle(slot, attempt)
            if settlement is not None:
                self._hand.end(attempt, settlement)
                self._office.tell_ended()
            if (now := monotonic()) - breathed > BREATH:
                breathed = now
                await asyncio.sleep(0)

    async def _next(self, slot: Slot) -> Attempt | None:
        """Wait for a message to be handled; None when no more is to be begun here."""
        while not (self._shift.over or slot.abandoned):
            if (attempt := self._hand.next()) is not None:
                return attempt
            await self._rung()
        return None

    async def _rung(self) -> None:
        """Wait until there may be work."""
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        await waiting

    async def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Await the handler; return how the turn ends, or None when that was decided without it."""
        slot.begin(attempt)
        CURRENT.set(attempt)
        outcome = await self._call_handler(slot, attempt.message)
        attempt.seconds = monotonic() - slot.started
        self._hand.pace.note(attempt.seconds)
        if not slot.end():
            return None
        return self._shift.conclude(attempt, outcome)

    async def _call_handler(self, slot: Slot, *subject: Any) -> Any:
        # In a function of its own, so that the error's traceback does not hold the frame that holds the error.
        try:
            outcome = self._handler(*subject)
            return await outcome if isawaitable(outcome) else _not_awaitable(outcome)
        except asyncio.CancelledError as error:
            if slot.abandoned:
                raise
            return error
        except BaseException as error:  # whatever a handler raises is a failed attempt
            return error


class Coordinator:
    """All else: claims, settlements, leases and the watch over them, in a thread with a loop of its own.

    So a handler that blocks its loop holds up no lease, no settlement, and no transaction that is under way.
    """

    def __init__(self, shift: Run, queue: Queue | SeveralQueues, handlers: Handlers) -> None:
        self._shift, self._queue, self._handlers = shift, queue, handlers
        self._hand = shift.hand
        self._supervising = Supervisor(shift)
        self._claiming, self._settling, self._keeping = claiming(shift), Settler(shift), LeaseKeeper(shift)
        self._thread = threading.Thread(target=self._run, name=f"duerow-{queue.name}", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._events: asyncio.Queue[Stop | LeftOver] = asyncio.Queue()
        self._freed, self._ended = asyncio.Event(), asyncio.Event()
        self._over, self._time_up = asyncio.Event(), asyncio.Event()
        self._changed = asyncio.Event()
        self._told_ended = False
        self._wakeup = _Wakeup(shift, queue)
        self._parts: set[asyncio.Task[None]] = set()
        self._actions: dict[type, Callable[[Any], Awaitable[Any]]] = {
            Reserve: self._reserve,
            Listen: lambda step: self._wakeup.listen(),
            NextDue: self._next_due,
            Sleep: lambda step: self._wakeup.wait(step.seconds),
            RoomWanted: lambda step: _within(step.seconds, _await(self._freed)),
            HandOut: self._hand_out,
            Settle: self._settle,
            EndWanted: self._end_wanted,
            WriteCounts: lambda step: self._queue.database.write_counts(),
            Freed: self._tell_freed,
            Pause: lambda step: _within(step.seconds, self._time_up.wait()),
            Extend: self._extend,
            Maintain: lambda step: self._queue.database.tick(),
            Prune: lambda step: self._queue.database.prune(batches=1),
            Present: lambda step: self._present(),
            TellDifferences: lambda step: self._queue.tell_differences(),
            LookForUnknown: lambda step: self._queue.look_for_unknown(),
            RestUntil: lambda step: _within(step.seconds, self._over.wait()),
            TurnsEnded: self._turns_ended,
            NextEvent: self._next_event,
            StartSlot: self._hire,
            DropSlot: self._dismiss,
            AllChanged: self._tell_all,
        }
        if shift.terms.by_permit:
            self._actions |= PermitDesk(shift, permits_of(queue)).actions
            self._actions[AwaitChange] = lambda step: _within(step.seconds, self._changed.wait())

    def open(self) -> None:
        """Go to work."""
        self._thread.start()

    def tell(self, event: Stop | LeftOver) -> None:
        """Have the supervisor look at an event; from any thread."""
        self._call(self._events.put_nowait, event)

    def tell_ended(self) -> None:
        """Have the settler look for decided turns; from the handlers' thread, once until it does."""
        if not self._told_ended:
            self._told_ended = True
            self._call(self._ended.set)

    def tell_freed(self, step: Freed) -> None:
        """Have whoever claims look at the room that there is; from the handlers' thread."""
        self._call(self._note_freed, step)

    def find_out(self, attempt: Attempt, error: StoreUnavailable) -> None:
        """Have somebody find out how the turn of an attempt has ended; from the handlers' thread."""
        self._call(self._start, FINDER, self._settling.find_out(attempt, error))

    def _call(self, function: Callable[..., Any], *values: Any) -> None:
        with suppress(RuntimeError):  # the shift has ended, and the loop is closed
            self._loop.call_soon_threadsafe(function, *values)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._work_and_tell())
        finally:
            self._handlers.be_alone()

    async def _work_and_tell(self) -> None:
        try:
            await self._work()
        except BaseException as error:
            self._handlers.end(error)
        else:
            self._handlers.end(None)
        for part in self._parts:
            part.cancel()
        await self._wakeup.close()
        await self._queue.database.connections.close()  # those of this loop

    async def _work(self) -> None:
        supervising = self._supervising
        try:
            self._start(KEEPER, self._keeping.keep())
            self._start(TICKER, Maintenance(self._shift).tick())
            self._start(SETTLER, self._settling.serve())
            if self._shift.terms.by_permit:
                self._start(PERMITS, Permits(self._shift).keep())
            self._start(FETCHER, self._claiming.fetch())
            for _ in range(self._shift.terms.concurrency):
                await self._hire(StartSlot())
            await self._carry_out(supervising.watch())
        except BaseException:
            supervising.hurry = True
            raise
        finally:
            await self._carry_out(supervising.wind_down())

    async def _carry_out(self, plan: Plan[Any]) -> Any:
        return await arun(plan, lambda step: self._actions[type(step)](step))

    def _start(self, role: str, plan: Plan[None]) -> None:
        if role != KEEPER:
            self._supervising.staff.add(role)
        part = self._loop.create_task(self._until_left(role, plan), name=f"duerow-{self._queue.name}-{role}")
        self._parts.add(part)
        part.add_done_callback(self._parts.discard)

    async def _until_left(self, role: str, plan: Plan[None]) -> None:
        try:
            await self._carry_out(plan)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._events.put_nowait(LeftOver(role, error))
        else:
            self._events.put_nowait(LeftOver(role))

    # Steps.

    async def _reserve(self, step: Reserve) -> list[Reservation]:
        return await self._queue.reserve_many(step.limit, consumer=new_claim(self._shift.terms.name))

    async def _present(self) -> None:
        database, queue = self._queue.database, self._queue
        name = consumer_name(self._shift.terms.name)
        for names, kinds in queue.kinds_of.items():
            its = name if len(queue.kinds_of) == 1 else f"{name}/{names[0]}"
            await database.run(partial(database.store.note_consumer, its, names, kinds, version("duerow")))
        await database.write_counts()

    async def _next_due(self, step: NextDue) -> timedelta | None:
        database, names = self._queue.database, self._shift.queues
        return await database.run(lambda: database.store.next_due(names, step.sleep, self._queue.only))

    async def _settle(self, step: Settle) -> list[Refused]:
        return await self._queue.settle(step.pairs)

    async def _extend(self, step: Extend) -> list[Refused]:
        return await self._queue.extend_many(step.reservations)

    async def _hand_out(self, step: HandOut) -> None:
        self._handlers.ring(step.count)

    async def _end_wanted(self, step: EndWanted) -> None:
        await _await(self._ended)
        self._told_ended = False  # before the settler looks, so that nothing is overlooked

    async def _tell_freed(self, step: Freed) -> None:
        self._note_freed(step)

    def _note_freed(self, step: Freed) -> None:
        if self._hand.wanted():  # else whoever claims would wake up for nothing, once for each message
            self._freed.set()
        if step.wake:
            self._wakeup.wake()

    async def _turns_ended(self, step: TurnsEnded) -> None:
        self._ended.set()

    async def _next_event(self, step: NextEvent) -> Stop | LeftOver | None:
        event: Stop | LeftOver | None = await _within(step.seconds, self._events.get())
        return event

    async def _hire(self, step: StartSlot) -> None:
        slot = Slot()
        self._shift.slots.add(slot)
        self._supervising.staff.add(slot)
        self._handlers.start_slot(slot)

    async def _dismiss(self, step: DropSlot) -> None:
        self._handlers.drop_slot(step.slot)

    async def _tell_all(self, step: AllChanged) -> None:
        self._freed.set()
        self._ended.set()
        self._handlers.ring(None)
        self._wakeup.wake()
        if self._shift.over:
            self._over.set()
        if self._shift.closing:
            self._changed.set()
        if self._shift.gave_up:
            self._time_up.set()


class _Wakeup:
    """Sleeps until a push, a call of `wake`, or the end of a time."""

    def __init__(self, shift: Run, queue: Queue | SeveralQueues) -> None:
        self._shift, self._queue = shift, queue
        self._possible = queue.database.store.capabilities.wakes_consumers
        self._listener: AsyncListener | None = None
        self._called = asyncio.Event()

    async def listen(self) -> None:
        """Hear of pushes from now on, if the store tells of them and can be reached."""
        if not self._possible or self._listener is not None or self._shift.gave_up:
            return
        try:
            self._listener = await self._queue.database.connections.listen(self._shift.queues)
        except StoreUnavailable as error:
            self._shift.hears_no_more(error)
        else:
            self._shift.hears_again()

    async def wait(self, seconds: float) -> bool:
        """Sleep; return whether something ended it before its time."""
        listener = self._listener
        if listener is not None and not self._called.is_set():
            try:
                heard = await listener.wait(seconds)
            except StoreUnavailable as error:
                await self.close()
                self._shift.hears_no_more(error)
                seconds = min(seconds, self._shift.poll)
            else:
                return self._was_called() or heard
        await _within(seconds, self._called.wait())
        return self._was_called()

    def wake(self) -> None:
        """End the sleep, or the next one."""
        self._called.set()
        if self._listener is not None:
            self._listener.wake()

    async def close(self) -> None:
        """Hear nothing more."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(StoreUnavailable):  # a connection that is gone needs no closing
                await listener.close()

    def _was_called(self) -> bool:
        called = self._called.is_set()
        self._called.clear()
        return called


async def _await(event: asyncio.Event) -> None:
    await event.wait()
    event.clear()


async def _within(seconds: float | None, waiting: Coroutine[Any, Any, Any]) -> Any:
    """Await something for so many seconds; None when they are over."""
    try:
        async with asyncio.timeout(seconds):
            return await waiting
    except TimeoutError:
        return None


def _not_awaitable(outcome: object) -> InvalidOutcome:
    return InvalidOutcome(
        f"the handler returned {outcome!r:.80}, which cannot be awaited; give plain functions to duerow.Worker"
    )
