"""Messages that wait in an SQLAlchemy session until it commits, and are pushed in its transaction.

with Session(engine) as session:
    session.add(order)
    push_at_commit(session, mail, lambda: {"order": order.id}, key=…)   # its id is known by then
    push_at_commit(session, confirm, lambda: {"order": order.id})       # a task, with its arguments by name
    session.commit()                                                    # one push for all messages of a queue
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_session
from sqlalchemy.orm import Session, SessionTransaction, scoped_session
from sqlalchemy.util import await_only

from duerow.aio.queue import Queue as AwaitedQueue
from duerow.aio.task import TaskPusher as AwaitedTask
from duerow.errors import ConfigurationError, shown
from duerow.message import Draft
from duerow.sync.queue import Queue
from duerow.sync.task import TaskPusher

AWAITED: Final = (AwaitedQueue, AwaitedTask)
BLOCKING: Final = (Queue, TaskPusher)
TASKS: Final = (TaskPusher, AwaitedTask)

WAITING: Final = "duerow_waiting"
"""The key in a session's `info` under which it keeps the waiting messages."""


@dataclass(frozen=True)
class _Waiting:
    """A message that waits, its target, and the savepoint in which it was requested."""

    target: Any
    draft: Callable[[], Draft[Any]]
    savepoint: SessionTransaction | None


def push_at_commit(session: Any, target: Any, payload: Any, **fields: Any) -> None:
    """Push a message when a session commits, in its transaction, after its changes were flushed.

    If a transaction or a savepoint is rolled back, its messages are dropped. All messages of a queue are pushed
    together, in the order of the calls.

    Args:
        session: a `Session` or an `AsyncSession`, or a scoped one such as Flask-SQLAlchemy's.
        target: a queue of the same API (blocking or async), in the same database; or a task, whose function is called
            later.
        payload: the payload, or a function without arguments that returns it, called at commit. For a task, the
            arguments by name.
        fields: other fields of the message, as `duerow.Draft` takes them: `key`, `due`, `delay`, `headers`, …

    Raises:
        ConfigurationError: it is not a session, the queue or task belongs to the other API, or the task's function does
            not take these arguments.
        CodecError: an argument of a task is not of its type.
    """
    if isinstance(session, scoped_session | async_scoped_session):
        session = session()
    blocking = session.sync_session if isinstance(session, AsyncSession) else session
    if not isinstance(blocking, Session):
        raise ConfigurationError(f"push_at_commit takes an SQLAlchemy session, not {shown(session)}")
    # Extensions of frameworks declare queues before there is a database.
    opened = target if isinstance(target, TASKS) else getattr(target, "opened", target)
    if not isinstance(opened, BLOCKING if blocking is session else AWAITED):
        face = "duerow" if blocking is session else "duerow.aio"
        raise ConfigurationError(
            f"with {type(session).__name__} the queue or task must belong to {face}, not {shown(target)}"
        )
    Draft(None, **fields)  # raises an error for an unknown argument
    draft = _draft_of_task(opened, payload, fields) if isinstance(opened, TASKS) else _draft(payload, fields)
    waiting = blocking.info.get(WAITING)
    if waiting is None:
        waiting = blocking.info[WAITING] = []
        event.listen(blocking, "before_commit", _push)
        event.listen(blocking, "after_soft_rollback", _drop)
        event.listen(blocking, "after_transaction_end", _end)
    waiting.append(_Waiting(opened, draft, blocking.get_nested_transaction()))
    if not blocking.in_transaction():
        blocking.begin()  # otherwise a commit would find nothing to do, and trigger no event


def _draft(payload: Any, fields: Mapping[str, Any]) -> Callable[[], Draft[Any]]:
    """Return a function that makes the message of a queue at commit."""
    return lambda: Draft(payload() if callable(payload) else payload, **fields)


def _draft_of_task(task: Any, arguments: Any, fields: Mapping[str, Any]) -> Callable[[], Draft[Any]]:
    """Return a function that makes the call to a task at commit; arguments that are known are checked now."""
    pusher = task.options(**fields)
    if callable(arguments):
        return lambda: _call(pusher, arguments())
    call = _call(pusher, arguments)
    return lambda: call


def _call(pusher: Any, arguments: Any) -> Draft[Any]:
    if not isinstance(arguments, Mapping):
        raise ConfigurationError(f"push_at_commit takes the arguments of a task by name, not {shown(arguments)}")
    draft: Draft[Any] = pusher.draft(**arguments)
    return draft


def _push(session: Session) -> None:
    """Push the waiting messages before a session commits, but not when only a savepoint ends."""
    waiting: list[_Waiting] = session.info[WAITING]
    if not waiting or session.in_nested_transaction():
        return
    session.flush()
    while waiting:  # a payload may ask for further messages
        by_target: dict[Any, list[Draft[Any]]] = {}
        ready = list(waiting)
        waiting.clear()
        for one in ready:
            by_target.setdefault(one.target, []).append(one.draft())
        for target, drafts in by_target.items():
            within = async_session(session) if isinstance(target, AWAITED) else session
            pushed: Any
            if isinstance(target, TASKS):
                pushed = target.within(within).push_many(drafts)
            else:
                pushed = target.push_many(drafts, within=within)
            if isinstance(target, AWAITED):
                await_only(pushed)


def _drop(session: Session, ended: SessionTransaction) -> None:
    """Forget what was requested in a transaction, or in a savepoint and those inside it, that was rolled back."""
    waiting: list[_Waiting] = session.info[WAITING]
    waiting[:] = [one for one in waiting if ended.nested and not _is_in(one.savepoint, ended)]


def _end(session: Session, ended: SessionTransaction) -> None:
    """Forget what is still waiting when a session's transaction ends."""
    if ended.parent is None:
        session.info[WAITING].clear()


def _is_in(savepoint: SessionTransaction | None, ended: SessionTransaction) -> bool:
    while savepoint is not None:
        if savepoint is ended:
            return True
        savepoint = savepoint.parent
    return False
