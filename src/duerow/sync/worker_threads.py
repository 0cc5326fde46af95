"""The threads of a worker: who claims, who handles, who settles, who keeps the leases and who watches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from duerow.errors import StoreUnavailable
from duerow.plan import Plan, run
from duerow.queue.consumer_id import consumer_name, new_claim
from duerow.settlement import Settlement
from duerow.store import Listener
from duerow.sync.cluster_limit import PermitDesk
from duerow.sync.queue import Queue, Reservation
from duerow.sync.several_queues import SeveralQueues
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.cluster_limit import AwaitChange, Permits, permits_of
from duerow.worker.fetcher import HandOut, Listen, NextDue, Reserve, Sleep
from duerow.worker.in_flight import Ended, Slot
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
from duerow.worker.signals import LOOK
from duerow.worker.supervisor import (
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

Events = SimpleQueue[Stop | LeftOver]


class Crew:
    """The threads of one run: each carries out its plan, and tells the supervisor when it leaves."""

    def __init__(self, shift: Run, queue: Queue | SeveralQueues, handler: Callable[..., Any], events: Events) -> None:
        self._shift, self._queue, self._handler, self._events = shift, queue, handler, events
        self._hand = shift.hand
        self._claiming, self._settling = claiming(shift), Settler(shift)
        self._supervising = Supervisor(shift)
        self._wakeup = _Wakeup(shift, queue)
        self._turn_to_claim = threading.Lock()
        self._work = threading.Condition()
        self._freed, self._ended = threading.Event(), threading.Event()
        self._over, self._time_up = threading.Event(), threading.Event()
        self._changed = threading.Event()
        self._actions: dict[type, Callable[[Any], Any]] = {
            Reserve: self._reserve,
            Listen: lambda step: self._wakeup.listen(),
            NextDue: self._next_due,
            Sleep: lambda step: self._wakeup.wait(step.seconds),
            RoomWanted: lambda step: _await(self._freed, step.seconds),
            HandOut: self._hand_out,
            Settle: lambda step: queue.settle(step.pairs),
            EndWanted: lambda step: _await(self._ended),
            WriteCounts: lambda step: queue.database.write_counts(),
            Freed: self._tell_freed,
            Pause: lambda step: self._time_up.wait(step.seconds),
            Extend: lambda step: queue.extend_many(step.reservations),
            Maintain: lambda step: queue.database.tick(),
            Prune: lambda step: queue.database.prune(batches=1),
            Present: lambda step: self._present(),
            TellDifferences: lambda step: queue.tell_differences(),
            LookForUnknown: lambda step: queue.look_for_unknown(),
            RestUntil: lambda step: self._over.wait(step.seconds),
            TurnsEnded: lambda step: self._ended.set(),
            NextEvent: self._next_event,
            StartSlot: lambda step: self._hire(),
            DropSlot: lambda step: None,  # a thread cannot be ended, but it has been told and counts for nothing
            AllChanged: lambda step: self._tell_all(),
        }
        if shift.terms.by_permit:
            self._actions |= PermitDesk(shift, permits_of(queue)).actions
            self._actions[AwaitChange] = lambda step: self._changed.wait(step.seconds)

    def work(self) -> None:
        """Go to work; return when the shift has ended."""
        supervising = self._supervising
        try:
            self._start(KEEPER, lambda: self._carry_out(LeaseKeeper(self._shift).keep()))
            self._start(TICKER, lambda: self._carry_out(Maintenance(self._shift).tick()))
            self._start(SETTLER, lambda: self._carry_out(self._settling.serve()))
            if self._shift.terms.by_permit:
                self._start(PERMITS, lambda: self._carry_out(Permits(self._shift).keep()))
            if not self._shift.terms.one_by_one:
                self._start(FETCHER, lambda: self._carry_out(self._claiming.fetch()))
            for _ in range(self._shift.terms.concurrency):
                self._hire()
            self._carry_out(supervising.watch())
        except BaseException:
            supervising.hurry = True
            raise
        finally:
            try:
                self._carry_out(supervising.wind_down())
            finally:
                if not supervising.staff:  # else somebody still listens, and is left to it
                    self._wakeup.close()

    def _carry_out(self, plan: Plan[Any]) -> Any:
        return run(plan, lambda step: self._actions[type(step)](step))

    # Threads.

    def _start(self, role: str | Slot, body: Callable[[], None]) -> threading.Thread:
        """Start a thread that does not keep the process alive: the end of a shift is bounded, whatever it does."""
        if role != KEEPER:
            self._supervising.staff.add(role)
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

    def _hire(self) -> None:
        slot = Slot()
        self._shift.slots.add(slot)
        body = self._one_by_one if self._shift.terms.one_by_one else self._one_after_the_other
        slot.runner = self._start(slot, lambda: body(slot))

    def _one_after_the_other(self, slot: Slot) -> None:
        """Handle what the fetcher claims; the settler settles it."""
        while (attempt := self._next(slot)) is not None:
            settlement = self._handle(slot, attempt)
            if settlement is not None:
                self._hand.end(attempt, settlement)
                if not self._ended.is_set():
                    self._ended.set()

    def _one_by_one(self, slot: Slot) -> None:
        """Claim, handle and settle one message after the other, all in this thread: nothing is handed over."""
        while not slot.abandoned:
            with self._turn_to_claim:
                attempts = self._carry_out(self._claiming.next(1))
            if not attempts:
                return
            settlement = self._handle(slot, attempts[0])
            if settlement is not None:
                self._carry_out(self._settling.settle([Ended(attempts[0], settlement)]))

    # Handlers.

    def _next(self, slot: Slot) -> Attempt | None:
        """Wait for a message to be handled; None when no more is to be begun here."""
        shift, waiting = self._shift, self._hand.waiting
        while not (shift.over or slot.abandoned):
            try:
                return waiting.popleft()
            except IndexError:
                with self._work:
                    self._work.wait_for(lambda: waiting or shift.over)
        return None

    def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Call the handler; return how the turn ends, or None when that was decided without it."""
        slot.begin(attempt)
        CURRENT.set(attempt)
        outcome = self._call(attempt.reservation.message)
        attempt.seconds = seconds = monotonic() - slot.started
        self._hand.pace.note(seconds)
        if not slot.end():
            return None
        return self._shift.conclude(attempt, outcome)

    def _call(self, subject: Any) -> Any:
        # In a function of its own, so that the error's traceback does not hold the frame that holds the error.
        try:
            return self._handler(subject)
        except BaseException as error:  # whatever a handler raises is a failed attempt
            return error

    # Steps.

    def _reserve(self, step: Reserve) -> list[Reservation]:
        return self._queue.reserve_many(step.limit, consumer=new_claim(self._shift.terms.name))

    def _present(self) -> None:
        database, queue = self._queue.database, self._queue
        name = consumer_name(self._shift.terms.name)
        for names, kinds in queue.kinds_of.items():
            its = name if len(queue.kinds_of) == 1 else f"{name}/{names[0]}"
            database.run(partial(database.store.note_consumer, its, names, kinds, version("duerow")))
        database.write_counts()

    def _next_due(self, step: NextDue) -> timedelta | None:
        database, names = self._queue.database, self._shift.queues
        return database.run(lambda: database.store.next_due(names, step.sleep, self._queue.only))

    def _hand_out(self, step: HandOut) -> None:
        with self._work:
            self._work.notify(step.count)

    def _tell_freed(self, step: Freed) -> None:
        if self._hand.wanted():  # else whoever claims would wake up for nothing, once for each message
            self._freed.set()
        if step.wake:
            self._wakeup.wake()

    def _next_event(self, step: NextEvent) -> Stop | LeftOver | None:
        try:
            return self._events.get(timeout=LOOK if step.seconds is None else min(LOOK, step.seconds))
        except Empty:
            return None

    def _tell_all(self) -> None:
        self._freed.set()
        self._ended.set()
        with self._work:
            self._work.notify_all()
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
        self._listener: Listener | None = None
        self._called = threading.Event()
        self._closing = threading.Lock()

    def listen(self) -> None:
        """Hear of pushes from now on, if the store tells of them and can be reached."""
        if not self._possible or self._listener is not None or self._shift.gave_up:
            return
        try:
            self._listener = self._queue.database.connections.listen(self._shift.queues)
        except StoreUnavailable as error:
            self._shift.hears_no_more(error)
        else:
            self._shift.hears_again()

    def wait(self, seconds: float) -> bool:
        """Sleep; return whether something ended it before its time."""
        listener = self._listener
        if listener is not None and not self._called.is_set():
            try:
                heard = listener.wait(seconds)
            except StoreUnavailable as error:
                self.close()
                self._shift.hears_no_more(error)
                seconds = min(seconds, self._shift.poll)
            else:
                return self._was_called() or heard
        self._called.wait(seconds)
        return self._was_called()

    def wake(self) -> None:
        """End the sleep, or the next one; from any thread."""
        self._called.set()
        with self._closing:
            if self._listener is not None:
                self._listener.wake()

    def close(self) -> None:
        """Hear nothing more; nobody may be asleep."""
        with self._closing:
            listener, self._listener = self._listener, None
            if listener is not None:
                with suppress(StoreUnavailable):  # a connection that is gone needs no closing
                    listener.close()

    def _was_called(self) -> bool:
        called = self._called.is_set()
        self._called.clear()
        return called


def _await(event: threading.Event, seconds: float | None = None) -> None:
    event.wait(seconds)
    event.clear()
