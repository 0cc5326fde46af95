"""A call that is run in a trial: the message that it would have, and its state afterward."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from duerow.clock import HostClock
from duerow.errors import InvalidOutcome
from duerow.message import Draft, Message
from duerow.reservation import BareReservation
from duerow.retry import RetryPolicy
from duerow.settlement import Bury, Commit, Release, Rollback, Settlement, decide, failure, mistake
from duerow.tasks.call import TaskCall
from duerow.tasks.definition import TaskDefinition
from duerow.tasks.execution import ends_turn
from duerow.tasks.outcome import TaskState
from duerow.worker.attempt import Attempt

MOST: Final = 1_000
"""The number of attempts after which a call is assumed to ask for another one forever."""

_LEASE: Final = timedelta(minutes=1)


def attempt_at(id: int, task: TaskDefinition, draft: Draft, arguments: Mapping[str, Any], attempts: int) -> Attempt:
    """Return an attempt at a call, as the function gets it from `duerow.current()`."""
    now = HostClock().now()
    message = _message(id, task, draft, TaskCall(task.name, arguments), attempts, now)
    return Attempt(BareReservation(message, now + _LEASE), monotonic(), monotonic())


def decided(message: Message, ended: object, policy: RetryPolicy) -> Settlement | None:
    """Return how the turn of a call ends, as in a worker; None: its function returned a result.

    Raises:
        InvalidOutcome: the function returned something that can only be a mistake.
    """
    if not ends_turn(ended) and (wrong := mistake(ended)) is not None:
        raise InvalidOutcome(f"a task returned {wrong}")
    return decide(message, ended, policy) if ends_turn(ended) else None


def goes_on(turn: Settlement | None) -> bool:
    """Return whether a call is tried again."""
    return isinstance(turn, Rollback | Release)


def state_after(task: TaskDefinition, message: Message, turn: Settlement | None, value: Any) -> TaskState:
    """Return what is known of a call that has ended.

    Args:
        task: its task.
        message: its message, at its last attempt.
        turn: how the function ended it; None: by returning a result.
        value: the result.
    """
    id, attempts, arguments = message.id, message.attempts, message.payload.arguments
    if isinstance(turn, Bury):
        return TaskState(id, "failed", attempts, arguments, error=failure(turn))
    if turn is not None:
        return TaskState(id, "done" if isinstance(turn, Commit) else "unknown", attempts, arguments)
    if task.returned is not None:
        value = task.returned.decode(task.returned.encode(value))
    return TaskState(id, "done", attempts, arguments, value)


def _message(id: int, task: TaskDefinition, draft: Draft, call: TaskCall, attempts: int, now: datetime) -> Message:
    return Message(
        id=id,
        queue=task.queue,
        payload=call,
        kind=task.name,
        key=draft.key,
        headers=dict(draft.headers or {}),
        group=draft.group,
        priority=draft.priority,
        status="new",
        due_at=now,
        first_due_at=now,
        attempts=attempts,
        token=attempts,
        leased_by=None,
        leased_until=None,
        created_at=now,
        last_attempt_at=now,
        last_error=None,
    )
