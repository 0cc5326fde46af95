"""The tasks of a worker that run handlers, and the thread with its own loop for everything else."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from time import monotonic, sleep
from typing import Any, Final

from duerow.aio.cancellation import CancellationListener
from duerow.aio.cluster_limit import PermitDesk
from duerow.aio.queue import Queue
from duerow.aio.several_queues import SeveralQueues
from duerow.aio.wakeup import Wakeup
from duerow.aio.worker_steps import WorkerSteps
from duerow.errors import InvalidOutcome, StoreUnavailable, shown
from duerow.plan import Plan, arun
from duerow.settlement import Settlement
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.cancellation import AwaitCancellation, CancellationWatch, WatchCancellations
from duerow.worker.cluster_limit import AwaitChange, Permits, permits_of
from duerow.worker.fetcher import HandOut, Listen, Sleep
from duerow.worker.in_flight import Ended, Slot
from duerow.worker.lease_keeper import LeaseKeeper
from duerow.worker.maintenance import (
    TICKER,
    Maintenance,
    RestUntil,
)
from duerow.worker.rate_limit import fetcher_of
from duerow.worker.run import Run
from duerow.worker.settler import EndWanted, Freed, Pause, RoomWanted, Settler
from duerow.worker.stack import of_task
from duerow.worker.supervisor import (
    CANCELLATIONS,
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

YIELD_AFTER_S: Final = 0.001
"""Seconds after which a slot whose handlers never wait yields the loop to others."""


class Handlers:
    """The tasks that run handlers, on the loop of whoever called `run`."""

    def __init__(self, run: Run, queue: Queue | SeveralQueues, handler: Callable[..., Any]) -> None:
        self._run, self._queue, self._handler = run, queue, handler
        self._in_flight, self._settler = run.in_flight, Settler(run)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop_turns, self._turn_noted = 0, False
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._coordinator = Coordinator(run, queue, self)

    async def work(self) -> None:
        """Handle messages until the run has ended; if cancelled, end it at once."""
        self._coordinator.open()
        try:
            await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            self.stop()
            self.stop()
            await asyncio.wait([self._ended])
            self._ended.exception()  # the caller gets the cancellation, not its consequences
            raise
        finally:
            await self._after_bury()
            await asyncio.wait([self._gone], timeout=PATIENCE)

    def stop(self) -> None:
        """Begin nothing more and wind down; may be called from any thread."""
        self._run.over = True
        self._coordinator.tell(Stop())

    # Called by the coordinator, from its own thread.

    def start_slot(self, slot: Slot) -> None:
        """Start a task for this slot."""
        self._call(self._start, slot)

    def drop_slot(self, slot: Slot) -> None:
        """Cancel the task of this slot."""
        self._call(slot.runner.cancel)

    def ring(self, count: int | None) -> None:
        """Make this many idle slots look for work; None: all."""
        self._call(self._ring, count)
        sleep(0)  # lets the handlers' thread begin now; otherwise this one runs on until its next claim is on its way

    def end(self, error: BaseException | None) -> None:
        """End the run, with an error if there was one."""
        self._call(self._note_end, error)

    def be_alone(self) -> None:
        """Note that the coordinator has closed."""
        self._call(self._gone.set_result, None)

    def _call(self, function: Callable[..., Any], *values: Any) -> None:
        with suppress(RuntimeError):  # the loop was closed before the run had ended
            self._loop.call_soon_threadsafe(function, *values)

    def _start(self, slot: Slot) -> None:
        slot.runner = task = self._loop.create_task(self._until_left(slot), name=f"duerow-{self._run.queue}")
        slot.look = partial(of_task, task, threading.get_ident())
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
        """Give cancelled handlers a moment to clean up."""
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
            self._coordinator.tell(LeftOver(slot, error))

    async def _one_after_the_other(self, slot: Slot) -> None:
        """Handle claimed messages, and leave their settlement to the coordinator."""
        since, turn = monotonic(), self._loop_turn()
        while taken := await self._next(slot):
            if ended := await self._work_on(slot, taken):
                self._in_flight.end_all(ended)
                self._coordinator.tell_ended()
            if self._loop_turns == turn:
                if monotonic() - since <= YIELD_AFTER_S:
                    continue
                await self._yield_loop()
            since, turn = monotonic(), self._loop_turn()

    def _loop_turn(self) -> int:
        """Return the number of the loop's turn, so that a slot can tell whether its handler has waited since."""
        if not self._turn_noted:  # one callback for each turn, however many slots ask
            self._turn_noted = True
            self._loop.call_soon(self._count_turn)
        return self._loop_turns

    def _count_turn(self) -> None:
        self._loop_turns += 1
        self._turn_noted = False

    async def _yield_loop(self) -> None:
        await asyncio.sleep(0)

    async def _next(self, slot: Slot) -> Any:
        """Wait for something to handle; return None if nothing more should begin here."""
        while not (self._run.over or slot.abandoned):
            if taken := self._take():
                return taken
            if self._run.leave(slot):
                return None
            waiting = self._loop.create_future()
            self._waiting.append(waiting)
            await waiting
        return None

    def _take(self) -> Any:
        """Return the next message to handle, if there is one now."""
        return self._in_flight.next()

    async def _work_on(self, slot: Slot, attempt: Attempt) -> Sequence[Ended]:
        """Return how the turn of a message ends; nothing if that was decided without its handler."""
        settlement = await self._handle(slot, attempt)
        return () if settlement is None else (Ended(attempt, settlement),)

    async def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Await the handler; return how the turn ends, or None if that was decided without it."""
        slot.begin(attempt)
        CURRENT.set(attempt)
        outcome = await self._call_handler(slot, attempt.message)
        attempt.seconds = monotonic() - slot.started
        self._in_flight.prefetch.note(attempt.seconds)
        if not slot.end():
            return None
        return self._run.conclude(attempt, outcome)

    # For handlers that write in transactions.

    def _tell_freed(self, step: Freed) -> None:
        self._coordinator.tell_freed(step)

    def _find_out(self, attempt: Attempt, error: StoreUnavailable) -> None:
        self._coordinator.find_out(attempt, error)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _call_handler(self, slot: Slot, *subject: Any) -> Any:
        # In a function of its own, so that the error's traceback does not hold the frame that holds the error.
        try:
            outcome = self._handler(*subject)
            return await outcome if isawaitable(outcome) else _not_awaitable(outcome)
        except asyncio.CancelledError as error:
            if slot.abandoned:
                raise
            return error
        except BaseException as error:  # anything a handler raises is a failed attempt
            return error


class Coordinator:
    """Everything else: claims, settlements, leases and supervision, in a thread with its own loop.

    So a handler that blocks its loop holds up no lease, no settlement and no open transaction.
    """

    def __init__(self, run: Run, queue: Queue | SeveralQueues, handlers: Handlers) -> None:
        self._run, self._queue, self._handlers = run, queue, handlers
        self._in_flight = run.in_flight
        self._supervisor = Supervisor(run)
        self._fetcher, self._settler, self._lease_keeper = fetcher_of(run), Settler(run), LeaseKeeper(run)
        self._thread = threading.Thread(target=self._run_loop, name=f"duerow-{queue.name}", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._events: asyncio.Queue[Stop | LeftOver] = asyncio.Queue()
        self._freed, self._ended = asyncio.Event(), asyncio.Event()
        self._over, self._time_up = asyncio.Event(), asyncio.Event()
        self._changed = asyncio.Event()
        self._told_ended = False
        self._wakeup, self._cancellations = Wakeup(run, queue), CancellationListener(run, queue)
        self._parts: set[asyncio.Task[None]] = set()
        self._actions: dict[type, Callable[[Any], Awaitable[Any]]] = {
            **WorkerSteps(run, queue).actions,
            Listen: lambda step: self._wakeup.listen(),
            Sleep: lambda step: self._wakeup.wait(step.seconds),
            RoomWanted: lambda step: _within(step.seconds, _await(self._freed)),
            HandOut: self._hand_out,
            EndWanted: self._end_wanted,
            Freed: self._tell_freed,
            Pause: lambda step: _within(step.seconds, self._time_up.wait()),
            RestUntil: lambda step: _within(step.seconds, self._over.wait()),
            TurnsEnded: self._turns_ended,
            NextEvent: self._next_event,
            StartSlot: self._start_slot,
            DropSlot: self._drop_slot,
            AllChanged: self._tell_all,
            AwaitChange: lambda step: _within(step.seconds, self._changed.wait()),
            WatchCancellations: self._watch_cancellations,
            AwaitCancellation: lambda step: self._cancellations.wait(step.seconds),
        }
        if run.options.by_permit:
            self._actions |= PermitDesk(run, permits_of(queue)).actions

    def open(self) -> None:
        """Start working."""
        self._thread.start()

    def tell(self, event: Stop | LeftOver) -> None:
        """Pass an event to the supervisor; may be called from any thread."""
        self._call(self._events.put_nowait, event)

    def tell_ended(self) -> None:
        """Make the settler look for decided turns; called from the handlers' thread, once until it does."""
        if not self._told_ended:
            self._told_ended = True
            self._call(self._ended.set)

    def tell_freed(self, step: Freed) -> None:
        """Make the fetcher check how much room there is; called from the handlers' thread."""
        self._call(self._note_freed, step)

    def find_out(self, attempt: Attempt, error: StoreUnavailable) -> None:
        """Find out how the turn of an attempt has ended, in a new task; called from the handlers' thread."""
        self._call(self._start, FINDER, self._settler.find_out(attempt, error))

    def _call(self, function: Callable[..., Any], *values: Any) -> None:
        with suppress(RuntimeError):  # the run has ended, and the loop is closed
            self._loop.call_soon_threadsafe(function, *values)

    def _run_loop(self) -> None:
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
        await self._cancellations.close()
        for database in (self._queue.database, permits_of(self._queue)):
            await database.connections.close()  # only this loop's connections

    async def _work(self) -> None:
        supervisor = self._supervisor
        try:
            self._start(KEEPER, self._lease_keeper.keep())
            self._start(TICKER, Maintenance(self._run).tick())
            self._start(SETTLER, self._settler.serve())
            if self._run.options.by_permit:
                self._start(PERMITS, Permits(self._run).keep())
            self._start(FETCHER, self._fetcher.fetch())
            for _ in range(self._run.options.concurrency):
                await self._start_slot(StartSlot())
            await self._carry_out(supervisor.watch())
        except BaseException:
            supervisor.hurry = True
            raise
        finally:
            await self._carry_out(supervisor.wind_down())

    async def _carry_out(self, plan: Plan[Any]) -> Any:
        return await arun(plan, lambda step: self._actions[type(step)](step))

    def _start(self, role: str, plan: Plan[None]) -> None:
        if role != KEEPER:
            self._supervisor.staff.add(role)
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

    async def _hand_out(self, step: HandOut) -> None:
        self._handlers.ring(step.count)

    async def _end_wanted(self, step: EndWanted) -> None:
        await _await(self._ended)
        self._told_ended = False  # before the settler looks, so that it misses nothing

    async def _tell_freed(self, step: Freed) -> None:
        self._note_freed(step)

    def _note_freed(self, step: Freed) -> None:
        if self._in_flight.wanted():  # otherwise the fetcher would wake up for nothing after each message
            self._freed.set()
        if step.wake:
            self._wakeup.wake()

    async def _turns_ended(self, step: TurnsEnded) -> None:
        self._ended.set()

    async def _next_event(self, step: NextEvent) -> Stop | LeftOver | None:
        event: Stop | LeftOver | None = await _within(step.seconds, self._events.get())
        return event

    async def _start_slot(self, step: StartSlot) -> None:
        slot = Slot()
        self._run.slots.add(slot)
        self._supervisor.staff.add(slot)
        self._handlers.start_slot(slot)

    async def _drop_slot(self, step: DropSlot) -> None:
        self._handlers.drop_slot(step.slot)

    async def _watch_cancellations(self, step: WatchCancellations) -> None:
        self._start(CANCELLATIONS, CancellationWatch(self._run).watch())

    async def _tell_all(self, step: AllChanged) -> None:
        self._freed.set()
        self._ended.set()
        self._handlers.ring(None)
        self._wakeup.wake()
        if self._run.over:
            self._over.set()
        if self._run.closing:
            self._changed.set()
            self._cancellations.wake()
        if self._run.gave_up:
            self._time_up.set()


async def _await(event: asyncio.Event) -> None:
    await event.wait()
    event.clear()


async def _within(seconds: float | None, waiting: Coroutine[Any, Any, Any]) -> Any:
    """Await something for at most this many seconds; return None after that."""
    try:
        async with asyncio.timeout(seconds):
            return await waiting
    except TimeoutError:
        return None


def _not_awaitable(outcome: object) -> InvalidOutcome:
    return InvalidOutcome(
        f"the handler returned {shown(outcome)}, which cannot be awaited; give plain functions to duerow.Worker"
    )
