"""Handle due messages one after another, in the thread or task of the test, always in the same order.

    handled = drain({mail: send, bills: bill})                 # until nothing is due
    handled = drain({mail: send}, clock=clock)                 # until nothing is left, not even messages due later
    handled = await adrain({mail: send})                       # queues of duerow.aio and coroutine functions
    handled = drain(tasks)                                     # the tasks of an application, and their batches

Turns end as in a worker, through the same `decide`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from inspect import isawaitable
from time import monotonic
from typing import Any, Final, Literal

import msgspec

from duerow import Queue, Tasks, aio
from duerow.errors import ConfigurationError, DuerowError, InvalidOutcome, LeaseLost, shown
from duerow.message import Message
from duerow.plan import Plan, arun, run
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Move, Release, Retry, Rollback, Settlement, decide, mistake
from duerow.store import Refused
from duerow.testing.clock import MovableClock
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.run import check_count, check_handler, is_async

Ending = Literal["done", "failed", "dead", "moved", "released", "lost"]

LIMIT: Final = 1_000
"""The number of turns after which messages are assumed to circulate forever."""

_NOW: Final = timedelta(0)


class Handled(msgspec.Struct, frozen=True):
    """One turn: one call of a handler with a message.

    Attributes:
        message: the message that the handler got.
        settlement: how its turn ended.
        error: the handler's exception, or why its settlement was refused; None if nothing went wrong.
        lost: whether the lease was lost before the turn ended, so that nothing was changed.
    """

    message: Message
    settlement: Settlement
    error: BaseException | None = None
    lost: bool = False

    @property
    def ending(self) -> Ending:
        """How the turn ended: "done", "failed" (to be retried), "dead", "moved", "released" or "lost"."""
        if self.lost:
            return "lost"
        return _ENDINGS.get(type(self.settlement), "done")


_ENDINGS: Final[Mapping[type, Ending]] = {Rollback: "failed", Bury: "dead", Move: "moved", Release: "released"}


def drain(
    handlers: Mapping[Queue[Any], Callable[[Message[Any]], Any]] | Tasks,
    *,
    clock: MovableClock | None = None,
    raising: bool = False,
    limit: int = LIMIT,
) -> list[Handled]:
    """Handle messages, one from each queue in turn, until nothing is due; return the turns in order.

    Args:
        handlers: the handler of each queue, as a `Worker` takes it; or a `Tasks`, for all of its queues. Where
            `Tasks.run` is the handler of a queue, the queues that gather the outcomes of batches are handled too.
        clock: the clock of these queues. Whenever nothing is due, it is moved to the next due time, until no message
            has one. So retries and delays take no time.
        raising: whether to raise an exception of a handler after its turn has ended, except `Retry` and `Bury`.
        limit: the maximum number of turns in all.

    Raises:
        AssertionError: something is still due after `limit` turns.
        ConfigurationError: a queue belongs to the other API, or a handler is not a function or is async.
    """
    checked = _checked(handlers, Queue)
    for queue, handler in checked.items():
        if is_async(handler):
            raise ConfigurationError(f"the handler of {queue!r} is an async function; use adrain and duerow.aio")
    return run(_drain(checked, clock, raising, limit), _carry_out)


async def adrain(
    handlers: Mapping[aio.Queue[Any], Callable[[Message[Any]], Any]] | aio.Tasks,
    *,
    clock: MovableClock | None = None,
    raising: bool = False,
    limit: int = LIMIT,
) -> list[Handled]:
    """Like `drain`, for queues of `duerow.aio`; an awaitable that a handler returns is awaited."""
    return await arun(_drain(_checked(handlers, aio.Queue), clock, raising, limit), _acarry_out)


class _Reserve(msgspec.Struct, frozen=True):
    """Answered with a Reservation, or None when nothing is due."""

    queue: Any


class _Call(msgspec.Struct, frozen=True):
    """Answered with what the handler returned or raised."""

    handler: Callable[[Message], Any]
    attempt: Attempt


class _Settle(msgspec.Struct, frozen=True):
    """Answered with the list of refused settlements."""

    queue: Any
    reservation: BareReservation
    settlement: Settlement


class _DueIn(msgspec.Struct, frozen=True):
    """Answered with how long until a message of the queue is due; None if there is none."""

    queue: Any


def _drain(
    handlers: Mapping[Any, Callable[[Message], Any]], clock: MovableClock | None, raising: bool, limit: int
) -> Plan[list[Handled]]:
    check_count("limit", limit)
    turns: list[Handled] = []
    while True:
        before = len(turns)
        for queue, handler in handlers.items():
            reservation = yield _Reserve(queue)
            if reservation is None:
                continue
            if len(turns) == limit:
                yield _Settle(queue, reservation, Release())
                raise AssertionError(
                    f"after {limit:,} turns message {reservation.message.id} of {queue.name!r} is still due: "
                    "do messages circulate forever? If not, pass limit=…"
                )
            turn = yield from _turn(queue, handler, reservation)
            turns.append(turn)
            if raising and turn.error is not None and not isinstance(turn.error, Retry | Bury):
                raise turn.error
        if len(turns) == before and not (yield from _moved_on(handlers, clock)):
            return turns


def _turn(queue: Any, handler: Callable[[Message], Any], reservation: BareReservation) -> Plan[Handled]:
    """Handle one message and end its turn; an outcome that is impossible is a failed attempt, as in a worker."""
    message, now = reservation.message, monotonic()
    outcome = yield _Call(handler, Attempt(reservation, now, now))
    if not isinstance(outcome, BaseException) and (wrong := mistake(outcome)) is not None:
        outcome = InvalidOutcome(f"message {message.id}: the handler returned {wrong}")
    error = outcome if isinstance(outcome, BaseException) else None
    settlement = decide(message, outcome, queue.retry)
    refused = yield from _settled(queue, reservation, settlement)
    if refused is not None and not isinstance(refused, LeaseLost):
        error, settlement = refused, decide(message, refused, queue.retry)
        refused = yield from _settled(queue, reservation, settlement)
    return Handled(message, settlement, refused or error, isinstance(refused, LeaseLost))


def _settled(queue: Any, reservation: BareReservation, settlement: Settlement) -> Plan[DuerowError | None]:
    """Return why a settlement was refused; None if it was carried out."""
    refused: list[Refused] = yield _Settle(queue, reservation, settlement)
    return refused[0].error if refused else None


def _moved_on(queues: Iterable[Any], clock: MovableClock | None) -> Plan[bool]:
    """Move the clock to the time when the next message is due; return whether there is one."""
    if clock is None:
        return False
    due_in = yield from _due_in(queues)
    if due_in is None or due_in <= _NOW:  # if it is due but not handed out, moving the clock does not help
        return False
    clock.advance(due_in)
    still = yield from _due_in(queues)
    if still is not None and still > _NOW:
        raise ConfigurationError("these queues have another clock: pass the one given to connect(…, clock=…)")
    return True


def _due_in(queues: Iterable[Any]) -> Plan[timedelta | None]:
    """Return how long until the next message is due; None if there is none."""
    waits = []
    for queue in queues:
        wait = yield _DueIn(queue)
        if wait is not None:
            waits.append(wait)
    return min(waits, default=None)


def _carry_out(step: _Reserve | _Call | _Settle | _DueIn) -> Any:
    match step:
        case _Reserve(queue=queue):
            return queue.reserve()
        case _Call(handler=handler, attempt=attempt):
            return _called(handler, attempt)
        case _Settle(queue=queue, reservation=reservation, settlement=settlement):
            return queue.settle([(reservation, settlement)])
        case _DueIn(queue=queue):
            return queue.database.run(lambda: queue.database.store.messages.next_due([queue.name], _NOW, queue.only))


async def _acarry_out(step: _Reserve | _Call | _Settle | _DueIn) -> Any:
    if isinstance(step, _Call):
        return await _acalled(step.handler, step.attempt)
    return await _carry_out(step)


def _called(handler: Callable[[Message], Any], attempt: Attempt) -> Any:
    before = CURRENT.set(attempt)
    try:
        return handler(attempt.message)
    except (Exception, SystemExit) as error:  # any exception of a handler is a failed attempt
        return error
    finally:
        CURRENT.reset(before)


async def _acalled(handler: Callable[[Message], Any], attempt: Attempt) -> Any:
    before = CURRENT.set(attempt)
    try:
        returned = handler(attempt.message)
        return await returned if isawaitable(returned) else returned
    except (Exception, SystemExit) as error:  # any exception of a handler is a failed attempt
        return error
    finally:
        CURRENT.reset(before)


def _checked(handlers: Any, face: type) -> dict[Any, Any]:
    """Return the handler of each queue, and for tasks also of the queues that gather the outcomes of batches."""
    if isinstance(handlers, Tasks | aio.Tasks):
        handlers = handlers.handlers()
    if not isinstance(handlers, Mapping):
        raise ConfigurationError(
            f"drain takes a handler for each queue: write {{queue: handler}}, not {shown(handlers)}"
        )
    for queue, handler in handlers.items():
        if not isinstance(queue, face):
            raise ConfigurationError(f"drain takes queues of duerow and adrain those of duerow.aio, not {shown(queue)}")
        if not callable(handler):
            raise ConfigurationError(f"the handler of {queue!r} is {shown(handler)}, which cannot be called")
        check_handler(handler, "message")
    all_of_them, names = dict(handlers), {queue.name for queue in handlers}
    for host in filter(None, map(_host, handlers.values())):
        more = [queue for queue in host.gathering() if queue.name not in names]
        all_of_them.update(dict.fromkeys(more, host.run))
        names.update(queue.name for queue in more)
    return all_of_them


def _host(handler: object) -> Any:
    """Return the tasks that a handler runs; None if it runs none."""
    host = getattr(handler, "__self__", None)
    return host if isinstance(host, Tasks | aio.Tasks) and handler == host.run else None
