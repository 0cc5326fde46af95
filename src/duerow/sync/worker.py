"""A worker whose handlers are plain functions in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, Final

from duerow.errors import ConfigurationError
from duerow.payload.encoding import is_quiet
from duerow.retry import RetryFunction, RetryPolicy
from duerow.sync.processes import ProcessBatchCrew, ProcessCrew, Processes
from duerow.sync.queue import Queue
from duerow.sync.several_queues import SeveralQueues
from duerow.sync.transactions import TransactionalCrew
from duerow.sync.worker_batches import BatchCrew
from duerow.sync.worker_threads import Crew, Events
from duerow.worker.budget import Rate, budget_of, check_rate
from duerow.worker.child_process import pickled
from duerow.worker.middleware import Middleware, around
from duerow.worker.run import GRACE, Options, Run, Until, check_handler, given_to, handlers_at_once, is_async, new_name
from duerow.worker.several_queues import Entities, as_queues, dispatching, handlers_of
from duerow.worker.signals import signals_of_thread, stopped_by
from duerow.worker.supervisor import Stop


class Worker:
    """Hands the messages of a queue to a function, in threads, and settles them as it says.

    Args:
        queue: where the messages come from; several of one database share the worker fairly. Or one `EntityQueue`, of
            which the handler is called as `handler(row, session)`; see `duerow.entity`.
        handler: called with each `Message`. What it returns is ignored, unless it is a settlement (`Commit`, `Move`,
            `Rollback`, `Bury`, `Release`, `Retry`) or a list of `Move`s. An exception is a failed attempt.
            For several queues it may be a mapping of each queue to its handler.
        whole_batch: the handler is given lists of up to `batch` messages. It returns None (all are done) or a list
            with one entry for each: None, a settlement, a list of `Move`s or an exception. An exception that it
            raises is a failed attempt of each.
        transactional: the handler is called as `handler(message, connection)`. What it writes on the connection (an
            SQLAlchemy `Connection`) and the settlement are one transaction, so both happen once or not at all. An
            attempt that fails leaves nothing behind. On SQLite one such handler runs at a time.
        middleware: functions around each call of the handler, the first outermost: `f(message, call_next)` returns
            the outcome, which it has from `call_next(message)`. For whole batches it is given the list.
        batch: most messages in one claim and in one settlement; 1: each message has its own claim and settlement,
            one after the other, and none is claimed ahead.
        concurrency: handlers that run at once, each in its own thread.
        processes: run the handler in so many child processes, one message (or batch) at a time in each, instead of in
            threads: for work that keeps a processor busy. The handler is a plain function at the top of a module that
            they import. A timeout kills the process; one that dies is a failed attempt (`HandlerDied`).
        rate: at most so many messages in any span of this length, `(100, timedelta(minutes=1))`, by this worker; none
            is claimed ahead then. Default: as many as there are.
        singleton: only one worker of these queues that says so is active at a time, in the whole cluster; when it ends
            the next takes over within a second, or, if it died, when its lease has ended.
        cluster_concurrency: handlers that run at once in all workers that say so, the same number in each; this worker
            runs up to `concurrency` of them.
        retry: the delays between attempts, and their limit; default: the queue's.
        lease: how long a claim lasts; extended with each heartbeat for as long as a handler runs; default: the queue's.
        heartbeat: how often leases are extended, at most a third of the lease, which is the default. A handler is told
            at the next heartbeat at the latest when its message is no longer its own: removed, changed or taken over.
        timeout: how long a handler may take for one message; then the attempt fails with `TimedOut`, the handler is
            told (`duerow.current()`), and another thread takes its place. Default: as long as it likes.
        poll: longest sleep on an idle queue; default: 5 s where pushes wake the worker, else 1 s.
        grace: how long running handlers have when the worker is stopped; what they work on is due again after that.
        name: this worker's part of what `leased_by` says; default: a random one.

    Raises:
        ConfigurationError: the handler is an async function, or a setting is out of bounds (InvalidMessage: a span).
        NotSupported: `transactional`, on a store that cannot join a transaction of yours.
    """

    def __init__(
        self,
        queue: Queue | Sequence[Queue] | Entities,
        handler: Callable[..., Any] | Mapping[Queue, Callable[..., Any]],
        *,
        whole_batch: bool = False,
        transactional: bool = False,
        middleware: Sequence[Middleware] = (),
        batch: int = 100,
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
        entities = queue if isinstance(queue, Entities) else None
        queues = as_queues(queue if entities is None else entities.line, Queue, _ELSEWHERE)
        handlers = handlers_of(handler, queues)
        given = given_to(entities is not None, whole_batch, transactional)
        for one in handlers.values():
            _check(one, given)
        innermost = dispatching(handlers)
        if entities is not None:
            by_permit = singleton is True or cluster_concurrency is not None
            innermost = entities.handling(innermost, whole_batch, transactional, by_permit, processes)
        self._processes = None if processes is None else Processes(pickled(innermost))
        self._handler = around(self._processes or innermost, middleware, awaited=False)
        handles = [one.on_terms(lease, retry) for one in queues]
        self._queue = handles[0] if len(handles) == 1 else SeveralQueues(handles, mixed=not whole_batch)
        self._retries = {one.name: one.retry for one in handles} if len(handles) > 1 else None
        self._terms = Options(
            batch=batch,
            concurrency=handlers_at_once(
                concurrency, processes, transactional, self._queue.database.store.capabilities
            ),
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
        )
        self._events: Events = SimpleQueue()
        self._shift: Run | None = None
        self._running = threading.Lock()

    def run(self, until: Until = None, *, signals: bool | None = None) -> None:
        """Work until SIGTERM or SIGINT, or until `stop` is called.

        The first signal stops the worker: it claims nothing more, gives back what was not begun, and lets running
        handlers end within the grace. After a second one they are not waited for.

        Args:
            until: "idle" returns when nothing is due now and nothing in hand; "empty" when no message with a due time
                is left, which waits for delayed ones and for those of other workers.
            signals: whether SIGTERM and SIGINT are taken for the length of the call. Default: if this is the main
                thread, which they come to.

        Raises:
            ConfigurationError: this worker runs already, `until` is none of these, or `signals` is True and this is not
                the main thread.
            DuerowError: something that trying again does not cure, such as missing tables; what was claimed and not
                begun has been given back.
        """
        taken = signals_of_thread(signals)
        database = self._queue.database
        quiet = is_quiet(database.encryption)
        shift = Run(self._queue.name, self._terms, until, self._retries, database.meter, quiet)
        if not self._running.acquire(blocking=False):
            raise ConfigurationError("this worker runs already; make another one of the same queue")
        self._shift = shift
        try:
            with stopped_by(taken, self.stop):
                self._crew(shift).work()
        finally:
            self._shift = None
            self._events = SimpleQueue()
            self._running.release()

    def _crew(self, shift: Run) -> Crew:
        terms, parts = self._terms, (shift, self._queue, self._handler, self._events)
        if self._processes is not None:
            return (ProcessBatchCrew if terms.whole_batch else ProcessCrew)(*parts, processes=self._processes)
        return (BatchCrew if terms.whole_batch else TransactionalCrew if terms.transactional else Crew)(*parts)

    @property
    def queue(self) -> Queue | SeveralQueues:
        """Its own handle of the queue that it works on, or of all of them."""
        return self._queue

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages it leaves since it does not know their kinds, by queue and kind, as of its last look."""
        return self._queue.unknown

    def stop(self) -> None:
        """Ask the worker to stop, and return at once; asked again, it waits for no handler.

        From any thread, handler or signal. A worker that does not run yet will return as soon as it does.
        """
        # Nothing here may wait for a lock: the signal may have interrupted its holder.
        if (shift := self._shift) is not None:
            shift.over = True
        self._events.put(Stop())


_ELSEWHERE: Final = (
    "Worker takes a queue of duerow.connect(…), or a list of such, not {}; one of duerow.aio has its own, "
    "duerow.aio.Worker"
)


def _check(handler: object, given: Sequence[str]) -> None:
    check_handler(handler, *given)
    if is_async(handler):
        raise ConfigurationError(f"{handler!r:.120} is an async function; give it to duerow.aio.Worker")
