"""Messages that wait in an SQLAlchemy session until it commits, and are pushed in its transaction.

with Session(engine) as session:
    session.add(order)
    push_at_commit(session, mail, lambda: {"order": order.id}, key=…)   # its id is known by then
    session.commit()                                                    # one push for all messages of a queue
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_session
from sqlalchemy.orm import Session, SessionTransaction, scoped_session
from sqlalchemy.util import await_only

from duerow.aio.queue import Queue as AwaitedQueue
from duerow.errors import ConfigurationError, shown
from duerow.message import Draft
from duerow.sync.queue import Queue

WAITING: Final = "duerow_waiting"
"""Where a session keeps the messages that wait, in its `info`."""


@dataclass(frozen=True)
class _Waiting:
    """A message that waits, and the savepoint in which it was asked for."""

    queue: Any
    payload: Any
    fields: dict[str, Any]
    savepoint: SessionTransaction | None

    def draft(self) -> Draft[Any]:
        payload = self.payload() if callable(self.payload) else self.payload
        return Draft(payload, **self.fields)


def push_at_commit(session: Any, queue: Any, payload: Any, **fields: Any) -> None:
    """Push a message when a session commits, in its transaction, after its changes were flushed.

    If a transaction or a savepoint is rolled back, its messages are dropped. All messages of a queue are pushed
    together, in the order of the calls.

    Args:
        session: a `Session` or an `AsyncSession`, or a scoped one such as Flask-SQLAlchemy's.
        queue: a queue of the same API (blocking or async), in the same database.
        payload: the payload, or a function without arguments that returns it, called at the commit.
        fields: other fields of the message, as `duerow.Draft` takes them: `key`, `due`, `delay`, `headers`, …

    Raises:
        ConfigurationError: it is not a session, or the queue belongs to the other API.
    """
    if isinstance(session, scoped_session | async_scoped_session):
        session = session()
    blocking = session.sync_session if isinstance(session, AsyncSession) else session
    if not isinstance(blocking, Session):
        raise ConfigurationError(f"push_at_commit takes an SQLAlchemy session, not {shown(session)}")
    opened = getattr(queue, "opened", queue)  # of an extension, which declares queues before there is a database
    wanted: type[Any] = Queue if blocking is session else AwaitedQueue
    if not isinstance(opened, wanted):
        face = "duerow" if wanted is Queue else "duerow.aio"
        raise ConfigurationError(f"with {type(session).__name__} the queue must belong to {face}, not {shown(queue)}")
    Draft(None, **fields)  # an argument that there is not is noticed here
    waiting = blocking.info.get(WAITING)
    if waiting is None:
        waiting = blocking.info[WAITING] = []
        event.listen(blocking, "before_commit", _push)
        event.listen(blocking, "after_soft_rollback", _drop)
        event.listen(blocking, "after_transaction_end", _end)
    waiting.append(_Waiting(opened, payload, fields, blocking.get_nested_transaction()))
    if not blocking.in_transaction():
        blocking.begin()  # else a commit would find nothing to do, and tell nobody


def _push(session: Session) -> None:
    """Push what waits, before a session commits; not when only a savepoint ends."""
    waiting: list[_Waiting] = session.info[WAITING]
    if not waiting or session.in_nested_transaction():
        return
    session.flush()
    while waiting:  # a payload may ask for further messages
        by_queue: dict[Any, list[Draft[Any]]] = {}
        ready = list(waiting)
        waiting.clear()
        for one in ready:
            by_queue.setdefault(one.queue, []).append(one.draft())
        for queue, drafts in by_queue.items():
            pushed = queue.push_many(drafts, within=_within(queue, session))
            if isinstance(queue, AwaitedQueue):
                await_only(pushed)


def _within(queue: Any, session: Session) -> Any:
    """Return the session as the queue's face takes it."""
    return async_session(session) if isinstance(queue, AwaitedQueue) else session


def _drop(session: Session, ended: SessionTransaction) -> None:
    """Forget what was asked for in a transaction, or in a savepoint and those inside of it, that was rolled back."""
    waiting: list[_Waiting] = session.info[WAITING]
    waiting[:] = [one for one in waiting if ended.nested and not _is_in(one.savepoint, ended)]


def _end(session: Session, ended: SessionTransaction) -> None:
    """Forget what a session was closed with."""
    if ended.parent is None:
        session.info[WAITING].clear()


def _is_in(savepoint: SessionTransaction | None, ended: SessionTransaction) -> bool:
    while savepoint is not None:
        if savepoint is ended:
            return True
        savepoint = savepoint.parent
    return False
