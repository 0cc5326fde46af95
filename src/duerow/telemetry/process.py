"""What this process does with queues, as events for metrics: operations, handlers and lost leases."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from inspect import isawaitable
from time import perf_counter
from typing import Any, Protocol

from duerow.errors import LeaseLost
from duerow.message import Message
from duerow.settlement import Bury, Move, Retry, Rollback
from duerow.telemetry import hooks
from duerow.telemetry.hooks import WatchedCall, watching
from duerow.worker import middleware, rounds
from duerow.worker.rounds import FrameRound, numbers_of


class Events(Protocol):
    """Receives events; its methods may be called from any thread."""

    def operated(self, operation: str, queue: str, seconds: float, messages: int, error: str | None) -> None:
        """An operation on a queue ended: push, reserve, pop, extend or settle."""
        ...

    def waited(self, queue: str, seconds: Sequence[float]) -> None:
        """Messages were handed out after they had been due for these times."""
        ...

    def handled(self, queue: str, seconds: float, outcome: str) -> None:
        """A handler ended: done, moved, failed or dead."""
        ...

    def lost(self, queue: str, leases: int) -> None:
        """Leases turned out to have ended before their messages were settled or extended."""
        ...

    def ran(self, plan: str, seconds: float, error: str | None) -> None:
        """The database ran a plan: one or more statements."""
        ...

    def observed(self, queue: str, values: Mapping[str, float]) -> None:
        """A frame station has finished a batch, in which its `observe` found these numbers."""
        ...


def watch(events: Events) -> Callable[[], None]:
    """Send events to a receiver; return a function that stops it. Workers that are created later send them too."""
    detach = hooks.attach(
        {
            **{name: watching(_operating(events, name, sent)) for name, sent in _OPERATIONS.items()},
            "run": watching(_running(events)),
        }
    )
    layer = _layer(events)
    middleware.EVERYWHERE.append(layer)
    around = _around(events)
    rounds.AROUND.append(around)

    def end() -> None:
        detach()
        if around in rounds.AROUND:
            rounds.AROUND.remove(around)
        if layer in middleware.EVERYWHERE:
            middleware.EVERYWHERE.remove(layer)

    return end


def _around(events: Events) -> Callable[[FrameRound], AbstractContextManager[None]]:
    """Return a context manager that reports the numbers that a frame station has observed in a round."""

    @contextmanager
    def around(one: FrameRound) -> Iterator[None]:
        try:
            yield
        finally:
            if numbers := numbers_of(one.observed):
                events.observed(one.queue, numbers)

    return around


_OPERATIONS = {
    "push": "push",
    "push_many": "push",
    "reserve_many": "reserve",
    "pop_many": "pop",
    "extend": "extend",
    "settle": "settle",
    "settle_one": "settle",
}


def _operating(
    events: Events, method: str, operation: str
) -> Callable[[Any, WatchedCall], Generator[None, None, None]]:
    def operate(queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        begun = perf_counter()
        if method == "settle" and call.args and isinstance(call.args[0], Iterable):
            call.args = (list(call.args[0]), *call.args[1:])
        try:
            yield
        except BaseException as error:
            if isinstance(error, LeaseLost):
                events.lost(queue.name, 1)
            events.operated(operation, queue.name, perf_counter() - begun, 0, type(error).__name__)
            raise
        refused = call.result if operation in ("extend", "settle") and isinstance(call.result, list) else ()
        if lost := sum(isinstance(one.error, LeaseLost) for one in refused):
            events.lost(queue.name, lost)
        events.operated(operation, queue.name, perf_counter() - begun, _messages(method, call), None)
        if operation in ("reserve", "pop") and call.result:
            events.waited(queue.name, list(_waits(call.result)))

    return operate


def _waits(taken: Iterable[Any]) -> Iterator[float]:
    """Yield how long each message, or reservation, had been due, by the clock of the database."""
    for one in taken:
        message: Message = getattr(one, "message", one)
        if message.due_at is not None and message.last_attempt_at is not None:
            yield max(0.0, (message.last_attempt_at - message.due_at).total_seconds())


def _messages(method: str, call: WatchedCall) -> int:
    if method == "settle":
        return len(call.args[0]) - len(call.result) if call.args else 0
    if method == "extend":
        return 0
    return len(call.result) if isinstance(call.result, list) else 1


def _running(events: Events) -> Callable[[Any, WatchedCall], Generator[None, None, None]]:
    def run(database: Any, call: WatchedCall) -> Generator[None, None, None]:
        named: list[str] = []
        if call.args:
            make = call.args[0]

            def made() -> Any:
                plan = make()
                named.append(getattr(plan, "__name__", "plan"))
                return plan

            call.args = (made, *call.args[1:])
        begun = perf_counter()
        try:
            yield
        except BaseException as error:
            events.ran(named[0] if named else "plan", perf_counter() - begun, type(error).__name__)
            raise
        events.ran(named[0] if named else "plan", perf_counter() - begun, None)

    return run


def _layer(events: Events) -> Callable[[Any, Callable[[Any], Any]], Any]:
    """Return middleware that reports how long handlers run and how they end."""

    def told(subject: Any, begun: float, outcome: object) -> None:
        seconds = perf_counter() - begun
        messages = subject if isinstance(subject, list | tuple) else [subject]
        for queue in {getattr(one, "queue", "") for one in messages}:
            events.handled(queue, seconds, outcome_of(outcome))

    async def awaited(subject: Any, begun: float, result: Any) -> Any:
        try:
            outcome = await result
        except BaseException as error:
            told(subject, begun, error)
            raise
        told(subject, begun, outcome)
        return outcome

    def layer(subject: Any, call_next: Callable[[Any], Any]) -> Any:
        begun = perf_counter()
        try:
            outcome = call_next(subject)
        except BaseException as error:
            told(subject, begun, error)
            raise
        if isawaitable(outcome):
            return awaited(subject, begun, outcome)
        told(subject, begun, outcome)
        return outcome

    return layer


def outcome_of(outcome: object) -> str:
    """Return how a handler ended, as a word; for a batch with several outcomes, the worst."""
    if isinstance(outcome, Bury):
        return "dead"
    if isinstance(outcome, Rollback | Retry | BaseException):
        return "failed"
    if isinstance(outcome, Move):
        return "moved"
    if isinstance(outcome, list | tuple):
        return _worst(outcome_of(one) for one in outcome)
    return "done"


def _worst(outcomes: Iterable[str]) -> str:
    found = set(outcomes)
    return next((one for one in ("dead", "failed", "moved") if one in found), "done")
