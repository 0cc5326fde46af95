# Generated from ../aio/worker.py by tools/generate_sync.py; edit that file instead.
"""A worker whose handlers run in threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from duerow.errors import ConfigurationError
from duerow.payload.encoding import is_quiet
from duerow.retry import RetryFunction, RetryPolicy
from duerow.sync.face import AWAITED, NOT_A_QUEUE
from duerow.sync.processes import ProcessBatchHandlers, Processes, ProcessHandlers
from duerow.sync.queue import Queue
from duerow.sync.several_queues import SeveralQueues
from duerow.sync.transactions import TransactionalHandlers
from duerow.sync.worker_batches import BatchHandlers
from duerow.sync.worker_threads import Handlers
from duerow.worker.budget import Rate, budget_of, check_rate
from duerow.worker.child_process import pickled
from duerow.worker.health import Health, health_of
from duerow.worker.middleware import Middleware, around
from duerow.worker.run import (
    GRACE,
    Options,
    Run,
    Until,
    check_async,
    check_handler,
    claimed_at_once,
    given_to,
    handlers_at_once,
    new_name,
)
from duerow.worker.several_queues import Entities, as_queues, dispatching, handlers_of
from duerow.worker.signals import signals_of_thread, stopped_by


class Worker:
    """Hands the messages of a queue to a function, in threads, and settles them according to its outcome.

    Args:
        queue: where the messages come from; several queues of one database share the worker fairly. Or one
            `EntityQueue`, whose handler is called as `handler(row, session)`; see `duerow.entity`.
        handler: called with each `Message`. Its return value is ignored, unless it is a settlement
            (`Commit`, `Move`, `Rollback`, `Bury`, `Release`, `Retry`) or a list of `Move`s. An exception is a failed
            attempt. For several queues it may be a mapping from each queue to its handler.
        whole_batch: the handler gets lists of up to `batch` messages. It returns None (all are done) or a list with one
            entry per message: None, a settlement, a list of `Move`s or an exception. If it raises an exception, that
            counts as a failed attempt at every message.
        transactional: the handler is called as `handler(message, connection)`. Its writes on the connection (an
            SQLAlchemy `Connection`) and the settlement are one transaction, so both happen once or not at all. A
            failed attempt leaves nothing behind. On SQLite one such handler runs at a time.
        middleware: functions wrapped around each call to the handler, the first outermost: `f(message, call_next)`
            returns the outcome, which it gets from `call_next(message)`. For whole batches, `f` gets the list of
            messages.
        batch: the maximum number of messages in one claim and in one settlement (which takes 1,000 at most). With 1,
            each message has its own claim and settlement, one after the other, and none is claimed in advance. Default:
            100, or `concurrency` if that is more, up to 1,000; with `whole_batch` 100.
        concurrency: how many handlers run at once, each in its own thread.
        processes: run the handler in this many child processes, one message (or batch) at a time in each: for CPU-bound
            work. The handler is a plain function at the top level of a module that the processes import. A timeout
            kills the process; if a process dies, the attempt fails (`HandlerDied`).
        rate: the maximum number of messages that this worker handles in any span of time, and the length of that span,
            such as `(100, timedelta(minutes=1))`; the worker then claims nothing in advance. Default: no limit.
        singleton: only one worker of these queues with this setting is active at a time, in the whole cluster; when it
            ends, the next one takes over within a second, or, if it died, once its lease has ended.
        cluster_concurrency: how many handlers run at once in all workers with this setting; give each the same number.
            This worker runs up to `concurrency` of them.
        retry: the delays between attempts, and how many attempts are allowed; default: the queue's policy.
        lease: how long a claim lasts, extended with each heartbeat while a handler runs; default: the queue's lease.
        heartbeat: the interval at which leases are extended: at most, and by default, a third of the lease. If a
            message is removed, changed or taken over, its handler learns of it by the next heartbeat.
        timeout: how long a handler may take for one message; after that, the attempt fails with `TimedOut`, and
            the handler is notified (`duerow.current()`); another thread takes its place. Default: no limit.
        poll: the longest sleep on an idle queue; default: 5 s where pushes wake the worker, otherwise 1 s.
        grace: how long running handlers may continue after the worker is stopped;
            then their messages are due again.
        name: this worker's part of `leased_by`; default: a random name.

    Raises:
        ConfigurationError: the handler is an async function, or a setting is out of bounds (InvalidMessage: a span).
        NotSupported: `transactional`, on a store that cannot join your transaction.
    """

    def __init__(
        self,
        queue: Queue | Sequence[Queue] | Entities,
        handler: Callable[..., Any] | Mapping[Queue, Callable[..., Any]],
        *,
        whole_batch: bool = False,
        transactional: bool = False,
        middleware: Sequence[Middleware] = (),
        batch: int | None = None,
        concurrency: int = 1,
        processes: int | None = None,
        rate: Rate | None = None,
        singleton: bool = False,
        cluster_concurrency: int | None = None,
        retry: RetryPolicy | RetryFunction | None = None,
        lease: timedelta | None = None,
        heartbeat: timedelta | None = None,
        timeout: timedelta | None = None,
        poll: timedelta | None = None,
        grace: timedelta = GRACE,
        name: str | None = None,
    ) -> None:
        self._entities = entities = queue if isinstance(queue, Entities) else None
        queues = as_queues(queue if entities is None else entities.worker_queue, Queue, NOT_A_QUEUE)
        handlers = handlers_of(handler, queues)
        given = given_to(entities is not None, whole_batch, transactional)
        for one in handlers.values():
            check_handler(one, *given)
            check_async(one, processes, AWAITED)
        innermost = dispatching(handlers)
        if entities is not None:
            by_permit = singleton is True or cluster_concurrency is not None
            innermost = entities.handling(innermost, whole_batch, transactional, by_permit, processes)
        self._processes = None if processes is None else Processes(pickled(innermost))
        self._handler = around(self._processes or innermost, middleware, AWAITED)
        handles = [one.with_overrides(lease, retry) for one in queues]
        self._queue = handles[0] if len(handles) == 1 else SeveralQueues(handles, mixed=not whole_batch)
        self._retries = {one.name: one.retry for one in handles} if len(handles) > 1 else None
        at_once = handlers_at_once(concurrency, processes, transactional, self._queue.database.store.capabilities)
        self._options = Options(
            batch=claimed_at_once(batch, at_once, whole_batch),
            concurrency=at_once,
            lease=min(one.lease for one in handles),
            heartbeat=heartbeat,
            retry=handles[0].retry,
            timeout=timeout,
            poll=poll,
            grace=grace,
            name=new_name() if name is None else name,
            whole_batch=whole_batch,
            transactional=transactional,
            rate=check_rate(rate),
            budget=budget_of(check_rate(rate)),
            singleton=singleton,
            cluster_concurrency=cluster_concurrency,
            elastic=not transactional or self._queue.database.store.capabilities.parallel_writes,
        )
        self._handlers: Handlers | None = None
        self._run: Run | None = None
        self._stops: deque[None] = deque()
        self._running = threading.Lock()

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Work until SIGTERM or SIGINT, or until `stop` is called.

        The first signal stops the worker: it claims no more messages, gives back those that were not started, and lets
        running handlers finish within the grace period.
        After a second signal it does not wait for them.

        Args:
            until: "idle" returns when nothing is due and no message is being handled; "empty" returns when no message
                with a due time is left, so it waits for delayed messages and for those that other workers have
                reserved.
            signals: whether to handle SIGTERM and SIGINT during the call. Several workers share them.
                Default: only in the main thread, which receives them.

        Raises:
            ConfigurationError: this worker is already running, `until` is not one of the values above, or `signals` is
                True and this is not the main thread.
            DuerowError: an error that retrying does not fix, such as missing tables; messages that were claimed but not
                started have been given back.
        """
        taken = signals_of_thread(signals)
        database = self._queue.database
        quiet = is_quiet(database.encryption)
        in_one_go = isinstance(self._queue, Queue) and self._queue._in_one_go is not None
        run = Run(self._queue.name, self._options, until, self._retries, database.metrics, quiet, in_one_go)
        if not self._running.acquire(blocking=False):
            raise ConfigurationError("this worker is already running; make another worker for the same queue")
        try:
            if self._entities is not None:
                self._entities.settle_in()
            self._run = run
            self._handlers = handlers = self._handlers_of(run)
            self._pass_stops_on()
            with stopped_by(taken, self.stop):
                handlers.work()
        finally:
            self._handlers = self._run = None
            self._running.release()

    def _handlers_of(self, run: Run) -> Handlers:
        options, parts = self._options, (run, self._queue, self._handler)
        if self._processes is not None:
            return (ProcessBatchHandlers if options.whole_batch else ProcessHandlers)(*parts, processes=self._processes)
        return (BatchHandlers if options.whole_batch else TransactionalHandlers if options.transactional else Handlers)(
            *parts
        )

    @property
    def queue(self) -> Queue | SeveralQueues:
        """The worker's own handle to its queue, or to all of its queues."""
        return self._queue

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages it skips because it does not know their kinds, by queue and kind, as of its last check."""
        return self._queue.unknown

    @property
    def health(self) -> Health:
        """Whether it is alive and ready to work, for probes."""
        return health_of(self._run)

    def stop(self) -> None:
        """Ask the worker to stop, and return at once; after a second call it does not wait for running handlers.

        Call it from any thread or handler. A worker that is not running yet will return as soon as it is run.
        """
        # Nothing here may wait for a lock: a signal may have interrupted its holder.
        self._stops.append(None)
        self._pass_stops_on()

    def _pass_stops_on(self) -> None:
        """Stop the handlers as often as `stop` was called; if there are none yet, `run` does it."""
        handlers = self._handlers
        while handlers is not None and self._stops:
            try:
                self._stops.pop()
            except IndexError:  # another thread was faster
                return
            handlers.stop()
