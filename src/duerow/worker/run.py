"""One run of a worker: its options, what it has in hand, and whether it should stop."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from time import monotonic
from typing import Final, Literal, Protocol

import msgspec

from duerow.clock import HostClock
from duerow.errors import ConfigurationError, InvalidOutcome, NotSupported, shown
from duerow.message import check_span
from duerow.queue.limits import NONE, RunLimits
from duerow.queue.metrics import Metrics
from duerow.queue.poll import poll_interval
from duerow.retry import DEFAULT, RetryPolicy
from duerow.settlement import DONE, Commit, Move, Settlement, decide, mistake
from duerow.signatures import check_call
from duerow.store import Capabilities
from duerow.worker.attempt import Attempt
from duerow.worker.budget import Budget
from duerow.worker.in_flight import Ended, InFlight, Slot
from duerow.worker.log import WorkerLog
from duerow.worker.prefetch import BATCHES_AHEAD, Prefetch
from duerow.worker.stack import Look

Until = Literal["idle", "empty"] | None

GRACE: Final = timedelta(seconds=10)

_UNTIL: Final[tuple[Until, ...]] = (None, "idle", "empty")
_TICK: Final = timedelta(milliseconds=1)


BATCH: Final = 100
"""The maximum number of messages in one claim, unless a worker says otherwise or has more handlers than that."""

MOST_AT_ONCE: Final = 1_000
"""The maximum number of turns in one settlement (a larger batch is settled in parts of this size), and of messages in
one claim, unless a worker asks for more."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a worker works.

    Attributes:
        batch: the maximum number of messages in one claim and in one settlement.
        concurrency: handlers that run at once.
        lease: how long a claim lasts unless it is extended.
        retry: the delays between attempts, and their limit.
        timeout: how long a handler may take for one message; None: no limit.
        poll: the longest sleep on an idle queue; None: 5 s if pushes wake the worker, otherwise 1 s.
        grace: how long running handlers may continue when the worker is stopped.
        name: the worker's part of `leased_by`.
        whole_batch: whether a handler receives many messages at once.
        transactional: whether a handler writes in the transaction that ends its message's turn.
        rate: the maximum number of messages in any span of a given length; None: no limit.
        budget: what is left of the rate, over all runs of a worker.
        singleton: whether only one such worker is active at a time, in the whole cluster.
        cluster_concurrency: handlers that run at once in all workers of these queues; None: no limit.
        heartbeat: the time between extensions of a lease, which also show whether it is lost; None: a third of the
            lease.
        elastic: whether it can run more handlers than `concurrency` if operators say so; False if the transaction of
            one handler locks out all others.
    """

    batch: int
    concurrency: int
    lease: timedelta
    retry: RetryPolicy
    timeout: timedelta | None
    poll: timedelta | None
    grace: timedelta
    name: str
    whole_batch: bool = False
    transactional: bool = False
    rate: tuple[int, timedelta] | None = None
    budget: Budget | None = None
    singleton: bool = False
    cluster_concurrency: int | None = None
    heartbeat: timedelta | None = None
    elastic: bool = False

    def __post_init__(self) -> None:
        check_count("batch", self.batch)
        check_count("concurrency", self.concurrency)
        check_switch("whole_batch", self.whole_batch)
        check_switch("transactional", self.transactional)
        check_switch("singleton", self.singleton)
        if self.cluster_concurrency is not None:
            check_count("cluster_concurrency", self.cluster_concurrency)
            if self.singleton:
                raise ConfigurationError(
                    "singleton allows one active worker, cluster_concurrency a number of handlers in all: give only one"
                )
        if self.whole_batch and self.transactional:
            raise ConfigurationError(
                "whole_batch and transactional cannot be combined: in one transaction no message could fail alone"
            )
        check_span("grace", self.grace)
        if self.timeout is not None:
            check_span("timeout", self.timeout, _TICK)
        if self.poll is not None:
            check_span("poll", self.poll, _TICK)
        if self.heartbeat is not None:
            check_heartbeat(self.heartbeat, self.lease)
        check_name(self.name)

    @property
    def one_by_one(self) -> bool:
        """Whether each message has its own claim and its own settlement."""
        return self.batch == 1 and not self.by_permit

    @property
    def by_permit(self) -> bool:
        """Whether it may work only with a permit of the cluster."""
        return self.singleton or self.cluster_concurrency is not None


class Sleeper(Protocol):
    """Something that sleeps until a push: a worker, or the driver of a run on Spark."""

    gave_up: bool

    @property
    def queues(self) -> Sequence[str]:
        """The queues whose pushes end the sleep."""
        ...

    @property
    def poll(self) -> float:
        """The maximum number of seconds to sleep."""
        ...

    def hears_again(self) -> None:
        """Record that pushes end a sleep from now on."""
        ...

    def hears_no_more(self, error: Exception) -> None:
        """Record that pushes no longer end a sleep."""
        ...


class Run:
    """What the parts of a running worker share.

    Attributes:
        options: its options.
        until: when it ends by itself.
        queues: the names of the queues that it works on.
        width: how many messages a handler receives at once.
        in_flight: what it has claimed.
        slots: where its handlers run.
        over: nothing more may be claimed or started.
        closing: nothing more will be decided: settle what is decided, then end.
        gave_up: its time is up, even if some turns could not be settled.
        hears: whether pushes wake it at the moment.
        compared: whether its handles' declarations were compared with those in the database.
        sleeps_until: when it will next look for messages, on the monotonic clock in seconds; infinite during the last
            look before a sleep, 0 while it is awake.
        metrics: counts what it does, for `stats`.
        looked_after_at: when it last finished a round of maintenance, or began, on the monotonic clock in seconds.
        reaches: whether its database answered then.
        limits: the limits that operators have set for it.
        budget: what is left of the rate in these limits; None: they have no rate.

    Args:
        queue: the queue that it works on, or the joint name of its queues.
        options: its options.
        until: when it ends by itself.
        retries: the retry policy of each queue by its name, if there are several queues.
        metrics: the metrics of its database; None: its own, which nobody reads.
        quiet: whether to keep error texts, which may quote payloads, out of its log.
        in_one_go: whether its queue can settle and reserve in one go.
    """

    def __init__(
        self,
        queue: str,
        options: Options,
        until: Until,
        retries: Mapping[str, RetryPolicy] | None = None,
        metrics: Metrics | None = None,
        quiet: bool = False,
        in_one_go: bool = False,
    ) -> None:
        self._in_one_go = in_one_go and options.one_by_one and options.concurrency == 1 and options.rate is None
        self.queue, self.options, self.until = queue, options, check_until(until)
        self.queues = list(retries) if retries else [queue]
        self._retries = retries
        self.width = options.batch if options.whole_batch else 1
        ahead = BATCHES_AHEAD if options.rate is None and options.cluster_concurrency is None else 0
        prefetch = Prefetch(
            options.batch, options.concurrency * self.width, options.lease.total_seconds(), ahead, self.width
        )
        prefetch.careful = any(self.policy_of(name).limit == 1 for name in self.queues)
        if options.by_permit:
            prefetch.allow(0)
        self.in_flight = InFlight(prefetch)
        self.journal = WorkerLog(queue, options.name, quiet)
        self.metrics = metrics or Metrics(HostClock().now)
        self.slots: set[Slot] = set()
        self.over = self.closing = self.gave_up = False
        self.hears = self._told_deaf = self.compared = False
        self.sleeps_until = 0.0
        self.looked_after_at, self.reaches = monotonic(), True
        self.limits = NONE
        self.budget: Budget | None = None

    @property
    def poll(self) -> float:
        """The maximum number of seconds to sleep."""
        poll = self.options.poll or poll_interval(self.hears)
        return poll.total_seconds()

    def handlers_for(self, permits: int) -> int:
        """Return how many messages handlers may have in hand with this many permits of the cluster."""
        handlers = self.concurrency if self.options.singleton and permits else permits
        return handlers * self.width

    @property
    def concurrency(self) -> int:
        """How many handlers may run at once: as many as it was started with, unless operators say otherwise."""
        wanted = self.limits.concurrency or self.options.concurrency
        return wanted if self.options.elastic else min(self.options.concurrency, wanted)

    @property
    def crowded(self) -> bool:
        """Whether it has more slots than handlers may run at once."""
        return len(self.slots) > self.concurrency

    def leave(self, slot: Slot) -> bool:
        """Drop a slot that has nothing to do if there are too many; return whether it was dropped."""
        if not self.crowded or slot not in self.slots:
            return False
        self.slots.discard(slot)
        return True

    def limit(self, limits: RunLimits) -> bool:
        """Apply the limits that operators have set, and return whether they are new; messages in hand are kept."""
        before, self.limits = self.limits, limits
        if limits == before:
            return False
        if (limits.rate, limits.rate_span) != (before.rate, before.rate_span):
            self.budget = None if limits.rate is None else Budget((limits.rate, limits.rate_span))
        if not self.options.by_permit:  # otherwise it takes fewer permits
            restricted = limits.concurrency is not None or limits.rate is not None
            self.in_flight.prefetch.restrict(self.concurrency * self.width, restricted)
        self.journal.limited(limits)
        return True

    @property
    def settles_and_claims(self) -> bool:
        """Whether a slot that settles a message also claims the next one: if it is the only slot, and may go on."""
        return self._in_one_go and self.limits == NONE and not (self.over or self.in_flight.apart)

    def looks(self, attempt: Attempt) -> Look | None:
        """Return a function that looks at the handler of an attempt; None: it has not begun."""
        for slot in self.slots.copy():
            if attempt in (slot.attempt, *slot.batch) and slot.started <= monotonic():
                return slot.look
        return None

    def policy_of(self, queue: str) -> RetryPolicy:
        """Return the retry policy of a queue."""
        return self._retries[queue] if self._retries else self.options.retry

    def hears_again(self) -> None:
        """Record that pushes wake the worker from now on."""
        self.hears, self._told_deaf = True, False

    def hears_no_more(self, error: Exception) -> None:
        """Record that pushes do not wake the worker; logged once, not at every attempt."""
        if not self._told_deaf:
            self.journal.deaf(error)
        self.hears, self._told_deaf = False, True

    def conclude(self, attempt: Attempt, outcome: object) -> Settlement:
        """Return how a turn ends, as `decide` does; an invalid result of a handler or policy is a failed attempt."""
        if outcome is None and attempt.log is None:
            return DONE
        policy = self.policy_of(attempt.message.queue)
        try:
            settlement = decide(attempt.message, outcome, policy)
        except Exception as error:  # a policy is user code
            self.journal.broken_policy(attempt, error)
            settlement = decide(attempt.message, outcome, DEFAULT)
        if attempt.log is not None and isinstance(settlement, Commit | Move) and settlement.log is None:
            return msgspec.structs.replace(settlement, log=attempt.log)
        return settlement

    def conclude_batch(self, batch: Sequence[Attempt], outcome: object) -> list[Ended]:
        """Return how the turns of a batch end, given what its handler returned or raised.

        With None all are done. A list or tuple has one entry for each message: None, a settlement, a list of moves or
        an exception. An exception is the outcome of every message; any other result is an error for every message.
        """
        if not isinstance(outcome, list | tuple):
            each = outcome if outcome is None or isinstance(outcome, BaseException) else _no_outcomes(batch, outcome)
            return [Ended(attempt, self.conclude(attempt, each)) for attempt in batch]
        if len(outcome) != len(batch):
            each = _no_outcomes(batch, outcome)
            return [Ended(attempt, self.conclude(attempt, each)) for attempt in batch]
        pairs = zip(batch, outcome, strict=True)
        return [Ended(attempt, self.conclude(attempt, _entry(attempt, one))) for attempt, one in pairs]


def _no_outcomes(batch: Sequence[Attempt], outcome: object) -> InvalidOutcome:
    what = f"{len(outcome)} outcomes" if isinstance(outcome, list | tuple) else mistake(outcome) or f"{shown(outcome)}"
    return InvalidOutcome(
        f"the handler of a batch of {len(batch)} returned {what}; it must return None (all are done) or a list with "
        "one entry for each message, in their order"
    )


def _entry(attempt: Attempt, entry: object) -> object:
    """Return the outcome of one message of a batch; an error for anything that is likely to be a mistake."""
    moves = isinstance(entry, list) and any(isinstance(part, Move) for part in entry)
    if entry is None or moves or isinstance(entry, Settlement | BaseException):
        return entry
    return InvalidOutcome(
        f"message {attempt.message.id}: the handler of its batch gave {shown(entry)} as its outcome; give None (done), "
        "a settlement, a list of moves or an exception"
    )


def new_name() -> str:
    """Return a name for a worker that was not given one."""
    return f"w{secrets.token_hex(2)}"


def check_count(name: str, count: object) -> None:
    """Raise ConfigurationError unless it is an integer of at least 1."""
    if type(count) is not int or count < 1:
        raise ConfigurationError(f"{name} must be an integer of at least 1, not {shown(count)}")


def check_switch(name: str, switch: object) -> None:
    """Raise ConfigurationError unless it is True or False."""
    if not isinstance(switch, bool):
        raise ConfigurationError(f"{name} is True or False, not {shown(switch)}")


def check_heartbeat(heartbeat: object, lease: timedelta) -> None:
    """Raise ConfigurationError if it exceeds a third of the lease; InvalidMessage if it is not a valid span."""
    if check_span("heartbeat", heartbeat, _TICK) > lease / 3:
        raise ConfigurationError(
            f"heartbeat must be at most a third of the lease, so that one may fail: {lease / 3} with a lease of "
            f"{lease}, not {heartbeat}; ask for a longer lease or for a more frequent heartbeat"
        )


def check_name(name: object) -> None:
    """Raise ConfigurationError unless the name is valid for a worker."""
    if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
        raise ConfigurationError(f"a worker's name must be 1 to 100 printable characters, not {shown(name)}")


def check_until(until: object) -> Until:
    """Return `until` if it is valid, else raise ConfigurationError."""
    for known in _UNTIL:
        if until == known:
            return known
    raise ConfigurationError(
        f"until cannot be {shown(until)}; use 'idle' (nothing is due), 'empty' (nothing will become due), "
        "or leave it out to run until the worker is stopped"
    )


def claimed_at_once(batch: int | None, concurrency: int, whole_batch: bool) -> int:
    """Return how many messages to claim at most: without `batch`, as many as can begin at once, and at least 100.

    A worker with a thousand tasks would otherwise wait for ten claims before all of them have something to do. If a
    handler takes whole batches, `batch` says how many messages it gets, so the number of handlers does not count.
    """
    if batch is not None:
        return batch
    check_count("concurrency", concurrency)
    return BATCH if whole_batch else min(max(BATCH, concurrency), MOST_AT_ONCE)


def handlers_at_once(concurrency: int, processes: int | None, transactional: bool, capabilities: Capabilities) -> int:
    """Return how many handlers can run at once; one if a transaction prevents others from writing at the same time.

    Raises:
        ConfigurationError: processes are combined with an option that does not allow them.
        NotSupported: the store does not let handlers write in its transactions.
    """
    if processes is not None:
        check_count("processes", processes)
        if concurrency != 1:
            raise ConfigurationError(
                f"processes={processes} already sets how many handlers run at once; leave out "
                f"concurrency={shown(concurrency)}"
            )
        if transactional:
            raise ConfigurationError(
                "processes and transactional cannot be combined: a connection cannot be handed to another process"
            )
        return processes
    if transactional is not True:
        return concurrency
    if not capabilities.within:
        raise NotSupported(
            "transactional=True: this store cannot settle in a transaction that a handler writes in; use a store that "
            "keeps messages next to your rows, such as sqlite:// or postgresql://, or leave out transactional"
        )
    check_count("concurrency", concurrency)
    return concurrency if capabilities.parallel_writes else 1


def is_async(handler: object) -> bool:
    """Return whether a call returns a coroutine, as far as can be told without calling it."""
    return any(map(iscoroutinefunction, _called(handler)))


def check_async(handler: object, processes: int | None, awaited: bool) -> None:
    """Raise ConfigurationError if a handler is an async function that would not be awaited.

    Args:
        handler: the handler.
        processes: in how many child processes it runs; None: in this one.
        awaited: whether its worker is async.
    """
    if not is_async(handler):
        return
    if not awaited:
        raise ConfigurationError(f"{shown(handler)} is an async function; give it to duerow.aio.Worker")
    if processes is not None:
        raise ConfigurationError(f"{shown(handler)} is an async function; processes= takes plain functions")


def is_generator(handler: object) -> bool:
    """Return whether a call returns a generator, and so runs nothing, as far as can be told without calling it."""
    return any(isgeneratorfunction(one) or isasyncgenfunction(one) for one in _called(handler))


def _called(handler: object) -> tuple[object, object]:
    """Return what may run when this is called: the object itself, or its type's `__call__`."""
    return handler, getattr(type(handler), "__call__", None)  # noqa: B004 - not whether it can be called


def check_handler(handler: object, *given: str) -> None:
    """Raise ConfigurationError unless it can be called with these arguments, and a call runs it."""
    if not callable(handler):
        raise ConfigurationError(f"a handler must be a function of one message, not {shown(handler)}")
    if is_generator(handler):
        raise ConfigurationError(
            f"{shown(handler)} is a generator function, so calling it runs nothing; return the outcome "
            "instead of yielding it"
        )
    check_call("the handler", handler, *given)


def given_to(entities: bool, whole_batch: bool, transactional: bool) -> Sequence[str]:
    """Return the names of the arguments that a handler is called with."""
    if entities:
        return ("rows" if whole_batch else "row", "session")
    if whole_batch:
        return ("messages",)
    return ("message", "connection") if transactional else ("message",)
