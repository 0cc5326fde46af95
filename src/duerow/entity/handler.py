"""How a worker handles rows instead of messages: which rows are still its own, and how their turns end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from duerow.errors import ConfigurationError, shown
from duerow.message import Message
from duerow.settlement import LEFT, Release, Rollback
from duerow.signatures import check_call
from duerow.worker.attempt import current


def check_on_done(on_done: Any) -> Any:
    """Return `on_done`, the choice of what happens to rows that are done; raise ConfigurationError if it is invalid."""
    if callable(on_done):
        check_call("on_done", on_done, "row", "session")
        return on_done
    if on_done in ("keep", "delete"):
        return on_done
    raise ConfigurationError(f"on_done must be 'keep', 'delete' or a function of (row, session), not {shown(on_done)}")


def check_worker(queue: str, processes: int | None, lacks_permits: bool) -> None:
    """Raise ConfigurationError if a worker cannot work on rows with these options."""
    if processes is not None:
        raise ConfigurationError(
            f"processes= cannot be used with {queue}: a row and its session cannot be handed to another "
            "process; run several workers, each in its own process"
        )
    if lacks_permits:
        raise ConfigurationError(
            f"singleton and cluster_concurrency need a place for their permits, and {queue} has no table for them; "
            "give it duerow's own: EntityQueue(…, permits=duerow.connect(engine, migrate=True))"
        )


def is_ours(entity: Any, key: str, message: Message) -> bool:
    """Return whether a row exists and its state, the attribute `key`, still belongs to this turn."""
    if entity is None:
        return False
    state = getattr(entity, key)
    return bool(state.token == message.token and state.due_at is not None and state.due_at == state.leased_until)


def check_attempt(message: Message) -> None:
    """Raise the error that ended the handler's attempt, if it is over; then the handler's writes must not be kept."""
    attempt = current(message)
    if attempt is not None:
        attempt.check()


def fails(outcome: object) -> bool:
    """Return whether to undo what the handler did in its session."""
    return isinstance(outcome, BaseException | Rollback | Release)


def conclude(messages: Sequence[Message], rows: Mapping[Any, Any], outcome: Any, left: Collection[Any]) -> Any:
    """Return the outcome of a batch for all of its messages, given the outcome for the rows that the handler received.

    Args:
        messages: the whole batch.
        rows: the rows that the handler received, by the ids of their messages, in order.
        outcome: what the handler returned.
        left: the ids of the rows that stay as the handler has left them.
    """
    if len(rows) == len(messages) and not left:
        return outcome
    if isinstance(outcome, list | tuple) and len(outcome) != len(rows):
        return outcome  # the worker reports what is wrong with it
    each = outcome if isinstance(outcome, list | tuple) else [outcome] * len(rows)
    ended = {id: LEFT if id in left else one for id, one in zip(rows, each, strict=True)}
    return [ended.get(message.id, LEFT) for message in messages]
