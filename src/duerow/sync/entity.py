# Generated from ../aio/entity.py by tools/generate_sync.py; edit that file instead.
"""A queue whose messages are rows of a user's own table: `EntityQueue(SmsMessage.sending, engine)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Mapped

from duerow.clock import Clock
from duerow.entity.handler import check_worker
from duerow.entity.state import QueueState
from duerow.queue.limits import RunLimits
from duerow.retry import RetryFunction, RetryPolicy
from duerow.store import READ_TIMEOUT
from duerow.sync.database import Database
from duerow.sync.entity_edits import EntityEdits
from duerow.sync.entity_handler import RowBatchHandler, RowHandler, TransactionalRowHandler
from duerow.sync.entity_rows import E, is_left
from duerow.sync.entity_worker_queue import EntityTurns, EntityWorkerQueue
from duerow.sync.orm import Engine, OnDone, Session
from duerow.sync.reservation import Reservation
from duerow.sync.sessions import engine_here
from duerow.sync.settlements import Settlements
from duerow.worker.budget import Rate


class EntityQueue(EntityEdits[E], Settlements[Any]):
    """The rows of a table as a queue, by one of their queue states; its methods work like those of `duerow.Queue`.

    It needs no table of its own, so there is nothing to create or close. A reservation's message has its row's primary
    key as `id` (a tuple if the key has several columns), and no payload: `load` returns the row.

    Args:
        state: the state, as in `SmsMessage.sending`.
        engine: your engine.
        lease: how long a reservation lasts unless it is extended.
        retry: the delays between attempts, and how many attempts are allowed; default: at most 20 attempts, with delays
            doubling from 1 s up to 1 h.
        on_done: what to do with a row that is done: "keep" leaves it with the status `done`, "delete" deletes it, and
            a function is called with it and a session, in the transaction that marks it as done.
        permits: a duerow database in which workers with `singleton` or `cluster_concurrency` keep their permits, and
            `limit` keeps its limits.
        clock: replaces the database's clock, for tests.
        read_timeout: how long `find`, `count` or `stats` may take before it raises QueryTimeout; None: no limit.

    Attributes:
        model: the class of its rows.
        name: the table and the state, as in `sms_message.sending`.

    Raises:
        ConfigurationError: `state` is not a queue state of a model with its own table, `engine` is of the wrong kind
            (sync or async), or another argument is invalid (InvalidMessage: the lease).
    """

    def __init__(
        self,
        state: Mapped[QueueState],
        engine: Engine,
        *,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        on_done: OnDone = "keep",
        permits: Database | None = None,
        clock: Clock | None = None,
        read_timeout: timedelta | None = READ_TIMEOUT,
    ) -> None:
        super().__init__(state, engine, retry, on_done, clock, read_timeout)
        self.worker_queue = EntityWorkerQueue(self, self._database, lease, self.retry, permits)

    @property
    def lease(self) -> timedelta:
        """How long a reservation lasts unless it is extended."""
        return self.worker_queue.lease

    @property
    def _turns(self) -> EntityTurns:
        return self.worker_queue._turns

    def reserve(self, *, lease: timedelta | None = None) -> Reservation | None:
        """Reserve the next due row for this consumer until now + lease; None when nothing is due."""
        return self.worker_queue.reserve(lease=lease)

    def reserve_many(
        self, n: int, *, lease: timedelta | None = None, consumer: str | None = None, exact: bool = True
    ) -> list[Reservation]:
        """Reserve up to n due rows, oldest first; no row goes to two consumers. See Queue.reserve_many."""
        return self.worker_queue.reserve_many(n, lease=lease, consumer=consumer, exact=exact)

    @contextmanager
    def reserving(self, *, lease: timedelta | None = None) -> Iterator[tuple[E, Session] | None]:
        """Reserve the next due row for the duration of a block: `with queue.reserving() as lent:`.

        Yields the row and its session, or None when nothing is due. When the block ends normally, the session is
        committed and then the turn. An exception rolls the turn back according to the queue's policy and is raised
        again (`Retry` and `Bury` end the turn accordingly and are not raised again).
        """
        reservation = self.reserve(lease=lease)
        if reservation is None:
            yield None
            return
        try:
            with self.session() as session:
                entity = self.load(session, reservation)
                if entity is None:
                    yield None
                    return
                yield entity, session
                session.commit()
                if is_left(self, entity, session, reservation.message):
                    return
        except BaseException as error:
            if not self._turns.end_by(reservation, error):
                raise
        else:
            self.commit(reservation)

    # Workers.

    @property
    def keeps_limits(self) -> bool:
        """Whether `limit` has a place to keep limits, that is, whether the queue was created with `permits`."""
        return self.worker_queue.permits is not None

    def limits(self) -> RunLimits:
        """Return the limits that `limit` has set for the queue's workers."""
        return self.worker_queue.limits()

    def limit(
        self,
        *,
        concurrency: int | None = None,
        cluster_concurrency: int | None = None,
        rate: Rate | None = None,
    ) -> RunLimits:
        """Limit what workers of this queue do, including running ones; see Queue.limit.

        Raises:
            ConfigurationError: a limit is out of bounds (InvalidMessage: the span of the rate), or the queue was
                created without `permits`, the database that keeps the limits.
        """
        return self.worker_queue.limit(concurrency=concurrency, cluster_concurrency=cluster_concurrency, rate=rate)

    def settle_in(self) -> None:
        """Bind the engine to the running loop; work in other loops uses an engine with the same settings."""
        engine_here(self._database.connections)

    def handling(
        self,
        handler: Callable[..., Any],
        whole_batch: bool,
        transactional: bool,
        by_permit: bool,
        processes: int | None,
    ) -> Callable[..., Any]:
        """Return the message handler that calls a row handler; for `Worker`."""
        check_worker(self.name, processes, by_permit and self.worker_queue.permits is None)
        kind = RowBatchHandler if whole_batch else TransactionalRowHandler if transactional else RowHandler
        return kind(self, handler)
