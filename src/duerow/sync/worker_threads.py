"""The threads of a worker: they claim, handle, settle, keep the leases and supervise."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any

from duerow.errors import StoreUnavailable
from duerow.plan import Plan, run
from duerow.settlement import Settlement
from duerow.sync.cancellation import CancellationListener
from duerow.sync.cluster_limit import PermitDesk
from duerow.sync.queue import Queue
from duerow.sync.several_queues import SeveralQueues
from duerow.sync.wakeup import Wakeup
from duerow.sync.worker_steps import WorkerSteps
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
from duerow.worker.signals import LOOK
from duerow.worker.stack import of_thread
from duerow.worker.supervisor import (
    CANCELLATIONS,
    FETCHER,
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


class Handlers:
    """The threads of one run: each executes its plan, and tells the supervisor when it ends."""

    def __init__(self, run: Run, queue: Queue | SeveralQueues, handler: Callable[..., Any]) -> None:
        self._run, self._queue, self._handler = run, queue, handler
        self._events: SimpleQueue[Stop | LeftOver] = SimpleQueue()
        self._in_flight = run.in_flight
        self._fetcher, self._settler = fetcher_of(run), Settler(run)
        self._supervisor = Supervisor(run)
        self._wakeup, self._cancellations = Wakeup(run, queue), CancellationListener(run, queue)
        self._turn_to_claim = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._leaving = threading.Lock()
        self._freed, self._ended = threading.Event(), threading.Event()
        self._over, self._time_up = threading.Event(), threading.Event()
        self._changed = threading.Event()
        self._actions: dict[type, Callable[[Any], Any]] = {
            **WorkerSteps(run, queue).actions,
            Listen: lambda step: self._wakeup.listen(),
            Sleep: lambda step: self._wakeup.wait(step.seconds),
            RoomWanted: lambda step: _await(self._freed, step.seconds),
            HandOut: self._hand_out,
            EndWanted: lambda step: _await(self._ended),
            Freed: self._tell_freed,
            Pause: lambda step: self._time_up.wait(step.seconds),
            RestUntil: lambda step: self._over.wait(step.seconds),
            TurnsEnded: lambda step: self._ended.set(),
            NextEvent: self._next_event,
            StartSlot: lambda step: self._start_slot(),
            DropSlot: lambda step: None,  # a thread cannot be ended, but it has been told and no longer counts
            AllChanged: lambda step: self._tell_all(),
            AwaitChange: lambda step: self._changed.wait(step.seconds),
            WatchCancellations: lambda step: self._watch_cancellations(),
            AwaitCancellation: lambda step: self._cancellations.wait(step.seconds),
        }
        if run.options.by_permit:
            self._actions |= PermitDesk(run, permits_of(queue)).actions

    def work(self) -> None:
        """Start working; return when the run has ended."""
        supervisor = self._supervisor
        try:
            self._start(KEEPER, lambda: self._carry_out(LeaseKeeper(self._run).keep()))
            self._start(TICKER, lambda: self._carry_out(Maintenance(self._run).tick()))
            self._start(SETTLER, lambda: self._carry_out(self._settler.serve()))
            if self._run.options.by_permit:
                self._start(PERMITS, lambda: self._carry_out(Permits(self._run).keep()))
            if not self._run.options.one_by_one:
                self._start(FETCHER, lambda: self._carry_out(self._fetcher.fetch()))
            for _ in range(self._run.options.concurrency):
                self._start_slot()
            self._carry_out(supervisor.watch())
        except BaseException:
            supervisor.hurry = True
            raise
        finally:
            try:
                self._carry_out(supervisor.wind_down())
            finally:
                if not supervisor.staff:  # otherwise a thread is still listening and is left alone
                    self._wakeup.close()
                    self._cancellations.close()

    def stop(self) -> None:
        """Begin nothing more and wind down; may be called from any thread or signal handler, so it takes no lock."""
        self._run.over = True
        self._events.put(Stop())

    def _carry_out(self, plan: Plan[Any]) -> Any:
        return run(plan, lambda step: self._actions[type(step)](step))

    # Threads.

    def _start(self, role: str | Slot, body: Callable[[], None]) -> threading.Thread:
        """Start a thread that does not keep the process alive: a run ends in bounded time, whatever the thread does."""
        if role != KEEPER:
            self._supervisor.staff.add(role)
        kind = "handler" if isinstance(role, Slot) else role
        name = f"duerow-{self._queue.name}-{kind}"
        thread = threading.Thread(target=self._until_left, args=(role, body), name=name, daemon=True)
        thread.start()
        return thread

    def _until_left(self, role: str | Slot, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # raised again by the supervisor
            self._events.put(LeftOver(role, error))
        else:
            self._events.put(LeftOver(role))

    def _start_slot(self) -> None:
        slot = Slot()
        self._run.slots.add(slot)
        slot.look = lambda: of_thread(slot.runner.ident)
        body = self._one_by_one if self._run.options.one_by_one else self._one_after_the_other
        slot.runner = self._start(slot, lambda: body(slot))

    def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what the fetcher claims; the settler settles it."""
        while taken := self._next(slot):
            if ended := self._work_on(slot, taken):
                self._in_flight.end_all(ended)
                if not self._ended.is_set():
                    self._ended.set()

    def _one_by_one(self, slot: Slot) -> None:
        """Claim, handle and settle one message after another, all in this thread, so that nothing is handed over."""
        attempts: Sequence[Attempt] = ()
        while not slot.abandoned:
            if not attempts:
                with self._turn_to_claim:
                    if self._run.leave(slot):
                        return
                    attempts = self._carry_out(self._fetcher.next(1))
            if not attempts:
                if self._run.over:
                    return
                continue
            taken: Any = attempts if self._run.options.whole_batch else attempts[0]
            ended = self._work_on(slot, taken)
            attempts = self._carry_out(self._fetcher.settle_and_claim(self._settler, ended)) if ended else ()

    # Handlers.

    def _next(self, slot: Slot) -> Any:
        """Wait for something to handle; return None if nothing more should begin here."""
        run, waiting = self._run, self._in_flight.waiting
        while not (run.over or slot.abandoned):
            if taken := self._take():
                return taken
            if run.crowded:
                with self._leaving:
                    if not waiting and run.leave(slot):
                        return None
            bell = threading.Lock()  # with a condition, a slot that is woken waits again, for the lock of who woke it
            bell.acquire()
            self._waiting.append(bell)
            if waiting or self._run.over or run.crowded:  # since before the bell could be heard
                with suppress(ValueError):  # it has just rung
                    self._waiting.remove(bell)
            else:
                bell.acquire()
        return None

    def _take(self) -> Any:
        """Return the next message to handle, if there is one now."""
        return self._in_flight.next()

    def _work_on(self, slot: Slot, attempt: Attempt) -> Sequence[Ended]:
        """Return how the turn of a message ends; nothing if that was decided without its handler."""
        settlement = self._handle(slot, attempt)
        return () if settlement is None else (Ended(attempt, settlement),)

    def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Call the handler; return how the turn ends, or None if that was decided without it."""
        slot.begin(attempt)
        CURRENT.set(attempt)
        outcome = self._call_handler(slot, attempt.message)
        attempt.seconds = monotonic() - slot.started
        self._in_flight.prefetch.note(attempt.seconds)
        if not slot.end():
            return None
        return self._run.conclude(attempt, outcome)

    # For handlers that write in transactions.

    def _find_out(self, attempt: Attempt, error: StoreUnavailable) -> None:
        self._carry_out(self._settler.find_out(attempt, error))

    def _pause(self, seconds: float) -> None:
        self._time_up.wait(seconds)

    def _call_handler(self, slot: Slot, *subject: Any) -> Any:
        # In a function of its own, so that the error's traceback does not hold the frame that holds the error.
        try:
            return self._handler(*subject)
        except BaseException as error:  # anything a handler raises is a failed attempt
            return error

    # Steps.

    def _hand_out(self, step: HandOut) -> None:
        self._ring(step.count)
        if not step.more:
            sleep(0)  # lets a handler begin now; otherwise this thread runs on until its next claim is on its way

    def _ring(self, count: int | None = None) -> None:
        """Make this many idle slots look for work; None: all."""
        for _ in range(len(self._waiting) if count is None else count):
            try:
                bell = self._waiting.popleft()
            except IndexError:
                return
            bell.release()

    def _tell_freed(self, step: Freed) -> None:
        # Otherwise the fetcher would wake up for nothing after each message.
        if not self._freed.is_set() and self._in_flight.wanted():
            self._freed.set()
        if step.wake:
            self._wakeup.wake()

    def _next_event(self, step: NextEvent) -> Stop | LeftOver | None:
        try:
            return self._events.get(timeout=LOOK if step.seconds is None else min(LOOK, step.seconds))
        except Empty:
            return None

    def _watch_cancellations(self) -> None:
        self._start(CANCELLATIONS, lambda: self._carry_out(CancellationWatch(self._run).watch()))

    def _tell_all(self) -> None:
        self._freed.set()
        self._ended.set()
        self._ring()
        self._wakeup.wake()
        if self._run.over:
            self._over.set()
        if self._run.closing:
            self._changed.set()
            self._cancellations.wake()
        if self._run.gave_up:
            self._time_up.set()


def _await(event: threading.Event, seconds: float | None = None) -> None:
    event.wait(seconds)
    event.clear()
