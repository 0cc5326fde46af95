"""A worker whose handlers are coroutine functions, run as tasks of one event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from inspect import isawaitable
from time import monotonic
from typing import Any, Final

from duerow.aio.queue import Queue, Reservation
from duerow.attempt import CURRENT, Attempt
from duerow.claiming import Claiming, HandOut, Listen, NextDue, Reserve, RoomWanted, Sleep
from duerow.consumer import new_claim
from duerow.errors import ConfigurationError, InvalidOutcome, StoreUnavailable
from duerow.hand import Slot
from duerow.keeping import Extend, Keeping
from duerow.message import Message
from duerow.plan import Plan, arun
from duerow.retry import RetryFunction, RetryPolicy, as_policy
from duerow.settlement import Settlement
from duerow.settling import EndWanted, Freed, Pause, Settle, Settling
from duerow.shift import GRACE, Shift, Terms, Until, check_handler, new_name
from duerow.store import AsyncListener, Refused
from duerow.supervising import (
    FETCHER,
    SETTLER,
    AllChanged,
    Dismiss,
    Hire,
    Left,
    NextEvent,
    Stop,
    Supervising,
    TurnsEnded,
)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

PATIENCE: Final = 1.0
"""Seconds that cancelled handlers have to clean up before `run` returns without them."""

BREATH: Final = 0.001
"""Seconds after which a handler that never awaits lets others have the loop."""

Events = asyncio.Queue[Stop | Left]
Act = Callable[[Any], Awaitable[Any]]


class Worker:
    """Hands the messages of a queue to a coroutine function, as tasks, and settles them as it says.

    Args:
        queue: where the messages come from.
        handler: awaited with each `Message`. What it returns is ignored, unless it is a settlement (`Commit`, `Move`,
            `Rollback`, `Bury`, `Release`, `Retry`) or a list of `Move`s. An exception is a failed attempt.
        batch: most messages in one claim and in one settlement; 1: each message has its own claim and settlement,
            one after the other, and none is claimed ahead.
        concurrency: handlers that run at once, each in its own task.
        retry: the delays between attempts, and their limit; default: the queue's.
        lease: how long a claim lasts; extended at a third of it for as long as a handler runs; default: the queue's.
        timeout: how long a handler may take for one message; then the attempt fails with `TimedOut` and the handler
            is cancelled. Default: as long as it likes.
        poll: longest sleep on an idle queue; default: 5 s where pushes wake the worker, else 1 s.
        grace: how long running handlers have when the worker is stopped; then they are cancelled, and what they work
            on is due again.
        name: this worker's part of what `leased_by` says; default: a random one.

    Leases are extended by a thread with an event loop and a connection of its own: a handler that blocks the loop of
    the worker holds up the worker, but loses no lease. A blocking connection would do as well, but not every driver
    has one, and an engine of the user's own may be asynchronous alone.

    Raises:
        ConfigurationError: a setting is out of bounds (InvalidMessage: a span).
    """

    def __init__(
        self,
        queue: Queue,
        handler: Callable[[Message], Awaitable[Any]],
        *,
        batch: int = 100,
        concurrency: int = 1,
        retry: RetryPolicy | RetryFunction | None = None,
        lease: timedelta | None = None,
        timeout: timedelta | None = None,
        poll: timedelta | None = None,
        grace: timedelta = GRACE,
        name: str | None = None,
    ) -> None:
        _check(queue, handler)
        self._handler = handler
        self._queue = queue.database.queue(
            queue.name,
            lease=queue.lease if lease is None else lease,
            retry=queue.retry if retry is None else as_policy(retry),
            max_payload_bytes=queue.max_payload_bytes,
        )
        self._terms = Terms(
            batch=batch,
            concurrency=concurrency,
            lease=self._queue.lease,
            retry=self._queue.retry,
            timeout=timeout,
            poll=poll,
            grace=grace,
            name=new_name() if name is None else name,
        )
        self._stops = 0
        self._crew: _Crew | None = None
        self._change = threading.Lock()

    async def run(self, until: Until = None) -> None:
        """Work until SIGTERM or SIGINT, or until `stop` is called.

        In the main thread those two signals are taken for the length of the call. The first one stops the worker:
        it claims nothing more, gives back what was not begun, and lets running handlers end within the grace. After
        a second one they are not waited for, and neither if this call is cancelled.

        Args:
            until: "idle" returns when nothing is due now and nothing in hand; "empty" when no message with a due time
                is left, which waits for delayed ones and for those of other workers.

        Raises:
            ConfigurationError: this worker runs already, or `until` is none of these.
            DuerowError: something that trying again does not cure, such as missing tables; what was claimed and not
                begun has been given back.
        """
        crew = _Crew(Shift(self._queue.name, self._terms, until), self._queue, self._handler)
        with self._change:
            if self._crew is not None:
                raise ConfigurationError("this worker runs already; make another one of the same queue")
            self._crew = crew
            while self._stops:
                self._stops -= 1
                crew.stop()
        try:
            with _signals(self.stop):
                await crew.work()
        finally:
            with self._change:
                self._crew = None

    def stop(self) -> None:
        """Ask the worker to stop, and return at once; asked again, it waits for no handler.

        From any thread or handler. A worker that does not run yet will return as soon as it does.
        """
        with self._change:
            if self._crew is None:
                self._stops += 1
            else:
                self._crew.stop()


class _Crew:
    """The tasks of one run: each carries out its plan, and tells the supervisor when it leaves."""

    def __init__(self, shift: Shift, queue: Queue, handler: Callable[[Message], Any]) -> None:
        self._shift, self._queue, self._handler = shift, queue, handler
        self._hand = shift.hand
        self._loop = asyncio.get_running_loop()
        self._events: Events = asyncio.Queue()
        self._claiming, self._settling = Claiming(shift), Settling(shift)
        self._supervising = Supervising(shift)
        self._wakeup = _Wakeup(shift, queue)
        self._turn_to_claim = asyncio.Lock()
        self._work = asyncio.Condition()
        self._freed, self._ended, self._time_up = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeper = _Keeper(shift, queue, self._tell_freed_from_elsewhere, self.tell)
        self._actions: dict[type, Act] = {
            Reserve: self._reserve,
            Listen: lambda step: self._wakeup.listen(),
            NextDue: self._next_due,
            Sleep: lambda step: self._wakeup.wait(step.seconds),
            RoomWanted: lambda step: _await(self._freed),
            HandOut: self._hand_out,
            Settle: self._settle,
            EndWanted: lambda step: _await(self._ended),
            Freed: self._tell_freed,
            Pause: self._pause,
            TurnsEnded: self._tell_ended,
            NextEvent: self._next_event,
            Hire: self._hire,
            Dismiss: self._dismiss,
            AllChanged: self._tell_all,
        }

    async def work(self) -> None:
        """Go to work; return when the shift has ended."""
        supervising = self._supervising
        try:
            self._keeper.start()
            self._start(SETTLER, self._carry_out(self._settling.serve()))
            if not self._shift.terms.one_by_one:
                self._start(FETCHER, self._carry_out(self._claiming.fetch()))
            for _ in range(self._shift.terms.concurrency):
                await self._hire(Hire())
            await self._carry_out(supervising.watch())
        except BaseException:
            supervising.hurry = True
            raise
        finally:
            try:
                await self._carry_out(supervising.wind_down())
            finally:
                await self._see_off()
                await self._wakeup.close()

    def stop(self) -> None:
        """Begin nothing more from now on, and wind down; from any thread."""
        self._shift.over = True
        self.tell(Stop())

    def tell(self, event: Stop | Left) -> None:
        """Have the supervisor look at an event; from any thread."""
        with suppress(RuntimeError):  # the loop is closed: the run has ended
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def _carry_out(self, plan: Plan[Any]) -> Any:
        return await arun(plan, lambda step: self._actions[type(step)](step))

    # Tasks.

    def _start(self, role: str | Slot, body: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._supervising.staff.add(role)
        task = self._loop.create_task(self._until_left(role, body), name=f"duerow-{self._queue.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _until_left(self, role: str | Slot, body: Coroutine[Any, Any, None]) -> None:
        try:
            await body
        except asyncio.CancelledError:
            self._events.put_nowait(Left(role))
            raise
        except BaseException as error:
            self._events.put_nowait(Left(role, error))
        else:
            self._events.put_nowait(Left(role))

    async def _hire(self, step: Hire) -> None:
        slot = Slot()
        self._shift.slots.add(slot)
        body = self._one_by_one if self._shift.terms.one_by_one else self._one_after_the_other
        slot.runner = self._start(slot, body(slot))

    async def _dismiss(self, step: Dismiss) -> None:
        step.slot.runner.cancel()

    async def _see_off(self) -> None:
        """Let cancelled tasks clean up, for a moment."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=PATIENCE)

    async def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what the fetcher claims; the settler settles it."""
        breathed = monotonic()
        while (attempt := await self._next(slot)) is not None:
            settlement = await self._handle(slot, attempt)
            if settlement is not None:
                self._hand.end(attempt, settlement)
                self._ended.set()
            if (now := monotonic()) - breathed > BREATH:
                breathed = now
                await asyncio.sleep(0)

    async def _one_by_one(self, slot: Slot) -> None:
        """Claim, handle and settle one message after the other, all in this task: nothing is handed over."""
        while not slot.abandoned:
            async with self._turn_to_claim:
                attempts = await self._carry_out(self._claiming.next(1))
            if not attempts:
                return
            settlement = await self._handle(slot, attempts[0])
            if settlement is not None:
                await self._carry_out(self._settling.settle([(attempts[0], settlement)]))

    # Handlers.

    async def _next(self, slot: Slot) -> Attempt | None:
        """Wait for a message to be handled; None when no more is to be begun here."""
        while not (self._shift.over or slot.abandoned):
            if (attempt := self._hand.next()) is not None:
                return attempt
            async with self._work:
                await self._work.wait_for(lambda: self._hand.waiting or self._shift.over)
        return None

    async def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Await the handler; return how the turn ends, or None when that was decided without it."""
        slot.begin(attempt)
        CURRENT.set(attempt)
        outcome = await self._call(slot, attempt.message)
        self._hand.pace.note(monotonic() - slot.started)
        if not slot.end():
            return None
        return self._shift.conclude(attempt, outcome)

    async def _call(self, slot: Slot, message: Message) -> Any:
        # In a function of its own, so that the error's traceback does not hold the frame that holds the error.
        try:
            outcome = self._handler(message)
            return await outcome if isawaitable(outcome) else _not_awaitable(outcome)
        except asyncio.CancelledError as error:
            if slot.abandoned:
                raise
            return error
        except BaseException as error:  # whatever a handler raises is a failed attempt
            return error

    # Steps.

    async def _reserve(self, step: Reserve) -> list[Reservation]:
        return await self._queue.reserve_many(step.limit, consumer=new_claim(self._shift.terms.name))

    async def _next_due(self, step: NextDue) -> timedelta | None:
        database, name = self._queue.database, self._queue.name
        return await database.run(lambda: database.store.idle([name], step.sleep))

    async def _settle(self, step: Settle) -> list[Refused]:
        return await self._queue.settle(step.pairs)

    async def _hand_out(self, step: HandOut) -> None:
        async with self._work:
            self._work.notify(step.count)

    async def _tell_freed(self, step: Freed) -> None:
        self._freed.set()
        if step.wake:
            self._wakeup.wake()

    async def _tell_ended(self, step: TurnsEnded) -> None:
        self._ended.set()

    def _tell_freed_from_elsewhere(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: the run has ended
            self._loop.call_soon_threadsafe(self._freed.set)

    async def _pause(self, step: Pause) -> None:
        await _within(step.seconds, self._time_up.wait())

    async def _next_event(self, step: NextEvent) -> Stop | Left | None:
        event: Stop | Left | None = await _within(step.seconds, self._events.get())
        return event

    async def _tell_all(self, step: AllChanged) -> None:
        self._freed.set()
        self._ended.set()
        async with self._work:
            self._work.notify_all()
        self._wakeup.wake()
        if self._shift.gave_up:
            self._time_up.set()
            self._keeper.stop()


class _Keeper:
    """Keeps the leases from a thread with a loop of its own, which no handler can block."""

    def __init__(
        self, shift: Shift, queue: Queue, tell_freed: Callable[[], None], tell: Callable[[Stop | Left], None]
    ) -> None:
        self._shift, self._queue, self._tell_freed, self._tell = shift, queue, tell_freed, tell
        self._time_up = threading.Event()

    def start(self) -> None:
        """Begin to keep."""
        threading.Thread(target=self._keep, name=f"duerow-{self._queue.name}-keeper", daemon=True).start()

    def stop(self) -> None:
        """End soon; do not wait for it."""
        self._time_up.set()

    def _keep(self) -> None:
        try:
            asyncio.run(self._keep_leases())
        except BaseException as error:
            self._tell(Left("keeper", error))

    async def _keep_leases(self) -> None:
        try:
            await arun(Keeping(self._shift).keep(), self._act)
        finally:
            await self._queue.database.connections.close()  # those of this loop

    async def _act(self, step: Pause | Extend | Settle | Freed) -> Any:
        match step:
            case Pause(seconds):
                self._time_up.wait(seconds)  # nothing else runs on this loop
            case Extend(reservations):
                return await self._queue.extend_many(reservations)
            case Settle(pairs):
                return await self._queue.settle(pairs)
            case Freed():
                self._tell_freed()


class _Wakeup:
    """Sleeps until a push, a call of `wake`, or the end of a time."""

    def __init__(self, shift: Shift, queue: Queue) -> None:
        self._shift, self._queue = shift, queue
        self._possible = queue.database.store.capabilities.wakes_consumers
        self._listener: AsyncListener | None = None
        self._called = asyncio.Event()

    async def listen(self) -> None:
        """Hear of pushes from now on, if the store tells of them and can be reached."""
        if not self._possible or self._listener is not None or self._shift.gave_up:
            return
        try:
            self._listener = await self._queue.database.connections.listen([self._queue.name])
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


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Take the signals that ask a process to end, if this is the thread that gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _check(queue: object, handler: object) -> None:
    if not isinstance(queue, Queue):
        raise ConfigurationError(
            f"this Worker takes a queue of duerow.aio.connect(…), not {type(queue).__module__}."
            f"{type(queue).__qualname__}; one of duerow has its own, duerow.Worker"
        )
    check_handler(handler)
